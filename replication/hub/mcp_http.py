"""`POST /mcp`: the tools over Streamable HTTP, stateless, by the same server object as over a pipe.

Each request gets a session manager of its own on the thread that answers it, so that a tool runs on the request's
connection and transaction (lab-mcp 2, ii-a). The SDK speaks both eras of the protocol and checks its headers.
"""

import asyncio
import logging
from functools import cache
from typing import Any

from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings

from memory.access.tokens import Principal
from memory.actor import Actor, agent_name
from memory.times import process_zone, zone_named
from replication.hub import client
from replication.mcp_server import Context, build_server
from replication.stdio import client_of

_CALLER = "origin.caller"
for _name in ("mcp.server.streamable_http_manager", "mcp.server.streamable_http"):
    logging.getLogger(_name).setLevel(logging.WARNING)


def answer(request: HttpRequest, principal: Principal) -> HttpResponse:
    """Answer one request of an agent that has shown a token."""
    status, headers, body = async_to_sync(_exchange)(_scope(request, principal), request.body)
    response = HttpResponse(body, status=status)
    for name, value in headers:
        response[name.decode("latin-1")] = value.decode("latin-1")
    return response


def _scope(request: HttpRequest, principal: Principal) -> dict[str, Any]:
    headers = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.items()]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": request.method,
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": (client.address(request), 0),
        "server": (request.get_host(), 0),
        _CALLER: (principal, request),
    }


async def _exchange(scope: dict[str, Any], body: bytes) -> tuple[int, list[tuple[bytes, bytes]], bytes]:
    """Run one ASGI exchange in memory."""
    pieces: list[bytes] = []
    start: dict[str, Any] = {}
    asked = False

    async def receive() -> dict[str, Any]:
        nonlocal asked
        if asked:
            await asyncio.Event().wait()  # the client is still there: it waits for the answer
        asked = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            start.update(message)
        else:
            pieces.append(message.get("body", b""))

    manager = StreamableHTTPSessionManager(_server(), json_response=True, stateless=True, security_settings=_security())
    async with manager.run():
        await manager.handle_request(scope, receive, send)
    return start["status"], list(start["headers"]), b"".join(pieces)


@cache
def _server() -> Server:
    async def run(name: str, arguments: dict[str, Any], context: Context) -> str:
        return await sync_to_async(_call, thread_sensitive=True)(name, arguments, context)

    return build_server(run)


def _call(name: str, arguments: dict[str, Any], context: Context) -> str:
    from memory.tools import call

    assert context.request is not None, "over HTTP every call has a request"
    principal, request = context.request.scope[_CALLER]
    principal.require("read")
    zone = zone_named(named) if (named := request.headers.get("X-Origin-Timezone")) else process_zone()
    return call(name, arguments, principal.scope, zone, _actor(principal, request, context))


def _actor(principal: Principal, request: HttpRequest, context: Context) -> Actor:
    """Name the agent: by what it says of itself in the call, else in a header, else by its token (spec 5, author)."""
    said = client_of(context) or request.headers.get("X-Origin-Client", "")
    name = said or client.program(request).partition("/")[0] or principal.name
    return Actor("agent", agent_name(name), "mcp", principal.name, client.address(request), client.program(request))


def _security() -> TransportSecuritySettings:
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=list(settings.ORIGIN_HOSTS),
        allowed_origins=list(settings.ORIGIN_ORIGINS),
    )
