"""What a hub does for the stores that push to it: who they are, how far their files are held, and taking in more."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from memory import archive, home
from memory.access import tokens
from memory.access.tokens import Principal
from memory.actor import Actor
from memory.archive import Appended, Origin, Piece, RawKey
from memory.errors import Conflict, InvalidInput
from memory.models import Device, RawFile
from memory.mutation import mutation
from memory.parsed import ParseLine
from memory.times import now

_STORE = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
# lab-security J 43, for what is only ever a column here.
_BAD_SEGMENT = re.compile("[\x00-\x1f\x7f\\\\]|[. ]$|^$")
_SEGMENTS, _SEGMENT_BYTES = 32, 255
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", re.ASCII)
_MOST = 1 << 53
_FORMS = ("lines", "zstd", "rows")
CURSORS_AT_ONCE = 1_000


class Hello(NamedTuple):
    """What a store says of itself. `clock_ms` is its wall clock, so that skew can be shown."""

    store: str
    incarnation: str
    name: str
    kind: str
    clock_ms: int
    version: str


class Chunk(NamedTuple):
    """A stretch of complete lines of one raw file of another store; `logical_path` names the file, and no path here."""

    source: str
    logical_path: str
    generation: int
    offset: int
    data: bytes
    form: str
    origin_path: str
    first_seen: str


class FileCursor(NamedTuple):
    """How far one raw file of a store is held."""

    source: str
    logical_path: str
    generation: int
    bytes: int
    tail_sha256: str


def hello(told: Hello, principal: Principal, actor: Actor, clock_ms: int) -> Device:
    """Take note of a store, bind the token to it, and return what is kept of it.

    Raises `InvalidInput`, `Denied` for a token of another store, and `Conflict` with a free name where the name is
    another store's.
    """
    if not _STORE.fullmatch(told.store) or not _NAME.fullmatch(told.name) or told.kind not in ("device", "relay"):
        raise InvalidInput("store", "A store names itself by its uuid, a device name and its kind.")
    known = Device.objects.filter(store=told.store).first()
    if known is None or known.name != told.name or known.incarnation != told.incarnation:
        with mutation("device hello", actor) as change:
            tokens.bind(principal, told.store)
            known = _enrol(told)
            change.targets.append(f"device:{told.store}")
    else:
        tokens.bind(principal, told.store)
    Device.objects.filter(pk=known.pk).update(
        last_seen=now(), skew_ms=told.clock_ms - clock_ms, version=told.version, kind=told.kind
    )
    return known


def _enrol(told: Hello) -> Device:
    if Device.objects.filter(name=told.name).exclude(store=told.store).exists():
        raise Conflict(f"Another device is called {told.name}; call this one {_free(told.name)}.", _free(told.name))
    told_now = {"name": told.name, "incarnation": told.incarnation, "last_seen": now()}
    row, _ = Device.objects.update_or_create(
        store=told.store, defaults=told_now, create_defaults=told_now | {"first_seen": now()}
    )
    return row


def _free(name: str) -> str:
    taken = set(Device.objects.filter(name__startswith=name[:59]).values_list("name", flat=True))
    return next(free for number in range(2, 10_000) if (free := f"{name[:58]}-{number}") not in taken)


def cursors(store: str, after: int = 0) -> tuple[list[FileCursor], int]:
    """Return how far files of a store are held, a page at a time, and where the next page begins (0: no more)."""
    rows = list(RawFile.objects.filter(store=store, id__gt=after).order_by("id")[: CURSORS_AT_ONCE + 1])
    page = rows[:CURSORS_AT_ONCE]
    found = [FileCursor(row.source, row.logical_path, row.generation, row.bytes, row.tail_sha256) for row in page]
    return found, page[-1].pk if len(rows) > CURSORS_AT_ONCE else 0


def ingest(store: str, chunk: Chunk, parse_line: ParseLine) -> Appended:
    """Append a chunk of another store's file, by the same function that a sync of this machine's files ends in.

    Sent again after a lost reply it is a `Conflict` that holds the cursor, and adds nothing. Raises `InvalidInput` for
    a chunk that no store can have made.
    """
    _check(chunk)
    key = RawKey(store, chunk.source, chunk.logical_path, chunk.generation)
    if (held := tail_of(key)[0]) != chunk.offset:
        raise Conflict(f"This file is held up to byte {held}; go on from there.", held)
    raw_file = archive.register_device_file(key, Origin(chunk.origin_path, chunk.form, -1, -1, -1), chunk.first_seen)
    with home.RawFileLocks() as locks:
        locks.take(raw_file, wait=True)
        done = list(_append(raw_file, chunk, parse_line))
    return Appended(done[-1].bytes, sum(each.events for each in done), sum(each.malformed for each in done))


def _append(raw_file: int, chunk: Chunk, parse_line: ParseLine) -> Iterator[Appended]:
    """Append in batches that hold no lock for long; what is in when a later one fails is not sent again."""
    offset, data = chunk.offset, chunk.data
    while data:
        [appended] = archive.append_all([Piece(raw_file, offset, data, parse_line)])
        yield appended
        data = data[appended.bytes - offset :]
        offset = appended.bytes


def _check(chunk: Chunk) -> None:
    segments = chunk.logical_path.split("/")
    if len(segments) > _SEGMENTS or any(not _is_good(segment) for segment in segments):
        raise InvalidInput("relPath", "The relative path is not one that a device sends.")
    numbers = 0 <= chunk.generation < _MOST and 0 <= chunk.offset < _MOST
    if chunk.form not in _FORMS or not numbers or not chunk.data or not _STAMP.fullmatch(chunk.first_seen):
        raise InvalidInput("offset", "The chunk is not one that a device sends.")


def _is_good(segment: str) -> bool:
    return not _BAD_SEGMENT.search(segment) and len(segment.encode("utf-8", "replace")) <= _SEGMENT_BYTES


def tail_of(key: RawKey) -> tuple[int, str]:
    """Return the cursor of one file, for the answer to a chunk that does not begin there."""
    row = RawFile.objects.filter(**key._asdict()).first()
    return (row.bytes, row.tail_sha256) if row else (0, "")
