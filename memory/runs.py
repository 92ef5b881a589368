"""Runs of sync: one row each, when it ran and what it did, and how fresh that leaves every source."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from django.db import DatabaseError

from memory import sql, times
from memory.models import SyncLog

CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
LAST_RUN = "SELECT started_at, ended_at, error FROM sync_log ORDER BY started_at DESC, id DESC LIMIT 1"
LAST_WHOLE_RUN = "SELECT max(started_at) FROM sync_log WHERE ended_at <> '' AND error = ''"
# A source read to its end has its time; what is left of it then is a line that waits to be whole.
INDEXED = """
    SELECT source, sum(bytes), sum(CASE WHEN mtime_ns = -1 AND form = 'lines' AND size > bytes THEN size ELSE bytes END)
    FROM raw_file WHERE store = '' GROUP BY source"""


@contextmanager
def recorded(report: Callable[[], Mapping[str, object]]) -> Iterator[None]:
    """Record a run around the block: begun, then ended with its report, or with the error that stopped it."""
    run = SyncLog.objects.create(started_at=times.now())
    try:
        yield
    except BaseException as error:
        _end(run, report(), error=f"{type(error).__name__}: {error}"[:500])
        raise
    _end(run, report(), error="")


def _end(run: SyncLog, report: Mapping[str, object], *, error: str) -> None:
    run.ended_at, run.report, run.error = times.now(), json.dumps(report), error
    try:
        run.save()
    except DatabaseError:
        # A run that a full disk stopped cannot be recorded either; the caller's own error says why.
        if not error:
            raise


def settle_log() -> None:
    """Fold the write-ahead log into the database, as far as no other process reads from it."""
    sql.rows(CHECKPOINT)


def last_whole_run() -> str:
    """Return when the last run that ended well began, or the empty string."""
    return str(sql.rows(LAST_WHOLE_RUN)[0][0] or "")


def indexed() -> dict[str, tuple[int, int]]:
    """Return (bytes ingested, bytes known to be there) of every source of this store."""
    return {str(source): (int(done or 0), int(total or 0)) for source, done, total in sql.rows(INDEXED)}
