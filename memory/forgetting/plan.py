"""What a forget would cover, worked out and shown before anything changes (spec 3, forgetting, rules 1 to 3)."""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from memory import sql
from memory.entries import state
from memory.entries.correct import visible
from memory.errors import NotFound
from memory.forgetting.tombstones import events_of
from memory.forgetting.values import SHORTEST_MESSAGE
from memory.records.bodies import Category, Effects
from memory.records.canonical import canonical_json
from memory.scope import Scope
from memory.sessions import family
from memory.text import cut, normalise

VERSIONS = "SELECT entry_id FROM entry WHERE chain IN ({marks})"
CITED = """
    SELECT s.event_id FROM entry_source s JOIN entry e ON e.id = s.entry_id WHERE e.chain IN ({marks})"""
# The file that an imported entry follows: whatever it says later is forgotten too (spec 2, native memories).
MEMORY_FILES = """
    SELECT DISTINCT s.session_id FROM entry n JOIN entry_source c ON c.entry_id = n.id
    JOIN event e ON e.event_id = c.event_id JOIN session s ON s.id = e.session_id
    WHERE n.imported AND e.tool LIKE 'memory:%' AND n.chain IN ({marks})"""
# Twins that are hidden say the same, so all rows are asked, not the visible ones.
COPIES = """
    SELECT DISTINCT c.event_id, e.text FROM event e JOIN event c ON c.digest = e.digest AND c.role = e.role
    WHERE e.kind = 'message' AND c.kind = 'message' AND e.event_id IN ({marks})"""
# A statement and a message may say the same; either is forgotten with the other, whichever came first.
SAID_AS_MESSAGE = """
    SELECT DISTINCT c.event_id, c.text FROM entry n JOIN event c ON c.digest = n.digest
    WHERE c.kind = 'message' AND n.chain IN ({marks})"""
SAID_AS_ENTRY = """
    SELECT DISTINCT n.chain, n.text FROM event e JOIN entry n ON n.digest = e.digest
    WHERE e.kind = 'message' AND e.event_id IN ({marks})"""
SAME_ENTRY = "SELECT DISTINCT o.chain FROM entry n JOIN entry o ON o.digest = n.digest WHERE n.chain IN ({marks})"
SOURCES_LEFT = """
    SELECT e.chain, s.event_id FROM entry e JOIN entry_source s ON s.entry_id = e.id
    WHERE e.chain IN (
        SELECT o.chain FROM entry o JOIN entry_source c ON c.entry_id = o.id WHERE c.event_id IN ({marks}))"""
ALREADY = "SELECT event_id FROM excluded_event WHERE event_id IN ({marks})"
EVENT_IN_SCOPE = """
    SELECT e.event_id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.event_id = ? AND {condition}"""
SESSION_IN_SCOPE = "SELECT s.session_id FROM visible_session s WHERE s.session_id = ? AND {condition}"
SEEN_EVENTS = """
    SELECT count(*) FROM json_each(?) k JOIN visible_event e ON e.event_id = k.value
    JOIN visible_session s ON s.id = e.session_id WHERE {condition}"""
SEEN_ENTRIES = "SELECT count(*) FROM json_each(?) k JOIN visible_entry e ON e.entry_id = k.value WHERE {condition}"


ENTRY_TEXTS = "SELECT entry_id, text FROM {entry} WHERE entry_id IN ({marks}) ORDER BY id"
EVENT_TEXTS = "SELECT event_id, kind, role, text FROM {event} WHERE event_id IN ({marks}) ORDER BY at, id"


class Covered(NamedTuple):
    """Something that a plan covers; `category` is the class of its value digest, None for what has none."""

    name: str
    category: Category | None
    text: str


@dataclass(frozen=True)
class Plan:
    """What forgetting `target` covers: exact ids, of which `copies` are events that only say the same."""

    target: str
    entries: tuple[str, ...]
    events: tuple[str, ...]
    sessions: tuple[str, ...]
    copies: int

    @property
    def digest(self) -> str:
        """Tell this plan from one in which anything differs (definitions: plan digest)."""
        parts = {
            "target": self.target,
            "entries": list(self.entries),
            "events": list(self.events),
            "sessions": list(self.sessions),
        }
        return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:32]

    @property
    def effects(self) -> Effects:
        """The ids as a tombstone holds them."""
        return Effects(entries=self.entries, events=self.events, sessions=self.sessions)


def plan_forget(target: str, scope: Scope) -> Plan:
    """Return what forgetting an entry, an event or a session would cover; changes nothing.

    An entry takes its versions and the events they cite, an event the entries that cite it with theirs, a session its
    events, its sub-agents' and those that arrive later. Exact copies go with them, and last every entry left without a
    visible source. Raises `NotFound` for what is not visible in scope.
    """
    chains, events, sessions = _aimed_at(target, scope)
    chains |= state.chains_citing(events)
    events |= {str(name) for (name,) in sql.rows_in(CITED, sorted(chains))}
    copies = (_copies(events) | _long(SAID_AS_MESSAGE, chains)) - events
    events |= copies
    same = {str(chain) for (chain,) in sql.rows_in(SAME_ENTRY, sorted(chains))}
    chains |= _long(SAID_AS_ENTRY, events) | same | _without_source(events)
    sessions |= {str(name) for (name,) in sql.rows_in(MEMORY_FILES, sorted(chains))}
    versions = {str(name) for (name,) in sql.rows_in(VERSIONS, sorted(chains))}
    return Plan(target, tuple(sorted(versions)), tuple(sorted(events)), tuple(sorted(sessions)), len(copies))


def seen_in(plan: Plan, scope: Scope) -> tuple[int, int]:
    """Return how many of a plan's entries and events a scope sees: counts of the others would tell of them."""
    on_entries, entry_values = scope.condition("e.project")
    on_events, event_values = scope.condition("s.project")
    entries = sql.rows(SEEN_ENTRIES.format(condition=on_entries), (_json(plan.entries), *entry_values))[0][0]
    events = sql.rows(SEEN_EVENTS.format(condition=on_events), (_json(plan.events), *event_values))[0][0]
    return int(entries), int(events)


def texts_of(plan: Plan, *, visible: bool = False) -> list[Covered]:
    """Return what each thing says that a plan covers, as far as it is held here: entries first, then events.

    `visible` leaves out what is forgotten already, which is shown to nobody (invariant 2).
    """
    entry, event = ("visible_entry", "visible_event") if visible else ("entry", "event")
    entries = sql.rows_in(ENTRY_TEXTS.format(entry=entry, marks="{marks}"), list(plan.entries))
    events = sql.rows_in(EVENT_TEXTS.format(event=event, marks="{marks}"), list(plan.events))
    said = [Covered(name, "entry", text) for name, text in entries]
    return said + [Covered(name, _category(kind, role), text) for name, kind, role, text in events]


def _category(kind: str, role: str) -> Category | None:
    if kind != "message":
        return None
    return "user" if role == "user" else "assistant" if role == "assistant" else None


def _json(names: Iterable[str]) -> str:
    return canonical_json(list(names))


def _aimed_at(target: str, scope: Scope) -> tuple[set[str], set[str], set[str]]:
    """Return the chains, events and sessions that a target names by itself. Raises `NotFound`."""
    if target.startswith("ent_"):
        return {visible(target, scope).chain}, set(), set()
    condition, values = scope.condition("s.project")
    if sql.rows(EVENT_IN_SCOPE.format(condition=condition), (target, *values)):
        return set(), {target}, set()
    if sql.rows(SESSION_IN_SCOPE.format(condition=condition), (target, *values)):
        sessions = family([target])
        return set(), events_of(sessions), sessions
    raise NotFound(f"Nothing is held under the id {cut(target, 200)}.")


def _copies(events: Collection[str]) -> set[str]:
    """Return the messages that say exactly what these say, long enough to be no chance (definitions: exact copy)."""
    return _long(COPIES, events)


def _long(query: str, names: Collection[str]) -> set[str]:
    """Return the names that a query gives with a text that is long enough to be known by its value."""
    rows = sql.rows_in(query, sorted(names))
    return {str(name) for name, text in rows if len(normalise(text)) >= SHORTEST_MESSAGE}


def _without_source(events: Collection[str]) -> set[str]:
    """Return the chains of which some version would have no visible source left; that excludes no further events."""
    left: dict[str, set[str]] = {}
    for chain, name in sql.rows_in(SOURCES_LEFT, sorted(events)):
        left.setdefault(str(chain), set()).add(str(name))
    hidden = {str(name) for (name,) in sql.rows_in(ALREADY, sorted(set().union(*left.values())))} | set(events)
    return {chain for chain, sources in left.items() if sources <= hidden}
