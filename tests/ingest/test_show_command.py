"""`show` prints one event whole, or a session and how to go on with it."""

import shlex
from pathlib import Path

import pytest

from ingest.resume import resume_command
from memory.errors import NotFound
from memory.label import LABEL
from tests.commands import printed, printed_json
from tests.conftest import AgentHome, assistant, record_uuid, session_uuid, user

ONE = session_uuid(1)


@pytest.fixture
def held(store: Path, agent_home: AgentHome) -> Path:
    agent_home.write(
        ONE, user(1, "Question", ONE, cwd="/w/my app"), assistant(2, "First line\n\tsecond " + "x" * 500, ONE)
    )
    agent_home.sync()
    return store


def test_an_event_is_shown_whole_under_what_is_known_of_it(held: Path) -> None:
    page = printed("show", f"claude-code:{record_uuid(2)}")

    assert page.startswith(f"{LABEL}\n")
    assert "First line\n\tsecond " + "x" * 500 + "\n" in page
    assert f"session  claude-code:{ONE}\n" in page
    assert "origin   agent\n" in page


def test_an_event_s_json_is_its_shape(held: Path) -> None:
    event = printed_json("show", f"claude-code:{record_uuid(2)}")["event"]

    assert event["text"] == "First line\n\tsecond " + "x" * 500
    assert (event["kind"], event["role"], event["project"]) == ("message", "assistant", "my app")


def test_a_session_is_shown_with_the_command_that_resumes_it(held: Path) -> None:
    command = f"cd '/w/my app' && claude --resume {ONE}"

    assert f"  resume: {command}\n" in printed("show", f"claude-code:{ONE}")
    answer = printed_json("show", f"claude-code:{ONE}")
    assert answer["resume"] == command
    assert [event["text"][:10] for event in answer["events"]] == ["Question", "First line"]


def test_an_unknown_id_is_not_found(held: Path) -> None:
    with pytest.raises(NotFound):
        printed("show", "claude-code:nothing")


def test_a_sub_agent_s_parent_is_what_can_be_resumed() -> None:
    assert resume_command("claude-code", f"claude-code:{ONE}/agent-7", "/w") == f"cd /w && claude --resume {ONE}"


def test_an_agent_without_such_a_command_has_none() -> None:
    assert resume_command("zcode", "zcode:1", "/w") == ""


def test_a_directory_cannot_add_to_the_command() -> None:
    command = resume_command("claude-code", "claude-code:x; reboot", "/w/$(reboot)'; reboot; '")

    assert shlex.split(command) == ["cd", "/w/$(reboot)'; reboot; '", "&&", "claude", "--resume", "x; reboot"]
