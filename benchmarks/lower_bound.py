"""The bare script that imports are measured against: read, parse with msgspec, compress, fill the same tables and indexes.

It knows nothing of crashes, other processes, copies, secrets, titles or odd bytes. It takes the tables and indexes
from a store that Origin migrated, drops the triggers, and fills the full-text indexes itself, in bulk.

    python -m benchmarks.lower_bound LOGS EMPTY_STORE.db MIRRORS
"""

import hashlib
import re
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import zstandard

BATCH_BYTES = 1 << 20
CJK = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]+")
EVENT = (
    "INSERT OR IGNORE INTO event (id, event_id, kind, role, at, inferred, sub_agent, tool, text, digest, context_id,"
    " raw_file_id, line, home, session_id, ordinal, twin, rank) VALUES "
)
PRAGMAS = """
    PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-32000; PRAGMA temp_store=MEMORY;
    PRAGMA journal_size_limit=67108864;"""
INDEX_OF = {"message": ("message_trigram", "message_words"), "tool_call": ("tool_words",), "tool_result": ("tool_words",)}

Row = tuple[Any, ...]


def main(logs: Path, database: Path, mirrors: Path) -> None:
    """Import every log below `logs`, newest first."""
    store = sqlite3.connect(database, isolation_level=None)
    store.executescript(PRAGMAS)
    for (name,) in store.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        store.execute(f"DROP TRIGGER {name}")
    store.execute("INSERT INTO event_context VALUES (1, '/w', 'main', 'x', '2')")
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True, write_content_size=True)
    key = 0
    files = sorted(logs.rglob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True)
    for number, path in enumerate(files, 1):
        key = import_file(store, path, number, key, mirrors / f"{number}.zst", compressor)


def import_file(
    store: sqlite3.Connection, path: Path, number: int, key: int, mirror: Path, compressor: zstandard.ZstdCompressor
) -> int:
    """Import one file in batches of a mebibyte; returns the last key used."""
    session = (number, path.stem, "x", "", "", "", "", "", "", "", "", "", 0, 0, 0, "", 0, "", 0, "", 0, 0)
    store.execute(f"INSERT INTO session VALUES ({','.join('?' * len(session))})", session)
    line = offset = stored = 0
    with path.open("rb") as source, mirror.open("wb") as target:
        for data in batches(source):
            frame = compressor.compress(data)
            target.write(frame)
            digest = hashlib.sha256(data).digest()
            events = []
            for line, text in enumerate(data.split(b"\n"), line + 1):  # noqa: B020 - goes on from the last batch
                for event in parse(text, line) if text else ():
                    key += 1
                    events.append((key, *event, 1, number, line, 1, number, line * 1024, "", 0))
            store.execute("BEGIN IMMEDIATE")
            write(store, events)
            store.execute(
                "INSERT INTO raw_frame (raw_file_id, first_line, lines, raw_offset, raw_length, stored_offset,"
                " stored_length, sha256) VALUES (?,?,?,?,?,?,?,?)",
                (number, 1, 1, offset, len(data), stored, len(frame), digest),
            )
            store.execute("UPDATE session SET events = events + ? WHERE id = ?", (len(events), number))
            store.execute("COMMIT")
            offset, stored = offset + len(data), stored + len(frame)
    return key


def batches(source: Any) -> Iterator[bytes]:
    """Yield about a mebibyte of whole lines at a time."""
    while data := source.read(BATCH_BYTES):
        yield data + source.readline()


def write(store: sqlite3.Connection, events: list[Row]) -> None:
    """Insert events and their index rows, many a statement."""
    for start in range(0, len(events), 500):
        piece = events[start : start + 500]
        insert(store, EVENT, piece)
        for kind, indexes in INDEX_OF.items():
            rows = [(event[0], event[8]) for event in piece if event[2] == kind]
            for index in indexes:
                insert(store, f"INSERT INTO {index} (rowid, text) VALUES ", rows)
        grams = [(event[0], bigrams(event[8])) for event in piece if event[2] == "message" and not event[8].isascii()]
        insert(store, "INSERT INTO event_gram (id, text) VALUES ", grams)
        insert(store, "INSERT INTO message_grams (rowid, text) VALUES ", grams)


def insert(store: sqlite3.Connection, query: str, rows: list[Row]) -> None:
    """Insert rows by one statement."""
    if rows:
        marks = f"({','.join('?' * len(rows[0]))})"
        store.execute(query + ",".join([marks] * len(rows)), [value for row in rows for value in row])


def bigrams(text: str) -> str:
    """Return the overlapping pairs of each run of CJK characters."""
    return " ".join(run[i : i + 2] for run in CJK.findall(text) for i in range(len(run)))


def parse(line: bytes, number: int) -> Iterator[Row]:
    """Yield the rows that a record makes: its text, its tool calls, its tool results."""
    record = msgspec.json.decode(line)
    message = record.get("message")
    if record["type"] not in ("user", "assistant") or not isinstance(message, dict):
        return
    role, content, uuid, at = record["type"], message["content"], record["uuid"], record["timestamp"]
    if isinstance(content, str):
        yield text_row(uuid, role, at, content)
        return
    said = "\n\n".join(block["text"] for block in content if block["type"] == "text")
    if said:
        yield text_row(uuid, role, at, said)
    for index, block in enumerate(content):
        if block["type"] == "tool_use":
            text = block["name"] + "\n" + "\n".join(f"{name}: {value}" for name, value in block["input"].items())
            yield (f"claude-code:{uuid}#{index}", "tool_call", role, at, 0, 0, block["name"], text[:2000], None)
        elif block["type"] == "tool_result":
            inner = block["content"]
            text = inner if isinstance(inner, str) else "\n".join(part.get("text", "") for part in inner)
            yield (f"claude-code:{uuid}#{index}", "tool_result", "tool", at, 0, 0, "", text[:4000], None)


def text_row(uuid: str, role: str, at: str, text: str) -> Row:
    """Return the row of a message."""
    digest = hashlib.sha256(" ".join(text.casefold().split()).encode()).digest()[:16]
    return (f"claude-code:{uuid}", "message", role, at, 0, 0, "", text, digest)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
