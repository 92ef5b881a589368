"""A process that has loaded Origin and forks for every order, so that a test's process starts without loading it.

The child runs a program as `python` would: its arguments, environment, directory and pipes are its own, the settings
are read again, and it ends as an interpreter ends. Only what loading itself does needs a process begun afresh.
"""

import atexit
import contextlib
import gc
import importlib
import os
import pickle
import runpy
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path


@dataclass(frozen=True)
class Order:
    """What to run: `python` and these arguments, which begin with a file or with `-c` and code."""

    arguments: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    before: Callable[[], object] | None


def load() -> None:
    """Import what the commands import."""
    import django
    from django.core.management import get_commands, load_command_class

    from origin_site.cli import PACKAGES

    django.setup()
    for name, package in get_commands().items():
        if package in PACKAGES:
            load_command_class(str(package), name)
    for module in ("rich.progress", "memory.tools", "replication.mcp_server", "mcp.server.stdio"):
        importlib.import_module(module)


def serve(orders: socket.socket) -> Order:
    """Fork for each order until the tests are gone; return, in a child only, what it was forked for."""
    stream = orders.makefile("rb")
    running: dict[int, int] = {}
    signal.signal(signal.SIGCHLD, partial(_tell_of_the_dead, running))
    orders.sendall(b"!")
    while True:
        begun, descriptors, _, _ = socket.recv_fds(orders, 1, 4)
        if not begun:
            os._exit(0)
        order: Order = pickle.load(stream)
        *standard, status = descriptors
        # A child may be dead before its number is known here.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
        child = os.fork()
        if child == 0:
            _take_over(standard, [orders.detach(), status, *running.values()])
            return order
        running[child] = status
        os.write(status, struct.pack("i", child))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
        for descriptor in standard:
            os.close(descriptor)


def _tell_of_the_dead(running: dict[int, int], *_: object) -> None:
    while running:
        child, ended = os.waitpid(-1, os.WNOHANG)
        if not child:
            return
        status = running.pop(child)
        # Who started it may not wait for it.
        with contextlib.suppress(BrokenPipeError):
            os.write(status, struct.pack("i", os.waitstatus_to_exitcode(ended)))
        os.close(status)


def _take_over(standard: list[int], others: list[int]) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGCHLD})
    for target, descriptor in enumerate(standard):
        os.dup2(descriptor, target)
    for descriptor in [*standard, *others]:
        os.close(descriptor)


def become(order: Order) -> None:
    """Let this process be as if it had been started for an order."""
    os.chdir(order.folder)
    os.environ.clear()
    os.environ.update(order.environment)
    time.tzset()
    if order.before:
        order.before()
    _read_settings()
    gc.enable()


def _read_settings() -> None:
    from django.conf import settings
    from django.db import connection

    from origin_site import settings as module

    importlib.reload(module)
    for name in filter(str.isupper, dir(module)):
        setattr(settings, name, getattr(module, name))
    connection.settings_dict["NAME"] = module.DATABASES["default"]["NAME"]


def run(arguments: tuple[str, ...], codes: list[int]) -> None:
    """Run a program as `__main__`, and add the code it ends with to `codes`, unless it was interrupted."""
    sys.argv = list(arguments)
    try:
        if arguments[0] == "-c":
            sys.argv.pop(1)
            sys.path[0] = ""
            exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_path(arguments[0], run_name="__main__")
        codes.append(0)
    except SystemExit as end:
        codes.append(end.code if isinstance(end.code, int) else 0 if end.code is None else 1)
        raise


def leave(codes: list[int]) -> None:
    """End the process where an interpreter would next free all it holds, which copies what it shares with others."""
    sys.stdout.flush()
    sys.stderr.flush()
    if codes:
        os._exit(codes[0])


def main(orders: int) -> None:
    """Load, serve, and in a child do what was ordered."""
    codes: list[int] = []
    # What is registered first is called last.
    atexit.register(leave, codes)
    # Whoever stops the tests on a terminal stops this process by closing the socket.
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    load()
    gc.disable()
    gc.freeze()
    order = serve(socket.socket(fileno=orders))
    signal.signal(signal.SIGINT, interrupted)
    become(order)
    run(order.arguments, codes)


if __name__ == "__main__":
    from tests import zygote

    # Orders are pickled with the class of that name, not with this module's own.
    zygote.main(int(sys.argv[1]))
