"""`demo`: an invented history in a throw-away home, with commands to look around in it."""

import os
import shlex
import subprocess
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from ingest import demo
from memory.errors import OriginError
from memory.management.base import StoreCommand, command_line
from memory.management.printing import Paper

# All that the child process gets of the environment, so that no variable leads it to the person's own logs or store.
_PASSED = ("PATH", "TZ", "LANG", "LC_ALL", "TMPDIR")
_SYNC = (sys.executable, "-P", "-m", "origin_site", "sync", "--quiet")


class Command(StoreCommand):
    help = "Make a small invented history in a throw-away home and say how to search it. Your own store is not touched."
    opens_store = False

    def run(self, *, as_json: bool) -> None:
        place = Path(tempfile.mkdtemp(prefix="origin-demo-"))
        person, home = place / "person", place / "origin"
        demo.write_logs(person, datetime.now(UTC))
        _sync(person, home)
        tries = [(why, _line(home, arguments)) for why, arguments in _TRIES]
        delete = shlex.join(["rm", "-r", str(place)])
        if as_json:
            self.print_json({"home": str(home), "try": [line for _, line in tries], "delete": delete})
        else:
            _print(place, tries, delete, self.paper())


_TRIES = (
    ("What was decided, and why?", ["search", "decision", "postgres"]),
    ("Words of one or two characters are found too:", ["search", "备份"]),
    ("What happened in these two weeks?", ["timeline"]),
    ("One session, and how to go on with it:", ["show", f"claude-code:{demo.DECISION.id}"]),
    ("The log line that says so:", ["sources", f"claude-code:{demo.DECISION.record_id(2)}"]),
)


def _sync(person: Path, home: Path) -> None:
    """Archive the invented logs in a process of its own, which knows of no other home."""
    passed = {name: value for name in _PASSED if (value := os.environ.get(name)) is not None}
    own = {"HOME": str(person), "ORIGIN_HOME": str(home), "PYTHONPATH": str(settings.BASE_DIR)}
    done = subprocess.run(_SYNC, env=passed | own, capture_output=True, text=True)
    if done.returncode:
        raise OriginError(f"The invented logs could not be archived: {done.stderr.strip()}")


def _line(home: Path, arguments: list[str]) -> str:
    return f"ORIGIN_HOME={shlex.quote(str(home))} {command_line(arguments)}"


def _print(place: Path, tries: list[tuple[str, str]], delete: str, paper: Paper) -> None:
    paper.line(f"An invented history of {len(demo.SESSIONS)} sessions in 3 projects is in {place}.")
    for why, line in tries:
        paper.line()
        paper.line(why)
        paper.raw(f"  {line}")
    paper.line()
    paper.line("When you have seen enough:")
    paper.raw(f"  {delete}")
