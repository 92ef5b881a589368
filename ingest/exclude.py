"""What the owner keeps out of the archive (`[archive.exclude]` in config.toml), known before any of it is archived.

A file's project is that of the first directory its lines name. To know it, the first lines are read into memory and
parsed; nothing of them is kept, so that an excluded file leaves no trace in the store.
"""

import fnmatch
import glob
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from ingest.adapters.contract import Adapter, Environment, JournalRow, ReadRows, SourceFile
from ingest.readers import Unreadable, Vanished, first_lines
from memory import config
from memory.batch import Start, prepare
from memory.config import Exclude
from memory.errors import MalformedLine, OriginError
from memory.mirror import FRAME_BYTES
from memory.parsed import Line, ParsedLine, ParseLine, State
from memory.projects import project_of

# A project is looked for in so much of a file's beginning.
PROBED_BYTES = FRAME_BYTES

_Stat = tuple[int, int, int]


class Beginning(NamedTuple):
    """What the first lines of a file say: its session and that one's parent by native id, and where it began."""

    session: str
    parent: str
    directory: str


# A database holds sessions of many projects: its rows are chosen one by one.
_UNKNOWN = Beginning("", "", "")


class Chosen(NamedTuple):
    """The files to read, how many others are excluded, and why some could not be looked at."""

    files: list[SourceFile]
    excluded: int
    problems: list[str]


class Rules:
    """What is excluded, as discovery and reading ask for it."""

    def __init__(self, exclude: Exclude, environment: Environment) -> None:
        self.sources = frozenset(exclude.sources)
        self.projects = frozenset(exclude.projects)
        self._paths = _patterns(exclude.paths, environment)
        self._beginnings: dict[str, tuple[_Stat, Beginning | None]] = {}

    def without_excluded_paths(self, files: Collection[SourceFile]) -> list[SourceFile]:
        """Leave out files that a pattern covers, with every other copy of what such a file holds."""
        excluded = {file.logical_path for file in files if self._covers(file.path)} if self._paths else ()
        return [file for file in files if file.logical_path not in excluded]

    def _covers(self, path: str) -> bool:
        assert self._paths is not None, "nobody asks where there are no patterns"
        return any(self._paths.match(name) for name in (path, os.path.realpath(path)))

    def choose(self, adapter: Adapter, files: Collection[SourceFile]) -> Chosen:
        """Leave out files whose session began in an excluded project, or was started by a session that did.

        A file that says nothing yet waits: its project may still turn out to be an excluded one.
        """
        if not self.projects:
            return Chosen(list(files), 0, [])
        begun, problems = self._beginnings_of(adapter, files)
        sessions = {begin.session for begin in begun.values() if self.is_excluded(begin.directory)} - {""}
        while more := {begin.session for begin in begun.values() if begin.parent in sessions} - sessions:
            sessions |= more
        kept = [file for file in files if file.path in begun and begun[file.path].session not in sessions]
        kept = [file for file in kept if not self.is_excluded(begun[file.path].directory)]
        return Chosen(kept, len(begun) - len(kept), problems)

    def kept_rows(self, adapter: Adapter, file: SourceFile, state: State) -> ReadRows:
        """Return an adapter's `read_rows` without the rows of excluded projects; `state` is the file's parser state."""
        assert adapter.read_rows is not None, f"{adapter.source} finds databases but cannot read rows"
        return _KeptRows(self, adapter, file.logical_path, state) if self.projects else adapter.read_rows

    def is_excluded(self, directory: str) -> bool:
        """True for a directory of an excluded project."""
        return bool(directory) and project_of(directory) in self.projects

    def _beginnings_of(self, adapter: Adapter, files: Iterable[SourceFile]) -> tuple[dict[str, Beginning], list[str]]:
        """Return how files begin that say something, by their paths, and why others could not be read."""
        begun: dict[str, Beginning] = {}
        problems: list[str] = []
        for file in files:
            try:
                found = self._beginning(adapter, file)
            except Vanished:
                continue
            except Unreadable as error:
                problems.append(str(error))
                continue
            if found or file.size >= PROBED_BYTES:
                begun[file.path] = found or _UNKNOWN
        return begun, problems

    def _beginning(self, adapter: Adapter, file: SourceFile) -> Beginning | None:
        if file.form == "rows":
            return _UNKNOWN
        stat = (file.size, file.mtime_ns, file.inode)
        known = self._beginnings.get(file.path)
        if known is None or known[0] != stat:
            known = self._beginnings[file.path] = (stat, _beginning(file, adapter.parse_line))
        return known[1]


def load(environment: Environment, sources: Collection[str]) -> Rules:
    """Return the rules of config.toml. Raises `OriginError` where they cannot be what the owner meant."""
    exclude = config.load().archive.exclude
    if unknown := sorted(set(exclude.sources) - set(sources)):
        raise OriginError(
            f"{config.path()} excludes the source {unknown[0]!r}, but knows only {', '.join(sorted(sources))}."
        )
    for pattern in exclude.paths:
        if not pattern.startswith(("/", "~/", "*")):
            raise OriginError(f"{config.path()} excludes the path {pattern!r}, which begins with none of / ~/ and *.")
    return Rules(exclude, environment)


def _patterns(paths: Iterable[str], environment: Environment) -> re.Pattern[str] | None:
    """Return what matches the paths that patterns cover, a folder with everything below it."""
    expanded = [_expanded(path, environment).rstrip("/") for path in paths]
    shells = [shell for path in expanded for shell in (path, f"{path}/*")]
    return re.compile("|".join(map(fnmatch.translate, shells))) if shells else None


def _expanded(path: str, environment: Environment) -> str:
    return f"{glob.escape(str(environment.home))}/{path[2:]}" if path.startswith("~/") else path


def _beginning(file: SourceFile, parse_line: ParseLine) -> Beginning | None:
    """Return what the first lines say, as soon as one names a directory; None where they say nothing yet."""
    found: Beginning | None = None
    start = Start(file.logical_path, 1, {}, "", "")
    for number, line in enumerate(first_lines(file, PROBED_BYTES), 1):
        batch = prepare(line, start._replace(first_line=number), parse_line, len(line))
        start = start._replace(state=batch.state)
        for event in (prepared.event for prepared in batch.events):
            if event.cwd:
                return Beginning(event.session, event.parent, event.cwd)
            found = found or Beginning(event.session, event.parent, "")
        if batch.titles:
            found = found or _UNKNOWN
    return found


class _KeptRows:
    """Reads the rows of a database that do not belong to an excluded project.

    A row belongs to one where it says something in a directory of it, or something of a session that did.
    """

    def __init__(self, rules: Rules, adapter: Adapter, logical_path: str, state: State) -> None:
        assert adapter.read_rows is not None, "only databases have rows"
        self._rules = rules
        self._read_rows = adapter.read_rows
        self._parse_line = adapter.parse_line
        self._logical_path = logical_path
        self._state = state
        self._excluded: set[str] = set()

    def __call__(self, path: Path, watermark: State) -> Iterator[JournalRow]:
        """Yield the rows that are kept."""
        return (row for row in self._read_rows(path, watermark) if self._keeps(row))

    def _keeps(self, row: JournalRow) -> bool:
        try:
            parsed = self._parse_line(Line(row.line, 0, self._logical_path), self._state)
        except MalformedLine:
            return True
        self._state = parsed.state
        self._excluded |= {event.session for event in parsed.events if self._rules.is_excluded(event.cwd)}
        return not self._excluded & _sessions(parsed)


def _sessions(parsed: ParsedLine) -> set[str]:
    """Return every session that a row is about."""
    named = {title.session for title in parsed.titles}
    return named.union(*((event.session, event.parent) for event in parsed.events)) - {""}
