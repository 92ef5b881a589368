"""Rebuild: a new database from the mirrors and the records, put in the old one's place when it is whole.

The mirrors are only read. Records come from the old database as far as it can be read, and from the journal beside it,
before any event does: what was forgotten enters no index (invariant 2). What neither holds (settings, the log of runs,
the audit log) is copied from the old database.
"""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.db import DatabaseError, transaction

from memory import archive, home, mirror, sql, store
from memory.archive import Piece
from memory.errors import OriginError
from memory.models import Record
from memory.parsed import Line, ParsedLine, ParseLine, State
from memory.records import journal, log
from memory.records.wire import Wire, is_sound

_UNBOUNDED = 1 << 40
COPIED = ("setting", "sync_log", "audit_log")
COPY = "INSERT OR REPLACE INTO main.{table} SELECT * FROM old.{table}"
OLD_RECORDS = f"SELECT {', '.join(Wire.__struct_fields__)} FROM old.record ORDER BY id"
CHECK = "PRAGMA integrity_check"


@dataclass
class Rebuilt:
    """What a rebuild made. `problems` are mirrors that could not be used, one sentence each; they stay as they are."""

    files: int = 0
    events: int = 0
    records: int = 0
    bytes: int = 0
    problems: list[str] = field(default_factory=list)


def rebuild(parsers: Mapping[str, ParseLine]) -> Rebuilt:
    """Make the database again from `raw/` and the records, by each source's parser, and put it in the old one's place.

    The old database stays beside it as `origin.db.before-rebuild`. Raises `OriginError` where another process uses the
    store, and leaves the old database in place where anything goes wrong.
    """
    home.create()
    home.attach()
    if not home.alone():
        raise OriginError("Another process uses this store; stop it (agents, serve, sync) and run `rebuild` again.")
    fresh = home.database_path().with_suffix(".db.new")
    _remove(fresh)
    with home.lock("migrate"):
        with store.using_database(fresh):
            store.migrate()
            records = _copy_from_old()
            with transaction.atomic():
                log.receive([*records, *journal.held()])
                journal.write_anew()
            made = _replay_all(parsers)
            made.records = Record.objects.count()
            _check()
        _swap(fresh)
    return made


def _replay_all(parsers: Mapping[str, ParseLine]) -> Rebuilt:
    """Read mirrors in the order in which they were last written, so that keys follow time."""
    made = Rebuilt()
    paths = sorted(home.raw_path().rglob("*.zst"), key=lambda path: (path.stat().st_mtime_ns, str(path)))
    for path in paths:
        label = mirror.read_label(path)
        if label is None:
            made.problems.append(f"{path} does not say what it mirrors, so it was left out.")
            continue
        _replay(path, label, parsers.get(label.source, _parse_nothing), made)
    return made


def _replay(path: Path, label: mirror.Label, parse_line: ParseLine, made: Rebuilt) -> None:
    raw_file = archive.register_mirror(label, path.relative_to(home.raw_path()).as_posix())
    offset = end = 0
    for frame in mirror.frames(path):
        piece = Piece(raw_file, offset, frame.data, parse_line, held=frame)
        made.events += archive.append_all([piece], max_events=_UNBOUNDED)[0].events
        offset += len(frame.data)
        end = frame.offset + frame.length
    made.files += 1
    made.bytes += offset
    if end < path.stat().st_size:
        made.problems.append(f"{path} ends in bytes that are no whole frame; the next sync settles them.")


def _parse_nothing(line: Line, state: State) -> ParsedLine:
    """Stand in for the parser of a source that this Origin does not know: its lines are kept and mean nothing."""
    return ParsedLine(state)


def _copy_from_old() -> list[Wire]:
    """Copy what is derived from nothing, as far as the old database can be read: its damage may be why this is run.

    Returns the records it holds.
    """
    records: list[Wire] = []
    if not home.database_path().exists():
        return records
    with contextlib.suppress(DatabaseError):
        sql.execute("ATTACH DATABASE ? AS old", (str(home.database_path()),))
        for table in COPIED:
            with contextlib.suppress(DatabaseError):
                sql.execute(COPY.format(table=table))
        with contextlib.suppress(DatabaseError):
            held = [Wire(**dict(zip(Wire.__struct_fields__, row, strict=True))) for row in sql.rows(OLD_RECORDS)]
            records = [wire for wire in held if is_sound(wire)]
        sql.execute("DETACH DATABASE old")
    return records


def _check() -> None:
    found = [str(row[0]) for row in sql.rows(CHECK)]
    if found != ["ok"]:
        raise OriginError(f"The new database did not pass its check ({found[0]}); the old one stays.")
    sql.rows("PRAGMA wal_checkpoint(TRUNCATE)")


def _swap(fresh: Path) -> None:
    """Put the new database in place; the old one's log must not be read as the new one's."""
    old = home.database_path()
    aside = old.with_suffix(".db.before-rebuild")
    _remove(aside)
    for suffix in ("-wal", "-shm", ""):
        part = old.with_name(old.name + suffix)
        if part.exists():
            os.replace(part, aside.with_name(aside.name + suffix))
    os.replace(fresh, old)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
