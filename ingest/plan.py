"""What there is to read: the files of one adapter that are new, or changed since they were last read to the end."""

from collections.abc import Iterable
from typing import NamedTuple

from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.exclude import Rules
from memory import archive
from memory.archive import Cursor, Known, Origin, RawKey

# How much larger a compressed log is once it is read; only progress and key reserves depend on it.
_COMPRESSION = 5


class Work(NamedTuple):
    """One file to read."""

    adapter: Adapter
    file: SourceFile
    cursor: Cursor


class Discovered(NamedTuple):
    """An adapter's files by logical path, how many paths are excluded, and why some of them could not be found."""

    files: dict[str, SourceFile]
    excluded: int
    failure: str


def discover(adapter: Adapter, environment: Environment, rules: Rules | None = None) -> Discovered:
    """Find an adapter's files but for excluded paths; of a plain and a compressed copy the plain one counts."""
    found: list[SourceFile] = []
    failure = ""
    try:
        for file in adapter.discover(environment):
            found.append(file)
    except OSError as error:
        failure = f"{error.filename or adapter.display_name} could not be read: {error.strerror}."
    kept = rules.without_excluded_paths(found) if rules else found
    # The last of a logical path stays.
    files = {file.logical_path: file for file in sorted(kept, key=_preferred)}
    return Discovered(files, len(found) - len(kept), failure)


def _preferred(file: SourceFile) -> tuple[bool, int, str]:
    return (file.form == "lines", file.mtime_ns, file.path)


def changed(files: Iterable[SourceFile], known: dict[str, Known]) -> list[SourceFile]:
    """Return the files that a stat alone does not show to be unchanged."""
    return [file for file in files if not _unchanged(file, known.get(file.logical_path))]


def _unchanged(file: SourceFile, known: Known | None) -> bool:
    return known is not None and (known.size, known.mtime_ns, known.inode) == (file.size, file.mtime_ns, file.inode)


def origin(file: SourceFile) -> Origin:
    """Return what the archive keeps about where a file lies."""
    return Origin(file.path, file.form, file.size, file.mtime_ns, file.inode)


def register(adapter: Adapter, files: list[SourceFile], known: dict[str, Known]) -> list[Work]:
    """Let the archive know of files about to be read, and return them as work."""
    source = adapter.source
    new = [file for file in files if file.logical_path not in known]
    archive.register((RawKey("", source, file.logical_path), origin(file)) for file in new)
    archive.expect((known[file.logical_path].id, file.size) for file in files if file.logical_path in known)
    if new:
        known = archive.known(source)
    oldest_first = sorted(files, key=lambda file: (file.mtime_ns, file.logical_path))
    archive.reserve_keys(
        (known[file.logical_path].id, _to_come(file, known[file.logical_path])) for file in oldest_first
    )
    cursors = archive.cursors(known[file.logical_path].id for file in files)
    return [Work(adapter, file, cursors[known[file.logical_path].id]) for file in files]


def _to_come(file: SourceFile, known: Known) -> int:
    size = file.size if file.form == "lines" else file.size * _COMPRESSION
    return max(size - known.bytes, 0)
