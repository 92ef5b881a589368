"""What to say when a disk or the database fails: one sentence a kind, for people and agents alike."""

import errno
import sqlite3

from memory import home

_BUSY = "Another process kept the database in {home} busy for too long; try again in a moment."
_FULL = "The disk that holds {home} is full. Nothing archived before was lost; free some space and run this again."
_DAMAGED = (
    "The database in {home} is damaged. The logs themselves are safe in {home}/raw: "
    "`rebuild` makes the database again from them."
)
_READ_ONLY = "The database in {home} cannot be written; check who owns it and its permissions."
_UNREACHABLE = "The database in {home} cannot be opened; check who owns it, its permissions and its disk."
_UNLOCKABLE = "The database in {home} could not be locked. Origin needs a local disk, not a network file system."
# SQLite's primary result codes (sqlite.org/rescode.html).
_SENTENCES = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: _DAMAGED,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_IOERR: _UNREACHABLE,
    sqlite3.SQLITE_PERM: _UNREACHABLE,
    sqlite3.SQLITE_PROTOCOL: _UNLOCKABLE,
}


def explain(error: BaseException) -> str:
    """Return the sentence for a failing disk or database, or the empty string for any other error."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _FULL.format(home=home.home())
    # Django's own errors carry SQLite's as their cause; the rest of an extended code says more than is needed.
    cause = error if isinstance(error, sqlite3.Error) else error.__cause__
    code = getattr(cause, "sqlite_errorcode", 0) & 0xFF
    return _SENTENCES.get(code, "").format(home=home.home())
