"""The sync beside a server: one at a time, not too often, never waited for long, and gone when the server is."""

import os
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest

from replication import background
from replication.background import BackgroundSync


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Let a sync be a Python program that first writes its number to a file, and return that file."""

    def use(code: str) -> Path:
        log = tmp_path / "runs"
        log.touch()
        start = f"import os, sys, time; open({str(log)!r}, 'a').write(f'{{os.getpid()}}\\n'); {code}"
        monkeypatch.setattr(background, "COMMAND", (sys.executable, "-c", start))
        return log

    return use


def with_sync(act: Callable[[BackgroundSync], Awaitable[None]]) -> None:
    async def run() -> None:
        async with anyio.create_task_group() as tasks:
            await act(BackgroundSync(tasks))
            tasks.cancel_scope.cancel()

    anyio.run(run)


def begun(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()]


async def until_begun(log: Path) -> int:
    with anyio.fail_after(30):
        while not begun(log):
            await anyio.sleep(0.01)
    return begun(log)[0]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_reader_waits_for_a_sync_that_ends_soon(runs: Callable[[str], Path]) -> None:
    log = runs("time.sleep(0.1)")

    async def act(sync: BackgroundSync) -> None:
        await sync.caught_up()
        assert not is_running(begun(log)[0])

    with_sync(act)


def test_a_reader_waits_two_seconds_at_most(runs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "WAIT_SECONDS", 0.2)
    log = runs("time.sleep(300)")

    async def act(sync: BackgroundSync) -> None:
        for longest in (5.0, 0.1):
            started = time.monotonic()
            await sync.caught_up()
            assert time.monotonic() - started < longest
        assert is_running(await until_begun(log))

    with_sync(act)


def test_many_readers_at_once_share_one_sync(runs: Callable[[str], Path]) -> None:
    log = runs("time.sleep(0.2)")

    async def act(sync: BackgroundSync) -> None:
        async with anyio.create_task_group() as readers:
            for _ in range(10):
                readers.start_soon(sync.caught_up)

    with_sync(act)

    assert len(begun(log)) == 1


def test_the_next_sync_waits_for_the_pause_to_pass(
    runs: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = runs("pass")

    async def act(sync: BackgroundSync) -> None:
        for _ in range(3):
            await sync.caught_up()
        assert len(begun(log)) == 1
        monkeypatch.setattr(background, "PAUSE_SECONDS", 0.0)
        clock = time.monotonic() + 11
        monkeypatch.setattr(time, "monotonic", lambda: clock)
        await sync.caught_up()
        assert len(begun(log)) == 2

    with_sync(act)


def test_a_sync_ends_with_the_server(runs: Callable[[str], Path]) -> None:
    log = runs("time.sleep(300)")
    processes = []

    async def act(sync: BackgroundSync) -> None:
        sync.start()
        processes.append(await until_begun(log))

    with_sync(act)

    deadline = time.monotonic() + 10
    while is_running(processes[0]) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_running(processes[0])


def test_a_sync_that_cannot_be_started_is_said_and_the_next_is_tried(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(background, "COMMAND", ("/no/such/program",))
    monkeypatch.setattr(background, "PAUSE_SECONDS", -1.0)

    async def act(sync: BackgroundSync) -> None:
        await sync.caught_up()
        await sync.caught_up()

    with_sync(act)

    assert capfd.readouterr().err.count("could not be started") == 2


def test_a_sync_reads_nothing_and_what_it_prints_is_dropped(
    runs: Callable[[str], Path], capfd: pytest.CaptureFixture[str]
) -> None:
    runs("print('on stdout'); sys.stderr.write('read ' + repr(sys.stdin.read()))")

    with_sync(BackgroundSync.caught_up)

    output = capfd.readouterr()
    assert output.out == ""
    assert output.err == "read ''"
