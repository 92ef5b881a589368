"""Forgetting and remembering the same sentence at once, from two processes: no active copy is ever left.

`ORIGIN_RACE_ROUNDS=200` makes it the long run; the suite does a few.
"""

import os
import subprocess
import sys
from pathlib import Path

from django.db import connection

from memory.check import check
from memory.entries.citations import Wanted
from memory.models import Entry
from tests.commands import ROOT, environment
from tests.conftest import AgentHome, session_uuid, user
from tests.memory.entries.conftest import OWNER, Writer, event
from tests.memory.entries.conftest import talk as talk
from tests.memory.test_check import PARSERS

ROUNDS = int(os.environ.get("ORIGIN_RACE_ROUNDS", "12"))
RUN = """
import sys, time
from pathlib import Path
import django
django.setup()
from memory import store
from memory.entries.citations import Wanted
from memory.errors import Conflict, NotFound, OriginError, Refused
from memory.forgetting.forget import forget
from memory.forgetting.plan import plan_forget
from memory.models import Entry
from memory.scope import EVERYTHING
from tests.memory.entries.conftest import AGENT, OWNER, Writer, event
me, other, folder, rounds = sys.argv[1], sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
store.open_store()
for number in range(rounds):
    (folder / f"{me}-{number}").touch()
    while not (folder / f"{other}-{number}").exists():
        time.sleep(0)
    text = f"The rule number {number} is to stir."
    while me == "forget":
        name = Entry.objects.filter(text=text).order_by("id")[0].entry_id
        try:
            forget(name, "no", "wrong", plan_forget(name, EVERYTHING).digest, EVERYTHING, OWNER)
        except Conflict:
            continue
        break
    while me == "remember":
        try:
            Writer(AGENT).remember(text, Wanted(event(7)), kind="memory")
            Writer(AGENT).remember(text, Wanted(event(2)), project=f"p{number}")
        except OriginError:
            pass
        break
"""


def test_no_active_copy_is_left(store: Path, talk: AgentHome, tmp_path: Path) -> None:
    session = session_uuid(5)
    # Each cites an event of its own, or the first forget would take the others with it.
    talk.write(
        session, *(user(100 + number, f"Talk number {number} about stirring.", session) for number in range(ROUNDS))
    )
    talk.sync()
    for number in range(ROUNDS):
        Writer(OWNER).remember(f"The rule number {number} is to stir.", Wanted(event(100 + number)))
    connection.close()
    variables = environment(store, talk.path) | {"DJANGO_SETTINGS_MODULE": "origin_site.settings"}
    command = [sys.executable, "-c", RUN]
    racing = [
        subprocess.Popen([*command, me, other, str(tmp_path), str(ROUNDS)], cwd=ROOT, env=variables)
        for me, other in (("forget", "remember"), ("remember", "forget"))
    ]
    assert [process.wait(120) for process in racing] == [0, 0]
    left = Entry.objects.filter(text__startswith="The rule number", forgotten=False).values_list("text", flat=True)
    assert list(left) == []
    assert list(check(PARSERS)) == []
