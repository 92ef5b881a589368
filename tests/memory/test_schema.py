"""The migrated database: triggers hold, indexes agree with their views, and a remade table loses neither."""

import sqlite3
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection, migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState
from django.db.utils import DatabaseError

from memory import sql
from memory import store as store_module
from memory.errors import OriginError
from memory.schema_operations import KeepSchema
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, tool_result, user

INDEXES = (
    "message_trigram",
    "message_words",
    "message_grams",
    "tool_words",
    "meta_words",
    "session_trigram",
    "session_words",
    "session_grams",
)
APPEND_ONLY = ("event", "event_place", "event_file", "event_gram", "raw_frame", "malformed_line", "session_title")


def schema(kind: str) -> dict[str, str]:
    rows = sql.rows("SELECT name, sql FROM sqlite_master WHERE type = ?", (kind,))
    return {str(name): str(text) for name, text in rows if not str(name).startswith("sqlite_")}


def check_indexes() -> None:
    for index in INDEXES:
        sql.execute(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")


def count(index: str, match: str) -> int:
    return int(str(sql.rows(f"SELECT count(*) FROM {index} WHERE {index} MATCH ?", (match,))[0][0]))


@pytest.fixture
def filled(store: Path, agent_home: AgentHome) -> Path:
    """A store with a line of every kind, a copy of one, a title and a malformed line."""
    session, other = session_uuid(1), session_uuid(2)
    lines: list[dict[str, object]] = [
        user(1, "where does the deployment write its configuration?", session),
        assistant(2, "It writes 配置文件 beside the binary.", session),
        tool_call(3, "Read", {"file_path": "/w/app/deploy.py"}, session),
        tool_result(4, 3, "def deploy(): write_configuration()", session),
        user(5, "<system-reminder>configuration reminder</system-reminder>", session, isMeta=True),
        {"type": "custom-title", "customTitle": "Where deployment writes", "sessionId": session},
    ]
    agent_home.write(session, *lines)
    agent_home.write(other, lines[0], user(9, "and in the copy?", other))
    agent_home.log(other).open("ab").write(b"no json\n")
    agent_home.sync()
    return store


def test_every_index_agrees_with_its_view(filled: Path) -> None:
    check_indexes()
    assert count("message_trigram", '"configuration"') == 1
    assert count("tool_words", "deploy") == 2
    assert count("meta_words", "reminder") == 1
    assert count("message_grams", '"配置"') == 1
    assert count("session_words", "deployment") >= 1


def test_a_rebuild_of_an_index_pulls_in_no_other_kind(filled: Path) -> None:
    before = {index: count(index, "a OR configuration OR deploy OR 配置") for index in INDEXES}
    for index in INDEXES:
        sql.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")
    assert {index: count(index, "a OR configuration OR deploy OR 配置") for index in INDEXES} == before
    check_indexes()


def test_an_excluded_event_leaves_every_index_and_comes_back(filled: Path) -> None:
    names = [str(name) for (name,) in sql.rows("SELECT event_id FROM event")]
    everything = {index: count(index, "configuration OR deploy OR 配置") for index in INDEXES[:5]}
    for name in names:
        sql.insert("excluded_event (event_id, tombstone)", [(name, "tmb_1"), (name, "tmb_2")])
    assert [count(index, "configuration OR deploy OR 配置") for index in INDEXES[:5]] == [0] * 5
    check_indexes()
    sql.execute("DELETE FROM excluded_event WHERE tombstone = 'tmb_1'")
    assert [count(index, "configuration OR deploy OR 配置") for index in INDEXES[:5]] == [0] * 5
    sql.execute("DELETE FROM excluded_event WHERE tombstone = 'tmb_2'")
    assert {index: count(index, "configuration OR deploy OR 配置") for index in INDEXES[:5]} == everything
    check_indexes()


def test_an_event_that_arrives_excluded_enters_no_index(store: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    record = user(1, "the secret configuration 配置", session)
    sql.insert("excluded_event (event_id, tombstone)", [(f"claude-code:{record['uuid']}", "tmb_1")])
    agent_home.write(session, record)
    agent_home.sync()
    assert sql.rows("SELECT count(*) FROM event") == [(1,)]
    assert [count(index, "configuration OR 配置") for index in INDEXES] == [0] * len(INDEXES)
    assert sql.rows("SELECT count(*) FROM visible_session") == [(0,)]


@pytest.mark.parametrize("table", APPEND_ONLY)
def test_no_statement_changes_or_removes_an_append_only_row(filled: Path, table: str) -> None:
    before = sql.rows(f"SELECT * FROM {table} ORDER BY id")
    assert before, f"{table} must hold something to protect"
    column = [str(row[1]) for row in sql.rows(f"PRAGMA table_info({table})")][-1 if table != "event" else 8]
    columns = ", ".join(str(row[1]) for row in sql.rows(f"PRAGMA table_info({table})"))
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET {column} = {column}"):
        with pytest.raises(DatabaseError, match="append-only"):
            sql.execute(statement)
    for conflict in ("REPLACE", "IGNORE"):
        sql.execute(f"INSERT OR {conflict} INTO {table} ({columns}) SELECT {columns} FROM {table}")
    sql.execute(
        f"INSERT INTO {table} ({columns}) SELECT {columns} FROM {table} WHERE true"
        f" ON CONFLICT DO UPDATE SET {column} = 'changed'"
    )
    assert sql.rows(f"SELECT * FROM {table} ORDER BY id") == before


def test_a_remade_table_keeps_keys_triggers_views_and_indexes(filled: Path) -> None:
    before = (schema("trigger"), schema("view"), sql.rows("SELECT id, event_id FROM event ORDER BY id"))
    widen = migrations.AlterField("event", "kind", models.CharField(max_length=20))
    state = MigrationLoader(connection).project_state()
    assert isinstance(state, ProjectState)
    changed = state.clone()
    operation = KeepSchema(widen)
    operation.state_forwards("memory", changed)
    connection.disable_constraint_checking()
    with connection.schema_editor() as editor:
        operation.database_forwards("memory", editor, state, changed)
    connection.enable_constraint_checking()
    assert (schema("trigger"), schema("view"), sql.rows("SELECT id, event_id FROM event ORDER BY id")) == before
    assert "varchar(20)" in schema("table")["event"]
    check_indexes()
    assert count("message_trigram", '"configuration"') == 1


def test_models_and_migrations_say_the_same(store: Path) -> None:
    call_command("makemigrations", "--check", "--dry-run", verbosity=0)


def test_a_store_of_a_newer_origin_is_refused_and_left_alone(store: Path) -> None:
    sql.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_future', '2030-01-01')")
    connection.close()
    before = (store / "origin.db").read_bytes()
    with pytest.raises(OriginError, match="newer Origin"):
        store_module.open_store()
    connection.close()
    assert (store / "origin.db").read_bytes() == before


def test_a_file_that_is_no_database_is_refused_with_a_sentence(store: Path) -> None:
    connection.close()
    for leftover in store.glob("origin.db-*"):
        leftover.unlink()
    (store / "origin.db").write_bytes(b"this is not a database at all" * 400)
    with pytest.raises(OriginError, match="is damaged"):
        store_module.open_store()


def test_the_home_and_the_database_are_private(store: Path) -> None:
    assert (store / "origin.db").stat().st_mode & 0o777 == 0o600
    for folder in (store, store / "raw", store / "keys", store / "locks"):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_pages_are_eight_kilobytes_and_the_log_is_write_ahead(store: Path) -> None:
    other = sqlite3.connect(store / "origin.db")
    assert other.execute("PRAGMA page_size").fetchone() == (8192,)
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()


def test_a_script_is_split_between_its_statements_and_not_inside_them() -> None:
    table = "CREATE TABLE t (a TEXT DEFAULT ';\n')"
    trigger = "CREATE TRIGGER x AFTER INSERT ON t BEGIN\n    DELETE FROM t;\n    DELETE FROM t; -- ;\nEND;"

    assert sql.statements(f"\n{table};\n\n{trigger}\n") == (f"{table};", trigger)
    with pytest.raises(AssertionError):
        sql.statements(f"{table}\n")
