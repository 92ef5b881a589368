"""The log of records: what this store says, what others said, and both applied to the tables in one way."""

from collections.abc import Collection, Iterable

import msgspec

from memory.entries import facts, state
from memory.errors import Conflict, InvalidInput
from memory.forgetting import tombstones
from memory.models import ProjectAlias, Record
from memory.records import clock, identity
from memory.records.bodies import BODIES, Alias, Body, End, Exclude, Forget, Remember, RestoreBody, ReviewBody
from memory.records.canonical import canonical_json
from memory.records.wire import Wire, hash_of, is_sound
from memory.times import now


def write(body: Body, author: str) -> Record:
    """Write a record of this store's own and apply it, inside the caller's write transaction."""
    ms, counter = clock.tick()
    record = Record(
        origin=identity.origin(),
        oseq=identity.next_number(),
        hlc_ms=ms,
        hlc_c=counter,
        created_at=now(),
        author=author,
        kind=_KINDS[type(body)],
        body=canonical_json(msgspec.to_builtins(body)),
    )
    record.sha256 = hash_of(record)
    record.save(force_insert=True)
    _apply([record])
    return record


def receive(wires: Iterable[Wire]) -> list[Record]:
    """Take in records of other stores inside the caller's write transaction; returns those that were new.

    Raises `Conflict` for a record whose number this store knows with other content, and `InvalidInput` for one whose
    hash is not that of its content. Nothing is refused for its clock or for what it says (lab-hub 4).
    """
    fresh = [record for wire in wires if (record := _received(wire))]
    for record in fresh:
        clock.observe((record.hlc_ms, record.hlc_c))
    _apply(fresh)
    return fresh


def _received(wire: Wire) -> Record | None:
    record = Record(**msgspec.structs.asdict(wire))
    if not is_sound(record):
        raise InvalidInput("sha256", f"The record {wire.origin} {wire.oseq} does not match its hash.")
    held = Record.objects.filter(origin=wire.origin, oseq=wire.oseq).values_list("sha256", flat=True).first()
    if held is None:
        record.save(force_insert=True)
        return record
    if held != wire.sha256:
        raise Conflict(f"Two different records are numbered {wire.oseq} of {wire.origin}.")
    return None


_KINDS = {body: kind for kind, body in BODIES.items()}


def _apply(records: Collection[Record]) -> None:
    """Write what records say as rows, then work out once what follows from all of them."""
    chains: set[str] = set()
    changed: set[str] = set()
    for record in records:
        body = _body(record)
        if isinstance(body, Remember):
            chains |= facts.add_version(record, body)
        elif isinstance(body, ReviewBody):
            chains |= facts.add_review(record, body)
        elif isinstance(body, End):
            chains |= facts.add_end(record, body)
        elif isinstance(body, Forget):
            tombstones.add_forget(record, body)
            changed.add(body.tombstone)
        elif isinstance(body, Exclude):
            tombstones.add_exclude(body)
            changed.add(body.tombstone)
        elif isinstance(body, RestoreBody):
            tombstones.add_restore(record, body)
            changed.add(body.tombstone)
        elif isinstance(body, Alias):
            ProjectAlias.objects.create(record=record, name=body.name, target=body.target)
    chains |= tombstones.settle(changed)
    state.refold(chains)


def _body(record: Record) -> Body | None:
    """Return what a record says, or nothing of a kind or a shape that this version does not know."""
    try:
        return msgspec.json.decode(record.body, type=BODIES[record.kind])
    except (KeyError, msgspec.ValidationError):
        return None
