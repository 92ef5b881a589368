"""Sync: find every agent's files, read what is new in them, newest first, and append it to the archive."""

import heapq
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from itertools import count

from ingest import plan
from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.plan import Work
from ingest.readers import LineReader, Reader, RowReader, Stretch, Unreadable, Vanished
from memory import archive, home, runs
from memory.archive import BATCH_EVENTS, Cursor
from memory.errors import Conflict

# Specification 2, batches: SQLite's busy handler has no queue, so others get a turn between two commits.
PAUSE_SECONDS = 0.005
_PAUSE_AFTER_SECONDS = 0.03
# While a backlog is read, a file changed so recently is looked at again, this often.
HOT_SECONDS = 600
HOT_CHECK_SECONDS = 0.5
# While a backlog is read, new files are looked for in this share of the time.
DISCOVERY_SHARE = 0.05
_UNBOUNDED = 1 << 40


@dataclass
class SourceReport:
    """What a run did for one source. `failed` is why nothing of it could be found; `problems` are single files.

    `seconds` is the time spent on finding and reading its files, among which those of other sources take turns.
    """

    files: int = 0
    read: int = 0
    events: int = 0
    malformed: int = 0
    bytes: int = 0
    seconds: float = field(default=0.0, compare=False)
    failed: str = ""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """What a run did, by source, and how many seconds it took."""

    sources: Mapping[str, SourceReport]
    seconds: float

    @property
    def failed(self) -> bool:
        """True where a source failed as a whole."""
        return any(report.failed for report in self.sources.values())


# Told after every batch how many bytes of how many are read.
Progress = Callable[[int, int], None]


def sync(
    adapters: Iterable[Adapter], environment: Environment, progress: Progress = lambda done, total: None
) -> Report:
    """Archive every new line of the adapters' files and return what was done.

    Raises `mirror.UnknownFrames` where the mirrors belong to another database, and `OSError` or a database error where
    the store cannot be written; nothing that was appended before is lost by that.
    """
    started = time.monotonic()
    archive.check_mirrors_known()
    run = _Run(tuple(adapters), environment, progress)
    with runs.recorded(lambda: {source: asdict(report) for source, report in run.reports.items()}):
        run.read_everything()
    return Report(run.reports, time.monotonic() - started)


def dry_run(adapters: Iterable[Adapter], environment: Environment) -> Report:
    """Return what `sync` would read, as `read` and `bytes`, and write nothing."""
    started = time.monotonic()
    run = _Run(tuple(adapters), environment, lambda done, total: None)
    for adapter in run.adapters:
        for file, known in run.changed(adapter):
            run.reports[adapter.source].read += 1
            run.reports[adapter.source].bytes += max(file.size - known, 0)
    return Report(run.reports, time.monotonic() - started)


@dataclass(order=True)
class _Queued:
    """A file in the queue, which gives the one changed last first."""

    age: int
    number: int
    work: Work = field(compare=False)
    reader: Reader = field(compare=False)
    cursor: Cursor | None = field(compare=False, default=None)


class _Run:
    """One run: the files waiting, and what was done so far."""

    def __init__(self, adapters: tuple[Adapter, ...], environment: Environment, progress: Progress) -> None:
        self.adapters = adapters
        self.reports = {adapter.source: SourceReport() for adapter in adapters}
        self._environment = environment
        self._progress = progress
        self._queue: list[_Queued] = []
        self._busy: list[_Queued] = []
        self._recent: dict[str, Work] = {}
        self._queued: dict[str, tuple[int, int, int]] = {}
        self._numbers = count()
        self._total = self._done = 0
        self._next_discovery = self._next_hot_check = self._last_pause = 0.0

    def read_everything(self) -> None:
        """Read batch by batch until nothing is left; a file another process is reading comes last."""
        self._discover()
        while self._queue or self._busy:
            wait = not self._queue
            queued = self._busy.pop() if wait else heapq.heappop(self._queue)
            self._take_turn(queued, wait=wait)
            self._look_again()
        if self._done:
            runs.settle_log()

    def changed(self, adapter: Adapter) -> list[tuple[SourceFile, int]]:
        """Return the adapter's files that a stat does not show to be unchanged, and their bytes ingested."""
        report = self.reports[adapter.source]
        started = time.monotonic()
        try:
            files = plan.discover(adapter, self._environment)
        except OSError as error:
            report.failed = f"{error.filename or adapter.display_name}: {error.strerror or error}"
            return []
        finally:
            report.seconds += time.monotonic() - started
        report.files = len(files)
        known = archive.known(adapter.source)
        found = plan.changed(files.values(), known)
        return [(file, known[file.logical_path].bytes if file.logical_path in known else 0) for file in found]

    def _discover(self) -> None:
        """Queue every file that is new or changed since it was last read or queued."""
        started = time.monotonic()
        for adapter in self.adapters:
            files = [file for file, _ in self.changed(adapter) if self._queued.get(file.path) != _stat(file)]
            if files:
                for work in plan.register(adapter, files, archive.known(adapter.source)):
                    self._enqueue(work)
        now = time.monotonic()
        self._next_discovery = now + max(1.0, (now - started) / DISCOVERY_SHARE)
        self._next_hot_check = now + HOT_CHECK_SECONDS

    def _enqueue(self, work: Work) -> None:
        file = work.file
        if file.path not in self._queued:
            self.reports[file.source].read += 1
            self._total += file.size
        self._queued[file.path] = _stat(file)
        if file.mtime_ns > (time.time() - HOT_SECONDS) * 1e9 and file.form == "lines":
            self._recent[file.path] = work
        heapq.heappush(self._queue, _Queued(-file.mtime_ns, next(self._numbers), work, _reader(work)))

    def _look_again(self) -> None:
        """Between two batches of a backlog: whatever is being written right now goes first."""
        now = time.monotonic()
        if not self._queue:
            return
        if now - self._last_pause >= _PAUSE_AFTER_SECONDS:
            time.sleep(PAUSE_SECONDS)
            self._last_pause = time.monotonic()
        if now >= self._next_discovery:
            self._discover()
        elif now >= self._next_hot_check:
            self._next_hot_check = now + HOT_CHECK_SECONDS
            for work in list(self._recent.values()):
                self._check_hot(work)

    def _check_hot(self, work: Work) -> None:
        try:
            stat = os.stat(work.file.path)
        except OSError:
            return
        file = work.file._replace(size=stat.st_size, mtime_ns=stat.st_mtime_ns, inode=stat.st_ino)
        if self._queued[file.path] != _stat(file):
            self._enqueue(work._replace(file=file))

    def _take_turn(self, queued: _Queued, *, wait: bool) -> None:
        """Append one batch of a file, and queue the file again where there is more."""
        with home.raw_file_lock(queued.work.raw_file, wait=wait) as held:
            if not held:
                self._busy.append(queued)
                return
            started = time.monotonic()
            more = self._append_safely(queued)
            self.reports[queued.work.adapter.source].seconds += time.monotonic() - started
        if more:
            heapq.heappush(self._queue, queued)
        else:
            queued.reader.close()

    def _append_safely(self, queued: _Queued) -> bool:
        """Append one batch; an unreadable source costs one line of the report, never the run."""
        try:
            return self._append(queued)
        except Vanished:
            return False
        except Conflict:
            return True
        except Unreadable as error:
            self.reports[queued.work.adapter.source].problems.append(str(error))
            return False

    def _append(self, queued: _Queued) -> bool:
        """Append one batch; returns whether there may be more."""
        work, file = queued.work, queued.work.file
        cursor = archive.cursor(work.key)
        while queued.cursor is None and not queued.reader.matches(cursor):
            cursor = archive.new_generation(cursor.key, plan.origin(file))
            queued.work = work = work._replace(key=cursor.key, raw_file=cursor.id)
        queued.cursor = cursor
        stretch = queued.reader.read(cursor)
        reached = self._append_stretch(work, cursor, stretch) if stretch.data else cursor.bytes
        if stretch.data and (file.form != "lines" or reached < file.size):
            return True
        archive.seen(cursor.id, plan.origin(file))
        return False

    def _append_stretch(self, work: Work, cursor: Cursor, stretch: Stretch) -> int:
        """Append what was read, or its first batch; returns the byte reached."""
        report = self.reports[work.adapter.source]
        appended = archive.append(
            cursor.key,
            cursor.bytes,
            stretch.data,
            work.adapter.parse_line,
            watermark=stretch.watermark,
            max_events=BATCH_EVENTS if stretch.watermark is None else _UNBOUNDED,
        )
        report.events += appended.events
        report.malformed += appended.malformed
        report.bytes += appended.bytes - cursor.bytes
        if appended.orphan:
            report.problems.append(f"Bytes of unknown origin behind a mirror were kept as {appended.orphan}.")
        self._done += appended.bytes - cursor.bytes
        self._progress(self._done, self._total)
        return appended.bytes


def _stat(file: SourceFile) -> tuple[int, int, int]:
    return (file.size, file.mtime_ns, file.inode)


def _reader(work: Work) -> Reader:
    if work.file.form == "rows":
        assert work.adapter.read_rows is not None, f"{work.adapter.source} finds databases but cannot read rows"
        return RowReader(work.file, work.adapter.read_rows)
    return LineReader(work.file)
