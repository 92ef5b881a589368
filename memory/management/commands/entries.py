"""`entries`: what was remembered."""

from typing import Any

from django.core.management.base import CommandParser

from memory import shapes
from memory.entries import reading
from memory.entries.filters import TRUSTS, EntryFilters
from memory.management.base import StoreCommand, add_filters, caller, filters, positive
from memory.management.printing import counted
from memory.management.reading import print_entries, print_label
from memory.names import unknown
from memory.times import process_zone
from memory.tools.tool import instant


class Command(StoreCommand):
    help = "List what was remembered, the newest first: what holds now, or what held or was known at some time."
    example = "--project shop --known-at 2026-05-01"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("--kind", default="", choices=("memory", "knowledge", "cognition"), help="only this kind")
        add_filters(parser)
        parser.add_argument("--history", action="store_true", help="also superseded and ended versions")
        parser.add_argument("--trust", default="", choices=TRUSTS, help="only what is in this state (accepted)")
        parser.add_argument("--valid-at", default="", metavar="TIME", help="what held then")
        parser.add_argument("--known-at", default="", metavar="TIME", help="what was known then")
        parser.add_argument("--limit", type=positive, default=50, metavar="N", help="most entries (50)")

    def run(self, *, limit: int, as_json: bool, valid_at: str, known_at: str, **options: Any) -> None:
        who, zone = caller(), process_zone()
        times = filters(**{name: options.pop(name) for name in ("project", "source", "since", "until")})
        wanted = EntryFilters(
            project=times.project,
            source=times.source,
            since=times.since,
            until=times.until,
            valid_at=instant(valid_at, "valid_at", zone),
            known_at=instant(known_at, "known_at", zone),
            **options,
        )
        views, following = reading.listed(who.scope, wanted, limit=limit)
        shown = [shapes.entry(view, zone) for view in views]
        if as_json:
            self.print_json(shapes.answer(entries=shown, footer={"more": True} if following else {}))
            return
        paper = self.paper()
        print_label(paper)
        print_entries(shown, paper)
        if following:
            paper.line(f"There are more than {counted(limit, 'entry', 'entries')}; --limit shows them.")
        if not shown:
            nothing = unknown(who.scope, project=wanted.project, source=wanted.source)
            paper.line(nothing or "No entry is held within these filters.")
