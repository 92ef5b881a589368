"""The one spelling of a record, so that every store hashes the same bytes (definitions)."""

import json
import re
from hashlib import sha256

_SURROGATE = re.compile("[\ud800-\udfff]")


def canonical_json(value: object) -> str:
    """Return `value` as canonical JSON: keys by code point, no white space, no null, surrogates as U+FFFD.

    Only objects, lists, strings and integers have a form. Raises `TypeError` for anything else.
    """
    return json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _plain(value: object) -> object:
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no canonical form.")


def record_hash(
    *, origin: str, oseq: int, hlc: tuple[int, int], created_at: str, author: str, kind: str, body: str
) -> str:
    """Return the SHA-256 of a record in hex; `body` counts byte for byte, as it was received."""
    text = "\n".join([origin, str(oseq), str(hlc[0]), str(hlc[1]), created_at, author, kind, body])
    return sha256(text.encode()).hexdigest()
