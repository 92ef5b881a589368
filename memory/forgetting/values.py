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
        normalised = normalise(text)
        if len(normalised) >= SHORTEST_MESSAGE:
            for category in categories:
                for key in ring.values():
                    named.setdefault(value_digest(key, category, normalised), set()).add(name)
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


def all_digests(text: str) -> set[bytes]:
    """Return the digests of a text as an entry and as a message, under every key version."""
    normalised, ring = normalise(text), keyring.keys()
    return {value_digest(key, category, normalised) for category in CATEGORIES for key in ring.values()}


def held_by(holder: str) -> set[str]:
    """Return the digests that a tombstone or a rejected version holds, in hex."""
    return {
        bytes(digest).hex() for digest in ValueDigest.objects.filter(holder=holder).values_list("digest", flat=True)
    }


def release(holder: str) -> None:
    """Let the digests of a restored tombstone, or of a version that is accepted after all, go."""
    ValueDigest.objects.filter(holder=holder).delete()
