"""The keyring: the keys of value digests, one per owner. A new key is added, and no key is ever taken away."""

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
    try:
        held = json.loads(path().read_text())
        return {int(version): bytes.fromhex(key) for version, key in held.items()}
    except FileNotFoundError:
        return add()
    except (ValueError, AttributeError, OSError) as error:
        raise OriginError(f"{path()} cannot be read; put it back from a backup, or forgotten words return.") from error


def add() -> dict[int, bytes]:
    """Add a key, which the digests of later tombstones are made with; returns all of them."""
    with home.lock("keyring"):
        held = keys() if path().exists() else {}
        held[max(held, default=0) + 1] = secrets.token_bytes(32)
        keep(held)
    return held


def keep(held: dict[int, bytes]) -> None:
    """Write the whole keyring so that a kill leaves the old one or the new one."""
    draft = path().with_suffix(".new")
    home.private(draft)
    with draft.open("w") as file:
        json.dump({str(version): key.hex() for version, key in sorted(held.items())}, file)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path())
