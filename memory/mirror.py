"""Mirrors: one append-only file of zstd frames per raw file generation, equal to the source when decompressed.

A mirror begins with a skippable frame that says what it mirrors, so that `raw/` alone is enough to rebuild a store.
"""

import hashlib
import itertools
import json
import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import zstandard

from memory import home
from memory.errors import OriginError

# Definitions: a frame holds at most 1 MiB of source, or one longer line.
FRAME_BYTES = 1 << 20
LEVEL = 3
# The first of the sixteen magic numbers of a skippable frame (RFC 8878, 3.1.2); decoders pass over it.
_SKIPPABLE = 0x184D2A50
_COMPRESSOR = zstandard.ZstdCompressor(level=LEVEL, write_checksum=True, write_content_size=True)
_MAX_LABEL = 1 << 16
_PIECE = 1 << 18
# Most disks allow 255 bytes a name and 4,096 a path.
_PLAIN = re.compile(r"[A-Za-z0-9_.@+=%-]{1,200}")
_ODD = re.compile(r"[^A-Za-z0-9_.@+=%-]")
_SHORTENED = 100
_LONGEST_PATH = 2_000
_TAKEN = re.compile(r"^\.{0,2}$|\.(?:g\d+|zst)$", re.IGNORECASE)


class Label(NamedTuple):
    """What a mirror is of. `first_seen` is UTC text."""

    store: str
    source: str
    logical_path: str
    generation: int
    origin_path: str
    first_seen: str
    form: str


class Frame(NamedTuple):
    """One compressed piece of a source; `sha256` is of the uncompressed bytes."""

    stored: bytes
    sha256: bytes


class StoredFrame(NamedTuple):
    """A frame as it was found in a mirror file: where it lies there, what it holds, and the hash of its own bytes."""

    offset: int
    length: int
    data: bytes
    stored_sha256: bytes


class UnknownFrames(OriginError):
    """`raw/` holds frames that this database does not know."""


def compress(data: bytes) -> Frame:
    """Compress one piece of a source into a frame."""
    return Frame(_COMPRESSOR.compress(data), hashlib.sha256(data).digest())


def decompress(stored: bytes) -> bytes:
    """Return what one frame holds. Raises `zstandard.ZstdError` where it is damaged."""
    size = zstandard.frame_content_size(stored)
    return zstandard.ZstdDecompressor().decompress(stored, max_output_size=max(size, 0))


def relative_path(source: str, logical_path: str, generation: int) -> str:
    """Return where a mirror lies below `raw/`: `<source>/<logical path>[.g<n>].zst`, with every segment made safe."""
    segments = [_safe_segment(segment) for segment in logical_path.split("/")]
    if sum(map(len, segments)) > _LONGEST_PATH:
        segments = [_safe_segment(logical_path)]
    suffix = f".g{generation}" if generation else ""
    return "/".join([source, *segments]) + suffix + ".zst"


def device_path(store: str, source: str, logical_path: str, generation: int) -> str:
    """Return where the mirror of another store's file lies below `raw/`: no name from the wire reaches the disk.

    `store` is a uuid that was checked to be one.
    """
    named = f"{source}\0{logical_path}\0{generation}".encode("utf-8", "replace")
    return f"devices/{store}/{hashlib.sha256(named).hexdigest()}.zst"


def _safe_segment(segment: str) -> str:
    """Keep a file name as it is where it can stand on any disk, else make one that no other segment has."""
    # `a` in its first generation and `a.g1` must not share a mirror, nor `a` and `a.zst/b` a name.
    if _PLAIN.fullmatch(segment) and not _TAKEN.search(segment):
        return segment
    plain = _ODD.sub("_", segment)[:_SHORTENED]
    return f"{plain or '_'}~{hashlib.sha256(segment.encode('utf-8', 'replace')).hexdigest()[:12]}"


def path_of(mirror_path: str) -> Path:
    """Return the full path of a mirror named relative to `raw/`."""
    return home.raw_path() / mirror_path


def label_frame(label: Label) -> bytes:
    """Return the skippable frame that names what a mirror is of."""
    body = json.dumps(label._asdict(), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return struct.pack("<II", _SKIPPABLE, len(body)) + body


def read_label(path: Path) -> Label | None:
    """Return the label a mirror file begins with, or None where it has none."""
    with path.open("rb") as file:
        head = file.read(8)
        if len(head) < 8:
            return None
        magic, length = struct.unpack("<II", head)
        if magic != _SKIPPABLE or length > _MAX_LABEL:
            return None
        try:
            return Label(**json.loads(file.read(length)))
        except (ValueError, TypeError):
            return None


def append(path: Path, known: int, label: Label, stored: bytes) -> int:
    """Append a frame at byte `known` of the mirror and fsync it; returns where the frame starts.

    Whatever lies behind `known` is an earlier run's uncommitted batch and has been settled by `settle` before.
    """
    created = not path.exists()
    if created:
        home.make_folder(path.parent)
    prefix = label_frame(label) if known == 0 else b""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        os.ftruncate(descriptor, known)
        _write_all(descriptor, prefix + stored, known)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    if created:
        _fsync_directory(path.parent)
    return known + len(prefix)


def _write_all(descriptor: int, data: bytes, offset: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, offset)
        view, offset = view[written:], offset + written


def _fsync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def settle(path: Path, known: int, data: bytes) -> Path | None:
    """Make sure that what lies behind byte `known` may be overwritten by a frame of `data`.

    A kill between fsync and commit leaves one frame, whole or torn, that the source still has: it may go. Everything
    else is kept. More whole frames than one raise `UnknownFrames`; other bytes stay in an `.orphan` file beside the
    mirror, whose path is returned.
    """
    size = path.stat().st_size if path.exists() else 0
    if size < known:
        raise OriginError(
            f"The mirror {path} is shorter than the database says, so nothing is added to it. Restore it."
        )
    if size == known:
        return None
    found = list(itertools.islice(frames(path, known), 2))
    if len(found) > 1:
        raise UnknownFrames(
            f"{path} holds frames that this database does not know: it was deleted or restored alone. "
            "Run `rebuild` to make a database from the mirrors."
        )
    if found and (data.startswith(found[0].data) or found[0].data.startswith(data)):
        return None
    if not found and size - known <= _bound(data):
        return None
    return _move_aside(path, known)


def _bound(data: bytes) -> int:
    """The most bytes one uncommitted batch can have left: a frame of `data`, or of a full one, and a label."""
    length = max(len(data), FRAME_BYTES)
    return length + (length >> 8) + 1024 + _MAX_LABEL


def _move_aside(path: Path, known: int) -> Path:
    """Keep the whole file as `.orphan` and go on with the part that is known."""
    fresh = path.with_name(path.name + ".new")
    with path.open("rb") as old, fresh.open("wb") as new:
        _copy(old, new, known)
        new.flush()
        os.fsync(new.fileno())
    numbers = itertools.count(1)
    orphan = next(p for n in numbers if not (p := path.with_name(f"{path.name}.{n}.orphan")).exists())
    os.link(path, orphan)
    os.replace(fresh, path)
    _fsync_directory(path.parent)
    return orphan


def _copy(old: BinaryIO, new: BinaryIO, length: int) -> None:
    while length > 0 and (piece := old.read(min(length, FRAME_BYTES))):
        new.write(piece)
        length -= len(piece)


def stored_sha256(path: Path, offset: int, length: int) -> bytes:
    """Return the hash of a frame's own bytes."""
    with path.open("rb") as file:
        file.seek(offset)
        return hashlib.sha256(file.read(length)).digest()


def read_frame(path: Path, offset: int, length: int) -> bytes:
    """Return what the frame at `offset` holds. Raises `OriginError` where the mirror is damaged there."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return decompress(file.read(length))
    except (OSError, zstandard.ZstdError) as error:
        raise OriginError(f"The mirror {path} is damaged at byte {offset}: {error}.") from error


def frames(path: Path, start: int = 0) -> Iterator[StoredFrame]:
    """Yield every whole frame of a mirror file from byte `start` on, one in memory at a time; stops at a torn one."""
    with path.open("rb") as file:
        offset = _after_label(file, start)
        while (found := _frame_at(file, offset)) is not None:
            yield found
            offset = found.offset + found.length


def _after_label(file: BinaryIO, offset: int) -> int:
    file.seek(offset)
    head = file.read(8)
    if len(head) < 8 or head[:4] != struct.pack("<I", _SKIPPABLE):
        return offset
    return offset + 8 + int.from_bytes(head[4:], "little")


def _frame_at(file: BinaryIO, offset: int) -> StoredFrame | None:
    """Decompress one frame; only the decoder knows where it ends."""
    file.seek(offset)
    decoder = zstandard.ZstdDecompressor().decompressobj()
    pieces: list[bytes] = []
    stored: list[bytes] = []
    try:
        while not decoder.eof:
            piece = file.read(_PIECE)
            if not piece:
                return None
            pieces.append(decoder.decompress(piece))
            stored.append(piece)
    except zstandard.ZstdError:
        return None
    whole = b"".join(stored)
    frame = memoryview(whole)[: len(whole) - len(decoder.unused_data)]
    return StoredFrame(offset, len(frame), b"".join(pieces), hashlib.sha256(frame).digest())
