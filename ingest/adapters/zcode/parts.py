"""What a journalled row of ZCode's database means: the title of a session, the events of a part."""

from collections.abc import Callable

import msgspec

from ingest.adapters.calls import LONGEST_ID, called, with_call, without_call
from ingest.adapters.content import call_text, flatten, named_files, placeholder
from ingest.adapters.journal import column_bytes
from ingest.adapters.markup import Said, read_turn, without_last_reminders
from ingest.adapters.own_tools import is_own_answer, is_own_tool, own_call_text
from ingest.adapters.times import utc_time
from memory.errors import MalformedLine
from memory.json_line import JsonObject, load_object
from memory.parsed import Kind, Line, ParsedEvent, ParsedLine, Role, State, Title, TitleKind, event_id

SOURCE = "zcode"

_LONGEST_NAME = 4_096
# Where a session's title comes from; the default one says nothing.
_TITLES: dict[str, TitleKind] = {"custom": "custom", "generated": "ai", "first_input": "summary", "": "summary"}
# Sessions that a program holds with a model.
_HELPERS = ("subagent", "workflow")
_SUB_AGENT_ID = "sess_subagent_"
# Semantics of an assistant's message that are not its answer.
_MACHINE_KINDS = frozenset(
    {
        "background_notification",
        "compact_summary",
        "fork_notice",
        "rewind_notice",
        "subagent_notification",
        "system_reminder",
        "timeline_event",
        "todo_reminder",
    }
)


class _Part(msgspec.Struct, frozen=True, gc=False):
    """A part with what its events have in common. `machine` says that neither the person nor the model wrote it."""

    data: JsonObject
    state: State
    key: str
    session: str
    at: str
    parent: str
    cwd: str
    model: str
    version: str
    sub_agent: bool
    role: str
    machine: bool
    under_way: bool


def parse_line(line: Line, state: State) -> ParsedLine:
    """Return the events and titles of one row; raises `MalformedLine` where the line or the row's data is no JSON."""
    row = load_object(line.data)
    table = row.get("table")
    read = _READERS.get(table) if isinstance(table, str) else None
    return read(row, state) if read else ParsedLine(state)


def _name(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= _LONGEST_NAME else ""


def _object(value: object) -> JsonObject:
    return value if isinstance(value, dict) else {}


def _time(row: JsonObject) -> str:
    return utc_time(row.get("time_created")) or utc_time(row.get("time_updated"))


# Sessions and messages


def _read_session(row: JsonObject, state: State) -> ParsedLine:
    session, at = _name(row.get("id")), _time(row)
    title, kind = _name(row.get("title")).strip(), _TITLES.get(_name(row.get("title_source")))
    titles = (Title(kind, title, session=session),) if session and title and kind else ()
    return ParsedLine(state, _revert(row, session), titles, at)


def _revert(row: JsonObject, session: str) -> tuple[ParsedEvent, ...]:
    """Return a note that the person took back the end of a session; what it says stays."""
    try:
        message = _name(load_object(column_bytes(row, "revert")).get("messageID"))
    except MalformedLine:
        return ()
    if not message or not session:
        return ()
    name = event_id(SOURCE, f"{session}/revert/{message}")
    at = utc_time(row.get("time_updated"))
    return (ParsedEvent(name, "meta", "system", f"reverted to before {message}", session, at, parent=_parent(row)),)


def _parent(session: JsonObject) -> str:
    return _name(session.get("parent_id"))


def _read_message(row: JsonObject, state: State) -> ParsedLine:
    """A message says nothing but through its parts, whose lines repeat what is needed of it."""
    return ParsedLine(state, at=_time(row))


# Parts


def _read_part(row: JsonObject, state: State) -> ParsedLine:
    part = _part(row, load_object(column_bytes(row, "data")), state)
    kind = part.data.get("type")
    read = _PARTS.get(kind) if isinstance(kind, str) else None
    if read is None or row.get("copy") is True or not part.key or not part.session:
        return ParsedLine(state, at=part.at)
    return read(part)


def _part(row: JsonObject, data: JsonObject, state: State) -> _Part:
    message, session = _object(row.get("message")), _object(row.get("session"))
    name = _name(row.get("session_id"))
    role = _name(message.get("role"))
    return _Part(
        data=data,
        state=state,
        key=_name(row.get("id")),
        session=name,
        at=_time(row) or utc_time(_object(message.get("time")).get("created")),
        parent=_parent(session),
        cwd=_name(_object(message.get("path")).get("cwd")) or _name(session.get("directory")),
        model=_model(message) if role == "assistant" else "",
        version=_name(session.get("version")),
        sub_agent=_is_helper(name, session),
        role=role,
        machine=_is_machine_made(message, role) or _is_put_in(data),
        under_way=row.get("under_way") is True,
    )


def _model(message: JsonObject) -> str:
    model = message.get("model")
    return _name(message.get("modelID")) or _name(_object(model).get("modelID")) or _name(model)


def _is_helper(name: str, session: JsonObject) -> bool:
    return name.startswith(_SUB_AGENT_ID) or _name(session.get("task_type")).startswith(_HELPERS)


def _is_machine_made(message: JsonObject, role: str) -> bool:
    """True for a message that neither the person nor the model wrote, by all that versions have said of that."""
    semantics = _object(message.get("semantics"))
    origin = semantics.get("origin")
    if semantics.get("uiVisibility") == "hidden" or message.get("synthetic") is True:
        return True
    if message.get("visibility") == "model-only" or role not in ("user", "assistant"):
        return True
    if role == "user" and origin is not None:
        return bool(origin != "real_user")
    return _name(semantics.get("kind")) in _MACHINE_KINDS or (role == "user" and bool(message.get("source")))


def _is_put_in(data: JsonObject) -> bool:
    """True for a part that the program added to a message."""
    metadata = _object(data.get("metadata"))
    hidden = metadata.get("visibility") == "model-only" or bool(metadata.get("runtimeMessage"))
    return hidden or data.get("synthetic") is True


def _event(
    part: _Part,
    kind: Kind,
    role: Role,
    text: str,
    suffix: str = "",
    tool: str = "",
    files: tuple[str, ...] = (),
    at: str = "",
) -> ParsedEvent:
    """Make an event of a part; a result follows its call, which has the same line."""
    return ParsedEvent(
        event_id(SOURCE, part.key, suffix),
        kind,
        role,
        text,
        part.session,
        at or part.at,
        False,
        part.parent,
        part.cwd,
        "",
        part.model,
        part.version,
        part.sub_agent,
        tool,
        files,
        1 if suffix else 0,
    )


def _line(part: _Part, *events: ParsedEvent) -> ParsedLine:
    return ParsedLine(part.state, events, at=part.at)


def _read_text(part: _Part) -> ParsedLine:
    text = part.data.get("text")
    if not isinstance(text, str) or not text.strip() or part.under_way:
        return _line(part)
    if part.role == "assistant":
        return _line(part, _event(part, "meta" if part.machine else "message", "assistant", text))
    said = Said(text, meta=True, role="system") if part.machine else read_turn(text)
    if not said.text:
        return _line(part)
    return _line(part, _event(part, "meta" if said.meta else "message", said.role, said.text))


def _read_file(part: _Part) -> ParsedLine:
    """What was attached stands in the journal; the event says that it was."""
    mime, name = _name(part.data.get("mime")), _name(part.data.get("filename"))
    kind = "image" if mime.startswith("image/") else "file"
    shown = placeholder({"type": kind, "mimeType": mime})
    text = f"{shown[:-1]} {name}]" if name else shown
    role: Role = "assistant" if part.role == "assistant" else "user"
    return _line(part, _event(part, "meta", role, text, files=(name,) if name else ()))


def _read_note(part: _Part) -> ParsedLine:
    """A compaction, a fork, another model: something that happened to the session."""
    told = (_name(part.data.get(field)) for field in ("type", "timelineType", "status"))
    return _line(part, _event(part, "meta", "system", " ".join(filter(None, told))))


# Tool calls and results


def _read_tool(part: _Part) -> ParsedLine:
    """A tool part is a call, and its result as soon as there is one; what is pending has no arguments yet."""
    name, tool = _name(part.data.get("tool")), _object(part.data.get("state"))
    status = tool.get("status")
    if status == "pending":
        return _line(part)
    call_id = _name(part.data.get("callID"))[:LONGEST_ID]
    call = _call(part, name, call_id, tool.get("input"))
    if status not in ("completed", "error"):
        return _line(part, call)
    at = max(part.at, utc_time(_object(tool.get("time")).get("end")))
    return _line(part, call, _result(part, name, call_id, _output(tool), "#result", at))


def _call(part: _Part, name: str, call_id: str, arguments: object) -> ParsedEvent:
    if is_own_tool(name):
        return _event(part, "meta", "assistant", own_call_text(name, call_id, arguments), tool=name)
    text = call_text(name, arguments)
    return _event(part, "tool_call", "assistant", text, tool=name, files=named_files(arguments))


def _output(tool: JsonObject) -> str:
    attached = tool.get("attachments")
    texts = [flatten(tool.get("output")), *map(_attachment, attached if isinstance(attached, list) else ())]
    if tool.get("status") == "error":
        texts = [f"[error] {flatten(tool.get('error')) or texts[0]}"]
    return "\n".join(filter(None, texts))


def _attachment(value: object) -> str:
    file = _object(value)
    return placeholder({"type": "file", "mimeType": _name(file.get("mime"))})


def _result(
    part: _Part, name: str, call_id: str, text: str, suffix: str = "", at: str = "", own: bool = False
) -> ParsedEvent:
    if own or is_own_tool(name) or is_own_answer(text):
        return _event(part, "meta", "tool", own_call_text(name, call_id, None), suffix, name, at=at)
    return _event(part, "tool_result", "tool", without_last_reminders(text), suffix, name, at=at)


def _read_tool_use(part: _Part) -> ParsedLine:
    name, call_id = _name(part.data.get("name")), _name(part.data.get("id"))[:LONGEST_ID]
    state = with_call(part.state, call_id, name)
    return ParsedLine(state, (_call(part, name, call_id, part.data.get("input")),), at=part.at)


def _read_tool_result(part: _Part) -> ParsedLine:
    call_id = _name(part.data.get("tool_use_id"))[:LONGEST_ID]
    name, own = called(part.state, call_id)
    failed = "[error] " if part.data.get("is_error") is True else ""
    result = _result(part, name, call_id, failed + flatten(part.data.get("content")), own=own)
    return ParsedLine(without_call(part.state, call_id), (result,), at=part.at)


_PARTS: dict[str, Callable[[_Part], ParsedLine]] = {
    "text": _read_text,
    "tool": _read_tool,
    "tool_use": _read_tool_use,
    "tool_result": _read_tool_result,
    "file": _read_file,
    "timeline": _read_note,
    "compaction": _read_note,
}
_READERS: dict[str, Callable[[JsonObject, State], ParsedLine]] = {
    "session": _read_session,
    "message": _read_message,
    "part": _read_part,
}
