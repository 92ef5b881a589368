"""`mcp`: the MCP server that an agent on this machine starts."""

from collections.abc import Sequence

from django.core.management.base import CommandParser

from memory.management.base import StoreCommand
from replication import stdio


class Command(StoreCommand):
    help = "Serve this machine's memory to an agent: MCP over stdin and stdout, until stdin closes."
    example = "--project api --read-only"
    # The first requests are answered before the store is opened. `cli` comes here only for --help and Django's options.
    opens_store = False
    prints_json = False

    def declare(self, parser: CommandParser) -> None:
        stdio.add_arguments(parser)

    def run(self, *, project: Sequence[str], read_only: bool) -> None:
        stdio.serve(stdio.scope_of(project, read_only=read_only))
