"""The derived columns of entries: worked out for a whole chain whenever a record or an exclusion touches it."""

from collections import defaultdict
from collections.abc import Collection
from typing import TypeVar

from memory import sql
from memory.entries.fold import End, State, Verdict, Version, fold
from memory.forgetting import values
from memory.models import ValueDigest
from memory.sql import Result

Fact = TypeVar("Fact", Verdict, End)

# trust, superseded, lost, ends_at, forgotten.
Derived = tuple[str, bool, bool, str, bool]

VERSIONS = """
    SELECT e.chain, e.entry_id, r.hlc_ms, r.hlc_c, r.origin, r.oseq, e.recorded_at, e.first_trust, e.valid_to
    FROM entry e JOIN record r ON r.id = e.record_id WHERE e.chain IN ({marks})"""
OLDER = """
    SELECT e.entry_id, s.older FROM entry_supersedes s JOIN entry e ON e.id = s.entry_id WHERE e.chain IN ({marks})"""
REVIEWS = """
    SELECT e.chain, v.entry_id, r.hlc_ms, r.hlc_c, r.origin, r.oseq, r.created_at, v.verdict
    FROM review v JOIN record r ON r.id = v.record_id JOIN entry e ON e.entry_id = v.entry_id
    WHERE e.chain IN ({marks})"""
ENDS = """
    SELECT e.chain, n.entry_id, r.hlc_ms, r.hlc_c, r.origin, r.oseq, r.created_at, n.ends_at
    FROM ending n JOIN record r ON r.id = n.record_id JOIN entry e ON e.entry_id = n.entry_id
    WHERE e.chain IN ({marks})"""
# Invariant 2. Every version of a forgotten entry is; and a version of which every source is excluded.
FORGOTTEN_CHAINS = """
    SELECT DISTINCT e.chain FROM forgotten_entry f JOIN entry e ON e.entry_id = f.entry_id WHERE e.chain IN ({marks})"""
UNSOURCED = """
    SELECT e.entry_id FROM entry e WHERE e.chain IN ({marks})
    AND EXISTS (SELECT 1 FROM entry_source s WHERE s.entry_id = e.id)
    AND NOT EXISTS (SELECT 1 FROM entry_source s WHERE s.entry_id = e.id
        AND NOT EXISTS (SELECT 1 FROM excluded_event x WHERE x.event_id = s.event_id))"""
TEXTS = "SELECT chain, entry_id, text FROM entry WHERE chain IN ({marks})"
CITING = """
    SELECT DISTINCT e.chain FROM entry_source s JOIN entry e ON e.id = s.entry_id WHERE s.event_id IN ({marks})"""
ALL_CHAINS = "SELECT DISTINCT chain FROM entry"
SAVE = """
    UPDATE entry SET trust = ?1, superseded = ?2, lost = ?3, ends_at = ?4, forgotten = ?5 WHERE entry_id = ?6
    AND (trust, superseded, lost, ends_at, forgotten) IS NOT (?1, ?2, ?3, ?4, ?5)"""


def refold(chains: Collection[str]) -> None:
    """Work out what the versions of these chains are now, inside the caller's write transaction."""
    derived = worked_out(chains)
    sql.execute_many(SAVE, [(*columns, name) for name, columns in derived.items()])
    _hold_rejected(sorted(chains), {name for name, (trust, *_) in derived.items() if trust == "rejected"}, derived)


def worked_out(chains: Collection[str]) -> dict[str, Derived]:
    """Return the derived columns of every version of these chains, by its id."""
    forgotten = _forgotten(sorted(chains))
    return {name: (*state, name in forgotten) for name, state in states_of(chains).items()}


def states_of(chains: Collection[str], known_at: str = "") -> dict[str, State]:
    """Return the state of every version of these chains, as it was known at `known_at` or is now."""
    keys = sorted(chains)
    older = defaultdict[str, set[str]](set)
    for name, other in sql.rows_in(OLDER, keys):
        older[name].add(other)
    members = defaultdict[str, list[Version]](list)
    for chain, name, ms, counter, origin, number, recorded_at, trust, valid_to in sql.rows_in(VERSIONS, keys):
        order = (ms, counter, origin, number)
        members[chain].append(Version(name, order, recorded_at, trust, frozenset(older[name]), valid_to))
    reviews = _by_chain(Verdict, sql.rows_in(REVIEWS, keys))
    ends = _by_chain(End, sql.rows_in(ENDS, keys))
    states: dict[str, State] = {}
    for chain, versions in members.items():
        states |= fold(
            [version for version in versions if not known_at or version.recorded_at <= known_at],
            [review for review in reviews[chain] if not known_at or review.recorded_at <= known_at],
            [end for end in ends[chain] if not known_at or end.recorded_at <= known_at],
        )
    return states


def _by_chain(make: type[Fact], found: list[Result]) -> defaultdict[str, list[Fact]]:
    grouped = defaultdict[str, list[Fact]](list)
    for chain, name, ms, counter, origin, number, recorded_at, what in found:
        grouped[chain].append(make(name, (ms, counter, origin, number), recorded_at, what))
    return grouped


def _forgotten(chains: list[str]) -> set[str]:
    """Return the versions that may not be seen: by their chain's id, for want of a source, or by their value."""
    whole = {chain for (chain,) in sql.rows_in(FORGOTTEN_CHAINS, chains)}
    unsourced = {name for (name,) in sql.rows_in(UNSOURCED, chains)}
    return unsourced | {
        name for chain, name, text in sql.rows_in(TEXTS, chains) if chain in whole or values.is_forgotten(text)
    }


def _hold_rejected(chains: list[str], rejected: set[str], names: Collection[str]) -> None:
    """A rejected statement may not be remembered again, until its rejection is taken back."""
    held = set(ValueDigest.objects.filter(holder__in=names).values_list("holder", flat=True))
    for _, name, text in sql.rows_in(TEXTS, chains) if rejected != held else ():
        if name in rejected - held:
            values.hold(name, values.digests(text, "entry"))
        elif name in held - rejected:
            values.release(name)


def chains_citing(event_ids: Collection[str]) -> set[str]:
    """Return the chains that cite any of these events."""
    return {chain for (chain,) in sql.rows_in(CITING, list(event_ids))}


def all_chains() -> set[str]:
    """Return every chain there is."""
    return {chain for (chain,) in sql.rows(ALL_CHAINS)}
