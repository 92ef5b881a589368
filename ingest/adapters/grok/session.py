"""What the files of one Grok Build session have in common: where it lies, and how its events are made."""

import re
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from memory.json_line import JsonObject
from memory.parsed import Kind, ParsedEvent, Role, State, event_id

SOURCE = "grok"
# Both logs of a session tell its history: what updates.jsonl tells of it (rank 0) hides all of chat_history.jsonl.
HISTORY = "history"

LONGEST_PATH = 4_096
_ABSOLUTE = re.compile(r"/|[A-Za-z]:[\\/]|\\\\")


class Place(NamedTuple):
    """What a file's path says: its name, its session, the directory the session began in, and for the file about a
    sub-agent its parent.
    """

    name: str
    session: str
    cwd: str
    parent: str


class Context(msgspec.Struct, frozen=True, gc=False):
    """A line with what its events have in common."""

    record: JsonObject
    state: State
    number: int
    session: str
    cwd: str
    home: bool
    at: str
    model: str
    rank: int


@lru_cache(maxsize=1_024)
def place_of(path: str) -> Place:
    """Read `sessions/<directory>/<session>/<file>`, and `…/<session>/subagents/<id>/meta.json`."""
    folders, _, name = path.rpartition("/")
    parts = ("", "", *folders.split("/"))
    if parts[-2] == "subagents":
        return Place(name, "", "", parts[-3])
    return Place(name, parts[-1] or name, decoded(parts[-2]), "")


def decoded(folder: str) -> str:
    """Return the path a directory's name encodes; nothing for the slug and hash that stand for a long path."""
    path = unquote(folder, errors="replace")
    return path if path != folder and _ABSOLUTE.match(path) else ""


def name_of(value: object) -> str:
    """Return a name or a path that a record holds; nothing where it is none, or too long to be one."""
    return value if isinstance(value, str) and len(value) <= LONGEST_PATH else ""


def object_of(value: object) -> dict[str, Any]:
    """Return an object that a record holds, empty where it is none."""
    return value if isinstance(value, dict) else {}


def make_event(
    context: Context,
    key: str,
    kind: Kind,
    role: Role,
    text: str,
    suffix: str = "",
    tool: str = "",
    files: tuple[str, ...] = (),
    block: int = 0,
) -> ParsedEvent:
    """Make an event of a line in one of the two logs."""
    return ParsedEvent(
        event_id(SOURCE, key, suffix),
        kind,
        role,
        text,
        context.session,
        context.at,
        context.home,
        "",
        context.cwd,
        "",
        context.model if role == "assistant" else "",
        "",
        False,
        tool,
        files,
        block,
        # Of updates.jsonl, notes alone do not make a history.
        HISTORY if context.rank or kind != "meta" else "",
        context.rank,
    )
