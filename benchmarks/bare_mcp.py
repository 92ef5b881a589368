"""The least that a server of the SDK's low-level class can be, without Django: what `benchmarks.mcp` measures by."""

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

Context = ServerRequestContext[object, object]
ECHO = types.Tool(name="echo", description="Say it again.", input_schema={"type": "object"})


async def list_tools(_: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    """List the one tool."""
    return types.ListToolsResult(tools=[ECHO])


async def call_tool(_: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Answer with the arguments."""
    return types.CallToolResult(content=[types.TextContent(type="text", text=str(params.arguments))])


async def main() -> None:
    """Serve until stdin closes."""
    server = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)
    async with stdio_server() as (requests, answers):
        await server.run(requests, answers, server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(main)
