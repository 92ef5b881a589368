"""`secrets`: which live keys stand in the logs, so that they can be rotated."""

from dataclasses import asdict

from memory.found_secrets import found_secrets
from memory.management.base import StoreCommand
from memory.management.printing import counted, moment
from memory.times import local, process_zone


class Command(StoreCommand):
    help = "List the secrets found in sessions, by kind and last four characters: rotate them, or forget their events."
    example = "--json"

    def run(self, *, as_json: bool) -> None:
        found = found_secrets()
        if as_json:
            self.print_json({"secrets": [asdict(each) for each in found]})
            return
        for each in found:
            ending = f" ending in {each.ending}" if each.ending else ""
            last = moment(local(each.last_at, process_zone()))
            self.paper().line(f"{each.kind}{ending}: {counted(each.times, 'time')}, last {last}", "bold")
            self.paper().line(each.last_event, "cyan", indent=2)
        if not found:
            self.paper().line("No secret of a known form stands in what is held.")
