"""What a parser is given and gives back: the only thing `memory` knows about agents' formats."""

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple
from urllib.parse import quote

import msgspec

Kind = Literal["message", "tool_call", "tool_result", "meta"]
Role = Literal["user", "assistant", "tool", "system"]
TitleKind = Literal["custom", "agent-name", "ai", "summary"]

# The tool of a meta event that marks where an agent replaced a session's history by a summary.
COMPACTION = "compaction"

# Small and JSON-able: what later lines of the same file need to know of earlier ones.
State = Mapping[str, object]

_UNSAFE = re.compile(r"[^A-Za-z0-9._:/+-]")


class Line(NamedTuple):
    """One physical line without its newline, or what was appended to it later.

    `number` counts from 1 within the file's generation, `position` from 0 the lines there that are not blank; `path` is
    the logical path of the file.
    """

    data: bytes
    number: int
    path: str
    position: int = 0


class ParsedEvent(msgspec.Struct, frozen=True, gc=False):
    """One thing that happened in a session.

    `event_id` comes from `event_id()`; `session` and `parent` are the agent's native session ids. `home` says that the
    file this line stands in is the session's own file (its stem is the record's session id). `text` is whole: the
    archive masks secrets and cuts it. `at` is UTC `YYYY-MM-DDTHH:MM:SS.sssZ`, or empty where the record has no time.

    Where an agent writes the same thing twice, in one file or in two, both are events with the same `twin` key, and the
    one to show has `rank` 0: an event of higher rank is hidden while its session holds one of lower rank with the same
    key. `replays` is the native id of the session whose first events this session's file may begin with a copy of.

    `line` is where the event begins, for one that goes over several lines and is whole only when another follows.
    """

    event_id: str
    kind: Kind
    role: Role
    text: str
    session: str
    at: str = ""
    home: bool = False
    parent: str = ""
    cwd: str = ""
    branch: str = ""
    model: str = ""
    agent_version: str = ""
    sub_agent: bool = False
    tool: str = ""
    files: tuple[str, ...] = ()
    block: int = 0
    twin: str = ""
    rank: int = 0
    replays: str = ""
    line: int = 0


class Title(msgspec.Struct, frozen=True, gc=False):
    """A name the agent or the person gave a session: by native session id, or by the record (`leaf`) that owns it."""

    kind: TitleKind
    text: str
    session: str = ""
    leaf: str = ""


class ParsedLine(msgspec.Struct, frozen=True, gc=False):
    """What one line means. `at` is the line's own explicit time, also where it makes no event."""

    state: State
    events: tuple[ParsedEvent, ...] = ()
    titles: tuple[Title, ...] = ()
    at: str = ""


ParseLine = Callable[[Line, State], ParsedLine]


def event_id(source: str, key: str, suffix: str = "") -> str:
    """Return `<source>:<key><suffix>`, characters of the key outside `[A-Za-z0-9._:/+-]` percent-encoded.

    Definitions: event id. `suffix` is empty, `#<block index>` or `#result`.
    """
    if _UNSAFE.search(key):
        key = quote(key, safe="._:/+-", errors="replace")
    return f"{source}:{key}{suffix}"
