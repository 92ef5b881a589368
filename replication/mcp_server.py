"""The MCP server of every transport: the protocol on one side, the tools of `memory` and a function that runs them."""

import sys
import traceback
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any

import django
import mcp_types as types
from asgiref.sync import sync_to_async
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from memory.errors import OriginError
from memory.instructions import INSTRUCTIONS

NAME = "origin"
# Not read from the distribution: a checkout has none, and looking for it takes time at start.
VERSION = "0.1.0"
# How long a client may keep the list of tools (revision 2026-07-28); it only changes with a release.
LIST_HINT = CacheHint(ttl_ms=300_000, scope="private")

Context = ServerRequestContext[Any, Any]
# Runs one tool, by name, for whoever the context says, and returns its answer as JSON text.
# An `OriginError` it raises is shown to the agent; anything else is not.
Run = Callable[[str, dict[str, Any], Context], Awaitable[str]]

_UNEXPECTED = "Origin failed to answer this call, and says why in its log (stderr). Other calls may still work."


def build_server(run: Run) -> Server:
    """Return a server that lists the tools itself and has `run` answer their calls.

    It does not load the tools, or Django, before a client asks for them.
    """

    async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=await sync_to_async(listed)())

    async def call_tool(context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        if params.name not in {tool.name for tool in await sync_to_async(listed)()}:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name[:100]}")
        try:
            return _result(await run(params.name, params.arguments or {}, context))
        except MCPError:
            raise
        except Exception as error:
            return _result(_sentence(error), is_error=True)

    return Server(
        NAME,
        version=VERSION,
        title="Origin",
        instructions=INSTRUCTIONS,
        cache_hints={"tools/list": LIST_HINT},
        # Without it every call over HTTP lists the tools to look for header parameters, which ours have none of.
        get_tool_input_schema=lambda name: None,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


@cache
def listed() -> list[types.Tool]:
    """Return the tools as the protocol lists them, always in the same order."""
    django.setup()  # does nothing where Django is set up
    from memory.tools import TOOLS

    return [
        types.Tool(
            name=tool.name,
            title=tool.title,
            description=tool.description,
            input_schema=tool.input_schema(),
            annotations=types.ToolAnnotations(
                read_only_hint=tool.read_only,
                destructive_hint=tool.destructive,
                idempotent_hint=tool.idempotent,
                open_world_hint=False,
            ),
        )
        for tool in TOOLS
    ]


def _result(text: str, *, is_error: bool = False) -> types.CallToolResult:
    # A path in a sentence may hold half a character; one in an answer would end the connection.
    text = text.encode("utf-8", "replace").decode()
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=is_error)


def _sentence(error: Exception) -> str:
    """Say to the agent what went wrong; what only helps whoever repairs it goes to stderr."""
    if isinstance(error, OriginError):
        return str(error)
    traceback.print_exception(error, file=sys.stderr)
    # Loaded here, since it loads Django, which the first answers of a server do without.
    from memory.failures import explain

    return explain(error) or _UNEXPECTED
