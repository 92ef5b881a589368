"""Real processes on one store: syncs at once, a full disk, a lost or older database, logs that change under a sync."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from ingest import readers
from ingest import sync as sync_module
from ingest.adapters.claude_code import ADAPTER
from memory import mirror
from tests.commands import origin, started, without_rights_over_files
from tests.conftest import AgentHome, assistant, session_uuid, user, using_home
from tests.store_digest import contents, damage, mirror_bytes, orphans

ONE, TWO = session_uuid(1), session_uuid(2)
SEARCH_UNTIL_TOLD = """
import sys, time
from datetime import UTC
import django
django.setup()
from django.db import connection
from memory import store, tools
from memory.scope import EVERYTHING
store.open_store()
print("ready", flush=True)
searches = found = 0
until = time.monotonic() + 60
while time.monotonic() < until and not __import__("pathlib").Path(sys.argv[1]).exists():
    answer = tools.call("search", {"query": "question"}, EVERYTHING, UTC)
    searches, found = searches + 1, found + ("question" in answer.lower())
    if searches % 5 == 0:
        connection.close()
print(searches, found)
"""


def synced(home: Path, person: AgentHome) -> None:
    """Sync in a process of its own, which must end well and have nothing to say."""
    done = origin("sync", "--quiet", home=home, person=person.path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def many_logs(person: AgentHome, files: int = 60, lines: int = 30) -> None:
    """Write sessions of about 500 bytes a line; every third one repeats lines of the one before it."""
    for number in range(files):
        session = session_uuid(number)
        if number % 3 == 2:
            before = session_uuid(number - 1)
            person.write(session, *(said(number - 1, line, before) for line in range(5)))
        person.write(session, *(said(number, line, session) for line in range(lines)))


def said(number: int, line: int, session: str) -> dict[str, object]:
    """Return one line that stands for itself: its own id, time and words."""
    say = user if line % 2 == 0 else assistant
    return say(number * 100 + line, f"Question {number} 问题 {line} " + f"word{line} " * 20, session)


@pytest.fixture
def logs(agent_home: AgentHome) -> AgentHome:
    """A person's home with many logs."""
    many_logs(agent_home)
    return agent_home


class Undisturbed:
    """What one sync without any trouble makes of logs; of many logs, only once for all tests."""

    def __init__(self, migrated_home: Path, folder: Path) -> None:
        self._migrated_home, self._folder = migrated_home, folder
        self._made: dict[frozenset[bytes], dict[str, Any]] = {}

    def of(self, person: AgentHome) -> dict[str, Any]:
        """Return the contents of a new store that knows this person's logs."""
        logs = frozenset(path.read_bytes() for path in person.path.rglob("*.jsonl"))
        if logs not in self._made:
            home = Path(shutil.copytree(self._migrated_home, self._folder / str(len(self._made))))
            with using_home(home):
                person.sync()
            self._made[logs] = contents(home)
        return self._made[logs]


@pytest.fixture(scope="session")
def undisturbed_syncs(migrated_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """Stores made so far."""
    return Undisturbed(migrated_home, tmp_path_factory.mktemp("undisturbed"))


@pytest.fixture
def undisturbed(undisturbed_syncs: Undisturbed, django_db_blocker: DjangoDbBlocker) -> Iterator[Undisturbed]:
    """The same, with the right to make more."""
    with django_db_blocker.unblock():
        yield undisturbed_syncs


def held_bytes(home: Path) -> set[bytes]:
    """Return what every mirror and every file set aside holds."""
    return {mirror_bytes(path) for path in (home / "raw").rglob("*") if path.suffix in (".zst", ".orphan")}


def files_below(path: Path) -> dict[str, bytes]:
    """Return every file below a directory, byte for byte."""
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def nothing_is_lost(before: set[bytes], home: Path) -> bool:
    """True where all that was held is still there, as it was or as the beginning of more."""
    now = held_bytes(home)
    return all(any(held.startswith(then) for held in now) for then in before)


# Several at once


def test_syncs_at_once_make_the_store_that_one_makes(tmp_path: Path, logs: AgentHome, undisturbed: Undisturbed) -> None:
    many = tmp_path / "many"

    running = [started("manage.py", "sync", "--json", home=many, person=logs.path) for _ in range(4)]
    said = [process.communicate(timeout=120) for process in running]

    assert [process.returncode for process in running] == [0] * 4, [errors for _, errors in said]
    assert [errors for _, errors in said] == [""] * 4
    found = undisturbed.of(logs)
    reported = [json.loads(out)["sources"]["claude-code"]["events"] for out, _ in said]
    assert sum(reported) == len(found["events"]) == 60 * 30
    assert contents(many) == found
    assert damage(many) == []


def test_a_search_beside_a_sync_is_always_answered(store: Path, tmp_path: Path, logs: AgentHome) -> None:
    stop = tmp_path / "stop"
    reader = started("-c", SEARCH_UNTIL_TOLD, str(stop), home=store, person=logs.path)
    assert reader.stdout.readline() == b"ready\n"

    synced(store, logs)
    many_logs(logs, files=20, lines=60)
    synced(store, logs)
    stop.touch()
    out, errors = reader.communicate(timeout=120)

    assert (reader.returncode, errors) == (0, "")
    searches, found = map(int, out.split())
    assert searches > 20
    assert found > 0
    assert damage(store) == []


# Disks


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Make a disk of so many bytes, or larger when asked again; needs the right to mount one."""
    path = tmp_path / "disk"
    path.mkdir()

    def sized(size: int) -> Path:
        options = f"size={size}" + (",remount" if path.is_mount() else "")
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", path], capture_output=True, check=False)
        if done.returncode != 0:
            pytest.skip("NOT RUN: a small disk can be mounted by root only")
        return path

    yield sized
    if path.is_mount():
        subprocess.run(["umount", path], check=True)


@pytest.mark.parametrize(("kilobytes", "begun"), [(500, False), (1_400, True)])
def test_a_full_disk_is_one_sentence_and_loses_nothing(
    logs: AgentHome, small_disk: Callable[[int], Path], kilobytes: int, begun: bool, undisturbed: Undisturbed
) -> None:
    home = small_disk(kilobytes << 10) / "origin"

    done = origin("sync", home=home, person=logs.path)
    before = held_bytes(home)
    small_disk(64 << 20)
    synced(home, logs)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"The disk that holds {home} is full. ")
    assert done.stderr.endswith("ree some space and run this again.\n")
    assert done.stderr.count("\n") == 1
    assert bool(before) == begun
    assert nothing_is_lost(before, home)
    assert_equal(home, undisturbed.of(logs))


def test_a_limit_on_file_sizes_is_one_sentence_and_loses_nothing(
    tmp_path: Path, logs: AgentHome, undisturbed: Undisturbed
) -> None:
    home = tmp_path / "origin"

    done = origin("sync", home=home, person=logs.path, preexec_fn=limited_to(900 << 10))
    synced(home, logs)

    assert (done.returncode, done.stdout) == (1, "")
    assert str(home) in done.stderr
    assert done.stderr.count("\n") == 1
    assert "did not expect" not in done.stderr
    assert_equal(home, undisturbed.of(logs))


def limited_to(size: int) -> Callable[[], None]:
    """For `preexec_fn`: no file may grow beyond `size` bytes."""
    import resource

    return partial(resource.setrlimit, resource.RLIMIT_FSIZE, (size, size))


def assert_equal(home: Path, expected: dict[str, Any]) -> None:
    """Fail where a store differs from one that was made without any trouble."""
    assert damage(home) == []
    assert contents(home) == expected


def test_a_store_that_cannot_be_written_is_one_sentence(store: Path, logs: AgentHome, undisturbed: Undisturbed) -> None:
    home = store
    synced(home, logs)
    logs.write(ONE, user(7_000, "One more", ONE))
    everything = [home, *home.rglob("*")]
    modes = {path: path.stat().st_mode for path in everything}
    for path in reversed(everything):
        path.chmod(0o500 if path.is_dir() else 0o400)

    done = origin("sync", home=home, person=logs.path, preexec_fn=without_rights_over_files)

    for path, mode in modes.items():
        path.chmod(mode)
    assert (done.returncode, done.stdout) == (1, "")
    assert str(home) in done.stderr
    assert done.stderr.count("\n") == 1
    assert "did not expect" not in done.stderr
    synced(home, logs)
    assert_equal(home, undisturbed.of(logs))


# A database that does not belong to its mirrors


def test_a_database_deleted_beside_its_mirrors_stops_sync(store: Path, logs: AgentHome) -> None:
    home = store
    logs.sync()
    before = files_below(home / "raw")
    delete_database(home)

    first = origin("sync", home=home, person=logs.path)
    second = origin("sync", home=home, person=logs.path)

    for done in (first, second):
        assert (done.returncode, done.stdout) == (1, "")
        assert "`rebuild`" in done.stderr
    assert files_below(home / "raw") == before


def delete_database(home: Path) -> None:
    for path in home.glob("origin.db*"):
        path.unlink()


@pytest.fixture
def older(store: Path, tmp_path: Path, agent_home: AgentHome) -> tuple[Path, Path]:
    """A store that knows one log, and a copy of its database."""
    agent_home.write(ONE, *(said(1, line, ONE) for line in range(10)))
    synced(store, agent_home)
    return store, Path(shutil.copy(store / "origin.db", tmp_path / "older.db"))


def restore(home: Path, database: Path) -> None:
    delete_database(home)
    shutil.copy(database, home / "origin.db")


def test_an_older_database_that_lacks_one_batch_goes_on(
    agent_home: AgentHome, older: tuple[Path, Path], undisturbed: Undisturbed
) -> None:
    home, database = older
    agent_home.write(ONE, *(said(1, line, ONE) for line in range(10, 20)))
    synced(home, agent_home)
    restore(home, database)

    synced(home, agent_home)

    assert_equal(home, undisturbed.of(agent_home))


def test_an_older_database_that_lacks_batches_stops_sync(agent_home: AgentHome, older: tuple[Path, Path]) -> None:
    home, database = older
    for line in (10, 11):
        agent_home.write(ONE, said(1, line, ONE))
        synced(home, agent_home)
    agent_home.write(ONE, said(1, 12, ONE))
    before = files_below(home / "raw")
    restore(home, database)

    done = origin("sync", home=home, person=agent_home.path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "`rebuild`" in done.stderr
    assert files_below(home / "raw") == before


def test_an_older_database_that_lacks_a_file_stops_sync(agent_home: AgentHome, older: tuple[Path, Path]) -> None:
    home, database = older
    agent_home.write(TWO, said(2, 1, TWO))
    synced(home, agent_home)
    before = files_below(home / "raw")
    restore(home, database)

    done = origin("sync", home=home, person=agent_home.path)

    assert (done.returncode, done.stdout) == (1, "")
    assert "`rebuild`" in done.stderr
    assert files_below(home / "raw") == before


@pytest.mark.parametrize("newest", ["gone", "rewritten", "shortened", "changed behind"])
def test_an_older_database_loses_nothing_of_a_log_that_is_no_longer_as_it_was(
    agent_home: AgentHome, older: tuple[Path, Path], newest: str
) -> None:
    home, database = older
    log = agent_home.write(ONE, *(said(1, line, ONE) for line in range(10, 20)))
    synced(home, agent_home)
    before = held_bytes(home)
    restore(home, database)
    lines = log.read_bytes().splitlines(keepends=True)
    log.unlink()
    if newest == "rewritten":
        agent_home.write(ONE, *(said(1, line, ONE) for line in range(50, 60)))
    elif newest == "shortened":
        log.write_bytes(b"".join(lines[:5]))
    elif newest == "changed behind":
        log.write_bytes(b"".join(lines[:12]))
        agent_home.write(ONE, *(said(1, line, ONE) for line in range(50, 60)))

    done = origin("sync", home=home, person=agent_home.path)

    assert done.returncode == 0
    assert nothing_is_lost(before, home)
    if newest == "changed behind":
        assert [str(path) in done.stderr for path in orphans(home)] == [True]
    if newest != "gone":
        assert log.read_bytes() in held_bytes(home)


@pytest.mark.parametrize("unknown", ["more than a batch", "a whole frame"])
def test_unknown_bytes_behind_a_mirror_are_kept_and_reported(
    agent_home: AgentHome, older: tuple[Path, Path], unknown: str, undisturbed: Undisturbed
) -> None:
    home, _ = older
    path = next((home / "raw").rglob(f"{ONE}.jsonl.zst"))
    with path.open("ab") as file:
        file.write(os.urandom(1_300_000) if unknown == "more than a batch" else mirror.compress(b"not ours\n").stored)
    before = path.read_bytes()
    agent_home.write(ONE, said(1, 30, ONE))

    done = origin("sync", home=home, person=agent_home.path)

    (orphan,) = orphans(home)
    assert done.returncode == 0
    assert done.stderr == f"claude-code: Bytes of unknown origin behind a mirror were kept as {orphan}.\n"
    assert orphan.read_bytes() == before
    assert contents(home) == undisturbed.of(agent_home)


# Logs that change under a sync


def test_a_log_that_grows_while_it_is_read_is_archived_whole(
    store: Path, agent_home: AgentHome, undisturbed: Undisturbed
) -> None:
    home = store
    agent_home.write(ONE, *(said(1, line, ONE) for line in range(2_000)))
    process = started("manage.py", "sync", "--quiet", home=home, person=agent_home.path)
    written = 2_000
    while process.poll() is None:
        log = agent_home.write(ONE, said(1, written, ONE))
        written += 1
        time.sleep(0.002)

    assert process.communicate() == ("", "")
    assert process.returncode == 0
    synced(home, agent_home)

    (held,) = held_bytes(home)
    assert held == log.read_bytes()
    assert len(contents(home)["events"]) == written
    assert_equal(home, undisturbed.of(agent_home))


def test_a_log_another_run_read_further_than_it_was_found_is_not_taken_for_a_shorter_one(
    store: Path, agent_home: AgentHome
) -> None:
    agent_home.write(ONE, said(1, 1, ONE))
    found_before_it_grew = list(ADAPTER.discover(agent_home.environment))
    agent_home.write(ONE, said(1, 2, ONE))
    agent_home.sync()

    sync_module.sync([replace(ADAPTER, discover=lambda environment: found_before_it_grew)], agent_home.environment)

    assert [(place[3], held["lines"]) for place, held in contents(store)["mirrors"].items()] == [(0, 2)]


@pytest.fixture
def watchful(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small batches, and a look at what is being written between any two of them."""
    monkeypatch.setattr(sync_module, "HOT_CHECK_SECONDS", 0)
    for name in ("BATCH_EVENTS", "BATCH_EVENTS_ALONE"):
        monkeypatch.setattr(sync_module, name, 4)
    for module in (sync_module, readers):
        monkeypatch.setattr(module, "FRAME_BYTES", 4_000)


@pytest.mark.usefixtures("watchful")
def test_a_log_written_between_two_batches_is_archived_once(store: Path, agent_home: AgentHome) -> None:
    log = agent_home.write(ONE, *(said(1, line, ONE) for line in range(30)))
    more = iter(range(30, 60))

    def write_one(done: int, total: int) -> None:
        if (line := next(more, None)) is not None:
            agent_home.write(ONE, said(1, line, ONE))

    sync_module.sync([ADAPTER], agent_home.environment, write_one)
    agent_home.sync()

    assert damage(store) == []
    assert held_bytes(store) == {log.read_bytes()}
    assert len(contents(store)["events"]) == log.read_bytes().count(b"\n") > 30


@pytest.mark.usefixtures("watchful")
@pytest.mark.parametrize("lines", [5, 60])
def test_a_log_rewritten_between_two_batches_is_archived_as_it_became(
    store: Path, agent_home: AgentHome, lines: int
) -> None:
    log = agent_home.write(ONE, *(said(1, line, ONE) for line in range(30)))
    batches = iter(range(2))

    def rewrite_once(done: int, total: int) -> None:
        if next(batches, None) == 1:
            os.truncate(log, 0)
            agent_home.write(ONE, *(said(2, line, ONE) for line in range(lines)))

    sync_module.sync([ADAPTER], agent_home.environment, rewrite_once)
    agent_home.sync()

    assert damage(store) == []
    assert log.read_bytes() in held_bytes(store)


def test_a_log_rewritten_in_place_while_it_is_read_is_archived_as_it_became(store: Path, agent_home: AgentHome) -> None:
    home = store
    log = agent_home.write(ONE, *(said(1, line, ONE) for line in range(6_000)))
    process = started("manage.py", "sync", "--quiet", home=home, person=agent_home.path)
    while not list((home / "raw").rglob("*.zst")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.001)
    with log.open("r+b") as file:
        file.truncate(0)
    agent_home.write(ONE, *(said(2, line, ONE) for line in range(9_000)))

    _, errors = process.communicate(timeout=60)
    synced(home, agent_home)

    assert (process.returncode, errors) == (0, "")
    assert log.read_bytes() in held_bytes(home)
    assert damage(home) == []
    names = {f"claude-code:{said(2, line, ONE)['uuid']}" for line in range(9_000)}
    assert names <= contents(home)["events"].keys()
