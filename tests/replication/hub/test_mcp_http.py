"""`POST /mcp` over a real socket: the SDK's client in both eras, who it writes as, and what its token lets it do."""

import asyncio
import json
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import Implementation

from tests.commands import origin
from tests.conftest import AgentHome, session_uuid, user
from tests.replication.hub.conftest import Hub

ERAS = ["legacy", "2026-07-28"]
TOOLS = ["search", "timeline", "get", "sources", "remember", "correct", "forget"]


@pytest.fixture(scope="module")
def filled(hub: Hub) -> Hub:
    """A hub with sessions of two projects."""
    home = AgentHome(hub.person)
    for number, (project, text) in enumerate({"app": "Name the release Heron.", "shop": "Sell the walnut."}.items(), 1):
        session = session_uuid(number)
        home.write(session, user(number, text, session, cwd=f"/w/{project}"), project=f"-w-{project}")
    assert origin("sync", home=hub.home, person=hub.person).returncode == 0
    return hub


def ask(
    hub: Hub, token: str, tool: str, era: Any = "legacy", headers: dict[str, str] | None = None, **arguments: object
) -> Any:
    """Call one tool as an agent does and return (is an error, text), or the names of the tools for none."""

    async def run() -> Any:
        web = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}", **(headers or {})})
        transport = streamable_http_client(f"{hub.url}/mcp", http_client=web)
        who = Implementation(name="Cursor Agent", version="2")
        async with web, Client(transport, mode=era, client_info=who) as client:
            if not tool:
                return [each.name for each in (await client.list_tools()).tools]
            result = await client.call_tool(tool, arguments)
            return result.is_error, result.content[0].text  # type: ignore[union-attr]

    return asyncio.run(run())


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_listed_and_answer_without_any_header_of_ours(filled: Hub, era: str) -> None:
    token = filled.token("agent", "read", "write")
    assert ask(filled, token, "", era) == TOOLS
    failed, text = ask(filled, token, "search", era, query="release")
    assert (failed, "Name the release Heron." in text) == (False, True)


def test_times_are_in_the_callers_zone(filled: Hub) -> None:
    token = filled.token("agent", "read", "write")
    _, text = ask(filled, token, "search", headers={"X-Origin-Timezone": "+08:00"}, query="release")
    assert json.loads(text)["hits"][0]["at"].endswith("+08:00")
    failed, text = ask(filled, token, "search", headers={"X-Origin-Timezone": "Mars"}, query="release")
    assert (failed, "No such time zone" in text) == (True, True)


def test_a_write_is_by_the_client_at_the_token(filled: Hub) -> None:
    token = filled.token("agent", "read", "write")
    source = [{"quote": "release Heron"}]
    failed, text = ask(filled, token, "remember", "2026-07-28", kind="memory", text="It is Heron.", sources=source)
    assert (failed, json.loads(text)["receipt"]["outcome"]) == (False, "created")
    _, text = ask(filled, token, "search", query="heron")
    assert json.loads(text)["entries"][0]["author"] == "cursor-agent@agent"


def test_a_token_does_only_what_its_scopes_say(filled: Hub) -> None:
    reader = filled.token("reader-only", "read")
    source = [{"quote": "release Heron"}]
    for tool, arguments in (
        ("remember", {"kind": "memory", "text": "Once more.", "sources": source}),
        ("forget", {"id": f"claude-code:{session_uuid(1)}", "reason": "no"}),
    ):
        failed, text = ask(filled, reader, tool, **arguments)
        assert (failed, "may" in text) == (True, True), tool
    shipper = filled.token("shipper", "ingest")
    assert filled.ask("POST", "/mcp", {}, token=shipper).status == 403


def test_a_token_of_one_project_sees_no_other(filled: Hub) -> None:
    made = origin("token", "--json", "create", "shop-agent", "--scope", "read", "--project", "shop", home=filled.home)
    token = json.loads(made.stdout)["token"]
    assert "walnut" in ask(filled, token, "search", query="sell")[1]
    asked: list[dict[str, Any]] = [
        {"tool": "search", "query": "release heron"},
        {"tool": "timeline", "since": "2020-01-01"},
    ]
    for arguments in asked:
        assert "Heron" not in ask(filled, token, **arguments)[1]


@pytest.mark.parametrize("origin_header", ["https://evil.example", "null"])
def test_a_page_of_another_site_is_refused(filled: Hub, origin_header: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Origin": origin_header, "Accept": "application/json, text/event-stream"}
    assert filled.ask("POST", "/mcp", body, token=filled.token("agent", "read", "write"), **headers).status == 403


def test_a_stream_is_not_opened(filled: Hub) -> None:
    assert filled.ask("GET", "/mcp", token=filled.token("agent", "read", "write")).status == 405
