"""Correct: a new version in the place of every current one that its author sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import tzinfo

from memory import sql
from memory.actor import Actor
from memory.entries import citations, remember
from memory.entries.citations import Cited, Wanted
from memory.entries.remember import Receipt
from memory.errors import Conflict, Denied, NotFound
from memory.models import Entry
from memory.mutation import mutation
from memory.records import log
from memory.records.bodies import Correct, Source
from memory.scope import Scope
from memory.text import cut

OWNERS_CONFIDENCE = 100
# What can be seen of a chain: not rejected, and neither replaced nor lost to another correction.
HEADS = """
    SELECT entry_id FROM visible_entry WHERE chain = ? AND NOT superseded AND trust <> 'rejected' AND {condition}
    ORDER BY id"""


@dataclass(frozen=True)
class Request:
    """What is to be said instead of an entry; what is left empty stays as it is, and sources are added to its own."""

    entry_id: str
    text: str = ""
    confidence: int | None = None
    sources: Sequence[Wanted] = ()
    valid_from: str = ""
    valid_to: str = ""
    key: str = ""


def correct(request: Request, scope: Scope, actor: Actor, zone: tzinfo) -> Receipt:
    """Write a new version and return its receipt once it is on the disk.

    It names every head of the entry that the author can see, so that no clock can bring one of them back. An agent's
    version that is only proposed replaces nothing before the owner accepts it. Raises as `remember` does.
    """
    if not scope.may_write:
        raise Denied("This connection may only read.")
    with mutation("correct", actor) as change:
        before = visible(request.entry_id, scope)
        body = _body(request, before, scope, actor, zone)
        if request.key and (receipt := _again(body)):
            return receipt
        remember.refuse_forgotten(body.text)
        log.write(body, actor.author)
        change.targets += [body.entry, before.chain]
    return remember.receipt_of(body.entry, corrected=body.supersedes)


def visible(entry_id: str, scope: Scope) -> Entry:
    """Return a version that is not forgotten and in scope. Raises `NotFound`, without saying which it is."""
    found = Entry.objects.filter(entry_id=entry_id, forgotten=False).first()
    if found is None or not scope.holds(found.project):
        raise NotFound(f"No entry {cut(entry_id, 200)} is held.")
    return found


def _body(request: Request, before: Entry, scope: Scope, actor: Actor, zone: tzinfo) -> Correct:
    added = citations.resolve(request.sources, scope) if request.sources else ()
    valid = remember.validity(request.valid_from or before.valid_from, request.valid_to or before.valid_to, zone)
    confidence = request.confidence
    if confidence is None:
        confidence = OWNERS_CONFIDENCE if actor.is_owner else before.confidence
    remember.check_confidence(confidence)
    condition, scoped = scope.condition("project")
    heads = [str(name) for (name,) in sql.rows(HEADS.format(condition=condition), (before.chain, *scoped))]
    cited = _sources(before, added)
    return Correct(
        entry=remember.new_id(request.key),
        chain=before.chain,
        supersedes=tuple(dict.fromkeys([*heads, before.entry_id])),
        kind=before.kind,  # type: ignore[arg-type]
        text=remember.checked_text(request.text) if request.text else before.text,
        confidence=confidence,
        sources=cited,
        trust=remember.first_trust(citations.known(source.event for source in cited), actor),
        project=before.project,
        valid_from=valid[0],
        valid_to=valid[1],
    )


def _sources(before: Entry, added: Sequence[Cited]) -> tuple[Source, ...]:
    """Carry the sources over, and add new ones."""
    carried = [Source(event=each.event_id, quote=each.quote) for each in before.sources.order_by("position")]
    known = {source.event for source in carried}
    return (*carried, *(source for source in remember.sources(added) if source.event not in known))


def _again(body: Correct) -> Receipt | None:
    """Return the first receipt where this key was used before. Raises `Conflict` where it was for something else."""
    held = Entry.objects.filter(entry_id=body.entry, forgotten=False).first()
    if held is None:
        return None
    said = (body.chain, body.text, body.confidence, body.valid_from, body.valid_to)
    if said != (held.chain, held.text, held.confidence, held.valid_from, held.valid_to):
        raise Conflict("This idempotency key was used for another write; use a new one.")
    older = tuple(held.supersedes.order_by("id").values_list("older", flat=True))
    return remember.receipt_of(held.entry_id, corrected=older)
