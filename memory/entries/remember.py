"""Remember: write a first version of an entry, or say why not."""

import hashlib
import hmac
import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import tzinfo

from memory import aliases, config, sql
from memory.actor import Actor
from memory.entries import citations
from memory.entries.citations import Cited, Wanted
from memory.errors import Conflict, Denied, InvalidInput, NotFound, Refused
from memory.forgetting import values
from memory.models import Entry
from memory.mutation import Mutation, mutation
from memory.query import quoted
from memory.records import identity, log
from memory.records.bodies import EntryKind, Remember, Source, Trust
from memory.scope import Scope
from memory.secrets import mask
from memory.text import normalise, text_digest
from memory.times import now, parse_bound

LONGEST_TEXT = 4_000
DEFAULT_CONFIDENCE = 80
_KEY_LIMIT = 200
# How alike two entries' words are before one is named to the author of the other.
_NEAR = 0.6
_NEAR_SHOWN = 3
_NEAR_ASKED = 20

SAME = """
    SELECT entry_id FROM visible_entry WHERE digest = ? AND kind = ? AND project IN ({marks}) AND NOT superseded
    AND trust <> 'rejected' AND (ends_at = '' OR ends_at > ?) ORDER BY id LIMIT 1"""
NEAR = """
    SELECT e.entry_id, e.text FROM entry_words w JOIN visible_entry e ON e.id = w.rowid
    WHERE entry_words MATCH ? AND NOT e.superseded AND e.trust <> 'rejected' AND {condition}
    ORDER BY bm25(entry_words) LIMIT ?"""


@dataclass(frozen=True)
class Request:
    """What is to be remembered. Times are as a person or an agent writes them; `key` makes a repeated call harmless."""

    kind: EntryKind
    text: str
    sources: Sequence[Wanted]
    confidence: int = DEFAULT_CONFIDENCE
    project: str = ""
    valid_from: str = ""
    valid_to: str = ""
    key: str = ""


@dataclass(frozen=True)
class Receipt:
    """What a write did. `near` are entries that say nearly the same, `corrected` the versions it replaces."""

    outcome: str
    entry_id: str
    trust: str
    project: str
    near: tuple[str, ...] = ()
    corrected: tuple[str, ...] = ()


def remember(request: Request, scope: Scope, actor: Actor, zone: tzinfo) -> Receipt:
    """Write an entry and return its receipt once it is on the disk.

    The same key with the same content gives the first receipt again. Raises `InvalidInput`, `NotFound` for sources that
    are not visible in scope, `Conflict` for a key used for something else, `Denied`, and `Refused` for a statement that
    was forgotten or rejected.
    """
    if not scope.may_write:
        raise Denied("This connection may only read.")
    text, valid = checked_text(request.text), validity(request.valid_from, request.valid_to, zone)
    check_confidence(request.confidence)
    name = new_id(request.key)
    with mutation("remember", actor) as change:
        cited = citations.resolve(request.sources, scope)
        body = Remember(
            entry=name,
            kind=request.kind,
            text=text,
            confidence=request.confidence,
            sources=sources(cited),
            trust=first_trust(cited, actor),
            project=_project(request.project, cited, scope),
            valid_from=valid[0],
            valid_to=valid[1],
        )
        return _again(body, request.key) or _same(body) or _written(body, scope, actor, change)


def _written(body: Remember, scope: Scope, actor: Actor, change: Mutation) -> Receipt:
    refuse_forgotten(body.text)
    near = near_duplicates(body.text, scope)
    log.write(body, actor.author)
    change.targets.append(body.entry)
    return receipt_of(body.entry, near=near)


def _again(body: Remember, key: str) -> Receipt | None:
    """Return the first receipt where this key was used before. Raises `Conflict` where it was for something else."""
    held = Entry.objects.filter(entry_id=body.entry).first() if key else None
    if held is None:
        return None
    content = (held.kind, held.text, held.confidence, held.project, held.valid_from, held.valid_to)
    said = (body.kind, body.text, body.confidence, body.project, body.valid_from, body.valid_to)
    cited = tuple(held.sources.order_by("position").values_list("event_id", flat=True))
    if content != said or cited != tuple(source.event for source in body.sources):
        raise Conflict("This idempotency key was used for another entry; use a new one.")
    if held.forgotten:
        raise Refused("This was not written.")
    return receipt_of(held.entry_id)


def _same(body: Remember) -> Receipt | None:
    """Return the receipt of the entry that says exactly this already."""
    projects = aliases.names_of(body.project)
    query = SAME.format(marks=sql.marks(len(projects)))
    rows = sql.rows(query, (text_digest(body.text), body.kind, *projects, now()))
    return receipt_of(str(rows[0][0]), "duplicate") if rows else None


def _project(named: str, cited: Sequence[Cited], scope: Scope) -> str:
    """Return the project an entry belongs to: the one that was named, else that of its first source."""
    project = named or cited[0].project
    if not scope.holds(project):
        raise NotFound("This project is not one that this connection sees.")
    return project


# What correct asks too


def receipt_of(
    entry_id: str, outcome: str = "", *, near: tuple[str, ...] = (), corrected: tuple[str, ...] = ()
) -> Receipt:
    """Return the receipt of a version that is there; without an `outcome` that of its first writing."""
    held = Entry.objects.get(entry_id=entry_id)
    written = "proposed" if held.first_trust == "proposed" else "created"
    return Receipt(outcome or written, entry_id, held.trust, aliases.shown(held.project), near, corrected)


def new_id(key: str) -> str:
    """Return a new entry's id: random, or by the key, so that a repeated call is the same entry (definitions)."""
    if len(key) > _KEY_LIMIT:
        raise InvalidInput("idempotency_key", f"An idempotency key has at most {_KEY_LIMIT} characters.")
    if not key:
        return f"ent_{secrets.token_hex(8)}"
    return f"ent_{hmac.new(identity.store_uuid().encode(), key.encode(), hashlib.sha256).hexdigest()[:16]}"


def checked_text(text: str) -> str:
    """Return a statement as it is kept: without white space around it, secrets masked. Raises `InvalidInput`."""
    stripped = text.strip()
    if not normalise(stripped) or len(stripped) > LONGEST_TEXT:
        raise InvalidInput("text", f"An entry's text has 1 to {LONGEST_TEXT:,} characters.")
    return mask(stripped)


def check_confidence(confidence: int) -> None:
    """Raise `InvalidInput` for what is no share of a hundred."""
    if not 0 <= confidence <= 100:
        raise InvalidInput("confidence", "Confidence is per cent, 0 to 100.")


def validity(valid_from: str, valid_to: str, zone: tzinfo) -> tuple[str, str]:
    """Return both ends of a half-open range as they are stored; each may be empty. Raises `InvalidInput`."""
    start = parse_bound(valid_from, zone=zone, end=False, field="valid_from") if valid_from else ""
    end = parse_bound(valid_to, zone=zone, end=False, field="valid_to") if valid_to else ""
    if start and end and end < start:
        raise InvalidInput("valid_to", "valid_to lies before valid_from.")
    return start, end


def sources(cited: Sequence[Cited]) -> tuple[Source, ...]:
    """Return citations as a record holds them."""
    return tuple(Source(event=each.event_id, quote=mask(each.quote)) for each in cited)


def first_trust(cited: Collection[Cited], actor: Actor) -> Trust:
    """Return what a write is trusted as before any review, by the store's policy (spec 3, trust)."""
    if actor.is_owner:
        return "accepted"
    enough = {
        "open": True,
        "tool-output": any(each.is_said for each in cited),
        "person": any(each.is_persons for each in cited),
        "all": False,
    }
    return "accepted" if enough[config.load().trust.policy] else "proposed"


def refuse_forgotten(text: str) -> None:
    """Raise `Refused`, which says nothing of what, why or when, where the statement was forgotten or rejected."""
    if values.holders(text, values.CATEGORIES):
        raise Refused("This was not written: the owner does not want this statement kept.")


def near_duplicates(text: str, scope: Scope) -> tuple[str, ...]:
    """Return the entries in scope that say nearly the same, the likest first."""
    words = set(normalise(text).split())
    if not words:
        return ()
    condition, scoped = scope.condition("e.project")
    match = " OR ".join(quoted(word) for word in sorted(words, key=len, reverse=True)[:12])
    rows = sql.rows(NEAR.format(condition=condition), (match, *scoped, _NEAR_ASKED))
    alike = {name: _likeness(words, set(normalise(other).split())) for name, other in rows}
    return tuple(sorted((name for name in alike if alike[name] >= _NEAR), key=lambda name: -alike[name])[:_NEAR_SHOWN])


def _likeness(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other)
