"""Reads `chat_history.jsonl`, what Grok Build sends to the model: it has no times, and is rewritten.

Every compaction, rewind and repair replaces the file, so events are named by what they say and never by their line: a
line that is kept keeps its name.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ingest.adapters.calls import LONGEST_ID, called, with_call, without_call
from ingest.adapters.content import call_text, flatten, is_binary, named_files, spoken
from ingest.adapters.grok.session import Context, Place, make_event, name_of, object_of
from ingest.adapters.markup import Said, read_turn, together, without_last_reminders
from ingest.adapters.own_tools import is_own_answer, is_own_tool, own_call_text
from memory.errors import MalformedLine
from memory.json_line import load_object
from memory.parsed import Kind, Line, ParsedEvent, ParsedLine, State

# Texts whose repetitions are told apart; of one said again later than that, both are one event.
_SEEN, _MOST_SEEN = "seen", 128
# What a program puts into the person's turn; these two alone are somebody's words.
_WORDS = frozenset({"interjection", "agent_message"})


class _Call(NamedTuple):
    """A call of a tool that the assistant asked for."""

    id: str
    name: str
    arguments: object


def read_chat(line: Line, place: Place, state: State) -> ParsedLine:
    """Return the events of one line, of either version of the format."""
    record = load_object(line.data)
    kind = record.get("type") or record.get("role")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    context = Context(
        record=record,
        state=state,
        number=line.number,
        session=place.session,
        cwd=place.cwd,
        home=True,
        at="",
        model=name_of(record.get("model_id")),
        rank=1,
    )
    return read(context) if read else ParsedLine(state)


def _read_system(context: Context) -> ParsedLine:
    text = flatten(context.record.get("content"))
    if not text.strip():
        return ParsedLine(context.state)
    key, state = _named(context, context.state, "system", text)
    return ParsedLine(state, (make_event(context, key, "meta", "system", text),))


def _read_user(context: Context) -> ParsedLine:
    blocks = _blocks(context.record.get("content"))
    texts = [text for text in map(spoken, blocks) if text.strip()]
    said = together(map(read_turn, texts))
    if context.record.get("synthetic_reason") not in (None, "", *_WORDS):
        said = Said("\n\n".join(texts), meta=True, role="system")
    if not said.text.strip():
        return ParsedLine(context.state)
    # Images are stripped from lines later on, so they are no part of the name.
    words = "\n\n".join(spoken(block) for block in blocks if not is_binary(object_of(block)))
    key, state = _named(context, context.state, "user", words, context.record.get("prompt_index"))
    kind: Kind = "meta" if said.meta else "message"
    return ParsedLine(state, (make_event(context, key, kind, said.role, said.text),))


def _blocks(content: object) -> list[Any]:
    return content if isinstance(content, list) else [content]


def _read_assistant(context: Context) -> ParsedLine:
    text = "\n\n".join(filter(str.strip, map(spoken, _blocks(context.record.get("content")))))
    calls = list(_calls(context.record.get("tool_calls")))
    key, state = "", context.state
    if text or not all(call.id for call in calls):
        key, state = _named(context, state, "assistant", text)
    events = [make_event(context, key, "message", "assistant", text)] if text else []
    for index, call in enumerate(calls, start=1):
        events.append(_call_event(context, call, key, index))
        state = with_call(state, call.id, call.name)
    return ParsedLine(state, _once(events))


def _once(events: Iterable[ParsedEvent]) -> tuple[ParsedEvent, ...]:
    """Return the events without those that have the name of an earlier one of their line."""
    return tuple({event.event_id: event for event in reversed(list(events))}.values())[::-1]


def _calls(value: object) -> Iterator[_Call]:
    """Yield an assistant's calls, of either version; their arguments are JSON within a string."""
    for call in map(object_of, value if isinstance(value, list) else ()):
        told = object_of(call.get("function")) or call
        arguments = _decoded(told.get("arguments"))
        yield _Call(name_of(call.get("id"))[:LONGEST_ID], name_of(told.get("name")), arguments)


def _decoded(arguments: object) -> object:
    try:
        return load_object(arguments.encode()) if isinstance(arguments, str) else arguments
    except MalformedLine:
        return arguments


def _call_event(context: Context, call: _Call, line_key: str, index: int) -> ParsedEvent:
    key, suffix = (f"{context.session}/c/{call.id}", "") if call.id else (line_key, f"#{index}")
    if is_own_tool(call.name):
        text = own_call_text(call.name, call.id, call.arguments)
        return make_event(context, key, "meta", "assistant", text, suffix, call.name, block=index)
    text, files = call_text(call.name, call.arguments), named_files(call.arguments)
    return make_event(context, key, "tool_call", "assistant", text, suffix, call.name, files, index)


def _read_backend_call(context: Context) -> ParsedLine:
    """A search or a program that ran on Grok's own servers: its answer is not logged."""
    told = object_of(context.record.get("kind"))
    name = name_of(told.get("tool_type"))
    arguments = {key: value for key, value in told.items() if key in ("action", "input", "code")}
    text = call_text(name, _flat(arguments))
    call_id, state = name_of(told.get("id")), context.state
    key = f"{context.session}/c/{call_id}"
    if not call_id:
        key, state = _named(context, state, "assistant", text)
    return ParsedLine(state, (make_event(context, key, "tool_call", "assistant", text, tool=name),))


def _flat(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return arguments with those of an action among them, without the pages it found."""
    action = object_of(arguments.get("action"))
    if not action:
        return arguments
    return {key: value for key, value in action.items() if key not in ("type", "sources")}


def _read_result(context: Context) -> ParsedLine:
    call_id = name_of(context.record.get("tool_call_id"))[:LONGEST_ID]
    name, own = called(context.state, call_id)
    text = "\n".join(filter(None, (flatten(context.record.get(field)) for field in ("content", "images"))))
    state = without_call(context.state, call_id)
    key = f"{context.session}/c/{call_id}"
    if not call_id:
        key, state = _named(context, state, "tool", text)
    if own or is_own_answer(text):
        event = make_event(context, key, "meta", "tool", own_call_text(name, call_id, None), "#result", name)
    else:
        event = make_event(context, key, "tool_result", "tool", without_last_reminders(text), "#result", name)
    return ParsedLine(state, (event,))


# Names


def _named(context: Context, state: State, role: str, text: str, prompt: object = None) -> tuple[str, State]:
    """Return the key of what was said in a role, and the state that counts its repetitions."""
    digest = hashlib.sha256(f"{role}{text}".encode()).hexdigest()[:16]
    if isinstance(prompt, int):
        digest = f"{str(prompt)[:20]}-{digest}"
    known = state.get(_SEEN)
    seen = dict(known) if isinstance(known, dict) else {}
    times = seen.pop(digest, 0)
    seen[digest] = (times if isinstance(times, int) else 0) + 1
    if len(seen) > _MOST_SEEN:
        del seen[next(iter(seen))]
    repeated = f"-{seen[digest]}" if seen[digest] > 1 else ""
    return f"{context.session}/c/{digest}{repeated}", {**state, _SEEN: seen}


_READERS: dict[str, Callable[[Context], ParsedLine]] = {
    "system": _read_system,
    "user": _read_user,
    "assistant": _read_assistant,
    "tool": _read_result,
    "tool_result": _read_result,
    "backend_tool_call": _read_backend_call,
}
