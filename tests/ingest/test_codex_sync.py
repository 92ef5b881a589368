"""Codex's sessions in the store: one for each thread, whatever its files go through, and nothing shown twice."""

import itertools
import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from ingest.sync import Report
from memory import sql
from tests.conftest import AgentHome
from tests.store_digest import contents

SAMPLES = Path(__file__).parent / "samples" / "codex"
FIRST = "019e0000-0000-7000-8000-000000000001"
FORK = "019e0000-0000-7000-8000-000000000004"
AGENT = "019e0000-0000-7000-8000-000000000006"
FILES = {"conversation": FIRST, "fork": FORK, "sub-agent": AGENT}


def rollout(home: AgentHome, name: str, folder: str = "sessions/2026/06/01") -> Path:
    return home.path / ".codex" / folder / f"rollout-2026-06-01T09-59-59-{FILES[name]}.jsonl"


def place(home: AgentHome, name: str) -> Path:
    """Put a sample where Codex would have written it."""
    path = rollout(home, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(SAMPLES / f"{name}.jsonl", path)
    return path


def compress(path: Path) -> None:
    path.with_name(path.name + ".zst").write_bytes(zstandard.compress(path.read_bytes()))
    path.unlink()


def decompress(path: Path) -> None:
    packed = path.with_name(path.name + ".zst")
    path.write_bytes(zstandard.decompress(packed.read_bytes(), max_output_size=1 << 24))
    packed.unlink()


def archive(path: Path) -> Path:
    moved = path.parents[4] / "archived_sessions" / path.name
    moved.parent.mkdir(exist_ok=True)
    return path.rename(moved)


def new_events(report: Report) -> int:
    source = report.sources["codex"]
    assert (source.failed, source.problems) == ("", [])
    return source.events


def shown(session: str) -> list[tuple[Any, ...]]:
    query = "SELECT kind, role, text FROM visible_event e JOIN session s ON s.id = e.session_id WHERE s.session_id = ?"
    return sql.rows(f"{query} AND kind <> 'meta' ORDER BY ordinal", (f"codex:{session}",))


def said(session: str) -> list[str]:
    return [str(text) for kind, _, text in shown(session) if kind == "message"]


def test_a_thread_is_one_file_and_one_session_whatever_happens_to_its_file(store: Path, agent_home: AgentHome) -> None:
    path = place(agent_home, "conversation")
    assert new_events(agent_home.sync()) > 0
    before = contents(store)
    steps: list[Callable[[], object]] = [
        lambda: compress(path),
        lambda: decompress(path),
        lambda: archive(path),
        lambda: compress(agent_home.path / ".codex/archived_sessions" / path.name),
    ]
    for step in steps:
        step()
        assert new_events(agent_home.sync()) == 0
    assert sql.rows("SELECT count(*) FROM raw_file") == [(1,)]
    assert {part: contents(store)[part] for part in ("events", "sessions")} == {
        part: before[part] for part in ("events", "sessions")
    }


@pytest.mark.parametrize("kept", ["plain", "compressed", "archived"])
def test_every_copy_of_a_thread_gives_the_same_store(store: Path, agent_home: AgentHome, kept: str) -> None:
    path = place(agent_home, "conversation")
    if kept == "compressed":
        compress(path)
    elif kept == "archived":
        archive(path)
    agent_home.sync()
    ids = [row[0] for row in sql.rows("SELECT event_id FROM event ORDER BY ordinal")]
    assert ids[:2] == [f"codex:{FIRST}/2-65dd866e", f"codex:{FIRST}/3-d008bf3f"]
    assert len(ids) == 14


def test_a_resumed_thread_is_read_on_after_it_was_compressed(store: Path, agent_home: AgentHome) -> None:
    path = place(agent_home, "conversation")
    agent_home.sync()
    compress(path)
    agent_home.sync()
    decompress(path)
    more = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "and the oil?"}]}
    with path.open("a") as file:
        file.write(json.dumps({"timestamp": "2026-06-02T08:00:00Z", "type": "response_item", "payload": more}) + "\n")
    assert new_events(agent_home.sync()) == 1
    assert said(FIRST)[-1] == "and the oil?"


def test_what_the_interface_was_told_is_shown_only_where_nothing_else_says_it(
    store: Path, agent_home: AgentHome
) -> None:
    place(agent_home, "conversation")
    agent_home.sync()
    assert [(kind, role) for kind, role, _ in shown(FIRST)] == [
        ("message", "user"),
        ("message", "assistant"),
        ("tool_call", "assistant"),
        ("tool_result", "tool"),
        ("tool_call", "assistant"),
        ("tool_result", "tool"),
        ("message", "assistant"),
    ]
    assert said(FIRST)[0] == "why does the lamp smoke?"


@pytest.mark.parametrize("order", list(itertools.permutations(FILES)))
def test_a_fork_and_a_sub_agent_show_only_what_is_their_own(
    store: Path, agent_home: AgentHome, order: tuple[str, ...]
) -> None:
    for name in order:
        place(agent_home, name)
        agent_home.sync()
    assert said(FIRST)[0] == "why does the lamp smoke?"
    assert said(FORK) == ["no, look at the oil", "The oil is fine."]
    assert sql.rows("SELECT parent FROM session WHERE session_id = ?", (f"codex:{FORK}",)) == [("",)]
    assert said(f"{FIRST}/{AGENT}")[-2:] == ["Look at the oil.", "The oil is fine."]


def test_a_replay_whose_original_is_gone_stays(store: Path, agent_home: AgentHome) -> None:
    place(agent_home, "fork")
    agent_home.sync()
    assert said(FORK)[0] == "why does the lamp smoke?"


def title() -> str:
    return str(sql.rows("SELECT title FROM session WHERE session_id = ?", (f"codex:{FIRST}",))[0][0])


def test_a_thread_is_called_by_the_last_of_its_names(store: Path, agent_home: AgentHome) -> None:
    path = place(agent_home, "conversation")
    agent_home.sync()
    assert title() == "The smoking lamp"
    entry = {"id": FIRST, "thread_name": "The lamp", "updated_at": "2026-06-01T10:00:00Z"}
    (path.parents[4] / "session_index.jsonl").write_text(json.dumps(entry) + "\n")
    agent_home.sync()
    assert title() == "The lamp"
    database = sqlite3.connect(path.parents[4] / "state_5.sqlite")
    database.execute("CREATE TABLE threads (id TEXT, title TEXT, updated_at INTEGER, first_user_message TEXT)")
    database.execute(
        "INSERT INTO threads VALUES (?, 'The lamp burns', 1780315200, 'why does the lamp smoke?')", (FIRST,)
    )
    database.commit()
    database.close()
    agent_home.sync()
    assert title() == "The lamp burns"
    assert agent_home.sync().sources["codex"].bytes == 0


def test_a_broken_database_costs_one_line_and_not_the_sync(store: Path, agent_home: AgentHome) -> None:
    path = place(agent_home, "conversation")
    (path.parents[4] / "state_5.sqlite").write_bytes(b"no database at all, " * 300)
    report = agent_home.sync().sources["codex"]
    assert report.events == 14
    assert report.failed == ""
    assert len(report.problems) == 1
    assert "state_5.sqlite" in report.problems[0]


def test_a_compressed_log_that_is_damaged_costs_one_line(store: Path, agent_home: AgentHome) -> None:
    path = place(agent_home, "conversation")
    other = place(agent_home, "fork")
    compress(other)
    damaged = other.with_name(other.name + ".zst")
    damaged.write_bytes(b"\x28\xb5\x2f\xfd" + os.urandom(200))
    report = agent_home.sync().sources["codex"]
    assert path.exists()
    assert report.events == 14
    assert len(report.problems) == 1
    assert damaged.name in report.problems[0]


@pytest.mark.parametrize("left", [0.0, 0.3, 0.9, "all but one byte"])
def test_a_compressed_log_that_breaks_off_is_one_sentence_and_goes_on_when_it_is_whole(
    store: Path, agent_home: AgentHome, left: float | str
) -> None:
    path = place(agent_home, "conversation")
    compress(path)
    packed = path.with_name(path.name + ".zst")
    whole = packed.read_bytes()
    packed.write_bytes(whole[:-1] if isinstance(left, str) else whole[: int(len(whole) * left)])
    for _ in range(2):
        report = agent_home.sync().sources["codex"]
        assert report.failed == ""
        [problem] = report.problems
        assert (str(packed) in problem, "breaks off" in problem) == (True, True)
    packed.write_bytes(whole)
    agent_home.sync()
    plain = zstandard.decompress(whole, max_output_size=1 << 24)
    [(held,)] = sql.rows("SELECT bytes FROM raw_file WHERE source = 'codex'")
    assert held == len(plain)
    assert agent_home.sync().sources["codex"].problems == []
