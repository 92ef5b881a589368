"""The words that forgetting covers: what must be in no answer, no raw line, no title and no reason (invariant 2)."""

from collections.abc import Iterable
from functools import lru_cache

import msgspec

from memory import sql
from memory.errors import MalformedLine
from memory.json_line import load_object
from memory.text import normalise

# Shorter ones stand in so many texts by chance that nothing could be shown; an entry is a statement of its own.
SHORTEST_ENTRY = 8
# So long a message is no chance (definitions: exact copy), and so long a stretch in common is a quotation.
RUN = 24

STATE = """
    SELECT (SELECT count(*) FROM excluded_event), (SELECT coalesce(max(id), 0) FROM excluded_event),
        (SELECT count(*) FROM entry WHERE forgotten), (SELECT coalesce(max(id), 0) FROM event),
        (SELECT value FROM setting WHERE key = 'store_uuid')"""
TEXTS = f"""
    SELECT DISTINCT e.text, {RUN} FROM excluded_event x JOIN event e ON e.event_id = x.event_id
    UNION SELECT text, {SHORTEST_ENTRY} FROM entry WHERE forgotten"""
OF_TOMBSTONE = """
    SELECT e.event_id, e.text FROM tombstone_effect f JOIN event e ON f.kind = 'event' AND e.event_id = f.item
    WHERE f.tombstone = ?1
    UNION ALL SELECT n.entry_id, n.text FROM tombstone_effect f JOIN entry n ON f.kind = 'entry' AND n.entry_id = f.item
    WHERE f.tombstone = ?1"""


def holds_covered(data: bytes) -> bool:
    """True where a raw line holds a forgotten text, as a value of its own or inside a longer one, escaped or not."""
    texts = _texts(sql.rows(STATE)[0])
    if not texts:
        return False
    said = "\n".join(normalise(text) for text in _strings(data))
    return any(text in said for text in texts)


def is_covered(text: str) -> bool:
    """True where a text holds a forgotten one."""
    texts = _texts(sql.rows(STATE)[0])
    said = normalise(text) if texts else ""
    return any(covered in said for covered in texts)


def of_tombstone(name: str) -> list[tuple[str, str]]:
    """Return (id, text) of what a tombstone covers by id, as far as it is held here."""
    return [(str(item), str(text)) for item, text in sql.rows(OF_TOMBSTONE, (name,))]


def quotes(reason: str, texts: Iterable[str]) -> bool:
    """True where a reason gives away what it is about: it holds a covered text, is a part of one, or shares a run."""
    said = normalise(reason)
    runs = {said[at : at + RUN] for at in range(len(said) - RUN + 1)}
    return any(_is_quoted(said, runs, normalise(text)) for text in texts)


def _is_quoted(said: str, runs: set[str], covered: str) -> bool:
    if len(covered) >= SHORTEST_ENTRY and covered in said:
        return True
    if len(said) >= SHORTEST_ENTRY and said in covered:
        return True
    return any(run in covered for run in runs)


@lru_cache(maxsize=2)
def _texts(state: sql.Result) -> tuple[str, ...]:
    """Return every covered text as it is compared; worked out again when anything was forgotten or restored."""
    normalised = {(normalise(text), least) for text, least in sql.rows(TEXTS)}
    return tuple(sorted({text for text, least in normalised if len(text) >= least}))


def _strings(data: bytes) -> Iterable[str]:
    """Yield every text in a line: its values, however deep and however often escaped, or the line itself."""
    yield data.decode("utf-8", "replace")
    try:
        yield from _values(load_object(data))
    except (MalformedLine, RecursionError):
        return


def _values(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            yield from _inner(value)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from _values(item)


def _inner(text: str) -> Iterable[str]:
    """Yield the values of JSON inside a string, as tool results have it."""
    try:
        yield from _values(msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError):
        return
