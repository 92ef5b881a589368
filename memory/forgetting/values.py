"""Values that may not come back: known by their HMAC under every key version, never by their text (invariant 2)."""

import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping, Sequence

from memory import sql
from memory.forgetting import keyring
from memory.models import ValueDigest
from memory.records.bodies import Category, Digest
from memory.text import NORMALISE_VERSION, normalise

# A shorter message is said too often by chance; an entry is always a statement of its own (definitions: value digest).
SHORTEST_MESSAGE = 24

CATEGORIES: tuple[Category, ...] = ("entry", "user", "assistant")

HOLDERS = "SELECT DISTINCT holder FROM value_digest WHERE digest IN ({marks})"
ANY_TOMBSTONE = "SELECT 1 FROM value_digest WHERE holder >= 'tmb_' AND holder < 'tmb`' LIMIT 1"
HELD_BY_TOMBSTONES = "SELECT digest, holder FROM value_digest WHERE holder >= 'tmb_' AND digest IN ({marks})"
ANY_HELD = "SELECT 1 FROM value_digest LIMIT 1"


def digests(text: str, category: Category) -> tuple[Digest, ...]:
    """Return the digest of a value under the newest key, or none for a text too short to have one."""
    normalised = normalise(text)
    if not _has_digest(normalised, category):
        return ()
    version, key = max(keyring.keys().items())
    return (
        Digest(
            category=category,
            digest=value_digest(key, category, normalised).hex(),
            key_version=version,
            normalise_version=NORMALISE_VERSION,
        ),
    )


def _has_digest(normalised: str, category: Category) -> bool:
    """True for a text long enough to be known again by its value."""
    return len(normalised) >= (1 if category == "entry" else SHORTEST_MESSAGE)


def under_every_key(text: str, categories: Iterable[Category], ring: Mapping[int, bytes]) -> set[bytes]:
    """Return the digests of a text in each of some classes, under every key of the ring."""
    normalised = normalise(text)
    known = [category for category in categories if _has_digest(normalised, category)]
    return {value_digest(key, category, normalised) for category in known for key in ring.values()}


def value_digest(key: bytes, category: Category, normalised: str) -> bytes:
    """Return HMAC-SHA256(key, `origin/value/1\\0` + class + `\\0` + normalise(text)) (definitions)."""
    return hmac.new(key, f"origin/value/1\0{category}\0{normalised}".encode(), hashlib.sha256).digest()


def holders(text: str, categories: Iterable[Category]) -> set[str]:
    """Return the live tombstones and rejected versions that hold this value, under every key version."""
    if not sql.rows(ANY_HELD):
        return set()
    wanted = under_every_key(text, categories, keyring.keys())
    return {str(holder) for (holder,) in sql.rows_in(HOLDERS, list(wanted))}


def forgotten_among(texts: Mapping[str, tuple[str, Sequence[Category]]]) -> dict[str, set[str]]:
    """Return the live tombstones that hold the values of texts, given by name with the classes to ask for.

    Many texts cost one query and, where nothing is forgotten, one that finds nothing. A text too short to be known by
    its value as a message is none as an entry either: here it is a message.
    """
    if not texts or not sql.rows(ANY_TOMBSTONE):
        return {}
    ring = keyring.keys()
    named: dict[bytes, set[str]] = {}
    for name, (text, categories) in texts.items():
        for digest in under_every_key(text, categories, ring) if _has_digest(normalise(text), "user") else ():
            named.setdefault(digest, set()).add(name)
    found: dict[str, set[str]] = {}
    for digest, holder in sql.rows_in(HELD_BY_TOMBSTONES, list(named)):
        for name in named[bytes(digest)]:
            found.setdefault(name, set()).add(str(holder))
    return found


def is_forgotten(text: str) -> bool:
    """True for an entry's text that a live tombstone holds, as an entry or as a message."""
    return any(holder.startswith("tmb_") for holder in holders(text, CATEGORIES))


def hold(holder: str, values: Collection[Digest]) -> None:
    """Keep digests for as long as their holder lasts."""
    ValueDigest.objects.bulk_create(
        [
            ValueDigest(
                holder=holder,
                category=value.category,
                digest=bytes.fromhex(value.digest),
                key_version=value.key_version,
                normalise_version=value.normalise_version,
            )
            for value in values
        ],
        ignore_conflicts=True,
    )


def held_by(holder: str) -> set[str]:
    """Return the digests that a tombstone or a rejected version holds, in hex."""
    return {
        bytes(digest).hex() for digest in ValueDigest.objects.filter(holder=holder).values_list("digest", flat=True)
    }


def release(holder: str) -> None:
    """Let the digests of a restored tombstone, or of a version that is accepted after all, go."""
    ValueDigest.objects.filter(holder=holder).delete()
