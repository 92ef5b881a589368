"""Cursor: transcripts of the IDE and the CLI, the CLI's store of each chat, and the IDE's database of all of them."""

import os
from collections.abc import Iterator

from ingest.adapters.contract import Adapter, Environment, Form, SourceFile
from ingest.adapters.cursor.databases import read_ide_row, read_store_row
from ingest.adapters.cursor.messages import SOURCE
from ingest.adapters.cursor.places import IDE, LEGACY, STORE, TRANSCRIPTS, place_of
from ingest.adapters.cursor.rows import read_rows
from ingest.adapters.cursor.transcripts import read_block, read_line
from ingest.adapters.files import Found, one_file, roots, walk
from ingest.adapters.journal import database
from memory.parsed import Line, ParsedLine, State

# Beside the transcripts lie outputs of tools and terminals, and what MCP servers offer.
_SKIPPED_DIRECTORIES = frozenset({"agent-tools", "assets", "mcps", "terminals"})
_IDE_DATABASE = "state.vscdb"
_READERS = {IDE: read_ide_row, STORE: read_store_row, LEGACY: read_block}


def discover(environment: Environment) -> Iterator[SourceFile]:
    """Yield transcripts, chats and the IDE's database; what could not be read is raised once all else is yielded."""
    failures: list[OSError] = []
    for root, prefix in _roots(environment):
        for found in walk(os.path.join(root, "projects"), _is_transcript, _SKIPPED_DIRECTORIES, failures):
            if TRANSCRIPTS in found.relative.split("/")[:-1]:
                yield _transcript(found, f"{prefix}projects/{found.relative}")
        for found in walk(os.path.join(root, "chats"), _is_store, frozenset(), failures):
            yield database(SOURCE, found.path, f"{prefix}chats/{found.relative}", found.status)
    yield from _ide_databases(environment, failures)
    if failures:
        raise failures[0]


def places(environment: Environment) -> Iterator[str]:
    """Yield the directories that `discover` looks in."""
    for root, _ in _roots(environment):
        yield os.path.join(root, "projects")
        yield os.path.join(root, "chats")
    yield from (_storage(root) for root, _ in _ide_roots(environment))


def parse_line(line: Line, state: State) -> ParsedLine:
    """Return what a line of a transcript or a row of a journal says; raises `MalformedLine` where it is no object."""
    place = place_of(line.path)
    return _READERS.get(place.store, read_line)(line, place, state)


def version(environment: Environment) -> str:
    """Nothing is known without running the agent, and no record names the version that wrote it."""
    return ""


def _roots(environment: Environment) -> Iterator[tuple[str, str]]:
    usual = os.path.join(environment.home, ".cursor")
    moved = [environment.variables.get(name, "") for name in ("CURSOR_CONFIG_DIR", "CURSOR_DATA_DIR")]
    # The variables move what the CLI writes; the IDE stays where it is.
    return roots(environment.home, [usual, *moved], (usual,))


def _ide_roots(environment: Environment) -> Iterator[tuple[str, str]]:
    parents = (
        environment.variables.get("XDG_CONFIG_HOME") or os.path.join(environment.home, ".config"),
        os.path.join(environment.home, "Library", "Application Support"),
        environment.variables.get("APPDATA", ""),
    )
    return roots(environment.home, (), tuple(os.path.join(parent, "Cursor") for parent in parents if parent))


def _storage(root: str) -> str:
    return os.path.join(root, "User", "globalStorage")


def _ide_databases(environment: Environment, failures: list[OSError]) -> Iterator[SourceFile]:
    for root, prefix in _ide_roots(environment):
        try:
            status = one_file(_storage(root), _IDE_DATABASE)
        except OSError as error:
            failures.append(error)
            continue
        if status is not None:
            path = os.path.join(_storage(root), _IDE_DATABASE)
            yield database(SOURCE, path, f"{prefix}User/globalStorage/{_IDE_DATABASE}", status)


def _is_transcript(name: str) -> bool:
    return name.endswith((".jsonl", ".txt"))


def _is_store(name: str) -> bool:
    return name == "store.db"


def _transcript(found: Found, logical_path: str) -> SourceFile:
    status = found.status
    form: Form = "lines" if found.path.endswith(".jsonl") else "rows"
    return SourceFile(SOURCE, found.path, logical_path, form, status.st_size, status.st_mtime_ns, status.st_ino)


ADAPTER = Adapter(
    source=SOURCE,
    display_name="Cursor",
    discover=discover,
    parse_line=parse_line,
    version=version,
    read_rows=read_rows,
    places=places,
)
