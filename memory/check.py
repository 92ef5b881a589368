"""Check: read everything that is kept and say of each thing that is not as it was written, one sentence each.

Nothing is changed, but for indexes of SQLite's own while they are asked whether they agree with their tables.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from memory import audit, config, home, mirror, reparse, sql
from memory.archive import HASHED_BYTES
from memory.batch import Batch, PreparedEvent
from memory.entries import facts, state
from memory.errors import OriginError
from memory.forgetting import keyring, tombstones
from memory.models import Entry, RawFile, RawFrame, Record
from memory.parsed import ParseLine
from memory.records import journal
from memory.records.wire import is_sound
from memory.text import normalise

# Told what is looked at, and how much of how much is done.
Progress = Callable[[int, int], None]

INDEXES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"
HELD_AT = """
    SELECT e.event_id, e.line, e.kind, e.role, e.text, 1 FROM event e
    WHERE e.raw_file_id = ?1 AND e.line >= ?2 AND e.line <= ?3
    UNION ALL SELECT e.event_id, p.line, '', '', '', 0 FROM event_place p JOIN event e ON e.id = p.event
    WHERE p.raw_file_id = ?1 AND p.line >= ?2 AND p.line <= ?3"""
QUOTES = """
    SELECT n.entry_id, s.event_id, s.quote, e.text FROM entry_source s JOIN entry n ON n.id = s.entry_id
    JOIN event e ON e.event_id = s.event_id WHERE s.quote <> ''"""
MISCOUNTED = """
    SELECT s.session_id FROM session s
    WHERE s.events <> (SELECT count(*) FROM visible_event e WHERE e.session_id = s.id)"""


def check(parsers: Mapping[str, ParseLine], progress: Progress = lambda *_: None) -> Iterator[str]:
    """Yield one sentence for each thing that is damaged, missing or does not follow from the rest.

    `parsers` are the parsers by source: what every mirrored line says is compared with the events that are held.
    """
    yield from _settings()
    yield from _database()
    yield from _records()
    # Without its keys nothing can be said of what follows from forgetting.
    yield from () if list(_sentence(keyring.held)) else _derived()
    yield from _mirrors(parsers, progress)
    yield from _citations()


def _sentence(of: Callable[[], object]) -> Iterator[str]:
    try:
        of()
    except OriginError as error:
        yield str(error)


def _settings() -> Iterator[str]:
    yield from _sentence(config.load)
    yield from _sentence(keyring.held)
    for path in (home.home(), home.raw_path(), keyring.path().parent):
        if path.exists() and path.stat().st_mode & 0o077:
            yield f"{path} can be read by others."


def _database() -> Iterator[str]:
    for (found,) in sql.rows("PRAGMA integrity_check"):
        if found != "ok":
            yield f"The database is damaged: {found}."
    for table, row, parent, _ in sql.rows("PRAGMA foreign_key_check"):
        yield f"Row {row} of {table} names a row of {parent} that is not there."
    for (index,) in sql.rows(INDEXES):
        if not _agrees(str(index)):
            yield f"The index {index} does not hold what its texts say."


def _agrees(index: str) -> bool:
    """Ask an index to compare itself with its table (sqlite.org/fts5.html, integrity-check)."""
    try:
        sql.execute(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")
    except Exception as error:
        if "malformed" not in str(error):
            raise
        return False
    return True


def _records() -> Iterator[str]:
    for broken in audit.breaks():
        yield f"Row {broken.row} of the audit log {broken.reason}."
    hashes: list[str] = []
    for record in Record.objects.order_by("id").iterator():
        hashes.append(record.sha256)
        if not is_sound(record):
            yield f"The record {record.origin} {record.oseq} is not what was written."
    if hashes != [wire.sha256 for wire in journal.held()] or journal.is_behind():
        yield f"{journal.path()} does not hold what the database holds of records."


def _derived() -> Iterator[str]:
    """Compare what is derived from records with what they say now."""
    expected = state.worked_out(state.all_chains())
    columns = ("entry_id", "trust", "superseded", "lost", "ends_at", "forgotten")
    for name, *held in Entry.objects.values_list(*columns).iterator():
        if tuple(held) != expected[name]:
            yield f"The entry {name} is not in the state that its records give it."
    for entry in Entry.objects.select_related("record").iterator():
        if not facts.says(entry):
            yield f"The entry {entry.entry_id} is not what its record says."
    for name in tombstones.unsettled():
        yield f"What the tombstone {name} covers is not hidden and shown as its records say."
    for (session,) in sql.rows(MISCOUNTED):
        yield f"The session {session} does not count the events it has."


# Mirrors


def _mirrors(parsers: Mapping[str, ParseLine], progress: Progress) -> Iterator[str]:
    files = list(RawFile.objects.order_by("id"))
    total, done = sum(file.bytes for file in files), 0
    for file in files:
        problems = list(_mirror(file))
        # A line of a damaged mirror says nothing that could be compared.
        yield from problems or (_events(file, parsers[file.source]) if file.source in parsers else ())
        done += file.bytes
        progress(done, total)
    known = {mirror.path_of(file.mirror_path) for file in files}
    for path in sorted(set(home.raw_path().rglob("*.zst")) - known):
        yield f"{path} is a mirror that the database does not know."


def _mirror(file: RawFile) -> Iterator[str]:
    """Compare a mirror with its row: its label, every frame, where each lies, and the hashes of both its ends."""
    path = mirror.path_of(file.mirror_path)
    if not file.bytes and not path.exists():
        return
    if not path.exists():
        yield f"The mirror {path} is missing."
        return
    label = mirror.read_label(path)
    if label is None or not _is_label_of(label, file):
        yield f"{path} does not say what it mirrors."
    try:
        yield from _frames(file, path)
    except OriginError as error:
        yield str(error)
    if path.stat().st_size > file.stored_bytes:
        yield f"The mirror {path} ends in bytes that the database does not know; the next sync settles them."


def _frames(file: RawFile, path: Path) -> Iterator[str]:
    length = stored = 0
    head = tail = b""
    for frame in RawFrame.objects.filter(raw_file=file).order_by("raw_offset"):
        data = mirror.read_frame(path, frame.stored_offset, frame.stored_length)
        known = bytes(frame.stored_sha256 or b"")
        is_changed = known and known != mirror.stored_sha256(path, frame.stored_offset, frame.stored_length)
        whole = (
            not is_changed and hashlib.sha256(data).digest() == bytes(frame.sha256) and len(data) == frame.raw_length
        )
        if not whole or frame.raw_offset != length or (stored and frame.stored_offset != stored):
            yield f"The mirror {path} is damaged at byte {frame.stored_offset}."
            return
        length, stored = length + len(data), frame.stored_offset + frame.stored_length
        head, tail = (head + data)[:HASHED_BYTES], (tail + data)[-HASHED_BYTES:]
    hashes = (hashlib.sha256(head).hexdigest(), hashlib.sha256(tail).hexdigest())
    if length and (length, stored, *hashes) != (file.bytes, file.stored_bytes, file.head_sha256, file.tail_sha256):
        yield f"The mirror {path} does not hold the {file.bytes} bytes that were archived."


def _is_label_of(label: mirror.Label, file: RawFile) -> bool:
    return all(getattr(label, name) == getattr(file, name) for name in label._fields)


def _events(file: RawFile, parse_line: ParseLine) -> Iterator[str]:
    """Parse a mirror again: every event it gives must be held in this place, and every event held here be given."""
    try:
        for at, batch in reparse.batches(file.pk, parse_line, lambda _: True):
            yield from _stretch(at, batch)
    except OriginError as error:
        yield str(error)


def _stretch(file: RawFile, batch: Batch) -> Iterator[str]:
    given = {(each.event.event_id, each.line): each for each in batch.events}
    first, last = file.lines + 1, file.lines + batch.newlines + batch.open_line
    held = sql.rows(HELD_AT, (file.pk, first, last))
    path = mirror.path_of(file.mirror_path)
    for name, line, kind, role, text, owns in held:
        found = given.get((name, line))
        if found is None:
            yield f"Line {line} of {path} does not say the event {name}."
        elif owns and not _says(found, kind, role, text):
            yield f"The event {name} is not what line {line} of {path} says; `reparse` or damage."
    for name, line in given.keys() - {(name, line) for name, line, *_ in held}:
        yield f"The event {name} of line {line} of {path} is not held; `reparse` adds it."


def _says(found: PreparedEvent, kind: str, role: str, text: str) -> bool:
    return (found.event.kind, found.event.role, found.text) == (kind, role, text)


def _citations() -> Iterator[str]:
    """Every quote must be in the text of the event it cites; an event that has not arrived is waited for."""
    for entry, event, quote, text in sql.rows(QUOTES):
        if normalise(quote) not in normalise(text):
            yield f"The entry {entry} quotes words that the event {event} does not hold."
