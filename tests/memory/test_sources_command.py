"""`sources` opens an event down to the line in the agent's own log (promise 1)."""

import json
from pathlib import Path

import pytest

from memory.errors import NotFound
from tests.commands import printed, printed_json
from tests.conftest import AgentHome, assistant, record_uuid, session_uuid, user

ONE, TWO = session_uuid(1), session_uuid(2)
EVENT = f"claude-code:{record_uuid(2)}"


def test_the_line_is_the_agent_s_own_with_file_and_number(store: Path, agent_home: AgentHome) -> None:
    log = agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))
    agent_home.sync()

    (line,) = printed_json("sources", EVENT)["lines"]
    page = printed("sources", EVENT)

    written = log.read_text().splitlines()[1]
    assert (line["file"], line["line"], line["text"]) == (str(log), 2, written)
    assert f"{log} line 2\n{written}\n" in page


def test_the_line_opens_after_the_agent_deleted_its_log(store: Path, agent_home: AgentHome) -> None:
    log = agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))
    agent_home.sync()
    log.unlink()

    assert json.loads(printed_json("sources", EVENT)["lines"][0]["text"])["uuid"] == record_uuid(2)


def test_every_place_of_a_repeated_event_is_shown(store: Path, agent_home: AgentHome) -> None:
    answer = assistant(2, "Answer", ONE)
    first = agent_home.write(ONE, user(1, "Question", ONE), answer)
    second = agent_home.write(TWO, answer, user(3, "Going on", TWO))
    agent_home.sync()

    places = [(line["file"], line["line"]) for line in printed_json("sources", EVENT)["lines"]]

    assert places == [(str(first), 2), (str(second), 1)]


def test_an_unknown_event_is_not_found(store: Path) -> None:
    with pytest.raises(NotFound):
        printed("sources", "claude-code:nothing")
