"""What the rows of Cursor's databases say: the store of one chat of the CLI, and the IDE's of all its conversations."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote

import msgspec

from ingest.adapters.content import call_text, flatten
from ingest.adapters.cursor.messages import (
    SOURCE,
    Owner,
    answered,
    asked,
    blocks_of,
    call,
    directory_of,
    name,
    prompts_of,
    read_message,
    result,
    unwrapped,
    working_directory,
)
from ingest.adapters.cursor.places import IDE, STORE, Place, child_session
from ingest.adapters.journal import column_bytes
from ingest.adapters.own_tools import is_own_answer, is_own_tool
from ingest.adapters.times import utc_time
from memory.errors import MalformedLine
from memory.json_line import JsonObject, load_object
from memory.parsed import Line, ParsedEvent, ParsedLine, State, Title

_NO_NAMES = frozenset({"", "New Agent", "New Chat", "Untitled"})
_HEX = frozenset(b"0123456789abcdefABCDEF")
_ASSISTANT_ROLES = ("user", "assistant", "tool")
_PERSON = 1
_EVENTS_PER_BUBBLE = 3
# A tool that is still at it: its row is written again when it is done.
_RUNNING = frozenset({"generating", "in_progress", "loading", "pending", "queued", "running", "streaming"})
_COMPOSERS, _MOST_COMPOSERS = "composers", 64
_COMPOSER_KEY, _BUBBLE_KEY = "composerData", "bubbleId"

Composer = Mapping[str, str]


# The store of a chat


def read_store_row(line: Line, place: Place, state: State) -> ParsedLine:
    """Return what a row of a chat's store says: a message, or what is known of the chat."""
    row = load_object(line.data)
    value = column_bytes(row, "value")
    if not value:
        return ParsedLine(state)
    if row.get("table") == "blobs":
        return _read_blob(name(row.get("key")), load_object(value), place, state)
    return _read_meta(_meta_object(value), place, state)


def _meta_object(value: bytes) -> JsonObject:
    """Return what a row of `meta` holds: JSON, or its bytes in hexadecimal."""
    digits = value.strip()
    return load_object(bytes.fromhex(digits.decode()) if _is_hex(digits) else value)


def _is_hex(digits: bytes) -> bool:
    return len(digits) % 2 == 0 and _HEX.issuperset(digits)


def _read_meta(meta: JsonObject, place: Place, state: State) -> ParsedLine:
    begun = utc_time(meta.get("createdAt")) or utc_time(meta.get("createdAtMs"))
    ended = utc_time(meta.get("updatedAtMs"))
    known = {
        "cwd": name(meta.get("workspacePath")) or name(meta.get("cwd")),
        "model": _model_name(meta.get("lastUsedModel")),
        "parent": _parent(meta, "rootParentAgentId", "parentAgentId"),
        "begun": begun,
    }
    again = bool(state.get("begun"))
    state = _with(state, known)
    session = child_session(name(state.get("parent")), place.thread)
    return ParsedLine(state, (), _titles(meta, session), (ended if again else begun))


def _model_name(value: object) -> str:
    if isinstance(value, dict):
        names = (name(value.get(key)) for key in ("modelName", "model", "id", "name"))
        return next(filter(None, names), "")
    return name(value)


def _parent(record: JsonObject, *fields: str) -> str:
    info = record.get("subagentInfo")
    return next(filter(None, (name(info.get(field)) for field in fields)), "") if isinstance(info, dict) else ""


def _with(state: State, known: Mapping[str, str]) -> State:
    changed = {key: value for key, value in known.items() if value and value != state.get(key)}
    return {**state, **changed} if changed else state


def _titles(record: JsonObject, session: str) -> tuple[Title, ...]:
    given = record.get("name") if record.get("name") is not None else record.get("title")
    title = given.strip() if isinstance(given, str) else ""
    return () if title in _NO_NAMES else (Title("ai", title, session=session),)


def _read_blob(key: str, message: JsonObject, place: Place, state: State) -> ParsedLine:
    role = message.get("role")
    if role not in _ASSISTANT_ROLES:
        return ParsedLine(state)
    blocks = blocks_of(message)
    prompts = prompts_of(blocks) if role == "user" else []
    workspace = next((prompt.workspace for _, prompt in prompts if prompt.workspace), "")
    if not state.get("cwd"):
        state = _with(state, {"cwd": workspace or directory_of(blocks)})
    parent = name(state.get("parent"))
    owner = Owner(
        key=f"{place.thread}/{key}",
        session=child_session(parent, place.thread),
        parent=parent,
        rank=STORE,
        at=utc_time(message.get("createdAt")) or next((prompt.at for _, prompt in prompts if prompt.at), ""),
        cwd=name(state.get("cwd")),
        model=_used_model([message, *blocks]) or name(state.get("model")),
    )
    return read_message(owner, role, blocks, prompts, state)


def _used_model(holders: list[Any]) -> str:
    """Return the model that a message or one of its blocks names as the one that wrote it."""
    for holder in holders:
        options = holder.get("providerOptions") if isinstance(holder, dict) else None
        cursor = options.get(SOURCE) if isinstance(options, dict) else None
        if isinstance(cursor, dict) and (model := name(cursor.get("modelName"))):
            return model
    return ""


# The database of the IDE


def read_ide_row(line: Line, place: Place, state: State) -> ParsedLine:
    """Return what a row of the IDE's database says: a bubble of a conversation, or what is known of the whole."""
    row = load_object(line.data)
    kind, _, rest = name(row.get("key")).partition(":")
    value = column_bytes(row, "value")
    if not value or not rest:
        return ParsedLine(state)
    if kind == _COMPOSER_KEY:
        return _read_composer(rest, load_object(value), state)
    if kind == _BUBBLE_KEY:
        thread, _, bubble = rest.rpartition(":")
        return _read_bubble(thread, bubble, load_object(value), state) if thread else ParsedLine(state)
    raise MalformedLine("a row of no known kind")


def _read_composer(thread: str, record: JsonObject, state: State) -> ParsedLine:
    begun = utc_time(record.get("createdAt"))
    known = _composer(state, thread)
    composer = {
        **known,
        "at": known.get("at") or begun,
        "cwd": _workspace(record) or known.get("cwd", ""),
        "model": _model_name(record.get("modelConfig")) or known.get("model", ""),
        "parent": _parent(record, "rootParentConversationId", "parentComposerId") or known.get("parent", ""),
    }
    events = tuple(_conversation(thread, record.get("conversation"), composer))
    titles = _titles(record, child_session(composer["parent"], thread))
    return ParsedLine(_with_composer(state, thread, composer), events, titles, begun)


def _conversation(thread: str, conversation: object, composer: Composer) -> Iterator[ParsedEvent]:
    """Yield the events of a conversation that stands whole in its composer's row, as old builds wrote them."""
    seen = set()
    for index, bubble in enumerate(conversation if isinstance(conversation, list) else ()):
        key = name(bubble.get("bubbleId")) if isinstance(bubble, dict) else ""
        if key and key not in seen:
            seen.add(key)
            yield from _bubble_events(_owner(thread, key, bubble, composer), bubble, index * _EVENTS_PER_BUBBLE)


def _read_bubble(thread: str, key: str, bubble: JsonObject, state: State) -> ParsedLine:
    composer = _composer(state, thread)
    owner = _owner(thread, key, bubble, composer)
    # One file holds every conversation: without a time of its own a bubble is as late as the last of its own.
    at = owner.at or composer.get("at", "")
    state = _with_composer(state, thread, {**composer, "at": at, "cwd": composer.get("cwd", "") or owner.cwd})
    return ParsedLine(state, tuple(_bubble_events(owner, bubble, 0)), at=at)


def _owner(thread: str, key: str, bubble: JsonObject, composer: Composer) -> Owner:
    parent = composer.get("parent", "")
    return Owner(
        key=f"{thread}/bubble/{key}",
        session=child_session(parent, thread),
        parent=parent,
        rank=IDE,
        at=utc_time(bubble.get("createdAt")),
        cwd=composer.get("cwd", "") or _workspace(bubble) or working_directory(_call_arguments(bubble)),
        model=_model_name(bubble.get("modelInfo")) or composer.get("model", ""),
    )


def _bubble_events(owner: Owner, bubble: JsonObject, block: int) -> Iterator[ParsedEvent]:
    """Yield what a bubble says; its events come in the order of their blocks, from `block` on."""
    text = _bubble_text(bubble)
    if bubble.get("type") == _PERSON:
        found = [*asked(owner, prompts_of([text]))]
    else:
        found = [*answered(owner, [text] if text and not text.isspace() else []), *_tool_events(owner, bubble)]
    for index, each in enumerate(found, block):
        yield msgspec.structs.replace(each, block=index)


def _bubble_text(bubble: JsonObject) -> str:
    text = bubble.get("text")
    if isinstance(text, str) and text:
        return text
    blocks = bubble.get("codeBlocks")
    if isinstance(bubble.get("toolFormerData"), dict) or not isinstance(blocks, list):
        return ""
    return "\n\n".join(flatten(block.get("content")) for block in blocks if isinstance(block, dict))


def _tool_events(owner: Owner, bubble: JsonObject) -> Iterator[ParsedEvent]:
    tool = bubble.get("toolFormerData")
    if not isinstance(tool, dict) or name(tool.get("status")) in _RUNNING:
        return
    called, arguments = unwrapped(name(tool.get("name")), _call_arguments(bubble))
    call_id = name(tool.get("toolCallId"))
    yield call(owner, called, arguments, "#0", 0, call_id)
    failed = tool.get("status") == "error"
    told = tool.get("result") or (tool.get("error") if failed else None)
    if told:
        own = is_own_tool(called) or is_own_answer(flatten(told))
        yield result(owner, called, _result_text(told), failed, "#result", 0, (call_id or "own") if own else "")


def _result_text(told: object) -> str:
    """Return a result to read: most tools of the IDE give theirs as JSON in a string."""
    read = _from_json(told)
    return call_text("", read) if isinstance(read, dict) and "content" not in read else flatten(read or told)


def _call_arguments(bubble: JsonObject) -> object:
    """Return a call's arguments as the model gave them, else as the IDE understood them: JSON in a string."""
    tool = bubble.get("toolFormerData")
    if not isinstance(tool, dict):
        return None
    given = [tool.get(field) for field in ("rawArgs", "params")]
    read = [_from_json(value) for value in given]
    return next((value for value in read if value), None) or next((value for value in given if value), None)


def _from_json(value: object) -> object:
    if not isinstance(value, str):
        return value if isinstance(value, dict) else None
    try:
        return load_object(value.encode())
    except MalformedLine:
        return None


def _workspace(record: JsonObject) -> str:
    """Return the folder that a conversation was held in."""
    identifier = record.get("workspaceIdentifier")
    uris = record.get("workspaceUris")
    found = [identifier.get("uri")] if isinstance(identifier, dict) else []
    return next(filter(None, map(_folder, [*found, *(uris if isinstance(uris, list) else [])])), "")


def _folder(uri: object) -> str:
    if isinstance(uri, dict):
        return name(uri.get("fsPath")) or name(uri.get("path"))
    text = name(uri)
    if not text.startswith("file://"):
        return text if text.startswith("/") else ""
    path = unquote(text.removeprefix("file://"), errors="replace")
    # file:///c:/w/app
    return path[1:] if path[2:3] == ":" else path


def _composer(state: State, thread: str) -> Composer:
    composers = state.get(_COMPOSERS)
    found = composers.get(thread) if isinstance(composers, dict) else None
    return found if isinstance(found, dict) else {}


def _with_composer(state: State, thread: str, composer: Composer) -> State:
    """Return the state with what is known of a conversation; those seen longest ago are forgotten."""
    held = state.get(_COMPOSERS)
    composers = held if isinstance(held, dict) else {}
    told = {key: value for key, value in composer.items() if value}
    if not told or (composers.get(thread) == told and next(reversed(composers)) == thread):
        return state
    kept = {key: value for key, value in composers.items() if key != thread} | {thread: told}
    for oldest in list(kept)[:-_MOST_COMPOSERS]:
        del kept[oldest]
    return {**state, _COMPOSERS: kept}
