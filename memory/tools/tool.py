"""What a tool is: its name, what it takes, the function that answers, and who calls it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import tzinfo
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from memory.actor import Actor
from memory.freshness import freshness
from memory.scope import Scope
from memory.shapes import Json
from memory.times import now, parse_bound

Project = Annotated[str, Meta(description="Only this project")]
Source = Annotated[str, Meta(description="Only this agent, e.g. claude-code")]
Since = Annotated[str, Meta(description="From: 2026-05-01, an ISO time, or 7d, 24h, today")]
Until = Annotated[str, Meta(description="To, inclusive; same forms")]
CursorText = Annotated[str, Meta(description="Goes on where footer.cursor says")]
Budget = Annotated[int, Meta(description="Upper bound of the answer, 200 to 20000")]


@dataclass(frozen=True)
class Caller:
    """Who calls a tool: what they may see and do, the zone their times are in, and the actor of their writes.

    `unread` are sources that could not be read to the end before a write: what was just said there may be missing.
    """

    scope: Scope
    zone: tzinfo
    actor: Actor
    unread: tuple[str, ...] = ()


class Arguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What every tool takes: nothing of its own."""


class ReadArguments(Arguments, forbid_unknown_fields=True, kw_only=True):
    """What every read tool takes."""

    cursor: CursorText = ""
    max_tokens: Budget = 2_000


@dataclass(frozen=True)
class Tool:
    """One tool. The hints are those of the protocol; `run` gets checked arguments and who calls."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Callable[[Any, Caller], Json]
    read_only: bool = True
    destructive: bool = False
    idempotent: bool = True

    def input_schema(self) -> Json:
        """Return the JSON Schema of the arguments: one plain object, no references or unions."""
        fields = msgspec.structs.fields(self.arguments)
        hints = get_type_hints(self.arguments, include_extras=True)
        required = [field.encode_name for field in fields if field.required]
        properties = {field.encode_name: _property(hints[field.name], field.default) for field in fields}
        schema: Json = {"type": "object", "properties": properties, "additionalProperties": False}
        return schema | ({"required": required} if required else {})


def _property(hint: object, default: object) -> Json:
    schema: Json = {}
    if get_origin(hint) is Annotated:
        hint, meta = get_args(hint)
        schema["description"] = meta.description
    schema = _type(hint) | schema
    return schema if default in (msgspec.NODEFAULT, "", False, None) else schema | {"default": default}


def _type(hint: object) -> Json:
    """Return the schema of a type: a word of a list, a plain value, or a list of objects of plain values."""
    if get_origin(hint) is Literal:
        return {"type": "string", "enum": list(get_args(hint))}
    if get_origin(hint) is list:
        (item,) = get_args(hint)
        fields = {field.encode_name: _type(field.type) for field in msgspec.structs.fields(item)}
        return {"type": "array", "items": {"type": "object", "properties": fields, "additionalProperties": False}}
    return {"type": {str: "string", int: "integer", bool: "boolean"}[hint]}  # type: ignore[index]


def footer(**parts: object) -> Json:
    """Return a footer: what was left out and how to get it first, freshness last, empty parts not at all."""
    parts["freshness"] = freshness()
    return {key: value for key, value in parts.items() if value}


def time_range(since: str, until: str, zone: tzinfo) -> tuple[str, str]:
    """Return both ends of a range as they are stored. Raises `InvalidInput`."""
    moment = now()
    return (
        parse_bound(since, zone=zone, end=False, now=moment) if since else "",
        parse_bound(until, zone=zone, end=True, now=moment) if until else "",
    )


def instant(text: str, field: str, zone: tzinfo) -> str:
    """Return an instant as it is stored, or nothing for none; a day is its end, since all of it is meant.

    Raises `InvalidInput` on `field`.
    """
    return parse_bound(text, zone=zone, end=True, field=field) if text else ""
