"""Claude Code: one JSON record a line in `projects/<project>/<session>.jsonl`, sub-agents in files of their own."""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ingest.adapters.calls import LONGEST_ID, called, with_call, without_call
from ingest.adapters.content import call_text, compact_json, flatten, is_binary, named_files, spoken
from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.adapters.files import roots, walk
from ingest.adapters.markup import read_turn, together, without_last_reminders
from ingest.adapters.own_tools import is_own_answer, is_own_tool, own_call_text
from ingest.adapters.times import utc_time
from ingest.memories.page import with_memories
from memory.errors import MalformedLine
from memory.json_line import JsonObject, load_object
from memory.parsed import COMPACTION, Kind, Line, ParsedEvent, ParsedLine, Role, State, Title, TitleKind, event_id

SOURCE = "claude-code"

_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
_LONGEST_NAME = 4_096
_CLEANUP_PERIOD_DAYS, _LONGEST_PERIOD_DAYS = 30, 1_000_000
_SKIPPED_DIRECTORIES = frozenset({"memory", "tool-results"})
_PARAGRAPHS = "\n\n"
_THINKING = ("thinking", "redacted_thinking")
# Who put a record into the person's turn, where it was not the person.
_MACHINE_ORIGINS = frozenset({"auto-continuation", "channel", "coordinator", "peer", "task-notification"})
_TITLES: dict[str, tuple[TitleKind, str]] = {
    "summary": ("summary", "summary"),
    "ai-title": ("ai", "aiTitle"),
    "custom-title": ("custom", "customTitle"),
    "agent-name": ("agent-name", "agentName"),
}
# Where a record's content is: in a field of one of its objects.
_CONTENT = {"attachment": ("attachment", "prompt")}
# Attachments that say something of their own. Output of hooks is none of them: Origin's own brief arrives that way.
_TOLD_ATTACHMENTS: dict[str, tuple[str, ...]] = {
    "edited_text_file": ("filename", "snippet"),
    "file": ("filename", "content"),
    "opened_file_in_ide": ("filename",),
    "selected_lines_in_ide": ("filename", "content"),
    "task_status": ("description", "status", "deltaSummary"),
}


class _Place(NamedTuple):
    """What a file's path says: its stem, whether that is a session's id, whether it is a sub-agent's and whose."""

    stem: str
    is_session: bool
    is_agent: bool
    parent: str


class _Context(msgspec.Struct, frozen=True, gc=False):
    """A record with all that its events have in common; `state` is what the next line will know before its calls."""

    record: JsonObject
    state: State
    key: str
    session: str
    at: str
    home: bool
    parent: str
    cwd: str
    branch: str
    model: str
    version: str
    sub_agent: bool


def discover(environment: Environment) -> Iterator[SourceFile]:
    """Yield the session logs of every root; what could not be read is raised once all else has been yielded."""
    failures: list[OSError] = []
    for root, prefix in _roots(environment):
        for path, relative, status in walk(os.path.join(root, "projects"), _is_log, _SKIPPED_DIRECTORIES, failures):
            logical_path = f"{prefix}projects/{relative}"
            yield SourceFile(SOURCE, path, logical_path, "lines", status.st_size, status.st_mtime_ns, status.st_ino)
    if failures:
        raise failures[0]


def places(environment: Environment) -> Iterator[str]:
    """Yield the directories that `discover` looks in."""
    return (os.path.join(root, "projects") for root, _ in _roots(environment))


def parse_line(line: Line, state: State) -> ParsedLine:
    """Return the events and titles of one record; raises `MalformedLine` where the line is no JSON object."""
    record = load_object(line.data)
    kind = record.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    at = utc_time(record.get("timestamp"))
    return read(_context(record, _place(line.path), state, at)) if read else ParsedLine(state, at=at)


def version(environment: Environment) -> str:
    """Nothing is known without running the agent; each record names the version that wrote it."""
    return ""


def retention(environment: Environment) -> int:
    """Return the days that Claude Code keeps a log; of several roots the one that deletes first counts."""
    used = (root for root, _ in _roots(environment) if os.path.isdir(os.path.join(root, "projects")))
    return min(map(_cleanup_period, used), default=_CLEANUP_PERIOD_DAYS)


def _cleanup_period(root: str) -> int:
    """Return what a root's settings say, or what Claude Code does where they say nothing it could use."""
    try:
        days = load_object(Path(root, "settings.json").read_bytes()).get("cleanupPeriodDays")
    except (OSError, MalformedLine):
        return _CLEANUP_PERIOD_DAYS
    if not isinstance(days, int) or isinstance(days, bool) or days < 0:
        return _CLEANUP_PERIOD_DAYS
    return min(days, _LONGEST_PERIOD_DAYS)


# Places


def _roots(environment: Environment) -> Iterator[tuple[str, str]]:
    names = environment.variables.get("CLAUDE_CONFIG_DIR", "").split(",")
    usual = os.path.join(environment.home, ".claude")
    return roots(environment.home, names, (usual, os.path.join(environment.home, ".config", "claude")))


def _is_log(name: str) -> bool:
    # A workflow's journal repeats what the files of its sub-agents say.
    return name.endswith(".jsonl") and name != "journal.jsonl"


@lru_cache(maxsize=1_024)
def _place(path: str) -> _Place:
    *folders, name = path.split("/")
    stem = name.removesuffix(".jsonl")
    parent = _parent_folder(folders, stem)
    is_agent = bool(parent) or stem.startswith("agent-")
    return _Place(stem, _UUID.fullmatch(stem) is not None, is_agent, parent)


def _parent_folder(folders: list[str], stem: str) -> str:
    if "subagents" in folders[1:]:
        return folders[folders.index("subagents", 1) - 1]
    if stem.startswith("agent-"):
        return next(filter(_UUID.fullmatch, folders), "")
    return ""


def _session(place: _Place, session_id: str) -> tuple[str, str]:
    """Return the session of a place and its parent; `session_id` is the record's, else the last one of the file."""
    if place.is_agent:
        own_names = (place.stem, place.stem.removeprefix("agent-"))
        parent = place.parent or (session_id if session_id not in own_names else "")
        return (f"{parent}/{place.stem}" if parent else place.stem), parent
    return (place.stem if place.is_session else session_id or place.stem), ""


def _is_home(place: _Place, parent: str, record: JsonObject) -> bool:
    session_id = record.get("sessionId")
    if place.is_agent:
        return f"agent-{record.get('agentId')}" == place.stem or bool(parent and session_id == parent)
    return session_id == place.stem


# What the events of a record have in common


def _context(record: JsonObject, place: _Place, state: State, at: str) -> _Context:
    own_id = _name(record.get("sessionId"))
    seen = {
        "sid": own_id or _known(state, "sid"),
        "cwd": _name(record.get("cwd")) or _known(state, "cwd"),
        "branch": _branch(record, state),
        "version": _name(record.get("version")) or _known(state, "version"),
    }
    session, parent = _session(place, seen["sid"])
    return _Context(
        record=record,
        state=_carried(state, seen),
        key=_key(record, own_id, own_id or session),
        session=session,
        at=at,
        home=_is_home(place, parent, record),
        parent=parent,
        cwd=seen["cwd"],
        branch=seen["branch"],
        model=_model(record),
        version=seen["version"],
        sub_agent=place.is_agent or record.get("isSidechain") is True,
    )


def _name(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else ""


def _known(state: State, key: str) -> str:
    return _name(state.get(key))


def _branch(record: JsonObject, state: State) -> str:
    branch = record.get("gitBranch")
    if not isinstance(branch, str):
        return _known(state, "branch")
    return "" if branch == "HEAD" else _name(branch)


def _model(record: JsonObject) -> str:
    message = record.get("message")
    if record["type"] != "assistant" or not isinstance(message, dict):
        return ""
    model = _name(message.get("model"))
    return "" if model == "<synthetic>" else model


def _carried(state: State, seen: Mapping[str, str]) -> State:
    if seen.items() <= state.items():
        return state
    changed = {key: value for key, value in seen.items() if value != state.get(key, "")}
    return {**state, **changed} if changed else state


def _key(record: JsonObject, session_id: str, session: str) -> str:
    """Return the key of the record's events: its uuid; one that is not globally unique is told with its session."""
    uuid = _name(record.get("uuid"))
    if _UUID.fullmatch(uuid):
        return uuid
    return f"{session}/{uuid or _digest(record, session_id)}"


def _digest(record: JsonObject, session_id: str) -> str:
    """Never the line number: files are copied with a longer beginning."""
    blocks = _blocks(record)
    text = _PARAGRAPHS.join(_texts(blocks)) or (compact_json(blocks) if blocks else "")
    timestamp = record.get("timestamp", "")
    stamp = timestamp if isinstance(timestamp, str) else compact_json(timestamp)
    return hashlib.sha256(f"{session_id}|{record['type']}|{stamp}|{text}".encode()).hexdigest()[:16]


def _blocks(record: JsonObject) -> list[Any]:
    """Return the raw content list of a record; content that is no list is a list of one."""
    holder, field = _CONTENT.get(record["type"], ("message", "content"))
    content = record.get(holder)
    if content is None:
        content = record.get(field)
    elif isinstance(content, dict):
        content = content.get(field)
    if isinstance(content, list):
        return content
    return [content] if isinstance(content, (str, dict)) else []


def _texts(blocks: list[Any]) -> list[str]:
    """Return what the blocks of a record add to its message."""
    return [text for text in map(spoken, blocks) if text and not text.isspace()]


def _event(
    context: _Context,
    kind: Kind,
    role: Role,
    text: str,
    block: int | None = None,
    tool: str = "",
    files: tuple[str, ...] = (),
) -> ParsedEvent:
    """Make an event of a record's message, or of the one block whose index is given."""
    # By position: of a struct with so many defaults, keywords cost more than all the rest of an event.
    return ParsedEvent(
        event_id(SOURCE, context.key, "" if block is None else f"#{block}"),
        kind,
        role,
        text,
        context.session,
        context.at,
        context.home,
        context.parent,
        context.cwd,
        context.branch,
        context.model,
        context.version,
        context.sub_agent,
        tool,
        files,
        block or 0,
    )


# Records


def _read_user(context: _Context) -> ParsedLine:
    blocks = _blocks(context.record)
    return _with_blocks(context, _person_said(context, _texts(blocks)), blocks, "user")


def _read_assistant(context: _Context) -> ParsedLine:
    blocks = _blocks(context.record)
    return _with_blocks(context, _model_said(context, _texts(blocks)), blocks, "assistant")


def _read_system(context: _Context) -> ParsedLine:
    texts = [text for text in _texts(_blocks(context.record)) if read_turn(text).text]
    if texts and context.record.get("subtype") == "compact_boundary":
        return _line(context, _event(context, "meta", "system", _PARAGRAPHS.join(texts), tool=COMPACTION))
    return _line(context, _meta(context, texts))


def _read_attachment(context: _Context) -> ParsedLine:
    attachment = context.record.get("attachment")
    kind = attachment.get("type") if isinstance(attachment, dict) else None
    if not isinstance(attachment, dict) or not isinstance(kind, str):
        return _line(context)
    if kind == "queued_command":
        return _line(context, _queued(context, attachment))
    told = [text for field in _TOLD_ATTACHMENTS.get(kind, ()) if (text := _attached(attachment.get(field)))]
    return _line(context, _meta(context, ["\n".join([kind, *told])] if told else []))


def _queued(context: _Context, attachment: JsonObject) -> ParsedEvent | None:
    """What was typed while the agent was busy stands in no other record that is read."""
    texts = _texts(_blocks(context.record))
    if attachment.get("commandMode") not in (None, "prompt") or _is_machine_made(attachment):
        return _meta(context, texts)
    return _person_said(context, texts)


def _attached(value: object) -> str:
    file = value.get("file") if isinstance(value, dict) else None
    if isinstance(file, dict):
        content = file.get("content")
        return content if isinstance(content, str) else "[file]"
    return value if isinstance(value, str) else ""


def _read_title(context: _Context) -> ParsedLine:
    kind, field = _TITLES[context.record["type"]]
    text = context.record.get(field)
    if not isinstance(text, str) or not text.strip():
        return _line(context)
    leaf = _name(context.record.get("leafUuid")) if kind == "summary" else ""
    # The name of a sub-agent is not its parent's, whose id its records carry.
    owner = context.session if context.sub_agent else _name(context.record.get("sessionId")) or context.session
    if leaf:
        key = leaf if _UUID.fullmatch(leaf) else f"{owner}/{leaf}"
        title = Title(kind, text.strip(), leaf=event_id(SOURCE, key))
    else:
        title = Title(kind, text.strip(), session=owner)
    return ParsedLine(context.state, titles=(title,), at=context.at)


_READERS: dict[str, Callable[[_Context], ParsedLine]] = {
    "user": _read_user,
    "assistant": _read_assistant,
    "system": _read_system,
    "attachment": _read_attachment,
    **dict.fromkeys(_TITLES, _read_title),
}


def _line(context: _Context, event: ParsedEvent | None = None) -> ParsedLine:
    return ParsedLine(context.state, (event,) if event else (), at=context.at)


def _is_machine_made(record: JsonObject) -> bool:
    """True where a record says itself that neither the person nor the model wrote its text."""
    origin, message = record.get("origin"), record.get("message")
    return (
        record.get("isMeta") is True
        or record.get("isCompactSummary") is True
        or record.get("isVisibleInTranscriptOnly") is True
        or record.get("isApiErrorMessage") is True
        or (isinstance(message, dict) and message.get("model") == "<synthetic>")
        or (isinstance(origin, dict) and str(origin.get("kind")) in _MACHINE_ORIGINS)
    )


def _person_said(context: _Context, texts: list[str]) -> ParsedEvent | None:
    if not texts or _is_machine_made(context.record):
        return _meta(context, texts)
    said = together(map(read_turn, texts))
    return _event(context, "meta" if said.meta else "message", said.role, said.text) if said.text else None


def _model_said(context: _Context, texts: list[str]) -> ParsedEvent | None:
    if not texts or _is_machine_made(context.record):
        return _meta(context, texts, "assistant")
    return _event(context, "message", "assistant", _PARAGRAPHS.join(texts))


def _meta(context: _Context, texts: list[str], role: Role = "system") -> ParsedEvent | None:
    return _event(context, "meta", role, _PARAGRAPHS.join(texts)) if texts else None


# Tool calls and results


def _with_blocks(context: _Context, message: ParsedEvent | None, blocks: list[Any], role: Role) -> ParsedLine:
    """Return the record's message and one event for each block that is not part of it."""
    events = [message] if message else []
    state = context.state
    for index, block in enumerate(blocks):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str) or kind == "text" or kind in _THINKING:
            continue
        if kind.endswith("tool_use"):
            events.append(_call(context, index, block))
            state = with_call(state, _call_id(block, "id"), _name(block.get("name")))
        elif kind.endswith("tool_result"):
            events.append(_result(context, index, block, state))
            state = without_call(state, _call_id(block, "tool_use_id"))
        elif not is_binary(block):
            events.append(_event(context, "meta", role, flatten(block), index))
    return ParsedLine(state, tuple(events), at=context.at)


def _call(context: _Context, index: int, block: JsonObject) -> ParsedEvent:
    name, arguments = _name(block.get("name")), block.get("input")
    if is_own_tool(name):
        text = own_call_text(name, _call_id(block, "id"), arguments)
        return _event(context, "meta", "assistant", text, index, name)
    return _event(context, "tool_call", "assistant", call_text(name, arguments), index, name, named_files(arguments))


def _result(context: _Context, index: int, block: JsonObject, state: State) -> ParsedEvent:
    call_id = _call_id(block, "tool_use_id")
    name, own = called(state, call_id)
    text = flatten(block.get("content"))
    if own or is_own_answer(text):
        return _event(context, "meta", "tool", own_call_text(name, call_id, None), index, name)
    failed = "[error] " if block.get("is_error") is True else ""
    return _event(context, "tool_result", "tool", failed + without_last_reminders(text), index, name)


def _call_id(block: JsonObject, field: str) -> str:
    return _name(block.get(field))[:LONGEST_ID]


ADAPTER = Adapter(
    source=SOURCE,
    display_name="Claude Code",
    discover=discover,
    parse_line=with_memories(SOURCE, parse_line),
    version=version,
    places=places,
    retention=retention,
)
