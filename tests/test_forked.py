"""A forked process is what one begun afresh is, or the tests that fork show nothing about Origin's processes."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, environment, origin, started

TELL = """
import django, json, os, signal, sys, time
django.setup()
from django.conf import settings
from django.db import connection
print(json.dumps({
    "arguments": sys.argv, "folder": os.getcwd(), "environment": dict(os.environ), "zone": time.tzname,
    "home": [str(settings.ORIGIN_HOME), str(connection.settings_dict["NAME"])], "said": sys.stdin.read(),
    "signals": {number: str(signal.getsignal(number)).split(" at ")[0] for number in signal.valid_signals()},
    "files": sorted(os.readlink(f"/proc/self/fd/{name}").split(":")[0] for name in ("0", "1", "2")),
    "open": len(os.listdir("/proc/self/fd")), "streams": [str(each) for each in (sys.stdin, sys.stdout, sys.stderr)],
    "first": sys.path[0],
}))
"""
ENDS = {
    "import atexit; atexit.register(print, 'last words')": 0,
    "import sys; sys.exit(3)": 3,
    "import sys; sys.exit('one sentence')": 1,
    "raise ZeroDivisionError": 1,
    "import os, signal; os.kill(os.getpid(), signal.SIGKILL)": -signal.SIGKILL,
    "import threading; threading.Timer(0.05, print, ['a thread']).start()": 0,
}


def fresh(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    variables = environment(home, home.parent)
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=variables, input="", capture_output=True, text=True
    )


def test_it_finds_what_one_begun_afresh_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SETTINGS_MODULE", "origin_site.settings")

    out, errors = started("-c", TELL, "more", home=tmp_path / "origin", person=tmp_path).communicate()

    assert errors == ""
    found = json.loads(out)
    assert found == json.loads(fresh("-c", TELL, "more", home=tmp_path / "origin").stdout)
    assert found["home"][1] == str(tmp_path / "origin" / "origin.db")


@pytest.mark.parametrize(("code", "expected"), ENDS.items())
def test_it_ends_as_one_begun_afresh(code: str, expected: int, tmp_path: Path) -> None:
    process = started("-c", code, home=tmp_path / "origin", person=tmp_path)
    out, errors = process.communicate()
    done = fresh("-c", code, home=tmp_path / "origin")

    assert (process.returncode, out) == (expected, done.stdout)
    assert done.returncode == expected
    assert errors.splitlines()[-1:] == done.stderr.splitlines()[-1:]


def test_a_command_prints_what_it_prints_when_begun_afresh(tmp_path: Path) -> None:
    home = tmp_path / "origin"
    for arguments in (["show"], ["sync", "--help"], ["nonsense"], ["show", "claude-code:nothing"]):
        forked, begun = origin(*arguments, home=home), fresh("manage.py", *arguments, home=home)
        assert (forked.returncode, forked.stdout, forked.stderr) == (begun.returncode, begun.stdout, begun.stderr)
