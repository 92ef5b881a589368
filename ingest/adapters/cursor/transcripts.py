"""Cursor's transcripts: JSON lines as today's builds write them, and the blocks of text that older ones wrote."""

import hashlib
import re
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from ingest.adapters.content import flatten
from ingest.adapters.cursor.messages import (
    Owner,
    answered,
    asked,
    blocks_of,
    call,
    directory_of,
    event,
    name,
    prompts_of,
    read_message,
    result,
)
from ingest.adapters.cursor.places import Place
from ingest.adapters.cursor.prompt import Prompt
from ingest.adapters.journal import column_bytes
from ingest.adapters.times import utc_time
from memory.json_line import BOM, JsonObject, load_object
from memory.parsed import Line, ParsedEvent, ParsedLine, State

_ROLES = ("user", "assistant", "tool")
_TIMES = ("timestamp", "createdAt")
_AROUND = b" \t\r\n\x00"
_MARKER = re.compile(r"\A\ufeff?(?:user|assistant|A):[ \t\r]*\n?")
_PART = re.compile(r"^\[(Thinking|Tool call|Tool result)\](.*)$", re.MULTILINE)
# What a part of a block holds ends where a paragraph begins at the margin.
_PARAGRAPH = re.compile(r"\n[ \t\r]*\n(?=[^\s])")


class _Part(NamedTuple):
    """A stretch of an assistant's block: `kind` is empty for prose; `label` is what follows the kind on its line."""

    kind: str
    label: str
    body: str


def read_line(line: Line, place: Place, state: State) -> ParsedLine:
    """Return what a line of a transcript says. Its events are named by its place among the lines, and its bytes."""
    record = load_object(line.data)
    role, blocks = _role(record), blocks_of(record)
    prompts = prompts_of(blocks) if role == "user" else []
    state = _carried(state, blocks, prompts)
    owner = Owner(
        key=f"{place.thread}/{line.position}-{digest(line.data)}",
        session=place.session,
        parent=place.parent,
        rank=place.store,
        home=True,
        at=_time(record) or next((prompt.at for _, prompt in prompts if prompt.at), ""),
        cwd=name(state.get("cwd")),
        model=_model(record),
    )
    if role in _ROLES:
        return read_message(owner, role, blocks, prompts, state)
    return ParsedLine(state, _failure(owner, record), at=owner.at)


def digest(data: bytes) -> str:
    """Return eight hex digits of a line's bytes, without what editors and crashes put around it."""
    return hashlib.sha256(data.removeprefix(BOM).strip(_AROUND)).hexdigest()[:8]


def _role(record: JsonObject) -> object:
    message = record.get("message")
    return record.get("role") or (message.get("role") if isinstance(message, dict) else None)


def _carried(state: State, blocks: list[object], prompts: list[tuple[int, Prompt]]) -> State:
    """Keep where the session works: the workspace that Cursor names, else the first directory of a call."""
    if state.get("cwd"):
        return state
    workspaces = (prompt.workspace for _, prompt in prompts if prompt.workspace)
    found = next(workspaces, "") or directory_of(blocks)
    return {**state, "cwd": found} if found else state


def _time(record: JsonObject) -> str:
    return _first_time(record) or _first_time(record.get("message"))


def _first_time(holder: object) -> str:
    values = (holder.get(field) for field in _TIMES) if isinstance(holder, dict) else ()
    return next(filter(None, map(utc_time, values)), "")


def _model(record: JsonObject) -> str:
    message = record.get("message")
    return name(record.get("model")) or (name(message.get("model")) if isinstance(message, dict) else "")


def _failure(owner: Owner, record: JsonObject) -> tuple[ParsedEvent, ...]:
    """Return what a line says that is no message: of the ends of turns only those that failed."""
    reason = flatten(record.get("error"))
    if not reason or reason.isspace():
        return ()
    return (event(owner, "meta", "system", f"{name(record.get('type')) or 'error'}: {reason}"),)


# Blocks of text


def read_block(line: Line, place: Place, state: State) -> ParsedLine:
    """Return what a block of an old transcript says: a row of the journal that is made of it."""
    row = load_object(line.data)
    role = row.get("role")
    text = column_bytes(row, "text").decode("utf-8", "replace")
    key = f"{place.thread}/t{name(str(row.get('block')))}-{digest(line.data)}"
    owner = Owner(key, place.session, place.parent, place.store, home=True, cwd=name(state.get("cwd")))
    body = _MARKER.sub("", text, count=1).replace("\r\n", "\n")
    if role == "user":
        return _asked(owner, body, state)
    if role == "assistant":
        return ParsedLine(state, tuple(_spoken(owner, body)))
    return ParsedLine(state, (event(owner, "meta", "system", body),) if body.strip() else ())


def _asked(owner: Owner, body: str, state: State) -> ParsedLine:
    prompts = prompts_of([body.strip()])
    state = _carried(state, [], prompts)
    at = next((prompt.at for _, prompt in prompts), "")
    owner = Owner(owner.key, owner.session, owner.parent, owner.rank, True, at, name(state.get("cwd")))
    return ParsedLine(state, tuple(asked(owner, prompts)), at=at)


def _spoken(owner: Owner, body: str) -> Iterator[ParsedEvent]:
    parts = list(_parts(body))
    yield from answered(owner, (part.body.strip() for part in parts if not part.kind))
    for index, part in enumerate(parts):
        arguments = part.body.strip("\n") or None
        if part.kind == "Tool call":
            yield call(owner, part.label, arguments, f"#{index}", index)
        elif part.kind == "Tool result" and arguments:
            yield result(owner, part.label, arguments, False, f"#{index}", index)


def _parts(body: str) -> Iterator[_Part]:
    """Split an assistant's block at its markers; prose may follow what a marker holds."""
    marks = list(_PART.finditer(body))
    yield _Part("", "", body[: marks[0].start()] if marks else body)
    for mark, following in zip_longest(marks, marks[1:]):
        held = body[mark.end() : following.start() if following else len(body)].removeprefix("\n")
        # A call's values may hold paragraphs, and its result, if only a heading, always comes right after it.
        if mark[1] == "Tool call" and following and following[1] == "Tool result":
            yield _Part(mark[1], mark[2].strip(), held)
            continue
        end = _PARAGRAPH.search(f"\n{held}")
        cut = max(end.start() - 1, 0) if end else len(held)
        yield _Part(mark[1], mark[2].strip(), held[:cut])
        yield _Part("", "", held[cut:])
