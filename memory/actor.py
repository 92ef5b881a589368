"""Who does something to the store, and through what: a required argument of every write."""

import re
from dataclasses import dataclass
from typing import Literal

from memory.text import cut

# What only a channel may make somebody: a client that calls itself so is an agent like any other.
_OURS = frozenset({"user", "owner", "hub", "cli"})
_NAME_LIMIT = 40


@dataclass(frozen=True)
class Actor:
    """`kind` comes from the channel, never from what a client calls itself (definitions: agent name in an author).

    `device` is this store's name. `address` and `client` are the network address and user agent of a request.
    """

    kind: Literal["owner", "agent", "cli", "hub"]
    name: str
    channel: Literal["cli", "mcp", "page", "sync", "api"]
    device: str
    address: str = ""
    client: str = ""

    @property
    def is_owner(self) -> bool:
        """True for the person who owns the store."""
        return self.kind == "owner"

    @property
    def author(self) -> str:
        """Return `<agent>@<device>`, or `user@<device>` for the owner."""
        return f"{'user' if self.is_owner else self.name}@{self.device}"


def agent_name(client: str) -> str:
    """Return a client's own name made to fit an author: `[a-z0-9._-]`, 1 to 40 characters, never one of ours."""
    name = cut(re.sub(r"[^a-z0-9._-]+", "-", client.lower()).strip("-"), _NAME_LIMIT)
    return name if name and name not in _OURS else "agent"
