"""Recognises calls of Origin's own tools in an agent's log: their text must never become a source (invariant 2).

An answer of Origin's, logged by the agent that asked, would bring forgotten text back: what is kept is names and ids.
"""

import re
from collections.abc import Iterator

from memory.label import is_labelled

# Agents join server and tool by two underscores, by one, or by a hyphen; some say that it is a server, some do not.
_NAME = re.compile(
    r"(?:mcp(__|_|-).*origin.*\1|origin[_-]{1,2})(?:search|timeline|get|sources|remember|correct|forget)",
    re.IGNORECASE,
)
_ID = re.compile(r"(?:ent|tmb|rev)_[0-9a-f]{16}|[a-z][a-z0-9-]{0,39}:[A-Za-z0-9._:/+%-]{1,400}(?:#[a-z0-9]{1,12})?")
_ANSWER = re.compile(r'\s*\{\s*"entries"\s*:')
# The agent saves a long answer to a file and logs how it begins.
_SAVED = "<persisted-output>"


def is_own_tool(name: str) -> bool:
    """True for `mcp__origin__search`, `mcp__plugin_origin_origin__get`, `mcp-origin-search`, `origin__search`…"""
    return name.startswith(("mcp", "origin")) and _NAME.fullmatch(name) is not None


def is_own_answer(text: str) -> bool:
    """True for a result that holds an answer of Origin's: of a server under any name, or of a command in a shell."""
    if is_labelled(text):
        return True
    head = text[:64].lstrip()
    if head.startswith("{"):
        return _ANSWER.match(text) is not None or _has_parts(text)
    return head.startswith(_SAVED) and ('{"entries":' in text or _has_parts(text))


def own_call_text(name: str, call_id: str, arguments: object) -> str:
    """Return what is kept of a call: the tool, the call's id, and the ids it asked for."""
    return "\n".join(filter(None, (name, call_id, *_ids(arguments))))


def _has_parts(text: str) -> bool:
    return '"hits":' in text and '"footer":' in text


def _ids(arguments: object) -> Iterator[str]:
    asked = arguments.get("id") if isinstance(arguments, dict) else None
    for value in asked if isinstance(asked, list) else (asked,):
        if isinstance(value, str) and _ID.fullmatch(value):
            yield value
