"""Which rows of ZCode's database are read, and how often."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.adapters.zcode.rows import MOST_AT_ONCE, MOST_OPEN, read_rows
from memory.parsed import State
from tests.examples import examples
from tests.ingest.adapters.statements import statements
from tests.ingest.adapters.zcode_database import OLD_SCHEMA, START, ZCodeDatabase, read


@pytest.fixture
def database(tmp_path: Path) -> ZCodeDatabase:
    found = ZCodeDatabase(tmp_path / ".zcode/cli/db/db.sqlite")
    found.session("sess_1")
    found.user("msg_1", "sess_1", "light the lamp")
    return found


def keys(rows: list[dict[str, Any]]) -> list[str]:
    return [row["id"] for row in rows]


def test_a_first_read_gives_every_row_once_and_a_part_with_what_it_needs(database: ZCodeDatabase) -> None:
    rows, _ = read(database.path)
    assert keys(rows) == ["sess_1", "msg_1", "msg_1_p0"]
    assert rows[2] == {
        "table": "part",
        "id": "msg_1_p0",
        "message_id": "msg_1",
        "session_id": "sess_1",
        "time_created": START + 3,
        "time_updated": START + 3,
        "data": '{"type": "text", "text": "light the lamp"}',
        "message": {"role": "user", "semantics": rows[2]["message"]["semantics"]},
        "session": {"directory": "/w/lamp", "version": "0.16.9", "task_type": "interactive"},
    }


def test_lines_are_canonical(database: ZCodeDatabase) -> None:
    for row in read_rows(database.path, {}):
        told = json.dumps(json.loads(row.line), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        assert row.line == told.encode()


def test_an_unchanged_database_costs_one_look_at_each_table(database: ZCodeDatabase) -> None:
    _, watermark = read(database.path)
    with statements() as asked:
        assert read(database.path, watermark) == ([], watermark)
    looks = [query for query in asked if "FROM session" in query or "FROM message" in query or "FROM part" in query]
    assert [query.split()[1][:3] for query in looks] == ["cou", "max", "max", "max"]


def test_new_rows_are_read_where_reading_stopped(database: ZCodeDatabase) -> None:
    _, watermark = read(database.path)
    database.user("msg_2", "sess_1", "and trim it")
    rows, watermark = read(database.path, watermark)
    assert keys(rows) == ["msg_2", "msg_2_p0"]
    assert read(database.path, watermark)[0] == []


def test_a_changed_row_is_read_again_and_no_other(database: ZCodeDatabase) -> None:
    database.user("msg_2", "sess_1", "and trim it")
    _, watermark = read(database.path)
    database.update("part", "msg_1_p0", data={"type": "text", "text": "light the lamps"})
    database.update("session", "sess_1", title="Two lamps")
    rows, watermark = read(database.path, watermark)
    assert keys(rows) == ["sess_1", "msg_1_p0"]
    assert read(database.path, watermark)[0] == []


def test_a_row_that_changes_again_within_the_watermark_s_millisecond_is_not_missed(database: ZCodeDatabase) -> None:
    _, watermark = read(database.path)
    database.update("part", "msg_1_p0", at=START + 3, data={"type": "text", "text": "light the LAMP"})
    rows, watermark = read(database.path, watermark)
    assert [json.loads(row["data"])["text"] for row in rows] == ["light the LAMP"]
    assert read(database.path, watermark)[0] == []


def test_a_row_that_arrives_within_the_watermark_s_millisecond_is_not_missed(database: ZCodeDatabase) -> None:
    _, watermark = read(database.path)
    database.part("msg_1_p1", "msg_1", "sess_1", {"type": "step-start"}, time_updated=START + 3)
    rows, watermark = read(database.path, watermark)
    assert keys(rows) == ["msg_1_p1"]
    assert read(database.path, watermark)[0] == []


def test_a_row_that_arrives_with_an_old_time_is_not_missed(database: ZCodeDatabase) -> None:
    _, watermark = read(database.path)
    database.part("msg_1_p1", "msg_1", "sess_1", {"type": "step-start"}, time_created=5, time_updated=5)
    database.user("msg_2", "sess_1", "and trim it")
    rows, watermark = read(database.path, watermark)
    assert sorted(keys(rows)) == ["msg_1_p1", "msg_2", "msg_2_p0"]
    assert read(database.path, watermark)[0] == []


@pytest.mark.parametrize("most", [1, 2, 5, 64])
def test_any_number_of_rows_at_a_time_reads_each_once(database: ZCodeDatabase, most: int) -> None:
    for number in range(2, 40):
        database.user(f"msg_{number}", "sess_1", f"lamp {number}")
    # A migration that touches everything at once.
    database.connection.execute("UPDATE part SET time_updated = ? WHERE rowid % 2", [database.now + 9])
    found: list[str] = []
    watermark: State = {}
    while True:
        rows, watermark = read(database.path, watermark, most)
        if not rows:
            break
        found += keys(rows)
    assert sorted(found) == sorted(keys(read(database.path)[0]))
    assert len(found) == len(set(found)) == 1 + 2 * 39


def test_more_rows_of_one_millisecond_than_are_told_apart_are_read_once(database: ZCodeDatabase) -> None:
    for number in range(MOST_AT_ONCE + 10):
        database.part(f"many_{number}", "msg_1", "sess_1", {"type": "step-start"}, time_updated=START + 500)
    rows, watermark = read(database.path)
    assert len(rows) == 3 + MOST_AT_ONCE + 10
    assert read(database.path, watermark)[0] == []
    database.part("one_more", "msg_1", "sess_1", {"type": "step-start"}, time_updated=START + 500)
    rows, watermark = read(database.path, watermark)
    assert keys(rows) == ["one_more"]
    assert read(database.path, watermark)[0] == []


def test_the_watermark_stays_small_however_many_rows_there_are(database: ZCodeDatabase) -> None:
    database.message("msg_2", "sess_1", "assistant", time={"created": START})
    for number in range(500):
        database.text(f"part_{number}", "msg_2", "sess_1", "lamp", time={"start": 1})
    _, watermark = read(database.path)
    assert len(json.dumps(watermark)) < 4_000


def test_times_written_as_text_are_followed_too(database: ZCodeDatabase) -> None:
    database.connection.execute("UPDATE part SET time_updated = '2026-09-10T00:00:00.000Z'")
    _, watermark = read(database.path)
    database.part("new", "msg_1", "sess_1", {"type": "step-start"}, time_updated="2026-09-10T00:00:00.001Z")
    rows, watermark = read(database.path, watermark)
    assert keys(rows) == ["new"]
    database.update("part", "new", at=None, sequence=3)
    database.connection.execute("UPDATE part SET time_updated = '2026-09-11T00:00:00.000Z' WHERE id = 'new'")
    rows, watermark = read(database.path, watermark)
    assert keys(rows) == ["new"]
    assert read(database.path, watermark)[0] == []


def test_a_database_of_an_older_version_is_read_by_the_columns_it_has(tmp_path: Path) -> None:
    database = ZCodeDatabase(tmp_path / "db.sqlite", OLD_SCHEMA)
    database.session("sess_1")
    database.user("msg_1", "sess_1", "light the lamp")
    rows, watermark = read(database.path)
    assert keys(rows) == ["sess_1", "msg_1", "msg_1_p0"]
    database.user("msg_2", "sess_1", "and trim it")
    assert keys(read(database.path, watermark)[0]) == ["msg_2", "msg_2_p0"]


def test_a_database_with_some_of_the_tables_is_read_by_what_it_has(tmp_path: Path) -> None:
    database = ZCodeDatabase(tmp_path / "db.sqlite", "CREATE TABLE part (id text, data text);")
    database.part("part_1", "msg_1", "sess_1", {"type": "text", "text": "lamp"})
    assert keys(read(database.path)[0]) == ["part_1"]


def test_values_of_any_type_become_json(database: ZCodeDatabase) -> None:
    for name, data in [("blob", b'{"type":"text"}'), ("latin", b"caf\xe9"), ("null", None), ("real", 1.5)]:
        database.connection.execute("UPDATE part SET data = '' WHERE id = 'none'")
        database.connection.execute(
            "INSERT INTO part VALUES (?, 'msg_1', 'sess_1', ?, ?, ?, NULL)",
            [name, database.now, database.now, data if data is not None else 7],
        )
    rows = {row["id"]: row for row in read(database.path)[0]}
    assert rows["blob"]["data"] == '{"type":"text"}'
    assert rows["latin"]["data_base64"] == "Y2Fm6Q=="
    assert {type(row.get("data")) for row in rows.values()} <= {str, type(None)}


def test_rows_that_are_only_in_the_wal_are_read(database: ZCodeDatabase) -> None:
    assert os.path.getsize(f"{database.path}-wal") > 0
    assert len(read(database.path)[0]) == 3


def test_deleted_sessions_are_noted(database: ZCodeDatabase) -> None:
    database.session("sess_2")
    _, watermark = read(database.path)
    database.delete_session("sess_1")
    rows, watermark = read(database.path, watermark)
    assert rows == [{"table": "session", "gone": 1}]
    assert read(database.path, watermark)[0] == []
    assert keys(read(database.path)[0]) == ["sess_2"]


def test_a_message_that_a_fork_inherited_is_marked_while_its_original_is_there(database: ZCodeDatabase) -> None:
    database.session("sess_fork")
    for name, origin in [("msg_copy", "msg_1"), ("msg_kept", "msg_gone"), ("msg_odd", 7)]:
        copied = {"forkOrigin": {"sessionId": "sess_1", "messageId": origin}}
        database.user(name, "sess_fork", "light the lamp", metadata=copied)
    assert [row["id"] for row in read(database.path)[0] if row.get("copy")] == ["msg_copy_p0"]


# Answers under way


@pytest.fixture
def answering(database: ZCodeDatabase) -> ZCodeDatabase:
    database.message("msg_2", "sess_1", "assistant", time={"created": START})
    database.text("msg_2_p0", "msg_2", "sess_1", "I trim", time={"start": START})
    return database


def test_an_answer_under_way_is_read_again_once_its_message_is_complete(answering: ZCodeDatabase) -> None:
    rows, watermark = read(answering.path)
    assert [row.get("under_way") for row in rows if row["id"] == "msg_2_p0"] == [True]
    assert read(answering.path, watermark)[0] == []
    answering.update("message", "msg_2", data={"role": "assistant", "time": {"created": START, "completed": START + 9}})
    rows, watermark = read(answering.path, watermark)
    assert keys(rows) == ["msg_2", "msg_2_p0"]
    assert "under_way" not in rows[1]
    assert read(answering.path, watermark)[0] == []


def test_an_answer_under_way_that_broke_off_is_complete_once_the_session_goes_on(answering: ZCodeDatabase) -> None:
    _, watermark = read(answering.path)
    answering.user("msg_3", "sess_1", "go on")
    rows, _ = read(answering.path, watermark)
    assert keys(rows) == ["msg_3", "msg_3_p0", "msg_2_p0"]
    assert "under_way" not in rows[2]


@pytest.mark.parametrize(
    ("info", "part"),
    [
        ({"time": {"created": 1, "completed": 2}}, {}),
        ({"time": {"created": 1}, "finish": "stop"}, {}),
        ({"time": {"created": 1}, "error": {"name": "Aborted"}}, {}),
        ({"time": {"created": 1}}, {"time": {"start": 1, "end": 2}}),
        ({}, {}),
    ],
)
def test_an_answer_is_complete_as_soon_as_anything_says_so(
    database: ZCodeDatabase, info: dict[str, Any], part: dict[str, Any]
) -> None:
    database.message("msg_2", "sess_1", "assistant", **info)
    database.text("msg_2_p0", "msg_2", "sess_1", "I trim it.", **part)
    assert not any("under_way" in row for row in read(database.path)[0])


def test_an_answer_that_is_deleted_while_under_way_is_let_go(answering: ZCodeDatabase) -> None:
    _, watermark = read(answering.path)
    answering.connection.execute("DELETE FROM part WHERE id = 'msg_2_p0'")
    answering.user("msg_3", "sess_1", "go on")
    rows, watermark = read(answering.path, watermark)
    assert keys(rows) == ["msg_3", "msg_3_p0"]
    assert watermark["open"] == []


def test_no_more_answers_than_a_number_are_followed(answering: ZCodeDatabase) -> None:
    for number in range(MOST_OPEN + 5):
        answering.text(f"open_{number}", "msg_2", "sess_1", "…", time={"start": START})
    opened = read(answering.path)[1]["open"]
    assert isinstance(opened, list)
    assert len(opened) == MOST_OPEN


# What cannot be read


def test_a_database_that_is_none_says_so(tmp_path: Path) -> None:
    path = tmp_path / "db.sqlite"
    path.write_bytes(b"no database at all, but longer than a header of one hundred bytes" * 4)
    with pytest.raises(sqlite3.DatabaseError, match="not a database"):
        read(path)


def test_a_database_of_something_else_says_so(tmp_path: Path) -> None:
    database = ZCodeDatabase(tmp_path / "db.sqlite", "CREATE TABLE note (id text);")
    with pytest.raises(sqlite3.DatabaseError, match="none of ZCode's tables"):
        read(database.path)


def test_a_database_that_is_gone_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "db.sqlite")


def test_reading_leaves_a_writer_alone(database: ZCodeDatabase) -> None:
    rows = read_rows(database.path, {})
    next(rows)
    database.user("msg_2", "sess_1", "written while Origin reads")
    rows.close()  # type: ignore[attr-defined]
    assert "msg_2" in keys(read(database.path)[0])


CHANGES = st.lists(
    st.tuples(st.sampled_from(["add", "late", "update", "same", "fork"]), st.integers(0, 5), st.integers(0, 3)),
    max_size=12,
)


@examples(20)
@given(CHANGES, st.integers(1, 4))
def test_however_rows_change_and_are_read_the_last_form_of_each_is_in_the_journal(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, int]], most: int
) -> None:
    database = ZCodeDatabase(tmp_path_factory.mktemp("zcode") / "db.sqlite")
    database.session("sess_1")
    database.message("msg_1", "sess_1", "user")
    last: dict[str, str] = {}
    watermark: State = {}
    for number, (change, which, step) in enumerate(changes):
        text = json.dumps({"type": "text", "text": f"{change} {number}"})
        name = f"part_{which}" if change in ("update", "same") and f"part_{which}" in last else f"part_{number}"
        at = {"late": START - 50 + step, "same": database.now}.get(change, database.now + step)
        if name in last:
            database.update("part", name, at=max(at, database.now), data=text)
        else:
            database.part(name, "msg_1", "sess_1", text, time_updated=at)
        database.now = max(database.now, at)
        _, watermark = read_into(last, database, watermark, most)
    while True:
        rows, watermark = read_into(last, database, watermark, most)
        if not rows:
            break
    stored = dict(database.connection.execute("SELECT id, data FROM part"))
    assert last == stored


def read_into(
    last: dict[str, str], database: ZCodeDatabase, watermark: State, most: int
) -> tuple[list[dict[str, Any]], State]:
    rows, watermark = read(database.path, watermark, most)
    last |= {row["id"]: row["data"] for row in rows if row["table"] == "part"}
    return rows, watermark
