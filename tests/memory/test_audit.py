"""The audit log: a row a mutation, none where it failed, and no edit goes unseen."""

import contextlib
import json
from pathlib import Path

import pytest
from django.db import DatabaseError

from memory import audit, sql
from memory.actor import Actor, agent_name
from memory.models import AuditLog
from memory.mutation import mutation

OWNER = Actor(kind="owner", name="user", channel="page", device="laptop", address="127.0.0.1", client="Firefox")


def write(*actions: str) -> None:
    """Leave one row for each action."""
    for action in actions:
        with mutation(action, OWNER) as change:
            change.targets.append("ent_0123456789abcdef")


def test_a_row_names_who_did_what_to_which_and_through_what(store: Path) -> None:
    write("forget")
    row = AuditLog.objects.get()
    assert (row.action, row.actor, row.author, row.channel) == ("forget", "owner", "user@laptop", "page")
    assert (row.address, row.client, json.loads(row.targets)) == ("127.0.0.1", "Firefox", ["ent_0123456789abcdef"])


def test_what_is_rolled_back_or_changes_nothing_leaves_no_row(store: Path) -> None:
    with contextlib.suppress(ZeroDivisionError), mutation("remember", OWNER) as change:
        change.targets.append("ent_0123456789abcdef")
        raise ZeroDivisionError
    with mutation("remember", OWNER):
        pass
    assert AuditLog.objects.count() == 0
    assert list(audit.breaks()) == []


def test_a_receipt_is_on_the_disk_and_archiving_is_not_slowed(store: Path) -> None:
    with mutation("remember", OWNER):
        assert sql.rows("PRAGMA synchronous") == [(2,)]
    assert sql.rows("PRAGMA synchronous") == [(1,)]


@pytest.mark.parametrize("statement", ["UPDATE audit_log SET code = 'x'", "DELETE FROM audit_log"])
def test_rows_cannot_be_changed(store: Path, statement: str) -> None:
    write("remember")
    with pytest.raises(DatabaseError, match="append-only"):
        sql.execute(statement)


COLUMNS = ("at", "action", "actor", "author", "channel", "device", "address", "client", "targets", "code", "previous")


@pytest.mark.parametrize("column", [*COLUMNS, "hash"])
@pytest.mark.parametrize("row", [1, 2, 3])
def test_any_edit_is_seen_even_without_the_triggers(store: Path, column: str, row: int) -> None:
    write("remember", "correct", "forget")
    sql.execute("DROP TRIGGER audit_log_no_update")
    sql.execute(f"UPDATE audit_log SET {column} = 'edited' WHERE id = ?", (row,))
    assert list(audit.breaks())


@pytest.mark.parametrize("rows", ["id = 1", "id = 2", "id = 3", "id > 0"])
def test_a_missing_row_is_seen(store: Path, rows: str) -> None:
    write("remember", "correct", "forget")
    assert list(audit.breaks()) == []
    sql.execute("DROP TRIGGER audit_log_no_delete")
    sql.execute(f"DELETE FROM audit_log WHERE {rows}")
    assert list(audit.breaks())


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("claude-code", "claude-code"),
        ("Cursor Agent 2.1", "cursor-agent-2.1"),
        ("user", "agent"),
        ("OWNER", "agent"),
        ("日本", "agent"),
        ("", "agent"),
        ("x" * 99, "x" * 40),
    ],
)
def test_a_client_is_named_so_that_it_cannot_pass_for_the_owner(client: str, name: str) -> None:
    assert agent_name(client) == name
