"""Running Origin's commands in tests: as a real process, or in this one."""

import io
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db import OperationalError

ROOT = Path(__file__).resolve().parent.parent


def environment(home: Path, person: Path) -> dict[str, str]:
    """Return the variables of a process whose store and whose person's home are these."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "COVERAGE"))}
    return kept | {"ORIGIN_HOME": str(home), "HOME": str(person), "TZ": "UTC", "COLUMNS": "80"}


def origin(*arguments: str, home: Path, person: Path | None = None, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run one command in a process of its own."""
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(home, person or home.parent),
        capture_output=True,
        text=True,
        timeout=60,
        **options,
    )


def printed(name: str, *arguments: str) -> str:
    """Run one command in this process and return what it prints."""
    out = io.StringIO()
    call_command(name, *arguments, stdout=out)
    return out.getvalue()


def printed_json(name: str, *arguments: str) -> Any:
    """Run one command with --json in this process and return the document it prints."""
    return json.loads(printed(name, *arguments, "--json"))


def without_rights_over_files() -> None:
    """For `preexec_fn`: root, too, obeys the permissions of files (prctl PR_CAPBSET_DROP of the two DAC rights)."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for right in (1, 2):
        libc.prctl(24, right, 0, 0, 0)


def database_error(code: int) -> OperationalError:
    """Return the error that Django raises for a result code of SQLite's."""
    cause = sqlite3.OperationalError("internal words about rows")
    cause.sqlite_errorcode = code
    error = OperationalError("internal words about rows")
    error.__cause__ = cause
    return error
