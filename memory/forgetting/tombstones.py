"""What tombstones and restores say, as rows, and what is hidden because of them: derived from all that arrived."""

from collections.abc import Collection, Iterable

import msgspec

from memory import sessions, sql
from memory.entries import facts, state
from memory.forgetting import covered, keyring, values
from memory.forgetting.values import CATEGORIES
from memory.models import Record, Restore, Tombstone
from memory.records import identity
from memory.records.bodies import Digest, Exclude, Forget, RestoreBody
from memory.text import text_digest

EFFECTS = "SELECT DISTINCT item FROM tombstone_effect WHERE tombstone = ? AND kind = ?"
SESSION_EVENTS = """
    SELECT e.event_id FROM event e JOIN session s ON s.id = e.session_id WHERE s.session_id IN ({marks})"""
HELD = "SELECT {column} FROM {table} WHERE tombstone = ?"
SESSIONS_OF = "SELECT DISTINCT session_id FROM event WHERE event_id IN ({marks})"
TEXTS = "SELECT chain, text FROM entry"
SAYING = "SELECT chain FROM entry WHERE digest IN ({marks})"


def add_forget(record: Record, body: Forget) -> None:
    """Write a tombstone and what it covers."""
    if Tombstone.objects.filter(tombstone_id=body.tombstone).exists():
        return
    Tombstone.objects.create(
        record=record, tombstone_id=body.tombstone, target=body.target, reason=body.reason, code=body.code
    )
    effects = body.effects
    add_effects(body.tombstone, "entry", effects.entries)
    add_effects(body.tombstone, "event", effects.events)
    add_effects(body.tombstone, "session", effects.sessions)


def add_exclude(body: Exclude) -> None:
    """Add events to what a tombstone covers, which may arrive later itself."""
    add_effects(body.tombstone, "event", body.events)


def add_restore(record: Record, body: RestoreBody) -> None:
    """Write a restore."""
    Restore.objects.create(record=record, tombstone=body.tombstone, reason=body.reason)


def add_effects(tombstone: str, kind: str, items: Iterable[str]) -> None:
    """Write what a tombstone covers."""
    sql.insert("tombstone_effect (tombstone, kind, item)", [(tombstone, kind, item) for item in items])


def settle(names: Collection[str]) -> set[str]:
    """Hide what these tombstones cover where they are live and show it where not; returns the chains that this touches.

    Nothing depends on the order in which tombstones, restores, further effects and what they cover arrived.
    """
    events: set[str] = set()
    chains: set[str] = set()
    for name in sorted(names):
        live = _is_live(name)
        events |= _cover("excluded_event", "event_id", name, _covered_events(name) if live else set())
        entries = _cover("forgotten_entry", "entry_id", name, _effects(name, "entry") if live else set())
        chains |= facts.chains_of(sorted(entries)) | _hold_values(name, live=live)
    sessions_of = {int(key) for (key,) in sql.rows_in(SESSIONS_OF, sorted(events))}
    sessions.rebuild(sessions_of)
    sessions.retitle(sessions_of)
    return chains | state.chains_citing(events)


def unsettled() -> list[str]:
    """Return the tombstones whose rows in a derived table are not those that all that arrived gives them."""
    return [name for name in Tombstone.objects.values_list("tombstone_id", flat=True) if not _is_settled(name)]


def _is_settled(name: str) -> bool:
    live = not Restore.objects.filter(tombstone=name).exists()
    return (
        Tombstone.objects.get(tombstone_id=name).live == live
        and _held("excluded_event", "event_id", name) == (_covered_events(name) if live else set())
        and _held("forgotten_entry", "entry_id", name) == (_effects(name, "entry") if live else set())
        and values.held_by(name) == ({value.digest for value in _digests(name)} if live else set())
    )


def _digests(name: str) -> tuple[Digest, ...]:
    record = Tombstone.objects.select_related("record").get(tombstone_id=name).record
    return msgspec.json.decode(record.body, type=Forget).digests


def _is_live(name: str) -> bool:
    live = not Restore.objects.filter(tombstone=name).exists()
    return bool(Tombstone.objects.filter(tombstone_id=name).update(live=live)) and live


def _effects(name: str, kind: str) -> set[str]:
    return {str(item) for (item,) in sql.rows(EFFECTS, (name, kind))}


def _covered_events(name: str) -> set[str]:
    return _effects(name, "event") | events_of(sessions.family(_effects(name, "session")))


def events_of(session_ids: Collection[str]) -> set[str]:
    """Return every event that some sessions own, by their ids."""
    return {str(event) for (event,) in sql.rows_in(SESSION_EVENTS, sorted(session_ids))}


def _cover(table: str, column: str, name: str, wanted: set[str]) -> set[str]:
    """Make the rows that a tombstone has in a derived table those that it should have; returns the difference."""
    held = _held(table, column, name)
    sql.insert(f"{table} ({column}, tombstone)", [(item, name) for item in sorted(wanted - held)])
    sql.execute_many(
        f"DELETE FROM {table} WHERE {column} = ? AND tombstone = ?", [(item, name) for item in sorted(held - wanted)]
    )
    return wanted ^ held


def _held(table: str, column: str, name: str) -> set[str]:
    return {str(item) for (item,) in sql.rows(HELD.format(column=column, table=table), (name,))}


def _hold_values(name: str, *, live: bool) -> set[str]:
    """Keep or let go the digests of a tombstone; returns the chains whose text they are."""
    if not Tombstone.objects.filter(tombstone_id=name).exists() or bool(values.held_by(name)) == live:
        return set()
    digests = _digests(name)
    if live:
        values.hold(name, digests)
    else:
        values.release(name)
    return _saying(name, {bytes.fromhex(value.digest) for value in digests}) if digests else set()


def _saying(name: str, digests: set[bytes]) -> set[str]:
    """Return the chains with a text of these digests.

    What this store forgot itself it knows by text, and finds by an index; of another's tombstone it knows the digests
    alone, and has to work out those of every entry.
    """
    if Tombstone.objects.filter(tombstone_id=name, record__origin=identity.origin()).exists():
        known = [text_digest(text) for _, text in covered.of_tombstone(name)]
        return {str(chain) for (chain,) in sql.rows_in(SAYING, known)}
    ring = keyring.keys()
    return {str(chain) for chain, text in sql.rows(TEXTS) if values.under_every_key(text, CATEGORIES, ring) & digests}
