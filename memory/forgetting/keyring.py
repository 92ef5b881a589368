"""The keyring: the keys of value digests, one per owner. A new key is added, and no key is ever taken away."""

import hashlib
import json
import os
import secrets
from pathlib import Path

from memory import home
from memory.errors import OriginError


def path() -> Path:
    """Return where the keyring lies."""
    return home.home() / "keys" / "keyring.json"


def keys() -> dict[int, bytes]:
    """Return every key by its version, making the first where there is none. Raises `OriginError` for a broken file."""
    return held() if path().exists() else add()


def held() -> dict[int, bytes]:
    """Return every key by its version, none where there is no file. Raises `OriginError` for a broken file."""
    try:
        found = {int(version): bytes.fromhex(key) for version, key in _written().items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError, KeyError, TypeError, OSError) as error:
        raise OriginError(f"{path()} cannot be read; put it back from a backup, or forgotten words return.") from error
    return found


def _written() -> dict[str, str]:
    """Return the keys as the file has them. Raises `ValueError` where a key is not the one that was written."""
    found = json.loads(path().read_text())
    if found["sum"] != _sum(found["keys"]):
        raise ValueError("a key was changed")
    return dict(found["keys"])


def _sum(keys: dict[str, str]) -> str:
    """Tell a changed key, which would know nothing that was forgotten, from one that was written."""
    return hashlib.sha256(json.dumps(keys, sort_keys=True).encode()).hexdigest()


def add() -> dict[int, bytes]:
    """Add a key, which the digests of later tombstones are made with; returns all of them."""
    with home.lock("keyring"):
        ring = held()
        ring[max(ring, default=0) + 1] = secrets.token_bytes(32)
        keep(ring)
    return ring


def keep(ring: dict[int, bytes]) -> None:
    """Write the whole keyring so that a kill leaves the old one or the new one."""
    written = {str(version): key.hex() for version, key in sorted(ring.items())}
    draft = path().with_suffix(".new")
    home.private(draft)
    with draft.open("w") as file:
        json.dump({"keys": written, "sum": _sum(written)}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path())
