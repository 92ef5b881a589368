"""Who this store is to others: the origin and number of its records, and the name of the device."""

import os
import re
import secrets
import socket
from typing import Literal

from memory.actor import Actor, agent_name
from memory.errors import InvalidInput
from memory.models import Record
from memory.setting import keep, kept

# definitions: device name.
_DEVICE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


def origin() -> str:
    """Return `<store uuid>.<incarnation>`, which stamps every record of this store."""
    return f"{store_uuid()}.{kept('incarnation') or _new_incarnation()}"


def store_uuid() -> str:
    """Return this store's own id."""
    return kept("store_uuid")


def next_number() -> int:
    """Return the number of this store's next record, inside the caller's write transaction."""
    last = Record.objects.filter(origin=origin()).order_by("-oseq").values_list("oseq", flat=True).first()
    return (last or 0) + 1


def device_name() -> str:
    """Return the device's name: `ORIGIN_DEVICE`, else the one kept with the store, else the host's, made to fit.

    Raises `InvalidInput` for an `ORIGIN_DEVICE` that is no device name.
    """
    if given := os.environ.get("ORIGIN_DEVICE", ""):
        if not _DEVICE.fullmatch(given):
            raise InvalidInput("device", "ORIGIN_DEVICE must be lower-case letters, digits, dots, _ or -, at most 63.")
        return given
    return kept("device") or fitting_name(socket.gethostname())


def owner() -> Actor:
    """Return who writes by a command: whoever runs it on this machine is the owner."""
    return Actor(kind="owner", name="user", channel="cli", device=device_name())


def itself(channel: Literal["cli", "sync"]) -> Actor:
    """Return Origin as the author of what nobody asked for, such as making good a kill."""
    return Actor(kind="cli", name="origin", channel=channel, device=device_name())


def agent(client: str, channel: Literal["mcp", "sync"]) -> Actor:
    """Return an agent on this machine, by what it calls itself."""
    return Actor(kind="agent", name=agent_name(client), channel=channel, device=device_name())


def fitting_name(name: str) -> str:
    """Return any name made to fit a device's: `Ann's MacBook.local` gives `ann-s-macbook.local`."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:63] or "device"


def _new_incarnation() -> str:
    keep("incarnation", secrets.token_hex(8))
    return kept("incarnation")
