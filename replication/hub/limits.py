"""How much a request may be, and decoding compressed bodies without ever holding more (lab-security J)."""

import io
import zlib

import zstandard

from memory.errors import InvalidInput

MEBIBYTE = 1 << 20
# A chunk is at most 1 MiB, or one longer line; in JSON it is base64, four characters for three bytes.
CHUNK_BYTES = MEBIBYTE
LONGEST_LINE = 64 * MEBIBYTE
# A device says so ahead when it sends one line that is longer than a chunk.
LONG_LINE_HEADER = "X-Origin-Long-Line"
_FIELDS = 8 * 1024
# A frame may ask its decoder for a window of this size and no more.
_WINDOW = 8 * MEBIBYTE
_PIECE = 256 * 1024


def most_bytes(*, long_line: bool) -> int:
    """Return the largest body, decoded; compressed it can only be smaller."""
    return (LONGEST_LINE if long_line else CHUNK_BYTES + CHUNK_BYTES // 2) * 4 // 3 + _FIELDS


class TooLarge(Exception):
    """A body is larger than any that is sent on purpose."""


def decode(body: bytes, encoding: str, most: int) -> bytes:
    """Return a body without its content coding, `""`, `gzip` or `zstd`.

    Raises `TooLarge` as soon as it would hold more than `most` bytes, and `InvalidInput` where it is not one whole
    stream in that coding.
    """
    if not encoding:
        decoded = body
    elif encoding == "gzip":
        decoded = _gunzip(body, most)
    elif encoding == "zstd":
        decoded = _unzstd(body, most)
    else:
        raise InvalidInput("Content-Encoding", "The body may be plain, gzip or zstd.")
    if len(decoded) > most:
        raise TooLarge
    return decoded


def _gunzip(body: bytes, most: int) -> bytes:
    decoder = zlib.decompressobj(31)
    try:
        decoded = decoder.decompress(body, most + 1)
    except zlib.error:
        raise InvalidInput("body", "The body is not gzip.") from None
    if len(decoded) > most:
        raise TooLarge
    if not decoder.eof or decoder.unused_data:
        raise InvalidInput("body", "The body is not one whole gzip stream.")
    return decoded


def _unzstd(body: bytes, most: int) -> bytes:
    """Decode twice: a stream reader holds no more than is asked of it, but only the other one tells a cut stream."""
    library = zstandard.ZstdDecompressor(max_window_size=_WINDOW)
    try:
        with library.stream_reader(io.BytesIO(body)) as reader:
            length = sum(iter(lambda: len(reader.read(_PIECE)) if reader.tell() <= most else 0, 0))
        if length > most:
            raise TooLarge
        decoder = library.decompressobj()
        decoded = decoder.decompress(body)
    except zstandard.ZstdError:
        raise InvalidInput("body", "The body is not zstd.") from None
    if not decoder.eof or decoder.unused_data:
        raise InvalidInput("body", "The body is not one whole zstd stream.")
    return decoded
