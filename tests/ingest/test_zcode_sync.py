"""ZCode's sessions in the store, from a database that is in use."""

import os
import shutil
import sqlite3
from pathlib import Path

import pytest

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Environment
from ingest.sync import Report, sync
from memory import sql
from memory.provenance import read_line
from tests.conftest import AgentHome
from tests.ingest.adapters.zcode_database import START, ZCodeDatabase
from tests.store_digest import contents


@pytest.fixture
def database(agent_home: AgentHome) -> ZCodeDatabase:
    found = ZCodeDatabase(agent_home.path / ".zcode/cli/db/db.sqlite")
    found.session("sess_1", title="Lamps", title_source="generated")
    found.user("msg_1", "sess_1", "light the lamp")
    return found


def synced(home: AgentHome) -> Report:
    report = home.sync()
    assert (report.sources["zcode"].failed, report.sources["zcode"].problems) == ("", [])
    return report


def shown() -> list[tuple[str, str]]:
    return [(str(name), str(text)) for name, text in sql.rows("SELECT event_id, text FROM visible_event ORDER BY id")]


def test_a_session_in_the_database_is_a_session_in_the_store(
    store: Path, agent_home: AgentHome, database: ZCodeDatabase
) -> None:
    synced(agent_home)
    assert shown() == [("zcode:msg_1_p0", "light the lamp")]
    assert sql.rows("SELECT session_id, project, title FROM session") == [("zcode:sess_1", "lamp", "Lamps")]


def test_an_event_opens_down_to_the_row_it_came_from(
    store: Path, agent_home: AgentHome, database: ZCodeDatabase
) -> None:
    synced(agent_home)
    ((file, line),) = sql.rows("SELECT raw_file_id, line FROM event")
    assert b'"id":"msg_1_p0"' in read_line(int(str(file)), int(str(line)))


def test_a_database_in_use_is_read_as_it_grows_and_however_often_gives_one_store(
    store: Path, agent_home: AgentHome, database: ZCodeDatabase
) -> None:
    database.message("msg_2", "sess_1", "assistant", time={"created": START})
    running = {"type": "tool", "tool": "Bash", "state": {"status": "running", "input": {"command": "ls"}}}
    for step in (
        lambda: database.text("msg_2_p0", "msg_2", "sess_1", "It"),
        lambda: database.part("msg_2_p1", "msg_2", "sess_1", running),
        lambda: database.update("part", "msg_2_p0", data={"type": "text", "text": "It is lit."}),
        lambda: database.update(
            "part",
            "msg_2_p1",
            data=running | {"state": {"status": "completed", "input": {"command": "ls"}, "output": "a.py"}},
        ),
        lambda: database.update("message", "msg_2", data={"role": "assistant", "time": {"created": 1, "completed": 2}}),
    ):
        step()
        synced(agent_home)
    in_steps = sorted(shown())
    assert in_steps == [
        ("zcode:msg_1_p0", "light the lamp"),
        ("zcode:msg_2_p0", "It is lit."),
        ("zcode:msg_2_p1", "Bash\ncommand: ls"),
        ("zcode:msg_2_p1#result", "a.py"),
    ]


def test_more_rows_than_a_batch_are_all_read(store: Path, agent_home: AgentHome, database: ZCodeDatabase) -> None:
    for number in range(2, 260):
        database.user(f"msg_{number}", "sess_1", f"lamp {number}")
    assert synced(agent_home).sources["zcode"].events == 259
    assert sql.rows("SELECT lines FROM raw_file") == [(1 + 2 * 259,)]


def test_a_second_sync_of_an_unchanged_database_reads_nothing(
    store: Path, agent_home: AgentHome, database: ZCodeDatabase
) -> None:
    synced(agent_home)
    before = contents(store)
    report = synced(agent_home).sources["zcode"]
    assert (report.read, report.events, report.bytes) == (0, 0, 0)
    os.utime(database.path)
    report = synced(agent_home).sources["zcode"]
    assert (report.read, report.events, report.bytes) == (1, 0, 0)
    assert contents(store) == before


def test_what_the_agent_deletes_stays(store: Path, agent_home: AgentHome, database: ZCodeDatabase) -> None:
    synced(agent_home)
    database.delete_session("sess_1")
    synced(agent_home)
    assert shown() == [("zcode:msg_1_p0", "light the lamp")]
    assert sql.rows("SELECT lines FROM raw_file") == [(4,)]


@pytest.mark.parametrize("broken", ["locked", "corrupt", "foreign"])
def test_a_database_that_cannot_be_read_costs_one_line(
    broken: str, store: Path, agent_home: AgentHome, database: ZCodeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    if broken == "locked":
        monkeypatch.setattr("ingest.adapters.journal._BUSY_SECONDS", 0.05)
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.connection.execute("PRAGMA journal_mode = DELETE")
        database.connection.execute("BEGIN EXCLUSIVE")
    else:
        database.connection.close()
        for path in database.path.parent.iterdir():
            path.unlink()
        database.path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4_096)
        if broken == "foreign":
            database.path.unlink()
            with sqlite3.connect(database.path) as other:
                other.execute("CREATE TABLE note (id text)")
    (problem,) = agent_home.sync().sources["zcode"].problems
    assert problem.startswith(f"The database {database.path} could not be read: ")
    assert "\n" not in problem


def test_a_database_that_was_copied_elsewhere_gives_the_same_events(
    store: Path, agent_home: AgentHome, database: ZCodeDatabase
) -> None:
    synced(agent_home)
    before = shown()
    copy = agent_home.path / "copy/cli/db"
    copy.mkdir(parents=True)
    database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    shutil.copy(database.path, copy)

    environment = Environment(agent_home.path, {"ZCODE_STORAGE_DIR": str(agent_home.path / "copy")})
    report = sync(ADAPTERS, environment)
    assert (report.sources["zcode"].read, report.sources["zcode"].events) == (1, 0)
    assert shown() == before
