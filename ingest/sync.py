"""Sync: find every agent's files, read what is new in them, newest first, and append it to the archive."""

import heapq
import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import count, zip_longest
from typing import NamedTuple

from ingest import exclude, plan
from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.memories.importing import import_memories
from ingest.plan import Work
from ingest.readers import LineReader, Reader, RowReader, Stretch, Unreadable, Vanished
from memory import archive, home, runs
from memory.archive import BATCH_EVENTS, BATCH_EVENTS_ALONE, Appended, Cursor, Piece
from memory.errors import Conflict, OriginError
from memory.mirror import FRAME_BYTES, UnknownFrames

# Specification 2, batches: SQLite's busy handler has no queue, so others get a turn between two commits.
PAUSE_SECONDS = 0.005
_PAUSE_AFTER_SECONDS = 0.03
# While a backlog is read, a file changed so recently is looked at again, this often.
HOT_SECONDS = 600
HOT_CHECK_SECONDS = 0.5
# While a backlog is read, new files are looked for in this share of the time.
DISCOVERY_SHARE = 0.05
# Small files share a transaction; each costs an fsync under the write lock, so not too many do.
FILES_PER_BATCH = 16
FILES_PER_BATCH_ALONE = 64
_UNBOUNDED = 1 << 40


@dataclass
class SourceReport:
    """What a run did for one source. `failed` is why nothing of it could be found; `problems` are single files.

    `excluded` are files that config.toml leaves out; `seconds` is the time spent on finding and reading its files,
    among which those of other sources take turns; `memories` counts the entries that the agent's own memories changed.
    """

    files: int = 0
    excluded: int = 0
    read: int = 0
    events: int = 0
    malformed: int = 0
    bytes: int = 0
    memories: int = 0
    seconds: float = field(default=0.0, compare=False)
    failed: str = ""
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """What a run did, by source, and how many seconds it took. `excluded` are sources that config.toml leaves out."""

    sources: Mapping[str, SourceReport]
    seconds: float
    excluded: tuple[str, ...] = ()

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

    Raises `mirror.UnknownFrames` where the mirrors belong to another database, `OriginError` where config.toml cannot
    be understood, and `OSError` or a database error where the store cannot be written; nothing that was appended before
    is lost by that.
    """
    started = time.monotonic()
    archive.check_mirrors_known()
    run = _Run(tuple(adapters), environment, progress)
    with runs.recorded(lambda: {source: asdict(report) for source, report in run.reports.items()}):
        run.read_everything()
    return Report(run.reports, time.monotonic() - started, run.excluded)


def dry_run(adapters: Iterable[Adapter], environment: Environment) -> Report:
    """Return what `sync` would read, as `read` and `bytes`, and write nothing."""
    started = time.monotonic()
    run = _Run(tuple(adapters), environment, lambda done, total: None)
    for adapter in run.adapters:
        for file, known in run.changed(adapter):
            run.reports[adapter.source].read += 1
            run.reports[adapter.source].bytes += max(file.size - known, 0)
    return Report(run.reports, time.monotonic() - started, run.excluded)


@dataclass(order=True)
class _Queued:
    """A file in the queue, which gives the one changed last first."""

    age: int
    number: int
    work: Work = field(compare=False)
    reader: Reader = field(compare=False)
    cursor: Cursor | None = field(compare=False, default=None)


class _Turn(NamedTuple):
    """What was read of a file for the batch at hand."""

    queued: _Queued
    stretch: Stretch


class _Run:
    """One run: the files waiting, and what was done so far."""

    def __init__(self, adapters: tuple[Adapter, ...], environment: Environment, progress: Progress) -> None:
        known = {adapter.source for adapter in (*adapters, *ADAPTERS)}
        self._rules = exclude.load(environment, known)
        self.adapters = tuple(adapter for adapter in adapters if adapter.source not in self._rules.sources)
        self.excluded = tuple(adapter.source for adapter in adapters if adapter not in self.adapters)
        self.reports = {adapter.source: SourceReport() for adapter in self.adapters}
        self._environment = environment
        self._progress = progress
        self._queue: list[_Queued] = []
        self._busy: list[_Queued] = []
        self._recent: dict[str, Work] = {}
        self._queued: dict[str, tuple[int, int, int]] = {}
        self._latest: dict[tuple[str, str], int] = {}
        self._numbers = count()
        self._total = self._done = 0
        self._alone = False
        self._next_discovery = self._next_hot_check = self._last_pause = 0.0

    def read_everything(self) -> None:
        """Read batch by batch until nothing is left; a file another process is reading comes last."""
        self._discover()
        while self._queue or self._busy:
            with home.RawFileLocks() as locks:
                self._append(self._next_batch(locks))
            self._look_again()
        if self._done:
            runs.settle_log()
        for adapter in self.adapters:
            report = self.reports[adapter.source]
            written, problems = (0, []) if report.failed else import_memories(adapter, self._environment, self._rules)
            report.memories += written
            report.problems += [problem for problem in problems if problem not in report.problems]

    def _next_batch(self, locks: home.RawFileLocks) -> list[_Turn]:
        """Read from the files that come next, all of one source, about as much as one transaction takes."""
        wait = not self._queue
        if wait:
            heapq.heappush(self._queue, self._busy.pop())
        batch: list[_Turn] = []
        self._alone = home.alone()
        room = FRAME_BYTES * (4 if self._alone else 1)
        while self._queue and room > 0 and self._goes_with(batch, self._queue[0]):
            queued = heapq.heappop(self._queue)
            if self._latest[_identity(queued.work)] != queued.number:
                # It was queued again since: one batch must not hold the same lines of a file twice.
                queued.reader.close()
            elif not locks.take(queued.work.cursor.id, wait=wait):
                self._busy.append(queued)
            elif stretch := self._read(queued):
                batch.append(_Turn(queued, stretch))
                room -= len(stretch.data)
        return batch

    def _goes_with(self, batch: list[_Turn], queued: _Queued) -> bool:
        """True where a file can be appended in one transaction with a batch; rows of a database go alone."""
        if not batch:
            return True
        first = batch[0].queued.work
        same = first.adapter.source == queued.work.adapter.source
        few = len(batch) < (FILES_PER_BATCH_ALONE if self._alone else FILES_PER_BATCH)
        return same and few and "rows" not in (first.file.form, queued.work.file.form)

    def _most_events(self, batch: list[_Turn]) -> int:
        if batch[0].stretch.watermark is not None:
            return _UNBOUNDED
        return BATCH_EVENTS_ALONE if self._alone else BATCH_EVENTS

    def _read(self, queued: _Queued) -> Stretch | None:
        """Return what comes next in a file; one that cannot be read costs one line of the report, never the run."""
        started = time.monotonic()
        report = self.reports[queued.work.adapter.source]
        try:
            queued.cursor = queued.cursor or self._begin(queued)
            stretch = queued.reader.read(queued.cursor)
            if stretch.data:
                return stretch
            archive.seen(queued.cursor.id, plan.origin(queued.work.file))
        except Vanished:
            pass
        except Unreadable as error:
            report.problems.append(str(error))
        finally:
            report.seconds += time.monotonic() - started
        queued.reader.close()
        return None

    def _begin(self, queued: _Queued) -> Cursor:
        """Return where a file goes on: where it stopped, or a new generation where it was rewritten since."""
        cursor = queued.work.cursor
        while not queued.reader.matches(cursor):
            cursor = archive.new_generation(cursor.key, plan.origin(queued.work.file))
        queued.work = queued.work._replace(cursor=cursor)
        return cursor

    def _append(self, batch: list[_Turn]) -> None:
        """Append a batch; where something is wrong with one file of it, the others go in alone."""
        if not batch:
            return
        started = time.monotonic()
        try:
            appended = archive.append_all(map(_piece, batch), max_events=self._most_events(batch))
        except UnknownFrames:
            raise
        except OriginError as error:
            for turn in batch:
                if len(batch) > 1:
                    self._append([turn])
                else:
                    self._recover(turn.queued, error)
            return
        for turn, done in zip_longest(batch, appended):
            self._settle(turn, done)
        self.reports[batch[0].queued.work.adapter.source].seconds += time.monotonic() - started
        self._progress(self._done, self._total)

    def _recover(self, queued: _Queued, error: OriginError) -> None:
        """Begin a file again where another process read on; report it where it cannot be appended to."""
        if isinstance(error, Conflict):
            queued.cursor = None
            queued.work = queued.work._replace(cursor=archive.cursor(queued.work.cursor.key))
            heapq.heappush(self._queue, queued)
        else:
            self.reports[queued.work.adapter.source].problems.append(str(error))
            queued.reader.close()

    def _settle(self, turn: _Turn, appended: Appended | None) -> None:
        """Count what was appended, and queue the file again where there may be more."""
        queued, stretch = turn
        cursor = queued.cursor
        assert cursor is not None, "a file is read from its cursor"
        if appended is not None:
            self._count(queued.work.adapter.source, appended, appended.bytes - cursor.bytes)
            queued.cursor = replace(cursor, bytes=appended.bytes, watermark=stretch.watermark or cursor.watermark)
        if appended is None or queued.work.file.form != "lines" or appended.bytes < queued.work.file.size:
            heapq.heappush(self._queue, queued)
        else:
            queued.reader.close()

    def _count(self, source: str, appended: Appended, new_bytes: int) -> None:
        report = self.reports[source]
        report.events += appended.events
        report.malformed += appended.malformed
        report.bytes += new_bytes
        self._done += new_bytes
        if appended.orphan:
            report.problems.append(f"Bytes of unknown origin behind a mirror were kept as {appended.orphan}.")

    def changed(self, adapter: Adapter) -> list[tuple[SourceFile, int]]:
        """Return the adapter's files that a stat does not show to be unchanged, and their bytes ingested."""
        report = self.reports[adapter.source]
        started = time.monotonic()
        files, excluded, failure = plan.discover(adapter, self._environment, self._rules)
        known = archive.known(adapter.source)
        chosen = self._rules.choose(adapter, plan.changed(files.values(), known))
        report.seconds += time.monotonic() - started
        report.files = len(files) - chosen.excluded
        report.excluded = excluded + chosen.excluded
        if failure and not (files or excluded):
            report.failed = failure
            return []
        problems = [failure, *chosen.problems] if failure else chosen.problems
        report.problems += [problem for problem in problems if problem not in report.problems]
        return [(file, known[file.logical_path].bytes if file.logical_path in known else 0) for file in chosen.files]

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
        queued = _Queued(-file.mtime_ns, next(self._numbers), work, self._reader(work))
        self._latest[_identity(work)] = queued.number
        heapq.heappush(self._queue, queued)

    def _reader(self, work: Work) -> Reader:
        if work.file.form != "rows":
            return LineReader(work.file)
        return RowReader(work.file, self._rules.kept_rows(work.adapter, work.file, work.cursor.state))

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
        if self._queued[file.path] != _stat(file) and self._rules.choose(work.adapter, [file]).files:
            self._enqueue(work._replace(file=file, cursor=archive.cursor(work.cursor.key)))


def _piece(turn: _Turn) -> Piece:
    (queued, stretch), cursor = turn, turn.queued.cursor
    assert cursor is not None, "a file is read from its cursor"
    adapter, file = queued.work.adapter, queued.work.file
    return Piece(cursor.id, cursor.bytes, stretch.data, adapter.parse_line, plan.origin(file), stretch.watermark)


def _identity(work: Work) -> tuple[str, str]:
    return (work.file.source, work.file.logical_path)


def _stat(file: SourceFile) -> tuple[int, int, int]:
    return (file.size, file.mtime_ns, file.inode)
