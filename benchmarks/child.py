"""Runs a process and returns what the operating system says that it used."""

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MANAGE = (sys.executable, str(ROOT / "manage.py"))
# The unit of ru_oublock, and of ru_maxrss where it is not bytes.
_BLOCK, _KIB = 512, 1024


class Used(NamedTuple):
    """What one process used. `written` are bytes that it made the disk write; `memory` is its peak, in MB."""

    cpu: float
    wall: float
    memory: float
    written: int


def run(command: tuple[str, ...], variables: dict[str, str]) -> Used:
    """Run a command to its end, in the checkout, and drop what it prints. Raises `RuntimeError` where it fails."""
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=os.environ | variables, cwd=ROOT, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    unit = 1 if sys.platform == "darwin" else _KIB
    return Used(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * unit / 1e6, usage.ru_oublock * _BLOCK)
