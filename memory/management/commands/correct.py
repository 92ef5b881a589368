"""`correct`: put a new version in the place of an entry."""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import CommandParser

from memory.entries import correct
from memory.management.base import StoreCommand, caller
from memory.management.commands.remember import add_sources, add_validity, show_receipt, wanted


class Command(StoreCommand):
    help = "Put a new version in the place of an entry; the old one is kept, and --history shows it."
    example = 'ent_0123456789abcdef "The shop uses SQLite." --quote "we moved to SQLite"'

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("id", metavar="ID", help="the entry's id, as search and entries print it")
        parser.add_argument("text", nargs="?", default="", help="the whole statement as it should be (unchanged)")
        add_sources(parser)
        parser.add_argument("--confidence", type=int, default=None, metavar="N", help="per cent (100)")
        add_validity(parser)

    def run(self, *, id: str, event: Sequence[str], quote: Sequence[str], as_json: bool, **fields: Any) -> None:
        who = caller()
        request = correct.Request(id, sources=wanted(event, quote), **fields)
        show_receipt(self, correct.correct(request, who.scope, who.actor, who.zone), as_json=as_json)
