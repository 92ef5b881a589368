"""Tokens: what lets a device or an agent reach a hub. Shown once, kept as a digest, revoked at once (security H)."""

import hashlib
import hmac
import json
import re
import secrets
import string
import zlib
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, get_args

from memory.access import attempts
from memory.actor import Actor
from memory.errors import Conflict, Denied, InvalidInput, NotFound
from memory.models import ApiToken
from memory.mutation import mutation
from memory.scope import Scope
from memory.times import now

Permission = Literal["ingest", "read", "write", "forget", "owner"]
PERMISSIONS: tuple[Permission, ...] = get_args(Permission)
DEVICE: tuple[Permission, ...] = ("ingest", "read", "write", "forget")
AGENT: tuple[Permission, ...] = ("read", "write")

# More wrong ones from one client, and it has to wait.
WRONG_A_MINUTE = 60
PREFIX = "ogn_"
_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase
# 256 bits in base 62, and the CRC-32 of what stands before it, which tells a typing error from a wrong token.
_BODY, _CHECK = 43, 6
_FORM = re.compile(rf"{PREFIX}[0-9A-Za-z]{{{_BODY + _CHECK}}}")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")
# How exactly the last use is kept: often enough to see a stolen token, seldom enough to cost nothing.
_HOUR = len("2026-05-01T10")


@dataclass(frozen=True)
class Principal:
    """Who a request comes from, decided in one place: every route asks it for a permission."""

    token: int
    name: str
    permissions: frozenset[str]
    projects: tuple[str, ...]
    store: str

    def require(self, permission: Permission) -> None:
        """Raise `Denied` unless the token has this permission."""
        if permission not in self.permissions:
            raise Denied(f"The token {self.name} may not do this: it lacks the scope {permission}.")

    @property
    def scope(self) -> Scope:
        """What the token may see and do."""
        return Scope(self.projects, "write" in self.permissions, "forget" in self.permissions)


def create(
    name: str, permissions: Collection[str], actor: Actor, *, projects: Collection[str] = (), expires_at: str = ""
) -> str:
    """Make a token and return it; it is never shown again.

    Raises `InvalidInput` for a name or permission that is none and `Conflict` for a name in use.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInput("name", "A token's name is lower-case letters, digits, dots, _ or -, at most 63 characters.")
    if unknown := set(permissions) - set(PERMISSIONS):
        raise InvalidInput("scope", f"{min(unknown)} is no scope; there are {', '.join(PERMISSIONS)}.")
    if not permissions:
        raise InvalidInput("scope", f"A token needs at least one scope of {', '.join(PERMISSIONS)}.")
    token = _make()
    with mutation("token create", actor) as change:
        if ApiToken.objects.filter(name=name).exists():
            raise Conflict(f"There is a token {name} already; revoked ones keep their names.")
        ApiToken.objects.create(
            name=name,
            digest=digest(token),
            scopes=" ".join(sorted(permissions)),
            projects=json.dumps(sorted(projects)),
            created_at=now(),
            expires_at=expires_at,
        )
        change.targets.append(f"token:{name}")
    return token


def listed() -> list[ApiToken]:
    """Return every token, the newest first, revoked ones too."""
    return list(ApiToken.objects.order_by("-id"))


def revoke(name: str, actor: Actor) -> None:
    """Let a token open nothing from now on. Raises `NotFound`."""
    _change(name, "token revoke", actor, revoked_at=now())


def confirm(name: str, actor: Actor) -> None:
    """Let a token of a restored backup open the hub again. Raises `NotFound`."""
    _change(name, "token confirm", actor, unverified=False)


def _change(name: str, action: str, actor: Actor, **columns: object) -> None:
    with mutation(action, actor) as change:
        if not ApiToken.objects.filter(name=name, revoked_at="").update(**columns):
            raise NotFound(f"There is no token {name} in use.")
        change.targets.append(f"token:{name}")


def resolve(token: str, address: str = "") -> Principal | None:
    """Return whom a token stands for, or None for one that opens nothing: unknown, revoked, expired, unverified."""
    if not is_well_formed(token):
        return None
    found = ApiToken.objects.filter(digest=digest(token)).first()
    if found is None or not hmac.compare_digest(bytes(found.digest), digest(token)):
        return None
    moment = now()
    if found.revoked_at or found.unverified or (found.expires_at and found.expires_at <= moment):
        return None
    if (found.last_used_at[:_HOUR], found.last_address) != (moment[:_HOUR], address):
        ApiToken.objects.filter(pk=found.pk).update(last_used_at=moment, last_address=address)
    return Principal(
        found.pk, found.name, frozenset(found.scopes.split()), tuple(json.loads(found.projects)), found.store
    )


def refuse(bucket: str, actor: Actor) -> None:
    """Count a wrong token; the first of a while is in the audit log, and the one after which its client must wait."""
    with mutation("token refused", actor) as change:
        if (count := attempts.record(bucket)) in (1, WRONG_A_MINUTE):
            change.targets.append(bucket)
            change.code = str(count)


def bind(principal: Principal, store: str) -> None:
    """Keep a token to the one store that used it first. Raises `Denied` for another."""
    if principal.store != store and not ApiToken.objects.filter(pk=principal.token, store__in=("", store)).update(
        store=store
    ):
        raise Denied(f"The token {principal.name} belongs to another store; make one for this device.")


def is_well_formed(text: str) -> bool:
    """True for what could be a token: the right characters, and the checksum of a scanner. It proves nothing."""
    return bool(_FORM.fullmatch(text)) and _checksum(text[:-_CHECK]) == text[-_CHECK:]


def digest(token: str) -> bytes:
    """Return what is kept of a token."""
    return hashlib.sha256(token.encode()).digest()


def _make() -> str:
    body = PREFIX + _base62(secrets.randbits(256), _BODY)
    return body + _checksum(body)


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode()), _CHECK)


def _base62(number: int, width: int) -> str:
    digits = []
    for _ in range(width):
        number, digit = divmod(number, len(_DIGITS))
        digits.append(_DIGITS[digit])
    return "".join(reversed(digits))
