"""Writing events: one row for each event id, a place for each further sight of it, and the owner place decided.

Definitions, owner place: the place whose file stem is the record's session id, else the lowest (logical path,
generation, line). Session and order follow it, so that the order in which files arrive cannot matter.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from django.db.models import Max

from memory import sessions, sql
from memory.batch import Batch, PreparedEvent
from memory.models import RawFile
from memory.parsed import event_id

# A file that needs more keys than were reserved takes so many at once.
_KEYS_AT_ONCE = 256

INSERT_EVENTS = """event (id, event_id, kind, role, at, inferred, sub_agent, tool, text, digest, context_id,
    raw_file_id, line, home, session_id, ordinal)"""
INSERT_PLACES = "event_place (event, raw_file_id, line, home, session_id, ordinal)"
INSERT_CONTEXTS = "event_context (cwd, branch, model, agent_version)"
INSERT_FILES = "event_file (event, path)"
INSERT_GRAMS = "event_gram (id, text)"

CONTEXT_ID = "SELECT id FROM event_context WHERE cwd = ? AND branch = ? AND model = ? AND agent_version = ?"
EXCLUDED = "SELECT event_id FROM excluded_event WHERE event_id IN ({marks})"
OWNERS = """
    SELECT e.event_id, e.id, e.session_id, coalesce(p.home, e.home), r.logical_path, r.generation,
        coalesce(p.line, e.line)
    FROM event e
    LEFT JOIN event_place p ON p.id = e.owner
    JOIN raw_file r ON r.id = coalesce(p.raw_file_id, e.raw_file_id)
    WHERE e.event_id IN ({marks})"""
PLACE_ID = "SELECT id FROM event_place WHERE event = ? AND raw_file_id = ? AND line = ?"
MOVE_EVENT = "UPDATE event SET owner = ?, session_id = ?, ordinal = ? WHERE id = ?"

# Smaller owns: not the session's own file, then path, generation and line.
Rank = tuple[bool, str, int, int]


class Owner(NamedTuple):
    """An event that is there already, the session it is in and the rank of the place that put it there."""

    key: int
    session: int
    rank: Rank


def write(file: RawFile, batch: Batch) -> int:
    """Write what a batch says inside the caller's transaction; returns how many events were new."""
    session_ids = _ensure_sessions(file, batch.events)
    owners = _owners({prepared.event.event_id for prepared in batch.events})
    fresh: dict[str, PreparedEvent] = {}
    again: list[PreparedEvent] = []
    for prepared in batch.events:
        name = prepared.event.event_id
        if name in owners or name in fresh:
            again.append(prepared)
        else:
            fresh[name] = prepared
    keys = dict(zip(fresh, _take_keys(file, len(fresh)), strict=True))
    _insert(file, fresh, keys, session_ids)
    sessions.add(_facts(file, fresh, session_ids))
    owners |= {name: _first_owner(file, fresh[name], key, session_ids) for name, key in keys.items()}
    moved = _add_places(file, again, owners, session_ids)
    sessions.write_titles(file, batch.titles)
    sessions.rebuild(moved)
    sessions.retitle(sessions.owning(batch.titles, file.source) | sessions.titled_by(fresh) | moved)
    return len(fresh)


def _session_name(file: RawFile, prepared: PreparedEvent) -> str:
    return event_id(file.source, prepared.event.session)


def _ensure_sessions(file: RawFile, events: Iterable[PreparedEvent]) -> dict[str, int]:
    wanted = {}
    for prepared in events:
        parent = prepared.event.parent
        wanted[_session_name(file, prepared)] = event_id(file.source, parent) if parent else ""
    return sessions.ensure(file.source, wanted)


def _owners(names: Collection[str]) -> dict[str, Owner]:
    found = {}
    for name, key, session, home, path, generation, line in sql.rows_in(OWNERS, list(names)):
        found[str(name)] = Owner(int(key), int(session), (not home, str(path), int(generation), int(line)))
    return found


def _rank(file: RawFile, prepared: PreparedEvent) -> Rank:
    return (not prepared.event.home, file.logical_path, file.generation, prepared.line)


def _first_owner(file: RawFile, prepared: PreparedEvent, key: int, session_ids: Mapping[str, int]) -> Owner:
    return Owner(key, session_ids[_session_name(file, prepared)], _rank(file, prepared))


def _take_keys(file: RawFile, count: int) -> range:
    """Take keys from the file's reserve, or a new reserve at the end where it runs out."""
    if file.end_key - file.next_key < count:
        free = first_free_key()
        file.next_key, file.end_key = free, free + max(count, _KEYS_AT_ONCE)
    start = file.next_key
    file.next_key += count
    return range(start, file.next_key)


def first_free_key() -> int:
    """Return the first event key that no file has reserved."""
    return max(RawFile.objects.aggregate(end=Max("end_key"))["end"] or 0, 1)


def _insert(
    file: RawFile, fresh: Mapping[str, PreparedEvent], keys: Mapping[str, int], session_ids: Mapping[str, int]
) -> None:
    contexts = _contexts(fresh.values())
    inserted = sql.insert(
        INSERT_EVENTS,
        (
            (
                keys[name],
                name,
                event.kind,
                event.role,
                prepared.at,
                prepared.inferred,
                event.sub_agent,
                event.tool,
                prepared.text,
                prepared.digest,
                contexts[_context(prepared)],
                file.pk,
                prepared.line,
                event.home,
                session_ids[_session_name(file, prepared)],
                prepared.ordinal,
            )
            for name, prepared in fresh.items()
            if (event := prepared.event)
        ),
    )
    # The append-only trigger drops a row whose key is taken without a word; a key must never be taken.
    assert inserted == len(fresh), f"{len(fresh) - inserted} events of {file.logical_path} met a key in use"
    sql.insert(INSERT_FILES, ((keys[name], path) for name, e in fresh.items() for path in e.event.files))
    sql.insert(INSERT_GRAMS, ((keys[name], e.grams) for name, e in fresh.items() if e.grams))


def _context(prepared: PreparedEvent) -> tuple[str, str, str, str]:
    event = prepared.event
    return (event.cwd, event.branch, event.model, event.agent_version)


def _contexts(events: Iterable[PreparedEvent]) -> dict[tuple[str, str, str, str], int]:
    wanted = {_context(prepared) for prepared in events}
    sql.insert(INSERT_CONTEXTS, wanted)
    return {context: int(sql.rows(CONTEXT_ID, context)[0][0]) for context in wanted}


def _facts(
    file: RawFile, fresh: Mapping[str, PreparedEvent], session_ids: Mapping[str, int]
) -> list[sessions.EventFacts]:
    """What the sessions learn from new events; one that arrives excluded teaches nothing (invariant 2)."""
    excluded = {name for (name,) in sql.rows_in(EXCLUDED, list(fresh))}
    return [
        sessions.EventFacts(
            session=session_ids[_session_name(file, prepared)],
            at=prepared.at,
            ordinal=prepared.ordinal,
            kind=prepared.event.kind,
            role=prepared.event.role,
            sub_agent=prepared.event.sub_agent,
            cwd=prepared.event.cwd,
            branch=prepared.event.branch,
            text=prepared.text,
        )
        for name, prepared in fresh.items()
        if name not in excluded
    ]


def _add_places(
    file: RawFile, again: Iterable[PreparedEvent], owners: dict[str, Owner], session_ids: Mapping[str, int]
) -> set[int]:
    """Write further places; returns the sessions that lost or gained an event because one of them owns it."""
    again = list(again)
    sql.insert(
        INSERT_PLACES,
        (
            (
                owners[e.event.event_id].key,
                file.pk,
                e.line,
                e.event.home,
                session_ids[_session_name(file, e)],
                e.ordinal,
            )
            for e in again
        ),
    )
    moved: set[int] = set()
    for prepared in again:
        owner = owners[prepared.event.event_id]
        rank = _rank(file, prepared)
        if rank < owner.rank:
            session = session_ids[_session_name(file, prepared)]
            place = sql.rows(PLACE_ID, (owner.key, file.pk, prepared.line))[0][0]
            sql.execute(MOVE_EVENT, (place, session, prepared.ordinal, owner.key))
            owners[prepared.event.event_id] = Owner(owner.key, session, rank)
            moved |= {owner.session, session}
    return moved
