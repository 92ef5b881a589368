"""`sync` on a command line: what it prints, how it ends, and two of them at once."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import ROOT, environment, origin, started, without_rights_over_files
from tests.conftest import AgentHome, assistant, session_uuid, user

ONE = session_uuid(1)


def test_one_line_says_what_was_done_for_a_source(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))

    done = origin("sync", home=store, person=agent_home.path)

    heading, row, hint = done.stdout.splitlines()
    assert (done.returncode, done.stderr) == (0, "")
    assert heading.split() == ["source", "files", "read", "new", "events", "malformed", "bytes", "time"]
    assert row.split()[:5] == ["claude-code", "1", "1", "2", "0"]
    assert hint.endswith("manage.py search WORDS")
    assert "\x1b" not in done.stdout


def test_a_second_sync_finds_nothing_new(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))
    origin("sync", home=store, person=agent_home.path)

    again = json.loads(origin("sync", "--json", home=store, person=agent_home.path).stdout)

    assert again["sources"]["claude-code"]["events"] == 0
    assert again["sources"]["claude-code"]["files"] == 1


def test_json_is_one_document(store: Path, agent_home: AgentHome) -> None:
    log = agent_home.write(ONE, user(1, "Question", ONE))

    done = origin("sync", "--json", home=store, person=agent_home.path)

    did = json.loads(done.stdout)["sources"]["claude-code"]
    assert (did["files"], did["read"], did["events"], did["malformed"]) == (1, 1, 1, 0)
    assert (did["bytes"], did["failed"], did["problems"]) == (log.stat().st_size, "", [])


def test_a_machine_without_logs_is_told_where_it_was_looked_and_offered_the_demo(tmp_path: Path) -> None:
    done = origin("sync", home=tmp_path / "origin", person=tmp_path)

    assert done.returncode == 0
    assert f"{tmp_path}/.claude/projects  (Claude Code)" in done.stdout
    assert done.stdout.endswith("manage.py demo\n")


def test_the_first_sync_makes_the_store_private(tmp_path: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))

    origin("sync", home=tmp_path / "origin", person=agent_home.path)

    open_to_others = [path for path in (tmp_path / "origin").rglob("*") if path.stat().st_mode & 0o077]
    assert (tmp_path / "origin" / "origin.db").exists()
    assert open_to_others == []


def test_a_dry_run_says_what_there_is_to_read_and_archives_nothing(store: Path, agent_home: AgentHome) -> None:
    log = agent_home.write(ONE, user(1, "Question", ONE))

    plan = json.loads(origin("sync", "--dry-run", "--json", home=store, person=agent_home.path).stdout)
    page = origin("sync", "--dry-run", home=store, person=agent_home.path).stdout

    assert plan["sources"]["claude-code"]["read"] == 1
    assert plan["sources"]["claude-code"]["bytes"] == log.stat().st_size
    assert page.splitlines()[0].split() == ["source", "files", "to", "read", "bytes"]
    assert not list((store / "raw").rglob("*.zst"))


def test_quiet_prints_nothing(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))

    done = origin("sync", "--quiet", home=store, person=agent_home.path)

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_malformed_lines_are_pointed_out(store: Path, agent_home: AgentHome) -> None:
    with agent_home.write(ONE, user(1, "Question", ONE)).open("ab") as file:
        file.write(b"not json\n")

    done = origin("sync", home=store, person=agent_home.path)

    assert done.returncode == 0
    assert "1 line was malformed;" in done.stdout


def test_an_unknown_source_is_a_usage_error_that_lists_the_known(store: Path) -> None:
    done = origin("sync", "--source", "nobody", home=store)

    assert done.returncode == 2
    assert "claude-code" in done.stderr


def test_a_source_that_cannot_be_read_fails_the_run_after_printing_the_rest(store: Path, agent_home: AgentHome) -> None:
    folder = agent_home.write(ONE, user(1, "Question", ONE)).parent.parent
    folder.chmod(0)

    done = origin("sync", home=store, person=agent_home.path, preexec_fn=without_rights_over_files)

    folder.chmod(0o700)
    assert done.returncode == 1
    assert done.stdout.startswith("source")
    assert done.stderr == f"claude-code: {folder} could not be read: Permission denied.\n"


def test_a_file_that_cannot_be_read_is_one_line_and_no_failure(store: Path, agent_home: AgentHome) -> None:
    locked = agent_home.write(ONE, user(1, "Question", ONE))
    agent_home.write(session_uuid(2), user(2, "Other", session_uuid(2)))
    locked.chmod(0)

    done = origin("sync", home=store, person=agent_home.path, preexec_fn=without_rights_over_files)

    assert done.returncode == 0
    assert done.stderr == f"claude-code: {locked} could not be read: Permission denied.\n"
    assert done.stdout.splitlines()[1].split()[:4] == ["claude-code", "2", "2", "1"]


def test_two_at_once_archive_everything_once(tmp_path: Path, agent_home: AgentHome) -> None:
    for number in range(20):
        session = session_uuid(number)
        lines = (user(1000 * number + line, f"Question {line}", session) for line in range(50))
        agent_home.write(session, *lines)
    home = tmp_path / "origin"
    both = [started("manage.py", "sync", "--json", home=home, person=agent_home.path) for _ in range(2)]

    reports = [json.loads(process.communicate(timeout=60)[0]) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert sum(report["sources"]["claude-code"]["events"] for report in reports) == 1000
    status = json.loads(origin("status", "--json", home=home).stdout)
    assert status["sources"][0]["events"] == 1000


def test_a_terminal_sees_progress_and_the_table(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))

    shown = on_a_terminal("sync", home=store, person=agent_home.path)

    assert "Archiving" in shown
    assert "new events" in shown


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_quiet_and_json_keep_to_themselves_on_a_terminal(option: str, store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))

    shown = on_a_terminal("sync", option, home=store, person=agent_home.path)

    assert "new events" not in shown


def on_a_terminal(*arguments: str, home: Path, person: Path) -> str:
    """Run a command on a terminal of its own and return all that it shows there."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=environment(home, person) | {"TERM": "xterm-256color"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:
        # Linux says so where the other side is closed.
        pass
    os.close(ours)
    assert process.wait(60) == 0
    return shown.decode()
