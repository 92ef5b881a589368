"""`kill -9` at every write of a sync: the next run ends in the store that an undisturbed one makes."""

import json
import os
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from ingest import readers
from ingest import sync as sync_module
from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Environment
from memory import mirror, store
from tests import crash_points
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, tool_result, user
from tests.store_digest import contents, damage, mirror_bytes, orphans

ONE, TWO, THREE = session_uuid(1), session_uuid(2), session_uuid(3)
# One worker runs a part; together they kill at every point.
PARTS = 4


def sync_in_small_batches(person: Path) -> None:
    """Sync as the command does, but with so little in a transaction that small logs need many."""
    for name in ("BATCH_EVENTS", "BATCH_EVENTS_ALONE", "FILES_PER_BATCH", "FILES_PER_BATCH_ALONE"):
        setattr(sync_module, name, 4 if "EVENTS" in name else 2)
    for module in (sync_module, readers):
        module.FRAME_BYTES = 2_500  # type: ignore[attr-defined]
    sync_module.PAUSE_SECONDS = 0
    store.open_store()
    sync_module.sync(ADAPTERS, Environment(person, {}))


def first_logs(person: AgentHome) -> None:
    """Two sessions, the second a fork that repeats lines of the first, and a sub-agent's; with all that is odd."""
    shared = [
        user(1, "Where does the deployment write its configuration?", ONE),
        assistant(2, "It writes 配置文件 beside the binary.", ONE),
        tool_call(3, "Read", {"file_path": "/w/app/deploy.py"}, ONE),
        tool_result(4, 3, "def deploy(): write_configuration()", ONE),
    ]
    person.write(ONE, *shared, user(5, "And where is the 部署 script?", ONE))
    with person.log(ONE).open("ab") as file:
        file.write(b'{"type": "user", "broken\n\n')
    person.write(
        ONE,
        {"type": "custom-title", "customTitle": "Where deployment writes", "sessionId": ONE},
        *(assistant(number, f"Answer {number} " + "words " * 40, ONE) for number in range(6, 12)),
    )
    with person.log(ONE).open("ab") as file:
        file.write(json.dumps(user(12, "The last line has no newline", ONE)).encode())
    person.write(TWO, *shared, {"type": "summary", "summary": "Deployment", "leafUuid": shared[1]["uuid"]})
    person.write(TWO, *(user(number, f"Question {number} in the fork", TWO) for number in range(20, 24)))
    agent = person.log(ONE).parent / ONE / "subagents" / "agent-a1.jsonl"
    agent.parent.mkdir(parents=True)
    side = {"isSidechain": True, "agentId": "a1"}
    lines = [user(30, "Look for the script", ONE, **side), assistant(31, "Found it", ONE, **side)]
    agent.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    # The fork is read first, so that the owner place of what it repeats moves when the first session arrives.
    for age, log in enumerate((person.log(TWO), agent, person.log(ONE))):
        os.utime(log, (1_780_000_000 - age, 1_780_000_000 - age))


def grow(person: AgentHome) -> None:
    """Continue both sessions, one of them on the line that had no newline yet, and begin a third."""
    with person.log(ONE).open("ab") as file:
        file.write(b"\n")
    person.write(ONE, *(assistant(number, f"More {number}", ONE) for number in range(40, 46)))
    person.write(TWO, user(50, "One more question", TWO), user(41, "a copy of another's line", ONE))
    person.write(
        THREE, user(60, "A third session", THREE), {"type": "ai-title", "aiTitle": "Three", "sessionId": THREE}
    )
    for age, log in enumerate((person.log(ONE), person.log(THREE), person.log(TWO))):
        os.utime(log, (1_780_001_000 - age, 1_780_001_000 - age))


def rewrite(person: AgentHome) -> None:
    """Let the fork be another file under the same name."""
    person.log(TWO).unlink()
    person.write(TWO, *(user(number, f"Rewritten {number}", TWO) for number in range(70, 76)))


@dataclass(frozen=True)
class Scene:
    """Logs, the store a sync begins with, the write points of an undisturbed sync, and what it leaves."""

    person: AgentHome
    before: Path
    points: list[str]
    after: dict[str, Any]

    def store(self, path: Path) -> Path:
        """Return a copy of the store to begin with."""
        return Path(shutil.copytree(self.before, path))

    def sync(self) -> None:
        """What the children run."""
        sync_in_small_batches(self.person.path)


@pytest.fixture(scope="session")
def unblocked(django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Children use the database; this process does not."""
    with django_db_blocker.unblock():
        yield


def play(folder: Path, before: Path, person: AgentHome) -> Scene:
    """Run a sync undisturbed, to know what it should be like."""
    undisturbed = Path(shutil.copytree(before, folder / "undisturbed"))
    points = crash_points.run(partial(sync_in_small_batches, person.path), undisturbed).points
    assert damage(undisturbed) == []
    return Scene(person, before, points, contents(undisturbed))


@pytest.fixture(scope="session")
def first_import(unblocked: None, migrated_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """An empty store and the first logs."""
    folder = tmp_path_factory.mktemp("first")
    person = AgentHome(folder / "person")
    first_logs(person)
    return play(folder, migrated_home, person)


@pytest.fixture(scope="session")
def grown_logs(first_import: Scene, tmp_path_factory: pytest.TempPathFactory) -> Scene:
    """A store that knows the first logs, which have grown since; the fork was rewritten."""
    folder = tmp_path_factory.mktemp("grown")
    person = AgentHome(Path(shutil.copytree(first_import.person.path, folder / "person")))
    before = first_import.store(folder / "before")
    crash_points.run(partial(sync_in_small_batches, person.path), before)
    grow(person)
    rewrite(person)
    return play(folder, before, person)


def telling(points: list[str]) -> list[int]:
    """Return the numbers of the write points to kill at: all but those that leave the same files as another one.

    A statement inside a transaction is rolled back whichever it was: of each kind one is enough. BEGIN writes nothing.
    """
    chosen, kinds, inside = [], set(), False
    for number, point in enumerate(points, 1):
        kind = re.split(r"[(=]| SET | VALUES ", point)[0]
        again = inside and point.startswith(("INSERT", "UPDATE", "DELETE")) and kind in kinds
        if not again and point != "BEGIN IMMEDIATE":
            chosen.append(number)
        kinds.add(kind)
        inside = point == "BEGIN IMMEDIATE" or (inside and point != "COMMIT")
    return chosen


def assert_undisturbed(scene: Scene, home: Path, crash: str) -> None:
    """Fail where a store differs from that of a sync that nothing disturbed."""
    assert damage(home) == [], crash
    assert contents(home) == scene.after, crash


def test_the_small_logs_meet_everything_that_writes(first_import: Scene, grown_logs: Scene) -> None:
    first, grown = first_import.points, grown_logs.points

    assert first.count("after COMMIT") > 8
    assert {"pwrite", "fsync", "ftruncate", "COMMIT"} <= {*first} & {*grown}
    for table in ("raw_frame", "event_place", "event_gram", "event_file", '"session_title"', '"malformed_line"'):
        assert any(point.startswith(f"INSERT OR IGNORE INTO {table}") for point in first), table
    assert any(point.startswith("UPDATE event SET owner") for point in first)
    assert max(place[3] for place in grown_logs.after["mirrors"]) == 1


@pytest.mark.parametrize("part", range(PARTS))
def test_a_first_import_killed_at_any_write_ends_as_if_it_had_not_been(
    first_import: Scene, tmp_path: Path, part: int
) -> None:
    kill_everywhere(first_import, tmp_path, part)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_later_sync_killed_at_any_write_ends_as_if_it_had_not_been(
    grown_logs: Scene, tmp_path: Path, part: int
) -> None:
    kill_everywhere(grown_logs, tmp_path, part)


def kill_everywhere(scene: Scene, folder: Path, part: int) -> None:
    """Kill a sync at each write point of a part and let the next one end."""
    for number in telling(scene.points)[part::PARTS]:
        home = scene.store(folder / str(number))
        assert crash_points.run(scene.sync, home, kill_at=number).killed
        crash_points.run(scene.sync, home)
        assert_undisturbed(scene, home, f"killed before {number}: {scene.points[number - 1]}")
        shutil.rmtree(home)


@pytest.mark.parametrize("name", ["first_import", "grown_logs"])
def test_half_a_frame_on_disk_is_written_again(request: pytest.FixtureRequest, tmp_path: Path, name: str) -> None:
    scene: Scene = request.getfixturevalue(name)
    for number in [number for number, point in enumerate(scene.points, 1) if point == "pwrite"]:
        home = scene.store(tmp_path / str(number))
        assert crash_points.run(scene.sync, home, kill_at=number, torn=True).killed
        assert any(sizes_differ(home)), "the kill left half a frame"
        crash_points.run(scene.sync, home)
        assert_undisturbed(scene, home, f"torn at {number}")


def sizes_differ(home: Path) -> Iterator[bool]:
    """Yield for each mirror on disk whether it is longer than the database knows."""
    known = {row["mirror_path"]: row["stored_bytes"] for row in rows_of(home, "raw_file")}
    for path in (home / "raw").rglob("*.zst"):
        yield path.stat().st_size > known[str(path.relative_to(home / "raw"))]


@pytest.mark.parametrize("part", range(4))
def test_a_recovery_that_is_killed_too_is_recovered_from(first_import: Scene, tmp_path: Path, part: int) -> None:
    scene = first_import
    for number in telling(scene.points)[part::16]:
        # The second crash meets another moment of the batch each time.
        second = number * 7 % 40 + 1
        home = scene.store(tmp_path / str(number))
        assert crash_points.run(scene.sync, home, kill_at=number).killed
        crash_points.run(scene.sync, home, kill_at=second, torn=True)
        crash_points.run(scene.sync, home)
        assert_undisturbed(scene, home, f"killed at {number}, then at {second}")


def between_fsync_and_commit(points: list[str]) -> list[int]:
    """Return the write points before which a frame is on disk and not yet in the database."""
    return [number for number, point in enumerate(points, 1) if point == "COMMIT" and "fsync" in batch(points, number)]


def batch(points: list[str], number: int) -> list[str]:
    """Return the write points of the transaction that ends at one."""
    before = points[: number - 1]
    return before[len(before) - before[::-1].index("BEGIN IMMEDIATE") :]


def test_logs_that_grow_between_a_crash_and_the_next_sync_lose_nothing(
    first_import: Scene, migrated_home: Path, tmp_path: Path
) -> None:
    logs = first_import.person.path
    grown = AgentHome(Path(shutil.copytree(logs, tmp_path / "grown")))
    grow(grown)
    scene = play(tmp_path, migrated_home, grown)
    for number in between_fsync_and_commit(first_import.points):
        person = AgentHome(Path(shutil.copytree(logs, tmp_path / f"person-{number}")))
        home = scene.store(tmp_path / str(number))
        assert crash_points.run(partial(sync_in_small_batches, person.path), home, kill_at=number).killed
        grow(person)
        crash_points.run(partial(sync_in_small_batches, person.path), home)
        assert_undisturbed(scene, home, f"killed at {number}, then grown")


def test_a_frame_whose_log_was_rewritten_before_the_next_sync_is_kept(first_import: Scene, tmp_path: Path) -> None:
    kept = 0
    for number in between_fsync_and_commit(first_import.points):
        person = AgentHome(Path(shutil.copytree(first_import.person.path, tmp_path / f"person-{number}")))
        home = first_import.store(tmp_path / str(number))
        assert crash_points.run(partial(sync_in_small_batches, person.path), home, kill_at=number).killed
        crashed = {mirror_bytes(path) for path in (home / "raw").rglob("*.zst")}
        rewrite(person)
        crash_points.run(partial(sync_in_small_batches, person.path), home)
        held = [mirror_bytes(path) for path in (home / "raw").rglob("*") if path.suffix in (".zst", ".orphan")]
        assert all(any(now.startswith(then) for now in held) for then in crashed), f"killed at {number}"
        kept += len(orphans(home))
    assert kept, "at least one crash left a frame of the log that was rewritten"


def test_setting_unknown_bytes_aside_survives_a_kill_at_any_write(grown_logs: Scene, tmp_path: Path) -> None:
    before = grown_logs.store(tmp_path / "before")
    path = next((before / "raw").rglob(f"{ONE}.jsonl.zst"))
    with path.open("ab") as file:
        file.write(mirror.compress(b"lines that no log has\n").stored)
    unknown = path.read_bytes()
    points = crash_points.run(grown_logs.sync, Path(shutil.copytree(before, tmp_path / "undisturbed"))).points
    end = points.index("replace") + 6
    for number in range(points.index("link") - 1, end):
        home = Path(shutil.copytree(before, tmp_path / str(number)))
        assert crash_points.run(grown_logs.sync, home, kill_at=number).killed
        crash_points.run(grown_logs.sync, home)
        assert contents(home) == grown_logs.after, f"killed before {number}: {points[number - 1]}"
        assert {kept.suffix for kept in orphans(home)} == {".orphan"}
        assert all(kept.read_bytes() == unknown for kept in orphans(home))


@pytest.mark.parametrize("part", range(2))
def test_a_store_killed_while_it_is_made_is_made_by_the_next_command(
    unblocked: None, tmp_path: Path, migrated_home: Path, part: int
) -> None:
    points = crash_points.run(store.open_store, tmp_path / "undisturbed").points
    last = len(points)
    for number in [1, 3, last // 2, last - 1, last][part::2]:
        home = tmp_path / str(number)
        assert crash_points.run(store.open_store, home, kill_at=number).killed
        crash_points.run(store.open_store, home)
        assert damage(home) == []
        assert schema(home) == schema(migrated_home)
        assert [row["key"] for row in rows_of(home, "setting")] == [
            row["key"] for row in rows_of(migrated_home, "setting")
        ]
        assert home.joinpath("origin.db").stat().st_mode & 0o077 == 0


def schema(home: Path) -> set[str]:
    """Return every statement that made something in a database."""
    return {row["sql"] for row in rows_of(home, "sqlite_master")}


def rows_of(home: Path, table: str) -> list[sqlite3.Row]:
    """Read a whole table past the code under test."""
    with closing(sqlite3.connect(home / "origin.db")) as database:
        database.row_factory = sqlite3.Row
        return database.execute(f"SELECT * FROM {table}").fetchall()
