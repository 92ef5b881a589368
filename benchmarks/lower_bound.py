"""The bare script that imports are measured against: read, parse with msgspec, compress, fill the same tables.

It knows nothing of crashes, other processes, copies, secrets or odd bytes, and takes every line for well-formed. It
takes the tables and indexes from a store that Origin migrated, drops the triggers, and fills the full-text indexes
itself, in the batches that cost least.

    python -m benchmarks.lower_bound LOGS EMPTY_STORE.db MIRRORS
"""

import hashlib
import re
import sqlite3
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import msgspec
import zstandard

BATCH_BYTES = 1 << 20
# Larger ones were no cheaper; half as large, a few percent dearer.
EVENTS_PER_TRANSACTION = 2_000
CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
PRAGMAS = """
    PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32000; PRAGMA temp_store=MEMORY;
    PRAGMA journal_size_limit=67108864;"""
INDEX_OF = {
    "message": ("message_trigram", "message_words"),
    "tool_call": ("tool_words",),
    "tool_result": ("tool_words",),
}
COLUMNS = {
    "raw_file": ("id", "source", "logical_path", "origin_path", "mirror_path", "bytes", "lines", "stored_bytes"),
    "raw_frame": (
        *("raw_file_id", "first_line", "lines", "raw_offset", "raw_length", "stored_offset", "stored_length", "sha256"),
    ),
    "session": (
        *("id", "session_id", "source", "cwd", "branch", "first_at", "last_at", "events", "messages", "tool_calls"),
        *("title", "first_prompt", "grams"),
    ),
    "session_title": ("raw_file_id", "line", "kind", "text", "session_id"),
    "event_context": ("id", "cwd", "branch", "model", "agent_version"),
    "event": (
        *("id", "event_id", "kind", "role", "at", "tool", "text", "digest", "context_id", "raw_file_id", "line"),
        *("home", "session_id", "ordinal"),
    ),
    "event_file": ("event", "path"),
    "event_gram": ("id", "text"),
}
TITLES = {"summary": "summary", "ai-title": "aiTitle"}

Row = tuple[Any, ...]


class Said(NamedTuple):
    """What one record's message or one block of it makes a row of."""

    event_id: str
    kind: str
    role: str
    text: str
    tool: str = ""
    path: str = ""


class Import:
    """The store, and the rows that wait for the next transaction."""

    def __init__(self, database: Path, mirrors: Path) -> None:
        self.mirrors = mirrors
        self.store = sqlite3.connect(database, isolation_level=None)
        self.store.executescript(PRAGMAS)
        for (name,) in self.store.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            self.store.execute(f"DROP TRIGGER {name}")
        self.into = {table: self.statement(table, columns) for table, columns in COLUMNS.items()}
        self.waiting: dict[str, list[Row]] = {table: [] for table in COLUMNS}
        self.contexts: dict[Row, int] = {}
        self.compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
        self.key = 0

    def statement(self, table: str, columns: tuple[str, ...]) -> tuple[str, str]:
        """Return an INSERT and the marks of one row of it; columns that may not be empty get a constant."""
        described = self.store.execute(f"PRAGMA table_info({table})").fetchall()
        others = {
            name: "0" if type_ in ("integer", "bigint", "bool", "smallint") else "''"
            for _, name, type_, not_null, _, is_key in described
            if not_null and not is_key and name not in columns
        }
        marks = ",".join([*"?" * len(columns), *others.values()])
        return f"INSERT INTO {table} ({','.join((*columns, *others))}) VALUES ", f"({marks})"

    def file(self, path: Path, number: int) -> None:
        """Import one file, a mebibyte at a time."""
        session = Session(number, path.stem)
        line = offset = stored = 0
        with path.open("rb") as source, (self.mirrors / f"{number}.zst").open("wb") as target:
            for data in batches(source):
                frame = self.compressor.compress(data)
                target.write(frame)
                first = line + 1
                for line, text in enumerate(data.removesuffix(b"\n").split(b"\n"), first):
                    self.line(text, line, session)
                place = (number, first, line + 1 - first, offset, len(data), stored, len(frame))
                self.waiting["raw_frame"].append((*place, hashlib.sha256(data).digest()))
                offset, stored = offset + len(data), stored + len(frame)
                if len(self.waiting["event"]) >= EVENTS_PER_TRANSACTION:
                    self.write()
        self.waiting["raw_file"].append((number, "claude-code", str(path), str(path), str(path), offset, line, stored))
        self.waiting["session"].append(session.row())

    def line(self, text: bytes, number: int, session: "Session") -> None:
        """Take in one line."""
        record = msgspec.json.decode(text)
        kind = record["type"]
        if kind in TITLES:
            session.title = record[TITLES[kind]]
            name = f"claude-code:{session.name}"
            self.waiting["session_title"].append((session.number, number, kind, session.title, name))
            return
        at = record.get("timestamp", "")
        for said in sayings(record, kind):
            self.key += 1
            message = said.kind == "message"
            digest = text_digest(said.text) if message else None
            self.waiting["event"].append(
                (
                    *(self.key, said.event_id, said.kind, said.role, at, said.tool, said.text, digest),
                    *(self.context(record), session.number, number, 1, session.number, number * 1024),
                )
            )
            session.count(said, at, record)
            if said.path:
                self.waiting["event_file"].append((self.key, said.path))
            if message and not said.text.isascii() and (grams := bigrams(said.text)):
                self.waiting["event_gram"].append((self.key, grams))

    def context(self, record: dict[str, Any]) -> int:
        """Return the number of the record's directory, branch, model and version."""
        model = record["message"].get("model", "") if "message" in record else ""
        context = (record["cwd"], record["gitBranch"], model, record["version"])
        found = self.contexts.get(context)
        if found is None:
            found = self.contexts[context] = len(self.contexts) + 1
            self.waiting["event_context"].append((found, *context))
        return found

    def write(self) -> None:
        """Write what waits in one transaction."""
        self.store.execute("BEGIN IMMEDIATE")
        for table, rows in self.waiting.items():
            self.insert(*self.into[table], rows)
        events, sessions = self.waiting["event"], self.waiting["session"]
        for index in ("message_trigram", "message_words", "tool_words"):
            self.fill(index, "text", [(row[0], row[6]) for row in events if index in INDEX_OF[row[2]]])
        self.fill("message_grams", "text", self.waiting["event_gram"])
        for index in ("session_trigram", "session_words"):
            self.fill(index, "title, first_prompt", [(row[0], *row[-3:-1]) for row in sessions])
        self.fill("session_grams", "grams", [(row[0], row[-1]) for row in sessions])
        self.store.execute("COMMIT")
        self.waiting = {table: [] for table in COLUMNS}

    def fill(self, index: str, columns: str, rows: list[Row]) -> None:
        """Insert rows into a full-text index."""
        if rows:
            self.insert(f"INSERT INTO {index} (rowid, {columns}) VALUES ", f"({','.join('?' * len(rows[0]))})", rows)

    def insert(self, into: str, marks: str, rows: list[Row]) -> None:
        """Insert rows, as many a statement as it takes."""
        step = 32_000 // marks.count("?")
        for start in range(0, len(rows), step):
            piece = rows[start : start + step]
            self.store.execute(into + ",".join([marks] * len(piece)), [value for row in piece for value in row])


class Session:
    """What a file's lines add up to."""

    def __init__(self, number: int, name: str) -> None:
        self.number, self.name = number, name
        self.title = self.prompt = self.cwd = self.branch = self.first_at = self.last_at = ""
        self.events = self.messages = self.tool_calls = 0

    def count(self, said: Said, at: str, record: dict[str, Any]) -> None:
        """Add one event."""
        self.events += 1
        self.messages += said.kind == "message"
        self.tool_calls += said.kind == "tool_call"
        self.last_at = at
        if not self.first_at:
            self.first_at, self.cwd, self.branch = at, record["cwd"], record["gitBranch"]
        if not self.prompt and said.role == "user":
            self.prompt = " ".join(said.text[:2_000].split())[:300]

    def row(self) -> Row:
        """Return the session's row, title, first prompt and bigrams last."""
        counts = (self.events, self.messages, self.tool_calls)
        place = (self.number, f"claude-code:{self.name}", "claude-code", self.cwd, self.branch)
        named = (self.title, self.prompt, bigrams(f"{self.title}\n{self.prompt}"))
        return (*place, self.first_at, self.last_at, *counts, *named)


def main(logs: Path, database: Path, mirrors: Path) -> None:
    """Import every log below `logs`, oldest first."""
    work = Import(database, mirrors)
    files = sorted(logs.rglob("*.jsonl"), key=lambda path: path.stat().st_mtime)
    for number, path in enumerate(files, 1):
        work.file(path, number)
    work.write()
    work.store.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def batches(source: BinaryIO) -> Iterator[bytes]:
    """Yield about a mebibyte of whole lines at a time."""
    while data := source.read(BATCH_BYTES):
        yield data + source.readline()


def bigrams(text: str) -> str:
    """Return the overlapping pairs of each run of CJK characters."""
    return " ".join(run[i : i + 2] for run in CJK.findall(text) for i in range(len(run)))


def text_digest(text: str) -> bytes:
    """Return the digest of a text in one case, with single spaces."""
    return hashlib.sha256(" ".join(text.casefold().split()).encode()).digest()[:16]


def sayings(record: dict[str, Any], kind: str) -> Iterable[Said]:
    """Yield what a record makes rows of: its text, its tool calls, its tool results."""
    if kind in ("user", "assistant"):
        content = record["message"]["content"]
    elif kind == "attachment" and record["attachment"]["type"] == "queued_command":
        kind, content = "user", record["attachment"]["prompt"]
    else:
        return
    key = f"claude-code:{record['uuid']}"
    if isinstance(content, str):
        yield Said(key, "message", kind, content)
        return
    if text := "\n\n".join(block["text"] for block in content if block["type"] == "text"):
        yield Said(key, "message", kind, text)
    for index, block in enumerate(content):
        if block["type"] == "tool_use":
            given = block["input"]
            text = block["name"] + "\n" + "\n".join(f"{name}: {value}" for name, value in given.items())
            path = given.get("file_path") or given.get("path") or ""
            yield Said(f"{key}#{index}", "tool_call", "assistant", text[:2_000], block["name"], path)
        elif block["type"] == "tool_result":
            result = block["content"]
            text = result if isinstance(result, str) else "\n".join(part.get("text", "") for part in result)
            yield Said(f"{key}#{index}", "tool_result", "tool", text[:4_000])


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
