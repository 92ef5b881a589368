"""Reads `updates.jsonl`, Grok Build's append-only log of what its client was shown.

A message may come in chunks, one to a line. They are one event, which stands where the first one does and is whole as
soon as a line follows that does not go on with it; until then the state carries what was said.
"""

import hashlib
import re
from collections.abc import Callable

import msgspec

from ingest.adapters.calls import LONGEST_ID, called, with_call, without_call
from ingest.adapters.content import call_text, flatten, named_files
from ingest.adapters.grok.session import Context, Place, make_event, name_of, object_of
from ingest.adapters.markup import read_turn, without_last_reminders
from ingest.adapters.own_tools import is_own_answer, is_own_tool, own_call_text
from ingest.adapters.times import utc_time
from memory.json_line import JsonObject, load_object
from memory.parsed import Line, ParsedEvent, ParsedLine, State

# More than the archive keeps of a message, its margin for masking included.
MOST_CARRIED = 300_000
# Calls whose result was read: a later one of the same call says nothing new.
_DONE, _MOST_DONE = "done", 64
_OPEN = "open"
_CHUNKS = {"user_message_chunk": "\n\n", "agent_message_chunk": ""}
_TOOL_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")
_FINAL = frozenset({"completed", "failed"})


class _Chunks(msgspec.Struct):
    """A message that may go on: what its chunks share, where and when it began, and what was said so far."""

    kind: str
    prompt: str
    index: int | None
    host: bool
    key: str
    line: int
    at: str
    home: bool
    model: str
    text: str


class _Update(msgspec.Struct, frozen=True, gc=False):
    """A line as it is read: its update, what is said about it, and the context of its events."""

    update: JsonObject
    about: JsonObject
    key: str
    context: Context


def read_update(line: Line, place: Place, state: State) -> ParsedLine:
    """Return what a line adds, and the message before it where that is whole now."""
    read = _update(line, place, state)
    kind = read.update.get("sessionUpdate")
    if isinstance(kind, str) and kind in _CHUNKS:
        return _read_chunk(read, kind)
    before, state = _closed(read.context, state)
    after = _noted(read, kind, state) if isinstance(kind, str) else ParsedLine(state)
    return ParsedLine(after.state, before + after.events, at=read.context.at)


def _update(line: Line, place: Place, state: State) -> _Update:
    record = load_object(line.data)
    # Old versions wrote the bare parameters.
    params = object_of(record.get("params")) or record
    about, update = object_of(params.get("_meta")), object_of(params.get("update"))
    event = name_of(about.get("eventId"))
    own = event.startswith(f"{place.session}-") if event else params.get("sessionId") == place.session
    context = Context(
        record=record,
        state=state,
        number=line.number,
        session=place.session,
        cwd=place.cwd,
        # A fork keeps the ids of what it copied, and only there is the session another one.
        home=own,
        at=utc_time(about.get("agentTimestampMs")) or utc_time(record.get("timestamp")),
        model=name_of(state.get("model")),
        rank=0,
    )
    digest = hashlib.sha256(line.data.strip()).hexdigest()[:16]
    return _Update(update, about, event or f"{place.session}/u/{digest}", context)


# Messages


def _read_chunk(read: _Update, kind: str) -> ParsedLine:
    chunk, state, at = _chunk(read, kind), read.context.state, read.context.at
    if not chunk.text:
        return ParsedLine(state, at=at)
    before = _open(state)
    if before and (before.kind, before.prompt, before.index) == (chunk.kind, chunk.prompt, chunk.index):
        before.text = _joined(before.text, chunk.text, _CHUNKS[kind])
        return ParsedLine({**state, _OPEN: msgspec.to_builtins(before)}, at=at)
    events, state = _closed(read.context, state)
    known = {**state, _OPEN: msgspec.to_builtins(chunk)}
    return ParsedLine(known | {"model": chunk.model} if chunk.model else known, events, at=at)


def _chunk(read: _Update, kind: str) -> _Chunks:
    told = object_of(read.update.get("_meta"))
    index = told.get("promptIndex")
    return _Chunks(
        kind=kind,
        prompt=name_of(read.about.get("promptId")),
        index=index if isinstance(index, int) and abs(index) < 1 << 53 else None,
        host=told.get("hostTurn") is True,
        key=read.key,
        line=read.context.number,
        at=read.context.at,
        home=read.context.home,
        model=name_of(told.get("modelId")) or read.context.model,
        text=flatten(read.update.get("content"))[:MOST_CARRIED],
    )


def _joined(text: str, more: str, seam: str) -> str:
    return text if len(text) >= MOST_CARRIED else (text + seam + more)[:MOST_CARRIED]


def _open(state: State) -> _Chunks | None:
    try:
        return msgspec.convert(state[_OPEN], _Chunks) if _OPEN in state else None
    except msgspec.ValidationError:
        return None


def _closed(context: Context, state: State) -> tuple[tuple[ParsedEvent, ...], State]:
    """Return the message that does not go on, and the state without it."""
    chunks = _open(state)
    if chunks is None:
        return (), state
    event = _message(chunks, context)
    return (event,) if event else (), {key: value for key, value in state.items() if key != _OPEN}


def _message(chunks: _Chunks, context: Context) -> ParsedEvent | None:
    begun = msgspec.structs.replace(context, at=chunks.at, home=chunks.home, model=chunks.model)
    if chunks.kind == "agent_message_chunk":
        event = make_event(begun, chunks.key, "message", "assistant", chunks.text)
        return msgspec.structs.replace(event, line=chunks.line) if chunks.text.strip() else None
    said = read_turn(chunks.text)
    meta = said.meta or chunks.host
    event = make_event(begun, chunks.key, "meta" if meta else "message", said.role, said.text)
    return msgspec.structs.replace(event, line=chunks.line) if said.text.strip() else None


# Tools and notes


def _noted(read: _Update, kind: str, state: State) -> ParsedLine:
    if note := _NOTES.get(kind):
        return note(read, state)
    # What a compaction leaves out stands in this log all the same.
    return _meta(read, state, kind) if "compact" in kind else ParsedLine(state)


def _meta(read: _Update, state: State, text: str) -> ParsedLine:
    return ParsedLine(state, (make_event(read.context, read.key, "meta", "system", text, block=1),))


def _read_rewind(read: _Update, state: State) -> ParsedLine:
    target = read.update.get("target_prompt_index")
    return _meta(read, state, f"rewound to prompt {target}" if isinstance(target, int) else "rewound")


def _read_call(read: _Update, state: State) -> ParsedLine:
    call_id, title = _call_id(read), name_of(read.update.get("title"))
    name = title if _TOOL_NAME.fullmatch(title) else name_of(read.update.get("kind")) or "tool"
    arguments = read.update.get("rawInput")
    state = with_call(state, call_id, name)
    if is_own_tool(name):
        text = own_call_text(name, call_id, arguments)
        call = make_event(read.context, read.key, "meta", "assistant", text, tool=name, block=1)
    else:
        files = named_files(arguments) or named_files({"files": _locations(read.update.get("locations"))})
        text = call_text(title or name, arguments)
        call = make_event(read.context, read.key, "tool_call", "assistant", text, "", name, files, 1)
    after = _read_result(read, state, "#result")
    return ParsedLine(after.state, (call, *after.events))


def _read_result(read: _Update, state: State, suffix: str = "") -> ParsedLine:
    """The first final form of a result is the event; what came before it says that the tool is running."""
    call_id, status = _call_id(read), read.update.get("status")
    known = state.get(_DONE)
    done = known if isinstance(known, list) else []
    if not isinstance(status, str) or status not in _FINAL or call_id in done:
        return ParsedLine(state)
    name, own = called(state, call_id)
    text = _output(read.update)
    if own or is_own_tool(name) or is_own_answer(text):
        text = own_call_text(name, call_id, None)
        event = make_event(read.context, read.key, "meta", "tool", text, suffix, name, block=2)
    else:
        text = ("[error] " if status == "failed" else "") + without_last_reminders(text)
        event = make_event(read.context, read.key, "tool_result", "tool", text, suffix, name, block=2)
    state = without_call(state, call_id)
    return ParsedLine({**state, _DONE: [*done, call_id][-_MOST_DONE:]} if call_id else state, (event,))


def _call_id(read: _Update) -> str:
    return name_of(read.update.get("toolCallId"))[:LONGEST_ID]


def _locations(value: object) -> list[str]:
    places = value if isinstance(value, list) else []
    return [name_of(object_of(place).get("path")) for place in places]


def _output(update: JsonObject) -> str:
    """Return what a tool gave back: what its client was shown, else its raw output."""
    content = update.get("content")
    shown = "\n".join(filter(None, map(_shown, content if isinstance(content, list) else [content])))
    return shown or flatten(update.get("rawOutput"))


def _shown(block: object) -> str:
    told = object_of(block)
    if told.get("type") == "diff":
        return f"[diff {name_of(told.get('path'))}]"
    # A terminal's text is kept elsewhere; the raw output has it.
    return "" if told.get("type") == "terminal" else flatten(block)


_NOTES: dict[str, Callable[[_Update, State], ParsedLine]] = {
    "tool_call": _read_call,
    "tool_call_update": _read_result,
    "rewind_marker": _read_rewind,
}
