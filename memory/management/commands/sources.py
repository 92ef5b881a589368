"""`sources`: the original log lines behind an event."""

from typing import cast

from django.core.management.base import CommandParser

from memory.management.base import UNBOUNDED, StoreCommand, caller
from memory.management.printing import Paper
from memory.management.reading import print_label
from memory.shapes import Json
from memory.tools.reading import IdArguments, run_sources


class Command(StoreCommand):
    help = "Open the original log lines behind an event: file, line number and text. Secrets are masked."
    example = "claude-code:11111111-0000-4000-8000-000000000001"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("id", metavar="ID", help="an event's id, as search and timeline print it")

    def run(self, *, id: str, as_json: bool) -> None:
        arguments = IdArguments(id=id, max_tokens=UNBOUNDED)
        answer = run_sources(arguments, caller())
        if as_json:
            self.print_json(answer)
        else:
            _print(answer, self.paper())


def _print(answer: Json, paper: Paper) -> None:
    print_label(paper)
    for line in cast(list[Json], answer["lines"]):
        generation = f", before it was rewritten (mirror {line['mirror']})" if "generation" in line else ""
        paper.line(f"{line['file']} line {line['line']}{generation}", "bold")
        if "withheld" in line:
            paper.line(f"Withheld: {line['withheld']}.")
        else:
            paper.raw(str(line["text"]))
        paper.line()
