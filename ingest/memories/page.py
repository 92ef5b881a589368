"""What one version of a memory file says: a meta event for each item in it. Pure, as every parser is."""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from ingest.adapters.times import utc_time
from ingest.memories.files import PREFIX
from memory.json_line import load_object
from memory.parsed import Line, ParsedEvent, ParsedLine, ParseLine, State, event_id

# The tool of such an event, by which no search takes it for something that was said; the kind of entry follows.
TOOL = "memory"
# spec 2, native memories: the memory's type gives the kind.
_KINDS = {"user": "cognition", "feedback": "cognition", "project": "memory"}
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^[ \t]*([A-Za-z_]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_HEADING = re.compile(r"^##[ \t]+(.+?)[ \t]*$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_AUTOMATIC = re.compile(r"^> This file is automatically managed.*$", re.MULTILINE)


class Item(NamedTuple):
    """One statement of a memory file; `name` tells those of one file apart and is empty where there is one alone."""

    name: str
    kind: str
    text: str


def with_memories(source: str, parse_line: ParseLine) -> ParseLine:
    """Return a source's parser that also reads the journals of its memory files."""

    def parse(line: Line, state: State) -> ParsedLine:
        return _parse(source, line, state) if line.path.startswith(PREFIX) else parse_line(line, state)

    return parse


def _parse(source: str, line: Line, state: State) -> ParsedLine:
    record = load_object(line.data)
    text, at = record.get("text"), utc_time(record.get("seen"))
    if not isinstance(text, str):
        return ParsedLine(state, at=at)
    item = line.path.removeprefix(PREFIX)
    key = f"memory/{item}/{line.position}-{sha256(line.data).hexdigest()[:8]}"
    events = [
        ParsedEvent(
            event_id=event_id(source, key, f"#{number}" if each.name else ""),
            kind="meta",
            role="system",
            text=each.text,
            session=f"memory/{item}{'#' + each.name if each.name else ''}",
            at=at,
            home=True,
            tool=f"{TOOL}:{each.kind}",
            block=number,
        )
        for number, each in enumerate(items(source, text))
    ]
    return ParsedLine(state, tuple(events), at=at)


def items(source: str, text: str) -> Iterator[Item]:
    """Yield what a memory file states: all of it, or Grok's by heading. A template nobody filled states nothing."""
    if source == "grok":
        yield from _sections(text)
        return
    front = _FRONT.match(text)
    fields = {name.lower(): value.strip("\"' ") for name, value in _FIELD.findall(front[1] if front else "")}
    body = _said(text[front.end() :] if front else text) or fields.get("description") or fields.get("name", "")
    if body:
        yield Item("", _KINDS.get(fields.get("type", ""), "knowledge"), body)


def _sections(text: str) -> Iterator[Item]:
    """Yield the sections of a page of Grok's, each under the slug of its heading, a second one numbered."""
    seen: dict[str, int] = {}
    headings = list(_HEADING.finditer(text))
    for number, heading in enumerate(headings):
        end = headings[number + 1].start() if number + 1 < len(headings) else len(text)
        body = _said(text[heading.end() : end])
        slug = re.sub(r"[^\w]+", "-", heading[1].lower()).strip("-") or "section"
        seen[slug] = seen.get(slug, 0) + 1
        if body:
            name = slug if seen[slug] == 1 else f"{slug}-{seen[slug]}"
            yield Item(name, "knowledge", f"{heading[1]}\n{body}")


def _said(text: str) -> str:
    return _AUTOMATIC.sub("", _COMMENT.sub("", text)).strip().strip("-").strip()
