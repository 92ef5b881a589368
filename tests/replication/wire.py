"""A client that talks to `origin mcp` line by line, over real pipes and with a deadline on every read."""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.forked import Forked

ROOT = Path(__file__).resolve().parent.parent.parent
MCP = (str(ROOT / "manage.py"), "mcp")
# Generous: the suite's processes share few cores. Nothing waits so long when all is well.
DEADLINE = 60.0

Message = dict[str, Any]


def environment(store: Path, person: Path, **more: str) -> dict[str, str]:
    """Return the variables of a process that may know only these two directories."""
    kept = {name: os.environ[name] for name in ("PATH", "TMPDIR") if name in os.environ}
    return kept | {"HOME": str(person), "ORIGIN_HOME": str(store), "TZ": "UTC"} | more


class Wire:
    """One server process and the pipes to it; `with` ends it. `answers` are the lines it wrote, still to be read.

    The process is forked where Origin is loaded already, or begins as an agent's does where it is to be `fresh`.
    """

    def __init__(
        self, variables: dict[str, str], *arguments: str, program: tuple[str, ...] = MCP, fresh: bool = False
    ) -> None:
        start = begun if fresh else Forked
        self.process = start(*program, *arguments, env=variables, cwd=Path(variables["HOME"]))
        self.lines: list[bytes] = []
        self.complaints: list[bytes] = []
        self._answers: queue.Queue[bytes] = queue.Queue()
        self._number = 0
        self._readers = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_complaints, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    def _read_answers(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            self._answers.put(line)

    def _read_complaints(self) -> None:
        assert self.process.stderr
        self.complaints.extend(self.process.stderr)

    @property
    def stderr(self) -> str:
        """What the server wrote to stderr so far."""
        return b"".join(self.complaints).decode()

    def write(self, line: bytes) -> None:
        """Write raw bytes to the server."""
        assert self.process.stdin
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def notify(self, method: str) -> None:
        """Send a notification."""
        self.write(json.dumps({"jsonrpc": "2.0", "method": method}).encode() + b"\n")

    def send(self, method: str, params: Message | None = None) -> int:
        """Send a request and return its number."""
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method} | ({"params": params} if params else {})
        self.write(json.dumps(message).encode() + b"\n")
        return self._number

    def receive(self) -> Message:
        """Return the next message, which must be one."""
        message = json.loads(self._answers.get(timeout=DEADLINE))
        assert isinstance(message, dict)
        assert message["jsonrpc"] == "2.0"
        return message

    def request(self, method: str, params: Message | None = None) -> Message:
        """Send a request and return the answer to it."""
        number = self.send(method, params)
        answer = self.receive()
        assert answer["id"] == number
        return answer

    def initialize(self, version: str = "2025-06-18") -> Message:
        """Shake hands and return the server's side of it."""
        client = {"name": "test-client", "version": "1"}
        answer = self.request("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": client})
        self.notify("notifications/initialized")
        result: Message = answer["result"]
        return result

    def call(self, tool: str, arguments: Message | None = None) -> Message:
        """Call a tool and return the result."""
        answer = self.request("tools/call", {"name": tool} | ({} if arguments is None else {"arguments": arguments}))
        result: Message = answer["result"]
        return result

    def ask(self, tool: str, **arguments: object) -> Message:
        """Call a tool and return what its text holds, which must be an answer."""
        result = self.call(tool, arguments)
        assert result["isError"] is False, result
        answer: Message = json.loads(text_of(result))
        return answer

    def close(self) -> float:
        """Close stdin; returns after how many seconds the server had ended."""
        assert self.process.stdin
        started = time.monotonic()
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        seconds = time.monotonic() - started
        for reader in self._readers:
            reader.join(DEADLINE)
        return seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def begun(*arguments: str, env: dict[str, str], cwd: Path) -> subprocess.Popen[bytes]:
    """Start a Python of its own."""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, *arguments], stdin=pipe, stdout=pipe, stderr=pipe, env=env, cwd=cwd)


def text_of(result: Message) -> str:
    """Return the one text of a tool's result."""
    assert "structuredContent" not in result
    (content,) = result["content"]
    assert content["type"] == "text"
    text: str = content["text"]
    return text
