"""The tools `remember` and `correct`."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from memory import shapes
from memory.entries import correct, remember
from memory.entries.citations import Wanted
from memory.entries.remember import Receipt
from memory.shapes import Json
from memory.tools.tool import Arguments, Caller

Sources = Annotated[
    list["SourceArgument"], Meta(description="What it rests on: an event's id, exact words that were said, or both")
]
ValidFrom = Annotated[str, Meta(description="Since when it holds; empty: not known")]
ValidTo = Annotated[str, Meta(description="Until when, exclusive; empty: no known end")]
Key = Annotated[str, Meta(description="Any text of yours: a repeated call with it is the same write")]


class SourceArgument(msgspec.Struct, forbid_unknown_fields=True):
    """One source as an agent names it."""

    event: str = ""
    quote: str = ""


class RememberArguments(Arguments, forbid_unknown_fields=True, kw_only=True):
    """What `remember` takes."""

    kind: Annotated[
        Literal["memory", "knowledge", "cognition"],
        Meta(description="memory: what happened; knowledge: a stable fact or decision; cognition: about the person"),
    ]
    text: Annotated[str, Meta(description="One statement that stands alone, with the reason; at most 4000 characters")]
    sources: Sources
    confidence: Annotated[int, Meta(description="Per cent")] = remember.DEFAULT_CONFIDENCE
    project: Annotated[str, Meta(description="Empty: that of the first source")] = ""
    valid_from: ValidFrom = ""
    valid_to: ValidTo = ""
    idempotency_key: Key = ""


class CorrectArguments(Arguments, forbid_unknown_fields=True, kw_only=True):
    """What `correct` takes."""

    id: Annotated[str, Meta(description="The entry's id, ent_...")]
    text: Annotated[str, Meta(description="The whole statement as it should be; empty: unchanged")] = ""
    confidence: Annotated[int, Meta(description="Per cent; -1: unchanged")] = -1
    sources: Sources = msgspec.field(default_factory=list)
    valid_from: ValidFrom = ""
    valid_to: ValidTo = ""
    idempotency_key: Key = ""


def run_remember(arguments: RememberArguments, caller: Caller) -> Json:
    """Answer `remember`."""
    request = remember.Request(
        arguments.kind,
        arguments.text,
        _wanted(arguments.sources),
        arguments.confidence,
        arguments.project,
        arguments.valid_from,
        arguments.valid_to,
        arguments.idempotency_key,
    )
    return _receipt(remember.remember(request, caller.scope, caller.actor, caller.zone), caller)


def run_correct(arguments: CorrectArguments, caller: Caller) -> Json:
    """Answer `correct`."""
    request = correct.Request(
        arguments.id,
        arguments.text,
        None if arguments.confidence == -1 else arguments.confidence,
        _wanted(arguments.sources),
        arguments.valid_from,
        arguments.valid_to,
        arguments.idempotency_key,
    )
    return _receipt(correct.correct(request, caller.scope, caller.actor, caller.zone), caller)


def _wanted(sources: Sequence[SourceArgument]) -> list[Wanted]:
    return [Wanted(source.event, source.quote) for source in sources]


def _receipt(receipt: Receipt, caller: Caller) -> Json:
    shape = shapes.receipt(receipt)
    return shapes.answer(receipt=shape | ({"not_read": list(caller.unread)} if caller.unread else {}))
