"""Running Origin's commands in tests: as a real process, or in this one."""

import io
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import OperationalError

from tests.forked import Forked

ROOT = Path(__file__).resolve().parent.parent


def environment(home: Path, person: Path) -> dict[str, str]:
    """Return the variables of a process whose store and whose person's home are these."""
    # Without bytecode every process would compile Origin anew.
    left_out = ("CLAUDE", "COVERAGE", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return kept | {"ORIGIN_HOME": str(home), "HOME": str(person), "TZ": "UTC", "COLUMNS": "80"}


def origin(
    *arguments: str, home: Path, person: Path | None = None, preexec_fn: Callable[[], object] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one command in a process of its own."""
    process = started("manage.py", *arguments, home=home, person=person or home.parent, preexec_fn=preexec_fn)
    out, errors = process.communicate()
    return subprocess.CompletedProcess(arguments, process.wait(), out, errors)


def started(*arguments: str, home: Path, person: Path, preexec_fn: Callable[[], object] | None = None) -> Forked:
    """Start `python` with these arguments in a process of its own, which has loaded Origin already."""
    return Forked(*arguments, env=environment(home, person), preexec_fn=preexec_fn)


def printed(name: str, *arguments: str) -> str:
    """Run one command in this process and return what it prints."""
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def printed_json(name: str, *arguments: str) -> Any:
    """Run one command with --json in this process and return the document it prints."""
    return json.loads(printed(name, *arguments, "--json"))


def without_rights_over_files() -> None:
    """For `preexec_fn`: root, too, obeys the permissions of files, for it loses CAP_DAC_OVERRIDE and _READ_SEARCH."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    if not hasattr(libc, "capset"):
        return
    # struct __user_cap_header_struct of version 3, and two of __user_cap_data_struct: effective, permitted, inheritable
    header, rights = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    libc.capget(header, rights)
    for kind in range(3):
        rights[kind] &= ~(1 << 1 | 1 << 2)
    assert libc.capset(header, rights) == 0


def database_error(code: int) -> OperationalError:
    """Return the error that Django raises for a result code of SQLite's."""
    cause = sqlite3.OperationalError("internal words about rows")
    cause.sqlite_errorcode = code
    error = OperationalError("internal words about rows")
    error.__cause__ = cause
    return error
