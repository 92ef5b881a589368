"""Importing memories during a sync: each version of a file into its journal, then what the file says into entries."""

import hashlib
import re
from pathlib import Path

import msgspec

from ingest import plan
from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.exclude import Rules
from ingest.memories.files import LARGEST, PREFIX, find
from memory import archive, home, provenance
from memory.archive import Origin, Piece, RawKey
from memory.entries import imported
from memory.errors import Conflict
from memory.times import from_ms, now

# What tells a version from the one before it.
_TOLD_BY = ("sha256", "gone")

Version = dict[str, object]


def import_memories(adapter: Adapter, environment: Environment, rules: Rules) -> tuple[int, list[str]]:
    """Journal what changed in the memories of one agent and bring its entries up to date.

    Returns how many entries were written, and one sentence for each file that could not be read.
    """
    failures: list[OSError] = []
    there = list(find(adapter.source, environment, failures))
    known = archive.known(adapter.source, f"{PREFIX}*")
    problems = [f"{each.filename} could not be read: {each.strerror}." for each in failures]
    for file in plan.changed(rules.without_excluded_paths(there), known):
        problems += _journal(adapter, file)
    if not failures:
        for path in known.keys() - {file.logical_path for file in there}:
            _vanish(adapter, path)
    written = 0
    for path, each in archive.known(adapter.source, f"{PREFIX}*").items():
        written += imported.settle(each.id, adapter.source, _near(adapter.source, path), _project(adapter.source, path))
    return written, problems


def _journal(adapter: Adapter, file: SourceFile) -> list[str]:
    """Append what a file says now; returns why it could not be read, if so."""
    if file.size > LARGEST:
        return [f"{file.path} is larger than any memory and was left out."]
    try:
        data = Path(file.path).read_bytes()
    except OSError as error:
        return [] if isinstance(error, FileNotFoundError) else [f"{file.path} could not be read: {error.strerror}."]
    version: Version = {
        "path": file.logical_path.removeprefix(PREFIX),
        "seen": from_ms(file.mtime_ns // 1_000_000),
        "sha256": hashlib.sha256(data).hexdigest(),
        "text": data.decode("utf-8", "replace"),
    }
    _append(adapter, file.logical_path, plan.origin(file), version)
    return []


def _vanish(adapter: Adapter, path: str) -> None:
    """Append that a file is gone, or became the index of others."""
    origin = archive.cursor(RawKey("", adapter.source, path)).origin
    version: Version = {"path": path.removeprefix(PREFIX), "seen": now(), "gone": 1}
    _append(adapter, path, origin._replace(size=-1, mtime_ns=-1, inode=-1), version)


def _append(adapter: Adapter, path: str, origin: Origin, version: Version) -> None:
    """Append a version to a file's journal, unless it is the one that the journal ends with."""
    key = RawKey("", adapter.source, path)
    archive.register([(key, origin)])
    raw_file = archive.cursor(key).id
    with home.RawFileLocks() as locks:
        locks.take(raw_file, wait=True)
        if not _is_last(raw_file, version):
            line = msgspec.json.encode(version, order="sorted") + b"\n"
            try:
                archive.append_all([Piece(raw_file, archive.cursor(key).bytes, line, adapter.parse_line, origin)])
            except Conflict:
                return  # another sync has seen it too
        archive.seen(raw_file, origin)


def _is_last(raw_file: int, version: Version) -> bool:
    """True for the version that a journal ends with: read there, since no database that is made anew would know."""
    line = provenance.last_line(raw_file)
    last: Version = msgspec.json.decode(line) if line else {}
    return bool(last) and all(last.get(name) == version.get(name) for name in _TOLD_BY)


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
