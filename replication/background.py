"""Syncs beside a server, each a child process, so that its memory and its locks stay out of the way of answers."""

import os
import subprocess
import sys
import time
from pathlib import Path

import anyio
from anyio.abc import Process, TaskGroup

# How long a reader waits for a sync that runs: by then the newest session is there, and the rest is said to be missing.
WAIT_SECONDS = 2.0
# How long a write waits until what was just said is read: it may be what the write cites.
WRITE_SECONDS = 5.0
# How long after a sync ended the next may begin.
PAUSE_SECONDS = 10.0

# Where our packages lie. -P keeps an agent's project folder out of the path, whatever modules it holds.
_ROOT = Path(__file__).resolve().parent.parent
COMMAND = (sys.executable, "-P", "-m", "origin_site", "sync", "--quiet")


class BackgroundSync:
    """At most one sync at a time, none sooner than ten seconds after the last; they end with `tasks`."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks
        self._process: Process | None = None
        self._ended = anyio.Event()
        self._reading = anyio.Lock()
        self._running = False
        self._started_at = 0.0
        self._next_at = 0.0

    def start(self) -> None:
        """Start a sync unless one runs or has just ended."""
        now = time.monotonic()
        if self._running or now < self._next_at:
            return
        self._running, self._started_at, self._ended = True, now, anyio.Event()
        self._tasks.start_soon(self._run)

    async def caught_up(self) -> None:
        """Start a sync where one is due, and wait for the one that runs until it has had two seconds."""
        self.start()
        if self._running:
            with anyio.move_on_after(self._started_at + WAIT_SECONDS - time.monotonic()):
                await self._ended.wait()

    async def read_now(self) -> bool:
        """Read what was just said, whatever ran when; False where that took longer than a write waits.

        A sync reads the files that are being written first, so that one beside a long one has them at once.
        """
        with anyio.move_on_after(WRITE_SECONDS) as waiting:
            async with self._reading:
                await self._read()
        return not waiting.cancelled_caught

    async def _read(self) -> None:
        async with await anyio.open_process(
            COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=None, env=_environment()
        ) as process:
            await process.wait()

    def stop(self) -> None:
        """End the running sync at once; what it had not committed is read again by the next one."""
        if self._process and self._process.returncode is None:
            self._process.terminate()

    async def _run(self) -> None:
        try:
            # In the server's own process group: a client that kills the group kills the sync with it.
            self._process = await anyio.open_process(
                COMMAND, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=None, env=_environment()
            )
            await self._process.wait()
        except OSError as error:
            print(f"The sync could not be started: {error}", file=sys.stderr)
        finally:
            self.stop()
            self._running, self._next_at = False, time.monotonic() + PAUSE_SECONDS
            self._ended.set()


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH"))))
    return os.environ | {"PYTHONPATH": path}
