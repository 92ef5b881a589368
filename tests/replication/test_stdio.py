"""`origin mcp` as a process: what reaches the wire, what it survives, and what it does before it answers and ends."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import CommandError

from memory.scope import EVERYTHING, Scope
from replication import stdio
from replication.management.commands.mcp import Command
from tests.replication.conftest import Archived
from tests.replication.wire import ROOT, Wire, environment, text_of

TOOLS = ["search", "timeline", "get", "sources", "remember", "correct", "forget"]
# What a test server does instead of answering from the store; `serve` then serves as ever, without a sync.
SERVE = """
import os, subprocess, sys, time
from memory.scope import EVERYTHING
from replication import stdio
stdio.BackgroundSync.start = lambda self: None
def answer(name, arguments, scope, zone, *_, **__):
    {body}
stdio.answer = answer
stdio.serve(EVERYTHING)
"""


def server_that(body: str, variables: dict[str, str]) -> Wire:
    """Start a server whose tools run `body`."""
    variables = variables | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "origin_site.settings"}
    return Wire(variables, program=("-c", SERVE.format(body=body)))


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    """A person without logs and a home that is not there yet."""
    (tmp_path / "person").mkdir()
    return environment(tmp_path / "origin", tmp_path / "person")


@pytest.fixture(scope="module")
def server(archived: Archived) -> Iterator[Wire]:
    """A server over the archived sessions, for tests that only ask."""
    with Wire(environment(archived.store, archived.person), fresh=True) as wire:
        wire.initialize()
        yield wire


def test_the_server_says_who_it_is_and_what_it_is_for(server: Wire) -> None:
    said = json.loads(server.lines[0])["result"]

    assert said["protocolVersion"] == "2025-06-18"
    assert said["serverInfo"]["name"] == "origin"
    assert said["serverInfo"]["version"]
    assert "Search before you ask" in said["instructions"]
    assert set(said["capabilities"]) == {"tools"}


def test_every_tool_answers_from_the_store(server: Wire) -> None:
    found = server.ask("search", query="heron database")
    event = found["hits"][0]["id"]

    sessions = server.ask("timeline", since="2026-05-01")["sessions"]
    shown = server.ask("get", id=event)["event"]
    (line,) = server.ask("sources", id=event)["lines"]

    assert [tool["name"] for tool in server.request("tools/list")["result"]["tools"]] == TOOLS
    assert len(sessions) == 3
    assert shown["text"] == "Which database shall the heron service use?"
    assert json.loads(line["text"])["message"]["content"] == shown["text"]


def test_every_answer_says_how_fresh_it_is(server: Wire) -> None:
    event = server.ask("search", query="heron")["hits"][0]["id"]
    answers = [
        server.ask("search", query="heron"),
        server.ask("search", query="nothingholdsthis"),
        server.ask("timeline"),
        server.ask("get", id=event),
        server.ask("sources", id=event),
    ]

    assert all("% indexed, " in answer["footer"]["freshness"]["claude-code"] for answer in answers)


def test_a_client_that_asks_for_resources_is_told_there_are_none_and_goes_on(server: Wire) -> None:
    for method in ("resources/list", "resources/templates/list", "prompts/list"):
        assert server.request(method)["error"]["code"] == -32601

    assert server.ask("search", query="heron")["hits"]


def test_mistakes_in_a_call_are_told_to_the_agent(server: Wire) -> None:
    mistaken = [
        server.call("search", {"limit": "many"}),
        server.call("search", {"colour": "red"}),
        server.call("search", {"limit": 0}),
        server.call("search", {"max_tokens": 1}),
        server.call("search", {"since": "a while ago"}),
        server.call("search", {"cursor": "zzz"}),
        server.call("get"),
        server.call("get", {"id": "claude-code:none"}),
        server.call("sources", {"id": "claude-code:none"}),
        server.call("timeline", {"session": "claude-code:none"}),
    ]

    assert all(result["isError"] for result in mistaken)
    assert all(text_of(result).endswith(".") for result in mistaken)
    assert "limit" in text_of(mistaken[0])
    assert "colour" in text_of(mistaken[1])


def test_an_unknown_tool_and_arguments_of_another_shape_are_errors_of_the_protocol(server: Wire) -> None:
    unknown = server.request("tools/call", {"name": "nope", "arguments": {}})
    shapeless = server.request("tools/call", {"name": "search", "arguments": [1]})

    assert unknown["error"]["code"] == -32602
    assert "nope" in unknown["error"]["message"]
    assert shapeless["error"]["code"] == -32602


def test_null_arguments_and_missing_ones_are_the_same(server: Wire) -> None:
    calls = [{"since": None, "project": None, "cursor": None, "max_tokens": None}, {}, None]

    assert len({text_of(server.call("timeline", arguments)) for arguments in calls}) == 1


def test_what_is_no_json_or_no_request_does_not_end_the_server(server: Wire) -> None:
    for line in (b"{not json\n", b"\xff\xfe\x00\n", b"[]\n", b"null\n", b"\n", b'{"jsonrpc":"2.0"}\n', b'"x"\n'):
        server.write(line)

    number = server.send("ping")
    answers = [server.receive()]
    while answers[-1].get("id") != number:
        answers.append(server.receive())

    assert answers[-1]["result"] == {}


def test_many_calls_at_once_are_all_answered(server: Wire) -> None:
    sent = {server.send("tools/call", {"name": "search", "arguments": {"query": "heron"}}) for _ in range(40)}
    answers = [server.receive() for _ in sent]

    assert {answer["id"] for answer in answers} == sent
    assert all(json.loads(text_of(answer["result"]))["hits"] for answer in answers)


def test_nothing_but_the_protocol_reaches_the_wire(variables: dict[str, str]) -> None:
    body = """print("noise"); sys.stdout.write("noise"); sys.__stdout__.write("noise"); os.write(1, b"noise")
    subprocess.run(["echo", "noise"]); print("noise", flush=True); return '{"quiet": true}'"""

    with server_that(body, variables) as wire:
        wire.initialize()
        answers = [wire.call("search"), wire.call("get")]
        wire.close()

        assert [text_of(answer) for answer in answers] == ['{"quiet": true}'] * 2
        assert [json.loads(line)["id"] for line in wire.lines] == [1, 2, 3]
        assert wire.stderr.count("noise") >= 8


def test_a_failing_tool_is_one_sentence_on_the_wire_and_a_traceback_on_stderr(variables: dict[str, str]) -> None:
    with server_that('raise RuntimeError("internal words")', variables) as wire:
        wire.initialize()
        result = wire.call("search")
        wire.close()

        assert result["isError"] is True
        assert b"internal words" not in b"".join(wire.lines)
        assert "RuntimeError: internal words" in wire.stderr


def test_the_server_ends_when_stdin_closes(variables: dict[str, str]) -> None:
    with server_that("return '{}'", variables) as wire:
        wire.initialize()
        wire.call("search")
        seconds = wire.close()

        assert wire.process.returncode == 0
        assert seconds < 2
        assert wire.stderr == ""


def test_the_server_ends_when_stdin_closes_before_anything_was_asked(variables: dict[str, str]) -> None:
    with server_that("return '{}'", variables) as wire:
        wire.close()

        assert wire.process.returncode == 0
        assert wire.lines == []


def test_the_server_ends_when_stdin_closes_while_a_tool_runs(variables: dict[str, str]) -> None:
    with server_that('print("begun", flush=True); time.sleep(300)', variables) as wire:
        wire.initialize()
        wire.send("tools/call", {"name": "search", "arguments": {}})
        while "begun" not in wire.stderr:
            time.sleep(0.01)
        seconds = wire.close()

        assert wire.process.returncode == 0
        assert seconds < 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_server_at_once(number: signal.Signals, variables: dict[str, str]) -> None:
    with server_that("return '{}'", variables) as wire:
        wire.initialize()
        wire.process.send_signal(number)

        assert wire.process.wait(10) == 128 + number


def test_a_client_that_is_gone_ends_the_server_without_a_traceback(variables: dict[str, str]) -> None:
    read_end, write_end = os.pipe()
    command = [sys.executable, "-c", SERVE.format(body="return '{}'")]
    variables = variables | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "origin_site.settings"}
    os.close(read_end)

    run = subprocess.run(
        command,
        input=b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n',
        stdout=write_end,
        stderr=subprocess.PIPE,
        env=variables,
        timeout=60,
    )
    os.close(write_end)

    assert run.returncode == 0
    assert run.stderr == b""


def test_tools_are_listed_before_anything_is_opened(variables: dict[str, str]) -> None:
    with server_that("return '{}'", variables) as wire:
        wire.initialize()
        tools = wire.request("tools/list")["result"]["tools"]
        wire.close()

    assert [tool["name"] for tool in tools] == TOOLS
    assert not Path(variables["ORIGIN_HOME"]).exists()


def test_the_server_can_answer_its_first_request_without_loading_django() -> None:
    code = (
        "import sys, replication.stdio; print({'django.db.models', 'memory.models', 'memory.tools'} & set(sys.modules))"
    )

    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert run.stdout == "set()\n"


def test_a_store_is_made_by_the_first_call(variables: dict[str, str]) -> None:
    with Wire(variables) as wire:
        wire.initialize()
        answer = wire.ask("search", query="anything")

    assert answer["hits"] == []
    assert answer["footer"]["freshness"]
    assert Path(variables["ORIGIN_HOME"], "origin.db").stat().st_mode & 0o077 == 0


def test_a_store_that_cannot_be_opened_is_said_and_tried_again_at_the_next_call(variables: dict[str, str]) -> None:
    home = Path(variables["ORIGIN_HOME"])
    home.write_text("in the way")

    with Wire(variables) as wire:
        wire.initialize()
        refused = [wire.call("search", {"query": "x"}), wire.call("get", {"id": "x"})]
        home.unlink()
        opened = wire.call("search", {"query": "x"})

    assert all(result["isError"] for result in refused)
    assert all("home" in text_of(result) for result in refused)
    assert opened["isError"] is False


def test_a_store_of_a_newer_origin_is_left_alone(archived: Archived, tmp_path: Path) -> None:
    store = tmp_path / "origin"
    shutil.copytree(archived.store, store)
    with sqlite3.connect(store / "origin.db") as database:
        database.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_later', '')")
    database.close()

    with Wire(environment(store, archived.person)) as wire:
        wire.initialize()
        result = wire.call("search", {"query": "heron"})

    assert result["isError"] is True
    assert "newer Origin (9999_later)" in text_of(result)


MISTYPED = (["--readonly"], ["--project"], ["--project", ""], ["more"])


@pytest.mark.parametrize("arguments", MISTYPED, ids=" ".join)
def test_a_mistyped_limit_is_not_served(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "serve", lambda scope: pytest.fail("it served"))

    stdio.serve_arguments(arguments)
    with pytest.raises(CommandError):
        Command().create_parser("manage.py", "mcp").parse_args(arguments)


@pytest.mark.parametrize(
    ("arguments", "scope"),
    [
        ([], EVERYTHING),
        (["--project", "api", "--project=web"], Scope(projects=("api", "web"))),
        (["--read-only"], Scope(may_write=False, may_forget=False)),
    ],
)
def test_the_flags_are_the_scope(arguments: list[str], scope: Scope, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[Scope] = []
    monkeypatch.setattr(stdio, "serve", served.append)

    stdio.serve_arguments(arguments)

    assert served == [scope]


def test_a_mistyped_limit_ends_the_process(variables: dict[str, str]) -> None:
    with Wire(variables, "--readonly") as wire:
        wire.close()

        assert wire.process.returncode == 2
        assert wire.lines == []
        assert "usage:" in wire.stderr


def test_help_is_that_of_every_command(variables: dict[str, str]) -> None:
    with Wire(variables, "--help") as wire:
        wire.close()

        assert wire.process.returncode == 0
        assert b"mcp --project api --read-only" in b"".join(wire.lines)


def test_django_s_own_options_work_here_too(variables: dict[str, str]) -> None:
    with Wire(variables, "--traceback", "--read-only") as wire:
        assert wire.initialize()["serverInfo"]["name"] == "origin"
        wire.close()

        assert wire.process.returncode == 0
