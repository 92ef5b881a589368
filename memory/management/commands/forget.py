"""`forget`: hide an entry, an event or a session and everything that says the same, until it is restored."""

import sys
from typing import get_args

from django.core.management.base import CommandError, CommandParser

from memory.errors import InvalidInput
from memory.forgetting import verify
from memory.forgetting.forget import forget
from memory.forgetting.plan import Plan, plan_forget, texts_of
from memory.management.base import USAGE, StoreCommand, caller
from memory.management.printing import Paper, counted
from memory.records.bodies import Code
from memory.secrets import mask
from memory.shapes import Json
from memory.text import one_line

CODES = get_args(Code)
_SHOWN, _LINE = 20, 200


class Command(StoreCommand):
    help = "Forget an entry, an event or a session: shows what that covers, and does it only once you agree."
    example = "ent_0123456789abcdef --reason 'never mind' --code outdated --yes"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("id", nargs="?", default="", metavar="ID", help="an entry, an event or a session")
        parser.add_argument("--reason", default="", help="why, without repeating what is forgotten")
        parser.add_argument("--code", default="other", choices=CODES, help="what kind of reason (other)")
        parser.add_argument("--plan", default="", metavar="DIGEST", help="do exactly what this plan showed")
        parser.add_argument("--yes", action="store_true", help="do what the plan says now, without asking")
        parser.add_argument("--verify", default="", metavar="TOMBSTONE", help="ask every reader for what it covers")

    def run(self, *, id: str, reason: str, code: Code, plan: str, yes: bool, verify: str, as_json: bool) -> None:
        if verify:
            self._verify(verify, as_json=as_json)
            return
        if not id:
            raise CommandError("Name an entry, an event or a session to forget.", returncode=USAGE)
        shown = plan_forget(id, caller().scope)
        if not (plan or yes):
            self._show(shown, as_json=as_json)
            if as_json or not sys.stdin.isatty() or not self._agrees():
                return
            reason = reason or input("Why? ")
        done = forget(id, reason, code, plan or shown.digest, caller().scope, caller().actor)
        if as_json:
            self.print_json({"tombstone": done.tombstone, **_shape(shown)})
        else:
            name = done.tombstone
            self.paper().line(f"Forgotten under {name}. To take it back: restore {name} --reason WHY")

    def _show(self, plan: Plan, *, as_json: bool) -> None:
        if as_json:
            self.print_json({"planned": True, **_shape(plan)})
        else:
            _print(plan, self.paper())
            self.paper().line(f"Nothing was changed. To do it: --reason WHY --plan {plan.digest}")

    def _agrees(self) -> bool:
        return input("Forget this now? [y/N] ").strip().lower() in ("y", "yes")

    def _verify(self, tombstone: str, *, as_json: bool) -> None:
        found = verify.verify(tombstone)
        if as_json:
            self.print_json(
                {"tombstone": tombstone, "found": found.surfaces, "asked": found.asked, "rests": found.rests}
            )
        else:
            self.paper().line(f"{counted(found.asked, 'question')} of every reader: {_said(found.surfaces)}")
            self.paper().line(found.rests)
        if found.surfaces:
            raise InvalidInput("verify", "Something that was forgotten is still answered.")


def _said(surfaces: list[str]) -> str:
    return "none answers with what was forgotten." if not surfaces else f"answered by {', '.join(surfaces)}."


def _shape(plan: Plan) -> Json:
    return {
        "target": plan.target,
        "plan": plan.digest,
        "entries": list(plan.entries),
        "events": list(plan.events),
        "sessions": list(plan.sessions),
        "exact_copies": plan.copies,
    }


def _print(plan: Plan, paper: Paper) -> None:
    entries = counted(len(plan.entries), "entry version")
    paper.line(f"{plan.target} and what goes with it: {entries}, {counted(len(plan.events), 'event')}", "bold")
    if plan.sessions:
        paper.line("The session's later events will be forgotten as they arrive.", indent=2)
    if plan.copies:
        paper.line(f"{counted(plan.copies, 'event')} among them only say exactly the same.", indent=2)
    paper.line("Identical messages and statements that come later will be hidden too.", indent=2)
    for each in texts_of(plan, visible=True)[:_SHOWN]:
        paper.line(one_line(mask(each.text), _LINE), indent=2)
        paper.line(each.name, "cyan", indent=2)
    if (more := len(plan.entries) + len(plan.events) - _SHOWN) > 0:
        paper.line(f"and {more:,} more", "dim", indent=2)
