"""However a command ends: one sentence on stderr, an exit code that says what kind of end, and no traceback."""

import os
import signal
import sqlite3
import time
from functools import partial
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from memory.errors import InvalidInput, NotFound
from memory.management.base import StoreCommand, exit_code, sentence
from tests.commands import database_error, origin, started, without_rights_over_files
from tests.conftest import AgentHome, session_uuid, user

# One command that reads and the one that writes; all share what is tested here.
COMMANDS = (("search", "word"), ("sync",))


def one_sentence(text: str) -> bool:
    return text.count("\n") == 1 and text.endswith(".\n") and "Traceback" not in text


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_home_that_cannot_be_made_is_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    done = origin(*command, home=tmp_path / "file" / "origin")

    assert (done.returncode, done.stdout) == (1, "")
    assert one_sentence(done.stderr)
    assert str(tmp_path) in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_home_that_may_only_be_read_is_one_sentence(
    command: tuple[str, ...], store: Path, agent_home: AgentHome
) -> None:
    agent_home.write(session_uuid(1), user(1, "a word", session_uuid(1)))
    folders = (store, store / "raw", store / "keys", store / "locks")
    for path in [*store.rglob("*"), *folders]:
        path.chmod(0o500 if path.is_dir() else 0o400)

    done = origin(*command, home=store, person=agent_home.path, preexec_fn=without_rights_over_files)

    for folder in folders:
        folder.chmod(0o700)
    assert (done.returncode, done.stdout) == (1, "")
    assert one_sentence(done.stderr)
    assert str(store) in done.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_a_store_of_a_newer_origin_is_refused_and_left_as_it_is(command: tuple[str, ...], store: Path) -> None:
    with sqlite3.connect(store / "origin.db") as database:
        database.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '0999_later', '')")
    database.close()
    before = (store / "origin.db").read_bytes()

    done = origin(*command, home=store)

    assert (done.returncode, done.stdout) == (1, "")
    assert one_sentence(done.stderr)
    assert "newer Origin" in done.stderr
    assert (store / "origin.db").read_bytes() == before


def test_a_damaged_database_is_one_sentence(store: Path) -> None:
    (store / "origin.db").write_bytes(b"not a database" * 1000)

    done = origin("search", "word", home=store)

    assert done.returncode == 1
    assert one_sentence(done.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search",),
        ("search", "word", "--limit", "none"),
        ("search", "word", "--limit", "51"),
        ("search", "word", "--since", "when it rained"),
        ("timeline", "--until", "2026-13-01"),
        ("timeline", "--limit", "0"),
        ("show",),
        ("sync", "--source", "nobody"),
        ("status", "--nonsense"),
    ],
    ids=" ".join,
)
def test_what_the_caller_wrote_wrong_is_exit_code_2(arguments: tuple[str, ...], store: Path) -> None:
    done = origin(*arguments, home=store)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr
    assert "Traceback" not in done.stderr


def test_an_unknown_id_is_exit_code_1_with_and_without_json(store: Path) -> None:
    for options in ((), ("--json",)):
        done = origin("show", "claude-code:nothing", *options, home=store)

        assert (done.returncode, done.stdout) == (1, "")
        assert one_sentence(done.stderr)


def test_a_traceback_is_shown_where_it_is_asked_for(store: Path) -> None:
    done = origin("show", "claude-code:nothing", "--traceback", home=store)

    assert done.returncode == 1
    assert "Traceback" in done.stderr


def test_an_error_cannot_steer_the_terminal(store: Path) -> None:
    done = origin("show", "\x1b]0;owned\x07\x9b2Jx", home=store)

    assert done.returncode == 1
    assert "\x1b" not in done.stderr
    assert "\x9b" not in done.stderr


def test_a_reader_that_stops_reading_is_no_error(store: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    agent_home.write(session, *(user(number, "word " * 200, session) for number in range(200)))
    agent_home.sync()
    process = started("manage.py", "timeline", f"claude-code:{session}", home=store, person=agent_home.path)

    process.stdout.close()
    error = process.stderr.read()

    assert (process.wait(60), error) == (141, b"")


def test_an_interrupt_is_one_line_and_exit_code_130(store: Path, agent_home: AgentHome) -> None:
    # The command waits for a lock that this test holds, and is interrupted there. A shell lets what it starts in the
    # background ignore that.
    heed = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    with sqlite3.connect(store / "origin.db", isolation_level=None) as database:
        database.execute("BEGIN IMMEDIATE")
        process = started("manage.py", "sync", home=store, person=agent_home.path, preexec_fn=heed)
        while f"{store}/origin.db" not in open_files(process.pid):
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        time.sleep(0.2)
        database.execute("ROLLBACK")
    out, error = process.communicate(timeout=60)
    database.close()

    assert (process.returncode, out, error) == (130, "", "Stopped.\n")


def open_files(process: int) -> set[str]:
    folder = Path(f"/proc/{process}/fd")
    return {os.readlink(path) for path in folder.iterdir() if path.is_symlink()}


@pytest.mark.parametrize(
    ("error", "code", "says"),
    [
        (NotFound("No such thing."), 1, "No such thing."),
        (InvalidInput("since", "Write a day."), 2, "Write a day."),
        (CommandError("Wrong.", returncode=2), 2, "Wrong."),
        (database_error(sqlite3.SQLITE_FULL), 1, "is full"),
        (database_error(sqlite3.SQLITE_BUSY), 1, "busy for too long"),
        (database_error(sqlite3.SQLITE_CORRUPT), 1, "is damaged"),
        (database_error(sqlite3.SQLITE_READONLY), 1, "cannot be written"),
        (database_error(sqlite3.SQLITE_CANTOPEN), 1, "cannot be opened"),
        (OSError(28, "No space left on device"), 1, "is full"),
        (PermissionError(13, "Permission denied", "/x"), 1, "/x could not be used: Permission denied."),
        (ZeroDivisionError("division by zero"), 1, "did not expect (ZeroDivisionError: division by zero)"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_every_error_has_a_sentence_and_a_code(error: Exception, code: int, says: str) -> None:
    assert says in sentence(error)
    assert sentence(error).endswith(".")
    assert exit_code(error) == code


@pytest.mark.parametrize("command", ["search", "timeline", "show", "sources", "status", "sync", "demo"])
def test_help_shows_the_command_s_own_options_and_ends_with_an_example(command: str, tmp_path: Path) -> None:
    done = origin(command, "--help", home=tmp_path / "origin")

    assert done.returncode == 0
    assert "--json" in done.stdout
    assert "--settings" not in done.stdout
    assert done.stdout.splitlines()[-2] == "example:"
    assert done.stdout.splitlines()[-1].startswith(f"  manage.py {command}")
    assert not (tmp_path / "origin").exists()


def test_a_command_asks_for_no_system_checks() -> None:
    assert StoreCommand.requires_system_checks == []
