"""Reading sources from where the archive stopped: complete lines of plain and compressed files, rows of databases."""

import hashlib
import io
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

import zstandard

from ingest.adapters.contract import JournalRow, ReadRows, SourceFile
from memory.archive import HASHED_BYTES, Cursor, frame_digests
from memory.errors import OriginError
from memory.json_line import is_complete_object
from memory.mirror import FRAME_BYTES
from memory.parsed import State

# A row makes a few events at most, so that a batch of rows fits one transaction.
ROWS_PER_BATCH = 200
# A small piece bounds what one call of the decoder can give: a frame of zeros holds thousands of times its size.
_COMPRESSED_PIECE = 1 << 10


class Unreadable(OriginError):
    """A source file that could not be read; the others go on."""


class Vanished(Unreadable):
    """A source file that was there when it was discovered and is not any more."""


class Stretch(NamedTuple):
    """The next bytes of a source. `watermark` is where a row journal goes on; None for files of lines."""

    data: bytes
    watermark: State | None = None


class Reader(Protocol):
    """What sync asks of a source."""

    def matches(self, cursor: Cursor) -> bool:
        """True where the source still begins with what was ingested."""

    def read(self, cursor: Cursor) -> Stretch:
        """Return what comes next, or empty data. Raises `Unreadable`."""

    def close(self) -> None:
        """Let go of the source."""


class RowReader:
    """Reads the new and changed rows of a database as one JSON line each."""

    def __init__(self, file: SourceFile, read_rows: ReadRows) -> None:
        self._file = file
        self._read_rows = read_rows

    def matches(self, cursor: Cursor) -> bool:
        """A journal is only ever continued: what a database no longer holds stays in it."""
        return True

    def read(self, cursor: Cursor) -> Stretch:
        """Return the journal lines of the rows that come after the cursor's watermark."""
        with _errors_named(self._file.path):
            rows = list(_one_frame(self._read_rows(Path(self._file.path), cursor.watermark)))
        data = b"".join(row.line + b"\n" for row in rows)
        return Stretch(data, rows[-1].watermark if rows else cursor.watermark)

    def close(self) -> None:
        """Nothing is held between two reads, so that the agent is never in the way of its own database."""


def _one_frame(rows: Iterator[JournalRow]) -> Iterator[JournalRow]:
    """Yield the rows that fit a frame together, or one larger row."""
    size = 0
    for row in islice(rows, ROWS_PER_BATCH):
        size += len(row.line) + 1
        if size > FRAME_BYTES and size > len(row.line) + 1:
            return
        yield row


class LineReader:
    """Reads one source file forward. Nothing is held in memory but the stretch asked for."""

    def __init__(self, file: SourceFile) -> None:
        self._file = file
        self._stream: BinaryIO | None = None
        self._buffer = bytearray()
        self._start = 0  # the source's byte at which the buffer begins

    def read(self, cursor: Cursor) -> Stretch:
        """Return the complete lines after the cursor.

        Raises `Unreadable` at the end of a compressed file that breaks off: what came before was given.
        """
        data = self.read_lines(cursor.bytes)
        if not data and isinstance(self._stream, _Decompressed) and self._stream.breaks_off:
            raise Unreadable(
                f"{self._file.path} breaks off in the middle of its compressed data; what stands before that is"
                " archived, and the rest will be once the file is whole."
            )
        return Stretch(data)

    def read_lines(self, offset: int) -> bytes:
        """Return the complete lines from byte `offset` on: at most 1 MiB of them, or one longer line.

        A last line without newline is among them if it is one whole JSON object (definitions: last line).
        Raises `Unreadable`.
        """
        with _errors_named(self._file.path):
            self._move(offset)
            ended = not self._fill(FRAME_BYTES)
            end = self._buffer.rfind(b"\n", 0, FRAME_BYTES) + 1
            if not end and not ended:
                end = self._end_of_long_line()
                ended = not end
            if ended and is_complete_object(bytes(self._buffer[end:])):
                end = len(self._buffer)
            data = bytes(self._buffer[:end])
            if end > FRAME_BYTES:
                self._move(offset + end)
            return data

    def matches(self, cursor: Cursor) -> bool:
        """True where the file still begins with what was ingested from it.

        Compares the first and last 4,096 bytes ingested, and every stretch where another file has taken the place. The
        size it was found with says nothing: another run may have read on in a file that has grown since.
        """
        if not cursor.bytes:
            return True
        self.close()  # what was read before may not be there any more
        with _errors_named(self._file.path):
            if cursor.origin.inode not in (-1, self._file.inode):
                return self._all_stretches_match(cursor)
            length = min(HASHED_BYTES, cursor.bytes)
            head = self._read(0, length)
            tail = self._read(cursor.bytes - length, length)
        return _hex(head) == cursor.head_sha256 and _hex(tail) == cursor.tail_sha256

    def _all_stretches_match(self, cursor: Cursor) -> bool:
        return all(
            hashlib.sha256(self._read(offset, length)).digest() == digest
            for offset, length, digest in frame_digests(cursor.id)
        )

    def close(self) -> None:
        """Let go of the file."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._buffer.clear()
        self._start = 0

    def _read(self, offset: int, count: int) -> bytes:
        self._move(offset)
        self._fill(count)
        return bytes(self._buffer[:count])

    def _end_of_long_line(self) -> int:
        """Read on to the end of a line longer than a frame; returns 0 where the file ends first."""
        searched = 0
        while (found := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if not self._fill(searched + FRAME_BYTES):
                return self._buffer.find(b"\n", searched) + 1
        return found + 1

    def _fill(self, count: int) -> bool:
        """Read until the buffer holds `count` bytes; False where the file ends before."""
        assert self._stream is not None
        while len(self._buffer) < count:
            piece = self._stream.read(count - len(self._buffer))
            if not piece:
                return False
            self._buffer += piece
        return True

    def _move(self, offset: int) -> None:
        """Let the buffer begin at byte `offset`; a compressed file is read again from its start to go back."""
        if self._stream is None or offset < self._start:
            self.close()
            self._stream = _open(self._file)
        ahead = offset - self._start
        if ahead > len(self._buffer) and self._file.form == "lines":
            self._stream.seek(offset)
            self._buffer.clear()
        while ahead > len(self._buffer) and self._file.form != "lines":
            ahead -= len(self._buffer)
            self._buffer.clear()
            if not self._fill(min(ahead, FRAME_BYTES)):
                break
        del self._buffer[:ahead]
        self._start = offset


def first_lines(file: SourceFile, limit: int) -> Iterator[bytes]:
    """Yield the complete lines that a file begins with, up to `limit` bytes. Raises `Unreadable`."""
    with _errors_named(file.path), io.BufferedReader(cast(io.RawIOBase, _open(file))) as stream:
        while limit > 0 and (line := stream.readline(limit)):
            if line.endswith(b"\n") or is_complete_object(line):
                yield line
            limit -= len(line)


class _Decompressed(io.RawIOBase):
    """What a zstd file holds, frame after frame. The library's own reader takes a file that breaks off for its end."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._decoder = zstandard.ZstdDecompressor().decompressobj()
        self._held = b""
        self.breaks_off = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._next(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _next(self, most: int) -> bytes:
        while not self._held:
            if self._decoder.eof:
                rest, self._decoder = self._decoder.unused_data, zstandard.ZstdDecompressor().decompressobj()
            else:
                rest = b""
            piece = rest or self._stream.read(_COMPRESSED_PIECE)
            if not piece:
                self.breaks_off = not self._ended
                return b""
            self._held = self._decoder.decompress(piece)
            self._ended = self._decoder.eof
        data, self._held = self._held[:most], self._held[most:]
        return data

    def close(self) -> None:
        """Close the file too."""
        self._stream.close()
        super().close()

    # True right after a whole frame; an empty file holds none.
    _ended = False


def _open(file: SourceFile) -> BinaryIO:
    stream = Path(file.path).open("rb")  # noqa: SIM115 - LineReader.close does it
    if file.form == "lines":
        return stream
    return cast(BinaryIO, _Decompressed(stream))


def _hex(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


@contextmanager
def _errors_named(path: str) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as error:
        raise Vanished(f"{path} is gone.") from error
    except OSError as error:
        raise Unreadable(f"{path} could not be read: {error.strerror or error}.") from error
    except zstandard.ZstdError as error:
        raise Unreadable(f"{path} could not be decompressed: {error}.") from error
    except sqlite3.Error as error:
        raise Unreadable(f"The database {path} could not be read: {error}.") from error
