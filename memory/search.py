"""Search: what holds every word of a query, else what holds the most telling of them, best first."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, tzinfo

from memory import ranking, sql
from memory.candidates import (
    POOL,
    TOOL_POOL,
    TOOL_RANKED,
    Asked,
    Leg,
    Reach,
    added,
    facts,
    merged,
    reach,
    short,
    unit_index,
)
from memory.errors import InvalidInput
from memory.filters import Filters
from memory.passages import passage
from memory.query import Query, Term, Unit, any_of, parse, quoted
from memory.ranking import Facts, Ranked
from memory.scope import Scope
from memory.secrets import mask
from memory.sessions import session_title
from memory.sql import Result
from memory.text import cjk_query
from memory.times import now, parse_bound

# Fewer hits with every word than this are too few, where there are words enough to do without one.
ENOUGH = 3
# Very common words leave the question to the index only while it would have to walk more than this.
DOCUMENTS_READ = 50_000
# Tool events only speak for their sessions: the most telling words do, as far as they are in no more of them.
TOOLS_READ = 2_000
# So many of the best of a relaxed search are read, and so many of those lend to what stands beside them.
RELAXED_POOL = 300
LENDERS = 100
# The whole query as it was typed is looked for in so many of the best.
LOOKED_AT = 100
# A tool's line stands for a session where no message of it is worth half as much.
BETTER_TOOL = 0.5
TITLED = 20
# Up to so many letters, a word is too short for any index but that of whole words.
_SHORT = 2

HITS = """
    SELECT e.id, e.event_id, e.at, e.kind, e.role, e.sub_agent, e.tool, e.text,
        s.source, s.project, s.session_id, s.title, s.first_prompt
    FROM visible_event e JOIN visible_session s ON s.id = e.session_id WHERE e.id IN ({marks})"""


@dataclass(frozen=True)
class Hit:
    """An event that matched. `passage` is the part of its text that did, secrets masked.

    `also_in` counts other events that say exactly the same; `more` the hits of its session that are not listed.
    """

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
    also_in: int = 0
    more: int = 0


@dataclass(frozen=True)
class Found:
    """Hits from `offset` on, how many there are in all, and what a reader should know of how they were found.

    `unmatched` are words that occur nowhere in reach; `relaxed` says that hits need not hold every word; `capped` that
    only the newest 20,000 matches were ranked, or that only the best of `matches` are listed (0: not counted);
    `scanned` names the words that were looked for inside other words, in the newest texts only; `filtered_out` counts
    what filters removed where they removed everything.
    """

    hits: tuple[Hit, ...]
    total: int
    unmatched: tuple[str, ...] = ()
    relaxed: bool = False
    capped: bool = False
    matches: int = 0
    scanned: tuple[str, ...] = ()
    filtered_out: int = 0
    legs: tuple[Asked, ...] = ()

    def explained(self, seconds: float) -> dict[str, object]:
        """Say which indexes were asked what, how many events each gave, and how long it took."""
        return {"legs": [asdict(leg) for leg in self.legs], "ms": round(seconds * 1000, 1)}


@dataclass(frozen=True)
class Wanted:
    """What takes part in a search beside messages, and in which order it is wanted."""

    tools: bool = False
    meta: bool = False
    recent: bool = False


@dataclass
class Pool:
    """The scores of candidates: messages (and meta events) by key, tool events by key, sessions by their title."""

    messages: dict[int, float] = field(default_factory=dict)
    tools: dict[int, float] = field(default_factory=dict)
    titles: dict[int, float] = field(default_factory=dict)
    unmatched: tuple[str, ...] = ()
    scanned: tuple[str, ...] = ()
    relaxed: bool = False


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
    zone: tzinfo = UTC,
) -> Found:
    """Return the visible events that a query finds, best first, or newest first where `recent`.

    Plain words: no character of the query is syntax to an index, and no query raises. An empty one gives the newest
    messages. Tool events take part as evidence for their session, and as hits of their own only when asked for.
    """
    asked = parse(query)
    named, asked = _named_filters(asked, zone)
    within = reach(scope, *([filters, named] if named else [filters]))
    wanted = Wanted(tools or bool(named and named.tool), meta, recent)
    one_session = bool(filters.session or (named and named.session))
    listed, pool = _listed(asked, within, wanted, one_session=one_session)
    hits = _hits(listed[offset : offset + limit], asked, within)
    narrowed = named is not None or filters != Filters()
    return Found(
        hits,
        len(listed),
        pool.unmatched,
        relaxed=pool.relaxed and bool(listed),
        capped=within.capped or within.matches > POOL or within.partly,
        matches=within.matches,
        scanned=pool.scanned,
        filtered_out=_elsewhere(asked, scope, wanted) if narrowed and asked.terms and not listed else 0,
        legs=tuple(within.asked),
    )


def _named_filters(query: Query, zone: tzinfo) -> tuple[Filters | None, Query]:
    """Return the filters that were typed into a query; a time that cannot be read is a word like any other."""
    named = dict(query.named)
    words: list[Term] = []
    for name in ("since", "until"):
        try:
            if name in named:
                named[name] = parse_bound(named[name], zone=zone, end=name == "until", now=now())
        except InvalidInput:
            words.append(Term(f"{name}:{named.pop(name)}"))
    return Filters(**named) if named else None, replace(query, terms=(*query.terms, *words))


def _listed(query: Query, within: Reach, wanted: Wanted, *, one_session: bool) -> tuple[list[Ranked], Pool]:
    """Return the whole list of what a query finds, in order, and the pool it was chosen from."""
    if query.as_id and (keys := within.by_id(query.as_id)):
        return [Ranked(key) for key in keys], Pool()
    if not query.terms:
        return [Ranked(key) for key in within.newest(tools=wanted.tools)], Pool()
    pool = _pool(query, within, wanted)
    worth, known = _worth(query, pool, within, wanted)
    if wanted.recent:
        ordered = ranking.by_time(known[key] for key in _telling(worth, pool))
    else:
        ordered = ranking.by_worth(worth, known, own_first=not pool.relaxed)
    distinct = _without_copies(ordered)
    return ranking.thinned(distinct, len(distinct) if one_session or wanted.recent else ranking.PER_SESSION), pool


def _without_copies(ordered: Sequence[Facts]) -> list[Facts]:
    """Return events with only the first of those that say exactly the same, unless they say next to nothing."""
    again = {fact.key for fact in ranking.repeated(ordered)}
    left_out = again - short(again)
    return [fact for fact in ordered if fact.key not in left_out]


def _telling(worth: Mapping[int, float], pool: Pool) -> list[int]:
    """Return the hits that are worth putting by time: of a relaxed search, those not far behind the best."""
    least = max(worth.values(), default=0.0) / 3 if pool.relaxed else 0.0
    return [key for key, each in worth.items() if each >= least]


def _elsewhere(query: Query, scope: Scope, wanted: Wanted) -> int:
    """Return how many hits there would be without filters."""
    return len(_listed(query, reach(scope, Filters()), wanted, one_session=False)[0])


# --- what the indexes give


def _pool(query: Query, within: Reach, wanted: Wanted) -> Pool:
    """Ask for every word first, and for any of them where that gives too little or the query is a question."""
    enough = ENOUGH if len(query.content) >= ENOUGH else 1
    is_asked = query.is_question and (len(query.units) > 1 or query.has_mark)
    strict = _strict(query, within, wanted, is_asked=is_asked)
    if not is_asked and len(strict.messages) + len(strict.tools) >= enough:
        return strict
    return _relaxed(query, within, wanted, strict)


def _strict(query: Query, within: Reach, wanted: Wanted, *, is_asked: bool) -> Pool:
    """Return what holds every word. Of a question only messages: its words are put to the tools' index one by one."""
    tool_leg = None if is_asked and not wanted.tools else _word_leg("tool_words", query, query.content)
    meta_leg = _word_leg("meta_words", query, query.content) if wanted.meta else None
    messages = _every_word(query, within, newest=wanted.recent)
    meta = within.best(meta_leg, newest=wanted.recent) if meta_leg else {}
    titles = {} if is_asked else _titles(query, within)
    return Pool(
        messages=_full(merged(messages, meta)),
        tools=_full(_best_tools(tool_leg, within, wanted)) if tool_leg else {},
        titles={key: worth for key, (worth, share) in titles.items() if share > 0.99},
    )


def _every_word(query: Query, within: Reach, *, newest: bool) -> dict[int, float]:
    """Return the messages that hold every word; parts of words only where whole ones leave room for them."""
    found: dict[int, float] = {}
    for leg in _message_legs(query):
        if len(found) < POOL:
            found = merged(found, within.best(leg, newest=newest))
    return found


def _best_tools(leg: Leg, within: Reach, wanted: Wanted) -> dict[int, float]:
    if wanted.tools:
        return within.best(leg, newest=wanted.recent)
    return within.best(leg, newest=wanted.recent, pool=TOOL_POOL, ranked=TOOL_RANKED)


def _full(scores: Mapping[int, float]) -> dict[int, float]:
    return {key: ranking.score(bm25, 1.0) for key, bm25 in scores.items()}


def _message_legs(query: Query) -> list[Leg]:
    """Return the ways to find all the words in messages: by stems, by substrings, run together as one identifier."""
    terms = query.content
    plain = not any(term.cjk for term in terms)
    legs: list[Leg | None] = []
    if plain:
        legs.append(_word_leg("message_words", query, terms))
    if not (query.is_question and plain):
        legs.append(_trigram_leg(query, terms))
    if query.joins and len(query.joins[0]) == sum(len(term.text) for term in query.terms):
        legs.append(_inside_leg(query, [query.joins[:1]]))
    return [leg for leg in legs if leg]


def _leg(query: Query, index: str, match: str, also: tuple[tuple[str, str], ...] = ()) -> Leg:
    """Return a leg that leaves out what holds a word the query does not want."""
    words = index if index in ("tool_words", "meta_words") else "message_words"
    never = [(words, term.in_words()) for term in query.without if term.is_word and not term.cjk]
    if words == "message_words":
        never += [("message_grams", cjk_query(run)) for term in query.without for run in term.cjk]
    return Leg(index, match, also, tuple(never))


def _inside_leg(query: Query, groups: Sequence[tuple[str, ...]]) -> Leg:
    """Return a leg for messages that hold a substring of each group."""
    match = " AND ".join(any_of([quoted(form) for form in group]) for group in groups)
    return replace(_leg(query, "message_trigram", match), inside=tuple(groups))


def _trigram_leg(query: Query, terms: Sequence[Term]) -> Leg | None:
    """Substrings of three characters and more; shorter terms by the word and bigram indexes."""
    short = [term for term in terms if not term.inside]
    parts = {
        "message_words": [term.in_words() for term in short if term.is_word and not term.cjk],
        "message_grams": [cjk_query(run) for term in short for run in term.cjk],
    }
    used = [(index, " AND ".join(matches)) for index, matches in parts.items() if matches]
    if groups := [term.inside for term in terms if term.inside]:
        return replace(_inside_leg(query, groups), also=tuple(used))
    return _leg(query, *used[0], tuple(used[1:])) if used else None


def _word_leg(index: str, query: Query, terms: Sequence[Term]) -> Leg | None:
    """All the terms in an index of words, where CJK is the beginning of one, or their run together."""
    words = [f"{term.in_words()} *" if term.cjk else term.in_words() for term in terms if term.is_word]
    if not words:
        return None
    joined = [quoted(query.joins[0])] if query.joins and len(query.joins[0]) >= sum(map(len, words)) // 2 else []
    return _leg(query, index, any_of([f"({' AND '.join(words)})", *joined]))


def _titles(query: Query, within: Reach) -> dict[int, tuple[float, float]]:
    """Return the worth of sessions by their titles, and the share of the query that each title holds."""
    words = [unit.in_words() for unit in query.units if not unit.cjk] + [quoted(join) for join in query.joins]
    grams = [unit.in_grams() for unit in query.units if unit.cjk]
    found = within.titles("session_words", f"title : {any_of(words)}") if words else []
    found += within.titles("session_grams", any_of(grams)) if grams else []
    scores = added(*({key: bm25} for key, bm25, _ in found))
    titles = {key: title for key, _, title in found}
    even = dict.fromkeys(query.units, 1.0)
    shares = {key: ranking.coverage(title, even) for key, title in titles.items() if title}
    return {key: (ranking.score(scores[key], share), share) for key, share in shares.items() if share}


# --- any of the words


def _relaxed(query: Query, within: Reach, wanted: Wanted, strict: Pool) -> Pool:
    """Return what holds any of the words, worth the more the more telling the words that it holds."""
    counts = {unit: within.count(*unit_index(unit)) for unit in query.units}
    inside = {unit for unit, count in counts.items() if not count and _inside_words(unit, query)}
    titles = _titles(query, within)
    pool = Pool(relaxed=True, titles={key: worth for key, (worth, _) in titles.items()})
    pool.unmatched, missing = _unmatched(query, within, counts, inside)
    scanned = _scan(query, within, missing)
    pool.scanned = tuple(unit.forms[0] for unit in missing) if any(scanned.values()) else ()
    weights = _weights(counts, within)
    rarest = sorted(counts, key=lambda unit: counts[unit])
    messages = _covered({**scanned["messages"], **_any_message(query, within, counts, inside)}, weights, within)
    tools = _covered({**scanned["tools"], **_any_tool(query, rarest, within, wanted)}, weights, within)
    pool.messages = merged(messages, strict.messages)
    pool.tools = merged(tools, strict.tools)
    return pool


def _covered(found: Mapping[int, float], weights: Mapping[Unit, float], within: Reach) -> dict[int, float]:
    """Return scores by how much of the query's information each text holds."""
    return {
        key: ranking.score(found[key], ranking.coverage(text, weights))
        for key, text in within.texts(found.keys()).items()
    }


def _inside_words(unit: Unit, query: Query) -> bool:
    """True for what may be a part of a word: identifiers, and in what is no question any word."""
    return not unit.cjk and bool(unit.inside) and (unit.named or not query.is_question)


def _weights(counts: Mapping[Unit, int], within: Reach) -> dict[Unit, float]:
    total = within.messages
    return {unit: ranking.idf(count, total) for unit, count in counts.items()}


def _any_message(query: Query, within: Reach, counts: Mapping[Unit, int], inside: Collection[Unit]) -> dict[int, float]:
    """Return messages that hold any of the words, by stems, CJK bigrams and inside words."""
    sought = _not_too_common(counts)
    words = [unit.in_words() for unit in sought if not unit.cjk] + [quoted(join) for join in query.joins]
    grams = [unit.in_grams() for unit in sought if unit.cjk]
    parts = [form for unit in sought if unit in inside for form in unit.inside]
    parts += [form for unit in sought if unit.named and unit not in inside for form in unit.inside if form.isalnum()]
    by_words = within.best(_leg(query, "message_words", any_of(words)), pool=RELAXED_POOL) if words else {}
    by_parts = within.best(_inside_leg(query, [tuple(parts)]), pool=RELAXED_POOL) if parts else {}
    by_grams = within.best(_leg(query, "message_grams", any_of(grams)), pool=RELAXED_POOL) if grams else {}
    return added(merged(by_words, by_parts), by_grams)


def _not_too_common(counts: Mapping[Unit, int]) -> list[Unit]:
    """Leave out the commonest words while the index would have to walk too much, and never all but two."""
    rarest = sorted(counts, key=lambda unit: counts[unit])
    while len(rarest) > 2 and sum(counts[unit] for unit in rarest) > DOCUMENTS_READ:
        rarest.pop()
    return rarest


def _any_tool(query: Query, units: Iterable[Unit], within: Reach, wanted: Wanted) -> dict[int, float]:
    """Return tool events (and where wanted meta events) that hold any of the words, or of the most telling ones."""
    words = [unit.in_words() for unit in units] + [any_of([quoted(join) for join in query.joins])] * bool(query.joins)
    if not words:
        return {}
    told = words if wanted.tools else _most_telling(words, within)
    found = _best_tools(_leg(query, "tool_words", any_of(told)), within, wanted) if told else {}
    return found | (within.best(_leg(query, "meta_words", any_of(words))) if wanted.meta else {})


def _most_telling(words: Sequence[str], within: Reach) -> list[str]:
    """Return the rarest of the expressions that tools hold, while they are in few tool events; always one."""
    counts = {word: within.count("tool_words", word, TOOLS_READ + 1) for word in words}
    rarest = sorted((word for word in words if counts[word]), key=lambda word: counts[word])
    while len(rarest) > 1 and sum(counts[word] for word in rarest) > TOOLS_READ:
        rarest.pop()
    return rarest


def _unmatched(
    query: Query, within: Reach, counts: Mapping[Unit, int], inside: Collection[Unit]
) -> tuple[tuple[str, ...], list[Unit]]:
    """Return the terms that no index holds within reach, and their units."""
    held = {unit.term for unit, count in counts.items() if count}
    for unit in counts:
        if unit.term not in held and _held_elsewhere(query, unit, within, inside=unit in inside):
            held.add(unit.term)
    missing = [unit for unit in counts if unit.term not in held]
    return tuple(dict.fromkeys(unit.term for unit in missing)), missing


def _held_elsewhere(query: Query, unit: Unit, within: Reach, *, inside: bool) -> bool:
    """True where a tool event, a title or the middle of a word holds a unit that no message holds as a word."""
    if inside and within.best(_inside_leg(query, [unit.inside]), pool=1):
        return True
    if within.count("tool_words", unit.in_words(), 1):
        return True
    index, match = ("session_grams", unit.in_grams()) if unit.cjk else ("session_words", unit.in_words())
    return bool(within.titles(index, match))


def _scan(query: Query, within: Reach, missing: Sequence[Unit]) -> dict[str, dict[int, float]]:
    """Look for words that no index holds inside other words: of tool text, and the shortest of messages too."""
    parts = [form for unit in missing if not query.is_question or unit.named or unit.cjk for form in unit.forms]
    short = [part for part in parts if len(part) <= _SHORT and part.isascii()]
    tools = within.scan(("tool_call", "tool_result"), parts) if parts else []
    messages = within.scan(("message",), short) if short else []
    return {"tools": dict.fromkeys(tools, 1.0), "messages": dict.fromkeys(messages, 1.0)}


# --- what each is worth


def _worth(query: Query, pool: Pool, within: Reach, wanted: Wanted) -> tuple[dict[int, float], dict[int, Facts]]:
    """Return the worth of every event that may be shown, and what is known of them."""
    messages = _with_whole_query(query, pool.messages, within)
    tools = _with_whole_query(query, pool.tools, within)
    worth = dict(messages)
    if (
        pool.relaxed and query.is_question
    ):  # What stands beside words is no answer to someone who looks for those words.
        lenders = sorted(messages, key=lambda key: -messages[key])[:LENDERS]
        worth = ranking.lend(messages, within.beside(lenders, len(ranking.LENT)))
    known = facts(worth.keys() | tools.keys())
    worth = _with_tools(worth, tools, known, wanted)
    _add_titled(worth, pool.titles, known, within)
    known |= facts(worth.keys() - known.keys())
    said = [(known[key].session, each) for key, each in (*messages.items(), *tools.items()) if key in known]
    sessions = ranking.evidence([*said, *pool.titles.items()])
    return {
        key: (each + ranking.EVIDENCE * sessions.get(known[key].session, 0.0))
        * (ranking.SUB_AGENT if pool.relaxed and known[key].sub_agent else 1)
        for key, each in worth.items()
        if key in known
    }, known


def _with_whole_query(query: Query, scores: Mapping[int, float], within: Reach) -> dict[int, float]:
    """Return scores in which what holds the whole query as it was typed is worth more."""
    whole = ranking.loosened(query.text)
    if " " not in whole:
        return dict(scores)
    best = within.texts(sorted(scores, key=lambda key: -scores[key])[:LOOKED_AT])
    holding = {key: scores[key] * ranking.WHOLE_QUERY for key, text in best.items() if ranking.holds(text, whole)}
    return {**scores, **holding}


def _with_tools(
    worth: Mapping[int, float], tools: Mapping[int, float], known: Mapping[int, Facts], wanted: Wanted
) -> dict[int, float]:
    """Add tool events: all where they are asked for, else the best of each session that no message speaks for."""
    if wanted.tools:
        return {**worth, **tools}
    spoken: dict[int, float] = {}
    for key, each in worth.items():
        if key in known:
            spoken[known[key].session] = max(each, spoken.get(known[key].session, 0.0))
    best: dict[int, int] = {}
    for key in sorted(tools.keys() & known.keys(), key=lambda key: -tools[key]):
        best.setdefault(known[key].session, key)
    better = {key for session, key in best.items() if spoken.get(session, 0.0) < BETTER_TOOL * tools[key]}
    return {**worth, **{key: tools[key] for key in better}}


def _add_titled(worth: dict[int, float], titles: Mapping[int, float], known: dict[int, Facts], within: Reach) -> None:
    """Let the best hit of each session whose title matches, else its first message, stand for the title too."""
    best: dict[int, int] = {}
    for hit in sorted(worth, key=lambda hit: -worth[hit]):
        if hit in known:
            best.setdefault(known[hit].session, hit)
    for session in sorted(titles, key=lambda session: -titles[session])[:TITLED]:
        key = best.get(session) or within.first_message(session)
        if key is not None:
            worth[key] = worth.get(key, 0.0) + titles[session]


# --- what is shown


def _hits(page: Sequence[Ranked], query: Query, within: Reach) -> tuple[Hit, ...]:
    terms = _shown_terms(query)
    rows = {int(row[0]): row for row in sql.rows_in(HITS, [ranked.key for ranked in page])}
    return tuple(_hit(rows[ranked.key], ranked, terms, within) for ranked in page if ranked.key in rows)


def _shown_terms(query: Query) -> list[str]:
    """Return what a passage is laid around: the words as typed, in their other forms, and by their stems."""
    typed = [form for term in query.content for form in term.forms]
    units = [form for unit in query.units for form in unit.forms]
    stems = [form[: max(4, len(form) - 3)] for form in units if form.isascii() and form.isalnum()]
    return list(dict.fromkeys([*typed, *units, *stems, *query.joins]))


def _hit(row: Result, ranked: Ranked, terms: Sequence[str], within: Reach) -> Hit:
    key, event_id, at, kind, role, sub_agent, tool, text, source, project, session, title, prompt = row
    return Hit(
        event_id=str(event_id),
        at=str(at),
        kind=str(kind),
        role=str(role),
        sub_agent=bool(sub_agent),
        tool=str(tool),
        passage=passage(mask(str(text)), terms),
        source=str(source),
        project=str(project),
        session=str(session),
        title=session_title(str(title), str(prompt)),
        also_in=_also_in(int(key), str(kind), str(text), within),
        more=ranked.more,
    )


def _also_in(key: int, kind: str, text: str, within: Reach) -> int:
    return within.copies(key) if kind == "message" and len(text) >= ranking.COPY else 0
