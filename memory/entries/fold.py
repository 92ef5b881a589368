"""What the versions of one entry add up to: a pure function of what is known, whatever order it came in."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

# (hlc milliseconds, hlc counter, origin, number): definitions, order of heads and reviews.
Order = tuple[int, int, str, int]

_TRUST_AFTER = {"accept": "accepted", "dispute": "disputed", "reject": "rejected"}


class Version(NamedTuple):
    """One version as its record says it; `supersedes` are the versions that its author saw as current."""

    entry_id: str
    order: Order
    recorded_at: str
    trust: str
    supersedes: frozenset[str]
    valid_to: str


class Verdict(NamedTuple):
    """One review of one version."""

    entry_id: str
    order: Order
    recorded_at: str
    verdict: str


class End(NamedTuple):
    """One version stopped to hold, or with an empty `ends_at` holds again."""

    entry_id: str
    order: Order
    recorded_at: str
    ends_at: str


class State(NamedTuple):
    """What a version is among the others. `lost` is said of a head that a concurrent correction beat."""

    trust: str
    superseded: bool
    lost: bool
    ends_at: str


def fold(versions: Iterable[Version], reviews: Iterable[Verdict], ends: Iterable[End]) -> dict[str, State]:
    """Return the state of every version of one chain.

    A version supersedes others once it has been accepted and while it is not rejected: a proposed correction hides
    nothing, and a disputed one does not bring back what it corrected. Of several heads the last to take effect is
    current.
    """
    versions, reviews, ends = list(versions), list(reviews), list(ends)
    trust = {version.entry_id: _trust(version, reviews) for version in versions}
    since = {version.entry_id: _in_effect_since(version, reviews) for version in versions}
    in_effect = [v for v in versions if trust[v.entry_id] != "rejected" and since[v.entry_id] is not None]
    named = frozenset[str]().union(*(version.supersedes for version in in_effect))
    lost = _lost(in_effect, named, since)
    return {
        version.entry_id: State(
            trust[version.entry_id],
            version.entry_id in named or version.entry_id in lost,
            version.entry_id in lost,
            _ends_at(version, ends),
        )
        for version in versions
    }


def _trust(version: Version, reviews: Iterable[Verdict]) -> str:
    last = max((r for r in reviews if r.entry_id == version.entry_id), key=lambda r: r.order, default=None)
    return _TRUST_AFTER[last.verdict] if last else version.trust


def _in_effect_since(version: Version, reviews: Iterable[Verdict]) -> Order | None:
    """Return when a version came to be accepted, which for a proposed one is when the owner did so last."""
    if version.trust == "accepted":
        return version.order
    accepts = [r.order for r in reviews if r.entry_id == version.entry_id and r.verdict == "accept"]
    return max(accepts, default=None)


def _lost(in_effect: Iterable[Version], named: Collection[str], since: dict[str, Order | None]) -> set[str]:
    heads = sorted((v.entry_id for v in in_effect if v.entry_id not in named), key=lambda name: since[name] or ())
    return set(heads[:-1])


def _ends_at(version: Version, ends: Iterable[End]) -> str:
    last = max((end for end in ends if end.entry_id == version.entry_id), key=lambda end: end.order, default=None)
    return last.ends_at if last else version.valid_to
