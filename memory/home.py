"""The store's home directory: what lies where, private to the owner, and the locks processes share there."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from django.conf import settings
from filelock import FileLock, Timeout

from memory.errors import OriginError

if sys.platform != "win32":
    import fcntl

# The path and the open file whose shared lock says that this process uses the store.
_attached: dict[str, Any] = {}
# Locks are held for one batch, so many raw files can share few lock files without waiting long.
_LOCK_FILES = 64


def home() -> Path:
    """Return the home directory, `$ORIGIN_HOME` or `~/.origin`."""
    return Path(settings.ORIGIN_HOME)


def database_path() -> Path:
    """Return where the SQLite database lies."""
    return home() / "origin.db"


def raw_path() -> Path:
    """Return the directory of the mirrors."""
    return home() / "raw"


def create() -> None:
    """Create the home and its folders with mode 0700, and give an older one that mode.

    Raises `OriginError` where the place cannot be written.
    """
    try:
        for folder in (home(), raw_path(), home() / "keys", home() / "locks"):
            make_folder(folder)
            if folder.stat().st_mode & 0o077:
                folder.chmod(0o700)
    except OSError as error:
        raise OriginError(f"Origin cannot use {home()} as its home: {error.strerror}.") from error


def make_folder(path: Path) -> None:
    """Make a folder and those missing above it private to the owner; `mkdir` does so for the last one only."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock `name` against every other process and thread, waiting for it."""
    with FileLock(home() / "locks" / f"{name}.lock", mode=0o600):
        yield


class RawFileLocks:
    """The locks of the raw files that one batch reads; all are let go when the block ends."""

    def __init__(self) -> None:
        self._held: dict[int, FileLock] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for file_lock in self._held.values():
            file_lock.release()

    def take(self, raw_file_id: int, *, wait: bool) -> bool:
        """Lock one raw file; False at once where `wait` is off and another process has it."""
        number = raw_file_id % _LOCK_FILES
        if number in self._held:
            return True
        file_lock = FileLock(home() / "locks" / f"raw-{number}.lock", mode=0o600, timeout=-1 if wait else 0)
        try:
            file_lock.acquire()
        except Timeout:
            return False
        self._held[number] = file_lock
        return True


def attach() -> None:
    """Let other processes know, for as long as this one lives, that the store is in use."""
    path = home() / "locks" / "attached"
    if sys.platform == "win32" or _attached.get("path") == path:
        return
    private(path)
    file = path.open("ab")
    fcntl.flock(file, fcntl.LOCK_SH)
    _attached.update(path=path, file=file)


def alone() -> bool:
    """True where no other process is attached to the store; never where the system cannot tell."""
    file = _attached.get("file")
    if sys.platform == "win32" or file is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        fcntl.flock(file, fcntl.LOCK_SH)
    return True


def private(path: Path) -> None:
    """Make a file, empty where it is missing, that only the owner may read and write."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
