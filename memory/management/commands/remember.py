"""`remember`: write an entry."""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from memory import shapes
from memory.entries import remember
from memory.entries.citations import Wanted
from memory.entries.remember import Receipt
from memory.management.base import StoreCommand, caller
from memory.records.bodies import EntryKind


class Command(StoreCommand):
    help = "Keep one statement for every agent. It cites what was said, by an event's id or by a quote of it."
    example = '"The shop uses Postgres, since one service is enough." --quote "one service less"'

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("text", help="one statement that stands alone")
        kinds = ("memory", "knowledge", "cognition")
        parser.add_argument("--kind", default="knowledge", choices=kinds, help="what it is (knowledge)")
        add_sources(parser)
        parser.add_argument("--project", default="", help="the project it is of (that of its first source)")
        parser.add_argument("--confidence", type=int, default=100, metavar="N", help="per cent (100)")
        add_validity(parser)

    def run(
        self, *, text: str, kind: EntryKind, event: Sequence[str], quote: Sequence[str], as_json: bool, **fields: Any
    ) -> None:
        who = caller()
        request = remember.Request(kind, text, wanted(event, quote), **fields)
        show_receipt(self, remember.remember(request, who.scope, who.actor, who.zone), as_json=as_json)


def add_sources(parser: CommandParser) -> None:
    """Declare what an entry may cite."""
    parser.add_argument("--event", action="append", default=[], metavar="ID", help="an event that it rests on")
    parser.add_argument("--quote", action="append", default=[], metavar="WORDS", help="exact words that were said")


def add_validity(parser: CommandParser) -> None:
    """Declare since when and until when something holds."""
    parser.add_argument("--valid-from", default="", metavar="TIME", help="since when it holds")
    parser.add_argument("--valid-to", default="", metavar="TIME", help="until when, exclusive")


def wanted(events: Sequence[str], quotes: Sequence[str]) -> list[Wanted]:
    """Return sources as they were named."""
    return [Wanted(event=event) for event in events] + [Wanted(quote=quote) for quote in quotes]


def show_receipt(command: StoreCommand, receipt: Receipt, *, as_json: bool) -> None:
    """Say what a write did."""
    if as_json:
        command.print_json(shapes.receipt(receipt))
        return
    paper = command.paper()
    paper.line(f"{receipt.outcome}: {receipt.entry_id}", "bold")
    parts = (receipt.trust, f"project {receipt.project}" if receipt.project else "")
    paper.line(", ".join(part for part in parts if part), indent=2)
    for name in receipt.near:
        paper.line(f"{name} says nearly the same", "dim", indent=2)
    for name in receipt.corrected:
        paper.line(f"in the place of {name}", "dim", indent=2)
