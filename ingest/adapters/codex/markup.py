"""Tells a person's words in a Codex log from what Codex itself puts into the person's turn."""

import re

from ingest.adapters.markup import Said

# What the person typed or chose, as the program tells it.
_PERSON = frozenset({"user_action", "user_shell_command"})
_TAGS = _PERSON | {
    "INSTRUCTIONS",
    "apps_instructions",
    "collaboration_mode",
    "context_window",
    "context_window_guidance",
    "environment_context",
    "model_switch",
    "multi_agent_mode",
    "permissions",
    "personality_spec",
    "plugins_instructions",
    "realtime_conversation",
    "recommended_plugins",
    "skill",
    "skills_instructions",
    "subagent_notification",
    "system-reminder",
    "turn_aborted",
    "user_instructions",
}
_HEAD, _TAIL = 400, 100
_OPENING = re.compile(r"<([A-Za-z][A-Za-z_-]*)(?:\s[^<>]*)?>")
_CLOSING = re.compile(r"</([A-Za-z][A-Za-z_-]*)(?:\s[^<>]*)?>\Z")
# Stands before and after an attached image, which is a block of its own.
_IMAGE = re.compile(r"\s*</?image(?:\s[^<>]*)?>\s*")
_INSTRUCTIONS, _CONTEXT = "# AGENTS.md instructions", "# Context from my IDE setup"
_REQUEST = "\n## My request for Codex:"


def read_turn(text: str) -> Said:
    """Return what a text in the person's turn says; empty text where it says nothing.

    Only a text that is markup from its first character to its last counts as such: people quote it.
    """
    head = text[:_HEAD].lstrip()
    if head.startswith("<"):
        return _read_markup(text, head)
    if head.startswith("# "):
        return _read_headed(text, head)
    return Said(text)


def _read_markup(text: str, head: str) -> Said:
    if len(text) < _HEAD and _IMAGE.fullmatch(text):
        return Said("")
    opening, closing = _OPENING.match(head), _CLOSING.search(text[-_TAIL:].rstrip())
    if opening and closing and opening[1] in _TAGS and closing[1] in _TAGS:
        return Said(text, meta=True, role="user" if opening[1] in _PERSON else "system")
    return Said(text)


def _read_headed(text: str, head: str) -> Said:
    """Read a text that begins with a heading: an editor's context comes before the person's request."""
    if head.startswith(_INSTRUCTIONS) and "<INSTRUCTIONS>" in text:
        return Said(text, meta=True, role="system")
    _, found, request = text.partition(_REQUEST)
    if found and request.strip():
        return Said(request.strip())
    if found or head.startswith(_CONTEXT):
        return Said(text, meta=True, role="system")
    return Said(text)
