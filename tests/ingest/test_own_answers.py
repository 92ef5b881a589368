"""What Origin said before comes back in an agent's log, but never as an answer (invariant 2)."""

from pathlib import Path

import pytest

from memory import sql, tools
from memory.label import LABEL
from memory.scope import EVERYTHING
from memory.times import process_zone
from tests.commands import printed
from tests.conftest import AgentHome, session_uuid, tool_call, tool_result, user

CANARY = "zanzibar"


def texts() -> str:
    return "\n".join(str(text) for (text,) in sql.rows("SELECT text FROM event"))


@pytest.mark.parametrize("tool", ["mcp__origin__search", "mcp__notes__lookup"])
@pytest.mark.parametrize("name", ["search", "timeline", "get", "sources"])
def test_an_answer_logged_by_an_agent_keeps_no_text(store: Path, agent_home: AgentHome, tool: str, name: str) -> None:
    session = session_uuid(1)
    record = user(1, f"the {CANARY} decision", session)
    agent_home.write(session, record)
    agent_home.sync()
    event = f"claude-code:{record['uuid']}"
    arguments = {"search": {"query": CANARY}, "timeline": {"since": "2020-01-01"}}.get(name, {"id": event})
    answer = tools.call(name, arguments, EVERYTHING, process_zone())
    assert CANARY in answer, "the control: Origin does say it"
    other = session_uuid(2)
    blocks = [{"type": "text", "text": answer}]
    agent_home.write(other, tool_call(5, tool, {"query": "x"}, other), tool_result(6, 5, blocks, other))
    agent_home.sync()
    assert sql.rows("SELECT count(*) FROM event WHERE text LIKE ?", (f"%{CANARY}%",)) == [(1,)]
    assert sql.rows("SELECT kind FROM event WHERE event_id LIKE '%06#0' OR event_id LIKE '%6#0'") == [("meta",)]


@pytest.mark.parametrize("options", [[], ["--json"]])
@pytest.mark.parametrize("command", ["search", "timeline", "show", "sources"])
def test_a_command_run_in_a_shell_keeps_no_text(
    store: Path, agent_home: AgentHome, command: str, options: list[str]
) -> None:
    session = session_uuid(1)
    record = user(1, f"the {CANARY} decision", session)
    agent_home.write(session, record)
    agent_home.sync()
    words = {"search": [CANARY], "timeline": ["--since", "2020-01-01"]}.get(command, [f"claude-code:{record['uuid']}"])
    shown = printed(command, *words, *options)
    assert CANARY in shown, "the control: Origin does print it"
    other = session_uuid(2)
    agent_home.write(other, tool_call(5, "Bash", {"command": "x"}, other), tool_result(6, 5, shown, other))
    agent_home.sync()
    assert sql.rows("SELECT count(*) FROM event WHERE text LIKE ?", (f"%{CANARY}%",)) == [(1,)]


def test_talking_about_the_label_is_not_an_answer(store: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    said = f'the docs call it "{LABEL}", and {CANARY} too'
    agent_home.write(session, tool_call(5, "Bash", {"command": "x"}, session), tool_result(6, 5, said, session))
    agent_home.sync()
    assert CANARY in texts()
