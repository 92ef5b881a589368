"""Values that may not come back: known by their HMAC under every key version, never by their text (invariant 2)."""

import hashlib
import hmac
from collections.abc import Collection, Iterable

from memory import sql
from memory.forgetting import keyring
from memory.models import ValueDigest
from memory.records.bodies import Category, Digest
from memory.text import NORMALISE_VERSION, normalise

# A shorter message is said too often by chance; an entry is always a statement of its own (definitions: value digest).
SHORTEST_MESSAGE = 24

CATEGORIES: tuple[Category, ...] = ("entry", "user", "assistant")

HOLDERS = "SELECT DISTINCT holder FROM value_digest WHERE digest IN ({marks})"
ANY_HELD = "SELECT 1 FROM value_digest LIMIT 1"


def digests(text: str, category: Category) -> tuple[Digest, ...]:
    """Return the digest of a value under the newest key, or none for a text too short to have one."""
    if not has_digest(text, category):
        return ()
    version, key = max(keyring.keys().items())
    return (
        Digest(
            category=category,
            digest=value_digest(key, category, normalise(text)).hex(),
            key_version=version,
            normalise_version=NORMALISE_VERSION,
        ),
    )


def has_digest(text: str, category: Category) -> bool:
    """True for a text long enough to be known again by its value."""
    return len(normalise(text)) >= (1 if category == "entry" else SHORTEST_MESSAGE)


def value_digest(key: bytes, category: Category, normalised: str) -> bytes:
    """Return HMAC-SHA256(key, `origin/value/1\\0` + class + `\\0` + normalise(text)) (definitions)."""
    return hmac.new(key, f"origin/value/1\0{category}\0{normalised}".encode(), hashlib.sha256).digest()


def holders(text: str, categories: Iterable[Category]) -> set[str]:
    """Return the live tombstones and rejected versions that hold this value, under every key version."""
    if not sql.rows(ANY_HELD):
        return set()
    normalised, ring = normalise(text), keyring.keys()
    wanted = [
        value_digest(key, category, normalised)
        for category in categories
        if has_digest(text, category)
        for key in ring.values()
    ]
    return {str(holder) for (holder,) in sql.rows_in(HOLDERS, wanted)}


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
