"""`review`: what agents proposed, and what the owner decides about it."""

from typing import cast

from django.core.management.base import CommandParser

from memory import shapes
from memory.entries import reading, review
from memory.management.base import StoreCommand, caller
from memory.management.commands.remember import show_receipt
from memory.management.printing import Paper
from memory.management.reading import print_entries, print_label
from memory.records.bodies import Verdict
from memory.records.identity import owner
from memory.shapes import Json
from memory.tools.reading import IdArguments, run_sources
from memory.tools.tool import Caller


class Command(StoreCommand):
    help = "Show what waits for you, with what it cites; accept, dispute or reject one of them."
    example = "accept ent_0123456789abcdef --reason 'I said so'"

    def declare(self, parser: CommandParser) -> None:
        choices = ("list", "accept", "dispute", "reject")
        parser.add_argument("verdict", nargs="?", default="list", choices=choices, help="what to do (list)")
        parser.add_argument("id", nargs="?", default="", metavar="ID", help="the entry")
        parser.add_argument("--reason", default="", help="why")

    def run(self, *, verdict: str, id: str, reason: str, as_json: bool) -> None:
        if verdict != "list":
            show_receipt(self, review.review(id, cast(Verdict, verdict), reason, owner()), as_json=as_json)
            return
        waiting = [_shape(each, caller()) for each in review.waiting()]
        if as_json:
            self.print_json(shapes.answer(waiting=waiting))
        else:
            _print(waiting, self.paper())


def _shape(each: review.Waiting, who: Caller) -> Json:
    detail = reading.detail(each.entry_id, who.scope, is_owner=True)
    lines = run_sources(IdArguments(id=each.entry_id, max_tokens=20_000), who)["lines"]
    return {
        "entry": shapes.entry(detail.view, who.zone),
        "sources": [shapes.citation(cited) for cited in detail.citations],
        "lines": lines,
        "near_duplicates": list(each.near),
    }


def _print(waiting: list[Json], paper: Paper) -> None:
    print_label(paper)
    for each in waiting:
        print_entries([cast(Json, each["entry"])], paper)
        for source in cast(list[Json], each["sources"]):
            paper.line(f"source {source['event']} {source.get('quote', '')}", "dim", indent=2)
        for line in cast(list[Json], each["lines"]):
            paper.line(f"{line['file']} line {line['line']}", "dim", indent=2)
        for name in cast(list[str], each["near_duplicates"]):
            paper.line(f"{name} says nearly the same", "dim", indent=2)
        paper.line()
    if not waiting:
        paper.line("Nothing waits for a review.")
