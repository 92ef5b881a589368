"""The names Codex keeps for its threads outside their logs: an index file, and a database in newer builds."""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ingest.adapters.contract import JournalRow, SourceFile
from ingest.adapters.journal import database, journal_line, read_only
from ingest.adapters.times import utc_time
from memory.json_line import JsonObject, clean_text, load_object
from memory.parsed import Line, ParsedLine, State, Title

INDEX = "session_index.jsonl"
_DATABASE = re.compile(r"state_(\d{1,9})\.sqlite")
_TABLE = "threads"
_COLUMNS = ("id", "title", "name", "name_state", "first_user_message", "updated_at", "updated_at_ms")
# Oldest change first; of a thread whose name is the one journalled last, no new line is made.
ROWS = """
    SELECT {columns}, CAST({time} AS INTEGER) AS changed FROM threads
    WHERE changed > ? OR (changed = ? AND id > ?) ORDER BY changed, id"""
_MOST_REMEMBERED = 64


def index_file(source: str, root: str, prefix: str) -> Iterator[SourceFile]:
    """Yield the index of thread names in a root, where there is one."""
    path = os.path.join(root, INDEX)
    if status := _regular(path):
        size, mtime_ns, inode = status.st_size, status.st_mtime_ns, status.st_ino
        yield SourceFile(source, path, prefix + INDEX, "lines", size, mtime_ns, inode)


def state_database(source: str, directory: str, prefix: str) -> Iterator[SourceFile]:
    """Yield the newest `state_<n>.sqlite` of a directory: a newer build copies what an older one had."""
    try:
        names = [name for name in os.listdir(directory) if _DATABASE.fullmatch(name)]
    except (FileNotFoundError, NotADirectoryError):
        return
    name = max(names, key=lambda name: int(name[len("state_") : -len(".sqlite")]), default="")
    path = os.path.join(directory, name)
    if name and (status := _regular(path)):
        yield database(source, path, prefix + name, status)


def read_rows(path: Path, watermark: State) -> Iterator[JournalRow]:
    """Yield a line for each thread that was given a name since the watermark.

    A title that only repeats how the person began is no name: it would outlive the forgetting of those words.
    """
    with read_only(path) as connection:
        columns = [name.decode() for (name,) in connection.execute("SELECT name FROM pragma_table_info('threads')")]
        if not {"id", "title", "updated_at"} <= set(columns):
            return
        wanted = [name for name in _COLUMNS if name in columns]
        time = "coalesce(updated_at_ms, updated_at * 1000)" if "updated_at_ms" in columns else "updated_at * 1000"
        mark = watermark.get("changed", -1)
        query = ROWS.format(columns=", ".join(wanted), time=time)
        named = _names(watermark)
        for *values, changed in connection.execute(query, (mark, mark, str(watermark.get("id", "")))):
            row = dict(zip(wanted, map(_text, values), strict=True))
            name, thread = _given_name(row), str(row["id"])
            digest = hashlib.sha256(name.encode()).hexdigest()[:8]
            if name and named.get(thread) != digest:
                named = _remembered(named, thread, digest)
                line = journal_line({"table": _TABLE, "key": thread, "name": name, "updated_at": changed})
                yield JournalRow(line, {"changed": changed, "id": thread, "named": named})


def parse_title(line: Line, state: State) -> ParsedLine:
    """Return the title that a line of the index, or a row of the database, gives a thread."""
    record = load_object(line.data)
    rows = line.path.endswith(".sqlite")
    if rows and record.get("table") != _TABLE:
        return ParsedLine(state)
    thread, name = (record.get(field) for field in (("key", "name") if rows else ("id", "thread_name")))
    at = utc_time(record.get("updated_at"))
    if not isinstance(thread, str) or not isinstance(name, str) or not thread or not name.strip():
        return ParsedLine(state, at=at)
    return ParsedLine(state, titles=(Title("custom", name.strip(), session=thread),), at=at)


def _regular(path: str) -> os.stat_result | None:
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    try:
        return os.stat(path)
    except OSError:
        return None


def _text(value: object) -> object:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _given_name(row: JsonObject) -> str:
    """Return the name that a person or the program gave a thread; empty where its title is how it began."""
    name, title, first = (_word(row.get(column)) for column in ("name", "title", "first_user_message"))
    if "name_state" in row:
        return name if row["name_state"] == "explicit" else ""
    if name:
        return name
    begun = "first_user_message" not in row or first.startswith(title)
    return "" if begun else title


def _word(value: object) -> str:
    return clean_text(value).strip() if isinstance(value, str) else ""


def _names(watermark: State) -> dict[str, str]:
    named = watermark.get("named")
    return named if isinstance(named, dict) else {}


def _remembered(named: Mapping[str, str], thread: str, digest: str) -> dict[str, str]:
    kept = {other: known for other, known in named.items() if other != thread} | {thread: digest}
    if len(kept) > _MOST_REMEMBERED:
        del kept[next(iter(kept))]
    return kept
