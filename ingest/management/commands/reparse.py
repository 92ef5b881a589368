"""`reparse`: add what today's parsers find in the mirrors and older ones missed."""

import sys
from collections.abc import Sequence

from django.core.management.base import CommandParser

from ingest.adapters import ADAPTERS
from memory import reparse
from memory.label import LABEL
from memory.management.base import StoreCommand, positive
from memory.management.printing import Paper, number, printable, progress_bar
from memory.management.reading import print_label
from memory.reparse import Example, Missed, Reparsed
from memory.shapes import Json

_KINDS = ("message", "tool_call", "tool_result", "meta")


class Command(StoreCommand):
    help = (
        "Parse the mirrors again and add what an older Origin missed in them. "
        "What is there stays as it is, and what is forgotten stays forgotten."
    )
    example = "--diff"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("--diff", action="store_true", help="only show what would be added")
        parser.add_argument(
            "--source",
            action="append",
            choices=[adapter.source for adapter in ADAPTERS],
            dest="sources",
            metavar="NAME",
            help="only this agent; may be given several times",
        )
        help = "with --diff: show so many new events of each agent (3)"
        parser.add_argument("--examples", type=positive, default=3, metavar="N", help=help)

    def run(self, *, diff: bool, sources: Sequence[str] | None, examples: int, as_json: bool) -> None:
        chosen = [adapter for adapter in ADAPTERS if sources is None or adapter.source in sources]
        parsers = {adapter.source: adapter.parse_line for adapter in chosen}
        with progress_bar("Parsing", shown=sys.stderr.isatty()) as progress:
            if diff:
                found = reparse.plan_reparse(parsers, examples=examples, progress=progress)
            else:
                found = reparse.reparse(parsers, progress)
        if as_json:
            self.print_json(_shape(found, diff=diff))
        else:
            _print(found, self.paper(), diff=diff)
        for problem in found.problems:
            self.stderr.write(printable(problem), lambda text: text)


def _shape(found: Reparsed, *, diff: bool) -> Json:
    sources = {source: _missed(missed) for source, missed in found.sources.items()}
    return {"origin": LABEL, "added": not diff, "sources": sources, "problems": found.problems}


def _missed(missed: Missed) -> Json:
    return {
        "events": dict(missed.events),
        "titles": missed.titles,
        "malformed_before": missed.mended,
        "examples": [example._asdict() for example in missed.examples],
    }


def _print(found: Reparsed, paper: Paper, *, diff: bool) -> None:
    changed = {source: missed for source, missed in found.sources.items() if missed}
    if not changed:
        paper.line("Today's parsers find nothing in the mirrors that the store does not have.")
        return
    headings = ("source", "messages", "tool calls", "results", "meta", "titles", "malformed before")
    paper.table(headings, [(source, *_row(missed)) for source, missed in changed.items()], right=range(1, 7))
    if diff:
        paper.line("Nothing was written; without --diff, this is added.")
        _print_examples([example for missed in changed.values() for example in missed.examples], paper)


def _row(missed: Missed) -> list[str]:
    return [number(count) for count in (*(missed.events[kind] for kind in _KINDS), missed.titles, missed.mended)]


def _print_examples(examples: Sequence[Example], paper: Paper) -> None:
    if examples:
        paper.line()
        print_label(paper)
    for example in examples:
        paper.line(f"{example.event_id}  {example.kind}", "bold")
        paper.line(example.text, indent=2)
        paper.line(f"{example.file} line {example.line}", "dim", indent=2)
