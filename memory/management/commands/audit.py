"""`audit`: every change of the store, who made it and through what."""

import json

from django.core.management.base import CommandParser

from memory import audit
from memory.errors import OriginError
from memory.management.base import StoreCommand, positive
from memory.management.printing import counted, moment
from memory.times import local, process_zone


class Command(StoreCommand):
    help = "List every change of the store, the newest first, and verify that none was tampered with."
    example = "--limit 20"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("--limit", type=positive, default=50, metavar="N", help="most rows (50)")

    def run(self, *, limit: int, as_json: bool) -> None:
        rows, broken = audit.newest(limit), list(audit.breaks())
        if as_json:
            fields = ("at", "action", "actor", "author", "channel", "device", "address", "client", "code")
            shown = [
                {name: getattr(row, name) for name in fields} | {"targets": json.loads(row.targets)} for row in rows
            ]
            self.print_json({"rows": shown, "sound": not broken})
        else:
            for row in rows:
                at = moment(local(row.at, process_zone()))
                targets = " ".join(json.loads(row.targets)[:3])
                self.paper().line(f"{at}  {row.action}  {row.author}  {row.channel}  {row.code}  {targets}")
            if not rows:
                self.paper().line("Nothing was changed yet.")
        if broken:
            raise OriginError(
                f"The audit log was tampered with: {counted(len(broken), 'row')} from {broken[0].row} on."
            )
