"""Where each agent keeps its memories."""

import os
import re
from collections.abc import Iterator

from ingest.adapters.contract import Environment, SourceFile
from ingest.adapters.files import roots, walk

# Below this the memories of a source lie among its logical paths; no log of any agent begins so.
PREFIX = "memories/"
# A memory is a page; something larger under its name is none, and costs one line of the summary.
LARGEST = 4 << 20
_INDEX = "MEMORY.md"
# Grok keeps a log of each session beside its memories.
_SESSIONS = frozenset({"sessions"})
_GROK = re.compile(r"memory(?:-[a-z0-9]+)?")


def find(source: str, environment: Environment, failures: list[OSError]) -> Iterator[SourceFile]:
    """Yield the memory files of one source as sources of rows: a row is a version, journalled when it is seen.

    An agent that keeps none gives none. Failures are added to the list.
    """
    for folder, prefix in _FOLDERS.get(source, _none)(environment, failures):
        pages = list(walk(folder, _is_page, _SESSIONS, failures))
        # An index lists topics that have files of their own; without any it is the memory itself.
        topics = [page for page in pages if page.relative.rpartition("/")[2] != _INDEX]
        for page in topics if topics and source != "grok" else pages:
            status, path = page.status, f"{PREFIX}{prefix}{page.relative}"
            yield SourceFile(source, page.path, path, "rows", status.st_size, status.st_mtime_ns, status.st_ino)


def _none(environment: Environment, failures: list[OSError]) -> Iterator[tuple[str, str]]:
    return iter(())


def _claude(environment: Environment, failures: list[OSError]) -> Iterator[tuple[str, str]]:
    usual = os.path.join(environment.home, ".claude")
    names = environment.variables.get("CLAUDE_CONFIG_DIR", "").split(",")
    for root, prefix in roots(environment.home, names, (usual, os.path.join(environment.home, ".config", "claude"))):
        for name in _folders(os.path.join(root, "projects"), failures):
            yield os.path.join(root, "projects", name, "memory"), f"{prefix}projects/{name}/memory/"
        for name in _folders(os.path.join(root, "agent-memory"), failures):
            yield os.path.join(root, "agent-memory", name), f"{prefix}agent-memory/{name}/"


def _zcode(environment: Environment, failures: list[OSError]) -> Iterator[tuple[str, str]]:
    usual = os.path.join(environment.home, ".zcode", "cli", "memories")
    named = environment.variables.get("ZCODE_MEMORIES_DIR", "")
    for root, prefix in roots(environment.home, [named], (usual,)):
        for name in _folders(os.path.join(root, "projects"), failures):
            yield os.path.join(root, "projects", name, "memory"), f"{prefix}projects/{name}/memory/"


def _folders(path: str, failures: list[OSError]) -> list[str]:
    """Return the names of the real directories in one; a missing one has none."""
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        failures.append(error)
        return []


def _grok(environment: Environment, failures: list[OSError]) -> Iterator[tuple[str, str]]:
    usual = os.path.join(environment.home, ".grok")
    for root, prefix in roots(environment.home, [environment.variables.get("GROK_HOME", "")], (usual,)):
        for name in _folders(root, failures):
            if _GROK.fullmatch(name):
                yield os.path.join(root, name), f"{prefix}{name}/"


_FOLDERS = {"claude-code": _claude, "zcode": _zcode, "grok": _grok}


def _is_page(name: str) -> bool:
    return name.endswith(".md")
