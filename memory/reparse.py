"""Reparse: add to the store what today's parsers find in the mirrors and older ones missed; nothing is edited.

Each mirror is parsed again from its start, in the pieces it was written in. Events, places, titles and named files that
are new go in; those that are there stay as they are. Syncs go on meanwhile: a file's lock is held for one batch. After
a kill, running it again comes to the same end.
"""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db import transaction

from memory import archive, event_rows, home, mirror, sessions, shadows, sql
from memory.archive import BATCH_EVENTS
from memory.batch import Batch, PreparedEvent, prepare
from memory.errors import OriginError
from memory.event_rows import Addition
from memory.forgetting import arrivals
from memory.models import RawFile
from memory.parsed import ParseLine
from memory.text import one_line

# Specification 2, batches: others get a turn between two commits.
PAUSE_SECONDS = 0.005
_SHOWN = 120

FRAME = "SELECT stored_offset, stored_length, sha256 FROM raw_frame WHERE raw_file_id = ? AND raw_offset = ?"
KNOWN = "SELECT event_id FROM event WHERE event_id IN ({marks})"
TITLES = "SELECT line, kind FROM session_title WHERE raw_file_id = ? AND line >= ? AND line <= ?"
MALFORMED = "SELECT line, mended FROM malformed_line WHERE raw_file_id = ? AND line >= ? AND line <= ?"
MEND = "UPDATE malformed_line SET mended = ? WHERE raw_file_id = ? AND line = ?"
KEYS = "SELECT next_key, end_key FROM raw_file WHERE id = ?"
SAVE_KEYS = "UPDATE raw_file SET next_key = ?, end_key = ? WHERE id = ?"


class Example(NamedTuple):
    """An event that is not in the store yet, and the line it comes from."""

    event_id: str
    kind: str
    text: str
    file: str
    line: int


@dataclass
class Missed:
    """What older parsers missed of one source: events by kind, titles, and lines that were malformed to them."""

    events: Counter[str] = field(default_factory=Counter)
    titles: int = 0
    mended: int = 0
    examples: list[Example] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.events or self.titles or self.mended)


@dataclass
class Reparsed:
    """What was missed, by source. `problems` are mirrors that could not be read, one sentence each."""

    sources: dict[str, Missed] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


# Told after every batch how many bytes of how many are parsed.
Progress = Callable[[int, int], None]


def plan_reparse(parsers: Mapping[str, ParseLine], *, examples: int, progress: Progress = lambda *_: None) -> Reparsed:
    """Return what `reparse` would add, with so many examples of each source, and write nothing."""
    seen: set[bytes] = set()

    def look(file: RawFile, batch: Batch, missed: Missed) -> None:
        new = [event for event in _new_events(file, batch) if _first_sight(event, seen)]
        room = max(examples - len(missed.examples), 0)
        missed.examples += [_example(file, event) for event in new[:room]]
        _count(file, batch, new, missed)

    return _each_file(parsers, look, lambda file: True, progress)


def reparse(parsers: Mapping[str, ParseLine], progress: Progress = lambda *_: None) -> Reparsed:
    """Add what `plan_reparse` would show, by each source's parser, and return what was added."""

    def add(file: RawFile, batch: Batch, missed: Missed) -> None:
        with home.RawFileLocks() as locks:
            locks.take(file.pk, wait=True)
            with transaction.atomic():
                _count(file, batch, _new_events(file, batch), missed)
                _write(file, batch)
        if not home.alone():
            time.sleep(PAUSE_SECONDS)

    done = _each_file(parsers, add, _settle, progress)
    _recognise_replays()
    return done


def _each_file(
    parsers: Mapping[str, ParseLine],
    use: Callable[[RawFile, Batch, Missed], None],
    settle: Callable[[RawFile], bool],
    progress: Progress,
) -> Reparsed:
    """Parse every mirror; a damaged one costs one sentence, and what it says further on."""
    done = Reparsed()
    files = list(RawFile.objects.filter(source__in=parsers).order_by("id").values_list("id", "source", "bytes"))
    total, parsed = sum(size for *_, size in files), 0
    for key, source, size in files:
        missed = done.sources.setdefault(source, Missed())
        try:
            for file, batch in batches(key, parsers[source], settle):
                use(file, batch, missed)
                progress(parsed + file.bytes, total)
        except OriginError as error:
            done.problems.append(str(error))
        parsed += size
    return done


# Parsing


def batches(key: int, parse_line: ParseLine, settle: Callable[[RawFile], bool]) -> Iterator[tuple[RawFile, Batch]]:
    """Yield what a mirror says, each time with the raw file as today's parser leaves it just before.

    At the end `settle` is called; where it says that the mirror has grown meanwhile, that is parsed too.
    """
    file = archive.from_the_start(RawFile.objects.get(id=key))
    while True:
        start = file.bytes
        while data := _frame(file):
            while data:
                batch = prepare(data, archive.start_of(file), parse_line, BATCH_EVENTS)
                yield file, batch
                archive.advance(file, batch)
                data = data[len(batch.data) :]
        if settle(file):
            return
        if file.bytes == start:
            raise OriginError(f"The mirror {mirror.path_of(file.mirror_path)} has no piece for byte {start}.")


def _frame(file: RawFile) -> bytes:
    """Return the stretch that follows, as it was written, or nothing at the end. Raises `OriginError`."""
    found = sql.rows(FRAME, (file.pk, file.bytes))
    if not found:
        return b""
    offset, length, digest = found[0]
    path = mirror.path_of(file.mirror_path)
    data = mirror.read_frame(path, offset, length)
    if hashlib.sha256(data).digest() != digest:
        raise OriginError(f"The mirror {path} is damaged: what it holds at byte {offset} is not what was archived.")
    return data


# What is new


def _new_events(file: RawFile, batch: Batch) -> list[PreparedEvent]:
    """Return the events that the store does not have; of excluded ones nothing is told (invariant 2)."""
    events = {prepared.event.event_id: prepared for prepared in reversed(batch.events)}
    names = list(events)
    there = {str(name) for query in (KNOWN, event_rows.EXCLUDED) for (name,) in sql.rows_in(query, names)}
    new = [event for name, event in reversed(events.items()) if name not in there]
    forgotten = arrivals.forgotten([event_rows.arrival(file, event) for event in new])
    return [prepared for prepared in new if prepared.event.event_id not in forgotten]


def _first_sight(prepared: PreparedEvent, seen: set[bytes]) -> bool:
    """Remember an event, by few bytes: there may be as many as the store holds."""
    name = hashlib.blake2b(prepared.event.event_id.encode(), digest_size=8).digest()
    if name in seen:
        return False
    seen.add(name)
    return True


def _example(file: RawFile, prepared: PreparedEvent) -> Example:
    text = one_line(prepared.text, _SHOWN)
    return Example(prepared.event.event_id, prepared.event.kind, text, file.origin_path, prepared.line)


def _count(file: RawFile, batch: Batch, new: list[PreparedEvent], missed: Missed) -> None:
    missed.events.update(prepared.event.kind for prepared in new)
    held = {(line, kind) for line, kind in sql.rows(TITLES, (file.pk, *_lines(file, batch)))}
    missed.titles += len({(placed.line, placed.title.kind) for placed in batch.titles} - held)
    missed.mended += sum(mended for mended, _, _ in _mended(file, batch))


def _lines(file: RawFile, batch: Batch) -> tuple[int, int]:
    """Return the first and the last line of a stretch, which no other one has in whole."""
    return file.lines + 1, file.lines + batch.newlines + batch.open_line


def _mended(file: RawFile, batch: Batch) -> list[tuple[bool, int, int]]:
    """Return the malformed lines that have become readable, or unreadable again, as `MEND` takes them."""
    rows = sql.rows(MALFORMED, (file.pk, *_lines(file, batch)))
    return [(not mended, file.pk, line) for line, mended in rows if bool(mended) == (line in batch.malformed)]


# Writing


def _write(file: RawFile, batch: Batch) -> None:
    file.next_key, file.end_key = sql.rows(KEYS, (file.pk,))[0]
    event_rows.write([Addition(file, batch)])
    sql.execute_many(MEND, _mended(file, batch))
    archive.write_malformed(file, batch)
    sql.execute(SAVE_KEYS, (file.next_key, file.end_key, file.pk))


def _settle(file: RawFile) -> bool:
    """Leave a file as today's parser left it, for the next sync to go on; False where one has read on meanwhile."""
    with home.RawFileLocks() as locks:
        locks.take(file.pk, wait=True)
        with transaction.atomic():
            if RawFile.objects.get(id=file.pk).bytes != file.bytes:
                return False
            file.save(update_fields=archive.PARSED_COLUMNS)
            return True


def _recognise_replays() -> None:
    """Recognise copied histories again: events that came into the middle of one have moved the others."""
    for child, parent in shadows.replays():
        with transaction.atomic():
            if shadows.recognise_again(child, parent):
                sessions.rebuild({child})
                sessions.retitle({child})
