"""A process that has loaded Origin and forks for every order, so that a test's process starts without loading it.

The child runs a program as `python` would: its arguments, environment, directory and pipes are its own, the settings
are read again, and it ends as an interpreter ends. Only what loading itself does needs a process begun afresh.
"""

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
    orders.sendall(b"!")
    stream = orders.makefile("rb")
    while True:
        begun, descriptors, _, _ = socket.recv_fds(orders, 1, 4)
        if not begun:
            os._exit(0)
        order: Order = pickle.load(stream)
        if os.fork() == 0 and _is_the_child(descriptors):
            os.close(orders.detach())
            return order
        for descriptor in descriptors:
            os.close(descriptor)


def _is_the_child(descriptors: list[int]) -> bool:
    """Fork once more, and stay behind only to tell how the child ends."""
    *standard, status = descriptors
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    child = os.fork()
    if child == 0:
        for target, descriptor in enumerate(standard):
            os.dup2(descriptor, target)
    for descriptor in standard:
        os.close(descriptor)
    if child == 0:
        os.close(status)
        return True
    os.write(status, struct.pack("i", child))
    _, ended = os.waitpid(child, 0)
    os.write(status, struct.pack("i", os.waitstatus_to_exitcode(ended)))
    os._exit(0)


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


def run(arguments: tuple[str, ...]) -> None:
    """Run a program as `__main__`."""
    sys.argv = list(arguments)
    if arguments[0] == "-c":
        sys.argv.pop(1)
        sys.path[0] = ""
        exec(compile(arguments[1], "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    # Whoever stops the tests on a terminal stops this process by closing the socket; the dead are not waited for.
    interrupted = signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    load()
    gc.disable()
    gc.freeze()
    from tests import zygote

    # Orders are pickled with the class of that name, not with this module's own.
    order = zygote.serve(socket.socket(fileno=int(sys.argv[1])))
    signal.signal(signal.SIGINT, interrupted)
    become(order)
    run(order.arguments)
