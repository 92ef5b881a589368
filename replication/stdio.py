"""MCP over this process's stdin and stdout: answers the first requests before Django or the store are opened."""

import argparse
import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import tzinfo
from functools import partial
from types import FrameType
from typing import Any, NoReturn

import anyio
from asgiref.sync import sync_to_async
from mcp.server.stdio import stdio_server

from memory.scope import Scope
from memory.times import process_zone
from replication.background import BackgroundSync
from replication.mcp_server import Context, build_server, listed

# What a client asks first goes before everything the server does of its own accord. Long enough for a busy machine;
# a client that lists or calls tools sooner does not wait for it.
HEAD_START_SECONDS = 0.5
# The tools that may cite what was said a moment ago.
WRITES = frozenset({"remember", "correct", "forget"})


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `origin mcp` takes."""
    parser.add_argument(
        "--project",
        action="append",
        default=[],
        metavar="NAME",
        type=_project,
        help="show and accept only this project; may be given several times",
    )
    parser.add_argument("--read-only", action="store_true", help="refuse every tool that writes")


def _project(name: str) -> str:
    # The empty name is that of everything outside a project, which a scope never holds.
    if not name.strip():
        raise argparse.ArgumentTypeError("a project has a name")
    return name


def scope_of(projects: Sequence[str], *, read_only: bool) -> Scope:
    """Return what the flags let an agent see and do."""
    return Scope(projects=tuple(projects), may_write=not read_only, may_forget=not read_only)


def serve_arguments(arguments: Sequence[str]) -> None:
    """Serve as the arguments say; returns where they hold more, which Django knows or refuses."""
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    add_arguments(parser)
    try:
        options, others = parser.parse_known_args(arguments)
    except argparse.ArgumentError:
        return
    if not others:
        serve(scope_of(options.project, read_only=options.read_only))


def serve(scope: Scope) -> NoReturn:
    """Serve until stdin closes, then end the process.

    It is ended outright: threads that still read stdin or answer a call nobody waits for must not hold it up, and all
    that is written is safe against that.
    """
    code = 0
    try:
        anyio.run(_serve, scope, process_zone())
    except* BrokenPipeError:
        pass  # the client is gone
    except* Exception:
        traceback.print_exc()
        code = 1
    sys.stderr.flush()
    os._exit(code)


async def _serve(scope: Scope, zone: tzinfo) -> None:
    async with stdio_server() as (requests, answers), anyio.create_task_group() as tasks:
        sync = BackgroundSync(tasks)
        _end_on_signals(sync)

        async def run(name: str, arguments: dict[str, Any], context: Context) -> str:
            is_read = True
            if name in WRITES:
                is_read = await sync.read_now()
            else:
                await sync.caught_up()
            return await sync_to_async(answer)(name, arguments, scope, zone, client_of(context), is_read=is_read)

        server = build_server(run)
        # What a tool prints is not protocol. stdio_server moves descriptor 1 away, but not what Python holds back.
        with redirect_stdout(sys.stderr):
            tasks.start_soon(_prepare, sync)
            await server.run(requests, answers, server.create_initialization_options())
        sys.stdout.flush()
        tasks.cancel_scope.cancel()


async def _prepare(sync: BackgroundSync) -> None:
    """Do ahead of the first call what it would wait for."""
    await anyio.sleep(HEAD_START_SECONDS)
    try:
        await sync_to_async(listed)()
    except Exception:
        traceback.print_exc()  # the client's own request fails the same way, and is told
    # `cli` turned it off while modules load. They stay, so no later collection need look at them.
    gc.freeze()
    gc.enable()
    sync.start()


def client_of(context: Context) -> str:
    """Return what the client calls itself, in either era of the protocol."""
    params = context.session.client_params
    return params.client_info.name if params else ""


def answer(
    name: str, arguments: dict[str, Any], scope: Scope, zone: tzinfo, client: str = "", *, is_read: bool = True
) -> str:
    """Answer one call from this machine's store, on the one thread that has the connection.

    `is_read` says that everything said until now was read before.
    """
    from django.db import close_old_connections

    from memory.freshness import unread
    from memory.records.identity import agent
    from memory.store import open_store
    from memory.tools import call

    try:
        # Each time: another process may have updated the store, or repaired it.
        open_store()
        return call(name, arguments, scope, zone, agent(client, "mcp"), () if is_read else unread() or ("all sources",))
    except Exception:
        # What failed may be the connection: the next call gets another.
        close_old_connections()
        raise


def _end_on_signals(sync: BackgroundSync) -> None:
    """End at once, and the sync too. The usual way out would wait for the thread that reads stdin."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(_end, sync))


def _end(sync: BackgroundSync, number: int, _: FrameType | None) -> NoReturn:
    sync.stop()
    os._exit(128 + number)
