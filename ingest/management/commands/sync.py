"""`sync`: archive what the agents have written since the last time."""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from django.core.management.base import CommandParser

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Adapter, Environment
from ingest.sync import Report, SourceReport, dry_run, sync
from memory import config
from memory.errors import OriginError
from memory.management.base import StoreCommand, command_line
from memory.management.printing import Paper, counted, number, printable, progress_bar, size
from memory.shapes import Json


class Command(StoreCommand):
    help = "Archive every agent's new log lines. Running it twice, or twice at once, changes nothing more."
    example = "--source claude-code"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--source",
            action="append",
            choices=[adapter.source for adapter in ADAPTERS],
            dest="sources",
            metavar="NAME",
            help="only this agent; may be given several times",
        )
        parser.add_argument("--dry-run", action="store_true", help="say what would be read, and archive nothing")
        parser.add_argument("--quiet", action="store_true", help="print nothing but problems")

    def run(self, *, sources: Sequence[str] | None, dry_run: bool, quiet: bool, as_json: bool) -> None:
        adapters = [adapter for adapter in ADAPTERS if sources is None or adapter.source in sources]
        environment = Environment(Path.home(), os.environ)
        report = _plan(adapters, environment) if dry_run else _sync(adapters, environment, quiet=quiet)
        if as_json:
            self.print_json(_shape(report))
        elif not quiet:
            _say(report, adapters, environment, self.paper(), dry_run=dry_run)
        for problem in _problems(report):
            self.stderr.write(printable(problem), lambda text: text)
        if report.failed:
            raise OriginError(_failure(report))


def _shape(report: Report) -> Json:
    sources = {name: asdict(did) for name, did in report.sources.items()}
    return {"sources": sources, "excluded": report.excluded, "seconds": report.seconds}


def _plan(adapters: Sequence[Adapter], environment: Environment) -> Report:
    return dry_run(adapters, environment)


def _sync(adapters: Sequence[Adapter], environment: Environment, *, quiet: bool) -> Report:
    with progress_bar("Archiving", shown=sys.stderr.isatty() and not quiet) as progress:
        return sync(adapters, environment, progress)


def _say(report: Report, adapters: Sequence[Adapter], environment: Environment, paper: Paper, *, dry_run: bool) -> None:
    looked = [adapter for adapter in adapters if adapter.source in report.sources]
    if not any(did.files or did.excluded or did.failed for did in report.sources.values()):
        _say_where_it_looked(looked, environment, paper)
    elif dry_run:
        rows = [(name, number(did.files), number(did.read), size(did.bytes)) for name, did in _present(report)]
        paper.table(("source", "files", "to read", "bytes"), rows, right=range(1, 4))
    else:
        headings = ("source", "files", "read", "new events", "malformed", "bytes", "time")
        paper.table(headings, [(name, *_row(did)) for name, did in _present(report)], right=range(1, 7))
        _say_what_next(report, paper)
    _say_what_is_excluded(report, paper)


def _present(report: Report) -> list[tuple[str, SourceReport]]:
    """Return the sources there is something to say of: an agent that is not installed is none."""
    return [(name, did) for name, did in report.sources.items() if did.files or did.failed]


def _row(did: SourceReport) -> tuple[str, ...]:
    return (
        number(did.files),
        number(did.read),
        number(did.events),
        number(did.malformed),
        size(did.bytes),
        f"{did.seconds:.1f} s",
    )


def _say_what_next(report: Report, paper: Paper) -> None:
    if malformed := sum(did.malformed for did in report.sources.values()):
        were = "was" if malformed == 1 else "were"
        paper.line(f"{counted(malformed, 'line')} {were} malformed; {command_line(['status'])} says why.")
    if memories := sum(did.memories for did in report.sources.values()):
        paper.line(f"{counted(memories, 'entry', 'entries')} follow your agents' own memories; entries lists them.")
    if any(did.events for did in report.sources.values()):
        paper.line(f"Search them: {command_line(['search', 'WORDS'])}")


def _say_what_is_excluded(report: Report, paper: Paper) -> None:
    files = [f"{counted(did.excluded, 'file')} of {name}" for name, did in report.sources.items() if did.excluded]
    if left := [*report.excluded, *files]:
        paper.line(f"Left alone, as {config.NAME} says: {', '.join(left)}.")


def _say_where_it_looked(adapters: Sequence[Adapter], environment: Environment, paper: Paper) -> None:
    paper.line("No agent has left logs on this machine. Origin looked in:")
    for adapter in adapters:
        for place in tuple(adapter.places(environment)) or (str(environment.home),):
            paper.line(f"{place}  ({adapter.display_name})", indent=2)
    paper.line(f"An invented history to look around in: {command_line(['demo'])}")


def _problems(report: Report) -> Iterator[str]:
    for name, did in report.sources.items():
        for problem in did.problems:
            yield f"{name}: {problem}"


def _failure(report: Report) -> str:
    return "\n".join(f"{name}: {did.failed}" for name, did in report.sources.items() if did.failed)
