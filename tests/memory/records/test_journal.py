"""The journal of records: a kill, a lost database and a failed commit leave exactly what was promised."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection, transaction

from memory import sql
from memory import store as store_module
from memory.actor import Actor
from memory.models import AuditLog, Record
from memory.mutation import mutation
from memory.records import journal, log
from tests.memory.records.test_log import EVENTS, remember

OWNER = Actor(kind="owner", name="user", channel="cli", device="laptop")


def write(*entries: str) -> None:
    """Remember one entry a mutation."""
    for entry in entries:
        with mutation("remember", OWNER) as change:
            log.write(remember(entry, f"statement {entry}", EVENTS[0]), OWNER.author)
            change.targets.append(entry)


def entries() -> list[str]:
    """Return the entries that the database holds."""
    return [str(name) for (name,) in sql.rows("SELECT entry_id FROM entry ORDER BY entry_id")]


def written() -> list[str]:
    """Return the hashes of the records in the file."""
    return [wire.sha256 for wire in journal.held()]


def hashes() -> list[str]:
    """Return the hashes of the records in the database."""
    return list(Record.objects.order_by("id").values_list("sha256", flat=True))


def test_every_record_is_in_the_file_before_its_receipt_is_given(store: Path) -> None:
    write("ent_1", "ent_2")
    assert written() == hashes()
    assert journal.path().stat().st_mode & 0o777 == 0o600
    assert not journal.is_behind()


def test_what_a_kill_left_in_the_file_alone_is_taken_in_once(store: Path) -> None:
    write("ent_1")
    position = sql.rows("SELECT value FROM setting WHERE key = 'journal'")
    write("ent_2", "ent_3")
    whole = journal.path().read_bytes()
    go_back(position, keep=1)
    journal.path().write_bytes(whole + whole[:50])
    store_module.open_store()
    assert (entries(), written()) == (["ent_1", "ent_2", "ent_3"], hashes())
    assert AuditLog.objects.filter(action="recover").count() == 1
    store_module.open_store()
    assert AuditLog.objects.count() == 4
    write("ent_4")
    assert [record.oseq for record in Record.objects.order_by("id")] == [1, 2, 3, 4]


def go_back(position: list[sql.Result], keep: int) -> None:
    """Make the database one that committed only its first records, as a kill or an older copy leaves it."""
    for table in ("entry_source", "entry", "record"):
        sql.execute(f"DROP TRIGGER {table}_no_delete")
    connection.disable_constraint_checking()
    sql.execute("DELETE FROM entry_source WHERE entry_id > ?", (keep,))
    sql.execute("DELETE FROM entry WHERE id > ?", (keep,))
    sql.execute("DELETE FROM record WHERE id > ?", (keep,))
    sql.execute("UPDATE setting SET value = ? WHERE key = 'journal'", position[0])


def test_a_lost_journal_is_written_anew(store: Path) -> None:
    write("ent_1", "ent_2")
    before = journal.path().read_bytes()
    journal.path().unlink()
    store_module.open_store()
    assert journal.path().read_bytes() == before


def test_what_was_rolled_back_is_not_in_the_file(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("ent_1")
    before = journal.path().read_bytes()
    append = journal.append_new

    def full_disk() -> None:
        append()
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journal, "append_new", full_disk)
    with pytest.raises(OSError, match="space"):
        write("ent_2")
    assert (journal.path().read_bytes(), entries()) == (before, ["ent_1"])
    monkeypatch.undo()
    write("ent_3")
    assert written() == hashes()


def test_what_an_outer_transaction_gave_up_is_overwritten(store: Path) -> None:
    write("ent_1")
    try:
        with transaction.atomic():
            write("ent_2")
            raise ZeroDivisionError
    except ZeroDivisionError:
        pass
    write("ent_3")
    assert (written(), entries()) == (hashes(), ["ent_1", "ent_3"])


KILLED = """
import os, signal, sys
from pathlib import Path
import django
django.setup()
from memory import store
from memory.records import journal
from tests.memory.records import test_journal as t
store.open_store()
append, point = journal.append_new, sys.argv[1]
def at():
    if point == "before": os.kill(os.getpid(), signal.SIGKILL)
    append()
    os.kill(os.getpid(), signal.SIGKILL)
journal.append_new = at
t.write("ent_2")
"""


@pytest.mark.parametrize(("point", "left"), [("before", ["ent_1"]), ("after", ["ent_1", "ent_2"])])
def test_killed_around_the_write_of_the_file(store: Path, point: str, left: list[str]) -> None:
    write("ent_1")
    connection.close()
    environment = {**os.environ, "ORIGIN_HOME": str(store), "DJANGO_SETTINGS_MODULE": "origin_site.settings"}
    done = subprocess.run([sys.executable, "-c", KILLED, point], env=environment, cwd=Path(__file__).parents[3])
    assert done.returncode == -signal.SIGKILL
    store_module.open_store()
    assert (entries(), written()) == (left, hashes())
