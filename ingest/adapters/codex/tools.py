"""The tools that a Codex session called, and what came of it."""

import re
from typing import NamedTuple

import msgspec

from ingest.adapters.calls import called, with_call, without_call
from ingest.adapters.codex.record import (
    LONGEST_NAME,
    PARAGRAPHS,
    SHOWN,
    Context,
    event,
    id_of,
    list_of,
    name_of,
    object_of,
    parsed,
    twin_key,
)
from ingest.adapters.content import call_text, compact_json, flatten, named_files
from ingest.adapters.own_tools import is_own_answer, is_own_tool, own_call_text
from memory.json_line import JsonObject
from memory.parsed import ParsedEvent, ParsedLine, State

MOST_FILES = 64
_PATCHED = re.compile(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
# In a program that the model writes, tools are functions.
_FUNCTION = re.compile(r"\bmcp__\w{1,200}")
_BEFORE_OUTPUT = "\nOutput:\n"


class Result(NamedTuple):
    """What came of a tool call; `tool` is what the record says where its call is not known."""

    call_id: str
    tool: str
    text: str
    failed: bool = False
    files: tuple[str, ...] = ()


def read_call(context: Context) -> ParsedLine:
    """Read a call of a tool."""
    payload = context.payload
    return called_tool(context, tool_name(payload), _arguments(payload.get("arguments", payload.get("input"))))


def read_shell_call(context: Context) -> ParsedLine:
    """Read a call of the shell that is the model's own."""
    return called_tool(context, "local_shell", context.payload.get("action"))


def read_tool_search(context: Context) -> ParsedLine:
    """Read a search for tools."""
    return called_tool(context, "tool_search", _arguments(context.payload.get("arguments")))


def read_image(context: Context, rank: int = SHOWN) -> ParsedLine:
    """Read an image that the model made: its prompt; the image stays in the mirror."""
    prompt = name_of(context.payload.get("revised_prompt"))
    return called_tool(context, "image_generation", {"prompt": prompt, "result": "[image]"}, rank)


def called_tool(context: Context, name: str, arguments: object, rank: int = SHOWN) -> ParsedLine:
    """Return a call, and remember it for its result."""
    if not name and not arguments:
        return parsed(context)
    call_id = call_id_of(context.payload)
    name = _own_function(arguments) or name
    twin = f"call:{call_id}" if call_id else ""
    state = with_call(context.state, call_id, name)
    return parsed(context, _call(context, name, arguments, twin, rank), state=state)


def _call(context: Context, name: str, arguments: object, twin: str, rank: int) -> ParsedEvent:
    if is_own_tool(name):
        text = own_call_text(name, call_id_of(context.payload), arguments)
        return event(context, "meta", "assistant", text, twin, rank, name)
    return event(context, "tool_call", "assistant", call_text(name, arguments), twin, rank, name, _files(arguments))


def _own_function(arguments: object) -> str:
    """Return the tool of Origin's that a program calls: what it says of it is Origin's too (invariant 2)."""
    found = _FUNCTION.findall(arguments) if isinstance(arguments, str) and "mcp__" in arguments else ()
    return next(filter(is_own_tool, found), "")


def call_id_of(payload: JsonObject) -> str:
    """Return what a call and its result have in common."""
    return next(filter(None, (id_of(payload.get(field)) for field in ("call_id", "callId", "id"))), "")


def tool_name(payload: JsonObject) -> str:
    """Return a tool's name, one of a server's as `mcp__<server>__<tool>` however the build writes it."""
    names = (payload.get("name"), payload.get("tool"), object_of(payload.get("function")).get("name"))
    name = next(filter(None, map(id_of, names)), "")
    space = id_of(payload.get("namespace"))
    if space:
        return f"{space.rstrip('_')}__{name}"
    return f"mcp__{name}" if is_own_tool(f"mcp__{name}") and not name.startswith("mcp") else name


def _arguments(value: object) -> object:
    """Return arguments as the object that their text holds; a text that holds none stays as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith("{"):
        return value
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return found if isinstance(found, dict) else value


def _files(arguments: object) -> tuple[str, ...]:
    """Return the files that a call names, those of a patch among them."""
    texts = arguments.values() if isinstance(arguments, dict) else (arguments,)
    patched = [path for text in texts if isinstance(text, str) and "*** " in text for path in _PATCHED.findall(text)]
    short = (path.strip() for path in patched if len(path) <= LONGEST_NAME)
    return tuple(dict.fromkeys((*named_files(arguments), *short)))[:MOST_FILES]


def read_web_search(context: Context, rank: int = SHOWN) -> ParsedLine:
    """Read a search of the web; its two records share no id, only what was looked for."""
    payload = context.payload
    action = object_of(payload.get("action")) or {"query": payload.get("query")}
    asked = {key: value for key, value in action.items() if value and key != "type"}
    if not asked:
        return parsed(context)
    wanted = asked.get("query") or asked.get("url") or asked
    twin = twin_key("search", wanted if isinstance(wanted, str) else compact_json(wanted))
    call = event(context, "tool_call", "assistant", call_text("web_search", asked), twin, rank, "web_search")
    pages = PARAGRAPHS.join(filter(None, map(_page, list_of(payload.get("results")))))
    if not pages:
        return parsed(context, call)
    return parsed(context, call, event(context, "tool_result", "tool", pages, tool="web_search", suffix="#result"))


def _page(result: object) -> str:
    told = (name_of(object_of(result).get(field)) for field in ("title", "url", "snippet"))
    return "\n".join(filter(None, told))


def read_output(context: Context) -> ParsedLine:
    """Read the result of a call."""
    payload = context.payload
    output = next((payload[field] for field in ("output", "result", "content") if payload.get(field)), "")
    text, failed = _output(output)
    call_id = id_of(payload.get("call_id"))
    result = Result(call_id, tool_name(payload), text, failed)
    return came_of(context, result, SHOWN, without_call(context.state, call_id))


def read_tools_found(context: Context) -> ParsedLine:
    """Read the names of the tools that a search for tools found."""
    names = [id_of(object_of(tool).get("name")) for tool in list_of(context.payload.get("tools"))]
    result = Result(call_id_of(context.payload), "tool_search", "\n".join(filter(None, names)))
    return came_of(context, result, SHOWN, without_call(context.state, result.call_id))


def came_of(context: Context, result: Result, rank: int, state: State | None = None) -> ParsedLine:
    """Return a result; one of Origin's own tools keeps names and ids only."""
    name, own = called(context.state, result.call_id)
    name = name or result.tool
    twin = f"result:{result.call_id}" if result.call_id else ""
    if own or is_own_tool(name) or _is_own(result.text):
        text = own_call_text(name, result.call_id, None)
        return parsed(context, event(context, "meta", "tool", text, twin, rank, name), state=state)
    text = ("[error] " if result.failed else "") + result.text
    return parsed(context, event(context, "tool_result", "tool", text, twin, rank, name, result.files), state=state)


def _is_own(text: str) -> bool:
    """True for an answer of Origin's; some builds say before it how long it took."""
    position = text.find(_BEFORE_OUTPUT, 0, LONGEST_NAME)
    return is_own_answer(text) or (position >= 0 and is_own_answer(text[position + len(_BEFORE_OUTPUT) :]))


def _output(output: object) -> tuple[str, bool]:
    """Return what a tool gave back and whether it failed; older builds wrap it in JSON text with an exit code."""
    if isinstance(output, str) and output.startswith('{"output":'):
        output = _arguments(output)
    if not isinstance(output, dict):
        return flatten(output), False
    failed = output.get("success") is False or bool(object_of(output.get("metadata")).get("exit_code"))
    if "stdout" in output or "stderr" in output:
        return streams(output), failed or bool(output.get("exitCode"))
    return flatten(output["output"] if isinstance(output.get("output"), str) else output), failed


def streams(output: JsonObject) -> str:
    """Return what a command wrote: both streams as they came, else one after the other."""
    whole = output.get("aggregated_output")
    return flatten(whole) if whole else flatten([output.get("stdout"), output.get("stderr")])
