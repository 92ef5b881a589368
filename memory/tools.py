"""The tools that agents call, as plain data: what each is for, what it takes and the function that answers.

Every interface that offers them (a server over a pipe or a socket) reads this table and calls `call`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from memory import provenance, shapes, timeline
from memory.candidates import RANKED
from memory.errors import InvalidInput, NotFound
from memory.filters import Filters
from memory.freshness import freshness
from memory.scope import Scope
from memory.search import Found, search
from memory.secrets import mask
from memory.shapes import Json
from memory.text import cut
from memory.times import now, parse_bound

MAX_TOKENS = 20_000
MAX_LIMIT = 50
DEFAULT_DAYS = "7d"
_SESSIONS_AT_ONCE = 100
_EVENTS_AT_ONCE = 200
_LINE = 300
_FOOTER_WORDS = 8
_RELAXED = "related: a hit need not hold every word"

Project = Annotated[str, Meta(description="Only this project")]
Source = Annotated[str, Meta(description="Only this agent, e.g. claude-code")]
Since = Annotated[str, Meta(description="From: 2026-05-01, an ISO time, or 7d, 24h, today")]
Until = Annotated[str, Meta(description="To, inclusive; same forms")]
CursorText = Annotated[str, Meta(description="Goes on where footer.cursor says")]
Budget = Annotated[int, Meta(description="Upper bound of the answer, 200 to 20000")]


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every read tool takes."""

    cursor: CursorText = ""
    max_tokens: Budget = 2_000


class SearchArguments(Arguments, forbid_unknown_fields=True, kw_only=True):
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


class TimelineArguments(Arguments, forbid_unknown_fields=True, kw_only=True):
    """What `timeline` takes."""

    session: Annotated[str, Meta(description="This session's events in order, instead of a list of sessions")] = ""
    since: Since = ""
    until: Until = ""
    project: Project = ""
    source: Source = ""
    tools: Annotated[bool, Meta(description="Also tool calls and their output")] = False


class IdArguments(Arguments, forbid_unknown_fields=True, kw_only=True):
    """What `get` and `sources` take."""

    id: Annotated[str, Meta(description="An id from an earlier answer")]


@dataclass(frozen=True)
class Tool:
    """One tool. The hints are those of the protocol; `run` gets checked arguments, the scope and the caller's zone."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Any, Scope, tzinfo], Json]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True

    def input_schema(self) -> Json:
        """Return the JSON Schema of the arguments: one plain object, no references or unions."""
        fields = msgspec.structs.fields(self.arguments)
        hints = get_type_hints(self.arguments, include_extras=True)
        required = [field.encode_name for field in fields if field.required]
        properties = {field.encode_name: _property(hints[field.name], field.default) for field in fields}
        schema: Json = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})


def _property(hint: object, default: object) -> Json:
    schema: Json = {}
    if get_origin(hint) is Annotated:
        hint, meta = get_args(hint)
        schema["description"] = meta.description
    if get_origin(hint) is Literal:
        schema = {"type": "string", "enum": list(get_args(hint))} | schema
    else:
        schema = {"type": {str: "string", int: "integer", bool: "boolean"}[hint]} | schema  # type: ignore[index]
    return schema if default in (msgspec.NODEFAULT, "", False) else schema | {"default": default}


def call(name: str, arguments: Mapping[str, object], scope: Scope, zone: tzinfo) -> str:
    """Run one tool and return its answer as JSON text that keeps to its `max_tokens`.

    `None` stands for an argument left out. Raises `InvalidInput` for arguments it cannot use and `NotFound`; an unknown
    tool is a `KeyError`.
    """
    tool = TOOLS_BY_NAME[name]
    given = {key: value for key, value in arguments.items() if not isinstance(value, NoneType)}
    try:
        checked = msgspec.convert(given, tool.arguments, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput("arguments", f"{name}: {_readable(str(error))}") from None
    if checked.max_tokens < shapes.MIN_TOKENS:
        raise InvalidInput("max_tokens", f"max_tokens must be at least {shapes.MIN_TOKENS}.")
    checked.max_tokens = min(checked.max_tokens, MAX_TOKENS)
    return shapes.dump(_kept_within(tool.run(checked, scope, zone), checked.max_tokens))


def _readable(message: str) -> str:
    """Turn the checker's words into a sentence: `Expected int, got str: limit.`"""
    text, _, place = message.replace("`", "").partition(" - at $.")
    return f"{cut(text, _LINE)}{': ' + cut(place, _LINE) if place else ''}."


def _kept_within(answer: Json, max_tokens: int) -> Json:
    """Drop what an answer can do without where even its smallest form is over budget."""
    footer = answer.get("footer")
    for dispensable in ("explain", "freshness", "scanned", "unmatched"):
        if shapes.within(answer, max_tokens) or not isinstance(footer, dict):
            return answer
        footer.pop(dispensable, None)
    if shapes.within(answer, max_tokens):
        return answer
    return shapes.answer(footer={"note": shapes.TOO_SMALL})


def _footer(**parts: object) -> Json:
    """Return a footer: what was left out and how to get it first, freshness last, empty parts not at all."""
    parts["freshness"] = freshness()
    return {key: value for key, value in parts.items() if value}


def run_search(arguments: SearchArguments, scope: Scope, zone: tzinfo) -> Json:
    """Answer `search`."""
    if not 1 <= arguments.limit <= MAX_LIMIT:
        raise InvalidInput("limit", f"limit must be from 1 to {MAX_LIMIT}.")
    started = time.perf_counter()
    offset = int(str(shapes.read_cursor(arguments.cursor, hit=int).get("hit", 0)))
    filters = _filters(arguments, zone)
    wants_events = arguments.within != "entries" and bool(arguments.query.strip() or arguments.within == "events")
    found = _events(arguments, scope, filters, offset, zone) if wants_events else Found((), 0)
    footer = _footer(
        relaxed=_RELAXED if found.relaxed else "",
        unmatched=[cut(mask(word), 40) for word in found.unmatched[:_FOOTER_WORDS]],
        scanned=_scanned(found),
        capped=_capped(found),
        note=_search_note(arguments, found),
        explain=found.explained(time.perf_counter() - started) if arguments.explain else None,
    )
    answer = shapes.answer(entries=[], hits=[], footer=footer)
    fitted = shapes.fit((shapes.hit(hit, zone) for hit in found.hits), answer, arguments.max_tokens)
    left_out = found.total - offset - fitted.used
    if left_out > 0:
        footer = {"left_out": left_out, "cursor": shapes.cursor(hit=offset + fitted.used), **footer}
    return shapes.answer(entries=[], hits=fitted.items, footer=footer)


def _events(arguments: SearchArguments, scope: Scope, filters: Filters, offset: int, zone: tzinfo) -> Found:
    return search(
        arguments.query,
        scope,
        filters,
        tools=arguments.tools,
        meta=arguments.meta,
        recent=arguments.sort == "recent",
        offset=offset,
        limit=arguments.limit,
        zone=zone,
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
    return f"the best 1,000 of {found.matches:,} matches; narrow by words, project or time"


def _search_note(arguments: SearchArguments, found: Found) -> str:
    """Say why there is nothing to see where there is nothing."""
    if found.hits:
        return ""
    if found.total:
        return "No hits are left after this cursor."
    if not arguments.query.strip() and arguments.within != "events":
        return "No entries are held yet; give a query, or in: events, to search what was said."
    if arguments.within == "entries":
        return "No entries are held yet; search in: events finds what was said."
    if found.filtered_out:
        return f"Nothing within these filters; without them there are {found.filtered_out} hits."
    return "No event holds any of these words within these filters."


def run_timeline(arguments: TimelineArguments, scope: Scope, zone: tzinfo) -> Json:
    """Answer `timeline`."""
    if arguments.session:
        return _session_events(arguments, scope, zone)
    if not arguments.since and not arguments.until:
        arguments.since = DEFAULT_DAYS
    position = shapes.read_cursor(arguments.cursor, at=str, session=str)
    before = (str(position["at"]), str(position["session"])) if position else (timeline.LAST, timeline.LAST)
    found = timeline.sessions(scope, _filters(arguments, zone), limit=_SESSIONS_AT_ONCE, before=before)
    footer = _footer(note="" if found or position else "No session was active in this time within these filters.")
    items = [shapes.session(line, zone) for line in found]
    fitted = shapes.fit(items, shapes.answer(sessions=[], footer=footer), arguments.max_tokens)
    if fitted.used < len(found) or len(found) == _SESSIONS_AT_ONCE:
        last = found[fitted.used - 1]
        footer = {"cursor": shapes.cursor(at=last.last_at, session=last.session_id), "more": True, **footer}
    return shapes.answer(sessions=fitted.items, footer=footer)


def _session_events(arguments: TimelineArguments, scope: Scope, zone: tzinfo) -> Json:
    line = timeline.session(arguments.session, scope)
    return _outline(line, _filters(arguments, zone), zone, arguments, tools=arguments.tools)


def _outline(line: timeline.SessionLine, filters: Filters, zone: tzinfo, arguments: Arguments, *, tools: bool) -> Json:
    """Return a session and its events in order, from the cursor on."""
    position = shapes.read_cursor(arguments.cursor, at=str, ordinal=int, id=str)
    after = (str(position["at"]), int(str(position["ordinal"])), str(position["id"])) if position else ("", -1, "")
    found = timeline.events(line, filters, limit=_EVENTS_AT_ONCE, tools=tools, after=after)
    footer = _footer(note="" if found or position else "No event of this session is within these filters.")
    head = shapes.session(line, zone)
    items = [shapes.event_line(event, zone, _LINE) for event in found]
    fitted = shapes.fit(items, shapes.answer(session=head, events=[], footer=footer), arguments.max_tokens)
    if fitted.used < len(found) or len(found) == _EVENTS_AT_ONCE:
        last = found[fitted.used - 1]
        place = shapes.cursor(at=last.at, ordinal=last.ordinal, id=last.event_id)
        footer = {"cursor": place, "more": True, **footer}
    return shapes.answer(session=head, events=fitted.items, footer=footer)


def run_get(arguments: IdArguments, scope: Scope, zone: tzinfo) -> Json:
    """Answer `get`."""
    try:
        detail = provenance.event(arguments.id, scope)
    except NotFound:
        return _outline(_session(arguments.id, scope), Filters(), zone, arguments, tools=False)
    start = int(str(shapes.read_cursor(arguments.cursor, character=int).get("character", 0)))
    shape = shapes.lean(shapes.event(detail, zone), arguments.max_tokens)
    whole = str(shape.get("text", ""))
    footer = _footer(note="Only the first part of this text is kept; `sources` opens it all." if detail.is_cut else "")
    text, used = shapes.fit_text(
        whole[start:], shapes.answer(event=shape | {"text": ""}, footer=footer), arguments.max_tokens
    )
    if start < len(whole) and not used:
        return shapes.answer(footer={"note": shapes.TOO_SMALL})
    if start + used < len(whole):
        left_out = f"{len(whole) - start - used} characters"
        footer = {"left_out": left_out, "cursor": shapes.cursor(character=start + used), **footer}
    return shapes.answer(event=shape | {"text": text}, footer=footer)


def _session(session_id: str, scope: Scope) -> timeline.SessionLine:
    try:
        return timeline.session(session_id, scope)
    except NotFound:
        raise NotFound(f"Nothing is held under the id {cut(session_id, 200)}.") from None


def run_sources(arguments: IdArguments, scope: Scope, zone: tzinfo) -> Json:
    """Answer `sources`."""
    detail = _event(arguments.id, scope)
    position = shapes.read_cursor(arguments.cursor, place=int, character=int)
    number, start = int(str(position.get("place", 0))), int(str(position.get("character", 0)))
    places = provenance.places(detail, scope)
    footer = _footer()
    lines: list[Json] = []
    for index, place in enumerate(places[number:], number):
        text = None if provenance.withheld(place, scope) else _line_text(place)[start:]
        others = shapes.answer(id=detail.event_id, lines=[*lines, shapes.place(place, "")], footer=footer)
        shown, used = shapes.fit_text(text or "", others, arguments.max_tokens)
        if text and not used and not lines:
            return shapes.answer(footer={"note": shapes.TOO_SMALL})
        if text and not used:
            footer = {"cursor": shapes.cursor(place=index, character=start), "left_out": len(places) - index, **footer}
            break
        lines.append(shapes.place(place, None if text is None else shown))
        if text and used < len(text):
            left_out = f"{len(text) - used} characters"
            footer = {"cursor": shapes.cursor(place=index, character=start + used), "left_out": left_out, **footer}
            break
        start = 0
    return shapes.answer(id=detail.event_id, lines=lines, footer=footer)


def _event(event_id: str, scope: Scope) -> provenance.EventDetail:
    try:
        return provenance.event(event_id, scope)
    except NotFound:
        timeline.session(event_id, scope)
        raise NotFound("This is the id of a session; `timeline` lists its events, each of which has sources.") from None


def _line_text(place: provenance.Place) -> str:
    return provenance.masked_line(provenance.read_line(place.raw_file, place.line))


def _filters(arguments: SearchArguments | TimelineArguments, zone: tzinfo) -> Filters:
    moment = now()
    return Filters(
        project=arguments.project,
        source=arguments.source,
        session=arguments.session if isinstance(arguments, SearchArguments) else "",
        since=parse_bound(arguments.since, zone=zone, end=False, now=moment) if arguments.since else "",
        until=parse_bound(arguments.until, zone=zone, end=True, now=moment) if arguments.until else "",
    )


TOOLS = (
    Tool(
        name="search",
        title="Search memory",
        description=(
            "Find what was said, decided or done in any coding agent's sessions on this person's machines. "
            "Each hit has an id for get and sources. Without a query: the newest entries."
        ),
        arguments=SearchArguments,
        run=run_search,
    ),
    Tool(
        name="timeline",
        title="Timeline of sessions",
        description="List sessions in a time range, newest first (default: 7 days), or one session's events in order.",
        arguments=TimelineArguments,
        run=run_timeline,
    ),
    Tool(
        name="get",
        title="Get one item",
        description="Show an event whole, or a session's outline, by id.",
        arguments=IdArguments,
        run=run_get,
    ),
    Tool(
        name="sources",
        title="Original log lines",
        description="Open the original log lines behind an event: file, line number and text.",
        arguments=IdArguments,
        run=run_sources,
    ),
)
TOOLS_BY_NAME = {tool.name: tool for tool in TOOLS}
