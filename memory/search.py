"""Search: every word of a query, in any script, over the indexes of visible events."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from memory import sql
from memory.filters import Filters
from memory.json_line import clean_text
from memory.scope import Scope
from memory.secrets import mask
from memory.sessions import session_title
from memory.sql import Result, Value
from memory.text import cjk_query, cjk_runs, one_line

# So many of the newest matches are ranked; very common words would cost more with every month.
RANKED = 20_000
PASSAGE = 300
MAX_TERMS = 40
MAX_TERM = 200
TRIGRAM = 3
_TOKEN = re.compile(r'"([^"]*)"|(\S+)')
_WORD = re.compile(r"[^\W_]")

# The inner query takes the newest matches by key, which follows time; the outer one orders them for good.
MATCHES = """
    SELECT m.id, m.at FROM (
        SELECT f.rowid AS id, e.at, e.event_id, bm25({index}) AS score
        FROM {index} f JOIN visible_event e ON e.id = f.rowid JOIN visible_session s ON s.id = e.session_id
        WHERE {index} MATCH ? {others} AND {condition}
        ORDER BY f.rowid DESC LIMIT {ranked}) m
    ORDER BY {order}, m.at DESC, m.event_id"""
ALSO = "AND f.rowid IN (SELECT rowid FROM {index} WHERE {index} MATCH ?)"
ANY_MATCH = """
    SELECT 1 FROM {index} f JOIN visible_event e ON e.id = f.rowid JOIN visible_session s ON s.id = e.session_id
    WHERE {index} MATCH ? AND {condition} LIMIT 1"""
NEWEST = """
    SELECT e.id, e.at FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.kind = 'message' AND {condition} ORDER BY e.at DESC, e.event_id LIMIT {ranked}"""
HITS = """
    SELECT e.id, e.event_id, e.at, e.kind, e.role, e.sub_agent, e.tool, e.text,
        s.source, s.project, s.session_id, s.title, s.first_prompt
    FROM visible_event e JOIN visible_session s ON s.id = e.session_id WHERE e.id IN ({marks})"""


class Term(NamedTuple):
    """One word or phrase of a query, as it was typed."""

    text: str
    cjk: bool


@dataclass(frozen=True)
class Leg:
    """One way to find the terms: an expression for the index that ranks, and others that must match too."""

    index: str
    match: str
    also: tuple[tuple[str, str], ...] = ()


class Match(NamedTuple):
    """The key and time of an event that matched."""

    key: int
    at: str


@dataclass(frozen=True)
class Hit:
    """An event that matched. `passage` is the part of its text that did, secrets masked."""

    event_id: str
    at: str
    kind: str
    role: str
    sub_agent: bool
    tool: str
    passage: str
    source: str
    project: str
    session: str
    title: str


@dataclass(frozen=True)
class Found:
    """Hits from `offset` on, how many there are in all, and what a reader should know of how they were found.

    `capped` says that only the newest 20,000 matches were ranked; `unmatched` are words that occur nowhere in reach.
    """

    hits: tuple[Hit, ...]
    total: int
    unmatched: tuple[str, ...] = ()
    capped: bool = False
    legs: tuple[tuple[str, str, int], ...] = ()

    def explained(self, seconds: float) -> dict[str, object]:
        """Say which indexes were asked what, how many events each gave, and how long it took."""
        asked = [{"index": index, "match": match, "found": count} for index, match, count in self.legs]
        return {"legs": asked, "ms": round(seconds * 1000, 1)}


def search(
    query: str,
    scope: Scope,
    filters: Filters,
    *,
    tools: bool = False,
    meta: bool = False,
    recent: bool = False,
    offset: int = 0,
    limit: int = 10,
) -> Found:
    """Return the visible events that hold every word of `query`, best first, or newest first where `recent`.

    Plain words: no character of the query is syntax to an index, and no query raises. An empty one gives the newest
    messages. Tool calls, tool results and meta events take part only when asked for.
    """
    terms = parse(query)
    condition, values = filters.on_events(scope)
    legs = _legs(terms, tools=tools, meta=meta)
    found = [_matches(leg, condition, values, recent=recent) for leg in legs]
    if terms:
        matches = _merged(found)
    else:
        matches = [_match(row) for row in sql.rows(NEWEST.format(condition=condition, ranked=RANKED), values)]
    if recent:
        matches.sort(key=lambda match: match.at, reverse=True)
    page = [match.key for match in matches[offset : offset + limit]]
    unmatched = _unmatched(terms, condition, values, tools=tools, meta=meta) if not matches else ()
    asked = tuple((leg.index, leg.match, len(each)) for leg, each in zip(legs, found, strict=True))
    return Found(_hits(page, terms), len(matches), unmatched, capped=len(matches) >= RANKED, legs=asked)


def parse(query: str) -> list[Term]:
    """Split a query into words and quoted phrases."""
    clean = clean_text(query).replace("\x00", " ")
    found = [phrase or word for phrase, word in _TOKEN.findall(clean)]
    return [Term(text[:MAX_TERM], bool(cjk_runs(text))) for text in map(str.strip, found) if text][:MAX_TERMS]


def _legs(terms: Sequence[Term], *, tools: bool, meta: bool) -> list[Leg]:
    """Return the ways to find all the terms: messages by substrings, then by word stems, then the other kinds."""
    legs: list[Leg | None] = [_trigram_leg(terms)]
    if not any(term.cjk for term in terms):
        legs.append(_word_leg("message_words", terms))
    legs += [_word_leg("tool_words", terms)] * tools + [_word_leg("meta_words", terms)] * meta
    return [leg for leg in legs if leg]


def _trigram_leg(terms: Sequence[Term]) -> Leg | None:
    """Substrings of three characters and more; shorter terms by the word and bigram indexes."""
    parts = {
        "message_trigram": " ".join(_quoted(term.text) for term in terms if len(term.text) >= TRIGRAM),
        "message_words": " ".join(
            _quoted(t.text) for t in terms if len(t.text) < TRIGRAM and _is_word(t) and not t.cjk
        ),
        "message_grams": " ".join(cjk_query(run) for t in terms if len(t.text) < TRIGRAM for run in cjk_runs(t.text)),
    }
    used = [(index, match) for index, match in parts.items() if match]
    return Leg(used[0][0], used[0][1], tuple(used[1:])) if used else None


def _word_leg(index: str, terms: Sequence[Term]) -> Leg | None:
    words = [_quoted(term.text) for term in terms if _is_word(term)]
    return Leg(index, " ".join(words)) if words else None


def _is_word(term: Term) -> bool:
    """True where a word index finds anything to look for in the term."""
    return _WORD.search(term.text) is not None


def _quoted(text: str) -> str:
    """Return text as an FTS5 string, in which nothing is syntax (sqlite.org/fts5.html, 3.1)."""
    return '"' + text.replace('"', '""') + '"'


def _matches(leg: Leg, condition: str, values: Sequence[Value], *, recent: bool) -> list[Match]:
    query = MATCHES.format(
        index=leg.index,
        others=" ".join(ALSO.format(index=index) for index, _ in leg.also),
        condition=condition,
        ranked=RANKED,
        order="m.at DESC" if recent else "m.score",
    )
    return [_match(row) for row in sql.rows(query, [leg.match, *(match for _, match in leg.also), *values])]


def _match(row: Result) -> Match:
    return Match(int(row[0]), str(row[1]))


def _merged(lists: Iterable[Iterable[Match]]) -> list[Match]:
    """Return the matches of one leg after the other, each once."""
    return list(dict.fromkeys(match for matches in lists for match in matches))


def _unmatched(
    terms: Sequence[Term], condition: str, values: Sequence[Value], *, tools: bool, meta: bool
) -> tuple[str, ...]:
    """Return the terms that occur in no event within the filters and the scope."""
    return tuple(
        term.text
        for term in terms
        if not any(_occurs(leg, condition, values) for leg in _legs([term], tools=tools, meta=meta))
    )


def _occurs(leg: Leg, condition: str, values: Sequence[Value]) -> bool:
    return bool(sql.rows(ANY_MATCH.format(index=leg.index, condition=condition), [leg.match, *values]))


def _hits(keys: Sequence[int], terms: Sequence[Term]) -> tuple[Hit, ...]:
    by_key = {row[0]: _hit(row, terms) for row in sql.rows_in(HITS, keys)}
    return tuple(by_key[key] for key in keys)


def _hit(row: Result, terms: Sequence[Term]) -> Hit:
    _, event_id, at, kind, role, sub_agent, tool, text, source, project, session, title, prompt = row
    return Hit(
        event_id=str(event_id),
        at=str(at),
        kind=str(kind),
        role=str(role),
        sub_agent=bool(sub_agent),
        tool=str(tool),
        passage=passage(mask(str(text)), [term.text for term in terms]),
        source=str(source),
        project=str(project),
        session=str(session),
        title=session_title(str(title), str(prompt)),
    )


def passage(text: str, terms: Sequence[str], limit: int = PASSAGE) -> str:
    """Return at most `limit` characters of `text` around the first term that occurs in it."""
    folded = text.lower()
    starts = [start for term in terms if (start := folded.find(term.lower())) >= 0]
    begin = max(min(starts, default=0) - limit // 4, 0)
    piece = one_line(text[begin : begin + 2 * limit], limit - 1)
    return f"…{piece}" if begin else piece
