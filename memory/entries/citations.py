"""What an entry cites: finding the event behind an id or a quote, and saying whether it still says so (invariant 1)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from memory import sql
from memory.errors import InvalidInput, NotFound
from memory.query import quoted
from memory.scope import Scope
from memory.text import cut, normalise

# A shorter quote without an event would be found anywhere (definitions: quote match).
SHORTEST_QUOTE = 8
LONGEST_QUOTE = 4_000
MOST_SOURCES = 20
# A quote whose width or case no index folds as we do is looked for in so many of the newest texts.
_SCANNED = 2_000
_ASKED = 200
_TRIGRAM = 3

_COLUMNS = "e.id, e.event_id, e.kind, e.role, e.sub_agent, e.text, s.project"
BY_ID = """
    SELECT {columns} FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.event_id = ? AND {condition}"""
BY_IDS = """
    SELECT {columns} FROM visible_event e JOIN visible_session s ON s.id = e.session_id WHERE e.event_id IN ({marks})"""
BY_INDEX = """
    SELECT {columns} FROM {index} i JOIN visible_event e ON e.id = i.rowid JOIN visible_session s ON s.id = e.session_id
    WHERE {index} MATCH ? AND e.kind = ? AND {condition} ORDER BY e.at DESC, e.id DESC LIMIT {limit}"""
NEWEST = """
    SELECT {columns} FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.kind = ? AND {condition} ORDER BY e.at DESC, e.id DESC LIMIT {limit}"""


@dataclass(frozen=True)
class Wanted:
    """A source as a caller named it: an event's id, words of it, or both."""

    event: str = ""
    quote: str = ""


@dataclass(frozen=True)
class Cited:
    """An event that an entry may cite. `is_said` is true for the words of the person or the agent."""

    event_id: str
    quote: str
    project: str
    is_said: bool
    is_persons: bool


def resolve(wanted: Iterable[Wanted], scope: Scope) -> tuple[Cited, ...]:
    """Return the events behind sources, in their order and each once.

    With an id the event must be visible in scope, and the quote, if any, be in it. A quote alone finds the most recent
    visible message that holds it, then the most recent tool result; never a call, and nothing of Origin's own tools.
    Raises `InvalidInput` and `NotFound`.
    """
    sources = list(wanted)
    if not 0 < len(sources) <= MOST_SOURCES:
        raise InvalidInput("sources", f"An entry cites at least one source and at most {MOST_SOURCES}.")
    found = [_resolved(source, scope) for source in sources]
    return tuple({cited.event_id: cited for cited in reversed(found)}.values())[::-1]


def known(event_ids: Iterable[str]) -> list[Cited]:
    """Return those of the events that are visible, to whomever: what an entry rests on."""
    rows = sql.rows_in(BY_IDS.format(columns=_COLUMNS, marks="{marks}"), list(event_ids))
    return [_cited(row, "") for row in rows]


def says(text: str, quote: str) -> bool:
    """True where a text holds a quote (definitions: quote match)."""
    return normalise(quote) in normalise(text)


def _resolved(source: Wanted, scope: Scope) -> Cited:
    if len(source.quote) > LONGEST_QUOTE:
        raise InvalidInput("sources", f"A quote has at most {LONGEST_QUOTE} characters.")
    if source.event:
        return _by_id(source, scope)
    if len(normalise(source.quote)) < SHORTEST_QUOTE:
        raise InvalidInput("sources", f"A source is an event's id, or a quote of at least {SHORTEST_QUOTE} characters.")
    for row in (*_holding(source.quote, "message", scope), *_holding(source.quote, "tool_result", scope)):
        return _cited(row, source.quote)
    raise NotFound(
        f"No visible message or tool result holds the words {cut(source.quote, 80)!r}. Quote them exactly, or name the"
        " event's id."
    )


def _by_id(source: Wanted, scope: Scope) -> Cited:
    condition, values = scope.condition("s.project")
    rows = sql.rows(BY_ID.format(columns=_COLUMNS, condition=condition), (source.event, *values))
    if not rows:
        raise NotFound(f"No event {cut(source.event, 200)} is held.")
    if rows[0][2] == "meta":
        raise InvalidInput("sources", "Reminders, summaries and Origin's own answers are no sources.")
    if source.quote and (not normalise(source.quote) or not says(rows[0][5], source.quote)):
        raise InvalidInput("sources", f"The event {source.event} does not hold the words {cut(source.quote, 80)!r}.")
    return _cited(rows[0], source.quote)


def _cited(row: sql.Result, quote: str) -> Cited:
    _, name, kind, role, sub_agent, _, project = row
    is_persons = kind == "message" and role == "user" and not sub_agent
    is_said = is_persons or (kind == "message" and role == "assistant")
    return Cited(str(name), quote, str(project), is_said, is_persons)


def _holding(quote: str, kind: str, scope: Scope) -> Iterator[sql.Result]:
    """Yield visible events of a kind that hold a quote, newest first: by the index, else among the newest texts."""
    wanted, condition = normalise(quote), scope.condition("s.project")
    seen = False
    for rows in (_indexed(quote, kind, condition), _newest(kind, condition)):
        for row in rows:
            if wanted in normalise(row[5]):
                seen = True
                yield row
        if seen:
            return


def _indexed(quote: str, kind: str, condition: tuple[str, tuple[sql.Value, ...]]) -> list[sql.Result]:
    words = [word for word in quote.split() if len(word) >= _TRIGRAM]
    if not words:
        return []
    index = "message_trigram" if kind == "message" else "tool_words"
    match = " AND ".join(quoted(word) for word in sorted(words, key=len, reverse=True)[:12])
    query = BY_INDEX.format(columns=_COLUMNS, index=index, condition=condition[0], limit=_ASKED)
    return sql.rows(query, (match, kind, *condition[1]))


def _newest(kind: str, condition: tuple[str, tuple[sql.Value, ...]]) -> list[sql.Result]:
    return sql.rows(NEWEST.format(columns=_COLUMNS, condition=condition[0], limit=_SCANNED), (kind, *condition[1]))
