"""How long the search tool takes, in process: `python -m benchmarks.search --size 100MB [--logs DIR] [--store DIR]`.

The queries are drawn from what the messages of the store hold. All are asked in turn, several times over, so that none
finds its pages where it left them itself. Beside them stands what ripgrep takes to list the raw logs that hold the
same words, without ranking, filters or what was forgotten.
"""

import argparse
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.child import ROOT
from benchmarks.generate import parse_size, write_logs
from benchmarks.ingest import made, sync
from benchmarks.report import Line, show

RESULTS = ROOT / "benchmarks" / "out"
PASSES = 3
# What ripgrep is asked of each kind: it reads every log each time.
RIPGREP_QUERIES = 5
LARGE = 500 * 10**6
MESSAGES = "SELECT text FROM visible_event WHERE kind = 'message'"

_WORD = re.compile(r"[a-z_][a-z0-9_]{3,30}")
_CJK = re.compile("[\u3041-\u30ff\u4e00-\u9fff\uac00-\ud7a3]{2,}")
_QUESTIONS = ("Why did we decide to {} the {} when {} and {}?", "What happens to {} if {} is {} by the {}?")


class Kind(NamedTuple):
    """One kind of query, and the milliseconds that 19 of 20 may take at most: up to 500 MB of logs, and beyond."""

    name: str
    small: float
    large: float


KINDS = (
    Kind("1 rare term", 5, 10),
    Kind("1 common term", 30, 60),
    Kind("natural question", 40, 120),
    Kind("CJK, 2 characters", 20, 50),
)
HOSTILE_MS = 1_000


# --- queries


class Words(NamedTuple):
    """In how many messages each word and each pair of CJK characters stands."""

    english: Counter[str]
    pairs: Counter[str]


def read_words(database: Path) -> Words:
    """Count what the messages of a store hold."""
    words = Words(Counter(), Counter())
    store = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    for (text,) in store.execute(MESSAGES):
        words.english.update(set(_WORD.findall(text.lower())))
        words.pairs.update({run[at : at + 2] for run in _CJK.findall(text) for at in range(len(run) - 1)})
    store.close()
    return words


def invent_queries(words: Words, rng: Random, count: int) -> dict[str, list[str]]:
    """Return so many queries of each kind."""
    ranked = [word for word, _ in words.english.most_common()]
    rare = sorted(word for word, held in words.english.items() if held <= 3)
    # The commonest words but the very first, and for questions words from all over the commoner half.
    common, telling = ranked[: 2 * count], ranked[10 : max(len(ranked) // 4, 200)]
    pairs = [pair for pair, _ in words.pairs.most_common(20 * count)]
    return {
        "1 rare term": rng.sample(rare, min(count, len(rare))),
        "1 common term": rng.sample(common, min(count, len(common))),
        "natural question": [rng.choice(_QUESTIONS).format(*rng.sample(telling, 4)) for _ in range(count)],
        "CJK, 2 characters": rng.sample(pairs, min(count, len(pairs))),
    }


def hostile_queries(words: Words) -> dict[str, str]:
    """Return queries that ask for as much work as a query can."""
    common = [word for word, _ in words.english.most_common(1_500)]
    pairs = [pair for pair, _ in words.pairs.most_common(500)]
    return {
        "the commonest word": common[0],
        "the 40 commonest words": " ".join(common[:40]),
        "the same as a question": " ".join(common[:40]) + "?",
        "the same, each in quotes": " ".join(f'"{word}"' for word in common[:40]),
        "parts of common words": " ".join(word[1:4] for word in common[:60]),
        "10,000 characters of words": " ".join(common)[:10_000],
        "10,000 characters of CJK": "".join(pairs * 10)[:10_000],
        "CJK and words as a question": " ".join(f"{word}{pair}" for word, pair in zip(common, pairs, strict=False))
        + "?",
        "one word of 10,000 characters": "".join(common)[:10_000],
        "one character of CJK": pairs[0][0] if pairs else "的",
        "letters": " ".join("abcdefghijklmnopqrstuvwxyz"),
        "letters of no word as a question": "zq qz xj jx vq? " + common[0],
        "marks": '""" \'\' () * ^ : - + ? ! \\ / % _ ' * 100,
        "a phrase of common words": f'"{" ".join(common[:30])}"',
        "common words left out": f"{common[0]} " + " ".join(f"-{word}" for word in common[1:40]),
        "a long identifier": "".join(word.title() for word in common[:40]),
        "long paths": " ".join(f"src/{'/'.join(common[at : at + 8])}.py" for at in range(0, 80, 8)),
    }


# --- asking


class Took(NamedTuple):
    """Milliseconds that one query took by the clock and of the processor, the middle of several times."""

    query: str
    wall: float
    cpu: float


def ask(query: str) -> tuple[float, float]:
    """Put a query to the tool; returns milliseconds by the clock and of the processor."""
    from memory import tools
    from memory.scope import EVERYTHING

    wall, cpu = time.perf_counter(), time.process_time()
    tools.call("search", {"query": query}, EVERYTHING, UTC)
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - cpu)


def time_queries(queries: Sequence[str], passes: int = PASSES) -> list[Took]:
    """Ask all queries in turn, after a first time that does not count."""
    rounds = [[ask(query) for query in queries] for _ in range(passes + 1)][1:]
    return [
        Took(query, middle(wall for wall, _ in each), middle(cpu for _, cpu in each))
        for query, each in zip(queries, zip(*rounds, strict=True), strict=True)
    ]


def time_ripgrep(queries: Sequence[str], logs: Path) -> list[float] | None:
    """Return the milliseconds that ripgrep takes to list the logs which hold any word of a query; None without it."""
    program = shutil.which("rg")
    if not program:
        return None
    took = []
    for query in queries:
        words = [part for word in query.split() if len(word) > 3 or not word.isascii() for part in ("-e", word)]
        command = (program, "-F", "-i", "-l", "-j2", "--hidden", "--no-ignore", *words, str(logs / ".claude"))
        begun = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
        took.append(1000 * (time.perf_counter() - begun))
    return took


def middle(values: Iterable[float]) -> float:
    """Return the middle value."""
    ordered = sorted(values)
    return ordered[len(ordered) // 2]


def slow(values: Iterable[float]) -> float:
    """Return what 19 of 20 stay within."""
    ordered = sorted(values)
    return ordered[min(len(ordered) * 95 // 100, len(ordered) - 1)]


# --- stores


def open_made_store(home: Path, logs: Path) -> None:
    """Open a store of these logs in this process, importing them where the store is not there yet."""
    if not (home / "origin.db").exists():
        home.mkdir(parents=True, exist_ok=True)
        sync(logs, home)
    import django

    os.environ["ORIGIN_HOME"] = str(home)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "origin_site.settings")
    django.setup()
    from memory.store import open_store

    open_store()


def size_of(logs: Path) -> int:
    """Return the bytes of all logs."""
    return sum(path.stat().st_size for path in (logs / ".claude").rglob("*.jsonl"))


# --- telling


class Results(NamedTuple):
    """Everything measured. `ripgrep` is None where it is not installed."""

    bytes: int
    kinds: dict[str, list[Took]]
    hostile: dict[str, Took]
    ripgrep: dict[str, list[float]] | None


def measure(home: Path, logs: Path, rng: Random, count: int) -> Results:
    """Ask queries of every kind."""
    words = read_words(home / "origin.db")
    queries = invent_queries(words, rng, count)
    took = iter(time_queries([query for kind in KINDS for query in queries[kind.name]]))
    kinds = {kind.name: [next(took) for _ in queries[kind.name]] for kind in KINDS}
    hostile = hostile_queries(words)
    hostile_took = dict(zip(hostile, time_queries(list(hostile.values())), strict=True))
    ripgrep = {kind.name: time_ripgrep(queries[kind.name][:RIPGREP_QUERIES], logs) for kind in KINDS}
    found = {name: each for name, each in ripgrep.items() if each is not None}
    return Results(size_of(logs), kinds, hostile_took, found or None)


def lines(results: Results) -> Iterator[Line]:
    """Return the table: of each kind the middle and the slowest but one in twenty, then the slowest of all."""
    ripgrep = results.ripgrep or {}
    for kind in KINDS:
        wall = [each.wall for each in results.kinds[kind.name]]
        beside = ripgrep.get(kind.name)
        at_most = kind.small if results.bytes < LARGE else kind.large
        yield Line(f"{kind.name}: p50 (ms)", middle(wall), middle(beside) if beside else None)
        yield Line("  p95", slow(wall), slow(beside) if beside else None, at_most=at_most)
        yield Line("  p95 of CPU time", slow(each.cpu for each in results.kinds[kind.name]))
    for name, took in results.hostile.items():
        yield Line(name, took.wall, at_most=HOSTILE_MS)


def main() -> None:
    """Measure, print and write down."""
    options = parse_options()
    work = Path(tempfile.mkdtemp(prefix="origin-benchmark-"))
    try:
        logs = options.logs or made(work / "logs", lambda home: write_logs(options.size, home))
        home = options.store or work / "origin"
        open_made_store(home, logs)
        results = measure(home, logs, Random(options.seed), options.queries)
    finally:
        shutil.rmtree(work)
    title = (
        f"search over {results.bytes / 1e6:,.0f} MB of logs, {options.queries} queries of a kind, asked {PASSES} times"
    )
    path = RESULTS / f"search-{options.size // 10**6}MB.json"
    show(title, lines(results), results._asdict(), path, beside="ripgrep")
    if not results.ripgrep:
        print("ripgrep is not installed: nothing stands beside these figures")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search", description=__doc__)
    parser.add_argument("--size", type=parse_size, default="100MB", help="bytes of all logs (default: %(default)s)")
    parser.add_argument("--logs", type=Path, help="a home directory with logs of that size, made earlier")
    parser.add_argument("--store", type=Path, help="where the store lies or is to be kept")
    parser.add_argument("--queries", type=int, default=60, help="queries of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other queries (default: %(default)s)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
