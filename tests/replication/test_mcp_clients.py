"""The official Python client against a real server process, in every era of the protocol that clients speak."""

import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters

from replication import mcp_server
from tests.replication.conftest import Archived
from tests.replication.wire import ROOT, Wire, environment


def with_client(archived: Archived, mode: str, act: Callable[[Client], Awaitable[None]]) -> None:
    """Start a server, connect a client to it and do something with that."""
    process = StdioServerParameters(
        command=sys.executable,
        args=[str(ROOT / "manage.py"), "mcp"],
        env=environment(archived.store, archived.person),
        cwd=archived.person,
    )

    async def run() -> None:
        async with Client(process, mode=mode, read_timeout_seconds=60) as client:
            await act(client)

    anyio.run(run)


async def ask(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert not result.is_error, content.text
    assert result.structured_content is None
    answer: dict[str, Any] = json.loads(content.text)
    return answer


@pytest.mark.parametrize(
    ("mode", "version"), [("auto", "2026-07-28"), ("2026-07-28", "2026-07-28"), ("legacy", "2025-11-25")]
)
def test_the_python_client_lists_and_calls_every_tool(mode: str, version: str, archived: Archived) -> None:
    async def act(client: Client) -> None:
        assert client.protocol_version == version
        assert (await client.list_tools()).tools == mcp_server.listed()
        event = (await ask(client, "search", query="heron database"))["hits"][0]["id"]
        assert len((await ask(client, "timeline", since="2026-01-01"))["sessions"]) == 3
        assert (await ask(client, "get", id=event))["event"]["id"] == event
        assert (await ask(client, "sources", id=event))["lines"][0]["line"] == 1
        with pytest.raises(MCPError, match="Unknown tool: nope"):
            await client.session.send_request(
                types.CallToolRequest(params=types.CallToolRequestParams(name="nope")), types.CallToolResult
            )

    with_client(archived, mode, act)


def test_a_client_without_a_handshake_is_told_what_the_server_is_for(archived: Archived) -> None:
    """Revision 2026-07-28 has no initialize: what it said comes with server/discover, and lists may be kept a while."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "test-client", "version": "1"},
    }
    with Wire(environment(archived.store, archived.person)) as wire:
        discovered = wire.request("server/discover", {"_meta": meta})["result"]
        listed = wire.request("tools/list", {"_meta": meta})["result"]
        called = wire.request("tools/call", {"_meta": meta, "name": "search", "arguments": {"query": "heron"}})[
            "result"
        ]

    assert "Search before you ask" in discovered["instructions"]
    assert listed["ttlMs"] == 300_000
    assert listed["cacheScope"] == "private"
    assert called["resultType"] == "complete"
    assert json.loads(called["content"][0]["text"])["hits"]
