"""Listens to what databases are asked."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def statements() -> Iterator[list[str]]:
    """Collect the SQL that connections opened inside are asked."""
    asked: list[str] = []
    connect = sqlite3.connect

    def listening(*given: Any, **named: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(*given, **named)
        connection.set_trace_callback(asked.append)
        return connection

    with patch.object(sqlite3, "connect", listening):
        yield asked
