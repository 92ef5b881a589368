"""An invented ZCode database with the tables of its migrations, and what is read of it."""

import json
import sqlite3
from pathlib import Path
from typing import Any

from ingest.adapters.zcode.parts import parse_line
from ingest.adapters.zcode.rows import read_rows
from memory.parsed import Line, ParsedEvent, State, Title

START = 1_790_000_000_000
LOGICAL_PATH = "cli/db/db.sqlite"

SCHEMA = """
    CREATE TABLE schema_migration (id text PRIMARY KEY, app_version text, checksum text, time_applied integer);
    CREATE TABLE session (
        id text PRIMARY KEY, project_id text NOT NULL, workspace_id text, parent_id text, slug text NOT NULL,
        directory text NOT NULL, path text, title text NOT NULL, version text NOT NULL, revert text, permission text,
        time_created integer NOT NULL, time_updated integer NOT NULL, time_archived integer,
        task_type text NOT NULL DEFAULT 'interactive', title_source text NOT NULL DEFAULT 'first_input');
    CREATE TABLE message (
        id text PRIMARY KEY, session_id text NOT NULL REFERENCES session(id) ON DELETE CASCADE,
        time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL, sequence integer);
    CREATE TABLE part (
        id text PRIMARY KEY, message_id text NOT NULL REFERENCES message(id) ON DELETE CASCADE,
        session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL,
        sequence integer);
    CREATE INDEX message_session_idx ON message (session_id);
    CREATE INDEX part_message_idx ON part (message_id);"""
OLD_SCHEMA = """
    CREATE TABLE session (id text PRIMARY KEY, parent_id text, directory text, title text, version text,
        time_created integer, time_updated integer);
    CREATE TABLE message (id text PRIMARY KEY, session_id text, time_created integer, data text);
    CREATE TABLE part (id text PRIMARY KEY, message_id text, session_id text, time_created integer, data text);"""
REAL_USER = {
    "origin": "real_user",
    "kind": "user_prompt",
    "uiVisibility": "visible",
    "providerVisibility": "visible",
    "transcriptVisibility": "visible",
}


class ZCodeDatabase:
    """A database being written: each row takes a millisecond unless its time is given."""

    def __init__(self, path: Path, schema: str = SCHEMA) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.connection = sqlite3.connect(path, isolation_level=None)
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.executescript(schema)
        self.now = START

    def session(self, name: str, **columns: object) -> str:
        usual = {"project_id": "p", "slug": "s", "directory": "/w/lamp", "title": "Lamps", "version": "0.16.9"}
        self._insert("session", id=name, **(usual | columns))
        return name

    def message(self, name: str, session: str, role: str, times: dict[str, object] | None = None, **data: Any) -> str:
        info = {"role": role, **data}
        self._insert("message", id=name, session_id=session, data=json.dumps(info), **(times or {}))
        return name

    def user(self, name: str, session: str, text: str, **data: Any) -> str:
        self.message(name, session, "user", **({"semantics": REAL_USER} | data))
        return self.text(f"{name}_p0", name, session, text)

    def part(self, name: str, message: str, session: str, data: object, **columns: object) -> str:
        text = data if isinstance(data, (str, bytes)) else json.dumps(data)
        self._insert("part", id=name, message_id=message, session_id=session, data=text, **columns)
        return name

    def text(self, name: str, message: str, session: str, text: str, **data: object) -> str:
        return self.part(name, message, session, {"type": "text", "text": text, **data})

    def update(self, table: str, name: str, at: int | None = None, **columns: object) -> None:
        """Change a row as ZCode does: in place, with a new `time_updated`."""
        columns["time_updated"] = self._tick() if at is None else at
        told = {key: json.dumps(value) if isinstance(value, dict) else value for key, value in columns.items()}
        assignments = ", ".join(f"{key} = ?" for key in told)
        self.connection.execute(f"UPDATE {table} SET {assignments} WHERE id = ?", [*told.values(), name])

    def delete_session(self, name: str) -> None:
        self.connection.execute("PRAGMA foreign_keys = ON")
        self.connection.execute("DELETE FROM session WHERE id = ?", [name])

    def _tick(self) -> int:
        self.now += 1
        return self.now

    def _insert(self, table: str, **columns: object) -> None:
        at = self._tick()
        known = {str(row[1]) for row in self.connection.execute(f"PRAGMA table_info({table})")}
        row = {
            key: value for key, value in ({"time_created": at, "time_updated": at} | columns).items() if key in known
        }
        marks = ", ".join("?" * len(row))
        self.connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", [*row.values()])


def read(path: Path, watermark: State | None = None, most: int | None = None) -> tuple[list[dict[str, Any]], State]:
    """Return the rows read of a database, at most `most`, and the watermark after them."""
    state: State = watermark or {}
    rows = []
    for row in read_rows(path, state):
        rows.append(json.loads(row.line))
        state = json.loads(json.dumps(row.watermark))
        if len(rows) == most:
            break
    return rows, state


def parse(rows: list[dict[str, Any]]) -> tuple[list[ParsedEvent], list[Title]]:
    """Return the events, the first of each id, and the titles of journal lines."""
    state: State = {}
    events: dict[str, ParsedEvent] = {}
    titles: list[Title] = []
    for row in rows:
        parsed = parse_line(Line(json.dumps(row).encode(), 1, LOGICAL_PATH), state)
        state = parsed.state
        titles += parsed.titles
        for event in parsed.events:
            events.setdefault(event.event_id, event)
    return list(events.values()), titles


def events(path: Path) -> list[ParsedEvent]:
    """Return what is made of a database read from its beginning."""
    return parse(read(path)[0])[0]
