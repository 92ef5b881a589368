"""The tool `search`: entries and events, within one budget."""

import time
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from memory import shapes
from memory.candidates import POOL, RANKED
from memory.entries import reading
from memory.entries.filters import EntryFilters, Seen
from memory.entries.search import FoundEntries, search_entries
from memory.errors import InvalidInput
from memory.filters import Filters
from memory.names import unknown
from memory.search import Found, search
from memory.secrets import mask
from memory.shapes import Json
from memory.text import cut
from memory.tools.tool import Caller, Project, ReadArguments, Since, Source, Until, footer, instant, time_range

MAX_LIMIT = 50
_FOOTER_WORDS = 8
_RELAXED = "related: a hit need not hold every word"
# Entries are statements made to be found: they come first, but leave events the larger part of an answer.
_SHARE_OF_ENTRIES = 0.4
# Without a query so many of the newest can be paged through.
_LISTED = 300


class SearchArguments(ReadArguments, forbid_unknown_fields=True, kw_only=True):
    """What `search` takes."""

    query: Annotated[str, Meta(description='Plain words or a question; "quotes" keep words together')] = ""
    within: Annotated[Literal["all", "entries", "events"], Meta(description="What to search")] = msgspec.field(
        name="in", default="all"
    )
    kind: Annotated[Literal["", "memory", "knowledge", "cognition"], Meta(description="Only entries of this kind")] = ""
    project: Project = ""
    source: Source = ""
    session: Annotated[str, Meta(description="Only this session id")] = ""
    since: Since = ""
    until: Until = ""
    tools: Annotated[bool, Meta(description="Also tool calls and their output")] = False
    meta: Annotated[bool, Meta(description="Also reminders, summaries and other machine text")] = False
    history: Annotated[bool, Meta(description="Also superseded and ended entries")] = False
    trust: Annotated[
        Literal["", "proposed", "accepted", "disputed"], Meta(description="Only entries in this state")
    ] = ""
    valid_at: Annotated[str, Meta(description="Entries that held at this time")] = ""
    known_at: Annotated[str, Meta(description="Entries known at this time")] = ""
    sort: Literal["relevance", "recent"] = "relevance"
    limit: Annotated[int, Meta(description="Most hits, 1 to 50")] = 10
    explain: Annotated[bool, Meta(description="Say how the hits were found")] = False


def run_search(arguments: SearchArguments, caller: Caller) -> Json:
    """Answer `search`."""
    if not 1 <= arguments.limit <= MAX_LIMIT:
        raise InvalidInput("limit", f"limit must be from 1 to {MAX_LIMIT}.")
    started = time.perf_counter()
    position = shapes.read_cursor(arguments.cursor, hit=int, entry=int)
    hit_at, entry_at = int(str(position.get("hit", 0))), int(str(position.get("entry", 0)))
    since, until = time_range(arguments.since, arguments.until, caller.zone)
    known = _entries(arguments, caller, since, until)
    found = _events(arguments, caller, _filters(arguments, since, until), hit_at)
    foot = footer(
        relaxed=_RELAXED if found.relaxed or known.relaxed else "",
        unmatched=[] if known.entries else [cut(mask(word), 40) for word in found.unmatched[:_FOOTER_WORDS]],
        scanned=_scanned(found),
        capped=_capped(found),
        note=_note(arguments, found, known, caller),
        explain=found.explained(time.perf_counter() - started) if arguments.explain else None,
    )
    return _answer(arguments, caller, known, found, foot, (entry_at, hit_at))


def _answer(
    arguments: SearchArguments, caller: Caller, known: FoundEntries, found: Found, foot: Json, at: tuple[int, int]
) -> Json:
    """Fill the budget: entries first, then hits, and a cursor that goes on with both."""
    entry_at, hit_at = at
    empty = shapes.answer(entries=[], hits=[], footer=foot)
    budget = int(arguments.max_tokens * _SHARE_OF_ENTRIES) if found.hits else arguments.max_tokens
    wanted = known.entries[entry_at : entry_at + arguments.limit]
    entries = shapes.fit((shapes.entry(view, caller.zone) for view in wanted), empty, max(budget, shapes.MIN_TOKENS))
    with_entries = shapes.answer(entries=entries.items, hits=[], footer=foot)
    hits = shapes.fit((shapes.hit(hit, caller.zone) for hit in found.hits), with_entries, arguments.max_tokens)
    entry_end, hit_end = entry_at + entries.used, hit_at + hits.used
    left_out = max(len(known.entries) - entry_end, 0) + max(found.total - hit_end, 0)
    if left_out:
        foot = {"left_out": left_out, "cursor": shapes.cursor(hit=hit_end, entry=entry_end), **foot}
    return shapes.answer(entries=entries.items, hits=hits.items, footer=foot)


def _entries(arguments: SearchArguments, caller: Caller, since: str, until: str) -> FoundEntries:
    if arguments.within == "events":
        return FoundEntries(())
    filters = EntryFilters(
        kind=arguments.kind,
        project=arguments.project,
        source=arguments.source,
        session=arguments.session,
        since=since,
        until=until,
        history=arguments.history,
        trust=arguments.trust,
        valid_at=instant(arguments.valid_at, "valid_at", caller.zone),
        known_at=instant(arguments.known_at, "known_at", caller.zone),
    )
    filters.check(is_owner=caller.actor.is_owner)
    if not arguments.query.strip():
        return FoundEntries(_newest(filters, caller))
    found = search_entries(arguments.query, caller.scope, filters)
    if arguments.sort == "recent":
        ordered = sorted(found.entries, key=lambda view: (view.entry.recorded_at, view.entry.pk), reverse=True)
        return FoundEntries(tuple(ordered), found.relaxed)
    return found


def _newest(filters: EntryFilters, caller: Caller) -> tuple[Seen, ...]:
    return tuple(reading.listed(caller.scope, filters, limit=_LISTED)[0])


def _events(arguments: SearchArguments, caller: Caller, filters: Filters, offset: int) -> Found:
    """Return hits, unless only entries are asked for: in words, or by a filter that no event passes."""
    only_entries = arguments.within == "entries" or _asks_for_entries(arguments)
    if only_entries or not (arguments.query.strip() or arguments.within == "events"):
        return Found((), 0)
    return search(
        arguments.query,
        caller.scope,
        filters,
        tools=arguments.tools,
        meta=arguments.meta,
        recent=arguments.sort == "recent",
        offset=offset,
        limit=arguments.limit,
        zone=caller.zone,
    )


def _asks_for_entries(arguments: SearchArguments) -> bool:
    return bool(arguments.kind or arguments.trust or arguments.valid_at or arguments.known_at or arguments.history)


def _filters(arguments: SearchArguments, since: str, until: str) -> Filters:
    return Filters(
        project=arguments.project, source=arguments.source, session=arguments.session, since=since, until=until
    )


def _scanned(found: Found) -> str:
    """Say that words were looked for by reading, and how far."""
    if not found.scanned:
        return ""
    words = ", ".join(cut(mask(word), 40) for word in found.scanned[:_FOOTER_WORDS])
    return f"inside words of the newest 10,000 tool texts only: {words}"


def _capped(found: Found) -> str:
    """Say that not every match was ranked or can be paged to."""
    if not found.capped:
        return ""
    if found.matches >= RANKED:
        return "ranked within the newest 20,000 matches; narrow by words, project or time"
    if found.matches <= POOL:
        return "the best of the newest 20,000 related events; narrow by words, project or time"
    return f"the best {POOL} of {found.matches:,} matches; narrow by words, project or time"


def _note(arguments: SearchArguments, found: Found, known: FoundEntries, caller: Caller) -> str:
    """Say why there is nothing to see where there is nothing."""
    if found.hits or known.entries:
        return ""
    if found.total:
        return "No hits are left after this cursor."
    if sentence := unknown(caller.scope, project=arguments.project, source=arguments.source):
        return sentence
    if found.filtered_out:
        return f"Nothing within these filters; without them there are {found.filtered_out} hits."
    where = " within these filters" if _narrows(arguments) else ""
    if not arguments.query.strip() and arguments.within != "events":
        return f"No entry is held{where}; give a query to search what was said."
    if arguments.within == "entries" or _asks_for_entries(arguments):
        return f"No entry holds these words{where}; events may."
    return f"No entry and no event holds any of these words{where}."


def _narrows(arguments: SearchArguments) -> bool:
    told = (arguments.project, arguments.source, arguments.session, arguments.since, arguments.until)
    return any(told) or _asks_for_entries(arguments)
