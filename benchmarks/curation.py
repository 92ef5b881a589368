"""What entries and tombstones cost: `python -m benchmarks.curation [--size 30MB] [--entries N] [--tombstones N]`.

One store is made from generated logs and copied: searches are timed without and with entries, then how long one more
takes to remember; another copy gets tombstones, and searches and the append of more logs are compared with a copy
without any.
"""

import argparse
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC
from pathlib import Path
from random import Random

from benchmarks.child import ROOT
from benchmarks.generate import parse_size, write_logs
from benchmarks.ingest import made, sync
from benchmarks.report import Line, show
from benchmarks.search import slow

RESULTS = ROOT / "benchmarks" / "out"
QUERIES = 60
REMEMBERED = 300
WORDS = "SELECT text FROM visible_event WHERE kind = 'message' ORDER BY random() LIMIT 3000"


def words_of(store: Path) -> list[str]:
    """Return words that the messages of a store hold."""
    with sqlite3.connect(store / "origin.db") as database:
        texts = [str(text) for (text,) in database.execute(WORDS)]
    return sorted({word for text in texts for word in text.split() if word.isalpha() and 4 < len(word) < 20})


def copied(store: Path, to: Path) -> Path:
    """Return a copy of a store."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(store, to)
    return to


def child(store: Path, what: str, *arguments: object) -> list[float]:
    """Run one part of this script over a store, in a process of its own; returns the numbers that it prints."""
    command = [sys.executable, "-m", "benchmarks.curation", "--part", what, *map(str, arguments)]
    variables = os.environ | {"ORIGIN_HOME": str(store), "DJANGO_SETTINGS_MODULE": "origin_site.settings"}
    done = subprocess.run(command, env=variables, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


# --- the parts, each in a process with the store opened


def search_all(words: Sequence[str]) -> list[float]:
    """Return the milliseconds of processor time of each of the same searches."""
    from memory import tools
    from memory.scope import EVERYTHING

    random = Random(7)
    queries = [" ".join(random.sample(words, random.randint(1, 4))) for _ in range(QUERIES)]
    took: list[float] = []
    for counts in (False, True, True):
        for query in queries:
            begun = time.process_time()
            tools.call("search", {"query": query}, EVERYTHING, UTC)
            took += [1000 * (time.process_time() - begun)] if counts else []
    return took


def add_entries(words: Sequence[str], count: int) -> None:
    """Write so many entries, each on one of a thousand events."""
    from memory import sql
    from memory.mutation import mutation
    from memory.records import log
    from memory.records.bodies import Remember, Source
    from memory.records.identity import owner

    random = Random(11)
    events = [str(name) for (name,) in sql.rows("SELECT event_id FROM visible_event WHERE kind = 'message' LIMIT 1000")]
    for start in range(0, count, 1000):
        with mutation("remember", owner()) as change:
            for number in range(start, min(start + 1000, count)):
                text = f"Statement {number}: {' '.join(random.sample(words, 14))}."
                source = Source(event=random.choice(events))
                name = f"ent_{number:016x}"
                log.write(
                    Remember(
                        entry=name, kind="knowledge", text=text, confidence=80, sources=(source,), trust="accepted"
                    ),
                    "bench@here",
                )
            change.targets.append(f"batch {start}")


def remember_some(words: Sequence[str]) -> list[float]:
    """Return the milliseconds by the clock that each of some more entries takes."""
    from memory import sql, tools
    from memory.scope import EVERYTHING

    random = Random(13)
    texts = sql.rows(
        "SELECT text FROM visible_event WHERE kind = 'message' AND length(text) > 60 ORDER BY id DESC LIMIT 400"
    )
    took = []
    for number in range(REMEMBERED):
        quote = str(random.choice(texts)[0])[:60]
        text = f"Another statement {number}: {' '.join(random.sample(words, 14))}."
        begun = time.perf_counter()
        arguments = {"kind": "knowledge", "text": text, "sources": [{"quote": quote}]}
        tools.call("remember", arguments, EVERYTHING, UTC)
        took.append(1000 * (time.perf_counter() - begun))
    return took


def add_tombstones(count: int) -> None:
    """Forget so many messages, one tombstone each."""
    from memory import sql
    from memory.forgetting.values import digests
    from memory.mutation import mutation
    from memory.records import log
    from memory.records.bodies import Effects, Forget
    from memory.records.identity import owner

    rows = sql.rows(
        "SELECT event_id, role, text FROM visible_event WHERE kind = 'message' ORDER BY id LIMIT ?", (count,)
    )
    for start in range(0, len(rows), 250):
        with mutation("forget", owner()) as change:
            for number, (name, role, text) in enumerate(rows[start : start + 250], start):
                body = Forget(
                    tombstone=f"tmb_{number:016x}",
                    target=name,
                    reason="never mind",
                    code="other",
                    effects=Effects(events=(name,)),
                    digests=digests(text, "user" if role == "user" else "assistant"),
                )
                log.write(body, "user@here")
            change.targets.append(f"batch {start}")


def part(options: argparse.Namespace) -> None:
    """Run one part and print its numbers."""
    import django

    django.setup()
    from memory.store import open_store

    open_store()
    words = (
        words_of(Path(os.environ["ORIGIN_HOME"])) if options.words == "" else Path(options.words).read_text().split()
    )
    if options.part == "search":
        print(*search_all(words))
    elif options.part == "entries":
        add_entries(words, options.count)
    elif options.part == "remember":
        print(*remember_some(words))
    else:
        add_tombstones(options.count)


# --- the whole


def measure(options: argparse.Namespace, folder: Path) -> list[Line]:
    """Make the stores and time everything; returns the table."""
    logs = made(folder / "logs", lambda home: write_logs(parse_size(options.size), home))
    more = made(folder / "more", lambda home: write_logs(parse_size("10MB"), home, seed=2))
    base = folder / "base"
    shutil.rmtree(base, ignore_errors=True)
    sync(logs, base)
    (folder / "words").write_text(" ".join(words_of(base)))
    words = ("--words", folder / "words")
    alone = child(base, "search", *words)
    with_entries = copied(base, folder / "entries")
    child(with_entries, "entries", *words, "--count", options.entries)
    beside = child(with_entries, "search", *words)
    remembered = child(with_entries, "remember", *words)
    forgotten = copied(base, folder / "forgotten")
    child(forgotten, "tombstones", *words, "--count", options.tombstones)
    hidden = child(forgotten, "search", *words)
    plain = sync(more, copied(base, folder / "plain")).cpu
    checked = sync(more, forgotten).cpu
    return [
        Line(f"search p95 with {options.entries:,} entries (ms CPU)", slow(beside), slow(alone), ratio_at_most=1.1),
        Line("remember p95 (ms)", slow(remembered), at_most=20),
        Line(f"search p95, {options.tombstones:,} tombstones (ms CPU)", slow(hidden), slow(alone), ratio_at_most=1.1),
        Line("append of 10 MB among them (CPU s)", checked, plain, ratio_at_most=1.1),
    ]


def main() -> None:
    """Read the options, measure, print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", default="30MB")
    parser.add_argument("--entries", type=int, default=50_000)
    parser.add_argument("--tombstones", type=int, default=5_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "origin-curation")
    parser.add_argument("--part", default="", help=argparse.SUPPRESS)
    parser.add_argument("--words", default="", help=argparse.SUPPRESS)
    parser.add_argument("--count", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        part(options)
        return
    options.folder.mkdir(parents=True, exist_ok=True)
    lines = measure(options, options.folder)
    show("What entries and tombstones cost", lines, None, RESULTS / "curation.json", beside="without")


if __name__ == "__main__":
    main()
