"""Finds and walks the directories agents write in, quickly and without leaving them."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

Entry = os.DirEntry[str]


class Found(NamedTuple):
    """A regular file below a root; `relative` is its path from there, with `/` between the parts."""

    path: str
    relative: str
    status: os.stat_result


def roots(home: Path, given: Iterable[str], usual: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each root once, with what its logical paths begin with: nothing for the first of the usual ones.

    `given` are the names that a variable holds, blank ones among them; where there are none, the usual roots count.
    """
    seen = set()
    named = [name.strip() for name in given if name.strip()]
    for name in named or usual:
        root = os.path.abspath(os.path.join(home, name[2:]) if name.startswith("~/") else name)
        real = os.path.realpath(root)
        if real not in seen:
            seen.add(real)
            digest = hashlib.sha256(os.fsencode(root)).hexdigest()
            yield root, "" if real == os.path.realpath(usual[0]) else f"root-{digest[:8]}/"


def walk(root: str, wanted: Callable[[str], bool], skipped: frozenset[str], failures: list[OSError]) -> Iterator[Found]:
    """Yield the files below `root` whose name is `wanted`, outside directories named in `skipped`.

    A missing root holds nothing. A directory that cannot be read is added to `failures` and hides no other.
    Symlinked directories are not followed; a symlinked file counts only where it resolves inside the root.
    """
    inside = _inside(root)
    pending = [(root, "")]
    while pending:
        directory, prefix = pending.pop()
        for entry in _entries(directory, failures):
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in skipped:
                    pending.append((entry.path, f"{prefix}{name}/"))
            elif wanted(name) and (status := _status(entry, inside)):
                yield Found(entry.path, prefix + name, status)


def one_file(directory: str, name: str) -> os.stat_result | None:
    """Return the status of a file with a known name, by the rules of `walk`; None where there is none to read.

    Raises `OSError` where the directory cannot be read.
    """
    path = os.path.join(directory, name)
    try:
        status = os.lstat(path)
        if stat.S_ISLNK(status.st_mode) and os.path.realpath(path).startswith(_inside(directory)):
            status = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _inside(directory: str) -> str:
    """Return what the real paths of everything in a directory begin with."""
    return os.path.join(os.path.realpath(directory), "")


def _entries(directory: str, failures: list[OSError]) -> list[Entry]:
    try:
        with os.scandir(directory) as entries:
            return [entry for entry in entries if entry.name.isascii() or _is_text(entry.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        failures.append(error)
        return []


def _is_text(name: str) -> bool:
    """False for a name that is no UTF-8: no agent writes one, and the store could not hold it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _status(entry: Entry, inside: str) -> os.stat_result | None:
    """Return the status of a regular file, or of one inside the root that a symlink leads to."""
    try:
        status = entry.stat(follow_symlinks=False)
        if stat.S_ISLNK(status.st_mode) and os.path.realpath(entry.path).startswith(inside):
            status = entry.stat()
    except OSError:
        # Gone since it was listed, or a link that leads nowhere.
        return None
    return status if stat.S_ISREG(status.st_mode) else None
