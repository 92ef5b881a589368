"""`timeline`: sessions, the last active first, or one session's events in order."""

from typing import cast

from django.core.management.base import CommandParser

from memory import shapes, timeline
from memory.filters import Filters
from memory.freshness import freshness
from memory.management.base import StoreCommand, add_filters, filters, positive
from memory.management.printing import Paper
from memory.management.reading import print_events, print_footer, print_label, print_session
from memory.names import unknown
from memory.scope import EVERYTHING
from memory.shapes import Json
from memory.times import process_zone

SESSIONS, EVENTS = 20, 200
LINE = 300


class Command(StoreCommand):
    help = "List sessions, the one last active first, or the events of one session in order."
    example = "--project shop --since 7d"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("session", nargs="?", default="", metavar="SESSION", help="the id of one session")
        add_filters(parser)
        parser.add_argument("--tools", action="store_true", help="with SESSION: also tool calls and their output")
        limits = f"most sessions ({SESSIONS}), or most events of SESSION ({EVENTS})"
        parser.add_argument("--limit", type=positive, default=0, metavar="N", help=limits)

    def run(
        self,
        *,
        session: str,
        project: str,
        source: str,
        since: str,
        until: str,
        tools: bool,
        limit: int,
        as_json: bool,
    ) -> None:
        within = filters(project=project, source=source, since=since, until=until)
        if session:
            answer = events_of(session, within, tools=tools, limit=limit or EVENTS)
        else:
            answer = sessions(within, limit=limit or SESSIONS)
        if as_json:
            self.print_json(answer)
        else:
            print_timeline(answer, self.paper())


def sessions(within: Filters, *, limit: int) -> Json:
    """Return the sessions within the filters, the last active first."""
    found = timeline.sessions(EVERYTHING, within, limit=limit + 1)
    nothing = unknown(EVERYTHING, project=within.project, source=within.source)
    note = "" if found else nothing or "No session was active within these filters."
    return shapes.answer(
        sessions=[shapes.session(line, process_zone()) for line in found[:limit]],
        footer=_footer(note, more=len(found) > limit),
    )


def events_of(session: str, within: Filters, *, tools: bool, limit: int) -> Json:
    """Return a session and its events in order. Raises `NotFound`."""
    line = timeline.session(session, EVERYTHING)
    found = timeline.events(line, within, limit=limit + 1, tools=tools)
    note = "" if found else "No event of this session is within these filters."
    return shapes.answer(
        session=shapes.session(line, process_zone()),
        events=[shapes.event_line(event, process_zone(), LINE) for event in found[:limit]],
        footer=_footer(note, more=len(found) > limit),
    )


def _footer(note: str, *, more: bool) -> Json:
    parts: Json = {"more": more, "note": note, "freshness": freshness()}
    return {name: part for name, part in parts.items() if part}


def print_timeline(answer: Json, paper: Paper) -> None:
    """Print a list of sessions, or a session and its events."""
    print_label(paper)
    for session in cast(list[Json], answer.get("sessions", [])):
        print_session(session, paper)
        paper.line()
    if "session" in answer:
        print_session(cast(Json, answer["session"]), paper)
        paper.line()
        print_events(cast(list[Json], answer["events"]), paper)
    footer = cast(Json, answer["footer"])
    if "more" in footer:
        paper.line("There is more; --limit, --since or --until change what is shown.")
    print_footer(footer, paper)
