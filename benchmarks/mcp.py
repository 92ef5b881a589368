"""How fast `origin mcp` starts and answers beside a bare server of the same SDK: `python -m benchmarks.mcp`.

Both are started in turn, so that whatever else the machine does meets both alike.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "benchmarks" / "out" / "mcp.json"
SERVERS = {
    # -P: this folder holds a module called mcp.
    "bare": (sys.executable, "-P", str(ROOT / "benchmarks" / "bare_mcp.py")),
    "origin": (sys.executable, str(ROOT / "manage.py"), "mcp"),
}
TARGETS = {"initialize": 1.3, "memory": 1.4}
CLIENT = {"name": "benchmark", "version": "1"}
SESSIONS, TURNS, CALLS = 40, 100, 200

Message = dict[str, Any]


class Start(NamedTuple):
    """One start: seconds until the answers, and MB of memory after them."""

    initialize: float
    tools_list: float
    memory: float


class Server:
    """A server process and the pipes to it."""

    def __init__(self, command: tuple[str, ...], home: Path) -> None:
        self.started = time.perf_counter()
        variables = os.environ | {"HOME": str(home / "person"), "ORIGIN_HOME": str(home / "origin")}
        self.process = subprocess.Popen(command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def request(self, method: str, **params: object) -> Message:
        """Send a request and wait for the answer."""
        self._write({"id": 1, "method": method, "params": params})
        assert self.process.stdout
        answer: Message = json.loads(self.process.stdout.readline())
        return answer

    def initialize(self) -> None:
        """Shake hands."""
        self.request("initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo=CLIENT)
        self._write({"method": "notifications/initialized"})

    def _write(self, message: Message) -> None:
        assert self.process.stdin
        self.process.stdin.write(msgspec.json.encode({"jsonrpc": "2.0"} | message) + b"\n")
        self.process.stdin.flush()

    def seconds(self) -> float:
        """Return how long ago the process was started."""
        return time.perf_counter() - self.started

    def memory(self) -> float:
        """Return the megabytes that the process holds."""
        listing = subprocess.run(["ps", "-o", "rss=", "-p", str(self.process.pid)], capture_output=True, check=True)
        return int(listing.stdout) / 1024

    def close(self) -> None:
        """Close stdin and wait for the end."""
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


def start(command: tuple[str, ...], home: Path) -> Start:
    """Start a server, ask it what every client asks first, and end it."""
    server = Server(command, home)
    server.initialize()
    initialized = server.seconds()
    server.request("tools/list")
    found = Start(initialized, server.seconds(), server.memory())
    server.close()
    return found


def calls(home: Path, count: int) -> dict[str, list[float]]:
    """Return how many seconds each of `count` calls of each tool took, the store being in sync."""
    server = Server(SERVERS["origin"], home)
    server.initialize()
    hit = answer_of(server.request("tools/call", name="search", arguments={"query": "grey heron"}))["hits"][0]
    asked: dict[str, Message] = {
        "search": {"query": "grey heron"},
        "timeline": {"since": "2020-01-01"},
        "get": {"id": hit["id"]},
        "sources": {"id": hit["id"]},
    }
    took: dict[str, list[float]] = {name: [] for name in asked}
    for _ in range(count):
        for name, arguments in asked.items():
            begun = time.perf_counter()
            answer = server.request("tools/call", name=name, arguments=arguments)
            took[name].append(time.perf_counter() - begun)
            assert not answer["result"]["isError"], answer
    server.close()
    return took


def answer_of(message: Message) -> Message:
    """Return what a tool's text holds."""
    answer: Message = json.loads(message["result"]["content"][0]["text"])
    return answer


def write_store(home: Path) -> None:
    """Write some sessions and archive them."""
    folder = home / "person" / ".claude" / "projects" / "-w-api"
    folder.mkdir(parents=True)
    for number in range(SESSIONS):
        session = f"5e551011-0000-4000-8000-{number:012x}"
        lines = [msgspec.json.encode(record(session, number, turn)) for turn in range(TURNS)]
        (folder / f"{session}.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    server = Server((sys.executable, str(ROOT / "manage.py"), "sync", "--quiet"), home)
    server.close()


def record(session: str, number: int, turn: int) -> Message:
    """Return one line of an invented session."""
    text = f"In turn {turn} of session {number} the grey heron stood in the water and waited. " * 5
    return {
        "type": "user",
        "message": {"role": "user", "content": text},
        "cwd": "/w/api",
        "sessionId": session,
        "version": "2.1.140",
        "uuid": f"0000e4e1-0000-4000-8000-{number * TURNS + turn:012x}",
        "timestamp": f"2026-05-{number % 28 + 1:02d}T10:{turn // 60:02d}:{turn % 60:02d}.000Z",
    }


def percentile(seconds: list[float], share: float) -> float:
    """Return the milliseconds within which this share of the calls was answered."""
    return sorted(seconds)[min(int(len(seconds) * share), len(seconds) - 1)] * 1000


def main() -> None:
    """Measure, print and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9, help="starts of each server (default 9)")
    parser.add_argument("--calls", type=int, default=CALLS, help=f"calls of each tool (default {CALLS})")
    options = parser.parse_args()
    home = Path(tempfile.mkdtemp(prefix="origin-benchmark-"))
    try:
        write_store(home)
        starts: dict[str, list[Start]] = {name: [] for name in SERVERS}
        for _ in range(options.runs):
            for name, command in SERVERS.items():
                starts[name].append(start(command, home))
        took = calls(home, options.calls)
    finally:
        shutil.rmtree(home)
    show(starts, took)


def show(starts: dict[str, list[Start]], took: dict[str, list[float]]) -> None:
    """Print what was measured, and write it as JSON."""
    medians = {name: Start(*map(statistics.median, zip(*found, strict=True))) for name, found in starts.items()}
    bare, origin = medians["bare"], medians["origin"]
    ratios = {field: getattr(origin, field) / getattr(bare, field) for field in Start._fields}
    print(f"medians of {len(starts['bare'])} starts, in turn\n")
    print(f"{'':<24}{'bare':>10}{'origin':>10}{'ratio':>8}{'target':>8}")
    for field, unit in zip(Start._fields, ("s", "s", "MB"), strict=True):
        target = f"≤ {TARGETS[field]}" if field in TARGETS else ""
        values = f"{getattr(bare, field):>10.3f}{getattr(origin, field):>10.3f}{ratios[field]:>8.2f}{target:>8}"
        print(f"{field.replace('_', '/') + ' (' + unit + ')':<24}{values}")
    percentiles = {name: {"p50": percentile(each, 0.5), "p95": percentile(each, 0.95)} for name, each in took.items()}
    print(f"\n{'ms a call':<24}{'p50':>10}{'p95':>10}")
    for name, found in percentiles.items():
        print(f"{name:<24}{found['p50']:>10.2f}{found['p95']:>10.2f}")
    OUT.parent.mkdir(exist_ok=True)
    written = {
        "starts": {name: [each._asdict() for each in found] for name, found in starts.items()},
        "medians": {name: found._asdict() for name, found in medians.items()},
        "ratios": ratios,
        "targets": TARGETS,
        "milliseconds": percentiles,
    }
    OUT.write_text(json.dumps(written, indent=1) + "\n")
    print(f"\nwritten to {OUT.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
