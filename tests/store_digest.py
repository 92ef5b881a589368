"""What a store holds, read past the code under test: two stores with equal contents are the same store to their owner.

Integer keys, run times, frame boundaries and the clock (`first_seen`) are left out. So is which place of an event is
its own one: that follows the order of arrival by design; the set of all places and the owner place do not.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard

RAW_FILES = """
    SELECT store, source, logical_path, generation, mirror_path, form, bytes, lines, stored_bytes, open_line,
        head_sha256, tail_sha256, parser_state, watermark, last_at, agent_version, parsed, skipped, malformed
    FROM raw_file"""
EVENTS = """
    SELECT e.event_id, e.kind, e.role, e.at, e.inferred, e.sub_agent, e.tool, e.text, hex(e.digest) AS digest,
        c.cwd, c.branch, c.model, c.agent_version, s.session_id AS session, e.ordinal,
        r.store || '|' || r.source || '|' || r.logical_path || '|' || r.generation || '|'
            || coalesce(p.line, e.line) AS owner_place,
        g.text AS grams, EXISTS (SELECT 1 FROM visible_event v WHERE v.id = e.id) AS visible
    FROM event e
    JOIN event_context c ON c.id = e.context_id
    JOIN session s ON s.id = e.session_id
    LEFT JOIN event_place p ON p.id = e.owner
    JOIN raw_file r ON r.id = coalesce(p.raw_file_id, e.raw_file_id)
    LEFT JOIN event_gram g ON g.id = e.id"""
PLACES = """
    SELECT e.event_id, r.store, r.source, r.logical_path, r.generation, p.line, p.home
    FROM (SELECT id AS event, raw_file_id, line, home FROM event
        UNION ALL SELECT event, raw_file_id, line, home FROM event_place) p
    JOIN event e ON e.id = p.event JOIN raw_file r ON r.id = p.raw_file_id"""
FILES_NAMED = "SELECT e.event_id, f.path FROM event_file f JOIN event e ON e.id = f.event"
SESSIONS = "SELECT * FROM session WHERE events > 0"
TITLES = """
    SELECT r.store, r.source, r.logical_path, r.generation, t.line, t.kind, t.text, t.session_id, t.leaf, t.at
    FROM session_title t JOIN raw_file r ON r.id = t.raw_file_id"""
MALFORMED = """
    SELECT r.store, r.source, r.logical_path, r.generation, m.line, m.reason, m.agent_version
    FROM malformed_line m JOIN raw_file r ON r.id = m.raw_file_id WHERE NOT m.mended"""
EXCLUDED = "SELECT event_id, tombstone FROM excluded_event"
FRAMES = """
    SELECT f.*, r.mirror_path, r.bytes, r.lines AS file_lines, r.stored_bytes
    FROM raw_file r JOIN raw_frame f ON f.raw_file_id = r.id ORDER BY r.id, f.raw_offset"""
FULL_TEXT = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE VIRTUAL TABLE%fts5%'"


def contents(home: Path) -> dict[str, Any]:
    """Return the logical content of the store in `home`; equal dictionaries are equal stores."""
    with closing(_connect(home, "ro")) as database:
        database.execute("BEGIN")
        return {
            "mirrors": {_place(row)[:4]: _mirror(home, row) for row in database.execute(RAW_FILES)},
            "events": _events(database),
            "sessions": {row["session_id"]: _without(row, "id", "session_id") for row in database.execute(SESSIONS)},
            "titles": sorted(tuple(row) for row in database.execute(TITLES)),
            "malformed": sorted(tuple(row) for row in database.execute(MALFORMED)),
            "excluded": sorted(tuple(row) for row in database.execute(EXCLUDED)),
        }


def without_clock(found: dict[str, Any]) -> dict[str, Any]:
    """Return `found` without the times that a record without one of its own took from when its file was first seen."""
    timed = {
        name: event | {"at": event["at"] if not event["inferred"] else ""} for name, event in found["events"].items()
    }
    derived = ("first_at", "last_at", "head_at", "prompt_at")
    sessions = {
        name: {column: value for column, value in row.items() if column not in derived}
        for name, row in found["sessions"].items()
    }
    return found | {"events": timed, "sessions": sessions, "titles": [title[:-1] for title in found["titles"]]}


def mirror_bytes(path: Path) -> bytes:
    """Return what a mirror holds; the skippable frame it begins with holds nothing."""
    with path.open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True) as stream:
        return stream.readall()


def orphans(home: Path) -> list[Path]:
    """Return the files kept because they hold bytes of unknown origin, and copies that a kill left half made."""
    return sorted(path for sign in ("*.orphan", "*.new") for path in (home / "raw").rglob(sign))


def damage(home: Path) -> list[str]:
    """Return everything that is wrong with a store in itself: the database, its indexes, and its frames on disk."""
    with closing(_connect(home, "rw")) as database:
        found = [str(tuple(row)) for row in database.execute("PRAGMA foreign_key_check")]
        found += [row[0] for row in database.execute("PRAGMA integrity_check") if row[0] != "ok"]
        for (index,) in database.execute(FULL_TEXT).fetchall():
            try:
                database.execute(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")
            except sqlite3.DatabaseError as error:
                found.append(f"{index}: {error}")
        database.rollback()
        return found + list(_bad_frames(home, database)) + [f"{path} was made" for path in orphans(home)]


def _connect(home: Path, mode: str) -> sqlite3.Connection:
    database = sqlite3.connect(f"{(home / 'origin.db').as_uri()}?mode={mode}", uri=True, timeout=30)
    database.row_factory = sqlite3.Row
    return database


def _place(row: sqlite3.Row) -> tuple[Any, ...]:
    return tuple(row[column] for column in ("store", "source", "logical_path", "generation"))


def _mirror(home: Path, row: sqlite3.Row) -> dict[str, Any]:
    path = home / "raw" / row["mirror_path"]
    held = mirror_bytes(path) if path.exists() else b""
    return _without(row, "store", "source", "logical_path", "generation", "mirror_path", "stored_bytes") | {
        "sha256": hashlib.sha256(held).hexdigest(),
        "length": len(held),
        "parser_state": json.loads(row["parser_state"]),
        "watermark": json.loads(row["watermark"]),
        "nothing_behind": (path.stat().st_size if path.exists() else 0) == row["stored_bytes"],
    }


def _events(database: sqlite3.Connection) -> dict[str, dict[str, Any]]:
    rows = database.execute(EVENTS).fetchall()
    (count,) = database.execute("SELECT count(*) FROM event").fetchone()
    assert len(rows) == count, "every event has a session, a context and a raw file"
    events = {row["event_id"]: _without(row, "event_id") | {"places": set(), "files": set()} for row in rows}
    for name, *place in database.execute(PLACES):
        events[name]["places"].add(tuple(place))
    for name, path in database.execute(FILES_NAMED):
        events[name]["files"].add(path)
    return events


def _without(row: sqlite3.Row, *columns: str) -> dict[str, Any]:
    return {column: row[column] for column in row.keys() if column not in columns}  # noqa: SIM118


def _bad_frames(home: Path, database: sqlite3.Connection) -> Iterator[str]:
    """Yield every frame that does not follow the one before it, or does not hold what the database says."""
    ends: dict[int, tuple[int, int, int]] = {}
    rows = database.execute(FRAMES).fetchall()
    for row in rows:
        name = f"{row['mirror_path']} at byte {row['raw_offset']}"
        raw, stored, lines = ends.get(row["raw_file_id"], (0, -1, 0))
        if row["raw_offset"] != raw or row["first_line"] != lines + 1 or stored not in (-1, row["stored_offset"]):
            yield f"{name}: does not follow the frame before it"
        with (home / "raw" / row["mirror_path"]).open("rb") as file:
            file.seek(row["stored_offset"])
            data = zstandard.ZstdDecompressor().decompress(file.read(row["stored_length"]))
        if len(data) != row["raw_length"] or hashlib.sha256(data).digest() != row["sha256"]:
            yield f"{name}: holds other bytes than the database says"
        ends[row["raw_file_id"]] = (
            raw + row["raw_length"],
            row["stored_offset"] + row["stored_length"],
            lines + row["lines"],
        )
    for row in rows:
        if ends[row["raw_file_id"]] != (row["bytes"], row["stored_bytes"], row["file_lines"]):
            yield f"{row['mirror_path']}: its frames end elsewhere than its cursor"
