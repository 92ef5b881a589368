"""What lines that say nothing cost beside good ones: each parser reads both, and the CPU time of a line is compared.

The good lines are those of the tests' samples. Noise has the lengths of the good lines, so that a ratio speaks of what
a line is and not of how long it is. As in a sync, a line that is no record is looked at for records run together.

    python -m benchmarks.noise [--lines N]
"""

import argparse
import random
import time
from collections.abc import Callable, Iterable
from itertools import cycle, islice
from typing import NamedTuple

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Adapter
from memory.errors import MalformedLine
from memory.json_line import split_objects
from memory.parsed import Line, ParseLine, State
from tests.ingest.adapters.golden import cases

LINES = 1_000_000
MOST = 2.0
# As many different lines of a kind are made; they are read over and over.
DIFFERENT = 5_000
WORDS = b"the wick of this lamp smokes because nobody has trimmed it since the last storm put it out".split()
BRACKETS = b'{}[]",:'


class Log(NamedTuple):
    """The lines of one sample and the path they are read under."""

    path: str
    lines: list[bytes]


def random_bytes(line: bytes, chance: random.Random) -> bytes:
    """Return bytes of any value."""
    return chance.randbytes(len(line))


def words(line: bytes, chance: random.Random) -> bytes:
    """Return words, as a log of another program has."""
    return b" ".join(chance.choices(WORDS, k=len(line) // 5 + 1))[: len(line)]


def truncated(line: bytes, chance: random.Random) -> bytes:
    """Return a line that was cut off somewhere."""
    return line[: chance.randrange(1, len(line))]


def mutated(line: bytes, chance: random.Random) -> bytes:
    """Return a line with three bytes overwritten."""
    changed = bytearray(line)
    for _ in range(3):
        changed[chance.randrange(len(line))] = chance.randrange(256)
    return bytes(changed)


def brackets(line: bytes, chance: random.Random) -> bytes:
    """Return JSON's punctuation in no order."""
    return bytes(chance.choices(BRACKETS, k=len(line)))


def nested(line: bytes, chance: random.Random) -> bytes:
    """Return objects that are opened one in another and never closed."""
    return b'{"a":' * (len(line) // 5 + 1)


Kind = Callable[[bytes, random.Random], bytes]
KINDS: tuple[Kind, ...] = (random_bytes, words, truncated, mutated, brackets, nested)


def logs_of(adapter: Adapter) -> list[Log]:
    """Return an adapter's samples."""
    read = [(case.expected()["path"], case.log.read_bytes()) for case in cases() if case.adapter is adapter]
    return [Log(path, [line for line in data.split(b"\n") if line.strip()]) for path, data in read]


def noise(logs: list[Log], kind: Kind, chance: random.Random) -> list[Log]:
    """Return as many different lines of one kind for each log as make `DIFFERENT` together."""
    each = DIFFERENT // len(logs) + 1
    made = [[kind(line, chance).replace(b"\n", b" ") for line in islice(cycle(log.lines), each)] for log in logs]
    return [Log(log.path, lines) for log, lines in zip(logs, made, strict=True)]


def read_all(parse_line: ParseLine, log: Log) -> None:
    """Read a log from its start, as a sync does but for what it stores."""
    state: State = {}
    for number, data in enumerate(log.lines, start=1):
        try:
            state = parse_line(Line(data, number, log.path, number - 1), state).state
        except MalformedLine:
            split_objects(data)


def microseconds(parse_line: ParseLine, logs: Iterable[Log], lines: int) -> float:
    """Return the CPU time that one line takes, of at least `lines` that are read."""
    read, start = 0, time.process_time()
    for log in cycle(logs):
        read_all(parse_line, log)
        read += len(log.lines)
        if read >= lines:
            return (time.process_time() - start) / read * 1e6
    return 0.0


def main() -> int:
    """Print what a line of each kind costs each parser; fail where noise costs more than `MOST` times a good line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES, help="lines of each kind that each parser reads")
    lines = parser.parse_args().lines
    print(f"{'µs a line':12}" + "".join(f"{kind:>15}" for kind in ("good", *(kind.__name__ for kind in KINDS))))
    worst = 0.0
    for adapter in ADAPTERS:
        logs = logs_of(adapter)
        good = microseconds(adapter.parse_line, logs, lines)
        found = [microseconds(adapter.parse_line, noise(logs, kind, random.Random(0)), lines) for kind in KINDS]
        worst = max(worst, *(each / good for each in found))
        print(f"{adapter.source:12}{good:15.2f}" + "".join(f"{each:8.2f} ({each / good:.2f}×)" for each in found))
    print(f"\nThe dearest noise costs {worst:.2f} times a good line; the most it may is {MOST:.0f}.")
    return int(worst > MOST)


if __name__ == "__main__":
    raise SystemExit(main())
