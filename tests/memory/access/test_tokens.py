"""Tokens open what they say to whom they belong, and nothing once revoked; only their digest is kept."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.access import attempts, tokens
from memory.actor import Actor
from memory.errors import Conflict, Denied, InvalidInput, NotFound
from memory.models import ApiToken, AuditLog

OWNER = Actor(kind="owner", name="user", channel="cli", device="hub")


def test_a_token_opens_what_it_was_made_for(store: Path) -> None:
    token = tokens.create("laptop", ["read", "write"], OWNER, projects=["api"])
    principal = tokens.resolve(token, "10.0.0.7")
    assert principal is not None
    principal.require("read")
    with pytest.raises(Denied, match="ingest"):
        principal.require("ingest")
    assert (principal.scope.projects, principal.scope.may_write, principal.scope.may_forget) == (("api",), True, False)
    held = ApiToken.objects.get()
    assert (held.last_address, bool(held.last_used_at)) == ("10.0.0.7", True)


def test_nothing_that_is_kept_holds_the_token(store: Path) -> None:
    token = tokens.create("laptop", tokens.DEVICE, OWNER)
    kept = b"".join(path.read_bytes() for path in store.glob("origin.db*"))
    assert token.encode() not in kept
    assert token[4:40].encode() not in kept


@pytest.mark.parametrize("change", ["revoke", "expire", "unverify"])
def test_a_token_that_was_taken_back_opens_nothing_at_once(store: Path, change: str) -> None:
    token = tokens.create("laptop", tokens.DEVICE, OWNER)
    assert tokens.resolve(token)
    if change == "revoke":
        tokens.revoke("laptop", OWNER)
    elif change == "expire":
        ApiToken.objects.update(expires_at="2020-01-01T00:00:00.000Z")
    else:
        ApiToken.objects.update(unverified=True)
    assert tokens.resolve(token) is None
    if change == "unverify":
        tokens.confirm("laptop", OWNER)
        assert tokens.resolve(token)


def test_a_token_belongs_to_the_first_store_that_uses_it(store: Path) -> None:
    token = tokens.create("laptop", tokens.DEVICE, OWNER)
    principal = tokens.resolve(token)
    assert principal
    tokens.bind(principal, "a")
    bound = tokens.resolve(token)
    assert bound
    tokens.bind(bound, "a")
    for late in (bound, principal):
        with pytest.raises(Denied):
            tokens.bind(late, "b")


@given(st.text() | st.from_regex(r"ogn_[0-9A-Za-z]{49}", fullmatch=True))
def test_what_is_no_token_is_told_without_asking_the_store(text: str) -> None:
    assert not tokens.is_well_formed(text)


def test_every_typing_error_is_told(store: Path) -> None:
    token = tokens._make()
    assert tokens.is_well_formed(token)
    assert len(token) == 53
    for place in range(4, len(token)):
        assert not tokens.is_well_formed(token[:place] + ("a" if token[place] != "a" else "b") + token[place + 1 :])


def test_names_and_scopes_that_cannot_be_are_refused(store: Path) -> None:
    for name in ("", "Laptop", "-x", "a" * 64, "a b"):
        with pytest.raises(InvalidInput):
            tokens.create(name, ["read"], OWNER)
    for scopes in ([], ["read", "admin"]):
        with pytest.raises(InvalidInput):
            tokens.create("laptop", scopes, OWNER)
    tokens.create("laptop", ["read"], OWNER)
    with pytest.raises(Conflict):
        tokens.create("laptop", ["read"], OWNER)
    with pytest.raises(NotFound):
        tokens.revoke("desktop", OWNER)
    assert AuditLog.objects.count() == 1


def test_tries_are_counted_in_a_window_that_slides(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [1_000_000]
    monkeypatch.setattr(attempts, "_now", lambda: clock[0])
    for _ in range(3):
        assert attempts.wait_ms("t", most=3, window_ms=60_000) == 0
        attempts.record("t")
        clock[0] += 1_000
    assert attempts.wait_ms("t", most=3, window_ms=60_000) == 57_000
    assert attempts.wait_ms("other", most=3, window_ms=60_000) == 0
    clock[0] += 57_000
    assert attempts.wait_ms("t", most=3, window_ms=60_000) == 0
    attempts.record("t")
    attempts.refund("t")
    assert attempts.wait_ms("t", most=3, window_ms=60_000) == 0


def test_a_client_is_an_address_and_an_ipv6_network() -> None:
    assert attempts.client_bucket("t", "2001:db8:1:2:3::9") == attempts.client_bucket("t", "2001:db8:1:2::1")
    assert attempts.client_bucket("t", "2001:db8:1:3::1") != attempts.client_bucket("t", "2001:db8:1:2::1")
    assert attempts.client_bucket("t", "10.0.0.1") != attempts.client_bucket("t", "10.0.0.2")
    assert attempts.client_bucket("t", "nonsense") == "t:unknown"
