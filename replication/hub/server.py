"""The web server of a hub: gunicorn in this process, and what it refuses to start with."""

import socket
import struct
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from gunicorn.app.base import BaseApplication
from gunicorn.workers.gthread import ThreadWorker

from memory import store
from memory.errors import InvalidInput

THREADS = 32
# A client that sends nothing for so long gives its thread back (lab-security M 55).
RECEIVE_SECONDS = 5
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """True where only this machine can reach it."""
        if self.host == "localhost":
            return True
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_address(text: str) -> Address:
    """Read `127.0.0.1:7077`, `[::1]:7077`, `localhost:7077` or `:7077`. Raises `InvalidInput`."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "0.0.0.0"
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise InvalidInput("listen", f"{text} is no address to listen on; write 127.0.0.1:7077.")
    return Address(host, int(port))


def configure(address: Address, public_url: str = "") -> None:
    """Let the service answer to the names of its address and of its public URL, and to no other.

    Raises `InvalidInput` where it could be reached from elsewhere without TLS.
    """
    public = _public_host(public_url)
    if not address.is_loopback and not public_url.startswith("https://"):
        raise InvalidInput(
            "public_url",
            f"{address} can be reached from other machines, so tokens would travel in the clear. Put a proxy with TLS"
            " in front and say --public-url https://its.name, or listen on 127.0.0.1.",
        )
    local = {f"{name}:{address.port}" for name in _LOOPBACK_NAMES} if address.is_loopback else {str(address)}
    settings.ORIGIN_PUBLIC_URL = public_url
    settings.ORIGIN_HOSTS = local | ({public} if public else set())
    settings.ORIGIN_ORIGINS = {f"http://{host}" for host in local} | ({public_url} if public_url else set())
    settings.ALLOWED_HOSTS = sorted(
        {host.rpartition(":")[0] if ":" in host else host for host in settings.ORIGIN_HOSTS}
    )


def _public_host(url: str) -> str:
    """Return the host, and the port where it is named, of a public URL. Raises `InvalidInput`."""
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or url != f"{parts.scheme}://{parts.netloc}":
        raise InvalidInput("public_url", "The public URL is https:// and a host, with nothing behind it.")
    if "@" in parts.netloc:
        raise InvalidInput("public_url", "The public URL holds no user name or password.")
    return parts.netloc.lower()


class Worker(ThreadWorker):
    """A thread worker whose threads do not wait for a client that has stopped sending."""

    def accept(self, listener: socket.socket) -> None:
        """Accept connections that give up reading after a while; gunicorn itself bounds only the first byte."""
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", RECEIVE_SECONDS, 0))
        super().accept(listener)


class Server(BaseApplication):
    """Gunicorn, configured here and by nothing else: no file and no variable of its own is read."""

    def __init__(self, address: Address, proxies: str) -> None:
        self._address, self._proxies = address, proxies
        super().__init__()

    def load_config(self) -> None:
        """Set what gunicorn is told."""
        chosen: dict[str, object] = {
            "bind": str(self._address),
            "worker_class": f"{__name__}.Worker",
            "workers": 1,
            "threads": THREADS,
            "timeout": 300,
            "graceful_timeout": 10,
            "keepalive": 5,
            "limit_request_line": 4_094,
            "limit_request_fields": 60,
            "limit_request_field_size": 4_096,
            "forwarded_allow_ips": self._proxies,
            "header_map": "drop",
            "umask": 0o077,
            "proc_name": "origin serve",
            "accesslog": None,
            "loglevel": "warning",
        }
        for name, value in chosen.items():
            cast(Any, self.cfg).set(name, value)

    def load(self) -> Any:
        """Return the WSGI application."""
        store.stay_open()
        return get_wsgi_application()
