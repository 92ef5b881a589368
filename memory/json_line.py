"""JSON objects out of log lines that crashes, editors and torn writes have been at."""

import json
from typing import Any

import msgspec

from memory.errors import MalformedLine

BOM = b"\xef\xbb\xbf"
_WHITE = b" \t\r\n\x00"
_DECODER = json.JSONDecoder(strict=False)
_NOT_JSON = (ValueError, RecursionError)

JsonObject = dict[str, Any]


def is_blank(data: bytes) -> bool:
    """True where a line holds nothing but white space, NUL bytes or a byte order mark."""
    return not data.removeprefix(BOM).strip(_WHITE)


def load_object(data: bytes) -> JsonObject:
    """Return the one JSON object that `data` is; lone surrogates and bytes that are no UTF-8 become U+FFFD.

    Raises `MalformedLine` for anything else.
    """
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        value = _load_leniently(data)
    if not isinstance(value, dict):
        raise MalformedLine("not a JSON object")
    return value


def is_complete_object(data: bytes) -> bool:
    """True where `data` is one whole JSON object, so that nothing appended later can change what it says."""
    if not data.rstrip(_WHITE).endswith(b"}"):
        return False
    try:
        load_object(data)
    except MalformedLine:
        return False
    return True


def split_objects(data: bytes) -> tuple[list[bytes], bytes]:
    """Split a line that two writers ran together: the whole objects it begins with, and what is left.

    The pieces joined are `data` without its NUL bytes and byte order mark.
    """
    text = _decode(data)
    pieces: list[bytes] = []
    start = 0
    while start < len(text):
        end = _object_end(text, start)
        if end is None:
            break
        pieces.append(text[start:end].encode("utf-8", "surrogatepass"))
        start = end
    return pieces, text[start:].encode("utf-8", "surrogatepass")


def _object_end(text: str, start: int) -> int | None:
    begin = start
    while begin < len(text) and text[begin].isspace():
        begin += 1
    if not text.startswith("{", begin):
        return None
    try:
        return _DECODER.raw_decode(text, begin)[1]
    except _NOT_JSON:
        return None


def _load_leniently(data: bytes) -> object:
    text = _decode(data).strip()
    if not text.startswith("{"):
        raise MalformedLine("not a JSON object")
    try:
        return _without_surrogates(_DECODER.decode(text))
    except json.JSONDecodeError as error:
        reason = "two records on one line" if error.msg == "Extra data" else "broken JSON"
        raise MalformedLine(reason) from None
    except RecursionError:
        raise MalformedLine("nested too deeply") from None
    except ValueError:
        raise MalformedLine("a number too long to read") from None


def _decode(data: bytes) -> str:
    return data.removeprefix(BOM).replace(b"\x00", b"").decode("utf-8", "replace")


def _without_surrogates(value: object) -> object:
    """Join surrogate pairs that form a character and replace the rest by U+FFFD, in every string of `value`."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): _without_surrogates(item) for key, item in value.items()}
    return value


def clean_text(text: str) -> str:
    """Return `text` with surrogate pairs joined and lone surrogates as U+FFFD, so that it can be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
