"""`kill -9` a real sync at random moments and see whether anything is lost: `python -m benchmarks.kill --logs DIR`.

DIR is a home directory with agents' logs, such as `benchmarks.generate --out DIR` writes. Once with a new store for
every kill and a run to the end after it; once with kill after kill on one store. Every store must then hold what that
of a sync that nobody killed holds; exits 1 where one does not.
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.commands import ROOT, environment
from tests.store_digest import contents, damage

OUT = ROOT / "benchmarks" / "out" / "kill.json"
# A store on which kill after kill falls is given this share of an undisturbed run between two of them.
SHARE = 0.3


def start(home: Path, logs: Path) -> subprocess.Popen[bytes]:
    """Start a sync of the logs as a process of its own."""
    command = [sys.executable, "manage.py", "sync", "--quiet"]
    return subprocess.Popen(command, cwd=ROOT, env=environment(home, logs))


def finish(home: Path, logs: Path) -> float:
    """Sync to the end; returns how many seconds that took."""
    started = time.perf_counter()
    if start(home, logs).wait() != 0:
        raise SystemExit(f"A sync that nobody killed failed; its store is {home}.")
    return time.perf_counter() - started


def kill(home: Path, logs: Path, after: float) -> str:
    """Kill a sync `after` so many seconds; returns how far it had come."""
    process = start(home, logs)
    try:
        process.wait(after)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return "archiving" if any((home / "raw").rglob("*.zst")) else "starting"
    return "ended before"


def differences(home: Path, expected: dict[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a store, or not as it was to be."""
    yield from damage(home)
    found = contents(home)
    for part, wanted in expected.items():
        if found[part] == wanted:
            continue
        if isinstance(wanted, dict):
            names = [name for name in wanted.keys() | found[part].keys() if wanted.get(name) != found[part].get(name)]
            yield f"{len(names)} {part} differ, such as {names[0]}"
        else:
            yield f"{part} differ: {len(found[part])} instead of {len(wanted)}"


def kill_once_each(folder: Path, logs: Path, times: int, seconds: float, expected: dict[str, Any]) -> dict[str, Any]:
    """Kill one sync on each of many new stores, and let the next one end."""
    met: Counter[str] = Counter()
    wrong: list[str] = []
    for number in range(times):
        home = folder / f"once-{number}"
        after = random.uniform(0, seconds)
        met[kill(home, logs, after)] += 1
        finish(home, logs)
        wrong += [f"killed after {after:.3f} s: {difference}" for difference in differences(home, expected)]
        shutil.rmtree(home)
    return {"kills": "one a store", "stores": times, "met": met, "wrong": wrong}


def kill_again_and_again(
    folder: Path, logs: Path, times: int, seconds: float, expected: dict[str, Any]
) -> dict[str, Any]:
    """Kill sync after sync on one store until one ends, begin another store, and so on."""
    met: Counter[str] = Counter()
    wrong: list[str] = []
    stores = 0
    while met.total() < times:
        home = folder / f"again-{stores}"
        stores += 1
        state = ""
        while met.total() < times and state != "ended before":
            state = kill(home, logs, random.uniform(0, seconds * SHARE))
            met[state] += 1
        finish(home, logs)
        wrong += [f"store {stores}: {difference}" for difference in differences(home, expected)]
    return {"kills": "again and again", "stores": stores, "met": met, "wrong": wrong}


def show(rows: list[dict[str, Any]]) -> None:
    """Print the table."""
    headings = ("kills", "stores", "starting", "archiving", "ended before", "wrong")
    print("  ".join(f"{heading:>15}" for heading in headings))
    for row in rows:
        cells = (row["kills"], row["stores"], *(row["met"][state] for state in headings[2:5]), len(row["wrong"]))
        print("  ".join(f"{cell:>15}" for cell in cells))
    for row in rows:
        for wrong in row["wrong"]:
            print(wrong)


def main() -> None:
    options = parse_options()
    random.seed(options.seed)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        undisturbed = Path(folder) / "undisturbed"
        seconds = finish(undisturbed, options.logs)
        expected = contents(undisturbed)
        if damaged := damage(undisturbed):
            raise SystemExit(f"The store that nobody disturbed is damaged: {damaged}")
        print(
            f"undisturbed: {seconds:.1f} s, {len(expected['mirrors'])} files, {len(expected['events'])} events, "
            f"{sum(mirror['bytes'] for mirror in expected['mirrors'].values()):,} bytes"
        )
        rows = [
            mode(Path(folder), options.logs, options.times, seconds, expected)
            for mode in (kill_once_each, kill_again_and_again)
        ]
    show(rows)
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps({"seconds": seconds, "rows": rows}, indent=2) + "\n")
    sys.exit(any(row["wrong"] for row in rows))


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kill", description=__doc__)
    parser.add_argument("--logs", type=Path, required=True, help="a home directory with agents' logs")
    parser.add_argument("--times", type=int, default=50, help="kills of each kind (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="other moments (default: %(default)s)")
    parser.add_argument("--work", type=Path, help="where the stores are made (default: the system's temporary folder)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
