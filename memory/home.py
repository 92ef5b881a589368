"""The store's home directory: what lies where, private to the owner, and the locks processes share there."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from filelock import FileLock, Timeout

from memory.errors import OriginError

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
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if folder.stat().st_mode & 0o077:
                folder.chmod(0o700)
    except OSError as error:
        raise OriginError(f"Origin cannot use {home()} as its home: {error.strerror}.") from error


@contextmanager
def lock(name: str) -> Iterator[None]:
    """Hold the lock `name` against every other process and thread, waiting for it."""
    with FileLock(home() / "locks" / f"{name}.lock", mode=0o600):
        yield


@contextmanager
def raw_file_lock(raw_file_id: int, *, wait: bool) -> Iterator[bool]:
    """Hold the lock of one raw file for one batch; yields False at once where `wait` is off and another has it."""
    path = home() / "locks" / f"raw-{raw_file_id % _LOCK_FILES}.lock"
    file_lock = FileLock(path, mode=0o600, timeout=-1 if wait else 0)
    try:
        file_lock.acquire()
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        file_lock.release()


@contextmanager
def disk_errors_explained() -> Iterator[None]:
    """Turn a full disk, a lost directory or a broken database into an `OriginError` that says what to do."""
    try:
        yield
    except OSError as error:
        raise OriginError(f"Origin could not write to {home()}: {error.strerror or error}. Nothing was lost.") from error
    except sqlite3.Error as error:
        raise OriginError(f"The database in {home()} could not be used: {error}.") from error


def private(path: Path) -> None:
    """Give a file mode 0600."""
    if path.exists() and path.stat().st_mode & 0o077:
        os.chmod(path, 0o600)
