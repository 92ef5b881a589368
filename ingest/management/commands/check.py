"""`check`: read everything that is kept and compare it."""

import argparse
import sys

from django.core.management import CommandParser, call_command
from django.core.management.commands.check import Command as DjangoCheck

from ingest.adapters import ADAPTERS
from memory import store
from memory.check import check
from memory.errors import OriginError
from memory.management.base import StoreCommand
from memory.management.printing import counted, printable, progress_bar


class Command(StoreCommand):
    help = (
        "Verify everything: every mirror, line, event, record, citation, index and the audit log. Exit 1 on a finding."
    )
    example = "--json"
    opens_store = False

    def declare(self, parser: CommandParser) -> None:
        # Django has a command of this name too, which checks settings and which whoever deploys it asks for.
        parser.add_argument("--deploy", action="store_true", help="check the settings of the service, not the store")
        parser.add_argument("--fail-level", default="ERROR", help=argparse.SUPPRESS)

    def run(self, *, deploy: bool, fail_level: str, as_json: bool) -> None:
        if deploy:
            call_command(DjangoCheck(), deploy=True, fail_level=fail_level, stdout=self.stdout, stderr=self.stderr)
            return
        store.open_store()
        parsers = {adapter.source: adapter.parse_line for adapter in ADAPTERS}
        with progress_bar("Checking", shown=sys.stderr.isatty()) as progress:
            findings = list(check(parsers, progress))
        if as_json:
            self.print_json({"ok": not findings, "findings": findings})
        for finding in () if as_json else findings:
            self.paper().line(printable(finding))
        if findings:
            raise OriginError(f"{counted(len(findings), 'thing')} in the store did not pass the check.")
        if not as_json:
            self.paper().line("Everything in the store is as it was written.")
