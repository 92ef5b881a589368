"""Databases of agents are read as they are now, and their rows have one form."""

import json
import sqlite3
from pathlib import Path

import pytest

from ingest.adapters.journal import column_bytes, database, has_table, journal_line, read_only


def test_columns_are_sorted_and_null_is_left_out() -> None:
    assert journal_line({"b": b"\xc3\xa9", "a": 1, "c": None}) == '{"a":1,"b":"é"}'.encode()


@pytest.mark.parametrize("value", [b"", b"text", b"\xff\x00", "é\u2028".encode(), b'{"a":1}\n'])
def test_a_column_comes_back_as_the_bytes_it_was(value: bytes) -> None:
    line = journal_line({"value": value})
    assert b"\n" not in line
    assert column_bytes(json.loads(line), "value") == value


@pytest.mark.parametrize("row", [{}, {"value": 5}, {"value_base64": "no base64"}, {"value_base64": 5}])
def test_a_column_that_is_no_bytes_is_empty(row: dict[str, object]) -> None:
    assert column_bytes(row, "value") == b""


def test_a_database_cannot_be_written_through_the_connection(tmp_path: Path) -> None:
    path = tmp_path / "a b#?.db"
    sqlite3.connect(path).execute("CREATE TABLE t (x)").connection.close()
    with read_only(path) as connection:
        assert (has_table(connection, "t"), has_table(connection, "u")) == (True, False)
        with pytest.raises(sqlite3.OperationalError, match="readonly"):
            connection.execute("INSERT INTO t VALUES (1)")


def test_an_empty_wal_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    path.write_bytes(b"x")
    before = database("cursor", str(path), "x.db", path.stat())
    (tmp_path / "x.db-wal").touch()
    assert database("cursor", str(path), "x.db", path.stat()) == before
    (tmp_path / "x.db-wal").write_bytes(b"more")
    assert database("cursor", str(path), "x.db", path.stat()).size == 5
