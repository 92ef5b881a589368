"""Reads agents' databases without disturbing them, and gives their rows the one form a row journal has."""

import json
import os
import shutil
import sqlite3
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from ingest.adapters.contract import SourceFile

_BUSY_SECONDS = 3
_BASE64 = "_base64"
# The 20th byte of a database says how it is read; one that is empty or none has no such byte.
_HEADER, _WAL_MODE = 20, b"\x02"


@contextmanager
def read_only(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database as it is now, what is still in its WAL included; raises `sqlite3.Error` or `OSError`.

    Texts come as the bytes they are: agents do not always write UTF-8.
    """
    os.stat(path)  # a database that is gone is no broken one
    if not _lacks_its_index(path):
        with _opened(path) as connection:
            yield connection
        return
    with TemporaryDirectory(prefix="origin-") as folder, _opened(_copied(path, Path(folder))) as connection:
        yield connection


def _lacks_its_index(path: Path) -> bool:
    """True for a database in WAL mode that needs an index to be read, where it may not be made: on a read-only disk."""
    with path.open("rb") as file:
        wal_mode = file.read(_HEADER)[-1:] == _WAL_MODE
    return wal_mode and not os.path.exists(f"{path}-shm") and not os.access(path.parent, os.W_OK)


def _copied(path: Path, folder: Path) -> Path:
    """Copy a database with its WAL, which nobody has open: whoever had it would have made the index."""
    copy = folder / "copy.db"
    shutil.copyfile(path, copy)
    with suppress(FileNotFoundError):
        shutil.copyfile(f"{path}-wal", f"{copy}-wal")
    return copy


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    uri = f"file:{quote(str(path))}?mode=ro"
    # Never immutable=1: of a live database that gives stale or torn pages.
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        connection.text_factory = bytes
        connection.execute("BEGIN")
        yield connection
    finally:
        connection.close()


def has_table(connection: sqlite3.Connection, name: str) -> bool:
    """True where a database has a table; an agent makes them as it comes to need them."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (name,))
    return found.fetchone() is not None


def journal_line(columns: Mapping[str, object]) -> bytes:
    """Return a row as canonical JSON: keys sorted, no white space, a column that is NULL left out.

    Bytes that are no UTF-8 stand as base64 under the column's name and `_base64`.
    """
    told = dict(_column(name, value) for name, value in columns.items() if value is not None)
    return json.dumps(told, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


def column_bytes(row: Mapping[str, object], name: str) -> bytes:
    """Return a column of a journal line as the bytes it is in the database; empty where it is NULL or no bytes."""
    value = row.get(name)
    if isinstance(value, str):
        return value.encode()
    encoded = row.get(name + _BASE64)
    try:
        return b64decode(encoded, validate=True) if isinstance(encoded, str) else b""
    except ValueError:
        return b""


def _column(name: str, value: object) -> tuple[str, object]:
    if not isinstance(value, bytes):
        return name, value
    try:
        return name, value.decode()
    except UnicodeDecodeError:
        return name + _BASE64, b64encode(value).decode()


def database(source: str, path: str, logical_path: str, status: os.stat_result) -> SourceFile:
    """Return a database as a source file: what is written to its WAL changes its size and time too."""
    size, mtime_ns = status.st_size, status.st_mtime_ns
    try:
        wal = os.stat(f"{path}-wal")
    except OSError:
        wal = None
    # Opening a database may leave an empty WAL behind, which changes nothing.
    if wal is not None and wal.st_size:
        size, mtime_ns = size + wal.st_size, max(mtime_ns, wal.st_mtime_ns)
    return SourceFile(source, path, logical_path, "rows", size, mtime_ns, status.st_ino)
