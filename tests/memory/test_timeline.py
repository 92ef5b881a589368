"""Timeline: sessions by when they were, and one session's events in order."""

from pathlib import Path

import pytest

from memory import timeline
from memory.errors import NotFound
from memory.filters import Filters
from memory.scope import EVERYTHING, Scope
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, tool_result, user

FIRST, SECOND, THIRD = (f"claude-code:{session_uuid(n)}" for n in (1, 2, 3))


def at(day: int, hour: int = 12) -> str:
    return f"2026-05-{day:02d}T{hour:02d}:00:00.000Z"


@pytest.fixture
def month(store: Path, agent_home: AgentHome) -> Path:
    """A session over midnight, one of another project, and one with a sub-agent and tools."""
    one, two, three = (session_uuid(n) for n in (1, 2, 3))
    agent_home.write(one, user(1, "late", one, timestamp=at(2, 23)), assistant(2, "later", one, timestamp=at(3, 1)))
    agent_home.write(two, user(3, "elsewhere", two, cwd="/w/other", timestamp=at(10)))
    agent_home.write(
        three,
        user(4, "do it", three, timestamp=at(20, 1)),
        tool_call(5, "Edit", {"file_path": "/w/app/a.py"}, three, timestamp=at(20, 2)),
        tool_result(6, 5, "ok", three, timestamp=at(20, 3)),
        tool_call(7, "Edit", {"file_path": "/w/app/a.py"}, three, timestamp=at(20, 4)),
        tool_call(8, "Read", {"file_path": "/w/app/b.py"}, three, timestamp=at(20, 5)),
        assistant(9, "done", three, timestamp=at(20, 6)),
    )
    side = agent_home.log(three).parent / three / "subagents" / "agent-a1.jsonl"
    side.parent.mkdir(parents=True)
    agent_home.write(f"{three}/subagents/agent-a1", user(10, "search", three, isSidechain=True, timestamp=at(21)))
    agent_home.sync()
    return store


def listed(scope: Scope = EVERYTHING, **filters: str) -> list[str]:
    return [line.session_id for line in timeline.sessions(scope, Filters(**filters), limit=50)]


def test_sessions_come_last_active_first_with_sub_agents_folded_in(month: Path) -> None:
    assert listed() == [THIRD, SECOND, FIRST]
    line = timeline.session(THIRD, EVERYTHING)
    assert line.sub_agents == (f"{THIRD}/agent-a1",)
    assert (line.messages, line.tool_calls, line.files) == (2, 3, ("/w/app/a.py", "/w/app/b.py"))


def test_a_session_over_midnight_is_in_both_days(month: Path) -> None:
    assert listed(since=at(2, 0), until=at(3, 0)) == [FIRST]
    assert listed(since=at(3, 0), until=at(4, 0)) == [FIRST]
    assert listed(since=at(4, 0), until=at(5, 0)) == []


def test_a_sub_agent_stands_alone_where_its_parent_is_out_of_the_range(month: Path) -> None:
    assert listed(session=f"{THIRD}/agent-a1") == []
    assert timeline.session(f"{THIRD}/agent-a1", EVERYTHING).parent == THIRD


def test_a_list_goes_on_after_the_last_one_shown(month: Path) -> None:
    first = timeline.sessions(EVERYTHING, Filters(), limit=2)
    rest = timeline.sessions(EVERYTHING, Filters(), limit=2, before=(first[-1].last_at, first[-1].session_id))
    assert [line.session_id for line in (*first, *rest)] == [THIRD, SECOND, FIRST]


def test_a_scope_lists_and_opens_its_own_projects_only(month: Path) -> None:
    scope = Scope(("other",))
    assert listed(scope) == [SECOND]
    with pytest.raises(NotFound):
        timeline.session(THIRD, scope)


def test_events_are_in_order_and_tools_only_when_asked_for(month: Path) -> None:
    line = timeline.session(THIRD, EVERYTHING)
    texts = [event.text for event in timeline.events(line, Filters(), limit=50)]
    assert texts == ["do it", "done"]
    everything = timeline.events(line, Filters(), limit=50, tools=True)
    assert [event.kind for event in everything] == [
        *("message", "tool_call", "tool_result", "tool_call", "tool_call", "message")
    ]
    assert [event.at for event in everything] == sorted(event.at for event in everything)


def test_events_go_on_after_the_last_one_shown(month: Path) -> None:
    line = timeline.session(THIRD, EVERYTHING)
    seen, after = [], ("", -1, "")
    while page := timeline.events(line, Filters(), limit=2, tools=True, after=after):
        seen += [event.event_id for event in page]
        after = (page[-1].at, page[-1].ordinal, page[-1].event_id)
    assert seen == [event.event_id for event in timeline.events(line, Filters(), limit=50, tools=True)]


def test_a_change_of_model_is_marked_where_it_happens(store: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    lines = [assistant(n, f"answer {n}", session) for n in range(1, 5)]
    for record, model in zip(lines, ("m1", "m1", "m2", "m2"), strict=True):
        record["message"]["model"] = model  # type: ignore[index]
    agent_home.write(session, *lines)
    agent_home.sync()
    line = timeline.session(FIRST, EVERYTHING)
    assert [event.model for event in timeline.events(line, Filters(), limit=9)] == ["m1", "", "m2", ""]


def test_a_compaction_is_a_marker(store: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    boundary = user(2, "", session, type="system", subtype="compact_boundary", content="Conversation compacted")
    del boundary["message"]
    agent_home.write(session, user(1, "before", session), boundary, user(3, "after", session))
    agent_home.sync()
    line = timeline.session(FIRST, EVERYTHING)
    shown = [(event.tool, event.text) for event in timeline.events(line, Filters(), limit=9)]
    assert shown == [("", "before"), ("compaction", "Conversation compacted"), ("", "after")]
