"""Four servers and a sync on one store at once, as on any machine where several agents work."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tests.conftest import AgentHome, assistant, session_uuid, user
from tests.replication.wire import DEADLINE, Wire, environment, text_of

SESSIONS, LINES = 40, 100


@pytest.fixture
def person(tmp_path: Path) -> AgentHome:
    """A backlog that takes a sync a few seconds."""
    home = AgentHome(tmp_path / "person")
    home.path.mkdir()
    for number in range(SESSIONS):
        session = session_uuid(1_000 + number)
        records = [
            (user if line % 2 else assistant)(
                number * LINES + line, f"heron {number} {line} " * 60, session, cwd="/w/api"
            )
            for line in range(LINES)
        ]
        home.write(session, *records, project="-w-api")
    return home


@pytest.fixture
def servers(tmp_path: Path, person: AgentHome) -> Iterator[list[Wire]]:
    variables = environment(tmp_path / "origin", person.path)
    with ExitStack() as stack:
        yield [stack.enter_context(Wire(variables)) for _ in range(4)]


def test_four_servers_answer_while_each_syncs_a_new_store(servers: list[Wire]) -> None:
    for server in servers:
        server.initialize()

    answers = []
    for turn in range(10):
        calls = [
            ("search", {"query": f"heron {turn}"}),
            ("timeline", {"since": "2020-01-01"}),
            ("search", {"in": "events"}),
            ("get", {"id": f"claude-code:{session_uuid(1_000 + turn)}"}),
        ]
        for server, (name, arguments) in zip(servers, calls, strict=True):
            server.send("tools/call", {"name": name, "arguments": arguments})
        answers += [server.receive()["result"] for server in servers]
    for server in servers:
        server.close()

    told = [text_of(answer) for answer in answers]
    assert not [text for text in told if "locked" in text or "busy" in text]
    for answer, text in zip(answers, told, strict=True):
        # A session that no sync has come to yet is the one thing that may be missing.
        assert not answer["isError"] or text.startswith("Nothing is held under the id")
        assert answer["isError"] or json.loads(text)["footer"]["freshness"]
    assert [server.process.returncode for server in servers] == [0] * 4
    assert [server.stderr for server in servers] == [""] * 4


def test_a_server_syncs_before_it_is_asked_anything(tmp_path: Path) -> None:
    person = AgentHome(tmp_path / "person")
    person.path.mkdir()
    person.write(session_uuid(1), user(1, "the beacon is lit", session_uuid(1)))
    # Agents start servers in project folders, whose modules must not be taken for ours.
    for name in ("json.py", "memory.py", "msgspec.py"):
        (person.path / name).write_text("raise SystemExit('not ours')")
    database = tmp_path / "origin" / "origin.db"
    deadline = time.monotonic() + DEADLINE

    with Wire(environment(tmp_path / "origin", person.path), fresh=True) as server:
        server.initialize()
        while not ended_runs(database):
            assert time.monotonic() < deadline
            time.sleep(0.05)

        assert server.ask("search", query="beacon")["hits"]


def ended_runs(database: Path) -> int:
    """Return how many syncs of a store have ended well."""
    if not database.exists():
        return 0
    with closing(sqlite3.connect(database)) as connection:
        try:
            return int(
                connection.execute("SELECT count(*) FROM sync_log WHERE error = '' AND ended_at <> ''").fetchone()[0]
            )
        except sqlite3.OperationalError:
            return 0  # not migrated yet
