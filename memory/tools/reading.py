"""The tools `timeline`, `get` and `sources`."""

import contextlib
from typing import Annotated

from msgspec import Meta

from memory import provenance, shapes, timeline
from memory.entries import reading
from memory.entries.filters import EntryFilters
from memory.errors import NotFound
from memory.filters import Filters
from memory.names import unknown
from memory.scope import Scope
from memory.shapes import Json
from memory.text import cut
from memory.tools.tool import Caller, Project, ReadArguments, Since, Source, Until, footer, time_range

DEFAULT_DAYS = "7d"
_SESSIONS_AT_ONCE = 100
_EVENTS_AT_ONCE = 200
_LINE = 300
_ENTRIES = 10
_SHARE_OF_ENTRIES = 0.3
_ENTRY_PREFIX = "ent_"


class TimelineArguments(ReadArguments, forbid_unknown_fields=True, kw_only=True):
    """What `timeline` takes."""

    session: Annotated[str, Meta(description="This session's events in order, instead of a list of sessions")] = ""
    since: Since = ""
    until: Until = ""
    project: Project = ""
    source: Source = ""
    tools: Annotated[bool, Meta(description="Also tool calls and their output")] = False


class IdArguments(ReadArguments, forbid_unknown_fields=True, kw_only=True):
    """What `get` and `sources` take."""

    id: Annotated[str, Meta(description="An id from an earlier answer")]


def run_timeline(arguments: TimelineArguments, caller: Caller) -> Json:
    """Answer `timeline`."""
    if arguments.session:
        line = timeline.session(arguments.session, caller.scope)
        return _outline(line, _filters(arguments, caller), caller, arguments, tools=arguments.tools)
    if not arguments.since and not arguments.until:
        arguments.since = DEFAULT_DAYS
    filters = _filters(arguments, caller)
    position = shapes.read_cursor(arguments.cursor, at=str, session=str)
    before = (str(position["at"]), str(position["session"])) if position else (timeline.LAST, timeline.LAST)
    found = timeline.sessions(caller.scope, filters, limit=_SESSIONS_AT_ONCE, before=before)
    nothing = unknown(caller.scope, project=filters.project, source=filters.source)
    foot = footer(note="" if found or position else nothing or "No session was active in this time.")
    parts = {} if position else _entries(filters, caller, arguments.max_tokens)
    items = [shapes.session(line, caller.zone) for line in found]
    fitted = shapes.fit(items, shapes.answer(**parts, sessions=[], footer=foot), arguments.max_tokens)
    if fitted.used < len(found) or len(found) == _SESSIONS_AT_ONCE:
        last = found[fitted.used - 1]
        foot = {"cursor": shapes.cursor(at=last.last_at, session=last.session_id), "more": True, **foot}
    return shapes.answer(**parts, sessions=fitted.items, footer=foot)


def _entries(filters: Filters, caller: Caller, max_tokens: int) -> Json:
    """Return the newest entries recorded within a range or citing a session, in a part of the budget."""
    wanted = EntryFilters(
        project=filters.project,
        source=filters.source,
        session=filters.session,
        since=filters.since,
        until=filters.until,
    )
    views, _ = reading.listed(caller.scope, wanted, limit=_ENTRIES)
    budget = max(int(max_tokens * _SHARE_OF_ENTRIES), shapes.MIN_TOKENS)
    fitted = shapes.fit((shapes.entry_line(view, caller.zone, _LINE) for view in views), {}, budget)
    return {"entries": fitted.items} if fitted.items else {}


def _outline(
    line: timeline.SessionLine, filters: Filters, caller: Caller, arguments: ReadArguments, *, tools: bool
) -> Json:
    """Return a session and its events in order, from the cursor on; first the entries that cite it."""
    position = shapes.read_cursor(arguments.cursor, at=str, ordinal=int, id=str)
    after = (str(position["at"]), int(str(position["ordinal"])), str(position["id"])) if position else ("", -1, "")
    found = timeline.events(line, filters, limit=_EVENTS_AT_ONCE, tools=tools, after=after)
    foot = footer(note="" if found or position else "No event of this session is within these filters.")
    head = shapes.session(line, caller.zone)
    parts = {} if position else _entries(Filters(session=line.session_id), caller, arguments.max_tokens)
    items = [shapes.event_line(event, caller.zone, _LINE) for event in found]
    fitted = shapes.fit(items, shapes.answer(session=head, **parts, events=[], footer=foot), arguments.max_tokens)
    if fitted.used < len(found) or len(found) == _EVENTS_AT_ONCE:
        last = found[fitted.used - 1]
        place = shapes.cursor(at=last.at, ordinal=last.ordinal, id=last.event_id)
        foot = {"cursor": place, "more": True, **foot}
    return shapes.answer(session=head, **parts, events=fitted.items, footer=foot)


def run_get(arguments: IdArguments, caller: Caller) -> Json:
    """Answer `get`."""
    if arguments.id.startswith(_ENTRY_PREFIX):
        return _entry(arguments, caller)
    try:
        detail = provenance.event(arguments.id, caller.scope)
    except NotFound:
        return _outline(_session(arguments.id, caller.scope), Filters(), caller, arguments, tools=False)
    shape = shapes.lean(shapes.event(detail, caller.zone), arguments.max_tokens)
    note = "Only the first part of this text is kept; `sources` opens it all." if detail.is_cut else ""
    return _whole("event", shape, arguments, footer(note=note))


def _entry(arguments: IdArguments, caller: Caller) -> Json:
    """Return an entry whole, then as far as the budget goes what it cites, its versions and its reviews."""
    detail = reading.detail(arguments.id, caller.scope, is_owner=caller.actor.is_owner)
    answer = _whole("entry", shapes.entry(detail.view, caller.zone), arguments, footer())
    foot = answer.pop("footer")
    if not isinstance(foot, dict) or "cursor" in foot or "entry" not in answer:
        return answer | {"footer": foot}
    lists = {
        "sources": [shapes.citation(each) for each in detail.citations],
        "versions": [shapes.version(each, caller.zone) for each in detail.versions if len(detail.versions) > 1],
        "reviews": [shapes.review(each, caller.zone) for each in detail.reviews],
    }
    for name, items in lists.items():
        fitted = shapes.fit(items, answer | {name: [], "footer": foot}, arguments.max_tokens)
        if len(fitted.items) < len(items):
            foot = {"left_out": f"{len(items) - len(fitted.items)} {name}", **foot}
        answer |= {name: fitted.items} if fitted.items else {}
    return answer | {"footer": foot}


def _whole(name: str, shape: Json, arguments: IdArguments, foot: Json) -> Json:
    """Return one item with its text from the cursor on, as far as the budget goes."""
    start = int(str(shapes.read_cursor(arguments.cursor, character=int).get("character", 0)))
    whole = str(shape.get("text", ""))
    others = shapes.answer(**{name: shape | {"text": ""}}, footer=foot)
    text, used = shapes.fit_text(whole[start:], others, arguments.max_tokens)
    if start < len(whole) and not used:
        return shapes.answer(footer={"note": shapes.TOO_SMALL})
    if start + used < len(whole):
        left_out = f"{len(whole) - start - used} characters"
        foot = {"left_out": left_out, "cursor": shapes.cursor(character=start + used), **foot}
    return shapes.answer(**{name: shape | {"text": text}}, footer=foot)


def _session(session_id: str, scope: Scope) -> timeline.SessionLine:
    try:
        return timeline.session(session_id, scope)
    except NotFound:
        raise NotFound(f"Nothing is held under the id {cut(session_id, 200)}.") from None


def run_sources(arguments: IdArguments, caller: Caller) -> Json:
    """Answer `sources`."""
    position = shapes.read_cursor(arguments.cursor, place=int, character=int)
    number, start = int(str(position.get("place", 0))), int(str(position.get("character", 0)))
    places = _places(arguments.id, caller)
    foot = footer(note="" if places else "What this entry cites has not arrived, or may not be shown.")
    lines: list[Json] = []
    for index, (name, place) in enumerate(places[number:], number):
        text = None if provenance.withheld(place, caller.scope) else _line_text(place)[start:]
        of = {"event": name} if name != arguments.id else {}
        others = shapes.answer(id=arguments.id, lines=[*lines, of | shapes.place(place, "")], footer=foot)
        shown, used = shapes.fit_text(text or "", others, arguments.max_tokens)
        if text and not used and not lines:
            return shapes.answer(footer={"note": shapes.TOO_SMALL})
        if text and not used:
            foot = {"cursor": shapes.cursor(place=index, character=start), "left_out": len(places) - index, **foot}
            break
        lines.append(of | shapes.place(place, None if text is None else shown))
        if text and used < len(text):
            left_out = f"{len(text) - used} characters"
            foot = {"cursor": shapes.cursor(place=index, character=start + used), "left_out": left_out, **foot}
            break
        start = 0
    return shapes.answer(id=arguments.id, lines=lines, footer=foot)


def _places(name: str, caller: Caller) -> list[tuple[str, provenance.Place]]:
    """Return every line behind an event, or the first line of each event behind an entry, with the event's id."""
    if not name.startswith(_ENTRY_PREFIX):
        detail = _event(name, caller.scope)
        return [(detail.event_id, place) for place in provenance.places(detail, caller.scope)]
    found = []
    for cited in reading.detail(name, caller.scope, is_owner=caller.actor.is_owner).citations:
        with contextlib.suppress(NotFound):
            detail = provenance.event(cited.event_id, caller.scope)
            found += [(detail.event_id, place) for place in provenance.places(detail, caller.scope)[:1]]
    return found


def _event(event_id: str, scope: Scope) -> provenance.EventDetail:
    try:
        return provenance.event(event_id, scope)
    except NotFound:
        timeline.session(event_id, scope)
        raise NotFound("This is the id of a session; `timeline` lists its events, each of which has sources.") from None


def _line_text(place: provenance.Place) -> str:
    return provenance.masked_line(provenance.read_line(place.raw_file, place.line))


def _filters(arguments: TimelineArguments, caller: Caller) -> Filters:
    since, until = time_range(arguments.since, arguments.until, caller.zone)
    return Filters(project=arguments.project, source=arguments.source, since=since, until=until)
