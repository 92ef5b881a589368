"""The questions that search puts to the indexes, each within the caller's reach: filters, scope and what is visible."""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from memory import sql
from memory.filters import Filters
from memory.query import Unit, any_of
from memory.ranking import COPY, Facts
from memory.scope import Scope
from memory.sql import Result, Value

# So many of the newest matches are ranked; very common words would cost more with every month.
RANKED = 20_000
# Of those, so many of the best are looked at more closely.
POOL = 1_000
# Counting within filters costs a look at each row; beyond so many, how common a word is matters no more.
COUNTED = 3_000
# A time window with more events than this is no help to an index.
WINDOW = 100_000
SCANNED = 10_000
SCAN_FOUND = 100
READ = 8_000

JOINED = "JOIN visible_event e ON e.id = f.rowid JOIN visible_session s ON s.id = e.session_id"
# The inner query takes the newest matches by key, which follows time; the outer one orders them.
BEST = """
    SELECT id, score, count(*) OVER () FROM (
        SELECT f.rowid AS id, -bm25({index}) AS score FROM {index} f {joined}
        WHERE {index} MATCH ? {others} AND {condition} ORDER BY f.rowid DESC LIMIT {ranked})
    ORDER BY {order} LIMIT {pool}"""
ALSO = "AND f.rowid {test} (SELECT rowid FROM {index} WHERE {index} MATCH ?)"
COUNT = """
    SELECT count(*) FROM (
        SELECT 1 FROM {index} f {joined} WHERE {index} MATCH ? AND {condition} LIMIT {counted})"""
TITLES = """
    SELECT s.id, -bm25({index}), s.title FROM {index} f JOIN visible_session s ON s.id = f.rowid
    WHERE {index} MATCH ? AND {condition} ORDER BY 2 DESC LIMIT 200"""
FACTS = """
    SELECT e.id, e.at, e.event_id, e.kind, e.session_id, e.ordinal, e.sub_agent OR s.parent <> '',
        CASE WHEN e.kind = 'message' AND length(trim(e.text, ' .,;:!?"''()[]' || char(9, 10, 13, 123, 125))) >= {copy}
            THEN e.role || hex(e.digest) ELSE '' END,
        substr(e.text, 1, {read})
    FROM visible_event e JOIN visible_session s ON s.id = e.session_id WHERE e.id IN ({{marks}})"""
# Without words, and with an id: events in their own order.
NEWEST = """
    SELECT e.id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE {kinds} AND {condition} ORDER BY e.at DESC, e.event_id LIMIT {ranked}"""
BY_ID = """
    SELECT e.id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.event_id = ? AND {condition}"""
OF_SESSION = """
    SELECT e.id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE s.session_id = ? AND e.kind = 'message' AND {condition} ORDER BY e.at, e.ordinal, e.event_id LIMIT {pool}"""
FIRST = """
    SELECT e.id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.session_id = ? AND e.kind = 'message' AND {condition}
    ORDER BY e.at, e.ordinal, e.event_id LIMIT 1"""
BESIDE = """
    SELECT e.id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.session_id = ? AND (e.at, e.ordinal) {side} (?, ?) AND e.kind = 'message' AND {condition}
    ORDER BY e.at {way}, e.ordinal {way} LIMIT {distance}"""
KEYS_OF_WINDOW = """
    SELECT min(id), max(id), count(*) FROM (SELECT id FROM event WHERE at >= ? AND at < ? LIMIT {window})"""
# The tables hold no in-word substrings of tool text and no words of one or two letters inside others.
SCAN = """
    SELECT id FROM (
        SELECT e.id, e.text FROM visible_event e JOIN visible_session s ON s.id = e.session_id
        WHERE e.kind IN ({kinds}) AND {condition} ORDER BY e.id DESC LIMIT {scanned})
    WHERE {tests} ORDER BY id DESC LIMIT {found}"""
MESSAGES = "SELECT coalesce(sum(s.messages), 0) FROM visible_session s WHERE {condition}"
COPIES = """
    SELECT count(*) FROM visible_event o JOIN visible_event e ON e.digest = o.digest AND e.role = o.role
    JOIN visible_session s ON s.id = e.session_id
    WHERE o.id = ? AND e.id <> o.id AND e.kind = 'message' AND {condition}"""


@dataclass(frozen=True)
class Leg:
    """One way to find terms: an expression for the index that ranks, others that must match too, others that may not.

    `cjk` expressions go to an index of their own; so `also` and `never` are pairs of index and expression.
    """

    index: str
    match: str
    also: tuple[tuple[str, str], ...] = ()
    never: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Asked:
    """What an index was asked, how many events it gave, and how long that took."""

    index: str
    match: str
    found: int
    ms: float


@dataclass
class Reach:
    """What one search may see, and a record of what it asked."""

    condition: str
    values: list[Value]
    session_condition: str
    session_values: list[Value]
    keys: tuple[int, int] | None = None
    asked: list[Asked] = field(default_factory=list)
    capped: bool = False
    matches: int = 0

    @property
    def is_everything(self) -> bool:
        """True without filters and scope: an index, which holds only what is visible, needs no second look."""
        return self.condition == "1"

    def rows(self, query: str, values: Iterable[Value] = (), **parts: object) -> list[Result]:
        """Run a query within the condition, whose values come last."""
        return sql.rows(query.format(condition=self.condition, **parts), [*values, *self.values])

    def best(self, leg: Leg, *, newest: bool = False, pool: int = POOL) -> dict[int, float]:
        """Return the best matches of a leg, or the newest, with their BM25 as a positive number."""
        started = time.perf_counter()
        others = [ALSO.format(index=index, test="IN") for index, _ in leg.also]
        others += [ALSO.format(index=index, test="NOT IN") for index, _ in leg.never]
        if self.keys:
            others.append(f"AND f.rowid BETWEEN {self.keys[0]} AND {self.keys[1]}")
        found = self.rows(
            BEST,
            [leg.match, *(match for _, match in (*leg.also, *leg.never))],
            index=leg.index,
            joined="" if self.is_everything else JOINED,
            others=" ".join(others),
            order="id DESC" if newest else "score DESC, id DESC",
            ranked=RANKED,
            pool=pool,
        )
        count = int(found[0][2]) if found else 0
        self._note(leg.index, leg.match, count, started)
        self.capped |= count >= RANKED
        self.matches = max(self.matches, count)
        return {int(key): float(score) for key, score, _ in found}

    def count(self, index: str, match: str) -> int:
        """Return how many events in reach match, exactly where nothing narrows it."""
        joined, counted = ("", -1) if self.is_everything else (JOINED, COUNTED)
        return int(self.rows(COUNT, [match], index=index, joined=joined, counted=counted)[0][0])

    def titles(self, index: str, match: str) -> list[tuple[int, float, str]]:
        """Return sessions whose title matches, with BM25 and title."""
        started = time.perf_counter()
        query = TITLES.format(index=index, condition=self.session_condition)
        found = sql.rows(query, [match, *self.session_values])
        self._note(index, match, len(found), started)
        return [(int(key), float(score), str(title)) for key, score, title in found]

    def messages(self) -> int:
        """Return how many messages the sessions in reach have."""
        return int(sql.rows(MESSAGES.format(condition=self.session_condition), self.session_values)[0][0])

    def newest(self, *, tools: bool) -> list[int]:
        """Return the newest messages, or tool events where a filter names a tool."""
        kinds = "e.kind <> 'meta'" if tools else "e.kind = 'message'"
        return [int(key) for (key,) in self.rows(NEWEST, kinds=kinds, ranked=RANKED)]

    def by_id(self, name: str) -> list[int]:
        """Return the event of this id, or the messages of the session of this id."""
        found = self.rows(BY_ID, [name]) or self.rows(OF_SESSION, [name], pool=POOL)
        return [int(key) for (key,) in found]

    def first_message(self, session: int) -> int | None:
        """Return the first message of a session."""
        found = self.rows(FIRST, [session])
        return int(found[0][0]) if found else None

    def beside(self, fact: Facts, distance: int) -> list[list[int]]:
        """Return the messages one, two, … away from one in its session."""
        place = (fact.session, fact.at, fact.ordinal)
        before = self.rows(BESIDE, place, side="<", way="DESC", distance=distance)
        after = self.rows(BESIDE, place, side=">", way="ASC", distance=distance)
        return [[int(side[at][0]) for side in (before, after) if len(side) > at] for at in range(distance)]

    def scan(self, kinds: Sequence[str], parts: Sequence[str]) -> list[int]:
        """Return the newest events whose text holds one of some substrings, of a bounded number that are read."""
        started = time.perf_counter()
        tests = " OR ".join(["text LIKE ? ESCAPE '!'"] * len(parts))
        query = SCAN.format(
            condition=self.condition,
            kinds=",".join(f"'{kind}'" for kind in kinds),
            tests=tests,
            scanned=SCANNED,
            found=SCAN_FOUND,
        )
        found = sql.rows(query, [*self.values, *(f"%{_escaped(part)}%" for part in parts)])
        self._note("scan", any_of([*parts]), len(found), started)
        return [int(key) for (key,) in found]

    def copies(self, key: int) -> int:
        """Return in how many other events the same was said, to the letter."""
        return int(self.rows(COPIES, [key])[0][0])

    def _note(self, index: str, match: str, found: int, started: float) -> None:
        self.asked.append(Asked(index, match, found, round((time.perf_counter() - started) * 1000, 1)))


def _escaped(text: str) -> str:
    return text.replace("!", "!!").replace("%", "!%").replace("_", "!_")


def reach(scope: Scope, *filters: Filters) -> Reach:
    """Return what a caller may see within filters, all of which must hold."""
    on_events = [each.on_events(scope) for each in filters]
    on_sessions = [each.on_sessions(scope) for each in filters]
    return Reach(
        condition=" AND ".join(condition for condition, _ in on_events),
        values=[value for condition, values in on_events for value in values],
        session_condition=" AND ".join(condition for condition, _ in on_sessions),
        session_values=[value for _, values in on_sessions for value in values],
        keys=_keys(filters),
    )


def _keys(filters: Iterable[Filters]) -> tuple[int, int] | None:
    """Return the keys between which the events of a time window lie, where it is small enough to help."""
    since = max((each.since for each in filters), default="")
    until = min((each.until for each in filters if each.until), default="~")
    if not since and until == "~":
        return None
    low, high, count = sql.rows(KEYS_OF_WINDOW.format(window=WINDOW), [since, until])[0]
    if count >= WINDOW:
        return None
    return (int(low), int(high)) if count else (0, -1)


def facts(keys: Collection[int]) -> dict[int, Facts]:
    """Return what ranking needs to know of events, those that are visible."""
    found = sql.rows_in(FACTS.format(copy=COPY, read=READ), list(keys))
    return {int(row[0]): _fact(row) for row in found}


def _fact(row: Result) -> Facts:
    key, at, event_id, kind, session, ordinal, sub_agent, copy, text = row
    return Facts(
        int(key), str(at), str(event_id), str(kind), int(session), int(ordinal), bool(sub_agent), str(copy), str(text)
    )


def merged(*found: Mapping[int, float]) -> dict[int, float]:
    """Return scores of several legs, the better one of each event."""
    best: dict[int, float] = {}
    for scores in found:
        for key, worth in scores.items():
            best[key] = max(worth, best.get(key, 0.0))
    return best


def added(*found: Mapping[int, float]) -> dict[int, float]:
    """Return scores of several legs that ask for different words, summed."""
    total: dict[int, float] = {}
    for scores in found:
        for key, worth in scores.items():
            total[key] = total.get(key, 0.0) + worth
    return total


def unit_index(unit: Unit) -> tuple[str, str]:
    """Return the message index that holds a unit, and the expression for it."""
    return ("message_grams", unit.in_grams()) if unit.cjk else ("message_words", unit.in_words())
