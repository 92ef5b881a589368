"""A new key for the digests of what is forgotten from now on."""

from memory.actor import Actor
from memory.errors import Denied
from memory.forgetting import keyring
from memory.mutation import mutation


def rotate(actor: Actor) -> int:
    """Add a key and return its version; every older one goes on being asked. Raises `Denied`."""
    if not actor.is_owner:
        raise Denied("Only the owner rotates keys.")
    with mutation("keys rotate", actor) as change:
        version = max(keyring.add())
        change.targets.append(f"key:{version}")
    return version
