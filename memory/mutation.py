"""Every change of the store: one transaction that is on the disk before it returns, and one row in the audit log."""

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from django.db import DatabaseError, connection, transaction

from memory import audit, sql
from memory.actor import Actor
from memory.records import journal


@dataclass
class Mutation:
    """One change as it happens: `targets` are the ids of what it changed, `code` why; never any text."""

    action: str
    actor: Actor
    targets: list[str] = field(default_factory=list)
    code: str = ""


@contextmanager
def mutation(action: str, actor: Actor) -> Iterator[Mutation]:
    """Run the block as one write transaction and leave exactly one audit row, or none where it changed nothing.

    Nothing of it remains where the block raises. An outer transaction, such as a batch of the archive, takes it in.
    """
    size = journal.size()
    try:
        with _durable():
            change = Mutation(action, actor)
            yield change
            if change.targets:
                audit.append(action=action, actor=actor, targets=change.targets, code=change.code)
            journal.append_new()
    except BaseException:
        _take_back(size)
        raise


def _take_back(size: int) -> None:
    """Cut off the journal what a failed commit added to it, with the write lock held: another may be writing."""
    if not connection.in_atomic_block and journal.size() > size:
        with contextlib.suppress(DatabaseError, OSError), transaction.atomic():
            journal.trim(size)


@contextmanager
def _durable() -> Iterator[None]:
    """Write to the disk at commit: a receipt is a promise. SQLite only changes this outside a transaction."""
    if connection.in_atomic_block:
        with transaction.atomic():
            yield
        return
    sql.execute("PRAGMA synchronous=FULL")
    try:
        with transaction.atomic():
            yield
    finally:
        sql.execute("PRAGMA synchronous=NORMAL")
