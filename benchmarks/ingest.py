"""What an import costs beside the bare script of `benchmarks.lower_bound`: `python -m benchmarks.ingest --size 100MB`.

Both import the same invented logs in turn, so that whatever else the machine does meets both alike.
"""

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from benchmarks.child import MANAGE, ROOT, Used, run
from benchmarks.generate import parse_size, write_logs, write_one_file
from benchmarks.report import Line, show

RESULTS = ROOT / "benchmarks" / "out"
SMALL_FILES = 5_000
NO_OP_RUNS = 5
POLL_SECONDS = 0.02
FIND = """
    SELECT 1 FROM message_trigram f JOIN visible_event e ON e.id = f.rowid JOIN session s ON s.id = e.session_id
    WHERE message_trigram MATCH ? AND s.session_id = ? LIMIT 1"""


class Import(NamedTuple):
    """One import: what the process used, the bytes it left behind, and when the newest session was found."""

    used: Used
    database: int
    mirrors: int
    events: int
    newest: float = 0.0


class Results(NamedTuple):
    """Everything measured, run by run; a start is a process that finds nothing to do."""

    size: int
    files: int
    bare: list[Import]
    origin: list[Import]
    bare_start: list[Used]
    first_start: list[Used]
    start: list[Used]
    no_op: list[Used]
    masking: dict[str, float]
    one_file: Used | None


# --- running


def measure(size: int, runs: int, one_file: tuple[int, int] | None, work: Path) -> Results:
    """Make the logs that are not there yet, and import them."""
    logs = made(work / f"logs-{size}", lambda home: write_logs(size, home))
    small = made(work / f"small-{SMALL_FILES}", write_small_files)
    sources = list((logs / ".claude").rglob("*.jsonl"))
    bare, origin, bare_start, first_start = [], [], [], []
    for number in range(runs):
        print(f"run {number + 1} of {runs}", file=sys.stderr)
        origin.append(import_by_origin(logs, fresh(work / "origin")))
        bare.append(import_bare(logs, fresh(work / "bare")))
        first_start.append(sync_nothing(fresh(work / "start")))
        bare_start.append(run((sys.executable, "-c", "import msgspec, sqlite3, zstandard"), {}))
    start, no_op = time_no_op(small, fresh(work / "origin"), work / "start")
    return Results(
        size=sum(path.stat().st_size for path in sources),
        files=len(sources),
        bare=bare,
        origin=origin,
        bare_start=bare_start,
        first_start=first_start,
        start=start,
        no_op=no_op,
        masking=time_masking(logs, fresh(work / "origin")),
        one_file=import_one_file(*one_file, work) if one_file else None,
    )


def made(home: Path, write: Callable[[Path], object]) -> Path:
    """Return a home with logs in it, written now unless an earlier run did."""
    complete = home / "complete"
    if not complete.exists():
        shutil.rmtree(home, ignore_errors=True)
        write(home)
        complete.touch()
    return home


def fresh(folder: Path) -> Path:
    """Return an empty folder; what an earlier run wrote must not be on its way to the disk any more."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.sync()
    return folder


def import_by_origin(logs: Path, home: Path) -> Import:
    """Import by a real `sync`, while another thread looks for the newest session."""
    watch = Watch(logs, home / "origin.db")
    watch.start()
    used = sync(logs, home)
    watch.join()
    return Import(used, *left_behind(home / "origin.db", home / "raw"), watch.found)


def import_bare(logs: Path, home: Path) -> Import:
    """Import by the bare script, into a store that Origin has made."""
    sync_nothing(home)
    mirrors = fresh(home / "bare")
    command = (sys.executable, "-m", "benchmarks.lower_bound", str(logs), str(home / "origin.db"), str(mirrors))
    used = run(command, {})
    return Import(used, *left_behind(home / "origin.db", mirrors))


def sync(logs: Path, home: Path) -> Used:
    return run((*MANAGE, "sync", "--quiet"), {"HOME": str(logs), "ORIGIN_HOME": str(home)})


def sync_nothing(home: Path) -> Used:
    """Start a process that makes the store where it is missing, and finds no logs."""
    return sync(home, home)


def left_behind(database: Path, mirrors: Path) -> tuple[int, int, int]:
    """Return the bytes of the database and of the mirrors, and how many events there are."""
    store = sqlite3.connect(database)
    (events,) = store.execute("SELECT count(*) FROM event").fetchone()
    store.close()
    return database.stat().st_size, sum(path.stat().st_size for path in mirrors.rglob("*.zst")), events


class Watch(threading.Thread):
    """Looks for the last message of the newest log in a store, until it is found; `found` is after how many seconds."""

    def __init__(self, logs: Path, database: Path) -> None:
        super().__init__(daemon=True)
        newest = max((logs / ".claude").rglob("*.jsonl"), key=lambda path: path.stat().st_mtime)
        self.database = database
        self.asked = (last_message(newest), f"claude-code:{newest.stem}")
        self.found = 0.0

    def run(self) -> None:
        """Ask again and again."""
        begun = time.perf_counter()
        while not self.is_there():
            time.sleep(POLL_SECONDS)
        self.found = time.perf_counter() - begun

    def is_there(self) -> bool:
        """Ask once, as a process that has the store open only for that."""
        try:
            store = sqlite3.connect(f"{self.database.as_uri()}?mode=ro", uri=True)
            try:
                return store.execute(FIND, self.asked).fetchone() is not None
            finally:
                store.close()
        except sqlite3.Error:
            return False


def last_message(log: Path) -> str:
    """Return the beginning of the last message of the person or the model in a log, as a phrase to search for."""
    texts = [text for line in log.read_bytes().splitlines() if (text := said(msgspec.json.decode(line)))]
    return '"' + texts[-1][:60].replace('"', '""') + '"'


def said(record: dict[str, Any]) -> str:
    """Return the text of a message, or nothing."""
    content = record["message"]["content"] if record["type"] in ("user", "assistant") else ""
    if isinstance(content, str):
        return content
    return "".join(block["text"] for block in content if block["type"] == "text")


def write_small_files(home: Path) -> None:
    """Write sessions of one line each."""
    for number in range(SMALL_FILES):
        session = f"5e551011-0000-4000-8000-{number:012x}"
        path = home / ".claude" / "projects" / f"-w-{number % 50}" / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {
            "type": "user",
            "message": {"role": "user", "content": f"What does part {number} do?"},
            "cwd": f"/w/{number % 50}",
            "sessionId": session,
            "version": "2.1.118",
            "uuid": f"0000e4e1-0000-4000-8000-{number:012x}",
            "timestamp": "2026-05-01T10:00:00.000Z",
        }
        path.write_bytes(msgspec.json.encode(record) + b"\n")


def time_no_op(small: Path, home: Path, empty: Path) -> tuple[list[Used], list[Used]]:
    """Sync many small files, then again and again with nothing new, in turn with mere starts of a process."""
    sync(small, home)
    starts, no_ops = [], []
    for _ in range(NO_OP_RUNS):
        starts.append(sync_nothing(empty))
        no_ops.append(sync(small, home))
    return starts, no_ops


def time_masking(logs: Path, home: Path) -> dict[str, float]:
    """Import once more with a clock on the masking."""
    variables = os.environ | {"HOME": str(logs), "ORIGIN_HOME": str(home)}
    command = (sys.executable, "-m", "benchmarks.masking")
    printed = subprocess.run(command, env=variables, cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    found: dict[str, float] = json.loads(printed)
    return found


def import_one_file(size: int, line: int, work: Path) -> Used:
    """Import one huge file of huge lines."""
    logs = made(work / f"one-file-{size}-{line}", lambda home: write_one_file(size, line, home))
    return sync(logs, fresh(work / "origin"))


# --- what came of it


def lines(results: Results) -> list[Line]:
    """Return the table."""
    bare, origin = results.bare, results.origin
    bare_cpu, cpu = median(each.used.cpu for each in bare), median(each.used.cpu for each in origin)
    bare_start, start = (
        median(each.cpu for each in results.bare_start),
        median(each.cpu for each in results.first_start),
    )
    written = median(each.used.written for each in origin) / results.size
    bare_written = median(each.used.written for each in bare) / results.size
    wall = median(each.used.wall for each in origin)
    idle = median(each.wall for each in results.no_op) - median(each.wall for each in results.start)
    idle_cpu = median(each.cpu for each in results.no_op) - median(each.cpu for each in results.start)
    masking = results.masking["masking"] / results.masking["import"]
    table = [
        Line("CPU, whole process (s)", cpu, bare_cpu, ratio_at_most=1.5),
        Line("CPU beyond start (s)", cpu - start, bare_cpu - bare_start, ratio_at_most=1.5),
        Line("start and empty store (CPU s)", start, bare_start),
        Line("wall clock (s)", wall, median(each.used.wall for each in bare)),
        Line("raw MB a CPU second", results.size / 1e6 / cpu, results.size / 1e6 / bare_cpu),
        Line("peak memory (MB)", max(each.used.memory for each in origin), bare[0].used.memory, at_most=300),
        Line("bytes written a byte", written, bare_written, at_most=8, ratio_at_most=1.2),
        Line("database (MB)", origin[-1].database / 1e6, bare[-1].database / 1e6),
        Line("mirrors (MB)", origin[-1].mirrors / 1e6, bare[-1].mirrors / 1e6),
        Line("events", origin[-1].events, bare[-1].events),
        Line("newest session found after (s)", median(each.newest for each in origin), at_most=2),
        Line(f"sync of {SMALL_FILES:,} unchanged files (s)", idle, at_most=0.3),
        Line("  the same in CPU seconds", idle_cpu),
        Line("masking, share of CPU", masking, at_most=0.25),
    ]
    if results.one_file:
        table.append(Line("one huge file: peak memory (MB)", results.one_file.memory, at_most=300))
        table.append(Line("one huge file: CPU (s)", results.one_file.cpu))
    return table


def median(values: Iterable[float]) -> float:
    """Return the middle value."""
    return float(statistics.median(values))


def main() -> None:
    """Measure, print and write down."""
    options = parse_options()
    work = options.out or Path(tempfile.mkdtemp(prefix="origin-benchmark-"))
    one_file = (options.one_file, options.line) if options.one_file else None
    try:
        results = measure(options.size, options.runs, one_file, work)
    finally:
        if not options.out:
            shutil.rmtree(work)
    title = f"{results.size / 1e6:,.0f} MB of logs in {results.files:,} files, medians of {options.runs} runs in turn"
    show(title, lines(results), results._asdict(), RESULTS / f"ingest-{options.size // 10**6}MB.json")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ingest", description=__doc__)
    parser.add_argument("--size", type=parse_size, default="100MB", help="bytes of all logs (default: %(default)s)")
    parser.add_argument("--runs", type=int, default=3, help="imports by each (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="keep the logs and stores here, and use the logs again")
    parser.add_argument("--one-file", type=parse_size, metavar="SIZE", help="also import one file of this size")
    parser.add_argument("--line", type=parse_size, default="50MB", help="its longest lines (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
