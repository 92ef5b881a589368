"""Proof of forgetting: every tool is asked for what a tombstone covers, and none may answer with it."""

import json
from dataclasses import dataclass, field
from datetime import UTC

from memory import sql
from memory.errors import NotFound, OriginError
from memory.forgetting import covered
from memory.forgetting.covered import RUN, SHORTEST_ENTRY
from memory.models import Tombstone
from memory.records import identity
from memory.scope import EVERYTHING
from memory.text import cut, normalise

_ASKED = 200
SESSIONS = """
    SELECT DISTINCT s.session_id FROM tombstone_effect f JOIN event e ON f.kind = 'event' AND e.event_id = f.item
    JOIN session s ON s.id = e.session_id WHERE f.tombstone = ?"""
LINES = """
    SELECT count(*) FROM tombstone_effect f JOIN event e ON f.kind = 'event' AND e.event_id = f.item
    WHERE f.tombstone = ?"""


@dataclass
class Verified:
    """Which tools answered with what was forgotten, after how many questions, and where it still lies at rest."""

    surfaces: list[str] = field(default_factory=list)
    asked: int = 0
    rests: str = ""


def verify(tombstone: str) -> Verified:
    """Ask every reading tool for what a live tombstone covers. Raises `NotFound` for one that is not live."""
    if not Tombstone.objects.filter(tombstone_id=tombstone, live=True).exists():
        raise NotFound(f"There is no live tombstone {cut(tombstone, 40)}.")
    texts = covered.of_tombstone(tombstone)
    said = [normalise(text) for name, text in texts]
    known = [text for text in said if len(text) >= RUN] + [
        text
        for (name, _), text in zip(texts, said, strict=True)
        if name.startswith("ent_") and len(text) >= SHORTEST_ENTRY
    ]
    found = Verified(rests=_rests(tombstone))
    for tool, arguments in _questions(tombstone, texts):
        found.asked += 1
        answer = normalise(_answer(tool, arguments))
        if tool not in found.surfaces and any(text in answer for text in known):
            found.surfaces.append(tool)
    return found


def _questions(tombstone: str, texts: list[tuple[str, str]]) -> list[tuple[str, dict[str, object]]]:
    questions: list[tuple[str, dict[str, object]]] = [("timeline", {"since": "1990-01-01"})]
    for name, text in texts[:_ASKED]:
        for extra in ({}, {"tools": True, "meta": True}, {"in": "entries", "history": True}):
            questions.append(("search", {"query": cut(text, 300), "max_tokens": 20_000, **extra}))
        questions += [("get", {"id": name}), ("sources", {"id": name})]
    for (session,) in sql.rows(SESSIONS, (tombstone,)):
        questions += [("timeline", {"session": session, "tools": True, "max_tokens": 20_000}), ("get", {"id": session})]
    return questions


def _answer(tool: str, arguments: dict[str, object]) -> str:
    """Return everything a tool says, errors too, as the owner who sees most."""
    from memory.tools import call

    try:
        answer = call(tool, arguments, EVERYTHING, UTC, identity.owner())
    except OriginError as error:
        return str(error)
    return "\n".join(covered.values_of(json.loads(answer)))


def _rests(tombstone: str) -> str:
    lines = int(sql.rows(LINES, (tombstone,))[0][0])
    return (
        f"Forgetting hides, it does not erase: the text still lies in the mirrors ({lines} events), in rows of the"
        " database and pages of its indexes that are not merged yet, in the agents' own logs, and in other stores and"
        " backups."
    )
