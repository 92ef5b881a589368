"""The protocol side: what the tools look like to a client and how every way to fail is said, over no transport."""

import errno
import json
import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPError

from memory.errors import Conflict, Denied, InvalidInput, NotFound, OriginError, Refused
from memory.instructions import INSTRUCTIONS
from memory.tools import TOOLS
from replication import mcp_server
from replication.mcp_server import Context, build_server
from tests.commands import database_error
from tests.replication.wire import ROOT, Message

GOLDEN = Path(__file__).parent / "tools_list.json"
HELPFUL = [
    InvalidInput("limit", "limit is wrong."),
    NotFound("gone."),
    Denied("no."),
    Refused("never."),
    Conflict("old."),
]


def listing() -> list[Message]:
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in mcp_server.listed()]


def call(run: mcp_server.Run, name: str = "search", arguments: dict[str, Any] | None = None) -> types.CallToolResult:
    """Call a tool of a server whose tools are `run`."""

    async def ask() -> types.CallToolResult:
        async with Client(build_server(run), mode="2026-07-28") as client:
            return await client.call_tool(name, arguments)

    return anyio.run(ask)


def failing(error: Exception) -> mcp_server.Run:
    async def run(name: str, arguments: dict[str, Any], context: Context) -> str:
        raise error

    return run


def words_of_schemas(value: object) -> Iterator[str]:
    """Every key and every type in a JSON document."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from words_of_schemas(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from words_of_schemas(inner)
    elif value is None:
        yield "null"
    elif isinstance(value, str):
        yield value


def test_the_list_of_tools_is_the_one_agreed_on_byte_for_byte() -> None:
    text = json.dumps(listing(), indent=1, ensure_ascii=False) + "\n"

    assert text == GOLDEN.read_text("utf-8"), "a changed tool is a changed contract: see the changelog, then the file"


def test_the_tools_fit_where_clients_cut() -> None:
    schemas = [json.dumps(tool["inputSchema"], separators=(",", ":")) for tool in listing()]

    assert sum(map(len, schemas[:4])) <= 5_000
    assert sum(map(len, schemas)) <= 8_000
    assert len(json.dumps(listing(), separators=(",", ":"))) <= 8_000
    assert all(len(tool["description"].encode()) < 2_048 for tool in listing())
    assert len(INSTRUCTIONS.encode()) < 2_048


@pytest.mark.parametrize("tool", listing(), ids=lambda tool: tool["name"])
def test_schemas_hold_nothing_that_a_client_chokes_on(tool: Message) -> None:
    schema = tool["inputSchema"]

    assert schema["type"] == "object"
    assert not {"anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "null"} & set(words_of_schemas(schema))
    assert "enum" not in schema
    assert all(isinstance(inner["type"], str) for inner in schema["properties"].values())
    assert "outputSchema" not in tool


@pytest.mark.parametrize("tool", listing(), ids=lambda tool: tool["name"])
def test_every_tool_gives_all_four_hints(tool: Message) -> None:
    hints = tool["annotations"]

    assert set(hints) == {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
    assert hints["openWorldHint"] is False
    assert hints["readOnlyHint"] is (tool["name"] not in ("remember", "correct", "forget"))
    assert hints["destructiveHint"] is (tool["name"] == "forget")


def test_every_tool_of_the_store_is_listed() -> None:
    assert [tool["name"] for tool in listing()] == [tool.name for tool in TOOLS]


def test_the_version_is_the_distribution_s() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert project["version"] == mcp_server.VERSION


def test_an_answer_is_one_text() -> None:
    async def run(name: str, arguments: dict[str, Any], context: Context) -> str:
        return json.dumps([name, arguments])

    result = call(run, "search", {"query": "x"})

    (content,) = result.content
    assert isinstance(content, types.TextContent)
    assert content.text == '["search", {"query": "x"}]'
    assert result.structured_content is None
    assert not result.is_error


def test_arguments_may_be_missing() -> None:
    async def run(name: str, arguments: dict[str, Any], context: Context) -> str:
        return json.dumps(arguments)

    assert shown(call(run, "timeline")) == "{}"


def shown(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("error", HELPFUL, ids=lambda error: type(error).__name__)
def test_the_agent_reads_the_sentence_of_an_error_raised_on_purpose(error: OriginError) -> None:
    result = call(failing(error))

    assert result.is_error
    assert shown(result) == str(error)


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (database_error(sqlite3.SQLITE_BUSY), "busy"),
        (database_error(sqlite3.SQLITE_BUSY_SNAPSHOT), "busy"),
        (database_error(sqlite3.SQLITE_FULL), "full"),
        (database_error(sqlite3.SQLITE_CORRUPT), "damaged"),
        (database_error(sqlite3.SQLITE_NOTADB), "damaged"),
        (database_error(sqlite3.SQLITE_READONLY), "permissions"),
        (OSError(errno.ENOSPC, "internal words"), "full"),
        (database_error(sqlite3.SQLITE_ERROR), "failed"),
        (ZeroDivisionError("internal words"), "failed"),
        (KeyError("internal words"), "failed"),
    ],
)
def test_an_unexpected_error_is_a_sentence_for_the_agent_and_a_traceback_for_the_log(
    error: Exception, word: str, capfd: pytest.CaptureFixture[str]
) -> None:
    result = call(failing(error))

    assert result.is_error
    assert word in shown(result)
    assert "internal words" not in shown(result)
    assert "Traceback" in capfd.readouterr().err


def test_half_a_character_in_a_sentence_does_not_end_the_connection() -> None:
    result = call(failing(NotFound("No file /tmp/\udcff is held.")))

    assert shown(result) == "No file /tmp/? is held."


@pytest.mark.parametrize("name", ["nope", "", "Search", "memory.search"])
def test_an_unknown_tool_is_an_error_of_the_protocol(name: str) -> None:
    async def refusal() -> MCPError:
        async with Client(build_server(failing(AssertionError("never run"))), mode="2026-07-28") as client:
            with pytest.raises(MCPError) as caught:
                await client.call_tool(name)
            return caught.value

    error = anyio.run(refusal)

    assert error.code == types.INVALID_PARAMS
    assert name in error.message
