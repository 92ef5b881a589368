"""`search` prints the hits that the search tool answers with."""

import json
from pathlib import Path

import pytest

from memory.label import LABEL
from memory.management.base import caller
from memory.tools.searching import SearchArguments, run_search
from tests.commands import origin, printed, printed_json
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, tool_result, user
from tests.memory.secret_samples import checked

ONE, TWO = session_uuid(1), session_uuid(2)


@pytest.fixture
def held(store: Path, agent_home: AgentHome) -> Path:
    agent_home.write(
        ONE,
        user(1, "Which queue do we use?", ONE),
        assistant(2, "Postgres with a queue table, because it is one service less.", ONE),
        tool_call(3, "Bash", {"command": "grep queue settings.py"}, ONE),
        tool_result(4, 3, "QUEUE = 'queue-table'", ONE),
    )
    agent_home.write(TWO, user(5, "The queue is slow", TWO, cwd="/w/other"), project="-w-other")
    agent_home.sync()
    return store


def ids(answer: dict[str, list[dict[str, str]]]) -> list[str]:
    return [hit["id"] for hit in answer["hits"]]


def test_several_words_are_one_query(held: Path) -> None:
    answer = printed_json("search", "queue", "postgres")

    assert [hit["text"] for hit in answer["hits"]] == ["Postgres with a queue table, because it is one service less."]


def test_json_is_what_the_tool_answers(held: Path) -> None:
    arguments = SearchArguments(query="queue", max_tokens=20_000)

    assert printed_json("search", "queue") == run_search(arguments, caller())


def test_a_page_says_where_when_and_who_with_the_id_and_the_label(held: Path) -> None:
    page = printed("search", "postgres")

    assert page.startswith(f"{LABEL}\n")
    assert "agent  app  claude-code\n" in page
    assert "  Which queue do we use?\n" in page
    assert f"  {printed_json('search', 'postgres')['hits'][0]['id']}\n" in page
    assert page.endswith("claude-code: 100% indexed, 0 min old\n")


def test_filters_narrow_the_hits(held: Path) -> None:
    assert len(ids(printed_json("search", "queue"))) == 3
    assert len(ids(printed_json("search", "queue", "--project", "other"))) == 1
    assert len(ids(printed_json("search", "queue", "--session", f"claude-code:{ONE}"))) == 2
    assert ids(printed_json("search", "queue", "--source", "codex")) == []
    assert ids(printed_json("search", "queue", "--since", "2026-05-02")) == []
    assert len(ids(printed_json("search", "queue", "--until", "2026-05-01"))) == 3
    assert len(ids(printed_json("search", "queue", "--tools"))) == 5


def test_recent_puts_the_newest_first(held: Path) -> None:
    times = [hit["at"] for hit in printed_json("search", "queue", "--recent")["hits"]]

    assert times == sorted(times, reverse=True)


def test_what_the_limit_leaves_out_is_said(held: Path) -> None:
    page = printed("search", "queue", "--limit", "2")

    assert page.count("claude-code:0000") == 2
    assert "1 more hit;" in page


def test_a_word_that_occurs_nowhere_is_named(held: Path) -> None:
    assert "Nothing within these filters holds 'zebra'." in printed("search", "queue", "zebra")


def test_a_hostile_log_cannot_steer_the_terminal(store: Path, agent_home: AgentHome) -> None:
    hostile = "attack \x1b]0;owned\x07 \x1b[2J \x9b1A \u202e end"
    agent_home.write(ONE, user(1, hostile, ONE, cwd="/w/\x1b[2Japp", gitBranch="\x1b[2J"))
    agent_home.sync()

    for options in ((), ("--json",)):
        done = origin("search", "attack", *options, home=store, person=agent_home.path)

        assert done.returncode == 0
        assert "attack" in done.stdout
        assert not set(done.stdout) & set("\x1b\x07\x9b\u202e")


def test_a_secret_is_masked(store: Path, agent_home: AgentHome) -> None:
    key = checked("ghp_", 30)
    agent_home.write(ONE, user(1, f"the key is {key}", ONE))
    agent_home.sync()

    event = printed_json("search", "key")["hits"][0]["id"]

    for command in (("search", "key"), ("show", event), ("sources", event), ("timeline", f"claude-code:{ONE}")):
        for options in ((), ("--json",)):
            assert key not in printed(*command, *options)
    assert "the key is" in printed("sources", event)


def test_piped_json_is_one_document_on_one_line(held: Path) -> None:
    done = origin("search", "queue", "--json", home=held)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\n") == 1
    assert len(json.loads(done.stdout)["hits"]) == 3
