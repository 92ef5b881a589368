"""Reads the new and changed rows of ZCode's database: sessions, messages, and parts with all that a parser needs.

Of each table a mark is kept. Rows whose time lies before the mark's are found by their rowid, which is how a first
import reads everything and how rows that arrive with an old time are found later; the others by their time.
"""

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ingest.adapters.contract import JournalRow
from ingest.adapters.journal import has_table, journal_line, read_only
from memory.errors import MalformedLine
from memory.json_line import JsonObject, load_object
from memory.parsed import State

TABLES = ("session", "message", "part")
# Rows of one millisecond that are told apart, to notice one that changes again within it. A transaction that writes
# more of them at once is seen whole or not at all.
MOST_AT_ONCE = 64
# Answers under way that are looked at again at each read.
MOST_OPEN = 64
_MOST_KNOWN = 1_024

_COLUMNS = "SELECT name FROM pragma_table_info(?)"
_SESSION_COUNT = "SELECT count(*) FROM session"
_EXTENT = """
    SELECT max(rowid), max({time}), group_concat(fingerprint({all})) FILTER (WHERE {time} = ?) FROM {table}"""
_LATE = "SELECT rowid FROM {table} WHERE rowid > ? AND rowid <= ? AND {time} < ? ORDER BY rowid"
_SINCE = """
    SELECT rowid, {time}, fingerprint({all}) FROM {table}
    WHERE {time} > ?1 OR ({time} = ?1 AND (rowid > ?2 OR ?3)) ORDER BY {time}, rowid"""
_ROW = "SELECT {columns} FROM {table} WHERE rowid = ?"
_BY_ID = "SELECT rowid, {columns} FROM {table} WHERE id = ?"
_LATER_MESSAGE = "SELECT 1 FROM message WHERE rowid > ? AND session_id = ? LIMIT 1"

# What a part's line repeats of its message and its session.
_MESSAGE_FIELDS = ("role", "time", "model", "modelID", "path", "synthetic", "source", "visibility", "semantics")
_SESSION_FIELDS = ("parent_id", "directory", "version", "task_type")

Time = int | float | str
Row = dict[str, Any]


class _Mark(msgspec.Struct):
    """How far a table is read: all rows before `time` up to `row`, and those of `time` up to `key` or listed in `at`.

    `goal` is the largest rowid at the last look; `at` is None where too many rows share one time to list them.
    """

    row: int
    goal: int
    time: Time
    key: int = 0
    at: list[str] | None = []


class _Watermark(msgspec.Struct):
    """Where reading goes on. `open` are the answers last seen under way, `sessions` how many sessions there were."""

    session: _Mark | None = None
    message: _Mark | None = None
    part: _Mark | None = None
    open: list[str] = []
    sessions: int = 0


def read_rows(path: Path, watermark: State) -> Iterator[JournalRow]:
    """Yield a journal line for each row that is new or changed since the watermark; raises `sqlite3.Error`."""
    with read_only(path) as connection:
        if not any(has_table(connection, table) for table in TABLES):
            raise sqlite3.DatabaseError("it has none of ZCode's tables")
        connection.create_function("fingerprint", -1, _fingerprint, deterministic=True)
        yield from _Reading(connection, msgspec.convert(watermark, _Watermark)).rows()


def _fingerprint(*values: bytes | None) -> str:
    return hashlib.sha256(repr(values).encode()).hexdigest()[:8]


class _Reading:
    """One read of the database within one transaction, and the watermark that moves along with it."""

    def __init__(self, connection: sqlite3.Connection, watermark: _Watermark) -> None:
        self._connection = connection
        self._watermark = watermark
        self._names: dict[str, list[str]] = {}
        self._known: dict[tuple[str, str], Row] = {}

    def rows(self) -> Iterator[JournalRow]:
        for table in TABLES:
            self._names[table] = [str(name, "utf-8", "replace") for (name,) in self._ask(_COLUMNS, table)]
        self._watermark.open = [name for name in self._watermark.open if self._find("part", name)]
        yield from self._gone_sessions()
        present = [table for table in TABLES if self._names[table]]
        # An import under way goes on before any table is looked at whole again.
        for table in present:
            yield from self._late_rows(table)
        for table in present:
            if self._has_changed(table):
                yield from self._late_rows(table)
                yield from self._rows_since(table)
        yield from self._settled_answers()

    def _ask(self, query: str, *values: object) -> sqlite3.Cursor:
        return self._connection.execute(query, values)

    def _about(self, query: str, table: str) -> str:
        """Fill in a query's table, the time of its rows, and all their columns."""
        names = self._names[table]
        times = ", ".join([name for name in ("time_updated", "time_created") if name in names] + ["0"])
        time = f"coalesce({times}, 0)"
        columns = ", ".join(f'"{name}"' for name in names)
        everything = ", ".join(f'CAST("{name}" AS BLOB)' for name in names)
        # Bytes are larger than any number or text, and no time.
        time = f"CASE typeof({time}) WHEN 'blob' THEN 0 ELSE {time} END"
        return query.format(table=table, time=time, columns=columns, all=everything)

    # What changed

    def _has_changed(self, table: str) -> bool:
        """Look at how far a table reaches; False where nothing in it is new."""
        mark: _Mark | None = getattr(self._watermark, table)
        again = mark.time if mark and mark.at is not None else None
        last, newest, found = self._ask(self._about(_EXTENT, table), again).fetchone()
        if last is None:
            return False
        newest = _time(newest)
        if mark is None:
            setattr(self._watermark, table, _Mark(row=0, goal=last, time=newest))
            return True
        mark.row, mark.goal = min(mark.row, last), last
        at = set(_text(found).split(",")) - {""} if found else set()
        return last > mark.row or _after(newest, mark.time) or not at <= set(mark.at or ())

    def _late_rows(self, table: str) -> Iterator[JournalRow]:
        """Yield the rows that were not there before and whose time is older than the mark's."""
        mark: _Mark | None = getattr(self._watermark, table)
        if mark is None or mark.row >= mark.goal:
            return
        for (rowid,) in self._ask(self._about(_LATE, table), mark.row, mark.goal, mark.time):
            line = self._line(table, rowid)
            mark.row = rowid
            yield self._journal(line)

    def _rows_since(self, table: str) -> Iterator[JournalRow]:
        """Yield the rows of the mark's time that are not known yet, and all later ones."""
        mark: _Mark = getattr(self._watermark, table)
        found = self._ask(self._about(_SINCE, table), mark.time, mark.key, mark.at is not None)
        for rowid, value, fingerprint in found:
            time, seen = _time(value), _text(fingerprint)
            if time == mark.time and seen in (mark.at or ()):
                continue
            line = self._line(table, rowid)
            self._move(mark, rowid, time, seen)
            yield self._journal(line)
        mark.row = mark.goal

    def _move(self, mark: _Mark, rowid: int, time: Time, seen: str) -> None:
        if time != mark.time:
            mark.time, mark.key, mark.at = time, 0, []
        mark.row, mark.key = mark.goal, max(mark.key, rowid)
        if mark.at is not None:
            mark.at = [*mark.at, seen] if len(mark.at) < MOST_AT_ONCE else None

    def _gone_sessions(self) -> Iterator[JournalRow]:
        """Note that sessions were deleted: how many, for which ones only the journal knows."""
        if not self._names["session"]:
            return
        (count,) = self._ask(_SESSION_COUNT).fetchone()
        gone = self._watermark.sessions - count
        self._watermark.sessions = count
        if gone > 0:
            yield self._journal(journal_line({"table": "session", "gone": gone}))

    # Lines

    def _journal(self, line: bytes) -> JournalRow:
        return JournalRow(line, msgspec.to_builtins(self._watermark))

    def _line(self, table: str, rowid: int) -> bytes:
        row = self._named(self._ask(self._about(_ROW, table), rowid).fetchone(), table)
        return journal_line({"table": table, **(self._with_context(row) if table == "part" else row)})

    def _named(self, values: tuple[Any, ...], table: str) -> Row:
        return dict(zip(self._names[table], values, strict=True))

    def _with_context(self, part: Row) -> Row:
        """Add to a part what its line needs of its message and session; it stays true whatever becomes of them."""
        message = self._find("message", part.get("message_id"))
        session = self._find("session", part.get("session_id"))
        info = _json(message.get("data"))
        under_way = self._is_under_way(part, message, info)
        self._remember_open(_text(part.get("id")), under_way)
        told = {key: _plain(session[key]) for key in _SESSION_FIELDS if session.get(key) is not None}
        context: Row = {"message": {key: info[key] for key in _MESSAGE_FIELDS if key in info}, "session": told}
        if self._is_copy(info):
            context["copy"] = True
        if under_way:
            context["under_way"] = True
        return {**part, **context}

    def _find(self, table: str, key: object) -> Row:
        """Return a row by its id, empty where there is none."""
        name = _text(key)
        if (table, name) not in self._known:
            found = self._ask(self._about(_BY_ID, table), name).fetchone() if self._names[table] and name else None
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[table, name] = {"rowid": found[0], **self._named(found[1:], table)} if found else {}
        return self._known[table, name]

    def _is_copy(self, info: JsonObject) -> bool:
        """True for a message that a fork inherited, while the original is there too."""
        metadata = info.get("metadata")
        origin = metadata.get("forkOrigin") if isinstance(metadata, dict) else None
        original = origin.get("messageId") if isinstance(origin, dict) else None
        return isinstance(original, str) and bool(self._find("message", original))

    # Answers under way

    def _is_under_way(self, part: Row, message: Row, info: JsonObject) -> bool:
        """True for a text that its assistant may still be writing: nothing says that it ended or went on elsewhere."""
        time = info.get("time")
        if info.get("role") != "assistant" or not isinstance(time, dict) or time.get("completed") is not None:
            return False
        if info.get("finish") or info.get("error") or not _may_grow(_json(part.get("data"))):
            return False
        return not self._ask(_LATER_MESSAGE, message["rowid"], _text(part.get("session_id"))).fetchone()

    def _remember_open(self, part: str, under_way: bool) -> None:
        others = [name for name in self._watermark.open if name != part]
        self._watermark.open = [*others, part][-MOST_OPEN:] if under_way and part else others

    def _settled_answers(self) -> Iterator[JournalRow]:
        """Yield again the answers that were under way and are complete now: only their message was updated."""
        for name in list(self._watermark.open):
            part = self._find("part", name)
            row = self._with_context({key: value for key, value in part.items() if key != "rowid"})
            if "under_way" not in row:
                yield self._journal(journal_line({"table": "part", **row}))


def _may_grow(part: JsonObject) -> bool:
    time = part.get("time")
    return part.get("type") == "text" and not (isinstance(time, dict) and time.get("end") is not None)


def _time(value: object) -> Time:
    return value if isinstance(value, (int, float)) else _text(value)


def _after(time: Time, other: Time) -> bool:
    """Compare times as SQLite does: any text is later than any number."""
    if isinstance(time, str) or isinstance(other, str):
        return isinstance(time, str) and (not isinstance(other, str) or time.encode() > other.encode())
    return time > other


def _plain(value: object) -> object:
    return _text(value) if isinstance(value, bytes) else value


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def _json(value: object) -> JsonObject:
    """Return what a column holds as JSON; nothing where it is none, which the parser will say of the row itself."""
    try:
        return load_object(value) if isinstance(value, bytes) else {}
    except MalformedLine:
        return {}
