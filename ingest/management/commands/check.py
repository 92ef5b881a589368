"""`check`: read everything that is kept and compare it."""

import sys

from ingest.adapters import ADAPTERS
from memory.check import check
from memory.errors import OriginError
from memory.management.base import StoreCommand
from memory.management.printing import counted, printable, progress_bar


class Command(StoreCommand):
    help = (
        "Verify everything: every mirror, line, event, record, citation, index and the audit log. Exit 1 on a finding."
    )
    example = "--json"

    def run(self, *, as_json: bool) -> None:
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
