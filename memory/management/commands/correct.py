"""`correct`: put a new version in the place of an entry."""

from collections.abc import Sequence

from django.core.management.base import CommandParser

from memory import shapes
from memory.entries import correct
from memory.management.base import StoreCommand, caller
from memory.management.commands.remember import add_sources, add_validity, print_receipt, wanted


class Command(StoreCommand):
    help = "Put a new version in the place of an entry; the old one is kept, and --history shows it."
    example = 'ent_0123456789abcdef "The shop uses SQLite." --quote "we moved to SQLite"'

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("id", metavar="ID", help="the entry's id, as search and entries print it")
        parser.add_argument("text", nargs="?", default="", help="the whole statement as it should be (unchanged)")
        add_sources(parser)
        parser.add_argument("--confidence", type=int, default=None, metavar="N", help="per cent (100)")
        add_validity(parser)

    def run(
        self,
        *,
        id: str,
        text: str,
        event: Sequence[str],
        quote: Sequence[str],
        confidence: int | None,
        valid_from: str,
        valid_to: str,
        as_json: bool,
    ) -> None:
        request = correct.Request(id, text, confidence, wanted(event, quote), valid_from, valid_to)
        who = caller()
        receipt = correct.correct(request, who.scope, who.actor, who.zone)
        if as_json:
            self.print_json(shapes.receipt(receipt))
        else:
            print_receipt(receipt, self.paper())
