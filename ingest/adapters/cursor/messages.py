"""What a message in the form of a model's API says: the form of Cursor's transcripts, and of the store of its CLI."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from ingest.adapters.calls import LONGEST_ID, called, with_call, without_call
from ingest.adapters.content import call_text, flatten, is_binary, named_files, spoken
from ingest.adapters.cursor.prompt import Prompt, read_prompt
from ingest.adapters.own_tools import is_own_answer, is_own_tool, own_call_text
from memory.json_line import JsonObject
from memory.parsed import Kind, ParsedEvent, ParsedLine, Role, State, event_id

SOURCE = "cursor"

_PARAGRAPHS = "\n\n"
_LONGEST_NAME = 4_096
_CALLS, _RESULTS = ("tool_use", "tool_call"), ("tool_result",)
_SILENT = frozenset({"text", "thinking", "redacted_thinking", "reasoning", "redacted_reasoning"})
# Stands where a transcript leaves reasoning out.
_REDACTED = "[REDACTED]"
# A transcript names one tool for every tool of every MCP server.
_WRAPPERS = frozenset({"CallMcpTool", "call_mcp_tool", "mcp"})
# Events of these kinds are hidden where a better store of the same session holds any of their kind.
_TWINS = {"message": "history", "tool_call": "history", "tool_result": "results", "meta": "meta"}


class Owner(msgspec.Struct, frozen=True, gc=False):
    """What the events of one record have in common. `key` names the record; `rank` says which store it stands in."""

    key: str
    session: str
    parent: str
    rank: int
    home: bool = False
    at: str = ""
    cwd: str = ""
    model: str = ""


def event(
    owner: Owner,
    kind: Kind,
    role: Role,
    text: str,
    suffix: str = "",
    block: int = 0,
    tool: str = "",
    files: tuple[str, ...] = (),
) -> ParsedEvent:
    """Make an event of a record, or of that part of it which `suffix` names."""
    # By position: of a struct with so many defaults, keywords cost more than all the rest of an event.
    return ParsedEvent(
        event_id(SOURCE, owner.key, suffix),
        kind,
        role,
        text,
        owner.session,
        owner.at,
        owner.home,
        owner.parent,
        owner.cwd,
        "",
        owner.model if role == "assistant" else "",
        "",
        bool(owner.parent),
        tool,
        files,
        block,
        _TWINS[kind],
        owner.rank,
    )


def name(value: object) -> str:
    """Return a name, an id or a path that a record gives; empty where it is none."""
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else ""


def blocks_of(record: JsonObject) -> list[Any]:
    """Return the raw content list of a record; content that is no list is a list of one."""
    message = record.get("message")
    content = message.get("content") if isinstance(message, dict) else message
    if content is None:
        content = record.get("content")
    if isinstance(content, list):
        return content
    return [content] if isinstance(content, (str, dict)) else []


def prompts_of(blocks: list[Any]) -> list[tuple[int, Prompt]]:
    """Return what the texts of the person's turn say, each with its index."""
    return [(index, read_prompt(text)) for index, text in _texts(blocks)]


def directory_of(blocks: list[Any]) -> str:
    """Return the first directory that a tool was called to work in."""
    calls = (block for block in blocks if kind_of(block) in _CALLS)
    return next(filter(None, (working_directory(_arguments(block)) for block in calls)), "")


def working_directory(arguments: object) -> str:
    """Return the directory that a call's arguments name to work in."""
    return name(arguments.get("working_directory")) if isinstance(arguments, dict) else ""


def kind_of(block: object) -> str:
    """Return a block's type as transcripts write it; the CLI's store writes `tool-call`."""
    kind = block.get("type") if isinstance(block, dict) else None
    return kind.replace("-", "_") if isinstance(kind, str) else ""


def read_message(
    owner: Owner, role: object, blocks: list[Any], prompts: list[tuple[int, Prompt]], state: State
) -> ParsedLine:
    """Return the events of one message: its words, and one for each call, result and block of another kind."""
    events = list(_said(owner, role, blocks, prompts))
    for index, block in enumerate(blocks):
        kind = kind_of(block)
        if kind in _CALLS:
            found, state = _call(owner, index, block, state)
        elif kind in _RESULTS:
            found, state = _result(owner, index, block, state)
        elif not kind or kind in _SILENT or is_binary(block):
            continue
        else:
            found = event(owner, "meta", "user" if role == "user" else "assistant", flatten(block), f"#{index}", index)
        events.append(found)
    return ParsedLine(state, tuple(events), at=owner.at)


def asked(owner: Owner, prompts: list[tuple[int, Prompt]]) -> Iterator[ParsedEvent]:
    """Yield the person's words as one message, and what Cursor adds to them as meta."""
    words = _PARAGRAPHS.join(prompt.words for _, prompt in prompts if prompt.words)
    if words:
        yield event(owner, "message", "user", words)
    for index, prompt in prompts:
        told = prompt.told if words else prompt.context or prompt.told
        # Invariant 2: an answer of Origin's that was put into a prompt is no source.
        if told and not is_own_answer(told):
            yield event(owner, "meta", "system", told, f"#{index}", index)


def answered(owner: Owner, texts: Iterable[str]) -> Iterator[ParsedEvent]:
    """Yield the model's words as one message."""
    if words := _PARAGRAPHS.join(filter(None, map(_without_redactions, texts))):
        yield event(owner, "message", "assistant", words)


def call(owner: Owner, tool: str, arguments: object, suffix: str, block: int, call_id: str = "") -> ParsedEvent:
    """Return the event of a call; of a call of Origin's own only what may be kept."""
    tool, arguments = unwrapped(tool, arguments)
    if is_own_tool(tool):
        return event(owner, "meta", "assistant", own_call_text(tool, call_id, arguments), suffix, block, tool)
    text = call_text(tool, arguments)
    return event(owner, "tool_call", "assistant", text, suffix, block, tool, named_files(arguments))


def result(
    owner: Owner, tool: str, text: str, failed: bool, suffix: str, block: int, own_call: str = ""
) -> ParsedEvent:
    """Return the event of a result; of an answer of Origin's own only what may be kept.

    `own_call` is the id of the call where that is known to be one of Origin's.
    """
    if own_call or is_own_tool(tool) or is_own_answer(text):
        return event(owner, "meta", "tool", own_call_text(tool, own_call, None), suffix, block, tool)
    return event(owner, "tool_result", "tool", f"[error] {text}" if failed else text, suffix, block, tool)


def unwrapped(tool: str, arguments: object) -> tuple[str, object]:
    """Return the tool of an MCP server that is called through Cursor's one tool for all of them."""
    if tool in _WRAPPERS and isinstance(arguments, dict):
        server = name(arguments.get("server")) or name(arguments.get("serverName"))
        called_tool = name(arguments.get("toolName")) or name(arguments.get("tool_name"))
        if server and called_tool:
            return f"mcp__{server}__{called_tool}", arguments.get("arguments", arguments.get("args"))
    return tool, arguments


def _texts(blocks: list[Any]) -> list[tuple[int, str]]:
    texts = ((index, spoken(block)) for index, block in enumerate(blocks))
    return [(index, text) for index, text in texts if text and not text.isspace()]


def _said(owner: Owner, role: object, blocks: list[Any], prompts: list[tuple[int, Prompt]]) -> Iterator[ParsedEvent]:
    if role == "user":
        return asked(owner, prompts)
    if role == "assistant":
        return answered(owner, (text for _, text in _texts(blocks)))
    return (result(owner, "", text, False, f"#{index}", index) for index, text in _texts(blocks))


def _without_redactions(text: str) -> str:
    """Return a text without the paragraphs at its edges that stand for reasoning."""
    if _REDACTED not in text:
        return text
    kept = text.strip()
    while kept == _REDACTED or kept.endswith(f"\n{_REDACTED}"):
        kept = kept.removesuffix(_REDACTED).rstrip()
    while kept.startswith(f"{_REDACTED}\n"):
        kept = kept.removeprefix(_REDACTED).lstrip()
    return kept


def _call(owner: Owner, index: int, block: JsonObject, state: State) -> tuple[ParsedEvent, State]:
    tool, call_id = _tool(block), _call_id(block)
    arguments = _arguments(block)
    found = call(owner, tool, arguments, f"#{index}", index, call_id)
    return found, with_call(state, call_id, found.tool)


def _result(owner: Owner, index: int, block: JsonObject, state: State) -> tuple[ParsedEvent, State]:
    call_id = _call_id(block)
    known = called(state, call_id)
    content = next((block[key] for key in ("content", "result", "output") if block.get(key) is not None), None)
    failed = block.get("isError") is True or block.get("is_error") is True
    own_call = call_id if known.own else ""
    found = result(owner, known.name or _tool(block), flatten(content), failed, f"#{index}", index, own_call)
    return found, without_call(state, call_id)


def _tool(block: JsonObject) -> str:
    return name(block.get("name")) or name(block.get("toolName"))


def _call_id(block: JsonObject) -> str:
    found = (name(block.get(key)) for key in ("toolCallId", "tool_use_id", "tool_call_id", "id"))
    return next(filter(None, found), "")[:LONGEST_ID]


def _arguments(block: JsonObject) -> object:
    return next((block[key] for key in ("input", "args", "arguments") if block.get(key) is not None), None)
