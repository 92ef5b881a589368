"""How hits are scored, ordered and thinned out: pure functions over what the indexes gave."""

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from memory.query import Unit

# lab-search 3: a hit is worth more the more of the query's information it holds, and so is what stands beside it.
COVERAGE = 2.0
LENT = (0.5, 0.25)
WHOLE_QUERY = 1.5
# What three events of a session say of it, added to each of its hits.
EVIDENCE = 0.1
EVENTS_OF_EVIDENCE = 3
SUB_AGENT = 0.5
PER_SESSION = 5
# Exact copies are of at least so many characters, the edges left out (definitions: exact copy).
COPY = 24
# BM25 is next to nothing for a word that half of a small store holds; coverage must still count.
LEAST = 0.01
_SHORT = 3
# FTS5's own constants, and the length of a usual message.
_K1, _B, _LENGTH = 1.2, 0.75, 600
_ACCENTS = re.compile("[\u0300-\u036f]")
_NOT_WORD = re.compile(r"[\W_]+")


class Facts(NamedTuple):
    """What ranking knows of an event. Events of one role and digest say the same; only messages have a digest."""

    key: int
    at: str
    event_id: str
    kind: str
    session: int
    sub_agent: bool
    role: str
    digest: bytes | None


class Ranked(NamedTuple):
    """An event in its place, and how many hits of its session are not listed."""

    key: int
    more: int = 0


def fold(text: str) -> str:
    """Return text as it is compared here: no case, no accents, no width."""
    if text.isascii():
        return text.lower()
    bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return unicodedata.normalize("NFC", bare).lower()


def loosened(text: str) -> str:
    """Return folded text with one space for each run of what is not a letter or a number."""
    return _NOT_WORD.sub(" ", fold(text)).strip()


def holds(text: str, whole: str) -> bool:
    """True where a text holds a loosened query; its longest word alone tells most texts from it."""
    folded = fold(text)
    return max(whole.split(), key=len) in folded and whole in _NOT_WORD.sub(" ", folded)


@lru_cache(maxsize=512)
def matcher(unit: Unit) -> Callable[[str], bool]:
    """Return a test for whether folded text holds a unit: an identifier in any form, a word by a crude stem."""
    if unit.cjk:
        pair = fold(unit.forms[0])
        return lambda text: pair in text
    forms = tuple(fold(form) for form in unit.forms)
    if len(forms) > 1 or not forms[0].isalnum():
        return lambda text: any(form in text for form in forms)
    word = forms[0]
    if len(word) <= _SHORT:
        pattern = re.compile(rf"(?<![^\W_]){re.escape(word)}")
        return lambda text: pattern.search(text) is not None
    stem = word[: max(4, len(word) - 3)]
    return lambda text: stem in text


def idf(count: int, total: int) -> float:
    """Return how much a unit says that `count` of `total` messages hold."""
    return math.log(1 + (max(total, count) - count + 0.5) / (count + 0.5))


def coverage(text: str, weights: Mapping[Unit, float]) -> float:
    """Return the share of a query's information that a text holds."""
    total = sum(weights.values())
    folded = fold(text)
    return sum(weight for unit, weight in weights.items() if matcher(unit)(folded)) / total if total else 1.0


def bm25(counts: Iterable[int], length: int, rarity: float) -> float:
    """Return the BM25 of a text of `length` characters by how often it holds each of some substrings."""
    room = _K1 * (1 - _B + _B * length / _LENGTH)
    return rarity * sum(count * (_K1 + 1) / (count + room) for count in counts)


def score(bm25: float, covered: float) -> float:
    """Return the worth of a hit on its own; `bm25` is positive."""
    return (bm25 + LEAST) * (1 + COVERAGE * covered)


def lend(scores: Mapping[int, float], neighbours: Mapping[int, Sequence[Collection[int]]]) -> dict[int, float]:
    """Return scores with what each hit lends to the messages one and two away from it."""
    worth = defaultdict(float, scores)
    for key, rings in neighbours.items():
        for share, ring in zip(LENT, rings, strict=True):
            for other in ring:
                worth[other] += share * scores[key]
    return dict(worth)


def evidence(scores: Iterable[tuple[int, float]]) -> dict[int, float]:
    """Return the worth of sessions from (session, score) of events of any kind: the sum of the best three of each."""
    by_session: dict[int, list[float]] = defaultdict(list)
    for session, worth in scores:
        by_session[session].append(worth)
    return {session: sum(sorted(all_, reverse=True)[:EVENTS_OF_EVIDENCE]) for session, all_ in by_session.items()}


def by_worth(worth: Mapping[int, float], facts: Mapping[int, Facts], *, own_first: bool) -> list[Facts]:
    """Return events best first; recency breaks ties only. `own_first` puts all of a sub-agent's after the person's."""
    newest = sorted((facts[key] for key in worth), key=lambda fact: (fact.at, fact.event_id), reverse=True)
    return sorted(newest, key=lambda fact: (own_first and fact.sub_agent, -round(worth[fact.key], 6)))


def by_time(facts: Iterable[Facts]) -> list[Facts]:
    """Return events newest first."""
    return sorted(facts, key=lambda fact: (fact.at, fact.event_id), reverse=True)


def repeated(facts: Iterable[Facts]) -> list[Facts]:
    """Return the events that say what one before them says."""
    seen: set[tuple[str, bytes]] = set()
    found = []
    for fact in facts:
        if fact.digest is not None:
            said = (fact.role, fact.digest)
            if said in seen:
                found.append(fact)
            seen.add(said)
    return found


def thinned(facts: Iterable[Facts], per_session: int = PER_SESSION) -> list[Ranked]:
    """Return at most so many events of one session, the first of them saying how many more there are."""
    held: dict[int, list[int]] = defaultdict(list)
    listed = []
    for fact in facts:
        held[fact.session].append(fact.key)
        if len(held[fact.session]) <= per_session:
            listed.append(fact.key)
    more = {keys[0]: len(keys) - per_session for keys in held.values() if len(keys) > per_session}
    return [Ranked(key, more.get(key, 0)) for key in listed]
