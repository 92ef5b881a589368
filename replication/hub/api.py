"""The routes of a hub: `/v1` for stores, `/mcp` for agents. Strict types, and a permission declared by every route."""

import base64
import binascii
import hashlib
import logging
import time
from typing import Any, Literal

import msgspec
from django.http import HttpRequest, HttpResponse
from ninja import NinjaAPI, Router, Schema
from ninja.errors import AuthenticationError, HttpError, ValidationError
from ninja.parser import Parser
from pydantic import ConfigDict

from ingest.adapters import ADAPTERS
from memory import devices
from memory.access.tokens import Principal
from memory.actor import Actor
from memory.archive import RawKey
from memory.devices import Chunk, Hello
from memory.errors import Conflict, Denied, InvalidInput, NotFound, OriginError, Refused
from memory.failures import explain
from memory.records import identity
from replication.hub import client, limits, mcp_http
from replication.hub.answers import answer, refusal
from replication.hub.auth import Bearer, Closed, TooManyAttempts
from replication.mcp_server import VERSION

PROTOCOL = 1
_log = logging.getLogger("origin.hub")
_PARSERS = {adapter.source: adapter.parse_line for adapter in ADAPTERS}
_DEEPEST = 8


class Strict(Schema):
    """A body: a number is no text, and a field that is not known is refused."""

    model_config = ConfigDict(strict=True, extra="forbid")


class HelloBody(Strict):
    """What a store says of itself before it sends anything. `now` is its clock in milliseconds since 1970."""

    protocol: int
    store: str
    incarnation: str
    name: str
    kind: Literal["device", "relay"]
    now: int
    version: str = ""


class ChunkBody(Strict):
    """One chunk; `data` is base64, `sha256` the hex digest of what it decodes to."""

    source: str
    path: str
    relPath: str
    generation: int
    offset: int
    sha256: str
    mtimeMs: int
    agentVersion: str
    data: str
    form: str
    firstSeen: str


class DecodingParser(Parser):
    """Reads a JSON body that may be compressed."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """Return the body. Raises `InvalidInput` and `limits.TooLarge`."""
        most = limits.most_bytes(long_line=limits.LONG_LINE_HEADER in request.headers)
        body = limits.decode(request.body, request.headers.get("Content-Encoding", ""), most)
        try:
            decoded = msgspec.json.decode(body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise InvalidInput("body", "The body is not JSON.") from None
        if not isinstance(decoded, dict) or _depth(decoded) > _DEEPEST:
            raise InvalidInput("body", "The body is not an object of the kind that this address takes.")
        return decoded


def _depth(value: object) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


api = NinjaAPI(
    title="Origin", urls_namespace="hub", docs_url=None, openapi_url=None, auth=Closed(), parser=DecodingParser()
)
router = Router()


@router.post("/hello", auth=Bearer("ingest"))
def hello(request: HttpRequest, body: HelloBody) -> HttpResponse:
    """Take note of a store, and tell it who the hub is and what it takes."""
    if body.protocol != PROTOCOL:
        return answer({"error": "protocol", "protocol": PROTOCOL}, 426)
    principal = _principal(request)
    told = Hello(body.store, body.incarnation, body.name, body.kind, body.now, body.version)
    devices.hello(told, principal, _actor(request, body.name), time.time_ns() // 1_000_000)
    hub = {"hub": identity.store_uuid(), "now": time.time_ns() // 1_000_000, "protocol": PROTOCOL}
    return answer(hub | {"limits": {"chunk": limits.CHUNK_BYTES, "line": limits.LONGEST_LINE}})


@router.get("/cursors", auth=Bearer("ingest"))
def cursors(request: HttpRequest, after: int = 0) -> HttpResponse:
    """Tell a store how far each of its files is held here."""
    files, following = devices.cursors(_store(request), after)
    return answer({"files": [file._asdict() for file in files], "next": following})


@router.post("/ingest", auth=Bearer("ingest"))
def ingest(request: HttpRequest, body: ChunkBody) -> HttpResponse:
    """Take in one chunk, or say where the file stands."""
    parse_line = _PARSERS.get(body.source)
    if parse_line is None:
        raise InvalidInput("source", "This hub does not know the source; update it.")
    store = _store(request)
    chunk = Chunk(
        body.source, body.relPath, body.generation, body.offset, _data(body), body.form, body.path, body.firstSeen
    )
    try:
        appended = devices.ingest(store, chunk, parse_line)
    except Conflict:
        held, tail = devices.tail_of(RawKey(store, body.source, body.relPath, body.generation))
        return answer({"error": "offset", "bytes": held, "tailSha256": tail}, 409)
    return answer({"bytes": appended.bytes, "eventsAdded": appended.events, "malformed": appended.malformed})


def _data(body: ChunkBody) -> bytes:
    try:
        data = base64.b64decode(body.data, validate=True)
    except binascii.Error:
        raise InvalidInput("data", "The data is not base64.") from None
    if hashlib.sha256(data).hexdigest() != body.sha256:
        raise InvalidInput("sha256", "The data is not what its digest says.")
    return data


api.add_router("/v1", router)


@api.get("/healthz", auth=None)
def healthz(request: HttpRequest) -> HttpResponse:
    """Say that the hub answers, to whoever asks; nothing of the store."""
    return answer({"ok": True, "version": VERSION})


@api.post("/mcp", auth=Bearer("read"))
def mcp(request: HttpRequest) -> HttpResponse:
    """Answer an agent. A GET, which would open a stream without end, is answered 405 by there being none."""
    return mcp_http.answer(request, _principal(request))


# What every route shares


def _principal(request: HttpRequest) -> Principal:
    principal: Principal = request.auth  # type: ignore[attr-defined]
    return principal


def _store(request: HttpRequest) -> str:
    """Return the store that the token is bound to, which a device's first hello decides."""
    if not _principal(request).store:
        raise Denied("Say hello first: this token is not bound to a store yet.")
    return _principal(request).store


def _actor(request: HttpRequest, device: str) -> Actor:
    return Actor("hub", device, "api", device, client.address(request), client.program(request))


# Errors


_STATUS: dict[type[OriginError], tuple[str, int]] = {
    Refused: ("forgotten", 409),
    Conflict: ("conflict", 409),
    Denied: ("denied", 403),
    NotFound: ("not_found", 404),
    InvalidInput: ("invalid", 422),
}


@api.exception_handler(OriginError)
def on_origin_error(request: HttpRequest, error: OriginError) -> HttpResponse:
    """Say what was wrong; the names of internals stay inside."""
    kind, status = next((how for of, how in _STATUS.items() if isinstance(error, of)), ("failed", 500))
    return refusal(status, kind, str(error))


@api.exception_handler(ValidationError)
def on_invalid_body(request: HttpRequest, error: ValidationError) -> HttpResponse:
    """Name the fields that were wrong, and not what stood in them."""
    names = sorted({str(found["loc"][-1]) for found in error.errors})
    return refusal(422, "invalid", f"These fields cannot be used: {', '.join(names)[:200]}.")


@api.exception_handler(AuthenticationError)
def on_no_token(request: HttpRequest, error: AuthenticationError) -> HttpResponse:
    """Ask for a token."""
    return refusal(401, "unauthorized", "A token of this hub is needed.", WWW_Authenticate="Bearer")


@api.exception_handler(TooManyAttempts)
def on_too_many(request: HttpRequest, error: TooManyAttempts) -> HttpResponse:
    """Make a client wait."""
    return refusal(429, "too_many", str(error), Retry_After=str(error.seconds))


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    """Say what was wrong with a body that could not be read; the parser's own error is the cause of Ninja's."""
    cause = error.__cause__
    if isinstance(cause, limits.TooLarge):
        return refusal(413, "too_large", "The body is larger than this hub takes.")
    return refusal(error.status_code, "invalid", str(cause) if isinstance(cause, OriginError) else error.message)


@api.exception_handler(Exception)
def on_failure(request: HttpRequest, error: Exception) -> HttpResponse:
    """Say what a full disk or a busy database needs, and of anything else nothing but that it failed."""
    if explained := explain(error):
        return refusal(507 if "full" in explained else 503, "unavailable", explained)
    _log.exception("a request failed")
    return refusal(500, "failed", "The hub failed to answer, and says why in its log.")
