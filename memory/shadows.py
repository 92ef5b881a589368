"""Which of two events that say the same is shown: an agent writes much of what happens twice.

Within a session an event hides those of higher rank with the same twin key. Between sessions, one that begins with a
copy of another's history shows only what comes after it. Both follow from the events alone, in any order of arrival.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from memory import sql

LOWER = """
    SELECT id FROM event WHERE session_id = ? AND twin = ? AND rank < ? AND twin <> '' AND shadowed_by IS NULL
    ORDER BY rank LIMIT 1"""
HIDE = """
    UPDATE event SET shadowed_by = ?
    WHERE session_id = ? AND twin = ? AND rank > ? AND twin <> '' AND shadowed_by IS NULL"""
HIDE_ONE = "UPDATE event SET shadowed_by = ? WHERE id = ? AND shadowed_by IS NULL"
REPLAYS = """
    SELECT c.id, p.id, c.replayed FROM session c JOIN session p ON p.session_id = c.replays
    WHERE c.replays <> '' AND NOT c.replay_ended AND (c.id IN ({marks}) OR p.id IN ({marks}))"""
HISTORY = """
    SELECT id, kind, role, text FROM event
    WHERE session_id = ? AND rank = 0 AND kind IN ('message', 'tool_call', 'tool_result')
    ORDER BY ordinal, event_id LIMIT ? OFFSET ?"""
SHOW_ONE = "UPDATE event SET shadowed_by = NULL WHERE id = ?"
PAIRS = "SELECT c.id, p.id FROM session c JOIN session p ON p.session_id = c.replays WHERE c.replays <> ''"
HIDDEN_COPIES = """
    SELECT e.id FROM event e JOIN event o ON o.id = e.shadowed_by WHERE e.session_id = ? AND o.session_id = ?"""
REMEMBER = "UPDATE session SET replayed = ?, replay_ended = ? WHERE id = ?"
REPLAYING = "UPDATE session SET replays = ? WHERE id = ? AND replays = ''"
_AT_ONCE = 200


class Twin(NamedTuple):
    """A new event that has twins: its key, and the session, twin key and rank that say which."""

    key: int
    session: int
    twin: str
    rank: int


def hidden_at_arrival(twins: Collection[Twin]) -> dict[int, int]:
    """Return which new events a twin of lower rank hides from the start, new or there already, and that twin's key."""
    best = _best(twins)
    hidden = {}
    for twin in twins:
        first = best[twin.session, twin.twin]
        lower = [(first.key,)] if first.rank < twin.rank else []
        if twin.rank and (found := lower or sql.rows(LOWER, (twin.session, twin.twin, twin.rank))):
            hidden[twin.key] = int(found[0][0])
    return hidden


def hide_older(twins: Iterable[Twin]) -> set[int]:
    """Hide the events that were there before their better twin; returns the sessions that lost one."""
    found = _best(twins).values()
    return {twin.session for twin in found if sql.execute(HIDE, (twin.key, twin.session, twin.twin, twin.rank))}


def _best(twins: Iterable[Twin]) -> dict[tuple[int, str], Twin]:
    """Return the event of lowest rank for each session and twin key."""
    best: dict[tuple[int, str], Twin] = {}
    for twin in sorted(twins, key=lambda twin: twin.rank):
        best.setdefault((twin.session, twin.twin), twin)
    return best


def hide_replays(sessions: Collection[int]) -> set[int]:
    """Go on recognising copied histories where a session or the one it copies has grown; returns those that lost one.

    The copy ends at the first event that differs; where the original is shorter so far, it may go on later.
    """
    keys = list(sessions)
    found = sql.rows(REPLAYS.replace("{marks}", sql.marks(len(keys))), [*keys, *keys])
    return {child for child, parent, replayed in found if _hide_replay(child, parent, replayed)}


def _hide_replay(child: int, parent: int, replayed: int) -> bool:
    found, ended = _copies(child, parent, replayed)
    sql.execute_many(HIDE_ONE, [(original, copy) for copy, original in found.items()])
    sql.execute(REMEMBER, (replayed + len(found), ended, child))
    return bool(found)


def _copies(child: int, parent: int, start: int) -> tuple[dict[int, int], bool]:
    """Return the events of a session, from the `start`-th on, that copy those of another; True where they end."""
    found: dict[int, int] = {}
    while True:
        copies = sql.rows(HISTORY, (child, _AT_ONCE, start + len(found)))
        originals = sql.rows(HISTORY, (parent, _AT_ONCE, start + len(found)))
        for copy, original in zip(copies, originals, strict=False):
            if copy[1:] != original[1:]:
                return found, True
            found[copy[0]] = original[0]
        if min(len(copies), len(originals)) < _AT_ONCE:
            return found, False


def replays() -> list[tuple[int, int]]:
    """Return which sessions begin with a copy of which, by their keys."""
    return [(int(child), int(parent)) for child, parent in sql.rows(PAIRS)]


def recognise_again(child: int, parent: int) -> bool:
    """Recognise a copied history from its start, as events came into the middle of either; True where it changed."""
    found, ended = _copies(child, parent, 0)
    hidden = {int(key) for (key,) in sql.rows(HIDDEN_COPIES, (child, parent))}
    sql.execute_many(SHOW_ONE, [(key,) for key in hidden - found.keys()])
    sql.execute_many(HIDE_ONE, [(original, copy) for copy, original in found.items() if copy not in hidden])
    sql.execute(REMEMBER, (len(found), ended, child))
    return hidden != found.keys()


def replaying(replays: Mapping[int, str]) -> None:
    """Remember which sessions, by key, begin with a copy of which, by session id."""
    for key, original in replays.items():
        sql.execute(REPLAYING, (original, key))
