"""`--project`: a server shows nothing of what lies outside, through any tool or any part of an answer."""

import json
from collections.abc import Iterator

import pytest

from tests.conftest import record_uuid
from tests.replication.conftest import API, NOWHERE, WEB, Archived
from tests.replication.wire import Message, Wire, environment, text_of

OUTSIDE = {"walrus": WEB, "moth": NOWHERE}
LONG_AGO = "2026-01-01"


@pytest.fixture(scope="module")
def scoped(archived: Archived) -> Iterator[Wire]:
    with Wire(environment(archived.store, archived.person), "--project", "api", "--read-only") as wire:
        wire.initialize()
        yield wire


@pytest.fixture(scope="module")
def unscoped(archived: Archived) -> Iterator[Wire]:
    with Wire(environment(archived.store, archived.person)) as wire:
        wire.initialize()
        yield wire


def event(number: int) -> str:
    return f"claude-code:{record_uuid(number)}"


def questions(word: str, session: str, first: int) -> list[tuple[str, Message]]:
    """Every way to ask for a session that another project holds; `first` numbers its first record."""
    session = f"claude-code:{session}"
    return [
        ("search", {"query": word}),
        ("search", {"query": word, "tools": True, "meta": True, "explain": True}),
        ("search", {"query": "which database", "limit": 50}),
        ("search", {"query": "which database", "sort": "recent"}),
        ("search", {"query": f"{word} service", "project": ""}),
        ("search", {"in": "events", "limit": 50}),
        ("search", {"in": "events", "session": session}),
        ("timeline", {"since": LONG_AGO}),
        ("timeline", {"session": session}),
        ("timeline", {"session": session, "tools": True}),
        ("get", {"id": session}),
        ("get", {"id": event(first)}),
        ("get", {"id": f"{event(first + 2)}#0"}),
        ("sources", {"id": event(first)}),
        ("sources", {"id": f"{event(first + 3)}#0"}),
    ]


def told(result: Message, question: Message) -> str:
    """What a result says beyond the words of its own question."""
    text = text_of(result)
    for value in question.values():
        if isinstance(value, str):
            for word in (value, *value.split()):
                text = text.replace(json.dumps(word), '""').replace(word, "") if len(word) > 3 else text
    return text


@pytest.mark.parametrize(("word", "first"), [("walrus", 101), ("moth", 201)])
def test_no_tool_shows_anything_of_another_project(word: str, first: int, scoped: Wire, unscoped: Wire) -> None:
    session = OUTSIDE[word]
    unanswered = []
    for tool, question in questions(word, session, first):
        result = scoped.call(tool, question)
        shown = told(result, question)
        assert word not in shown, (tool, question)
        assert session not in shown, (tool, question)
        assert record_uuid(first) not in shown, (tool, question)
        whole = text_of(unscoped.call(tool, question))
        if not any(sign in whole for sign in (session, record_uuid(first), word)):
            unanswered.append((tool, question))

    # The control: without the flag, every one of these questions is answered with what it asks for.
    assert unanswered == []


@pytest.mark.parametrize(("word", "first"), [("walrus", 101), ("moth", 201)])
def test_what_lies_outside_reads_exactly_like_what_is_not_there(word: str, first: int, scoped: Wire) -> None:
    for tool in ("get", "sources"):
        for there, absent in ((event(first), event(999)), (f"claude-code:{OUTSIDE[word]}", "claude-code:absent")):
            outside, unknown = (scoped.call(tool, {"id": name}) for name in (there, absent))
            assert outside["isError"] is unknown["isError"] is True
            assert text_of(outside).replace(there, "X") == text_of(unknown).replace(absent, "X")


def test_counts_and_cursors_are_of_the_project_alone(scoped: Wire, unscoped: Wire) -> None:
    question = {"query": "which database", "limit": 1}

    assert "left_out" not in scoped.ask("search", **question)["footer"]
    assert unscoped.ask("search", **question)["footer"]["left_out"] == 2
    assert len(scoped.ask("timeline", since=LONG_AGO)["sessions"]) == 1


def test_asking_for_another_project_by_name_finds_nothing(scoped: Wire, unscoped: Wire) -> None:
    for project in ("web", ""):
        found = scoped.ask("search", query="which database", project=project)["hits"]
        assert {hit["project"] for hit in found} <= {"api"}
    assert unscoped.ask("search", query="which database", project="web")["hits"]


def test_the_project_itself_is_shown(scoped: Wire) -> None:
    (hit,) = scoped.ask("search", query="which database")["hits"]

    assert hit["session"] == f"claude-code:{API}"
    assert scoped.ask("get", id=hit["id"])["event"]["text"] == "Which database shall the heron service use?"
    assert scoped.ask("sources", id=hit["id"])["lines"]
