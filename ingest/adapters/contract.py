"""What an adapter is: where an agent's files are, and what a line in them means.

Cursors, rewrites, duplicates, masking and cutting belong to the archive that serves every adapter.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from memory.parsed import ParseLine, State

# lines: bytes as they lie in the file. zstd: the same, compressed. rows: a database read through a row journal.
Form = Literal["lines", "zstd", "rows"]


@dataclass(frozen=True)
class Environment:
    """The machine as discovery sees it: the person's home directory and the process's variables."""

    home: Path
    variables: Mapping[str, str]


class SourceFile(NamedTuple):
    """A file an agent writes. `logical_path` stays the same when the file is compressed or moved to an archive."""

    source: str
    path: str
    logical_path: str
    form: Form
    size: int
    mtime_ns: int
    inode: int


class JournalRow(NamedTuple):
    """One new or changed row as a canonical JSON line without newline, and where reading goes on after it."""

    line: bytes
    watermark: State


# Rows new or changed since the watermark, oldest first; an empty watermark reads everything.
ReadRows = Callable[[Path, State], Iterator[JournalRow]]


@dataclass(frozen=True)
class Adapter:
    """One agent. `discover` and `retention` alone touch the disk; `parse_line` is pure.

    `discover` yields what it can read and lets `OSError` of its root pass: sync reports it as one line.
    `read_rows` is there for sources that are databases. `places` says where `discover` looks, for a person to read.
    `retention` is how many days after its last change the agent deletes a log, None where it keeps them.
    """

    source: str
    display_name: str
    discover: Callable[[Environment], Iterable[SourceFile]]
    parse_line: ParseLine
    version: Callable[[Environment], str]
    read_rows: ReadRows | None = None
    places: Callable[[Environment], Iterable[str]] = lambda environment: ()
    retention: Callable[[Environment], int | None] = lambda environment: None
