"""One number for all that a store's records add up to, equal on every store that agrees (definitions: state digest)."""

import hashlib
from collections.abc import Iterable

from memory import sql

_MODULUS = 1 << 256

ENTRIES = "SELECT entry_id, trust, forgotten, superseded, lost, ends_at FROM entry"
TOMBSTONES = "SELECT tombstone_id FROM tombstone WHERE live"
# A device's own files; on the hub the same files have the device's store as theirs.
EVENTS = """
    SELECT e.event_id, e.kind, e.role, e.at, e.text FROM event e JOIN raw_file r ON r.id = e.raw_file_id
    WHERE r.store = ?"""


def of_store() -> dict[str, str]:
    """Return both digests of this store by name, as a backup's manifest holds them."""
    return {"records": of_records(), "events": of_events()}


def of_records() -> str:
    """Return the digest of every entry version with its trust and place in its chain, and of live tombstones, in hex.

    Whether an entry has ended depends on the clock, so the time it ends at stands for that.
    """
    entries = (("entry", name, "\0".join(map(str, state))) for name, *state in sql.rows(ENTRIES))
    tombstones = (("tombstone", name, "live") for (name,) in sql.rows(TOMBSTONES))
    return _sum([*entries, *tombstones])


def of_events(store: str = "") -> str:
    """Return the digest of the events that the files of one store gave, this one's where it is empty, in hex."""
    return _sum(("event", name, "\0".join(map(str, what))) for name, *what in sql.rows(EVENTS, (store,)))


def _sum(items: Iterable[tuple[str, str, str]]) -> str:
    """Add up, so that the order of items cannot matter and one item's change is one subtraction and one addition."""
    total = sum(int.from_bytes(hashlib.sha256("\0".join(item).encode("utf-8", "replace")).digest()) for item in items)
    return f"{total % _MODULUS:064x}"
