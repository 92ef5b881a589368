"""`show`: one entry or event whole, or a session with the command that resumes it."""

from typing import cast

from django.core.management.base import CommandParser

from ingest.resume import resume_command
from memory import timeline
from memory.management.base import UNBOUNDED, StoreCommand, caller, command_line
from memory.management.printing import Paper, moment
from memory.management.reading import print_events, print_footer, print_label, print_session
from memory.scope import EVERYTHING
from memory.shapes import Json
from memory.tools.reading import IdArguments, run_get

# Of an event's shape, what is printed above its text.
_ENTRY_HEAD = (
    "kind",
    "status",
    "trust",
    "note",
    "project",
    "author",
    "recorded",
    "confidence",
    "valid_from",
    "valid_to",
)
_HEAD = ("at", "origin", "kind", "tool", "title", "session", "source", "project", "cwd", "branch", "model", "files")


class Command(StoreCommand):
    help = "Show one entry or event whole, or a session in outline with the command that resumes it."
    example = "claude-code:11111111-0000-4000-8000-000000000001"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument(
            "id", metavar="ID", help="the id of an entry, an event or a session, as search and timeline print it"
        )

    def run(self, *, id: str, as_json: bool) -> None:
        arguments = IdArguments(id=id, max_tokens=UNBOUNDED)
        answer = run_get(arguments, caller())
        if "session" in answer:
            answer = _with_resume(answer)
        if as_json:
            self.print_json(answer)
        else:
            _print(answer, self.paper())


def _with_resume(answer: Json) -> Json:
    session = cast(Json, answer["session"])
    directory = timeline.directory(str(session["id"]), EVERYTHING)
    command = resume_command(str(session["source"]), str(session["id"]), directory)
    return answer | ({"resume": command} if command else {})


def _print(answer: Json, paper: Paper) -> None:
    print_label(paper)
    if "event" in answer:
        _print_event(cast(Json, answer["event"]), paper)
    elif "entry" in answer:
        _print_entry(answer, paper)
    else:
        _print_outline(answer, paper)
    print_footer(cast(Json, answer["footer"]), paper)


def _print_event(event: Json, paper: Paper) -> None:
    paper.table(("", ""), [(name, _cell(event[name])) for name in _HEAD if name in event])
    paper.line()
    paper.raw(str(event.get("text", "")))
    paper.line()


def _print_entry(answer: Json, paper: Paper) -> None:
    entry = cast(Json, answer["entry"])
    paper.table(("", ""), [(name, _cell(entry[name])) for name in _ENTRY_HEAD if name in entry])
    paper.line()
    paper.raw(str(entry.get("text", "")))
    paper.line()
    for source in cast(list[Json], answer.get("sources", [])):
        state = f" ({source['state']})" if "state" in source else ""
        paper.line(f"source {source['event']}{state}", "cyan")
        paper.line(source.get("quote", ""), indent=2)
    for version in cast(list[Json], answer.get("versions", [])):
        paper.line(f"version {version['id']}: {version['status']}, {version['trust']}", "dim")
        paper.line(version["text"], indent=2)
    for review in cast(list[Json], answer.get("reviews", [])):
        paper.line(f"{moment(review['at'])} {review['verdict']} {review.get('reason', '')}", "dim")


def _cell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _print_outline(answer: Json, paper: Paper) -> None:
    session = cast(Json, answer["session"])
    print_session(session, paper)
    if "resume" in answer:
        paper.line(f"resume: {answer['resume']}", indent=2)
    paper.line()
    print_events(cast(list[Json], answer["events"]), paper)
    if "more" in cast(Json, answer["footer"]):
        paper.line(f"There is more: {command_line(['timeline', str(session['id']), '--limit', '10000'])}")
