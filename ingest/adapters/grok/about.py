"""What Grok Build keeps about a session beside its logs: small JSON files, rewritten whole at every turn.

Each is a journal: a line for every time that something in it changed which says what the session is.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ingest.adapters.content import compact_json
from ingest.adapters.contract import JournalRow
from ingest.adapters.grok.session import SOURCE, Place, name_of, object_of
from ingest.adapters.journal import journal_line
from ingest.adapters.times import utc_time
from memory.errors import MalformedLine
from memory.json_line import is_blank, load_object
from memory.parsed import Line, ParsedEvent, ParsedLine, State, Title, TitleKind, event_id

SUMMARY, SUB_AGENT = "summary.json", "meta.json"

# What a new line is written for. Counters and times change at every turn, and nothing is made of them.
_TOLD = (
    *("info", "generated_title", "title_is_manual", "session_summary", "head_branch", "parent_session_id"),
    *("session_kind", "hidden", "child_session_id", "subagent_type", "description"),
)


def read_rows(path: Path, watermark: State) -> Iterator[JournalRow]:
    """Yield the file as one line, where what it says has changed since the watermark."""
    data = path.read_bytes()
    if is_blank(data):
        return
    try:
        value = load_object(data)
    except MalformedLine:
        # Counted as what it is, once.
        line, told = data.replace(b"\n", b" "), data
    else:
        line = journal_line({"file": path.name, "value": value})
        told = compact_json([value.get(name) for name in _TOLD]).encode()
    digest = hashlib.sha256(told).hexdigest()
    if watermark.get("sha256") != digest:
        yield JournalRow(line, {"sha256": digest})


def read_about(line: Line, place: Place, state: State) -> ParsedLine:
    """Return the titles of a session, and a note that says where it began and whose it is."""
    value = object_of(load_object(line.data).get("value"))
    if place.name == SUB_AGENT:
        return ParsedLine(state, _sub_agent(value, place))
    if not place.session:
        return ParsedLine(state)
    return ParsedLine(state, _summary(value, place), tuple(_titles(value, place.session)))


def _summary(value: dict[str, Any], place: Place) -> tuple[ParsedEvent, ...]:
    cwd = name_of(object_of(value.get("info")).get("cwd")) or place.cwd
    branch, model = name_of(value.get("head_branch")), name_of(value.get("current_model_id"))
    told = {"directory": cwd, "branch": branch, "model": model, "parent": name_of(value.get("parent_session_id"))}
    helper = value.get("hidden") is True or "subagent" in name_of(value.get("session_kind"))
    event = ParsedEvent(
        event_id(SOURCE, f"{place.session}/summary"),
        "meta",
        "system",
        "\n".join(["session", *(f"{name}: {text}" for name, text in told.items() if text)]),
        place.session,
        utc_time(value.get("created_at")),
        home=True,
        parent=told["parent"],
        cwd=cwd,
        branch=branch,
        model=model,
        sub_agent=helper,
    )
    return (event,) if any(told.values()) else ()


def _titles(value: dict[str, Any], session: str) -> Iterator[Title]:
    manual: TitleKind = "custom" if value.get("title_is_manual") is True else "ai"
    for kind, field in ((manual, "generated_title"), ("summary", "session_summary")):
        text = name_of(value.get(field)).strip()
        if text:
            yield Title(kind, text, session=session)


def _sub_agent(value: dict[str, Any], place: Place) -> tuple[ParsedEvent, ...]:
    """A sub-agent's session lies beside its parent's; only this file says whose it is."""
    child = name_of(value.get("child_session_id"))
    parent = name_of(value.get("parent_session_id")) or place.parent
    if not child or not parent or child == parent:
        return ()
    told = (name_of(value.get(field)) for field in ("subagent_type", "description"))
    event = ParsedEvent(
        event_id(SOURCE, f"{child}/parent"),
        "meta",
        "system",
        "\n".join([f"sub-agent of {parent}", *filter(None, told)]),
        child,
        parent=parent,
        sub_agent=True,
    )
    return (event,)
