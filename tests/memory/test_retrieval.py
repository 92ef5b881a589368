"""Search finds what it should, through the tool, over an invented corpus in four languages (benchmarks/labels)."""

import json
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from benchmarks import retrieval
from benchmarks.labels import invent
from memory import tools
from memory.passages import PASSAGE
from memory.scope import EVERYTHING
from memory.store import open_store
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, user, using_home

ONE, TWO, THREE = session_uuid(1), session_uuid(2), session_uuid(3)


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Iterator[list[Any]]:
    """The invented corpus in a store, and the labels over it."""
    folder = tmp_path_factory.mktemp("invented")
    made = invent.write(folder / "person")
    with django_db_blocker.unblock(), using_home(folder / "origin"):
        open_store()
        AgentHome(folder / "person").sync()
        yield retrieval.plain_labels(made)


def asked(labels: list[retrieval.Label], *groups: str, every: int = 4) -> list[retrieval.Result]:
    chosen = [label for label in labels if label.group in groups]
    return [retrieval.ask(label) for label in chosen[::every]]


def test_the_corpus_is_large_enough_to_measure_with(labels: list[retrieval.Label]) -> None:
    assert len({name for label in labels for name in label.expected}) >= 60
    assert len(labels) >= 150


@pytest.mark.parametrize(
    "group", ["zh", "ja", "ko", "mixed", "identifier", "path", "error", "short", "punctuation", "question"]
)
def test_what_is_looked_for_is_among_the_first_five(labels: list[retrieval.Label], group: str) -> None:
    late = [result.label.query for result in asked(labels, group) if not 0 < result.rank() <= 5]
    assert late == []


def test_a_past_tasks_title_finds_its_session_first(labels: list[retrieval.Label]) -> None:
    assert [result.label.query for result in asked(labels, "title", every=2) if result.rank() != 1] == []


def test_what_nothing_holds_finds_nothing(labels: list[retrieval.Label]) -> None:
    assert [result.label.query for result in asked(labels, "negative", every=1) if result.events] == []


def hits(query: str, **arguments: object) -> list[dict[str, Any]]:
    answer = json.loads(tools.call("search", {"query": query, "max_tokens": 20_000, **arguments}, EVERYTHING, UTC))
    return list(answer["hits"])


def test_exact_copies_are_shown_once_and_counted(store: Path, agent_home: AgentHome) -> None:
    for number, session in enumerate((ONE, TWO, THREE), 1):
        agent_home.write(session, user(number, "The heron nests on the eastern roof.", session))
    agent_home.sync()
    (hit,) = hits("heron roof")
    assert hit["also_in"] == 2


def test_at_most_five_of_a_session_are_listed_and_the_rest_counted(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, *(user(number, f"heron number {number}", ONE) for number in range(1, 9)))
    agent_home.sync()
    assert len(hits("heron")) == 5
    assert hits("heron")[0]["more_in_session"] == 3
    assert len(hits("heron", session=f"claude-code:{ONE}")) == 8


def test_filters_may_be_typed_and_words_left_out(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(
        ONE,
        user(1, "the heron lands", ONE),
        user(2, "the heron flies", ONE),
        tool_call(3, "Edit", {"file_path": "/w/app/nest.py"}, ONE),
    )
    agent_home.write(TWO, assistant(4, "a heron elsewhere", TWO, cwd="/w/other"))
    agent_home.sync()
    assert [hit["text"] for hit in hits("heron project:other")] == ["a heron elsewhere"]
    assert [hit["text"] for hit in hits("heron -flies project:app")] == ["the heron lands"]
    assert {hit["session"] for hit in hits("heron file:nest.py")} == {f"claude-code:{ONE}"}
    assert [hit["tool"] for hit in hits("nest tool:Edit")] == ["Edit"]
    assert hits("heron until:2020-01-01") == []
    assert len(hits("heron since:nonsense")) == 3, "a time that cannot be read is a word"
    event = hits("heron lands")[0]["id"]
    assert [hit["id"] for hit in hits(event)] == [event]


def test_a_passage_holds_the_match_also_in_cjk(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "无关的内容。" * 300 + "消息队列的原因" + "其他文字。" * 300, ONE))
    agent_home.sync()
    (hit,) = hits("消息队列")
    assert "消息队列" in hit["text"]
    assert len(hit["text"]) <= PASSAGE


def test_parts_of_words_in_tool_text_are_found_by_reading(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, tool_call(1, "Bash", {"command": "ls heronsnestbox"}, ONE))
    agent_home.sync()
    answer = json.loads(tools.call("search", {"query": "ronsnest"}, EVERYTHING, UTC))
    assert len(answer["hits"]) == 1
    assert "ronsnest" in answer["footer"]["scanned"]
