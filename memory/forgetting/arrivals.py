"""What arrives in an archive batch and is forgotten already: by its value, or as part of a forgotten session.

It is looked at before a batch's events are inserted, inside the batch's transaction, so that none of it ever enters an
index (invariant 2).
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from memory import sessions, sql
from memory.entries import state
from memory.forgetting import tombstones, values
from memory.mutation import mutation
from memory.records import identity, log
from memory.records.bodies import Category, Exclude

FORGOTTEN_SESSIONS = """
    SELECT f.item, f.tombstone FROM tombstone_effect f JOIN tombstone t ON t.tombstone_id = f.tombstone
    WHERE t.live AND f.kind = 'session'"""
SESSION_NAMES = "SELECT session_id FROM session WHERE id IN ({marks})"


class Arrival(NamedTuple):
    """A new event: `session` is the id of the session that owns it."""

    event_id: str
    session: str
    kind: str
    role: str
    text: str


def exclude(arrivals: Collection[Arrival]) -> None:
    """Exclude what is forgotten; what is so by its value is a record, which other stores are told."""
    if found := _by_value(arrivals):
        _write(found)
    # After the records: settling their tombstones looks at events that are there, and these are not yet.
    _exclude_by_session(arrivals)


def forgotten(arrivals: Collection[Arrival]) -> set[str]:
    """Return the events of those that would be excluded; changes nothing."""
    hidden = _forgotten_sessions()
    by_session = {each.event_id for each in arrivals if each.session in hidden}
    return by_session.union(*_by_value(arrivals).values())


def _write(found: Mapping[str, set[str]]) -> None:
    actor = identity.itself("sync")
    with mutation("exclude", actor) as change:
        for tombstone, names in sorted(found.items()):
            log.write(Exclude(tombstone=tombstone, events=tuple(sorted(names))), actor.author)
            change.targets += [tombstone, *sorted(names)]


def _exclude_by_session(arrivals: Iterable[Arrival]) -> None:
    """Every store works this out from the tombstone and who owns an event, so it needs no record."""
    hidden = _forgotten_sessions()
    rows = [(each.event_id, name) for each in arrivals for name in hidden.get(each.session, ())]
    sql.insert("excluded_event (event_id, tombstone)", rows)


def _by_value(arrivals: Iterable[Arrival]) -> Mapping[str, set[str]]:
    """Return the events that say what a live tombstone holds, by tombstone."""
    texts = {each.event_id: (each.text, _categories(each.role)) for each in arrivals if each.kind == "message"}
    found: dict[str, set[str]] = {}
    for name, holders in values.forgotten_among(texts).items():
        for holder in holders:
            found.setdefault(holder, set()).add(name)
    return found


def _categories(role: str) -> tuple[Category, ...]:
    """A message is forgotten as what it is, and as a statement that an entry made."""
    return ("user", "entry") if role == "user" else ("assistant", "entry") if role == "assistant" else ("entry",)


def moved(keys: Collection[int]) -> None:
    """Hide and show again events that moved between sessions, where one of them is forgotten."""
    hidden = _forgotten_sessions()
    if hidden:
        names = {str(name) for (name,) in sql.rows_in(SESSION_NAMES, sorted(keys))}
        state.refold(tombstones.settle({tombstone for name in names for tombstone in hidden.get(name, ())}))


def _forgotten_sessions() -> Mapping[str, set[str]]:
    """Return the tombstones of each forgotten session, and of its sub-agents' sessions."""
    named: dict[str, set[str]] = {}
    for session, tombstone in sql.rows(FORGOTTEN_SESSIONS):
        named.setdefault(str(tombstone), set()).add(str(session))
    found: dict[str, set[str]] = {}
    for tombstone, names in named.items():
        for session in sessions.family(names):
            found.setdefault(session, set()).add(tombstone)
    return found
