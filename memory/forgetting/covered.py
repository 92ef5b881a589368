"""The words that forgetting covers: what must be in no answer, no raw line, no title and no reason (invariant 2)."""

from collections.abc import Collection, Iterable

import msgspec

from memory import sql
from memory.errors import MalformedLine
from memory.held import held
from memory.json_line import load_object
from memory.text import normalise

# Shorter ones stand in so many texts by chance that nothing could be shown; an entry is a statement of its own.
SHORTEST_ENTRY = 8
# So long a message is no chance (definitions: exact copy), and so long a stretch in common is a quotation.
RUN = 24

ANY_LIVE = "SELECT 1 FROM tombstone WHERE live LIMIT 1"
TEXTS = f"""
    SELECT DISTINCT e.text, {RUN} FROM excluded_event x JOIN event e ON e.event_id = x.event_id
    UNION SELECT text, {SHORTEST_ENTRY} FROM entry WHERE forgotten"""
OF_TOMBSTONE = """
    SELECT e.event_id, e.text FROM tombstone_effect f JOIN event e ON f.kind = 'event' AND e.event_id = f.item
    WHERE f.tombstone = ?1
    UNION ALL SELECT n.entry_id, n.text FROM tombstone_effect f JOIN entry n ON f.kind = 'entry' AND n.entry_id = f.item
    WHERE f.tombstone = ?1"""


def any_live() -> bool:
    """True where anything is forgotten at all: stores are asked often, and most forget seldom."""
    return bool(sql.rows(ANY_LIVE))


def texts() -> tuple[str, ...]:
    """Return every forgotten text as it is compared; none where nothing is forgotten."""
    return held("covered", _read_texts) if any_live() else ()


def _read_texts() -> tuple[str, ...]:
    normalised = {(normalise(text), least) for text, least in sql.rows(TEXTS)}
    return tuple(sorted({text for text, least in normalised if len(text) >= least}))


def holds_covered(data: bytes) -> bool:
    """True where a raw line holds a forgotten text, as a value of its own or inside a longer one, escaped or not."""
    covered = texts()
    said = "\n".join(map(normalise, _strings(data))) if covered else ""
    return any(text in said for text in covered)


def is_covered(text: str, covered: Collection[str]) -> bool:
    """True where a text holds one of `covered`, which are `texts()`."""
    said = normalise(text) if covered else ""
    return any(each in said for each in covered)


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


def _strings(data: bytes) -> Iterable[str]:
    """Yield every text in a line: its values, however deep and however often escaped, or the line itself."""
    yield data.decode("utf-8", "replace")
    try:
        yield from values_of(load_object(data))
    except (MalformedLine, RecursionError):
        return


def values_of(value: object) -> Iterable[str]:
    """Yield every text in a JSON value, the names in it too, and those of JSON inside a text."""
    if isinstance(value, str):
        yield value
        if value[:1] in ("{", "["):
            yield from _inner(value)
    elif isinstance(value, list):
        for item in value:
            yield from values_of(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield str(key)
            yield from values_of(item)


def _inner(text: str) -> Iterable[str]:
    """Yield the values of JSON inside a string, as tool results have it."""
    try:
        yield from values_of(msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError):
        return
