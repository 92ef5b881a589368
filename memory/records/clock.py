"""The hybrid clock: wall time that never goes back and that no other store can drag far (definitions: hybrid clock)."""

import time

from memory.setting import keep, kept

# How far ahead of our own wall clock another store's may take ours.
MAX_AHEAD_MS = 5 * 60 * 1000

Instant = tuple[int, int]


def tick() -> Instant:
    """Return the (milliseconds, counter) of a new record and keep it, inside the caller's write transaction."""
    last, wall = _last(), _wall()
    return _keep((wall, 0) if wall > last[0] else (last[0], last[1] + 1))


def observe(instant: Instant) -> None:
    """Take in another store's clock, unless it is too far ahead to be believed."""
    if _last() < instant and instant[0] <= _wall() + MAX_AHEAD_MS:
        _keep(instant)


def _wall() -> int:
    return time.time_ns() // 1_000_000


def _last() -> Instant:
    milliseconds, counter = kept("clock", "0 0").split()
    return int(milliseconds), int(counter)


def _keep(instant: Instant) -> Instant:
    keep("clock", f"{instant[0]} {instant[1]}")
    return instant
