"""What came first must not matter, and one odd name must not stop the rest."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from memory import sql, tools
from memory.errors import InvalidInput, NotFound
from memory.scope import EVERYTHING, Scope
from memory.text import token_estimate
from memory.times import process_zone
from tests.conftest import AgentHome, record_uuid, session_uuid, user

FIRST, SECOND = session_uuid(1), session_uuid(2)
TOKEN = "sk-ant-" + "api03-" + "Ab3" * 31 + "AA"


def sessions() -> list[tuple[object, ...]]:
    return sql.rows(
        "SELECT session_id, title, first_prompt, project, messages FROM visible_session ORDER BY session_id"
    )


def call(tool: str, scope: Scope = EVERYTHING, **arguments: Any) -> str:
    return tools.call(tool, arguments, scope, process_zone())


def test_a_title_that_comes_before_its_session_names_it(store: Path, agent_home: AgentHome) -> None:
    title: dict[str, object] = {"type": "custom-title", "customTitle": "My title", "sessionId": FIRST}
    agent_home.write(FIRST, title)
    agent_home.sync()
    agent_home.write(FIRST, user(1, "hello there", FIRST))
    agent_home.sync()
    assert sessions()[0][1] == "My title"


@pytest.mark.parametrize("order", list(itertools.permutations(range(2))))
def test_a_record_in_a_side_file_too_stays_the_persons(
    store: Path, agent_home: AgentHome, order: tuple[int, ...]
) -> None:
    record = user(1, "one", FIRST)
    for which in order:
        agent_home.log(f"{FIRST}/subagents/agent-q").parent.mkdir(parents=True, exist_ok=True)
        agent_home.write((FIRST, f"{FIRST}/subagents/agent-q")[which], record)
        agent_home.sync()
    assert sql.rows("SELECT sub_agent FROM visible_event") == [(0,)]
    assert [row[2] for row in sessions()] == ["one"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(2))))
def test_of_two_first_lines_of_one_time_the_same_names_the_project(
    store: Path, agent_home: AgentHome, order: tuple[int, ...]
) -> None:
    lines = [user(1, "first words", "s", cwd="/w/b"), user(2, "other words", "s", cwd="/w/a")]
    for record in lines:
        record["timestamp"] = "2026-05-01T00:00:01.000Z"
    for number in order:
        agent_home.write(f"n{number}", lines[number])
        agent_home.sync()
    assert [row[2:4] for row in sessions()] == [("first words", "a")]


@pytest.mark.parametrize("name", ["数" * 83, "a" * 249, "é" * 120, "x~y", " lead", "tail."])
def test_no_file_name_stops_the_others(store: Path, agent_home: AgentHome, name: str) -> None:
    agent_home.write(name, user(1, "odd", FIRST))
    agent_home.write(SECOND, user(2, "plain", SECOND))
    report = agent_home.sync().sources["claude-code"]
    assert (report.events, report.problems) == (2, [])


def test_a_path_as_long_as_the_disk_allows_is_mirrored(store: Path, agent_home: AgentHome) -> None:
    deep = "/".join(["d" * 200] * 15)
    agent_home.log(FIRST, f"-w/{deep}").write_bytes(json.dumps(user(1, "deep", FIRST)).encode() + b"\n")
    assert agent_home.sync().sources["claude-code"].events == 1


def test_sources_in_a_scope_show_no_line_of_another_project(store: Path, agent_home: AgentHome) -> None:
    record = user(1, "shared words", FIRST, cwd="/w/alpha")
    agent_home.write(FIRST, record)
    agent_home.write(SECOND, record | {"sessionId": SECOND, "cwd": "/w/zeta", "toolUseResult": "zeta's secret"})
    mixed = json.dumps(user(5, "of alpha", FIRST, cwd="/w/alpha")) + json.dumps(user(6, "of zeta", "z", cwd="/w/zeta"))
    agent_home.log("mixed", "-w-mixed").write_bytes(mixed.encode() + b"\n")
    agent_home.sync()
    whole = call("sources", id=f"claude-code:{record_uuid(1)}")
    assert "zeta's secret" in whole, "the control"
    alpha = Scope(projects=("alpha",))
    for number in (1, 5):
        try:
            shown = call("sources", alpha, id=f"claude-code:{record_uuid(number)}")
        except NotFound:
            continue
        assert "zeta" not in shown


def test_no_name_beside_a_text_holds_a_secret(store: Path, agent_home: AgentHome) -> None:
    title: dict[str, object] = {"type": "custom-title", "customTitle": f"{'t' * 160} {TOKEN}", "sessionId": FIRST}
    block = {"type": "tool_use", "id": "toolu_1", "name": f"x {TOKEN}", "input": {"file_path": f"/w/{TOKEN}"}}
    record = user(1, f"the key {TOKEN}", FIRST, cwd=f"/w/{TOKEN}", gitBranch=TOKEN, version=TOKEN)
    call_record = user(2, [block], FIRST, type="assistant")
    agent_home.write(FIRST, title, record, call_record)
    agent_home.sync()
    for table in ("event", "event_context", "event_file", "session", "session_title", "event_gram"):
        assert TOKEN[:20] not in repr(sql.rows(f"SELECT * FROM {table}")), table


def test_a_secret_that_json_escapes_hide_is_masked_in_the_raw_line(store: Path, agent_home: AgentHome) -> None:
    line = json.dumps(user(1, f"the key {TOKEN} ends", FIRST)).replace(TOKEN, "sk\\u002dant" + TOKEN[6:])
    agent_home.log(FIRST).write_bytes(line.encode() + b"\n")
    agent_home.sync()
    shown = call("sources", id=f"claude-code:{record_uuid(1)}")
    assert TOKEN[10:40] not in shown
    assert "ends" in shown


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("sources", {"id": "x" * 100_000}),
        ("get", {"id": "x" * 100_000}),
        ("timeline", {"session": "x" * 100_000}),
        ("search", {"sort": "x" * 100_000}),
        ("search", {"y" * 100_000: 1}),
    ],
)
def test_no_error_is_longer_than_the_smallest_answer(store: Path, tool: str, arguments: dict[str, Any]) -> None:
    with pytest.raises((NotFound, InvalidInput)) as caught:
        call(tool, **arguments)
    assert token_estimate(str(caught.value)) <= 200


def test_a_replace_past_the_triggers_condition_changes_nothing(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(FIRST, user(1, "one", FIRST))
    agent_home.sync()
    [(key, rowid)] = sql.rows("SELECT id, rowid FROM event")
    assert key == rowid, "the key is the row's own: no second one can be replaced instead"


def test_asking_for_the_sources_of_a_session_says_what_to_ask_instead(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(FIRST, user(1, "one", FIRST))
    agent_home.sync()
    with pytest.raises(NotFound, match="timeline"):
        call("sources", id=f"claude-code:{FIRST}")
    with pytest.raises(NotFound, match="No session"):
        call("sources", Scope(projects=("other",)), id=f"claude-code:{FIRST}")
