"""`rebuild`: make the database again from the mirrors."""

from dataclasses import asdict

from ingest.adapters import ADAPTERS
from memory.management.base import StoreCommand
from memory.management.printing import counted, printable, size
from memory.rebuild import rebuild


class Command(StoreCommand):
    help = "Make the database again from the mirrors in raw/, which are only read. The old one is kept beside it."
    example = "--json"
    # A damaged database must not stand in the way of a new one.
    opens_store = False

    def run(self, *, as_json: bool) -> None:
        made = rebuild({adapter.source: adapter.parse_line for adapter in ADAPTERS})
        if as_json:
            self.print_json(asdict(made))
        else:
            files, events = counted(made.files, "mirror"), counted(made.events, "event")
            records = f" and {counted(made.records, 'record')}" if made.records else ""
            self.paper().line(f"The database was made from {files}{records}: {events}, {size(made.bytes)} of logs.")
        for problem in made.problems:
            self.stderr.write(printable(problem), lambda text: text)
