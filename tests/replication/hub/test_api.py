"""`/v1` over a real socket: who is let in, what is taken, and how each refusal is said."""

import base64
import gzip
import hashlib
import json
from typing import Any

import pytest
import zstandard

from tests.conftest import session_uuid, user
from tests.replication.hub.conftest import Hub

STORE = "0b5e77aa-0000-4000-8000-000000000001"
SESSION = session_uuid(1)
LINES = b"".join(json.dumps(user(n, f"line {n} of the plan", SESSION)).encode() + b"\n" for n in range(1, 6))


def hello(store: str = STORE, name: str = "laptop", **fields: object) -> dict[str, object]:
    """Return what a store says first."""
    told = {"protocol": 1, "store": store, "incarnation": "a1", "name": name, "kind": "device", "now": 1}
    return told | fields


def chunk(data: bytes = LINES, offset: int = 0, name: str = SESSION, **fields: object) -> dict[str, object]:
    """Return one chunk of an invented Claude Code log."""
    return {
        "source": "claude-code",
        "path": f"/home/ann/.claude/projects/-w-app/{name}.jsonl",
        "relPath": f"projects/-w-app/{name}.jsonl",
        "generation": 0,
        "offset": offset,
        "sha256": hashlib.sha256(data).hexdigest(),
        "mtimeMs": 1,
        "agentVersion": "2.1.140",
        "data": base64.b64encode(data).decode(),
        "form": "lines",
        "firstSeen": "2026-05-01T00:00:00.000Z",
    } | fields


@pytest.fixture(scope="module")
def device(hub: Hub) -> str:
    """The token of a device that has said hello."""
    token = hub.token("laptop")
    assert hub.ask("POST", "/v1/hello", hello(), token=token).status == 200
    return token


def test_a_chunk_is_held_found_and_opened(hub: Hub, device: str) -> None:
    answer = hub.ask("POST", "/v1/ingest", chunk(), token=device)
    assert (answer.status, answer.json) == (200, {"bytes": len(LINES), "eventsAdded": 5, "malformed": 0})
    again = hub.ask("POST", "/v1/ingest", chunk(), token=device)
    tail = hashlib.sha256(LINES[-4096:]).hexdigest()
    assert (again.status, again.json) == (409, {"error": "offset", "bytes": len(LINES), "tailSha256": tail})
    [held] = [file for file in hub.ask("GET", "/v1/cursors", token=device).json["files"] if SESSION in str(file)]
    assert (held["bytes"], held["tail_sha256"]) == (len(LINES), tail)
    mirrors = list((hub.home / "raw" / "devices" / STORE).iterdir())
    assert any(
        zstandard.ZstdDecompressor().stream_reader(path.read_bytes(), read_across_frames=True).read() == LINES
        for path in mirrors
    )


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_body_may_be_compressed(hub: Hub, device: str, encoding: str) -> None:
    pack = gzip.compress if encoding == "gzip" else zstandard.ZstdCompressor().compress
    body = pack(json.dumps(chunk(name=f"packed-{encoding}")).encode())
    assert hub.ask("POST", "/v1/ingest", body, token=device, Content_Encoding=encoding).json["bytes"] == len(LINES)
    bomb = pack(b'{"source": "' + b"x" * (80 << 20) + b'"}')
    assert hub.ask("POST", "/v1/ingest", bomb, token=device, Content_Encoding=encoding).status == 413
    assert hub.ask("POST", "/v1/ingest", body[:-2], token=device, Content_Encoding=encoding).status == 400


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"source": "notepad"}, 422),
        ({"relPath": "../../etc/passwd"}, 422),
        ({"relPath": "/etc/passwd"}, 422),
        ({"relPath": "a\\b"}, 422),
        ({"relPath": "a/\u0000"}, 422),
        ({"relPath": "a/" + "x" * 256}, 422),
        ({"relPath": "a./b"}, 422),
        ({"offset": -1}, 422),
        ({"offset": "0"}, 422),
        ({"offset": True}, 422),
        ({"offset": 1 << 70}, 422),
        ({"offset": 7}, 409),
        ({"generation": -1}, 422),
        ({"sha256": "0" * 64}, 422),
        ({"data": "not base64!"}, 422),
        ({"form": "tape"}, 422),
        ({"firstSeen": "yesterday"}, 422),
        ({"surprise": 1}, 422),
        ({"data": None}, 422),
    ],
)
def test_what_no_device_sends_is_refused_with_a_reason(
    hub: Hub, device: str, change: dict[str, object], status: int
) -> None:
    answer = hub.ask("POST", "/v1/ingest", chunk(name="refused") | change, token=device)
    assert answer.status == status, answer.body
    assert answer.json["error"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b'{"a":' * 5000, b"{}"])
def test_a_body_that_is_no_object_is_refused(hub: Hub, device: str, body: bytes) -> None:
    assert hub.ask("POST", "/v1/ingest", body, token=device).status in (400, 411, 422)


class TestWhoIsLetIn:
    def test_nobody_without_a_token(self, hub: Hub) -> None:
        for method, path in (("POST", "/v1/hello"), ("GET", "/v1/cursors"), ("POST", "/v1/ingest"), ("POST", "/mcp")):
            answer = hub.ask(method, path, {} if method == "POST" else None)
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer"), path
        assert hub.ask("GET", "/healthz").json["ok"] is True

    def test_no_token_in_an_address(self, hub: Hub) -> None:
        assert hub.ask("GET", f"/v1/cursors?token={hub.token('laptop')}").status == 400

    def test_a_token_without_the_scope(self, hub: Hub) -> None:
        reader = hub.token("reader", "read")
        assert hub.ask("POST", "/v1/hello", hello(), token=reader).status == 403
        assert hub.ask("GET", "/v1/cursors", token=reader).status == 403

    def test_another_store_with_a_bound_token_and_a_taken_name(self, hub: Hub, device: str) -> None:
        other = STORE.replace("1", "2")
        assert hub.ask("POST", "/v1/hello", hello(other), token=device).status == 403
        assert hub.ask("POST", "/v1/hello", hello(other, "desktop"), token=device).status == 403
        answer = hub.ask("POST", "/v1/hello", hello(other), token=hub.token("second"))
        assert (answer.status, "laptop-2" in answer.json["message"]) == (409, True)

    def test_an_older_protocol(self, hub: Hub, device: str) -> None:
        assert hub.ask("POST", "/v1/hello", hello(protocol=0), token=device).status == 426

    def test_the_wrong_host_is_told_the_fix(self, hub: Hub) -> None:
        answer = hub.ask("GET", "/healthz", Host="hub.example.org")
        assert (answer.status, "--public-url https://hub.example.org" in answer.json["message"]) == (421, True)
        for host in ("127.0.0.1", f"127.0.0.1.:{hub.port}", f"127.0.0.1:{hub.port + 1}", "a@b", ""):
            assert hub.ask("GET", "/healthz", Host=host).status in (400, 421), host

    def test_every_answer_says_that_it_is_not_to_be_kept_or_shown(self, hub: Hub, device: str) -> None:
        answers = [
            hub.ask("GET", "/healthz"),
            hub.ask("GET", "/nowhere"),
            hub.ask("GET", "/v1/ingest"),
            hub.ask("GET", "/v1/cursors"),
            hub.ask("GET", "/healthz", Host="elsewhere"),
            hub.ask("POST", "/v1/ingest", {}, token=device),
        ]
        assert [answer.status for answer in answers] == [200, 404, 405, 401, 421, 422]
        for answer in answers:
            assert "sandbox" in answer.headers["Content-Security-Policy"]
            assert answer.headers["Cache-Control"] == "no-store, private"
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
            assert not any(name.lower().startswith("access-control") for name in answer.headers)


def test_every_route_declares_a_permission() -> None:
    from replication.hub.api import api
    from replication.hub.auth import Bearer

    routes: list[Any] = [
        (path, operation)
        for prefix, router in api._routers
        for path, view in router.path_operations.items()
        for operation in view.operations
    ]
    assert len(routes) >= 5
    for path, operation in routes:
        declared = [check for check in operation.auth_callbacks if isinstance(check, Bearer)]
        assert declared or path == "/healthz", path
