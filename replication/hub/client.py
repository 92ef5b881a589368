"""Who a request comes from on the network, and the actor that its writes are made by."""

import ipaddress
from collections.abc import Sequence

from django.conf import settings
from django.http import HttpRequest

from memory.text import cut

_CLIENT_LIMIT = 200


def address(request: HttpRequest) -> str:
    """Return the client's address.

    A forwarding header counts only where the peer is a trusted proxy, and of its list only the last address that is
    none: everything before it is what the client says of itself (lab-security C).
    """
    peer = str(request.META.get("REMOTE_ADDR", ""))
    header = settings.ORIGIN_CLIENT_IP_HEADER
    if not header or not _is_trusted(peer):
        return peer
    named = [part.strip() for part in request.headers.get(header, "").split(",")]
    return next((part for part in reversed(named) if _is_address(part) and not _is_trusted(part)), peer)


def program(request: HttpRequest) -> str:
    """Return what the client calls itself, for the audit log."""
    return cut(request.headers.get("User-Agent", ""), _CLIENT_LIMIT)


def _is_trusted(text: str) -> bool:
    proxies: Sequence[str] = settings.ORIGIN_TRUSTED_PROXIES
    return _is_address(text) and any(ipaddress.ip_address(text) in ipaddress.ip_network(each) for each in proxies)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
