"""Killing a command at a write of your choice: the work runs in a forked child that counts its writes as it goes."""

import gc
import os
import re
import signal
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import connection, connections
from django.db.backends.signals import connection_created
from django.db.backends.sqlite3.base import DatabaseWrapper

# What a statement that changes the database begins with, and the full-text tables' own writes inside one of those.
_WRITES = re.compile(r"\s*(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER|BEGIN|COMMIT|PRAGMA wal_checkpoint)")
_INSIDE_A_STATEMENT = re.compile(r"--|.*'main'\.'", re.DOTALL)
NEVER = 1 << 40


class Ended(NamedTuple):
    """How a child ended: the write points it met, and whether it was killed at the last of them."""

    points: list[str]
    killed: bool


def run(work: Callable[[], object], home: Path, *, kill_at: int = NEVER, torn: bool = False) -> Ended:
    """Run `work` on the store in `home` in a forked child, and kill -9 it at its write point `kill_at`.

    `torn` lets half of the bytes of a write to a mirror reach the disk first. Fails where the child does.
    """
    connections.close_all()
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _be_the_child(work, home, _Points(writing, kill_at, torn))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, said
    return Ended(said.splitlines(), killed)


class _Points:
    """Counts write points, and ends the process at one."""

    def __init__(self, pipe: int, kill_at: int, torn: bool) -> None:
        self._pipe, self._left, self.torn = pipe, kill_at, torn
        self._met: list[str] = []
        self._last = ""

    @property
    def is_next(self) -> bool:
        """True where the next point is the last."""
        return self._left == 1

    def meet(self, name: str) -> None:
        """Stand at a write point."""
        self._met.append(name)
        self._left -= 1
        if self._left == 0:
            self.tell()
            os.kill(os.getpid(), signal.SIGKILL)

    def tell(self, trouble: str = "") -> None:
        """Tell the parent of every point met, all at once: it would wake for each."""
        with os.fdopen(self._pipe, "w") as pipe:
            pipe.write("\n".join([*self._met, trouble]))

    def statement(self, text: str) -> None:
        """Stand before an SQL statement, where it writes; SQLite tells of one again for what its triggers do."""
        if text != self._last and _WRITES.match(text) and not _INSIDE_A_STATEMENT.match(text):
            self.meet(" ".join(text[:60].split()))
        self._last = text


def _be_the_child(work: Callable[[], object], home: Path, points: _Points) -> None:
    # Collecting would touch, and so copy, every page that the child shares with its parent.
    gc.disable()
    try:
        settings.ORIGIN_HOME = home
        connection.settings_dict["NAME"] = home / "origin.db"
        _watch_the_disk(points)
        _watch_the_database(points)
        work()
        connections.close_all()
        points.tell()
        os._exit(0)
    except BaseException:
        points.tell(traceback.format_exc())
        os._exit(1)


def _watch_the_disk(points: _Points) -> None:
    """Stand before every call that changes a file or makes it last."""

    def watched(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def before(*arguments: Any, **options: Any) -> Any:
            points.meet(name)
            return call(*arguments, **options)

        return before

    whole_write = os.pwrite

    def torn_write(descriptor: int, data: memoryview, offset: int) -> int:
        if points.torn and points.is_next:
            whole_write(descriptor, data[: len(data) // 2], offset)
        points.meet("pwrite")
        return whole_write(descriptor, data, offset)

    for name in ("fsync", "ftruncate", "replace", "link", "chmod"):
        setattr(os, name, watched(name, getattr(os, name)))
    os.pwrite = torn_write  # type: ignore[assignment]


def _watch_the_database(points: _Points) -> None:
    """Stand before every statement that writes, and after every commit of a transaction."""

    def watch(connection: DatabaseWrapper, **_: object) -> None:
        connection.connection.set_trace_callback(points.statement)

    commit = DatabaseWrapper._commit  # type: ignore[attr-defined]

    def committed(wrapper: DatabaseWrapper) -> None:
        commit(wrapper)
        points.meet("after COMMIT")

    connection_created.connect(watch, weak=False)
    DatabaseWrapper._commit = committed  # type: ignore[attr-defined]
