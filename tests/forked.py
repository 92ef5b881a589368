"""A process of Origin's that is forked where Origin is loaded already; see `tests/zygote.py`."""

import os
import pickle
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Timer

from tests.zygote import Order

ROOT = Path(__file__).resolve().parent.parent


@cache
def _zygote() -> socket.socket:
    ours, theirs = socket.socketpair()
    # Its streams are pipes, as those of its children will be: Python asks only once what they are.
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.zygote", str(theirs.fileno())],
        cwd=ROOT,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "origin_site.settings", "PYTHONDONTWRITEBYTECODE": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=[theirs.fileno()],
        text=True,
    )
    theirs.close()
    if not ours.recv(1):
        raise RuntimeError(process.communicate()[1])
    return ours


class Forked:
    """As much of `subprocess.Popen` as tests need, with a pipe to each of stdin, stdout and stderr."""

    def __init__(
        self,
        *arguments: str,
        env: dict[str, str],
        cwd: Path = ROOT,
        preexec_fn: Callable[[], object] | None = None,
    ) -> None:
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        self.stdin = os.fdopen(pipes[0][1], "wb")
        self.stdout, self.stderr = (os.fdopen(pipe[0], "rb") for pipe in pipes[1:])
        self._status, status = socket.socketpair()
        socket.send_fds(_zygote(), [b"!"], [*theirs, status.fileno()])
        _zygote().sendall(pickle.dumps(Order(arguments, env, cwd, preexec_fn)))
        for descriptor in theirs:
            os.close(descriptor)
        status.close()
        self.pid = self._told()
        self.returncode: int | None = None

    def _told(self) -> int:
        (number,) = struct.unpack("i", self._status.recv(4))
        return int(number)

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the process runs."""
        if self.returncode is None and select.select([self._status], [], [], 0)[0]:
            self.returncode = self._told()
            self._status.close()
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """Return the exit code; raises `subprocess.TimeoutExpired`."""
        if self.returncode is None and not select.select([self._status], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(str(self.pid), timeout)
        code = self.poll()
        assert code is not None
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def communicate(self, timeout: float = 60) -> tuple[str, str]:
        """Return all that the process writes to stdout and to stderr until it ends; after `timeout` it is killed."""
        self.stdin.close()
        timer = Timer(timeout, self.send_signal, [signal.SIGKILL])
        timer.start()
        with ThreadPoolExecutor(2) as readers, self.stdout, self.stderr:
            out, errors = readers.map(lambda pipe: pipe.read().decode(), (self.stdout, self.stderr))
        self.wait()
        timer.cancel()
        return out, errors
