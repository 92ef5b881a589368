"""`search`: find what was said."""

from collections.abc import Sequence
from typing import Any, cast

from django.core.management.base import CommandParser

from memory.management.base import UNBOUNDED, StoreCommand, add_filters, caller, positive
from memory.management.printing import Paper, counted, moment
from memory.management.reading import print_entries, print_footer, print_label
from memory.shapes import Json
from memory.tools.searching import SearchArguments, run_search


class Command(StoreCommand):
    help = "Find what was said, decided or done in the sessions of every agent."
    example = "why postgres --project shop --since 2w"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("query", nargs="+", metavar="QUERY", help="words; '\"a phrase\"' keeps its words together")
        add_filters(parser)
        parser.add_argument("--session", default="", metavar="ID", help="only this session")
        parser.add_argument("--tools", action="store_true", help="also tool calls and their output")
        parser.add_argument("--meta", action="store_true", help="also reminders, summaries and other machine text")
        parser.add_argument("--recent", action="store_true", help="newest first, instead of best first")
        parser.add_argument("--limit", type=positive, default=10, metavar="N", help="most hits, 1 to 50 (10)")

    def run(self, *, query: Sequence[str], recent: bool, as_json: bool, **filters: Any) -> None:
        arguments = SearchArguments(
            query=" ".join(query),
            sort="recent" if recent else "relevance",
            max_tokens=UNBOUNDED,
            **filters,
        )
        answer = run_search(arguments, caller())
        if as_json:
            self.print_json(answer)
        else:
            _print(answer, self.paper())


def _print(answer: Json, paper: Paper) -> None:
    print_label(paper)
    print_entries(cast(list[Json], answer["entries"]), paper)
    for hit in cast(list[Json], answer["hits"]):
        parts = (moment(hit["at"]), hit["origin"], hit["project"], hit["source"], hit.get("tool", ""))
        paper.line("  ".join(str(part) for part in parts if part), "bold")
        paper.line(hit["title"], "dim", indent=2)
        paper.line(hit["text"], indent=2)
        paper.line(hit["id"], "cyan", indent=2)
        if copies := hit.get("also_in"):
            paper.line(f"also said in {counted(int(str(copies)), 'other place')}", "dim", indent=2)
        if more := hit.get("more_in_session"):
            paper.line(f"{counted(int(str(more)), 'more hit')} in this session; --session shows them", "dim", indent=2)
        paper.line()
    footer = cast(Json, answer["footer"])
    if left := footer.get("left_out"):
        paper.line(f"{counted(int(str(left)), 'more hit')}; --limit, --project or --since change what is shown.")
    for word in cast(list[str], footer.get("unmatched", [])):
        paper.line(f"Nothing within these filters holds {word!r}.")
    for part in ("relaxed", "scanned"):
        if part in footer:
            paper.line(footer[part])
    print_footer(footer, paper)
