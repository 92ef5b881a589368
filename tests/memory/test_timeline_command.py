"""`timeline` lists sessions, or the events of one."""

from pathlib import Path

import pytest

from memory.errors import NotFound
from memory.label import LABEL
from tests.commands import printed, printed_json
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, user

ONE, TWO = session_uuid(1), session_uuid(2)


@pytest.fixture
def held(store: Path, agent_home: AgentHome) -> Path:
    agent_home.write(
        ONE,
        user(1, "First question", ONE),
        assistant(2, "First answer", ONE),
        tool_call(3, "Edit", {"file_path": "/w/app/a.py", "old_string": "a", "new_string": "b"}, ONE),
    )
    agent_home.write(TWO, user(100, "Second question", TWO, cwd="/w/other"), project="-w-other")
    agent_home.sync()
    return store


def test_sessions_come_last_active_first(held: Path) -> None:
    answer = printed_json("timeline")

    assert answer["origin"] == LABEL
    assert [session["title"] for session in answer["sessions"]] == ["Second question", "First question"]


def test_a_page_shows_each_session_with_counts_files_and_id(held: Path) -> None:
    page = printed("timeline", "--project", "app")

    assert "2026-05-01" in page
    assert "2 messages  1 tool call\n" in page
    assert "  /w/app/a.py\n" in page
    assert f"  claude-code:{ONE}\n" in page
    assert "Second question" not in page


def test_one_session_s_events_are_in_order_with_tools_when_asked(held: Path) -> None:
    messages = printed_json("timeline", f"claude-code:{ONE}")
    everything = printed_json("timeline", f"claude-code:{ONE}", "--tools")

    assert [event["text"] for event in messages["events"]] == ["First question", "First answer"]
    assert [event["kind"] for event in everything["events"]] == ["message", "message", "tool_call"]
    assert "person\n  First question\n" in printed("timeline", f"claude-code:{ONE}")


def test_filters_bound_the_time(held: Path) -> None:
    assert printed_json("timeline", "--since", "2026-05-02")["sessions"] == []
    assert "No session was active" in printed("timeline", "--since", "2026-05-02")
    assert len(printed_json("timeline", "--until", "2026-05-01")["sessions"]) == 2


def test_a_limit_says_that_there_is_more(held: Path) -> None:
    answer = printed_json("timeline", "--limit", "1")

    assert len(answer["sessions"]) == 1
    assert answer["footer"]["more"] is True
    assert "There is more" in printed("timeline", "--limit", "1")
    assert "more" not in printed_json("timeline", "--limit", "2")["footer"]


def test_an_unknown_session_is_not_found(held: Path) -> None:
    with pytest.raises(NotFound):
        printed("timeline", "claude-code:nothing")
