"""`context`: a short brief, printed by an agent's session-start hook."""

import contextlib
import signal
from types import FrameType
from typing import NoReturn

from django.core.management.base import CommandParser

from memory import store
from memory.entries.context import brief
from memory.management.base import StoreCommand
from memory.scope import EVERYTHING, Scope

# A session must not wait for it, and must begin without it where anything is wrong.
DEADLINE_SECONDS = 1


class _TooLate(Exception):
    """The brief took too long."""


class Command(StoreCommand):
    help = "Print a brief of what is held of a project, for an agent's session-start hook: silent if anything fails."
    example = "--project shop --max-tokens 800"
    opens_store = False
    prints_json = False

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("--project", default="", help="only this project")
        parser.add_argument("--max-tokens", type=int, default=800, metavar="N", help="at most so long (800)")

    def run(self, *, project: str, max_tokens: int) -> None:
        signal.signal(signal.SIGALRM, _stop)
        signal.setitimer(signal.ITIMER_REAL, DEADLINE_SECONDS)
        with contextlib.suppress(Exception):
            store.open_store()
            text = brief(project, Scope((project,)) if project else EVERYTHING, max_tokens)
            signal.setitimer(signal.ITIMER_REAL, 0)
            self.paper().raw(text.removesuffix("\n")) if text else None


def _stop(number: int, frame: FrameType | None) -> NoReturn:
    raise _TooLate
