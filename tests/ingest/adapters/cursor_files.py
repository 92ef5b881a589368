"""Invented transcripts and databases of Cursor, and what is read of them."""

import hashlib
import json
import sqlite3
from pathlib import Path
from typing import Any

from ingest.adapters.cursor import parse_line
from ingest.adapters.cursor.rows import read_rows
from memory.parsed import Line, ParsedEvent, ParsedLine, State, Title

SESSION = "11a5e000-0000-4000-8000-0000000000a1"
CHILD = "11a5e000-0000-4000-8000-0000000000a2"
NESTED = f"projects/w-lamp/agent-transcripts/{SESSION}/{SESSION}.jsonl"
LEGACY = f"projects/w-lamp/agent-transcripts/{SESSION}.txt"
STORE = f"chats/0123456789abcdef0123456789abcdef/{SESSION}/store.db"
IDE = "User/globalStorage/state.vscdb"
# What Cursor's own tables are made as.
IDE_SCHEMA = "CREATE TABLE cursorDiskKV (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)"
STORE_SCHEMA = """
    CREATE TABLE blobs (id TEXT PRIMARY KEY, data BLOB);
    CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);"""
BEGUN = 1_790_000_000_000

Record = dict[str, Any]


def says(role: str, *blocks: object, **fields: object) -> Record:
    """Return a record of a transcript."""
    return {"role": role, "message": {"content": list(blocks)}} | fields


def text(words: object) -> Record:
    return {"type": "text", "text": words}


def calls(tool: str, **arguments: object) -> Record:
    return {"type": "tool_use", "name": tool, "input": arguments}


def prompt(words: str, at: str = "") -> Record:
    """Return the record of a prompt as Cursor wraps it."""
    stamp = f"<timestamp>{at}</timestamp>\n" if at else ""
    return says("user", text(f"{stamp}<user_query>\n{words}\n</user_query>"))


def lines_of(*records: Record) -> bytes:
    return b"".join(json.dumps(record).encode() + b"\n" for record in records)


def parse_all(lines: list[bytes], path: str, state: State | None = None) -> list[ParsedLine]:
    """Return what lines say that follow one another in one file."""
    state = state or {}
    found = []
    for number, line in enumerate(lines, 1):
        parsed = parse_line(Line(line, number, path, number - 1), state)
        state = parsed.state
        found.append(parsed)
    return found


def events(*records: Record, path: str = NESTED) -> list[ParsedEvent]:
    """Return the events of a transcript's records."""
    parsed = parse_all([json.dumps(record).encode() for record in records], path)
    return [event for line in parsed for event in line.events]


def event(*records: Record, path: str = NESTED) -> ParsedEvent:
    """Return the last event of a transcript's records."""
    return events(*records, path=path)[-1]


class Journal:
    """What was read of a file so far, batch by batch as sync does."""

    def __init__(self, path: Path, logical_path: str) -> None:
        self.path, self.logical_path = path, logical_path
        self.watermark: State = {}
        self.lines: list[bytes] = []

    def read(self, most: int = 1_000_000) -> list[Record]:
        """Return the rows that are new or changed, as their journal lines say."""
        found = []
        for row in read_rows(self.path, json.loads(json.dumps(self.watermark))):
            found.append(row)
            if len(found) == most:
                break
        if found:
            self.watermark = found[-1].watermark
        self.lines += [row.line for row in found]
        return [json.loads(row.line) for row in found]

    def rows(self) -> list[Record]:
        """Return every row that was read so far."""
        return [json.loads(line) for line in self.lines]

    def parsed(self) -> list[ParsedLine]:
        return parse_all(self.lines, self.logical_path)

    def events(self) -> list[ParsedEvent]:
        return [event for line in self.parsed() for event in line.events]

    def titles(self) -> list[Title]:
        return [title for line in self.parsed() for title in line.titles]


def journal(path: Path, logical_path: str) -> Journal:
    """Return what is read of a file in one go."""
    found = Journal(path, logical_path)
    found.read()
    return found


class IdeDatabase:
    """The IDE's database; rows are replaced as Cursor replaces them."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "state.vscdb"
        folder.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.execute("PRAGMA synchronous=OFF")
        self.connection.execute(IDE_SCHEMA)

    def put(self, key: str, value: object) -> None:
        held = value if value is None or isinstance(value, (bytes, str)) else json.dumps(value)
        self.connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, held))

    def bubble(self, bubble: str, thread: str = SESSION, **fields: object) -> None:
        self.put(f"bubbleId:{thread}:{bubble}", {"bubbleId": bubble} | fields)

    def composer(self, thread: str = SESSION, **fields: object) -> None:
        self.put(f"composerData:{thread}", {"composerId": thread, "createdAt": BEGUN} | fields)

    def delete(self, key: str) -> None:
        self.connection.execute("DELETE FROM cursorDiskKV WHERE key = ?", (key,))


class ChatStore:
    """The store of one chat of the CLI."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "store.db"
        folder.mkdir(parents=True, exist_ok=True)
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        self.connection.executescript(STORE_SCHEMA)

    def meta(self, plain: bool = False, **fields: object) -> None:
        told = json.dumps({"agentId": SESSION, "createdAt": BEGUN} | fields)
        value = told if plain else told.encode().hex()
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (value,))

    def message(self, role: str, content: object, **fields: object) -> str:
        return self.blob(json.dumps({"role": role, "content": content} | fields).encode())

    def blob(self, data: bytes) -> str:
        key = hashlib.sha256(data).hexdigest()
        self.connection.execute("INSERT OR IGNORE INTO blobs VALUES (?, ?)", (key, data))
        return key
