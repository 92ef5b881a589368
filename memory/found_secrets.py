"""The secrets that were masked in what agents wrote: which kinds, where first and last, never what they were."""

import re
from dataclasses import dataclass

from memory import sql

MASKED = r"\[secret:([a-z0-9-]+)(?: …(.{4}))?\]"
TEXTS = """
    SELECT e.event_id, e.at, e.text FROM visible_event e WHERE instr(e.text, '[secret:') > 0 ORDER BY e.at, e.id"""


@dataclass(frozen=True)
class Found:
    """One secret, known by its kind and its last four characters, and where it was seen."""

    kind: str
    ending: str
    times: int
    first_at: str
    last_at: str
    first_event: str
    last_event: str


def found_secrets() -> list[Found]:
    """Return every secret in visible events, the one seen last first."""
    found: dict[tuple[str, str], Found] = {}
    for event, at, text in sql.rows(TEXTS):
        for kind, ending in re.findall(MASKED, text):
            held = found.get((kind, ending))
            first_at, first_event = (held.first_at, held.first_event) if held else (at, event)
            times = held.times + 1 if held else 1
            found[kind, ending] = Found(kind, ending, times, first_at, at, first_event, event)
    return sorted(found.values(), key=lambda each: each.last_at, reverse=True)
