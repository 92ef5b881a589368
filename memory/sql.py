"""Raw SQL on the store's connection, for what the ORM cannot say: bulk inserts, full-text search, views."""

import contextlib
import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

Value = str | int | float | bytes | None
Row = tuple[Value, ...]
# What a query gives back: SQLite's columns have no fixed type, so each caller says what it expects.
Result = tuple[Any, ...]

# SQLite binds at most 32,766 values a statement; FTS5 flushes its hash once per statement, so few large ones are best.
_MAX_VALUES = 32_000


def _handle() -> sqlite3.Connection:
    connection.ensure_connection()
    handle = connection.connection
    assert isinstance(handle, sqlite3.Connection)
    return handle


def execute(query: str, values: Sequence[Value] = ()) -> int:
    """Run one statement with `?` placeholders; returns how many rows it changed."""
    with connection.wrap_database_errors:
        return _handle().execute(query, values).rowcount


def execute_many(query: str, values: Iterable[Row]) -> None:
    """Run one statement for each row of values."""
    with connection.wrap_database_errors:
        _handle().executemany(query, values)


def rows(query: str, values: Sequence[Value] = ()) -> list[Result]:
    """Run one query with `?` placeholders and return its rows."""
    with connection.wrap_database_errors:
        return _handle().execute(query, values).fetchall()


def statements(script: str) -> tuple[str, ...]:
    """Return the statements of a script, each of which ends at the end of a line."""
    # Left to itself a migration parses all of its SQL to find this out, which is half of what making a store takes.
    found, begun = list[str](), ""
    for line in script.splitlines(keepends=True):
        begun += line
        if sqlite3.complete_statement(begun):
            found.append(begun.strip())
            begun = ""
    assert not begun.strip(), begun
    return tuple(found)


def state() -> tuple[object, ...] | None:
    """Return what differs once anything in the database may have changed; None in a transaction, which may not last."""
    handle = _handle()
    if handle.in_transaction:
        return None
    return handle, rows("PRAGMA data_version")[0][0], handle.total_changes


def narrowed(
    conditions: Iterable[str], values: Sequence[Value], tests: Iterable[tuple[str, Value]]
) -> tuple[str, list[Value]]:
    """Return conditions as one, with their values, narrowed by each of some tests whose one value is not empty.

    `1` is the condition that all pass, and is returned where nothing narrows it.
    """
    asked = [(test, value) for test, value in tests if value]
    parts = [condition for condition in (*conditions, *(test for test, _ in asked)) if condition != "1"]
    return " AND ".join(parts) or "1", [*values, *(value for _, value in asked)]


def marks(count: int) -> str:
    """Return `?,?,…` for an IN list."""
    return ",".join("?" * count)


def rows_in(query: str, keys: Sequence[Value]) -> list[Result]:
    """Run a query that holds `{marks}` where the keys of an IN list go, in as many pieces as SQLite needs."""
    found: list[Result] = []
    for start in range(0, len(keys), _MAX_VALUES):
        piece = keys[start : start + _MAX_VALUES]
        found += rows(query.format(marks=marks(len(piece))), piece)
    return found


def insert(into: str, values: Iterable[Row]) -> int:
    """Insert many rows by few statements, `into` being `table (column, …)`; returns how many went in.

    A row whose key exists is left out, by the append-only triggers or by OR IGNORE.
    """
    batch = list(values)
    if not batch:
        return 0
    width = len(batch[0])
    step = _MAX_VALUES // width
    one = f"({marks(width)})"
    done = 0
    for start in range(0, len(batch), step):
        piece = batch[start : start + step]
        query = f"INSERT OR IGNORE INTO {into} VALUES {','.join([one] * len(piece))}"
        done += execute(query, [value for row in piece for value in row])
    return done


def copy_to(path: str) -> None:
    """Copy the database as it is now to a file, in one step.

    Done in steps, a copy begins again whenever another process writes, and may never end (lab-hub 8).
    """
    with connection.wrap_database_errors, contextlib.closing(sqlite3.connect(path)) as copy:
        _handle().backup(copy)
