"""Two agents and one store: what one remembers of a conversation under way, the other finds with its source line."""

import asyncio
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from tests.conftest import AgentHome, assistant, session_uuid, user
from tests.replication.wire import ROOT, Wire, environment

# Writes half of a conversation, waits, says something, and keeps the file open in the middle of its next line.
TALK = """
import sys, time
first, second, torn = sys.stdin.read().split("\\0")
with open(sys.argv[1], "a") as log:
    log.write(first); log.flush()
    time.sleep(1)
    log.write(second + torn); log.flush()
    print("said", flush=True)
    time.sleep(60)
"""


def lines(*records: dict[str, object]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_an_agent_remembers_what_was_just_said_and_another_finds_it(tmp_path: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    log = agent_home.log(session)
    said = (
        lines(user(1, "hello", session)),
        lines(user(2, "Name the release Heron, since the bird came by.", session)),
        json.dumps(assistant(3, "Heron it is, and", session))[:60],
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", TALK, str(log)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdin
    assert writer.stdout
    writer.stdin.write("\0".join(said))
    writer.stdin.close()
    variables = environment(tmp_path / "origin", agent_home.path)
    with Wire(variables) as one, Wire(variables) as other:
        one.initialize()
        other.initialize()
        one.ask("search", query="hello")
        assert writer.stdout.readline() == "said\n"
        source = {"quote": "the bird came by"}
        receipt = one.ask("remember", kind="memory", text="The release is called Heron.", sources=[source])["receipt"]
        assert (receipt["outcome"], receipt["trust"], "not_read" in receipt) == ("created", "accepted", False)
        [entry] = other.ask("search", query="what is the release called?")["entries"]
        assert (entry["id"], entry["author"].partition("@")[0]) == (receipt["id"], "test-client")
        [line] = other.ask("sources", id=entry["id"])["lines"]
        assert (line["file"], line["line"]) == (str(log), 2)
        assert "the bird came by" in line["text"]
    writer.kill()
    writer.wait()


def test_one_key_from_two_processes_at_once_is_one_entry(tmp_path: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    agent_home.write(session, user(1, "Name the release Heron, since the bird came by.", session))
    variables = environment(tmp_path / "origin", agent_home.path)
    arguments = {
        "kind": "memory",
        "text": "The release is called Heron.",
        "sources": [{"quote": "the bird came by"}],
        "idempotency_key": "heron",
    }
    with Wire(variables) as one, Wire(variables) as other:
        for wire in (one, other):
            wire.initialize()
            wire.send("tools/call", {"name": "remember", "arguments": arguments})
        receipts = [json.loads(wire.receive()["result"]["content"][0]["text"])["receipt"] for wire in (one, other)]
        assert receipts[0]["id"] == receipts[1]["id"]
        assert len(one.ask("search", query="release", **{"in": "entries"})["entries"]) == 1


def test_a_server_that_may_only_read_refuses_to_write(tmp_path: Path, agent_home: AgentHome) -> None:
    session = session_uuid(1)
    agent_home.write(session, user(1, "Name the release Heron.", session))
    with Wire(environment(tmp_path / "origin", agent_home.path), "--read-only") as wire:
        wire.initialize()
        result = wire.call("remember", {"kind": "memory", "text": "Heron.", "sources": [{"quote": "release Heron"}]})
        assert (result["isError"], "read" in result["content"][0]["text"]) == (True, True)


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
def test_the_author_is_the_client_in_either_era(tmp_path: Path, agent_home: AgentHome, era: Any) -> None:
    session = session_uuid(1)
    agent_home.write(session, user(1, "Name the release Heron.", session))
    variables = environment(tmp_path / "origin", agent_home.path, ORIGIN_DEVICE="den")
    parameters = StdioServerParameters(command=sys.executable, args=[str(ROOT / "manage.py"), "mcp"], env=variables)
    arguments = {"kind": "memory", "text": "Heron.", "sources": [{"quote": "release Heron"}]}

    async def run() -> str:
        from mcp_types import Implementation

        who = Implementation(name="Cursor Agent", version="2")
        async with Client(parameters, mode=era, client_info=who) as client:
            await client.call_tool("remember", arguments)
            found = await client.call_tool("search", {"query": "heron", "in": "entries"})
            text = found.content[0].text  # type: ignore[union-attr]
            assert isinstance(text, str)
            return text

    started = time.monotonic()
    [entry] = json.loads(asyncio.run(run()))["entries"]
    assert entry["author"] == "cursor-agent@den"
    assert time.monotonic() - started < 60
