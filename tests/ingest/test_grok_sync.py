"""Grok Build's sessions in the store: one history of each, however its files are rewritten, forked and cut."""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import pytest

from ingest.sync import Report
from memory import sql
from tests.conftest import AgentHome
from tests.store_digest import contents

SAMPLES = Path(__file__).parent / "samples" / "grok"
SESSION = "019e0000-0000-7000-8000-0000000000a1"
FORK = "019e0000-0000-7000-8000-0000000000a2"
CHILD = "019e0000-0000-7000-8000-0000000000c1"


def file(home: AgentHome, name: str, session: str = SESSION) -> Path:
    path = home.path / ".grok/sessions/%2Fw%2Flamp" / session / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.jsonl").read_bytes()


def write_summary(home: AgentHome, session: str = SESSION, **fields: object) -> None:
    value = {"info": {"id": session, "cwd": "/w/lamp"}, "created_at": "2026-09-21T14:13:00Z"} | fields
    file(home, "summary.json", session).write_text(json.dumps(value, indent=2))


def synced(home: AgentHome) -> Report:
    report = home.sync()
    assert (report.sources["grok"].failed, report.sources["grok"].problems) == ("", [])
    return report


def messages(session: str = SESSION) -> list[str]:
    query = """
        SELECT e.text FROM visible_event e JOIN session s ON s.id = e.session_id
        WHERE s.session_id = ? AND e.kind = 'message' ORDER BY e.ordinal"""
    return [str(text) for (text,) in sql.rows(query, (f"grok:{session}",))]


def session_row(session: str = SESSION) -> tuple[Any, ...]:
    query = "SELECT project, cwd, branch, title, parent FROM session WHERE session_id = ?"
    return sql.rows(query, (f"grok:{session}",))[0]


def generations(name: str) -> int:
    return len(sql.rows("SELECT 1 FROM raw_file WHERE logical_path LIKE ?", (f"%/{name}",)))


TOLD = [
    "修好灯 🙂 — why does it smoke?\n\n[image image/png]",
    "I look at the wick.",
    "It is trimmed.",
    "and why `<user_query>`?",
]
CHATTED = ["修好灯 🙂\n\n[image]", "I look.", "also the other one", "Done.", "again", "Done."]


@pytest.mark.parametrize("order", list(itertools.permutations(["conversation", "chat", "summary"])))
def test_in_any_order_of_arrival_updates_hide_the_chat(
    order: tuple[str, ...], store: Path, agent_home: AgentHome
) -> None:
    for name in order:
        if name == "summary":
            write_summary(agent_home, head_branch="main", generated_title="Smoking lamp")
        else:
            target = "updates.jsonl" if name == "conversation" else "chat_history.jsonl"
            file(agent_home, target).write_bytes(sample(name))
        synced(agent_home)
    assert messages() == TOLD
    assert session_row() == ("lamp", "/w/lamp", "main", "Smoking lamp", "")


def test_a_chat_alone_is_the_history(store: Path, agent_home: AgentHome) -> None:
    file(agent_home, "chat_history.jsonl").write_bytes(sample("chat"))
    synced(agent_home)
    assert messages() == CHATTED
    file(agent_home, "updates.jsonl").write_bytes(b"")
    synced(agent_home)
    assert messages() == CHATTED


def test_a_chat_that_is_compacted_keeps_what_it_said_and_repeats_nothing(store: Path, agent_home: AgentHome) -> None:
    chat = file(agent_home, "chat_history.jsonl")
    chat.write_bytes(sample("chat"))
    synced(agent_home)
    before = {name for (name,) in sql.rows("SELECT event_id FROM visible_event")}
    kept = sample("chat").splitlines(keepends=True)
    rewritten = chat.with_suffix(".tmp")
    rewritten.write_bytes(kept[0] + b"".join(kept[9:]) + b'{"type":"assistant","content":"Anew."}\n')
    os.replace(rewritten, chat)
    assert synced(agent_home).sources["grok"].events == 1
    after = {name for (name,) in sql.rows("SELECT event_id FROM visible_event")}
    assert len(after - before) == 1
    assert before <= after
    assert generations("chat_history.jsonl") == 2


def test_a_summary_that_is_rewritten_goes_on_in_one_journal(store: Path, agent_home: AgentHome) -> None:
    for number in range(5):
        write_summary(agent_home, num_messages=number)
        synced(agent_home)
    write_summary(agent_home, generated_title="Smoking lamp")
    synced(agent_home)
    assert generations("summary.json") == 1
    assert sql.rows("SELECT lines FROM raw_file WHERE form = 'rows'") == [(2,)]
    assert session_row()[3] == "Smoking lamp"


def test_a_fork_shows_what_is_its_own_and_is_linked_to_its_original(store: Path, agent_home: AgentHome) -> None:
    file(agent_home, "updates.jsonl", FORK).write_bytes(sample("forked"))
    write_summary(agent_home, FORK, parent_session_id=SESSION)
    synced(agent_home)
    assert messages(FORK) == ["修好灯 🙂", "I look at the wick.", "another way"]
    file(agent_home, "updates.jsonl").write_bytes(sample("conversation"))
    synced(agent_home)
    assert messages(FORK) == ["another way"]
    assert session_row(FORK)[4] == f"grok:{SESSION}"


def test_a_sub_agent_is_linked_to_its_parent(store: Path, agent_home: AgentHome) -> None:
    file(agent_home, "chat_history.jsonl", CHILD).write_text('{"type":"user","content":"find every wick"}\n')
    meta = file(agent_home, "subagents/sa-1/meta.json")
    meta.write_text(json.dumps({"child_session_id": CHILD, "parent_session_id": SESSION}))
    synced(agent_home)
    assert session_row(CHILD)[4] == f"grok:{SESSION}"


def expected(name: str) -> list[tuple[str, str, str, int]]:
    """Return what a sample's expectation says of its events."""
    told = json.loads((SAMPLES / f"{name}.expected.json").read_bytes())
    return sorted(
        (event["event_id"], event["kind"], event["text"], event.get("line", line["line"]))
        for line in told["lines"]
        for event in line.get("events", ())
    )


@pytest.mark.parametrize("step", [97, 400, 1_500, 100_000])
def test_any_split_of_the_updates_gives_one_store(step: int, store: Path, agent_home: AgentHome) -> None:
    whole = sample("conversation")
    path = file(agent_home, "updates.jsonl")
    for end in range(step, len(whole) + step, step):
        path.write_bytes(whole[:end])
        synced(agent_home)
    found = sql.rows("SELECT event_id, kind, text, line FROM event ORDER BY event_id")
    assert found == expected("conversation")
    assert generations("updates.jsonl") == 1


def test_an_event_over_several_lines_opens_down_to_where_it_begins(store: Path, agent_home: AgentHome) -> None:
    file(agent_home, "updates.jsonl").write_bytes(sample("conversation"))
    synced(agent_home)
    query = "SELECT line FROM event WHERE event_id = ?"
    assert sql.rows(query, (f"grok:{SESSION}-5",)) == [(5,)]


def test_a_second_sync_adds_nothing(store: Path, agent_home: AgentHome) -> None:
    file(agent_home, "updates.jsonl").write_bytes(sample("conversation"))
    file(agent_home, "chat_history.jsonl").write_bytes(sample("chat"))
    write_summary(agent_home)
    synced(agent_home)
    before = contents(store)
    report = synced(agent_home).sources["grok"]
    assert (report.read, report.events, report.bytes) == (0, 0, 0)
    assert contents(store) == before
