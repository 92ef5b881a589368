"""The tools `remember`, `correct` and `forget`."""

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from memory import shapes
from memory.entries import correct, remember
from memory.entries.citations import Wanted
from memory.entries.remember import Receipt
from memory.errors import Denied
from memory.forgetting.forget import forget
from memory.forgetting.plan import plan_forget, seen_in
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


class ForgetArguments(Arguments, forbid_unknown_fields=True, kw_only=True):
    """What `forget` takes."""

    id: Annotated[str, Meta(description="An entry, an event or a session")]
    reason: Annotated[str, Meta(description="The person's reason, without repeating what is forgotten")]
    reason_code: Literal["private", "wrong", "secret", "outdated", "other"] = "other"
    plan: Annotated[str, Meta(description="The plan's digest, from a first call without it")] = ""


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


def run_forget(arguments: ForgetArguments, caller: Caller) -> Json:
    """Answer `forget`: without a plan's digest what it would cover, with it what it did."""
    if not caller.scope.may_forget:
        raise Denied("This connection may not forget.")
    plan = plan_forget(arguments.id, caller.scope)
    if not arguments.plan:
        entries, events = seen_in(plan, caller.scope)
        shape: Json = {"plan": plan.digest, "entries": entries, "events": events, "sessions": len(plan.sessions)}
        return shapes.answer(plan=shape, note="Nothing was changed. Ask the person, then call again with this plan.")
    code = arguments.reason_code
    done = forget(arguments.id, arguments.reason, code, arguments.plan, caller.scope, caller.actor)
    shape = {"tombstone": done.tombstone, "entries": done.entries, "events": done.events}
    return shapes.answer(receipt={"outcome": "forgotten", **shape})


def _wanted(sources: Sequence[SourceArgument]) -> list[Wanted]:
    return [Wanted(source.event, source.quote) for source in sources]


def _receipt(receipt: Receipt, caller: Caller) -> Json:
    shape = shapes.receipt(receipt)
    return shapes.answer(receipt=shape | ({"not_read": list(caller.unread)} if caller.unread else {}))
