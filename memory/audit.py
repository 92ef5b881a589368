"""The audit log: one row a mutation, each chained to the one before it (definitions: audit chain). Ids, never text."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from memory.actor import Actor
from memory.models import AuditLog
from memory.records.canonical import canonical_json
from memory.setting import keep, kept
from memory.times import now

FIRST_PREVIOUS = "0" * 64
_HASHED = ("at", "action", "actor", "author", "channel", "device", "address", "client", "targets", "code")


@dataclass(frozen=True)
class Break:
    """A row of the log that is not what was written, or does not follow the one before it."""

    row: int
    reason: str


def append(*, action: str, actor: Actor, targets: Sequence[str], code: str = "") -> None:
    """Write one row inside the caller's transaction."""
    last = AuditLog.objects.order_by("-id").values_list("hash", flat=True).first()
    row = AuditLog(
        at=now(),
        action=action,
        actor=actor.kind,
        author=actor.author,
        channel=actor.channel,
        device=actor.device,
        address=actor.address,
        client=actor.client,
        targets=json.dumps(list(targets), separators=(",", ":")),
        code=code,
        previous=last or FIRST_PREVIOUS,
    )
    row.hash = row_hash(row)
    row.save(force_insert=True)
    keep("audit_head", row.hash)


def row_hash(row: AuditLog) -> str:
    """Return the digest of a row, which takes in that of the row before it."""
    fields = {name: getattr(row, name) for name in _HASHED}
    return sha256((row.previous + canonical_json(fields)).encode()).hexdigest()


def breaks() -> Iterator[Break]:
    """Walk the whole chain and yield where it is broken."""
    previous = FIRST_PREVIOUS
    for number, row in enumerate(AuditLog.objects.order_by("id").iterator(), 1):
        if row.previous != previous or row.pk != number:
            yield Break(row.pk, "does not follow the row before it")
        if row_hash(row) != row.hash:
            yield Break(row.pk, "was changed after it was written")
        previous = row.hash
    if previous != kept("audit_head", FIRST_PREVIOUS):
        yield Break(0, "the last rows are missing")


def newest(limit: int) -> list[AuditLog]:
    """Return the newest rows, the last first."""
    return list(AuditLog.objects.order_by("-id")[:limit])
