"""What each kind of record says. Fields that this version does not know stay in the record and are not read."""

from collections.abc import Mapping
from typing import Literal

import msgspec

EntryKind = Literal["memory", "knowledge", "cognition"]
Trust = Literal["proposed", "accepted", "disputed", "rejected"]
Verdict = Literal["accept", "dispute", "reject"]
Code = Literal["private", "wrong", "secret", "outdated", "other"]
# definitions: value digest, class.
Category = Literal["entry", "user", "assistant"]


class Body(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The root of every body."""


class Source(Body, frozen=True, kw_only=True, omit_defaults=True):
    """An event that an entry cites, and the words of it that were meant."""

    event: str
    quote: str = ""


class Remember(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A first version. `confidence` is per cent; `trust` is what it has until a review; times are as stored.

    `imported` is 1 for a memory that an agent keeps in a file of its own.
    """

    entry: str
    kind: EntryKind
    text: str
    confidence: int
    sources: tuple[Source, ...]
    trust: Trust
    project: str = ""
    valid_from: str = ""
    valid_to: str = ""
    imported: int = 0


class Correct(Remember, frozen=True, kw_only=True, omit_defaults=True):
    """A further version: `chain` is the first version's id, `supersedes` every head that its author could see."""

    chain: str
    supersedes: tuple[str, ...]


class End(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A version stopped to hold at `ends_at`, or holds again where it is empty."""

    entry: str
    ends_at: str = ""


class ReviewBody(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The owner's decision about a version."""

    review: str
    entry: str
    verdict: Verdict
    reason: str = ""


class Digest(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The HMAC of a value that may not come back, in hex, and which key and normalise rule made it."""

    category: Category
    digest: str
    key_version: int
    normalise_version: int


class Effects(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The exact ids that a tombstone covers."""

    entries: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    sessions: tuple[str, ...] = ()


class Forget(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A tombstone."""

    tombstone: str
    target: str
    reason: str
    code: Code
    effects: Effects
    digests: tuple[Digest, ...] = ()


class RestoreBody(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The owner takes a tombstone back."""

    tombstone: str
    reason: str


class Exclude(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Events that turned out to say what a tombstone covers; they are covered like those it named."""

    tombstone: str
    events: tuple[str, ...]


class Alias(Body, frozen=True, kw_only=True, omit_defaults=True):
    """The project `name` is shown and found as `target`."""

    name: str
    target: str


BODIES: Mapping[str, type[Body]] = {
    "remember": Remember,
    "correct": Correct,
    "end": End,
    "review": ReviewBody,
    "forget": Forget,
    "restore": RestoreBody,
    "exclude": Exclude,
    "alias": Alias,
}
