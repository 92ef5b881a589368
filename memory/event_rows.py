"""Writing events: one row for each event id, a place for each further sight of it, and the owner place decided.

Definitions, owner place: the place whose file stem is the record's session id, else the lowest (logical path,
generation, line). Session, directory and order follow it, so that the order in which files arrive cannot matter.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from django.db.models import Max

from memory import sessions, shadows, sql
from memory.batch import Batch, PreparedEvent
from memory.entries import state
from memory.forgetting import arrivals, covered
from memory.forgetting.arrivals import Arrival
from memory.models import RawFile
from memory.parsed import event_id

# A file that needs more keys than were reserved takes so many at once.
_KEYS_AT_ONCE = 256

INSERT_EVENTS = """event (id, event_id, kind, role, at, inferred, sub_agent, tool, text, digest, context_id,
    raw_file_id, line, home, session_id, ordinal, twin, rank, shadowed_by)"""
INSERT_PLACES = "event_place (event, raw_file_id, line, home, session_id, context_id, sub_agent, ordinal)"
INSERT_CONTEXTS = "event_context (cwd, branch, model, agent_version)"
INSERT_FILES = "event_file (event, path)"
INSERT_GRAMS = "event_gram (id, text)"

CONTEXT_ID = "SELECT id FROM event_context WHERE cwd = ? AND branch = ? AND model = ? AND agent_version = ?"
EXCLUDED = "SELECT event_id FROM excluded_event WHERE event_id IN ({marks})"
OWNERS = """
    SELECT e.event_id, e.id, e.session_id, coalesce(p.home, e.home), r.logical_path, r.generation,
        coalesce(p.line, e.line), e.raw_file_id, e.line
    FROM event e
    LEFT JOIN event_place p ON p.id = e.owner
    JOIN raw_file r ON r.id = coalesce(p.raw_file_id, e.raw_file_id)
    WHERE e.event_id IN ({marks})"""
PLACES_HELD = "SELECT event, line FROM event_place WHERE raw_file_id = ? AND line >= ? AND line <= ?"
PLACE_ID = "SELECT id, context_id FROM event_place WHERE event = ? AND raw_file_id = ? AND line = ?"
MOVE_EVENT = "UPDATE event SET owner = ?, session_id = ?, context_id = ?, sub_agent = ?, ordinal = ? WHERE id = ?"

Context = tuple[str, str, str, str]
# Smaller owns: not the session's own file, then path, generation and line.
Rank = tuple[bool, str, int, int]


class Addition(NamedTuple):
    """A stretch of one raw file that is being written."""

    file: RawFile
    batch: Batch


class Sight(NamedTuple):
    """An event as one line of one file shows it, and the key of the session that this place puts it in."""

    file: RawFile
    prepared: PreparedEvent
    session: int

    @property
    def place(self) -> tuple[int, int]:
        """The raw file and the line."""
        return (self.file.pk, self.prepared.line)

    @property
    def rank(self) -> Rank:
        """The order in which places of one event own it."""
        return (not self.prepared.event.home, self.file.logical_path, self.file.generation, self.prepared.line)


class Owner(NamedTuple):
    """An event that is there, the session it is in and the rank of the place that put it there.

    `first` is the raw file and line it was first seen in, which is no further place.
    """

    key: int
    session: int
    rank: Rank
    first: tuple[int, int]


def write(additions: Collection[Addition]) -> list[int]:
    """Write what stretches say inside the caller's transaction; returns how many new ones each shows."""
    sights = _sights(additions)
    owners = _owners({sight.prepared.event.event_id for sight in sights})
    fresh: dict[str, Sight] = {}
    again: list[Sight] = []
    for sight in sights:
        name = sight.prepared.event.event_id
        if name in owners or name in fresh:
            again.append(sight)
        else:
            fresh[name] = sight
    _exclude_forgotten(fresh.values())
    excluded = {str(name) for (name,) in sql.rows_in(EXCLUDED, list(fresh))}
    keys = _take_keys(additions, fresh)
    twins = [_twin(keys[name], sight) for name, sight in fresh.items() if sight.prepared.event.twin]
    shadowed = shadows.hidden_at_arrival(twins)
    _insert(fresh, keys, shadowed)
    hidden = excluded | {name for name in fresh if keys[name] in shadowed}
    sessions.add(_by_session(sight for name, sight in fresh.items() if name not in hidden))
    changed = _add_places(again, owners | _owners_of_fresh(again, fresh, keys)) if again else set()
    arrivals.moved(changed)
    changed |= shadows.hide_older(twins) | _hide_replays(fresh.values(), again)
    titled = sessions.untitled({sight.session for sight in fresh.values()})
    for file, batch in additions:
        sessions.write_titles(file, batch.titles)
        titled |= sessions.owning(batch.titles, file.source)
    # What arrived excluded may silence its session's title, and leave an entry that waited for it without a source.
    titled |= {fresh[name].session for name in excluded}
    state.refold(state.chains_citing(excluded))
    sessions.rebuild(changed)
    sessions.retitle(titled | sessions.titled_by(fresh) | changed)
    return _count_by_file(additions, {name: sight for name, sight in fresh.items() if name not in excluded})


def _exclude_forgotten(fresh: Iterable[Sight]) -> None:
    """Exclude what is forgotten before any of it is there (invariant 2)."""
    if covered.any_live():
        arrivals.exclude([arrival(file, prepared) for file, prepared, _ in fresh])


def arrival(file: RawFile, prepared: PreparedEvent) -> Arrival:
    """Return a new event as forgetting looks at it."""
    event = prepared.event
    return Arrival(event.event_id, event_id(file.source, event.session), event.kind, event.role, prepared.text)


def _twin(key: int, sight: Sight) -> shadows.Twin:
    return shadows.Twin(key, sight.session, sight.prepared.event.twin, sight.prepared.event.rank)


def _hide_replays(fresh: Collection[Sight], again: Collection[Sight]) -> set[int]:
    """Recognise copied histories; returns the sessions that lost an event to the one they copy."""
    replaying = {
        sight.session: event_id(sight.file.source, sight.prepared.event.replays)
        for sight in (*fresh, *again)
        if sight.prepared.event.replays
    }
    shadows.replaying(replaying)
    return shadows.hide_replays({sight.session for sight in fresh} | replaying.keys())


def _sights(additions: Iterable[Addition]) -> list[Sight]:
    return [
        Sight(file, prepared, keys[prepared.event.session])
        for file, batch in additions
        for keys in [_session_keys(file, batch.events)]
        for prepared in batch.events
    ]


def _session_keys(file: RawFile, events: Iterable[PreparedEvent]) -> dict[str, int]:
    """Return the key of each session that events name, by the agent's own session id."""
    parents = {prepared.event.session: prepared.event.parent for prepared in events}
    names = {native: event_id(file.source, native) for native in parents}
    wanted = {names[native]: event_id(file.source, parent) if parent else "" for native, parent in parents.items()}
    keys = sessions.ensure(file.source, wanted) if wanted else {}
    return {native: keys[name] for native, name in names.items()}


def _owners(names: Collection[str]) -> dict[str, Owner]:
    found = {}
    for name, key, session, home, path, generation, line, *first in sql.rows_in(OWNERS, list(names)):
        rank = (not home, str(path), int(generation), int(line))
        found[str(name)] = Owner(int(key), int(session), rank, (int(first[0]), int(first[1])))
    return found


def _owners_of_fresh(again: Iterable[Sight], fresh: Mapping[str, Sight], keys: Mapping[str, int]) -> dict[str, Owner]:
    """Return the owners of events that are new, but stand more than once in what is being written."""
    names = {sight.prepared.event.event_id for sight in again} & fresh.keys()
    return {
        name: Owner(keys[name], sight.session, sight.rank, sight.place) for name in names for sight in [fresh[name]]
    }


def _count_by_file(additions: Iterable[Addition], fresh: Mapping[str, Sight]) -> list[int]:
    counts: dict[int, int] = defaultdict(int)
    for sight in fresh.values():
        counts[sight.file.pk] += 1
    return [counts[file.pk] for file, _ in additions]


def _take_keys(additions: Iterable[Addition], fresh: Mapping[str, Sight]) -> dict[str, int]:
    """Give new events keys from their file's reserve, or a new reserve at the end where it runs out."""
    counts = _count_by_file(additions, fresh)
    free = 0
    for (file, _), count in zip(additions, counts, strict=True):
        if file.end_key - file.next_key < count:
            free = free or first_free_key()
            file.next_key, file.end_key = free, free + max(count, _KEYS_AT_ONCE)
            free = file.end_key
    keys = {}
    for name, (file, *_) in fresh.items():
        keys[name] = file.next_key
        file.next_key += 1
    return keys


def first_free_key() -> int:
    """Return the first event key that no file has reserved."""
    return max(RawFile.objects.aggregate(end=Max("end_key"))["end"] or 0, 1)


def _insert(fresh: Mapping[str, Sight], keys: Mapping[str, int], shadowed: Mapping[int, int]) -> None:
    """Insert new events in the order that the indexes take best.

    FTS5 flushes its hash whenever a key goes back; and each index fills faster by itself than in turn with the others,
    whose hashes push its own out of the processor's cache.
    """
    contexts = _contexts(fresh.values())
    in_order = sorted(fresh.items(), key=lambda item: (item[1].prepared.event.kind == "message", keys[item[0]]))
    rows = [_event_row(keys[name], sight, contexts, shadowed.get(keys[name])) for name, sight in in_order]
    inserted = sql.insert(INSERT_EVENTS, rows)
    # The append-only trigger drops a row whose key is taken without a word; a key must never be taken.
    assert inserted == len(fresh), f"{len(fresh) - inserted} events met a key in use"
    events = [(keys[name], sight.prepared) for name, sight in in_order]
    sql.insert(INSERT_FILES, [(key, path) for key, prepared in events for path in prepared.event.files])
    sql.insert(INSERT_GRAMS, [(key, prepared.grams) for key, prepared in events if prepared.grams])


def _event_row(key: int, sight: Sight, contexts: Mapping[Context, int], shadowed_by: int | None) -> sql.Row:
    file, prepared, session = sight
    event = prepared.event
    return (
        key,
        event.event_id,
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
        session,
        prepared.ordinal,
        event.twin,
        event.rank,
        shadowed_by,
    )


def _context(prepared: PreparedEvent) -> Context:
    event = prepared.event
    return (event.cwd, event.branch, event.model, event.agent_version)


def _contexts(sights: Iterable[Sight]) -> dict[Context, int]:
    wanted = {_context(sight.prepared) for sight in sights}
    sql.insert(INSERT_CONTEXTS, sorted(wanted))
    return {context: int(str(sql.rows(CONTEXT_ID, context)[0][0])) for context in wanted}


def _by_session(sights: Iterable[Sight]) -> dict[int, list[PreparedEvent]]:
    """Group new visible events by session; one that arrives excluded teaches its session nothing (invariant 2)."""
    grouped: dict[int, list[PreparedEvent]] = defaultdict(list)
    for sight in sights:
        grouped[sight.session].append(sight.prepared)
    return grouped


def _add_places(again: list[Sight], owners: dict[str, Owner]) -> set[int]:
    """Write further places; returns the sessions that lost or gained an event because one of them owns it."""
    again = _not_held(again, owners)
    contexts = _contexts(again)
    sql.insert(
        INSERT_PLACES, [_place_row(owners[sight.prepared.event.event_id].key, sight, contexts) for sight in again]
    )
    moved: set[int] = set()
    for sight in again:
        name = sight.prepared.event.event_id
        owner = owners[name]
        if sight.rank < owner.rank:
            place, context = sql.rows(PLACE_ID, (owner.key, sight.file.pk, sight.prepared.line))[0]
            event = sight.prepared.event
            sql.execute(
                MOVE_EVENT,
                (place, sight.session, context, event.sub_agent, sight.prepared.ordinal, owner.key),
            )
            owners[name] = owner._replace(session=sight.session, rank=sight.rank)
            moved |= {owner.session, sight.session}
    return moved


def _not_held(again: Iterable[Sight], owners: Mapping[str, Owner]) -> list[Sight]:
    """Leave out the places that are there: a mirror that is parsed again adds no more than files that a call names."""
    keyed = [(owners[sight.prepared.event.event_id], sight) for sight in again]
    first = [(owner.key, sight) for owner, sight in keyed if owner.first == sight.place]
    sql.insert(INSERT_FILES, [(key, path) for key, sight in first for path in sight.prepared.event.files])
    held = _places_held([sight for _, sight in keyed])
    return [sight for owner, sight in keyed if owner.first != sight.place and (owner.key, *sight.place) not in held]


def _places_held(sights: Iterable[Sight]) -> set[tuple[int, int, int]]:
    """Return as (event, raw file, line) the further places that there are among the lines of sights."""
    lines: dict[int, list[int]] = defaultdict(list)
    for sight in sights:
        lines[sight.file.pk].append(sight.prepared.line)
    return {
        (int(event), file, int(line))
        for file, numbers in lines.items()
        for event, line in sql.rows(PLACES_HELD, (file, min(numbers), max(numbers)))
    }


def _place_row(key: int, sight: Sight, contexts: Mapping[Context, int]) -> sql.Row:
    file, prepared, session = sight
    context = contexts[_context(prepared)]
    event = prepared.event
    return (key, file.pk, prepared.line, event.home, session, context, event.sub_agent, prepared.ordinal)
