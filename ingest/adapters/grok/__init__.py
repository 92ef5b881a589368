"""Grok Build: for each session a log of updates, the chat as the model gets it, and a summary."""

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from ingest.adapters.contract import Adapter, Environment, Form, SourceFile
from ingest.adapters.files import Found, one_file, roots, walk
from ingest.adapters.grok.about import SUB_AGENT, SUMMARY, read_about, read_rows
from ingest.adapters.grok.chat import read_chat
from ingest.adapters.grok.session import LONGEST_PATH, SOURCE, Place, decoded, place_of
from ingest.adapters.grok.updates import read_update
from ingest.adapters.journal import read_only
from ingest.memories.page import with_memories
from memory.parsed import Line, ParsedLine, State

_UPDATES, _CHAT = "updates.jsonl", "chat_history.jsonl"
_FILES = frozenset({_UPDATES, _CHAT, SUMMARY, SUB_AGENT})
# Directories in a session's that hold copies, files of tools and snapshots, some of them huge.
_SKIPPED = frozenset({"assets", "compaction", "compaction_checkpoints", "terminal", "workflows", "worktrees"})
_SEARCH_INDEX = "session_search.sqlite"
_READERS: dict[str, Callable[[Line, Place, State], ParsedLine]] = {
    _UPDATES: read_update,
    _CHAT: read_chat,
    SUMMARY: read_about,
    SUB_AGENT: read_about,
}


def discover(environment: Environment) -> Iterator[SourceFile]:
    """Yield the files of every session; what could not be read is raised once all else has been yielded."""
    failures: list[OSError] = []
    for root, prefix in _roots(environment):
        sessions = os.path.join(root, "sessions")
        found = [each for each in walk(sessions, _FILES.__contains__, _SKIPPED, failures) if _is_read(each.relative)]
        directories: dict[str, str] = {}
        for each in found:
            folder, _, rest = each.relative.partition("/")
            if folder not in directories:
                directories[folder] = _directory(sessions, folder)
            yield _source_file(each, f"{prefix}sessions/{directories[folder]}/{rest}")
        if not found:
            failures += _unread(sessions)
    if failures:
        raise failures[0]


def places(environment: Environment) -> Iterator[str]:
    """Yield the directories that `discover` looks in."""
    return (os.path.join(root, "sessions") for root, _ in _roots(environment))


def parse_line(line: Line, state: State) -> ParsedLine:
    """Return what a line of one of the files means; raises `MalformedLine` where it is no JSON object."""
    place = place_of(line.path)
    return _READERS.get(place.name, read_update)(line, place, state)


def version(environment: Environment) -> str:
    """Nothing is known without running the agent, and no file that is read names the version."""
    return ""


def _roots(environment: Environment) -> Iterator[tuple[str, str]]:
    usual = os.path.join(environment.home, ".grok")
    return roots(environment.home, [environment.variables.get("GROK_HOME", "")], (usual,))


def _directory(sessions: str, folder: str) -> str:
    """Return the encoded path that a folder is of: its own name, or where that is a hash, what `.cwd` in it says."""
    inside = os.path.join(sessions, folder)
    try:
        status = None if decoded(folder) else one_file(inside, ".cwd")
        if status is None or status.st_size > LONGEST_PATH:
            return folder
        path = Path(inside, ".cwd").read_text("utf-8", "replace").strip()
    except OSError:
        return folder
    encoded = quote(path, safe="", errors="replace")
    return encoded if decoded(encoded) == path else folder


def _is_read(relative: str) -> bool:
    """True for the files of a session, and for what one says of a sub-agent."""
    folders = relative.split("/")
    if folders[-1] == SUB_AGENT:
        return len(folders) == 5 and folders[2] == "subagents"
    return len(folders) == 3


def _source_file(found: Found, logical_path: str) -> SourceFile:
    form: Form = "lines" if logical_path.endswith(".jsonl") else "rows"
    status = found.status
    return SourceFile(SOURCE, found.path, logical_path, form, status.st_size, status.st_mtime_ns, status.st_ino)


def _unread(sessions: str) -> list[OSError]:
    """Return a complaint where an index lists sessions and there is no log of any.

    Some versions are said to keep nothing else; what they keep in its place is not known (docs/sources/grok.md).
    """
    path = os.path.join(sessions, _SEARCH_INDEX)
    if one_file(sessions, _SEARCH_INDEX) is None:
        return []
    try:
        with read_only(Path(path)) as connection:
            (count,) = connection.execute("SELECT count(*) FROM session_docs").fetchone()
    except sqlite3.Error:
        return []
    except OSError as error:
        return [error]
    told = f"it lists sessions ({count}) whose logs are not beside it, and Origin does not know where they are"
    return [OSError(errno.ENOENT, told, path)] if count else []


ADAPTER = Adapter(
    source=SOURCE,
    display_name="Grok Build",
    discover=discover,
    parse_line=with_memories(SOURCE, parse_line),
    version=version,
    read_rows=read_rows,
    places=places,
)
