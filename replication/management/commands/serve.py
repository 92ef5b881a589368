"""`serve`: the hub."""

import os

from django.conf import settings
from django.core.management.base import CommandParser

from memory import store
from memory.management.base import StoreCommand
from replication.hub import server

DEFAULT = "127.0.0.1:7077"


class Command(StoreCommand):
    help = (
        "Serve this store to the owner's other devices and agents: /v1 and /mcp, by tokens that `token create` makes."
    )
    example = "--listen 127.0.0.1:7077 --public-url https://hub.example.org"
    prints_json = False

    def declare(self, parser: CommandParser) -> None:
        listen = os.environ.get("ORIGIN_LISTEN", DEFAULT)
        parser.add_argument("--listen", default=listen, metavar="ADDRESS", help=f"where to listen ({DEFAULT})")
        parser.add_argument(
            "--public-url",
            default=os.environ.get("ORIGIN_PUBLIC_URL", ""),
            metavar="URL",
            help="how others reach it: https and a name, of the proxy in front",
        )

    def run(self, *, listen: str, public_url: str) -> None:
        address = server.parse_address(listen)
        server.configure(address, public_url)
        self.stderr.write(f"Origin listens on http://{address}", lambda text: text)
        store.let_go()
        server.Server(address, ",".join(settings.ORIGIN_TRUSTED_PROXIES)).run()
