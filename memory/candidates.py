"""The questions that search puts to the indexes, each within the caller's reach: filters, scope and what is visible."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from memory import sql
from memory.filters import Filters
from memory.held import held
from memory.query import Unit, any_of, sparse
from memory.ranking import COPY, Facts, bm25, idf
from memory.scope import Scope
from memory.sql import Result, Value

# So many of the newest matches are ranked; very common words would cost more with every month.
RANKED = 20_000
# Of those, so many of the best are looked at more closely.
POOL = 500
# Tool events that only speak for their sessions: so many of the newest are ranked, and of those so many are looked at.
TOOL_RANKED = 1_500
TOOL_POOL = 100
# Counting within filters costs a look at each row; beyond so many, how common a word is matters no more.
COUNTED = 3_000
# A time window with more events than this is no help to an index.
WINDOW = 100_000
SCANNED = 10_000
SCAN_STEP = 1_000
SCAN_FOUND = 100
LAST_KEY = (1 << 63) - 1
READ = 8_000
# So many texts are read to see whether they hold a substring, where that is cheaper than to ask for it.
VERIFIED = 1_000

JOINED = "JOIN visible_event e ON e.id = f.rowid JOIN visible_session s ON s.id = e.session_id"
MATCHING = "FROM {index} f {joined} WHERE {index} MATCH ? {others} AND {condition} ORDER BY f.rowid DESC LIMIT {ranked}"
# The inner query takes the newest matches by key, which follows time; the outer one orders them.
BEST = f"""
    SELECT id, score FROM (SELECT f.rowid AS id, -bm25({{index}}) AS score {MATCHING})
    ORDER BY {{order}} LIMIT {{pool}}"""
# Cheaper than a window over the ranked: a match that is not ranked costs a quarter.
MATCHES = f"SELECT count(*) FROM (SELECT 1 {MATCHING})"
KEYS = f"SELECT f.rowid {MATCHING}"
ALSO = "AND f.rowid {test} (SELECT rowid FROM {index} WHERE {index} MATCH ?)"
COUNT = """
    SELECT count(*) FROM (
        SELECT 1 FROM {index} f {joined} WHERE {index} MATCH ? AND {condition} LIMIT {counted})"""
TITLES = """
    SELECT s.id, -bm25({index}), s.title FROM {index} f JOIN visible_session s ON s.id = f.rowid
    WHERE {index} MATCH ? AND {condition} ORDER BY 2 DESC LIMIT 200"""
FACTS = """
    SELECT e.id, e.at, e.event_id, e.kind, e.session_id, e.sub_agent OR s.parent <> '', e.role, e.digest
    FROM json_each(?) k JOIN visible_event e ON e.id = k.value JOIN visible_session s ON s.id = e.session_id"""
SHORT = f"""
    SELECT e.id FROM json_each(?) k JOIN visible_event e ON e.id = k.value
    WHERE length(trim(e.text, ' .,;:!?"''()[]' || char(9, 10, 13, 123, 125))) < {COPY}"""
TEXTS = f"SELECT e.id, substr(e.text, 1, {READ}) FROM json_each(?) k JOIN visible_event e ON e.id = k.value"
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
# The messages before and after each of many, in one query; a list in one column, the nearest first.
BESIDE = """
    SELECT json_group_array(id) FROM (
        SELECT e.id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
        WHERE e.session_id = o.session_id AND (e.at, e.ordinal) {side} (o.at, o.ordinal)
            AND e.kind = 'message' AND {condition}
        ORDER BY e.at {way}, e.ordinal {way} LIMIT {distance})"""
NEIGHBOURS = "SELECT o.id, ({before}), ({after}) FROM json_each(?) k JOIN visible_event o ON o.id = k.value"
KEYS_OF_WINDOW = """
    SELECT min(id), max(id), count(*) FROM (SELECT id FROM event WHERE at >= ? AND at < ? LIMIT {window})"""
# The tables hold no in-word substrings of tool text and no words of one or two letters inside others.
SCAN = """
    SELECT e.id, e.text FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.kind IN ({kinds}) AND {condition} AND e.id < ? ORDER BY e.id DESC LIMIT {step}"""
MESSAGES = "SELECT coalesce(sum(s.messages), 0) FROM visible_session s WHERE {condition}"
SAID = """
    SELECT e.id FROM visible_event e JOIN visible_session s ON s.id = e.session_id
    WHERE e.digest = ? AND e.kind = 'message' AND {condition} ORDER BY e.id DESC LIMIT {pool}"""
COPIES = """
    SELECT count(*) FROM visible_event o JOIN visible_event e ON e.digest = o.digest AND e.role = o.role
    JOIN visible_session s ON s.id = e.session_id
    WHERE o.id = ? AND e.id <> o.id AND e.kind = 'message' AND {condition}"""


@dataclass(frozen=True)
class Leg:
    """One way to find terms: an expression for the index that ranks, others that must match too, others that may not.

    `cjk` expressions go to an index of their own; so `also` and `never` are pairs of index and expression. `inside` are
    the substrings that `match` asks a trigram index for: one of each group.
    """

    index: str
    match: str
    also: tuple[tuple[str, str], ...] = ()
    never: tuple[tuple[str, str], ...] = ()
    inside: tuple[tuple[str, ...], ...] = ()


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
    read: dict[int, str] = field(default_factory=dict)
    capped: bool = False
    matches: int = 0
    partly: bool = False

    @property
    def is_everything(self) -> bool:
        """True without filters and scope: an index, which holds only what is visible, needs no second look."""
        return self.condition == "1"

    def rows(self, query: str, values: Iterable[Value] = (), **parts: object) -> list[Result]:
        """Run a query within the condition, whose values come last."""
        return sql.rows(query.format(condition=self.condition, **parts), [*values, *self.values])

    def best(self, leg: Leg, *, newest: bool = False, pool: int = POOL, ranked: int = RANKED) -> dict[int, float]:
        """Return the best matches of a leg among its newest, or the newest, with their BM25 as a positive number."""
        started = time.perf_counter()
        found = self._read(leg) if leg.inside else self._ranked(leg, newest=newest, pool=pool, ranked=ranked)
        self._note(leg.index, leg.match, len(found), started)
        return found

    def _ranked(self, leg: Leg, *, newest: bool, pool: int, ranked: int) -> dict[int, float]:
        order = "id DESC" if newest else "score DESC, id DESC"
        found = self._matching(BEST, leg, order=order, ranked=pool if newest else ranked, pool=pool)
        if len(found) == POOL and ranked == RANKED:
            count = int(self._matching(MATCHES, leg, ranked=RANKED)[0][0])
            self.capped |= count >= RANKED
            self.matches = max(self.matches, count)
        self.partly |= len(found) == pool < POOL and ranked == RANKED
        return {int(key): float(score) for key, score in found}

    def _matching(self, query: str, leg: Leg, **parts: object) -> list[Result]:
        others = [ALSO.format(index=index, test="IN") for index, _ in leg.also]
        others += [ALSO.format(index=index, test="NOT IN") for index, _ in leg.never]
        if self.keys:
            others.append(f"AND f.rowid BETWEEN {self.keys[0]} AND {self.keys[1]}")
        matches = [leg.match, *(match for _, match in (*leg.also, *leg.never))]
        joined = "" if self.is_everything else JOINED
        return self.rows(query, matches, index=leg.index, joined=joined, others=" ".join(others), **parts)

    def _read(self, leg: Leg) -> dict[int, float]:
        """Return the newest that hold the substrings of a leg, by reading what holds a third of their trigrams.

        A phrase of many trigrams makes the index walk the places of each, and once more for its BM25: it is asked only
        where too much holds the third.
        """
        few = self._matching(KEYS, replace(leg, match=sparse(leg.inside)), ranked=VERIFIED + 1)
        if len(few) > VERIFIED:
            few = self._matching(KEYS, leg, ranked=VERIFIED)
        groups = [[form.lower() for form in group] for group in leg.inside]
        read = self.texts([int(key) for (key,) in few])
        counted = {key: [sum(map(text.lower().count, group)) for group in groups] for key, text in read.items()}
        holding = {key: counts for key, counts in counted.items() if all(counts)}
        rarity = idf(len(holding), self.messages)
        return {key: bm25(counts, len(read[key]), rarity) for key, counts in holding.items()}

    def count(self, index: str, match: str, most: int = -1) -> int:
        """Return how many events in reach match, exactly where nothing narrows it; -1 is no bound."""
        joined, counted = ("", most) if self.is_everything else (JOINED, most if most >= 0 else COUNTED)
        return int(self.rows(COUNT, [match], index=index, joined=joined, counted=counted)[0][0])

    def titles(self, index: str, match: str) -> list[tuple[int, float, str]]:
        """Return sessions whose title matches, with BM25 and title."""
        started = time.perf_counter()
        query = TITLES.format(index=index, condition=self.session_condition)
        found = sql.rows(query, [match, *self.session_values])
        self._note(index, match, len(found), started)
        return [(int(key), float(score), str(title)) for key, score, title in found]

    @cached_property
    def messages(self) -> int:
        """How many messages the sessions in reach have."""
        query, values = MESSAGES.format(condition=self.session_condition), self.session_values
        return held((query, *values), lambda: int(sql.rows(query, values)[0][0]))

    def newest(self, *, tools: bool) -> list[int]:
        """Return the newest messages, or tool events where a filter names a tool."""
        kinds = "e.kind <> 'meta'" if tools else "e.kind = 'message'"
        return [int(key) for (key,) in self.rows(NEWEST, kinds=kinds, ranked=RANKED)]

    def by_id(self, name: str) -> list[int]:
        """Return the event of this id, or the messages of the session of this id."""
        found = self.rows(BY_ID, [name]) or self.rows(OF_SESSION, [name], pool=POOL)
        return [int(key) for (key,) in found]

    def texts(self, keys: Collection[int]) -> dict[int, str]:
        """Return what events say, the beginning of what is long; each is read once."""
        if unread := set(keys) - self.read.keys():
            self.read |= dict(sql.rows(TEXTS, [_listed(unread)]))
        return {key: self.read[key] for key in keys if key in self.read}

    def first_message(self, session: int) -> int | None:
        """Return the first message of a session."""
        found = self.rows(FIRST, [session])
        return int(found[0][0]) if found else None

    def said(self, digest: bytes) -> list[int]:
        """Return the newest messages whose text says just what this is the digest of."""
        return [
            int(key) for (key,) in sql.rows(SAID.format(condition=self.condition, pool=POOL), [digest, *self.values])
        ]

    def beside(self, keys: Collection[int], distance: int) -> dict[int, list[list[int]]]:
        """Return the messages one, two, … away from each of some in its session."""
        before = BESIDE.format(condition=self.condition, side="<", way="DESC", distance=distance)
        after = BESIDE.format(condition=self.condition, side=">", way="ASC", distance=distance)
        query = NEIGHBOURS.format(before=before, after=after)
        found = sql.rows(query, [*self.values, *self.values, _listed(keys)])
        sides = {int(key): [msgspec.json.decode(side) for side in both] for key, *both in found}
        return {
            key: [[int(side[at]) for side in both if len(side) > at] for at in range(distance)]
            for key, both in sides.items()
        }

    def scan(self, kinds: Sequence[str], parts: Sequence[str]) -> list[int]:
        """Return the newest events whose text holds one of some substrings, of a bounded number that are read."""
        started = time.perf_counter()
        wanted = [part.lower() for part in parts]
        found: list[int] = []
        for key, text in self._newest_texts(kinds):
            lower = text.lower()
            if any(part in lower for part in wanted):
                found.append(key)
                if len(found) == SCAN_FOUND:
                    break
        self._note("scan", any_of([*parts]), len(found), started)
        return found

    def _newest_texts(self, kinds: Sequence[str]) -> Iterator[tuple[int, str]]:
        query = SCAN.format(condition=self.condition, kinds=",".join(f"'{kind}'" for kind in kinds), step=SCAN_STEP)
        below = LAST_KEY
        for _ in range(SCANNED // SCAN_STEP):
            found = sql.rows(query, [*self.values, below])
            yield from ((int(key), str(text)) for key, text in found)
            if len(found) < SCAN_STEP:
                return
            below = int(found[-1][0])

    def copies(self, key: int) -> int:
        """Return in how many other events the same was said, to the letter."""
        return int(self.rows(COPIES, [key])[0][0])

    def _note(self, index: str, match: str, found: int, started: float) -> None:
        self.asked.append(Asked(index, match, found, round((time.perf_counter() - started) * 1000, 1)))


def _listed(keys: Iterable[int]) -> str:
    """Return keys as one value that `json_each` unfolds, so that the statement is the same whatever their number."""
    return msgspec.json.encode(list(keys)).decode()


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
    found = sql.rows(FACTS, [_listed(keys)]) if keys else []
    return {row[0]: Facts(*row) for row in found}


def short(keys: Collection[int]) -> set[int]:
    """Return which events say too little to be copies of one another."""
    return {int(key) for (key,) in sql.rows(SHORT, [_listed(keys)])} if keys else set()


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
