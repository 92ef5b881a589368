"""The names that Codex keeps for its threads in an index and in a database."""

import json
import sqlite3
from pathlib import Path

import pytest

from ingest.adapters.codex import parse_line
from ingest.adapters.codex.titles import read_rows
from memory.parsed import Line, State, Title

THREAD, OTHER = "019e0000-0000-7000-8000-000000000001", "019e0000-0000-7000-8000-000000000002"
OLDEST = "CREATE TABLE threads (id TEXT PRIMARY KEY, title TEXT NOT NULL, updated_at INTEGER NOT NULL)"
OLD = OLDEST[:-1] + ", first_user_message TEXT NOT NULL DEFAULT '')"
NEW = OLD[:-1] + ", updated_at_ms INTEGER, name TEXT, name_state TEXT NOT NULL DEFAULT 'unnamed')"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state_5.sqlite"


def change(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def thread(thread_id: str, title: str, updated_at: int, **columns: object) -> str:
    row = {"id": thread_id, "title": title, "updated_at": updated_at, **columns}
    values = ", ".join("NULL" if value is None else repr(value) for value in row.values())
    return f"INSERT OR REPLACE INTO threads ({', '.join(row)}) VALUES ({values})"


def rows(path: Path, watermark: State | None = None) -> tuple[list[dict[str, object]], State]:
    """Return the journal lines made since a watermark, and the watermark after them."""
    mark = watermark or {}
    found = []
    for row in read_rows(path, mark):
        found.append(json.loads(row.line))
        mark = json.loads(json.dumps(row.watermark))
    return found, mark


def titles(data: bytes, path: str) -> tuple[tuple[Title, ...], str]:
    parsed = parse_line(Line(data, 1, path), {})
    assert (parsed.events, parsed.state) == ((), {})
    return parsed.titles, parsed.at


# The index


@pytest.mark.parametrize("path", ["session_index.jsonl", "root-0a1b2c3d/session_index.jsonl"])
def test_a_line_of_the_index_names_a_thread(path: str) -> None:
    entry = {"id": THREAD, "thread_name": " The lamp ", "updated_at": "2026-06-01T08:00:00.123456789Z"}
    found = titles(json.dumps(entry).encode(), path)
    assert found == ((Title("custom", "The lamp", session=THREAD),), "2026-06-01T08:00:00.123Z")


@pytest.mark.parametrize(
    "entry", [{}, {"id": THREAD}, {"id": 5, "thread_name": "x"}, {"id": THREAD, "thread_name": " "}]
)
def test_a_line_of_the_index_without_a_name_gives_none(entry: dict[str, object]) -> None:
    assert titles(json.dumps(entry).encode(), "session_index.jsonl")[0] == ()


# The database


def test_a_row_is_journalled_as_a_canonical_line_that_names_its_thread(path: Path) -> None:
    change(path, OLD, thread(THREAD, "The lamp", 1_780_300_800, first_user_message="why does it smoke?"))
    line = next(iter(read_rows(path, {}))).line
    assert line.decode() == f'{{"key":"{THREAD}","name":"The lamp","table":"threads","updated_at":1780300800000}}'
    assert titles(line, "state_5.sqlite") == (
        (Title("custom", "The lamp", session=THREAD),),
        "2026-06-01T08:00:00.000Z",
    )


@pytest.mark.parametrize(
    ("schema", "columns", "name"),
    [
        (OLDEST, {}, None),
        (OLD, {"first_user_message": "why does it smoke?"}, "The lamp"),
        (OLD, {"first_user_message": ""}, "The lamp"),
        (OLD, {"first_user_message": " The lamp "}, None),
        (OLD, {"first_user_message": "The lamp smokes, why?"}, None),
        (NEW, {"name": "Named", "name_state": "explicit"}, "Named"),
        (NEW, {"name": "Named", "name_state": "cleared"}, None),
        (NEW, {"name": None, "name_state": "unnamed"}, None),
    ],
)
def test_a_title_that_repeats_how_the_person_began_is_no_name(
    path: Path, schema: str, columns: dict[str, object], name: str | None
) -> None:
    change(path, schema, thread(THREAD, "The lamp", 5, **columns))
    assert [row["name"] for row in rows(path)[0]] == ([name] if name else [])


def test_a_second_read_of_an_unchanged_database_gives_nothing(path: Path) -> None:
    change(path, OLD, thread(THREAD, "The lamp", 5), thread(OTHER, "The oil", 5))
    found, mark = rows(path)
    assert [row["key"] for row in found] == [THREAD, OTHER]
    assert rows(path, mark) == ([], mark)


def test_only_a_new_name_makes_a_new_line(path: Path) -> None:
    change(path, OLD, thread(THREAD, "The lamp", 5), thread(OTHER, "The oil", 6))
    mark = rows(path)[1]
    change(path, thread(THREAD, "The lamp", 7))
    assert rows(path, mark) == ([], mark)
    change(path, thread(THREAD, "The smoking lamp", 8))
    found, mark = rows(path, mark)
    assert [row["name"] for row in found] == ["The smoking lamp"]
    assert rows(path, mark)[0] == []


def test_reading_goes_on_in_the_middle(path: Path) -> None:
    change(path, OLD, *(thread(f"t{number:03}", f"Name {number}", number // 7) for number in range(100)))
    whole = rows(path)[0]
    assert len(whole) == 100
    part: list[dict[str, object]] = []
    mark: State = {}
    while True:
        row = next(iter(read_rows(path, mark)), None)
        if row is None:
            break
        part.append(json.loads(row.line))
        mark = json.loads(json.dumps(row.watermark))
    assert part == whole


def test_the_watermark_stays_small(path: Path) -> None:
    change(path, OLD, *(thread(f"t{number:04}", f"Name {number}", number) for number in range(2_000)))
    assert len(json.dumps(rows(path)[1])) < 4_000


def test_milliseconds_win_where_the_build_keeps_them(path: Path) -> None:
    change(path, NEW, thread(THREAD, "", 5, updated_at_ms=5_250, name="Named", name_state="explicit"))
    assert rows(path)[0][0]["updated_at"] == 5_250


def test_columns_of_odd_types_are_at_worst_no_name(path: Path) -> None:
    loose = "CREATE TABLE threads (id, title, updated_at, first_user_message)"
    insert = "INSERT INTO threads VALUES"
    change(
        path,
        loose,
        f"{insert} (NULL, x'ff', NULL, NULL)",
        f"{insert} ('a', x'ff', 'soon', 5)",
        f"{insert} (7, 7, 7, 7)",
    )
    for row in rows(path)[0]:
        titles(json.dumps(row).encode(), "state_5.sqlite")


@pytest.mark.parametrize("schema", ["CREATE TABLE jobs (id)", "CREATE TABLE threads (id)"])
def test_a_database_of_another_shape_has_no_names(path: Path, schema: str) -> None:
    change(path, schema)
    assert rows(path)[0] == []


def test_what_is_still_in_the_wal_is_read(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(OLD)
    connection.execute(thread(THREAD, "The lamp", 5))
    connection.commit()
    assert [row["name"] for row in rows(path)[0]] == ["The lamp"]
    connection.close()


def test_a_broken_database_says_so(path: Path) -> None:
    path.write_bytes(b"no database at all, " * 300)
    with pytest.raises(sqlite3.DatabaseError):
        rows(path)


def test_a_database_that_is_gone_says_so(path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        rows(path)
