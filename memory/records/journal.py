"""The records once more, in a file beside the database: what was remembered and forgotten outlives a lost database.

`records.jsonl` holds a line a record in the order in which they arrived here, as they travel. It is written before its
transaction commits. A kill between the two leaves whole lines that the database does not know; they are taken in by the
next command that opens the store, as is what a database restored alone has lost. Without it, rebuilding from the
mirrors would bring forgotten words back (invariant 2).
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from memory import home
from memory.models import Record
from memory.records.wire import Wire, is_sound, wire
from memory.setting import keep, kept

# How far the file is known to the database: the last record's key, and the bytes up to its newline.
_POSITION = "journal"


def path() -> Path:
    """Return where the journal lies."""
    return home.home() / "records.jsonl"


def append_new() -> None:
    """Write the records that the caller's transaction added, and fsync them."""
    key, offset = _position()
    fresh = list(Record.objects.filter(id__gt=key).order_by("id"))
    if not fresh:
        return
    data = b"".join(map(_line, fresh))
    home.private(path())
    with path().open("r+b") as file:
        file.seek(offset)
        # What is taken in after a kill stands there already, and must not be lost to a disk that is full.
        if file.read(len(data)) != data:
            file.truncate(offset)
            file.seek(offset)
            file.write(data)
        file.truncate(offset + len(data))
        file.flush()
        os.fsync(file.fileno())
    keep(_POSITION, f"{fresh[-1].pk} {offset + len(data)}")


def trim(length: int) -> None:
    """Cut the file to what the database knows, or to `length` where that is more, inside a write transaction."""
    if size() > (known := max(length, _position()[1])):
        os.truncate(path(), known)


def is_behind() -> bool:
    """True where the file and the database do not end at the same record; asking costs a query and a stat."""
    return size() != _position()[1]


def unknown() -> Iterator[Wire]:
    """Yield the whole records behind what the database knows; a torn one was never promised to anybody."""
    offset = _position()[1]
    if size() <= offset:
        return
    with path().open("rb") as file:
        file.seek(offset)
        yield from _wires(file.read())


def held() -> Iterator[Wire]:
    """Yield every whole record of the file."""
    if path().exists():
        yield from _wires(path().read_bytes())


def write_anew() -> None:
    """Write the whole file from the database, inside the caller's write transaction; a kill leaves the old one."""
    draft = path().with_suffix(".new")
    home.private(draft)
    last = 0
    with draft.open("wb") as file:
        for record in Record.objects.order_by("id").iterator():
            file.write(_line(record))
            last = record.pk
        file.flush()
        os.fsync(file.fileno())
        length = file.tell()
    draft.replace(path())
    keep(_POSITION, f"{last} {length}")


def known_bytes() -> int:
    """Return how much of the file the database knows."""
    return _position()[1]


def is_short() -> bool:
    """True where the file lacks what the database says it holds: it was deleted or restored alone."""
    return size() < _position()[1]


def _line(record: Record) -> bytes:
    return msgspec.json.encode(wire(record)) + b"\n"


def _wires(data: bytes) -> Iterator[Wire]:
    """Yield the records of whole lines; one that is not what was written is left out."""
    for line in data.split(b"\n")[:-1]:
        with contextlib.suppress(msgspec.MsgspecError):
            if is_sound(found := msgspec.json.decode(line, type=Wire)):
                yield found


def size() -> int:
    """Return how long the file is."""
    try:
        return path().stat().st_size
    except FileNotFoundError:
        return 0


def _position() -> tuple[int, int]:
    key, offset = kept(_POSITION, "0 0").split()
    return int(key), int(offset)
