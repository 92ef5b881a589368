"""The JSON shapes that commands, tools and pages show: local times, secrets masked, cut to a budget."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import tzinfo
from typing import cast

import msgspec

from memory import aliases
from memory.entries.filters import Seen
from memory.entries.reading import Citation
from memory.entries.remember import Receipt
from memory.errors import InvalidInput
from memory.label import LABEL
from memory.models import Review
from memory.parsed import COMPACTION, State
from memory.provenance import EventDetail, Place
from memory.search import Hit
from memory.secrets import mask
from memory.status import Run, SourceStatus, Status
from memory.text import cut, one_line, token_estimate
from memory.timeline import EventLine, SessionLine
from memory.times import local

Json = dict[str, object]

MIN_TOKENS = 200
LOST = "lost to a concurrent correction"
# What an answer holds beside its items: brackets, footer, cursor.
_FOOTER_TOKENS = 40
_SHORTENED = 80
# What an event can be shown without where it leaves the text too little room; the first goes first.
_DISPENSABLE = ("files", "agent_version", "model", "branch", "cwd", "title", "project")
TOO_SMALL = "This answer does not fit; ask again with a larger max_tokens."
_LARGEST_POSITION = 1 << 53


@dataclass(frozen=True)
class Fitted:
    """As many items as the budget takes; `used` counts those dealt with, one too large to ever fit among them."""

    items: list[Json]
    used: int


def dump(value: Json) -> str:
    """Return compact JSON."""
    return msgspec.json.encode(value).decode()


def answer(**parts: object) -> Json:
    """Return an answer: the label first, then its parts, empty ones left out of the footer."""
    return {"origin": LABEL, **parts}


def origin_of(kind: str, role: str, *, sub_agent: bool) -> str:
    """Say who is speaking: the person, the agent, or a tool's output (promise 6)."""
    if kind == "tool_result" or role == "tool":
        return "tool output"
    return "person" if role == "user" and kind == "message" and not sub_agent else "agent"


def hit(found: Hit, zone: tzinfo) -> Json:
    """Return a search hit."""
    shape: Json = {
        "id": found.event_id,
        "at": local(found.at, zone),
        "source": found.source,
        "project": aliases.shown(found.project),
        "role": found.role,
        "origin": origin_of(found.kind, found.role, sub_agent=found.sub_agent),
        "session": found.session,
        "title": mask(found.title),
        "text": found.passage,
    }
    others: Json = {"tool": found.tool, "also_in": found.also_in, "more_in_session": found.more}
    return shape | {name: value for name, value in others.items() if value}


def session(line: SessionLine, zone: tzinfo) -> Json:
    """Return a session of a timeline, or the head of one that is shown alone."""
    shape: Json = {
        "id": line.session_id,
        "title": mask(line.title),
        "source": line.source,
        "project": aliases.shown(line.project),
        "branch": line.branch,
        "from": local(line.first_at, zone),
        "to": local(line.last_at, zone),
        "messages": line.messages,
        "tool_calls": line.tool_calls,
        "parent": line.parent,
        "sub_agents": list(line.sub_agents),
        "files": [mask(path) for path in line.files],
    }
    return {key: value for key, value in shape.items() if value not in ("", [])}


def event_line(line: EventLine, zone: tzinfo, limit: int) -> Json:
    """Return an event of a session, its text cut to `limit` characters and on one line."""
    shape: Json = {
        "id": line.event_id,
        "at": local(line.at, zone),
        "kind": COMPACTION if line.tool == COMPACTION else line.kind,
        "origin": origin_of(line.kind, line.role, sub_agent=line.sub_agent),
        "tool": line.tool if line.kind != "meta" else "",
        "model": line.model,
        "text": one_line(mask(line.text), limit),
    }
    return {key: value for key, value in shape.items() if value != ""}


def event(detail: EventDetail, zone: tzinfo) -> Json:
    """Return one event whole."""
    shape: Json = {
        "id": detail.event_id,
        "at": local(detail.at, zone),
        "inferred_time": detail.inferred,
        "kind": detail.kind,
        "role": detail.role,
        "origin": origin_of(detail.kind, detail.role, sub_agent=detail.sub_agent),
        "source": detail.source,
        "project": aliases.shown(detail.project),
        "session": detail.session,
        "title": mask(detail.title),
        "cwd": detail.cwd,
        "branch": detail.branch,
        "model": detail.model,
        "agent_version": detail.agent_version,
        "tool": detail.tool,
        "files": [mask(path) for path in detail.files],
        "text": mask(detail.text),
    }
    return {key: value for key, value in shape.items() if value not in ("", [], False)}


def lean(shape: Json, max_tokens: int) -> Json:
    """Return an event without what it can do without, as far as the rest takes more than half of the budget."""
    shape = dict(shape)
    for name in _DISPENSABLE:
        if 2 * token_estimate(dump(shape | {"text": ""})) <= max_tokens:
            break
        shape.pop(name, None)
    return shape


def entry(view: Seen, zone: tzinfo) -> Json:
    """Return an entry in the state it is seen in; what is as usual is left out."""
    held = view.entry
    shape: Json = {
        "id": held.entry_id,
        "kind": held.kind,
        "text": mask(held.text),
        "project": aliases.shown(held.project),
        "author": held.author,
        "recorded": local(held.recorded_at, zone),
        "confidence": held.confidence,
        "valid_from": local(held.valid_from, zone) if held.valid_from else "",
        "valid_to": local(view.ends_at, zone) if view.ends_at else "",
        "status": view.status if view.status != "active" else "",
        "trust": view.trust if view.trust != "accepted" else "",
        "note": LOST if view.lost else "",
        "imported": held.imported,
    }
    return {name: value for name, value in shape.items() if value not in ("", False)}


def entry_line(view: Seen, zone: tzinfo, limit: int) -> Json:
    """Return an entry among other things, its text cut to `limit` characters and on one line."""
    held = view.entry
    return {
        "id": held.entry_id,
        "at": local(held.recorded_at, zone),
        "kind": held.kind,
        "text": one_line(mask(held.text), limit),
    }


def version(view: Seen, zone: tzinfo) -> Json:
    """Return one version among those of an entry."""
    shape = entry_line(view, zone, _SHORTENED) | {"status": view.status, "trust": view.trust}
    return shape | ({"note": LOST} if view.lost else {})


def citation(cited: Citation) -> Json:
    """Return a source of an entry, and what is wrong with it where something is."""
    shape: Json = {"event": cited.event_id, "quote": cited.quote, "state": "" if cited.state == "ok" else cited.state}
    return {name: value for name, value in shape.items() if value}


def review(found: Review, zone: tzinfo) -> Json:
    """Return the owner's decision about a version."""
    shape: Json = {"at": local(found.record.created_at, zone), "verdict": found.verdict, "reason": mask(found.reason)}
    return {name: value for name, value in shape.items() if value}


def receipt(found: Receipt) -> Json:
    """Return what a write did."""
    shape: Json = {
        "outcome": found.outcome,
        "id": found.entry_id,
        "trust": found.trust,
        "project": found.project,
        "near_duplicates": list(found.near),
        "corrected": list(found.corrected),
    }
    return {name: value for name, value in shape.items() if value}


def place(found: Place, text: str | None) -> Json:
    """Return one place of an event; `text` is the line, or None where it is withheld."""
    shape: Json = {"file": found.path, "line": found.line, "mirror": found.mirror}
    if found.generation:
        shape["generation"] = found.generation
    return shape | ({"withheld": "holds forgotten content"} if text is None else {"text": text})


def status(found: Status, zone: tzinfo) -> Json:
    """Return what the store holds."""
    shape: Json = {
        "home": found.home,
        "database_bytes": found.database_bytes,
        "mirror_bytes": found.mirror_bytes,
        "sources": [_source_status(source, zone) for source in found.sources],
    }
    return shape | ({"last_run": _run(found.last_run, zone)} if found.last_run else {}) | {"freshness": found.freshness}


def _source_status(source: SourceStatus, zone: tzinfo) -> Json:
    shape: Json = asdict(source) | {"last_sync": local(source.last_sync, zone) if source.last_sync else ""}
    if source.purge:
        next_at = local(source.purge.next_at, zone) if source.purge.next_at else ""
        shape["purge"] = asdict(source.purge) | {"next_at": next_at}
    return {name: value for name, value in shape.items() if value is not None}


def _run(run: Run, zone: tzinfo) -> Json:
    ended = local(run.ended_at, zone) if run.ended_at else ""
    return {"started": local(run.started_at, zone), "ended": ended, "error": mask(run.error)}


def fit(items: Iterable[Json], others: Json, max_tokens: int) -> Fitted:
    """Take items while the whole answer stays within `max_tokens`; `others` is everything else in it.

    A first item that is too large alone is shortened, or passed over where that is not enough: a cursor always moves.
    """
    spare = (max_tokens - _FOOTER_TOKENS) * 4 - len(dump(others).encode())
    taken: list[Json] = []
    used = 0
    for item in items:
        if not taken and _size(item) > spare and "text" in item:
            item = item | {"text": one_line(str(item["text"]), _SHORTENED)}
        if _size(item) > spare and (taken or used):
            break
        used += 1
        if _size(item) <= spare:
            spare -= _size(item)
            taken.append(item)
    return Fitted(taken, used)


def _size(item: Json) -> int:
    return len(dump(item).encode()) + 1


def fit_text(text: str, others: Json, max_tokens: int) -> tuple[str, int]:
    """Cut a text so that the answer stays within `max_tokens`; returns it and how many characters of it that is."""
    spare = (max_tokens - _FOOTER_TOKENS) * 4 - len(dump(others).encode())
    low, high = 0, min(len(text), max(spare, 0))
    while low < high:
        middle = (low + high + 1) // 2
        if len(msgspec.json.encode(text[:middle])) <= spare:
            low = middle
        else:
            high = middle - 1
    return cut(text, low), low


def within(value: Json, max_tokens: int) -> bool:
    """True where an answer keeps its budget."""
    return token_estimate(dump(value)) <= max_tokens


def cursor(**position: object) -> str:
    """Return an opaque cursor for where an answer goes on."""
    return base64.urlsafe_b64encode(msgspec.json.encode(position)).decode().rstrip("=")


def read_cursor(text: str, **kinds: type[int] | type[str]) -> State:
    """Return the position in a cursor, or an empty one for none. Raises `InvalidInput` for anything else."""
    if not text:
        return {}
    try:
        position = msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (binascii.Error, ValueError, msgspec.DecodeError, RecursionError):
        position = None
    if not _is_position(position, kinds):
        raise InvalidInput("cursor", "This cursor is not one that this tool gave; leave it out to start again.")
    return cast(State, position)


def _is_position(position: object, kinds: Mapping[str, type]) -> bool:
    if not isinstance(position, dict) or set(position) != set(kinds):
        return False
    if any(type(position[name]) is not kind for name, kind in kinds.items()):
        return False
    return all(0 <= number < _LARGEST_POSITION for number in position.values() if isinstance(number, int))
