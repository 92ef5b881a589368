"""A hub in a process of its own: real gunicorn on a free port, a home of its own, and tokens."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ROOT, environment, origin


@dataclass
class Answer:
    """What a hub said."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


@dataclass
class Hub:
    """A running hub; `person` is the home of whoever uses that machine."""

    home: Path
    person: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        command = [sys.executable, "manage.py", "serve", "--listen", f"127.0.0.1:{self.port}"]
        log = (self.home.parent / "hub.log").open("ab")
        self.process = subprocess.Popen(command, cwd=ROOT, env=environment(self.home, self.person), stderr=log)
        for _ in range(400):
            try:
                self.ask("GET", "/healthz")
            except (urllib.error.URLError, ConnectionError):
                assert self.process.poll() is None, (self.home.parent / "hub.log").read_text()
                time.sleep(0.05)
            else:
                return
        raise AssertionError("the hub did not start")

    def stop(self, *, kill: bool = False) -> None:
        """Stop it, in order or at once."""
        assert self.process is not None
        if kill:
            subprocess.run(["pkill", "-KILL", "-P", str(self.process.pid)], check=False)
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait(20)

    def token(self, name: str, *scopes: str) -> str:
        """Return a token of this name, made on first use."""
        if name not in self.tokens:
            options = [part for scope in scopes for part in ("--scope", scope)]
            made = origin("token", "--json", "create", name, *options, home=self.home, person=self.person)
            assert made.returncode == 0, made.stderr
            self.tokens[name] = json.loads(made.stdout)["token"]
        return self.tokens[name]

    def ask(self, method: str, path: str, body: object = None, *, token: str = "", **headers: str) -> Answer:
        """Send one request; a dictionary goes as JSON, bytes as they are."""
        data = json.dumps(body).encode() if isinstance(body, dict | list) else body
        assert data is None or isinstance(data, bytes)
        request = urllib.request.Request(self.url + path, data=data, method=method)
        for name, value in {"Content-Type": "application/json"}.items() if data is not None else ():
            request.add_header(name, value)
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        for name, value in headers.items():
            request.add_header(name.replace("_", "-"), value)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return Answer(answer.status, dict(answer.headers), answer.read())
        except urllib.error.HTTPError as error:
            return Answer(error.code, dict(error.headers), error.read())


def free_port() -> int:
    """Return a port nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hub]:
    """One hub for all tests of a module."""
    base = tmp_path_factory.mktemp("hub")
    (base / "person").mkdir()
    running = Hub(base / "origin", base / "person", free_port())
    os.environ.pop("ORIGIN_PUBLIC_URL", None)
    running.start()
    yield running
    running.stop()
