"""Reads Cursor's databases, and the transcripts of its older builds, as journals of new and changed rows."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ingest.adapters.contract import JournalRow
from ingest.adapters.journal import has_table, journal_line, read_only
from memory.json_line import BOM
from memory.parsed import State

# The order of rows is the order of writing: these tables replace a row, which gives it a new place at the end.
NEW_BLOBS = "SELECT rowid, id, data FROM blobs NOT INDEXED WHERE rowid > ? ORDER BY rowid"
BLOB = "SELECT rowid, data FROM blobs WHERE id = ?"
META = "SELECT key, value FROM meta ORDER BY key"
NEW_BUBBLES = """
    SELECT rowid, key, value FROM cursorDiskKV NOT INDEXED
    WHERE rowid > ? AND (key >= 'bubbleId:' AND key < 'bubbleId;' OR key >= 'composerData:' AND key < 'composerData;')
    ORDER BY rowid"""
BUBBLE = "SELECT rowid, value FROM cursorDiskKV WHERE key = ?"

_COMPOSER, _BUBBLE = "composerData:", "bubbleId:"
# Conversations whose own row was read before their bubbles. Further back, it is read once more.
_MOST_ANNOUNCED = 64
# How many rows are read between two times that old marks are let go.
_MARKS_BETWEEN = 16
_TAIL_BYTES = 4_096
_LONGEST_MARKER, _NOTHING = 32, b" \t\r\n\x00"
_MARKERS = {b"user:": "user", b"assistant:": "assistant", b"A:": "assistant"}

# A row that was read: the how many-th, its rowid and key, and a digest of its value.
Mark = list[Any]
# Looks up the rowid and value that a key has now.
Lookup = Callable[[str], tuple[int, bytes] | None]


def read_rows(path: Path, watermark: State) -> Iterator[JournalRow]:
    """Yield a file's rows that are new or changed since the watermark, oldest first."""
    if path.name.endswith(".txt"):
        return _read_blocks(path, watermark)
    return _read_store(path, watermark) if path.name == "store.db" else _read_ide(path, watermark)


def _read_store(path: Path, watermark: State) -> Iterator[JournalRow]:
    """Yield what is known of a chat, where it changed, and the chat's messages; other blobs link them together."""
    known = _texts_of(watermark, "known")
    marks = _marks_of(watermark)
    with read_only(path) as connection:
        for key, value in [*_beside(path), *_meta(connection)]:
            if known.get(key) != _digest(value):
                known = {**known, key: _digest(value)}
                yield JournalRow(_line("meta", key, value), {"known": known, "marks": marks})
        if has_table(connection, "blobs"):
            for row in _new_rows(connection, NEW_BLOBS, _lookup(connection, BLOB), marks):
                if row.value is not None and row.value.lstrip().startswith(b"{"):
                    yield JournalRow(_line("blobs", row.key, row.value), {"known": known, "marks": row.marks})


def _beside(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what lies beside a store: newer builds keep the chat's directory and times there."""
    try:
        yield "meta.json", path.with_name("meta.json").read_bytes()
    except OSError:
        return


def _meta(connection: sqlite3.Connection) -> Iterator[tuple[str, bytes]]:
    if has_table(connection, "meta"):
        for key, value in connection.execute(META):
            if value is not None:
                yield _text(key), _bytes(value)


def _read_ide(path: Path, watermark: State) -> Iterator[JournalRow]:
    """Yield bubbles, each after the row of its conversation, which says where that was held and whose it is."""
    announced = _texts_of(watermark, "announced")
    marks = _marks_of(watermark)
    with read_only(path) as connection:
        if not has_table(connection, "cursorDiskKV"):
            return
        lookup = _lookup(connection, BUBBLE)
        for row in _new_rows(connection, NEW_BUBBLES, lookup, marks):
            thread = row.key.split(":")[1]
            if row.key.startswith(_BUBBLE) and thread not in announced:
                value = (lookup(_COMPOSER + thread) or (0, b""))[1]
                announced = _with_announced(announced, thread, value)
                if value:
                    line = _line("cursorDiskKV", _COMPOSER + thread, value)
                    yield JournalRow(line, {"announced": announced, "marks": marks})
            marks = row.marks
            if row.key.startswith(_COMPOSER):
                if announced.get(thread) == _digest(row.value):
                    continue
                announced = _with_announced(announced, thread, row.value)
            yield JournalRow(_line("cursorDiskKV", row.key, row.value), {"announced": announced, "marks": marks})


def _with_announced(announced: dict[str, str], thread: str, value: bytes | None) -> dict[str, str]:
    kept = {other: digest for other, digest in announced.items() if other != thread} | {thread: _digest(value)}
    for oldest in list(kept)[:-_MOST_ANNOUNCED]:
        del kept[oldest]
    return kept


# Where reading goes on


class _Row(NamedTuple):
    """A row that is new or changed, and the marks once it was read."""

    key: str
    value: bytes | None
    marks: list[Mark]


def _new_rows(connection: sqlite3.Connection, query: str, lookup: Lookup, marks: list[Mark]) -> Iterator[_Row]:
    start, marks = _resume(lookup, marks)
    for rowid, key, value in connection.execute(query, (start,)):
        told = None if value is None else _bytes(value)
        marks = _with_mark(marks, rowid, _text(key), told)
        yield _Row(_text(key), told, marks)


def _resume(lookup: Lookup, marks: list[Mark]) -> tuple[int, list[Mark]]:
    """Return the rowid after which all is new, and the marks up to there.

    The last row that was read may be gone, or may have been replaced in its place: then reading goes on after the last
    one that is as it was. Rows move to lower rowids when a database is compacted, and to higher ones when rewritten.
    """
    for index in range(len(marks) - 1, -1, -1):
        _, rowid, key, digest = marks[index]
        found = lookup(key)
        if found is not None and found[0] <= rowid and _digest(found[1]) == digest:
            return found[0], marks[: index + 1]
    return 0, []


def _with_mark(marks: list[Mark], rowid: int, key: str, value: bytes | None) -> list[Mark]:
    """Return the marks with one more: the last few rows, and ever fewer of those before."""
    number = marks[-1][0] + 1 if marks else 1
    if number % _MARKS_BETWEEN == 0:
        marks = [mark for mark in marks if mark[0] % (1 << max((number - mark[0]).bit_length() - 3, 0)) == 0]
    return [*marks, [number, rowid, key, _digest(value)]]


def _lookup(connection: sqlite3.Connection, query: str) -> Lookup:
    def find(key: str) -> tuple[int, bytes] | None:
        row = connection.execute(query, (key,)).fetchone()
        return None if row is None else (row[0], b"" if row[1] is None else _bytes(row[1]))

    return find


def _line(table: str, key: str, value: bytes | None) -> bytes:
    return journal_line({"table": table, "key": key, "value": value})


def _digest(value: bytes | None) -> str:
    return hashlib.sha256(value or b"").hexdigest()[:12]


def _bytes(value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _text(value: object) -> str:
    return _bytes(value).decode("utf-8", "replace")


def _texts_of(watermark: State, key: str) -> dict[str, str]:
    held = watermark.get(key)
    return dict(held) if isinstance(held, dict) else {}


def _marks_of(watermark: State) -> list[Mark]:
    held = watermark.get("marks")
    return list(held) if isinstance(held, list) else []


# Transcripts of older builds


class _Position(NamedTuple):
    """How far a transcript is read, the bytes before that, and the number and role of the block that it stops in."""

    end: int = 0
    tail: bytes = b""
    block: int = 0
    role: str = ""


def _read_blocks(path: Path, watermark: State) -> Iterator[JournalRow]:
    """Yield each block of a transcript; where the last one has grown since, what was added to it."""
    with path.open("rb") as file:
        position = _resumed(file, watermark)
        lines: list[bytes] = []
        for line in file:
            if role := _role(line, is_first=not position.end and not lines):
                yield from _block(position, lines)
                position = _moved(position, lines)
                # What stands before the first marker is no block of its own.
                position = position._replace(block=position.block + bool(position.role), role=role)
                lines = []
            lines.append(line)
        yield from _block(position, lines)


def _resumed(file: BinaryIO, watermark: State) -> _Position:
    """Go to where reading goes on: the start, where the file does not begin with what was read of it."""
    end, block, role = watermark.get("end"), watermark.get("block"), watermark.get("role")
    if isinstance(end, int) and isinstance(block, int) and isinstance(role, str):
        file.seek(max(end - _TAIL_BYTES, 0))
        tail = file.read(min(end, _TAIL_BYTES))
        if _digest(tail) == watermark.get("tail"):
            return _Position(end, tail, block, role)
    file.seek(0)
    return _Position()


def _role(line: bytes, is_first: bool) -> str:
    """Return whose block a line begins, or nothing."""
    if len(line) > _LONGEST_MARKER:
        return ""
    return _MARKERS.get((line.removeprefix(BOM) if is_first else line).rstrip(), "")


def _block(position: _Position, lines: list[bytes]) -> Iterator[JournalRow]:
    text = b"".join(lines)
    if text.strip(_NOTHING):
        columns = {"table": "transcript", "block": position.block, "role": position.role, "text": text}
        after = _moved(position, lines)
        told = {"end": after.end, "tail": _digest(after.tail), "block": after.block, "role": after.role}
        yield JournalRow(journal_line(columns), told)


def _moved(position: _Position, lines: list[bytes]) -> _Position:
    text = b"".join(lines)
    return position._replace(end=position.end + len(text), tail=(position.tail + text)[-_TAIL_BYTES:])
