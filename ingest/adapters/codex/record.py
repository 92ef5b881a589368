"""A record of a rollout with what all its events have in common, and how an event is made of it."""

import hashlib
from collections.abc import Callable
from typing import Any

import msgspec

from ingest.adapters.calls import LONGEST_ID
from memory.json_line import BOM, JsonObject
from memory.parsed import Kind, Line, ParsedEvent, ParsedLine, Role, State, event_id
from memory.text import text_digest

SOURCE = "codex"

# The record that the model sees is shown; what the interface was told of the same is its twin.
SHOWN, TOLD = 0, 1
LONGEST_NAME = 4_096
PARAGRAPHS = "\n\n"
_LARGEST_ORDINAL = 1 << 62
_UUID_LENGTH = 36
_WHITE = b" \t\r\n\x00"


class Context(msgspec.Struct, frozen=True, gc=False):
    """A record's payload with all that its events have in common."""

    payload: JsonObject
    state: State
    key: str
    at: str
    session: str
    home: bool
    parent: str
    replays: str


Read = Callable[[Context], ParsedLine]


def in_context(line: Line, record: JsonObject, payload: JsonObject, state: State, at: str) -> Context:
    """Bring a record together with what earlier lines told of its thread."""
    stem = line.path.rpartition("/")[2].removesuffix(".jsonl")
    thread = known(state, "id") or stem[-_UUID_LENGTH:]
    ordinal = ordinal_of(record.get("ordinal"))
    number = line.position if ordinal is None else f"o{ordinal}"
    # White space at the edges may arrive later than the record does: it is no part of it.
    digest = hashlib.sha256(line.data.removeprefix(BOM).strip(_WHITE)).hexdigest()[:8]
    return Context(
        payload=payload,
        state=state,
        key=f"{thread}/{number}-{digest}",
        at=at,
        session=known(state, "session") or thread,
        home=stem.endswith(thread),
        parent=known(state, "parent"),
        replays=_replayed(state, ordinal),
    )


def _replayed(state: State, ordinal: int | None) -> str:
    """Return whose history a record may be a copy of: nobody's from where the thread's own begins, if that is known."""
    start = state.get("start")
    copied = not isinstance(start, int) or (ordinal is not None and ordinal < start)
    return known(state, "replays") if copied else ""


def event(
    context: Context,
    kind: Kind,
    role: Role,
    text: str,
    twin: str = "",
    rank: int = SHOWN,
    tool: str = "",
    files: tuple[str, ...] = (),
    suffix: str = "",
) -> ParsedEvent:
    """Make an event of a record; `suffix` tells a second one of the same record apart."""
    state = context.state
    # By position: of a struct with so many defaults, keywords cost more than all the rest of an event.
    return ParsedEvent(
        event_id(SOURCE, context.key, suffix),
        kind,
        role,
        text,
        context.session,
        context.at,
        context.home,
        context.parent,
        known(state, "cwd"),
        known(state, "branch"),
        known(state, "model") if role == "assistant" else "",
        known(state, "version"),
        state.get("sub") is True,
        tool,
        files,
        1 if suffix else 0,
        twin,
        rank,
        context.replays,
    )


def parsed(context: Context, *events: ParsedEvent, state: State | None = None) -> ParsedLine:
    """Return what a record says: its events, and the state after it where that changed."""
    return ParsedLine(context.state if state is None else state, events, at=context.at)


def meta(context: Context, text: str, role: Role = "system") -> ParsedLine:
    """Return a record that neither the person nor the model wrote; blank text makes no event."""
    return parsed(context, event(context, "meta", role, text)) if text.strip() else parsed(context)


def twin_key(name: str, text: str) -> str:
    """Return the key that two records of the same words have in common."""
    return f"{name}:{text_digest(text).hex()}"


def known(state: State, key: str) -> str:
    """Return a name that the state holds, or the empty string."""
    return name_of(state.get(key))


def name_of(value: object) -> str:
    """Return a text of reasonable length; the empty string for anything else."""
    return value if isinstance(value, str) and len(value) <= LONGEST_NAME else ""


def id_of(value: object) -> str:
    """Return an id, cut where it is no id any more."""
    return name_of(value)[:LONGEST_ID]


def object_of(value: object) -> JsonObject:
    """Return an object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def list_of(value: object) -> list[Any]:
    """Return the items of a list; none for anything else."""
    return value if isinstance(value, list) else []


def ordinal_of(value: object) -> int | None:
    """Return a record's place in its thread, where the build counts them."""
    return value if type(value) is int and 0 <= value < _LARGEST_ORDINAL else None
