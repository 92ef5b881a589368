"""Migration operations that keep what SQLite's table remake would drop: triggers, views and right indexes."""

from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

DEPENDENTS = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') ORDER BY type DESC, rowid"
INDEXES = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"


class KeepSchema(Operation):
    """Run an operation that remakes a table, such as AlterField, with every view and trigger set aside and put back.

    Django remakes a table by copying it, which drops its triggers and fails where a view reads from it. Rows keep their
    explicit keys; the full-text indexes are rebuilt from their views at the end.
    """

    reduces_to_sql = False
    reversible = False

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        """Apply the operation to the state."""
        self.operation.state_forwards(app_label, state)

    def database_forwards(
        self, app_label: str, schema_editor: BaseDatabaseSchemaEditor, from_state: ProjectState, to_state: ProjectState
    ) -> None:
        """Run the operation between dropping and recreating what depends on its table."""
        with schema_editor.connection.cursor() as cursor:
            cursor.execute(DEPENDENTS)
            dependents = cursor.fetchall()
            for kind, name, _ in reversed(dependents):
                cursor.execute(f'DROP {kind} "{name}"')
            self.operation.database_forwards(app_label, schema_editor, from_state, to_state)
            for _, _, statement in dependents:
                cursor.execute(statement.replace("%", "%%"))
            cursor.execute(INDEXES.replace("%", "%%"))
            for (index,) in cursor.fetchall():
                cursor.execute(f"INSERT INTO {index}({index}) VALUES ('rebuild')")

    def describe(self) -> str:
        """Say what is run."""
        return f"{self.operation.describe()}, keeping views, triggers and indexes"

    def deconstruct(self) -> tuple[str, list[Any], dict[str, Any]]:
        """Return how this operation is written in a migration."""
        return (self.__class__.__name__, [self.operation], {})


def append_only(table: str, *keys: str, fixed: str = "") -> str:
    """Return the triggers that let `table` only grow, also past REPLACE and UPSERT.

    `keys` are its unique keys, each as `column, column`; `fixed` the columns that never change, all where it is empty.
    Each key is asked for by an EXISTS of its own: an OR inside one costs a fifth more at every insert.
    """
    exists = " OR ".join(
        f"EXISTS (SELECT 1 FROM {table} WHERE {' AND '.join(f'{c} = new.{c}' for c in key.split(', '))})"
        for key in ("id", *keys)
    )
    return f"""
CREATE TRIGGER {table}_insert_once BEFORE INSERT ON {table} WHEN {exists}
BEGIN
    SELECT RAISE(IGNORE);
END;
CREATE TRIGGER {table}_no_update BEFORE UPDATE{f" OF {fixed}" if fixed else ""} ON {table}
BEGIN
    SELECT RAISE(ABORT, '{table} is append-only');
END;
CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table}
BEGIN
    SELECT RAISE(ABORT, '{table} is append-only');
END;
"""
