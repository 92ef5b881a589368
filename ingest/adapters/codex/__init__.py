"""Codex: one JSON record a line in `sessions/**/rollout-*.jsonl`, and the names of threads in files of their own."""

import os
from collections.abc import Callable, Iterator

from ingest.adapters.codex.messages import read_compacted, read_from_agent, read_message
from ingest.adapters.codex.record import SOURCE, Context, Read, in_context, parsed
from ingest.adapters.codex.thread import read_session, read_turn_context
from ingest.adapters.codex.titles import index_file, parse_title, read_rows, state_database
from ingest.adapters.codex.told import read_told
from ingest.adapters.codex.tools import (
    read_call,
    read_image,
    read_output,
    read_shell_call,
    read_tool_search,
    read_tools_found,
    read_web_search,
)
from ingest.adapters.contract import Adapter, Environment, Form, SourceFile
from ingest.adapters.files import Found, roots, walk
from ingest.adapters.times import utc_time
from memory.json_line import JsonObject, load_object
from memory.parsed import Line, ParsedLine, State

_FOLDERS = ("sessions", "archived_sessions")
_PREFIX, _PLAIN, _COMPRESSED = "rollout-", ".jsonl", ".zst"


def discover(environment: Environment) -> Iterator[SourceFile]:
    """Yield rollouts, the index of names and the state database; what could not be read is raised at the end."""
    failures: list[OSError] = []
    for root, prefix in _roots(environment, "CODEX_HOME"):
        for folder in _FOLDERS:
            yield from map(_rollout, walk(os.path.join(root, folder), _is_rollout, frozenset(), failures))
        yield from index_file(SOURCE, root, prefix)
    for directory, prefix in _roots(environment, "CODEX_SQLITE_HOME", "CODEX_HOME"):
        yield from state_database(SOURCE, directory, prefix)
    if failures:
        raise failures[0]


def places(environment: Environment) -> Iterator[str]:
    """Yield the directories that `discover` looks in."""
    return (os.path.join(root, folder) for root, _ in _roots(environment, "CODEX_HOME") for folder in _FOLDERS)


def parse_line(line: Line, state: State) -> ParsedLine:
    """Return the events and titles of one record; raises `MalformedLine` where the line is no JSON object."""
    if not line.path.rpartition("/")[2].startswith(_PREFIX):
        return parse_title(line, state)
    record = load_object(line.data)
    kind, payload = _payload(record)
    at = utc_time(record.get("timestamp") or record.get("created_at"))
    if kind in _FACTS:
        return ParsedLine(_FACTS[kind](payload, state), at=at)
    read = _READERS.get(kind)
    return read(in_context(line, record, payload, state, at)) if read else ParsedLine(state, at=at)


def version(environment: Environment) -> str:
    """Nothing is known without running the agent; each log names the version that wrote it."""
    return ""


def _roots(environment: Environment, *variables: str) -> Iterator[tuple[str, str]]:
    given = next(filter(None, (environment.variables.get(name, "").strip() for name in variables)), "")
    return roots(environment.home, (given,), (os.path.join(environment.home, ".codex"),))


def _is_rollout(name: str) -> bool:
    return name.startswith(_PREFIX) and name.removesuffix(_COMPRESSED).endswith(_PLAIN)


def _rollout(found: Found) -> SourceFile:
    """A thread keeps its file's name wherever it is moved to, so that is all there is of its logical path."""
    path, relative, status = found
    name = relative.rpartition("/")[2].removesuffix(_COMPRESSED)
    form: Form = "zstd" if path.endswith(_COMPRESSED) else "lines"
    return SourceFile(SOURCE, path, f"sessions/{name}", form, status.st_size, status.st_mtime_ns, status.st_ino)


def _payload(record: JsonObject) -> tuple[str, JsonObject]:
    """Return a record's type and payload; the first builds wrote bare items after bare facts of the session."""
    kind, payload = record.get("type"), record.get("payload")
    if isinstance(payload, dict):
        return (kind if isinstance(kind, str) else ""), payload
    if "payload" in record or "record_type" in record:
        return "", record
    if kind is None and "role" not in record:
        return ("session_meta" if "id" in record else ""), record
    return "response_item", record


def _read_item(context: Context) -> ParsedLine:
    kind = context.payload.get("type")
    if kind is None and "role" in context.payload:
        return read_message(context)
    read = _ITEMS.get(kind) if isinstance(kind, str) else None
    return read(context) if read else parsed(context)


_FACTS: dict[str, Callable[[JsonObject, State], State]] = {
    "session_meta": read_session,
    "turn_context": read_turn_context,
}
_READERS: dict[str, Read] = {
    "response_item": _read_item,
    "event_msg": read_told,
    "compacted": read_compacted,
}
_ITEMS: dict[str, Read] = {
    "message": read_message,
    "agent_message": read_from_agent,
    "function_call": read_call,
    "custom_tool_call": read_call,
    "tool_call": read_call,
    "local_shell_call": read_shell_call,
    "tool_search_call": read_tool_search,
    "web_search_call": read_web_search,
    "image_generation_call": read_image,
    "function_call_output": read_output,
    "custom_tool_call_output": read_output,
    "function_result": read_output,
    "tool_result": read_output,
    "tool_search_output": read_tools_found,
}

ADAPTER = Adapter(
    source=SOURCE,
    display_name="Codex",
    discover=discover,
    parse_line=parse_line,
    version=version,
    read_rows=read_rows,
    places=places,
)
