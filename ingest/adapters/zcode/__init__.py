"""ZCode: a SQLite database of sessions, messages and their parts, read through a row journal."""

import os
from collections.abc import Iterator

from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.adapters.files import one_file, roots
from ingest.adapters.journal import database
from ingest.adapters.zcode.parts import SOURCE, parse_line
from ingest.adapters.zcode.rows import read_rows
from ingest.memories.page import with_memories

_NAME = "db.sqlite"


def discover(environment: Environment) -> Iterator[SourceFile]:
    """Yield the database, where there is one."""
    for folder, name, prefix in _databases(environment):
        if status := one_file(folder, name):
            yield database(SOURCE, os.path.join(folder, name), f"{prefix}cli/db/{name}", status)


def places(environment: Environment) -> Iterator[str]:
    """Yield the database that `discover` looks for."""
    return (os.path.join(folder, name) for folder, name, _ in _databases(environment))


def version(environment: Environment) -> str:
    """Nothing is known without running the agent; each session names the version that wrote it."""
    return ""


def _databases(environment: Environment) -> Iterator[tuple[str, str, str]]:
    """Yield (directory, name, beginning of the logical path) of the database."""
    variables = environment.variables
    given = (variables.get("ZCODE_SESSION_DB_PATH") or variables.get("ZCODE_SESSION_DB") or "").strip()
    storage = variables.get("ZCODE_STORAGE_DIR", "").strip()
    usual = os.path.join(environment.home, ".zcode", "cli", "db")
    named = os.path.dirname(given) if given else os.path.join(storage, "cli", "db") if storage else ""
    for folder, prefix in roots(environment.home, [named], (usual,)):
        yield folder, os.path.basename(given) or _NAME, prefix


ADAPTER = Adapter(
    source=SOURCE,
    display_name="ZCode",
    discover=discover,
    parse_line=with_memories(SOURCE, parse_line),
    version=version,
    read_rows=read_rows,
    places=places,
)
