"""Importing memories during a sync: each version of a file into its journal, then what the file says into entries."""

import hashlib
import re
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.exclude import Rules
from ingest.memories.files import LARGEST, PREFIX, MemoryFile, find
from memory import archive, home
from memory.archive import Known, Origin, Piece, RawKey
from memory.entries import imported
from memory.errors import Conflict
from memory.times import now

# Stands for the SHA-256 of a file that is not there.
_GONE = "gone"


def import_memories(adapter: Adapter, environment: Environment, rules: Rules) -> tuple[int, list[str]]:
    """Journal what changed in the memories of one agent and bring its entries up to date.

    Returns how many entries were written, and one sentence for each file that could not be read.
    """
    failures: list[OSError] = []
    there = list(find(adapter.source, environment, failures))
    known = {path: each for path, each in archive.known(adapter.source).items() if path.startswith(PREFIX)}
    problems = [f"{each.filename} could not be read: {each.strerror}." for each in failures]
    for file in _allowed(there, rules):
        problems += _journal(adapter, file, known.get(file.logical_path))
    if not failures:
        for path in known.keys() - {file.logical_path for file in there}:
            _vanish(adapter, path)
    written = 0
    for raw_file, path in archive.journals(adapter.source, PREFIX):
        written += imported.settle(
            raw_file, adapter.source, _near(adapter.source, path), _project(adapter.source, path)
        )
    return written, problems


def _allowed(files: Iterable[MemoryFile], rules: Rules) -> list[MemoryFile]:
    """Leave out what the owner excludes by path."""
    files = list(files)
    as_sources = [SourceFile(f.source, f.path, f.logical_path, "rows", f.size, f.mtime_ns, f.inode) for f in files]
    kept = {each.path for each in rules.without_excluded_paths(as_sources)}
    return [file for file in files if file.path in kept]


def _journal(adapter: Adapter, file: MemoryFile, known: Known | None) -> list[str]:
    """Append a version of a file that is not the last one journalled; an unchanged file costs a stat."""
    if known and (known.size, known.mtime_ns, known.inode) == (file.size, file.mtime_ns, file.inode):
        return []
    if file.size > LARGEST:
        return [f"{file.path} is larger than any memory and was left out."]
    try:
        data = Path(file.path).read_bytes()
    except OSError as error:
        return [] if isinstance(error, FileNotFoundError) else [f"{file.path} could not be read: {error.strerror}."]
    seen = datetime.fromtimestamp(file.mtime_ns / 1e9, UTC).isoformat(timespec="milliseconds")[:23] + "Z"
    version: dict[str, object] = {
        "path": file.item,
        "seen": seen,
        "sha256": hashlib.sha256(data).hexdigest(),
        "text": data.decode("utf-8", "replace"),
    }
    origin = Origin(file.path, "rows", file.size, file.mtime_ns, file.inode)
    _append(adapter, file.logical_path, origin, version, str(version["sha256"]))
    return []


def _vanish(adapter: Adapter, path: str) -> None:
    """Journal that a file is gone, or became the index of others, once."""
    cursor = archive.cursor(RawKey("", adapter.source, path))
    if cursor.watermark.get("version") != _GONE:
        version: dict[str, object] = {"path": path.removeprefix(PREFIX), "seen": now(), "gone": 1}
        _append(adapter, path, cursor.origin._replace(size=-1, mtime_ns=-1, inode=-1), version, _GONE)


def _append(adapter: Adapter, path: str, origin: Origin, version: dict[str, object], mark: str) -> None:
    key = RawKey("", adapter.source, path)
    archive.register([(key, origin)] if not archive.is_known(key) else [])
    cursor = archive.cursor(key)
    with home.RawFileLocks() as locks:
        locks.take(cursor.id, wait=True)
        cursor = archive.cursor(key)
        if cursor.watermark.get("version") != mark:
            line = msgspec.json.encode(version, order="sorted") + b"\n"
            try:
                piece = Piece(cursor.id, cursor.bytes, line, adapter.parse_line, origin, {"version": mark})
                archive.append_all([piece])
            except Conflict:
                return
        archive.seen(cursor.id, origin)


def _near(source: str, path: str) -> str:
    """Return the beginning of the logical paths of the logs that lie beside a memory, by which its project is known."""
    if source != "claude-code":
        return ""
    return path.removeprefix(PREFIX).partition("/memory/")[0] + "/"


def _project(source: str, path: str) -> str:
    """Return the project that a memory's own path names, for the agents whose folders do."""
    if source == "claude-code":
        return ""
    folder = path.removeprefix(PREFIX).split("/")
    named = folder[1] if len(folder) > 2 else ""
    return re.sub(r"-[0-9a-f]{8,16}$", "", named)
