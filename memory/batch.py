"""From bytes to rows, without a database: parse a stretch of lines, mask, cut, digest and compress it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import msgspec

from memory import json_line, mirror, secrets
from memory.errors import MalformedLine
from memory.parsed import Line, ParsedEvent, ParsedLine, ParseLine, State, Title
from memory.text import cjk_bigrams, cut, text_digest

# Definitions: text kept of an event, in characters; the mirror has the rest.
TEXT_LIMITS = {"message": 262_144, "meta": 262_144, "tool_call": 2_000, "tool_result": 4_000}
# Masked before it is cut, so that a secret across the limit is still recognised.
_MASK_MARGIN = 8_192
# Orders events of one line; definitions give blocks no bound, an order needs one.
BLOCKS_PER_LINE = 1_024
_NAMES = ("cwd", "branch", "model", "agent_version", "tool")
_STAMP = re.compile(r"(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d)")


class Start(NamedTuple):
    """Where a stretch begins and what earlier lines of the file left behind.

    `open_line` says that the stretch goes on with a line begun before; `blank` counts the blank lines before it.
    """

    path: str
    first_line: int
    state: State
    last_at: str
    first_seen: str
    agent_version: str = ""
    open_line: bool = False
    blank: int = 0


class PreparedEvent(NamedTuple):
    """An event with everything about it that needs no database."""

    event: ParsedEvent
    line: int
    ordinal: int
    at: str
    inferred: bool
    text: str
    digest: bytes | None
    grams: str


class PlacedTitle(NamedTuple):
    """A title and the line that gave it; `at` is the last explicit time up to there, or empty."""

    title: Title
    line: int
    at: str


class Unusable(NamedTuple):
    """Why a line could not be used, and the version of the agent that wrote the lines before it."""

    reason: str
    agent_version: str


@dataclass
class Batch:
    """What one transaction writes: a frame and all that its lines say."""

    data: bytes
    newlines: int
    state: State
    last_at: str
    agent_version: str = ""
    parsed: int = 0
    skipped: int = 0
    blank: int = 0
    events: list[PreparedEvent] = field(default_factory=list)
    titles: list[PlacedTitle] = field(default_factory=list)
    malformed: dict[int, Unusable] = field(default_factory=dict)

    @property
    def open_line(self) -> bool:
        """True where the last line has no newline yet."""
        return not self.data.endswith(b"\n")

    def frame(self) -> mirror.Frame:
        """Compress the stretch."""
        return mirror.compress(self.data)


def prepare(data: bytes, start: Start, parse_line: ParseLine, max_events: int) -> Batch:
    """Parse `data` up to the line that reaches `max_events` and return what is to be written for that part of it.

    `data` is complete lines, or ends in one complete record without newline.
    """
    batch = Batch(data=b"", newlines=0, state=start.state, last_at=start.last_at, agent_version=start.agent_version)
    used = 0
    for number, segment in enumerate(data.split(b"\n"), start.first_line):
        if len(batch.events) >= max_events:
            break
        if not json_line.is_blank(segment):
            index = number - 1 - start.blank - batch.blank
            _parse(Line(segment, number, start.path, index), start, batch, parse_line)
        elif used < len(data) and not (start.open_line and number == start.first_line):
            batch.blank += 1
        used += len(segment) + 1
    batch.data = data[:used]
    batch.newlines = batch.data.count(b"\n")
    return batch


def _parse(line: Line, start: Start, batch: Batch, parse_line: ParseLine) -> None:
    for piece, rest in _pieces(line, batch.state, parse_line):
        if isinstance(piece, ParsedLine):
            _keep(piece, line.number, start, batch)
        if rest is not None:
            batch.malformed.setdefault(line.number, Unusable(rest, batch.agent_version))


def _pieces(line: Line, state: State, parse_line: ParseLine) -> Iterator[tuple[ParsedLine | None, str | None]]:
    """Yield what a line says, or what each of the records run together on it says, and why the rest says nothing."""
    try:
        yield parse_line(line, state), None
        return
    except MalformedLine as error:
        reason = error.reason
    objects, rest = json_line.split_objects(line.data)
    if len(objects) + (not json_line.is_blank(rest)) < 2:
        yield None, reason
        return
    for data in objects:
        try:
            parsed = parse_line(line._replace(data=data), state)
        except MalformedLine as error:
            yield None, error.reason
        else:
            state = parsed.state
            yield parsed, None
    if not json_line.is_blank(rest):
        yield None, reason


def _keep(parsed: ParsedLine, number: int, start: Start, batch: Batch) -> None:
    """Add what one record says to the batch, its time inferred where it has none (definitions: time)."""
    batch.state = parsed.state
    if parsed.at:
        batch.last_at = parsed.at
    if not parsed.events and not parsed.titles:
        batch.skipped += 1
        return
    batch.parsed += 1
    inferred = batch.last_at or _stamp_in_name(start.path) or start.first_seen
    for event in parsed.events:
        batch.events.append(_prepared(event, number, inferred))
        batch.agent_version = event.agent_version or batch.agent_version
    batch.titles += [PlacedTitle(title, number, batch.last_at) for title in parsed.titles]


def _prepared(event: ParsedEvent, number: int, inferred: str) -> PreparedEvent:
    event = _with_masked_names(event)
    limit = TEXT_LIMITS[event.kind]
    # SQLite's text functions stop at a NUL, so none is stored.
    whole = cut(event.text, limit + _MASK_MARGIN).replace("\x00", "\ufffd")
    text = secrets.mask(whole)
    if len(event.text) > len(whole):
        # Masks may shorten a text so far that a token cut off at its end would be kept unrecognised.
        text = text[:-_MASK_MARGIN]
    text = cut(text, limit)
    message = event.kind == "message"
    line = event.line or number
    return PreparedEvent(
        event=event,
        line=line,
        ordinal=line * BLOCKS_PER_LINE + min(event.block, BLOCKS_PER_LINE - 1),
        at=event.at or inferred,
        inferred=not event.at,
        text=text,
        digest=text_digest(text) if message else None,
        grams=cjk_bigrams(text) if message else "",
    )


# Names repeat from event to event, so that each is looked at once.
_masked = lru_cache(maxsize=4_096)(secrets.mask)


@lru_cache(maxsize=4_096)
def _masked_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_masked, names))


def _with_masked_names(event: ParsedEvent) -> ParsedEvent:
    """Mask what stands beside an event's text: directories, branches, files and tools are named by people too."""
    names = (event.cwd, event.branch, event.model, event.agent_version, event.tool)
    masked, files = _masked_names(names), tuple(map(_masked, event.files))
    if masked == names and files == event.files:
        return event
    return msgspec.structs.replace(event, files=files, **dict(zip(_NAMES, masked, strict=True)))


def _stamp_in_name(path: str) -> str:
    match = _STAMP.search(path.rpartition("/")[2])
    return f"{match[1]}T{match[2]}:{match[3]}:{match[4]}.000Z" if match else ""
