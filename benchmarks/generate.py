"""Invent Claude Code logs of a given size to measure with: `python -m benchmarks.generate --size 100MB --out DIR`.

The same seed, date and Python installation give the same bytes.
"""

import argparse
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from random import Random
from typing import BinaryIO

import msgspec

from benchmarks.claude_code_log import (
    VERSIONS,
    JsonObject,
    Transcript,
    closing,
    conversation,
    long_conversation,
    new_uuid,
)
from benchmarks.corpus import Corpus, read_corpus

DAYS = 180
UNTIL = date(2026, 6, 30)
SESSION_BYTES = 500_000  # on average
PROJECTS = ("api", "billing", "compiler", "dashboard", "docs.site", "etl", "game", "infra", "mobile", "notes", "search")
LANGUAGES = {"en": 0.86, "zh": 0.07, "ja": 0.04, "ko": 0.03}
BUFFER = 1 << 20
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass
class Tally:
    """What was written."""

    sessions: int = 0
    lines: int = 0
    bytes: int = 0
    tool_result_bytes: int = 0

    @property
    def tool_result_share(self) -> float:
        return self.tool_result_bytes / self.bytes


def write_logs(
    size: int, home: Path, *, seed: int = 1, until: date = UNTIL, session_bytes: int = SESSION_BYTES
) -> Tally:
    """Write about `size` bytes of sessions below `home`, as they would lie in a home directory."""
    rng = Random(seed)
    corpus = read_corpus(rng, corpus_limit(size))
    tally = Tally()
    while tally.bytes < size:
        log = new_session(rng, corpus, until)
        budget = int(min(rng.lognormvariate(0, 0.9) * session_bytes / 1.5, size - tally.bytes))
        folder = project_folder(home, log.cwd)
        write_transcript(folder / f"{log.session_id}.jsonl", log, conversation(log), budget, tally)
        for agent in log.sub_agents:
            path = folder / log.session_id / "subagents" / f"agent-{agent.agent_id}.jsonl"
            write_transcript(path, agent, conversation(agent), min(agent.length(40_000), size // 20), tally)
        tally.sessions += 1
    return tally


def write_one_file(size: int, line_size: int, home: Path, *, seed: int = 1, until: date = UNTIL) -> Tally:
    """Write one session of about `size` bytes, its tool results about `line_size` each."""
    rng = Random(seed)
    log = new_session(rng, read_corpus(rng, corpus_limit(size)), until)
    tally = Tally(sessions=1)
    records = long_conversation(log, line_size)
    write_transcript(project_folder(home, log.cwd) / f"{log.session_id}.jsonl", log, records, size, tally)
    return tally


def new_session(rng: Random, corpus: Corpus, until: date) -> Transcript:
    # Up to 15 hours are left for the session itself, so that none ends after `until`.
    age = timedelta(days=rng.uniform(0, DAYS), hours=15)
    start = datetime(until.year, until.month, until.day, tzinfo=UTC) + timedelta(days=1) - age
    return Transcript(
        rng,
        corpus,
        cwd=f"/home/dev/work/{rng.choice(PROJECTS)}",
        branch=rng.choice(("main", "main", f"feature/{corpus.words.draw(rng, 1)[0]}")),
        version=VERSIONS[min(int((DAYS - age.days) * len(VERSIONS) / DAYS), len(VERSIONS) - 1)],
        language=rng.choices(tuple(LANGUAGES), weights=tuple(LANGUAGES.values()))[0],
        session_id=new_uuid(rng),
        now=start,
        files=rng.sample(corpus.files, k=min(rng.randint(3, 12), len(corpus.files))),
    )


def write_transcript(path: Path, log: Transcript, records: Iterator[JsonObject], budget: int, tally: Tally) -> None:
    """Write the first `budget` bytes of `records`, up to a whole line, and what the client adds at a session's end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    full = tally.bytes + budget
    with path.open("wb", buffering=BUFFER) as file:
        for record in records:
            write_line(file, record, tally)
            if tally.bytes >= full:
                break
        for record in closing(log):
            write_line(file, record, tally)
    os.utime(path, (log.now.timestamp(), log.now.timestamp()))


def write_line(file: BinaryIO, record: JsonObject, tally: Tally) -> None:
    line = msgspec.json.encode(record) + b"\n"
    file.write(line)
    tally.lines += 1
    tally.bytes += len(line)
    tally.tool_result_bytes += len(line) if "toolUseResult" in record else 0


def project_folder(home: Path, cwd: str) -> Path:
    return home / ".claude" / "projects" / re.sub(r"[^A-Za-z0-9]", "-", cwd)


def corpus_limit(size: int) -> int:
    """How much source code to draw from: reading more than a small log can hold would only take time."""
    return max(2_000_000, min(size // 10, 30_000_000))


# --- command line


def main() -> None:
    options = parse_options()
    started = time.perf_counter()
    if options.one_file:
        tally = write_one_file(options.one_file, options.line, options.out, seed=options.seed, until=options.until)
    else:
        tally = write_logs(options.size, options.out, seed=options.seed, until=options.until)
    seconds = time.perf_counter() - started
    print(
        f"{tally.sessions} sessions, {tally.lines:,} lines, {tally.bytes:,} bytes "
        f"({tally.bytes // tally.lines:,} a line, {tally.tool_result_share:.0%} in tool results) "
        f"in {seconds:.1f} s ({tally.bytes / seconds / 1e6:.0f} MB/s)"
    )


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the home directory to write .claude/projects in")
    parser.add_argument("--size", type=parse_size, default="100MB", help="bytes of all files (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other logs (default: %(default)s)")
    parser.add_argument("--until", type=date.fromisoformat, default=UNTIL, help="the last day (default: %(default)s)")
    parser.add_argument("--one-file", type=parse_size, metavar="SIZE", help="write one file of this size instead")
    parser.add_argument("--line", type=parse_size, default="50MB", help="its tool results (default: %(default)s)")
    return parser.parse_args()


def parse_size(text: str) -> int:
    """`100MB` or `1GB`, in powers of ten."""
    number, unit = text[:-2], text[-2:].upper()
    if unit not in UNITS or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no size such as 100MB or 1GB")
    return int(number) * UNITS[unit]


if __name__ == "__main__":
    main()
