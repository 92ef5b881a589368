"""`token`: who may reach the hub."""

from collections.abc import Sequence

from django.core.management.base import CommandParser

from memory.access import tokens
from memory.management.base import StoreCommand
from memory.management.printing import moment, printable
from memory.models import ApiToken
from memory.records.identity import owner
from memory.shapes import Json
from memory.times import local as local_time
from memory.times import now, parse_bound, process_zone


class Command(StoreCommand):
    help = "Make, list and revoke the tokens with which devices and agents reach this hub."
    example = "create laptop"

    def declare(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="create|list|revoke|confirm")
        create = actions.add_parser("create", help="make a token and show it, once")
        create.add_argument("name", help="what it is for, e.g. the device's name")
        create.add_argument(
            "--scope",
            action="append",
            default=[],
            choices=tokens.PERMISSIONS,
            help="what it may do, several times; without it all that a device needs: ingest read write forget",
        )
        create.add_argument("--project", action="append", default=[], metavar="NAME", help="only this project")
        create.add_argument("--expires", default="", metavar="TIME", help="until when, e.g. 2027-01-01")
        actions.add_parser("list", help="every token, but for what it is")
        for action, does in (("revoke", "let it open nothing, at once"), ("confirm", "let one of a backup open again")):
            actions.add_parser(action, help=does).add_argument("name")

    def run(self, *, action: str, as_json: bool, name: str = "", scope: Sequence[str] = (), **options: object) -> None:
        if action == "list":
            self._list(as_json=as_json)
        elif action == "create":
            self._create(name, scope or tokens.DEVICE, as_json=as_json, **options)
        elif action == "revoke":
            tokens.revoke(name, owner())
            self._say(f"The token {name} opens nothing any more.", as_json=as_json)
        else:
            tokens.confirm(name, owner())
            self._say(f"The token {name} opens this hub again.", as_json=as_json)

    def _list(self, *, as_json: bool) -> None:
        if as_json:
            self.print_json({"tokens": [_shape(token) for token in tokens.listed()]})
            return
        paper = self.paper()
        for token in tokens.listed():
            used = (
                f"last used {moment(local_time(token.last_used_at, process_zone()))}"
                if token.last_used_at
                else "never used"
            )
            paper.line(f"{token.name}: {_state(token)}, {token.scopes}, {used}")
        if not tokens.listed():
            paper.line("There are no tokens. Make one for each device: token create NAME")

    def _create(self, name: str, scope: Sequence[str], *, as_json: bool, **options: object) -> None:
        expires, project = str(options["expires"]), options["project"]
        assert isinstance(project, list)
        expires_at = parse_bound(expires, zone=process_zone(), end=True, field="expires") if expires else ""
        token = tokens.create(name, scope, owner(), projects=project, expires_at=expires_at)
        if as_json:
            self.print_json({"name": name, "token": token, "scopes": list(scope)})
            return
        self.paper().line(token)
        self.stderr.write(
            "This is shown once. It goes with every request: Authorization: Bearer TOKEN", lambda text: text
        )

    def _say(self, sentence: str, *, as_json: bool) -> None:
        if as_json:
            self.print_json({"done": sentence})
        else:
            self.paper().line(printable(sentence))


def _shape(token: ApiToken) -> Json:
    return {
        "name": token.name,
        "state": _state(token),
        "scopes": token.scopes.split(),
        "created_at": token.created_at,
        "expires_at": token.expires_at,
        "last_used_at": token.last_used_at,
        "last_address": token.last_address,
        "store": token.store,
    }


def _state(token: ApiToken) -> str:
    if token.revoked_at:
        return "revoked"
    if token.expires_at and token.expires_at <= now():
        return "expired"
    return "unverified" if token.unverified else "in use"
