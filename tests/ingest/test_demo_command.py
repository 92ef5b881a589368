"""`demo` gives a newcomer something to search, and touches nothing of the person's."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, environment, origin
from tests.forked import Forked


@pytest.fixture
def person(tmp_path: Path) -> Path:
    """A person whose own logs, wherever they lie, would make sync fail."""
    path = tmp_path / "person"
    (path / ".claude" / "projects" / "-own").mkdir(parents=True)
    (path / ".claude" / "projects" / "-own" / "own.jsonl").write_text('{"type":"user","message":{"content":"mine"}}\n')
    return path


def run(line: str, home: Path, person: Path) -> str:
    """Run a line as a shell does, but fork where it starts Origin."""
    words = shlex.split(line)
    variables = environment(home, person)
    while "=" in words[0]:
        name, _, variables[name] = words.pop(0).partition("=")
    # Printed relative to the checkout where it lies in it.
    assert str(ROOT / words.pop(0)) == sys.executable, line
    process = Forked(*words, env=variables)
    out, errors = process.communicate()
    assert (process.returncode, errors) == (0, "")
    return out


def test_every_command_it_prints_works_and_the_last_deletes_it_all(tmp_path: Path, person: Path) -> None:
    home = tmp_path / "own"
    page = run(f"TMPDIR={tmp_path} {sys.executable} manage.py demo", home, person)
    lines = [line.strip() for line in page.splitlines() if line.startswith("  ")]

    search, chinese, timeline, show, sources, delete = lines
    assert "because it is one service less" in run(search, home, person)
    assert "备份" in run(chinese, home, person)
    assert run(timeline, home, person).count("claude-code:") == 7  # six sessions and the line about freshness
    assert "claude --resume" in run(show, home, person)
    assert "SKIP LOCKED" in run(sources, home, person)
    assert "Nothing within these filters holds 'mine'." in run(
        search.replace("decision postgres", "mine"), home, person
    )
    subprocess.run(shlex.split(delete), check=True)
    assert not list(tmp_path.glob("origin-demo-*"))


def test_the_person_s_own_store_and_logs_are_not_touched(tmp_path: Path, person: Path) -> None:
    own = environment(tmp_path / "own", person) | {
        "CLAUDE_CONFIG_DIR": str(person / ".claude"),
        "TMPDIR": str(tmp_path),
    }
    before = sorted(path.stat().st_atime_ns for path in person.rglob("*.jsonl"))

    out, _ = Forked("manage.py", "demo", "--json", env=own).communicate()

    home = Path(json.loads(out)["home"])
    status = json.loads(origin("status", "--json", home=home).stdout)
    assert (status["sources"][0]["files"], status["sources"][0]["malformed"]) == (6, 0)
    assert not (tmp_path / "own").exists()
    assert sorted(path.stat().st_atime_ns for path in person.rglob("*.jsonl")) == before
