"""Small things that every answer says, kept by each thread until the database changes."""

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast

from memory import sql

T = TypeVar("T")


class _Held(threading.local):
    def __init__(self) -> None:
        self.state: object = None
        self.values: dict[Hashable, object] = {}


_HELD = _Held()


def held(key: Hashable, make: Callable[[], T]) -> T:
    """Return what `make` returned for this key, unless the database may have changed since then."""
    state = sql.state()
    if state is None:
        return make()
    if _HELD.state != state:
        _HELD.state, _HELD.values = state, {}
    if key not in _HELD.values:
        _HELD.values[key] = make()
    return cast(T, _HELD.values[key])
