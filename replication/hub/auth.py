"""Bearer tokens: one place that decides whom a request is from; a route that names no permission lets nobody in."""

from django.http import HttpRequest
from ninja.security import HttpBearer

from memory.access import attempts, tokens
from memory.access.tokens import WRONG_A_MINUTE, Permission, Principal
from memory.actor import Actor
from memory.errors import Denied
from replication.hub import client

_MINUTE_MS = 60_000


class TooManyAttempts(Exception):
    """A client tried too many wrong tokens; `seconds` says how long it has to wait."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"Too many wrong tokens; try again in {seconds} s.")
        self.seconds = seconds


class Bearer(HttpBearer):
    """Lets in whoever has a token with one permission; the request's `auth` is the `Principal`."""

    def __init__(self, permission: Permission) -> None:
        super().__init__()
        self.permission: Permission = permission

    def authenticate(self, request: HttpRequest, token: str) -> Principal | None:
        """Return the principal of a token. Raises `Denied` and `TooManyAttempts`."""
        address = client.address(request)
        bucket = attempts.client_bucket("token", address)
        if wait := attempts.wait_ms(bucket, most=WRONG_A_MINUTE, window_ms=_MINUTE_MS):
            raise TooManyAttempts(wait // 1000 + 1)
        principal = tokens.resolve(token, address)
        if principal is None:
            # A typing error is told by its checksum and is nobody's guess; it is not counted.
            if tokens.is_well_formed(token):
                tokens.refuse(bucket, Actor("agent", "unknown", "api", "", address, client.program(request)))
            return None
        principal.require(self.permission)
        return principal


class Closed(HttpBearer):
    """Lets nobody in: what a route gets that declares no permission."""

    def authenticate(self, request: HttpRequest, token: str) -> None:
        """Refuse. Raises `Denied`."""
        raise Denied("This address is not open to tokens.")
