"""`project`: the projects there are, and other names for them."""

import sys

from django.core.management.base import CommandParser

from memory import aliases
from memory.management.base import StoreCommand
from memory.management.printing import counted
from memory.name_project import name_project
from memory.records.identity import owner


class Command(StoreCommand):
    help = "List projects, or let one go by another name; both names find it then."
    example = "alias shop-old shop --yes"

    def declare(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="list|alias")
        actions.add_parser("list", help="every project, with its sessions and entries")
        alias = actions.add_parser("alias", help="let OLD go by NEW; giving OLD its own name takes that back")
        alias.add_argument("old", metavar="OLD")
        alias.add_argument("new", metavar="NEW")
        alias.add_argument("--yes", action="store_true", help="do it without asking")

    def run(self, *, action: str, as_json: bool, old: str = "", new: str = "", yes: bool = False) -> None:
        if action == "list":
            self._list(as_json=as_json)
            return
        sessions, entries = aliases.plan_alias(old)
        moved = f"{counted(sessions, 'session')} and {counted(entries, 'entry', 'entries')} of {old} go by {new}"
        if not yes and not (sys.stdin.isatty() and input(f"{moved}. Do it? [y/N] ").lower().startswith("y")):
            self.paper().line(f"{moved}. Nothing was changed; --yes does it.")
            return
        name_project(old, new, owner())
        if as_json:
            self.print_json({"old": old, "new": new, "sessions": sessions, "entries": entries})
        else:
            self.paper().line(f"{moved} now.")

    def _list(self, *, as_json: bool) -> None:
        projects = aliases.projects()
        if as_json:
            self.print_json({"projects": [{"name": n, "sessions": s, "entries": e} for n, s, e in projects]})
            return
        for name, sessions, entries in projects:
            self.paper().line(f"{name}: {counted(sessions, 'session')}, {counted(entries, 'entry', 'entries')}")
        if not projects:
            self.paper().line("No project is held yet.")
