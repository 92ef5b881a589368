"""Search in entries: every word of a query, else the most telling ones, best first; statements, so no turns beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory import ranking, sql
from memory.entries.filters import EntryFilters, Seen, in_order, seen
from memory.query import Query, Unit, any_of, parse
from memory.scope import Scope
from memory.sql import Value
from memory.text import cjk_query

POOL = 300
# As in the search of events: fewer with every word than this are too few, where there are words enough.
ENOUGH = 3
# A hit of a relaxed search holds at least this share of what the query says.
LEAST_SHARE = 0.34

MATCH = """
    SELECT f.rowid, -bm25({index}) FROM {index} f JOIN visible_entry e ON e.id = f.rowid
    WHERE {index} MATCH ? AND {condition} ORDER BY 2 DESC LIMIT {pool}"""
COUNT = "SELECT count(*) FROM (SELECT 1 FROM {index} WHERE {index} MATCH ? LIMIT 5000)"
TOTAL = "SELECT count(*) FROM visible_entry"


@dataclass(frozen=True)
class FoundEntries:
    """Entries, best first; `relaxed` says that they need not hold every word."""

    entries: tuple[Seen, ...]
    relaxed: bool = False


def search_entries(query: str, scope: Scope, filters: EntryFilters, *, limit: int = POOL) -> FoundEntries:
    """Return the entries that a query finds, within scope and filters, best first. No query raises."""
    asked = parse(query)
    if not asked.terms:
        return FoundEntries(())
    condition = filters.condition(scope)
    strict = _matches(_every_word(asked), condition)
    views = seen(in_order(_best(strict)), filters)
    if len(views) >= min(ENOUGH, len(asked.content)) and not asked.has_mark:
        return FoundEntries(tuple(views[:limit]))
    scores = _relaxed(asked, condition, strict)
    views = seen(in_order(_best(scores)), filters)
    is_relaxed = any(view.entry.pk not in strict for view in views)
    return FoundEntries(tuple(views[:limit]), relaxed=is_relaxed)


def _best(scores: Mapping[int, float]) -> list[int]:
    return sorted(scores, key=lambda key: (-scores[key], -key))


def _every_word(query: Query) -> list[tuple[str, str]]:
    """Return (index, expression) of each way to hold every word: by stems, and by substrings with CJK pairs."""
    terms = query.content
    legs = []
    if all(term.is_word and not term.cjk for term in terms):
        legs.append(("entry_words", " AND ".join(term.in_words() for term in terms)))
    if all(term.in_trigrams() for term in terms):
        legs.append(("entry_trigram", " AND ".join(term.in_trigrams() for term in terms)))
    if terms and all(term.cjk and len(term.cjk) == 1 and term.cjk[0] == term.text for term in terms):
        legs.append(("entry_grams", " AND ".join(cjk_query(term.text) for term in terms)))
    return [(index, match) for index, match in legs if match]


def _matches(legs: Sequence[tuple[str, str]], condition: tuple[str, list[Value]]) -> dict[int, float]:
    scores: dict[int, float] = {}
    for index, match in legs:
        for key, bm25 in sql.rows(MATCH.format(index=index, condition=condition[0], pool=POOL), [match, *condition[1]]):
            scores[key] = max(scores.get(key, 0.0), ranking.score(bm25, 1.0))
    return scores


def _relaxed(query: Query, condition: tuple[str, list[Value]], strict: Mapping[int, float]) -> dict[int, float]:
    """Return what holds enough of the words, worth the more the rarer those it holds."""
    total = int(sql.rows(TOTAL)[0][0])
    weights = {unit: ranking.idf(_count(unit), total) for unit in query.units}
    legs = [
        ("entry_words", any_of([unit.in_words() for unit in weights if not unit.cjk])),
        ("entry_grams", any_of([unit.in_grams() for unit in weights if unit.cjk])),
        ("entry_trigram", any_of([unit.in_trigrams() for unit in weights if unit.named and unit.inside])),
    ]
    found = _matches([(index, match) for index, match in legs if match], condition)
    scores = dict(strict)
    for entry in in_order(sorted(found)):
        share = ranking.coverage(entry.text, weights)
        if share >= LEAST_SHARE:
            scores[entry.pk] = max(scores.get(entry.pk, 0.0), ranking.score(found[entry.pk], share))
    return scores


def _count(unit: Unit) -> int:
    index, match = ("entry_grams", unit.in_grams()) if unit.cjk else ("entry_words", unit.in_words())
    return int(sql.rows(COUNT.format(index=index), (match,))[0][0]) if match else 0
