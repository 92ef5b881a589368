"""The tools that agents call, as plain data: what each is for, what it takes and the function that answers.

Every interface that offers them (a server over a pipe or a socket) reads this table and calls `call`.
"""

from collections.abc import Mapping
from datetime import tzinfo
from types import NoneType

import msgspec

from memory import shapes
from memory.actor import Actor
from memory.errors import InvalidInput
from memory.records import identity
from memory.scope import Scope
from memory.shapes import Json
from memory.text import cut
from memory.tools.reading import IdArguments, TimelineArguments, run_get, run_sources, run_timeline
from memory.tools.searching import SearchArguments, run_search
from memory.tools.tool import Caller, ReadArguments, Tool
from memory.tools.writing import (
    CorrectArguments,
    ForgetArguments,
    RememberArguments,
    run_correct,
    run_forget,
    run_remember,
)

MAX_TOKENS = 20_000
_LINE = 300


def call(
    name: str,
    arguments: Mapping[str, object],
    scope: Scope,
    zone: tzinfo,
    actor: Actor | None = None,
    unread: tuple[str, ...] = (),
) -> str:
    """Run one tool and return its answer as JSON text that keeps to its `max_tokens`.

    `None` stands for an argument left out; without an `actor` it is an agent that has no name. Raises `InvalidInput`
    for arguments it cannot use, `NotFound`, and what a write is refused with; an unknown tool is a `KeyError`.
    """
    tool = TOOLS_BY_NAME[name]
    given = {key: value for key, value in arguments.items() if not isinstance(value, NoneType)}
    try:
        checked = msgspec.convert(given, tool.arguments, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidInput("arguments", f"{name}: {_readable(str(error))}") from None
    caller = Caller(scope, zone, actor or identity.agent("", "mcp"), unread)
    if not isinstance(checked, ReadArguments):
        return shapes.dump(tool.run(checked, caller))
    if checked.max_tokens < shapes.MIN_TOKENS:
        raise InvalidInput("max_tokens", f"max_tokens must be at least {shapes.MIN_TOKENS}.")
    checked.max_tokens = min(checked.max_tokens, MAX_TOKENS)
    return shapes.dump(_kept_within(tool.run(checked, caller), checked.max_tokens))


def _readable(message: str) -> str:
    """Turn the checker's words into a sentence: `Expected int, got str: limit.`"""
    text, _, place = message.replace("`", "").partition(" - at $.")
    return f"{cut(text, _LINE)}{': ' + cut(place, _LINE) if place else ''}."


def _kept_within(answer: Json, max_tokens: int) -> Json:
    """Drop what an answer can do without where even its smallest form is over budget."""
    footer = answer.get("footer")
    for dispensable in ("explain", "freshness", "scanned", "unmatched"):
        if shapes.within(answer, max_tokens) or not isinstance(footer, dict):
            return answer
        footer.pop(dispensable, None)
    if shapes.within(answer, max_tokens):
        return answer
    return shapes.answer(footer={"note": shapes.TOO_SMALL})


TOOLS = (
    Tool(
        name="search",
        title="Search memory",
        description=(
            "Find what was said, decided or done in any coding agent's sessions on this person's machines. "
            "Entries are statements that were remembered; hits are what was said. Each has an id for get and sources. "
            "Without a query: the newest entries."
        ),
        arguments=SearchArguments,
        run=run_search,
    ),
    Tool(
        name="timeline",
        title="Timeline of sessions",
        description="List sessions in a time range, newest first (default: 7 days), or one session's events in order.",
        arguments=TimelineArguments,
        run=run_timeline,
    ),
    Tool(
        name="get",
        title="Get one item",
        description="Show an entry with its sources and versions, an event whole, or a session's outline, by id.",
        arguments=IdArguments,
        run=run_get,
    ),
    Tool(
        name="sources",
        title="Original log lines",
        description="Open the original log lines behind an entry or event: file, line number and text.",
        arguments=IdArguments,
        run=run_sources,
    ),
    Tool(
        name="remember",
        title="Remember",
        description=(
            "Keep one statement for every agent: a decision with its reason, a stable fact, a preference. "
            "It needs a source in the sessions. The receipt says whether it was created, is a duplicate, or waits for "
            "the person's review."
        ),
        arguments=RememberArguments,
        run=run_remember,
        read_only=False,
        idempotent=False,
    ),
    Tool(
        name="correct",
        title="Correct an entry",
        description="Put a new version in the place of an entry that is wrong or out of date; the old one is kept.",
        arguments=CorrectArguments,
        run=run_correct,
        read_only=False,
        idempotent=False,
    ),
    Tool(
        name="forget",
        title="Forget",
        description=(
            "Only when the person asks for it: hide an entry, an event or a session and all that says the same. "
            "The first call shows what that covers; only the person can take it back."
        ),
        arguments=ForgetArguments,
        run=run_forget,
        read_only=False,
        destructive=True,
        idempotent=False,
    ),
)
TOOLS_BY_NAME = {tool.name: tool for tool in TOOLS}
