"""Appending to the store: mirrors, events and cursors move together or not at all."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import msgspec
from django.db import transaction
from django.db.models import F

from memory import event_rows, home, mirror, sql, times
from memory.batch import Batch, Start, prepare
from memory.errors import Conflict
from memory.event_rows import Addition
from memory.models import MalformedLine, RawFile, RawFrame
from memory.parsed import ParseLine, State

# Specification 2, appending: a transaction holds at most this many events, so that others never wait long.
BATCH_EVENTS = 500
# With no other process attached there is nobody to wait.
BATCH_EVENTS_ALONE = 2_000
HASHED_BYTES = 4_096
# One key for so many source bytes keeps keys in the order of time and the indexes dense; a file that needs more takes
# more when it does.
BYTES_PER_KEY = 200
_MALFORMED_KEPT = 1_000


class RawKey(NamedTuple):
    """Names one generation of one source file; `store` is empty for this store's own."""

    store: str
    source: str
    logical_path: str
    generation: int = 0


class Origin(NamedTuple):
    """Where a source file lies and how it looked when it was found. `form` is lines, zstd or rows."""

    path: str
    form: str
    size: int
    mtime_ns: int
    inode: int


class Known(NamedTuple):
    """A file as it was when last read to its end: what tells an unchanged one by a stat alone."""

    id: int
    generation: int
    bytes: int
    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True)
class Cursor:
    """How far a raw file is ingested, and what its source looked like then."""

    id: int
    key: RawKey
    origin: Origin
    bytes: int
    head_sha256: str
    tail_sha256: str
    watermark: State
    state: State
    parsed: int
    malformed: int


class Piece(NamedTuple):
    """Lines to append to a raw file, from byte `offset` of its source on.

    `data` is complete lines, or ends in one complete record without newline. `found` is how the source looked when it
    was found, remembered once everything in it is ingested; `watermark` is where a row journal goes on, once all of
    `data` is in. `held` is the frame of the mirror that holds `data` already, where a database is made from mirrors.
    """

    raw_file: int
    offset: int
    data: bytes
    parse_line: ParseLine
    found: Origin | None = None
    watermark: State | None = None
    held: mirror.StoredFrame | None = None


@dataclass(frozen=True)
class Appended:
    """What one append did: the cursor's new byte, and counts. `orphan` is where unknown bytes were kept."""

    bytes: int
    events: int
    malformed: int
    orphan: Path | None = None


# Of several generations the last row wins.
KNOWN = """
    SELECT logical_path, id, generation, bytes, size, mtime_ns, inode FROM raw_file
    WHERE store = '' AND source = ? AND logical_path GLOB ? ORDER BY generation"""
RESERVE = "UPDATE raw_file SET next_key = ?, end_key = ? WHERE id = ?"
EXPECT = "UPDATE raw_file SET size = ?, mtime_ns = -1 WHERE id = ?"
POSITIONS = "SELECT id, bytes, next_key, end_key FROM raw_file WHERE id IN ({marks})"
# What a parser leaves behind, beside rows.
PARSED_COLUMNS = ("parser_state", "last_at", "agent_version", "parsed", "skipped", "malformed", "blank")
CURSOR_COLUMNS = (
    *("bytes", "lines", "stored_bytes", "open_line", "head_sha256", "tail_sha256", "watermark", *PARSED_COLUMNS),
    *("next_key", "end_key", "origin_path", "form", "size", "mtime_ns", "inode"),
)
SAVE_CURSOR = f"UPDATE raw_file SET {', '.join(f'{column} = ?' for column in CURSOR_COLUMNS)} WHERE id = ?"
INSERT_FRAME = """raw_frame
    (raw_file_id, first_line, lines, raw_offset, raw_length, stored_offset, stored_length, sha256, stored_sha256)"""
FRAME_DIGESTS = "SELECT raw_offset, raw_length, sha256 FROM raw_frame WHERE raw_file_id = ? ORDER BY raw_offset"


def known(source: str, pattern: str = "*") -> dict[str, Known]:
    """Return the files known of a source of this store, by logical path, in their newest generation.

    `pattern` is an SQLite GLOB on the logical path.
    """
    return {str(path): Known(*fields) for path, *fields in sql.rows(KNOWN, (source, pattern))}


def new_generation(key: RawKey, origin: Origin) -> Cursor:
    """Begin a fresh mirror for a file that was rewritten; the old generation stays as it is."""
    following = key._replace(generation=key.generation + 1)
    register([(following, origin)])
    return cursor(following)


def cursor(key: RawKey) -> Cursor:
    """Return where one raw file stands now."""
    return _cursor(_raw_file(key))


def cursors(raw_files: Iterable[int]) -> dict[int, Cursor]:
    """Return where raw files stand now, by their ids."""
    return {pk: _cursor(file) for pk, file in RawFile.objects.in_bulk(list(raw_files)).items()}


def _raw_file(key: RawKey) -> RawFile:
    return RawFile.objects.get(
        store=key.store, source=key.source, logical_path=key.logical_path, generation=key.generation
    )


def _cursor(file: RawFile) -> Cursor:
    return Cursor(
        id=file.pk,
        key=RawKey(file.store, file.source, file.logical_path, file.generation),
        origin=Origin(file.origin_path, file.form, file.size, file.mtime_ns, file.inode),
        bytes=file.bytes,
        head_sha256=file.head_sha256,
        tail_sha256=file.tail_sha256,
        watermark=msgspec.json.decode(file.watermark),
        state=msgspec.json.decode(file.parser_state),
        parsed=file.parsed,
        malformed=file.malformed,
    )


def frame_digests(raw_file_id: int) -> list[tuple[int, int, bytes]]:
    """Return (offset, length, SHA-256) of every ingested stretch of a raw file, in order."""
    return [(int(a), int(b), bytes(c)) for a, b, c in sql.rows(FRAME_DIGESTS, (raw_file_id,))]


def check_mirrors_known() -> None:
    """Raise `mirror.UnknownFrames` where there are mirrors and a database that knows of none."""
    if not RawFile.objects.exists() and next(home.raw_path().rglob("*.zst"), None) is not None:
        raise mirror.UnknownFrames(
            f"{home.raw_path()} holds mirrors but the database beside it is new: it was deleted or moved. "
            "Nothing was touched; run `rebuild` to make the database from the mirrors."
        )


def register(files: Iterable[tuple[RawKey, Origin]]) -> None:
    """Make the rows of raw files met for the first time, in one transaction.

    Raises `mirror.UnknownFrames` where a mirror of that name lies there already: its frames belong to a database that
    was deleted or restored alone, and are neither cut nor appended to.
    """
    first_seen = times.now()
    rows = []
    for key, origin in files:
        path = mirror.relative_path(key.source, key.logical_path, key.generation)
        if mirror.path_of(path).exists():
            _refuse_unknown(key, path)
        rows.append(_new_row(key, origin, path, first_seen))
    RawFile.objects.bulk_create(rows, ignore_conflicts=True)


def register_device_file(key: RawKey, origin: Origin, first_seen: str) -> int:
    """Make the row of another store's raw file where there is none, and return its id.

    `first_seen` is when that store first saw it: undated lines take it for their time, here as there.
    """
    found = RawFile.objects.filter(**key._asdict()).values_list("id", flat=True).first()
    if found is None:
        path = mirror.device_path(key.store, key.source, key.logical_path, key.generation)
        if mirror.path_of(path).exists():
            _refuse_unknown(key, path)
        RawFile.objects.bulk_create([_new_row(key, origin, path, first_seen)], ignore_conflicts=True)
        found = _raw_file(key).pk
    return found


def register_mirror(label: mirror.Label, mirror_path: str) -> int:
    """Make the row of a raw file from the label of its mirror, and return its id: for a database made from mirrors."""
    key = RawKey(label.store, label.source, label.logical_path, label.generation)
    row = _new_row(key, Origin(label.origin_path, label.form, -1, -1, -1), mirror_path, label.first_seen)
    row.save()
    return row.pk


def _refuse_unknown(key: RawKey, path: str) -> None:
    """Let pass only the mirror of a row that another process has just registered."""
    if RawFile.objects.filter(mirror_path=path, **key._asdict()).exists():
        return
    raise mirror.UnknownFrames(
        f"{mirror.path_of(path)} holds log lines that this database does not know: it was deleted or restored alone. "
        "Nothing was touched; run `rebuild` to make a database from the mirrors."
    )


def _new_row(key: RawKey, origin: Origin, path: str, first_seen: str) -> RawFile:
    return RawFile(
        **key._asdict(),
        origin_path=origin.path,
        form=origin.form,
        mirror_path=path,
        first_seen=first_seen,
        size=origin.size,
    )


def reserve_keys(needs: Iterable[tuple[int, int]]) -> None:
    """Reserve event keys for files, given as (raw file id, bytes to come), oldest first.

    Keys choose the newest candidates of a search, so a backlog read newest first must still give older files smaller
    keys. A file keeps what it has where that is enough.
    """
    with transaction.atomic():
        held = dict(RawFile.objects.values_list("id", F("end_key") - F("next_key")))
        free = event_rows.first_free_key()
        changed = []
        for pk, size in needs:
            wanted = size // BYTES_PER_KEY + 1
            if held.get(pk, 0) < wanted:
                changed.append((free, free + wanted, pk))
                free += wanted
        sql.execute_many(RESERVE, changed)


def seen(raw_file_id: int, origin: Origin) -> None:
    """Remember how a source looked once everything in it was read."""
    RawFile.objects.filter(id=raw_file_id).update(
        origin_path=origin.path, form=origin.form, size=origin.size, mtime_ns=origin.mtime_ns, inode=origin.inode
    )


def expect(sizes: Iterable[tuple[int, int]]) -> None:
    """Remember how large changed sources are before they are read, as (raw file id, bytes): status says how far."""
    with transaction.atomic():
        sql.execute_many(EXPECT, [(size, pk) for pk, size in sizes])


def append(key: RawKey, offset: int, data: bytes, parse_line: ParseLine, *, max_events: int = BATCH_EVENTS) -> Appended:
    """Append the lines in `data`, which begin at byte `offset` of a raw file; see `append_all`."""
    piece = Piece(cursor(key).id, offset, data, parse_line)
    return append_all([piece], max_events=max_events)[0]


def append_all(pieces: Iterable[Piece], *, max_events: int = BATCH_EVENTS) -> list[Appended]:
    """Append stretches of different raw files, and all that their lines say, in one transaction.

    At most `max_events` events' worth of lines go in: the answers say up to which byte of each file, and pieces that
    found no room have none. Parsing and compressing hold no lock; every mirror is on disk before the row that counts
    it (invariant 1).

    Raises `Conflict` where a cursor is not at a piece's offset, and `mirror.UnknownFrames` as `register` does.
    """
    prepared = list(_prepared(list(pieces), max_events))
    frames = [None if piece.held else batch.frame() for piece, _, batch in prepared]
    with transaction.atomic():
        _check_positions([(piece, file) for piece, file, _ in prepared])
        orphans = [_write_frame(*each, frame) for each, frame in zip(prepared, frames, strict=True)]
        added = event_rows.write([Addition(file, batch) for _, file, batch in prepared])
        for piece, file, batch in prepared:
            write_malformed(file, batch)
            _move_cursor(file, batch, piece)
    return [
        Appended(file.bytes, events, len(batch.malformed), orphan)
        for (_, file, batch), events, orphan in zip(prepared, added, orphans, strict=True)
    ]


def _prepared(pieces: list[Piece], max_events: int) -> Iterator[tuple[Piece, RawFile, Batch]]:
    """Parse pieces until they make `max_events` events."""
    files = RawFile.objects.in_bulk([piece.raw_file for piece in pieces])
    for piece in pieces:
        if max_events <= 0:
            return
        file = files[piece.raw_file]
        _check_offset(file, piece.offset)
        batch = prepare(piece.data, start_of(file), piece.parse_line, max_events)
        max_events -= len(batch.events)
        yield piece, file, batch


def _check_positions(pieces: list[tuple[Piece, RawFile]]) -> None:
    """Read the cursors again under the write lock: another process may have moved them since."""
    rows = {row[0]: row[1:] for row in sql.rows_in(POSITIONS, [file.pk for _, file in pieces])}
    for piece, file in pieces:
        file.bytes, file.next_key, file.end_key = (int(value) for value in rows[file.pk])
        _check_offset(file, piece.offset)


def _write_frame(piece: Piece, file: RawFile, batch: Batch, frame: mirror.Frame | None) -> Path | None:
    """Put a frame on disk and its row beside the events; returns where bytes of unknown origin were kept."""
    if piece.held is not None:
        assert batch.data == piece.data, "a frame goes into a database whole"
        held, digest = piece.held, hashlib.sha256(piece.data).digest()
        _write_frame_row(file, batch, held.offset, held.length, digest, held.stored_sha256)
        return None
    assert frame is not None, "what no mirror holds is compressed before the lock is taken"
    path = mirror.path_of(file.mirror_path)
    orphan = mirror.settle(path, file.stored_bytes, batch.data)
    stored_offset = mirror.append(path, file.stored_bytes, _label(file), frame.stored)
    stored_digest = hashlib.sha256(frame.stored).digest()
    _write_frame_row(file, batch, stored_offset, len(frame.stored), frame.sha256, stored_digest)
    return orphan


def _write_frame_row(
    file: RawFile, batch: Batch, stored_offset: int, length: int, digest: bytes, stored_digest: bytes
) -> None:
    place = (file.lines + 1, batch.newlines, file.bytes, len(batch.data), stored_offset, length)
    inserted = sql.insert(INSERT_FRAME, [(file.pk, *place, digest, stored_digest)])
    # The append-only trigger drops a frame that begins where another does without a word: bytes nobody would find.
    assert inserted == 1, f"two frames of {file.mirror_path} at byte {file.bytes}"
    file.stored_bytes = stored_offset + length


def _remember_source(file: RawFile, found: Origin) -> None:
    file.origin_path, file.form, file.size, file.mtime_ns, file.inode = found


def _check_offset(file: RawFile, offset: int) -> None:
    if file.bytes != offset:
        raise Conflict(f"{file.origin_path} is ingested up to byte {file.bytes}; resume from there.", file.bytes)


def start_of(file: RawFile) -> Start:
    """Return what earlier lines of a raw file left behind for the next one."""
    return Start(
        path=file.logical_path,
        first_line=file.lines + 1,
        state=msgspec.json.decode(file.parser_state),
        last_at=file.last_at,
        first_seen=file.first_seen,
        agent_version=file.agent_version,
        open_line=file.open_line,
        blank=file.blank,
    )


def _label(file: RawFile) -> mirror.Label:
    return mirror.Label(
        file.store,
        file.source,
        file.logical_path,
        file.generation,
        file.origin_path,
        file.first_seen,
        file.form,
    )


def write_malformed(file: RawFile, batch: Batch) -> None:
    """Keep which lines of a stretch could not be used; of those of a file, the first ones."""
    if batch.malformed and file.malformed < _MALFORMED_KEPT:
        MalformedLine.objects.bulk_create(
            [
                MalformedLine(raw_file=file, line=line, reason=why.reason[:80], agent_version=why.agent_version)
                for line, why in list(batch.malformed.items())[:_MALFORMED_KEPT]
            ],
            ignore_conflicts=True,
        )


def from_the_start(file: RawFile) -> RawFile:
    """Return a raw file as it was before its first line, for a mirror that is parsed again; nothing is saved."""
    unread = RawFile()
    for column in ("bytes", "lines", "open_line", *PARSED_COLUMNS):
        setattr(file, column, getattr(unread, column))
    return file


def advance(file: RawFile, batch: Batch) -> None:
    """Count a stretch as read: what status tells, and the next stretch needs to know."""
    file.bytes += len(batch.data)
    file.lines += batch.newlines
    file.open_line = batch.open_line
    file.parser_state = msgspec.json.encode(batch.state).decode()
    file.last_at = batch.last_at
    file.agent_version = batch.agent_version
    file.parsed += batch.parsed
    file.skipped += batch.skipped
    file.blank += batch.blank
    file.malformed += len(batch.malformed)


def _move_cursor(file: RawFile, batch: Batch, piece: Piece) -> None:
    _rehash(file, batch.data)
    advance(file, batch)
    if piece.watermark is not None and len(batch.data) == len(piece.data):
        file.watermark = msgspec.json.encode(piece.watermark).decode()
    if piece.found is not None and piece.found.form == "lines" and file.bytes >= piece.found.size:
        _remember_source(file, piece.found)
    sql.execute(SAVE_CURSOR, [getattr(file, column) for column in CURSOR_COLUMNS] + [file.pk])


def _rehash(file: RawFile, data: bytes) -> None:
    """Keep the hashes of the first and last 4,096 bytes ingested (definitions: tail / head hash)."""
    short = file.bytes > 0 and min(file.bytes, len(data)) < HASHED_BYTES
    joined = _last_bytes(file) + data if short else data
    if file.bytes < HASHED_BYTES:
        file.head_sha256 = hashlib.sha256(joined[:HASHED_BYTES]).hexdigest()
    file.tail_sha256 = hashlib.sha256(joined[-HASHED_BYTES:]).hexdigest()


def _last_bytes(file: RawFile) -> bytes:
    """Return the last 4,096 bytes ingested before now, or all of them, from the mirror."""
    held = b""
    for frame in RawFrame.objects.filter(raw_file=file, raw_offset__lt=file.bytes).order_by("-raw_offset").iterator():
        path = mirror.path_of(file.mirror_path)
        held = mirror.read_frame(path, frame.stored_offset, frame.stored_length) + held
        if len(held) >= HASHED_BYTES:
            break
    return held[-HASHED_BYTES:]
