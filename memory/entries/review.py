"""Review: the owner accepts, disputes or rejects a version, and sees what waits for that."""

import secrets
from dataclasses import dataclass

from memory import sql
from memory.actor import Actor
from memory.entries import correct, remember
from memory.entries.remember import Receipt
from memory.errors import Denied, InvalidInput
from memory.models import Entry
from memory.mutation import mutation
from memory.records import log
from memory.records.bodies import ReviewBody, Verdict
from memory.scope import EVERYTHING

_REASON_LIMIT = 1_000
WAITING = """
    SELECT entry_id FROM visible_entry WHERE trust IN ('proposed', 'disputed') AND NOT superseded
    ORDER BY recorded_at, id LIMIT ?"""
COUNT = "SELECT count(*) FROM visible_entry WHERE trust IN ('proposed', 'disputed') AND NOT superseded"


@dataclass(frozen=True)
class Waiting:
    """A version that waits for the owner, and the entries that say nearly the same."""

    entry_id: str
    near: tuple[str, ...]


def review(entry_id: str, verdict: Verdict, reason: str, actor: Actor) -> Receipt:
    """Write the owner's decision about one version; the latest decides.

    A rejected statement cannot be remembered again until it is accepted after all; a correction that is accepted takes
    effect now. Raises `Denied` for anybody but the owner, `NotFound` and `InvalidInput`.
    """
    if not actor.is_owner:
        raise Denied("Only the owner reviews entries.")
    if len(reason) > _REASON_LIMIT:
        raise InvalidInput("reason", f"A reason has at most {_REASON_LIMIT} characters.")
    with mutation("review", actor) as change:
        correct.visible(entry_id, EVERYTHING)
        body = ReviewBody(review=f"rev_{secrets.token_hex(8)}", entry=entry_id, verdict=verdict, reason=reason)
        log.write(body, actor.author)
        change.targets += [body.review, entry_id]
        change.code = verdict
    return remember.receipt_of(entry_id, verdict)


def waiting(limit: int = 100) -> list[Waiting]:
    """Return what waits for the owner, the longest first."""
    names = [str(name) for (name,) in sql.rows(WAITING, (limit,))]
    entries = Entry.objects.in_bulk(names, field_name="entry_id")
    return [Waiting(name, _near(entries[name])) for name in names]


def count_waiting() -> int:
    """Return how many versions wait for the owner."""
    return int(sql.rows(COUNT)[0][0])


def _near(entry: Entry) -> tuple[str, ...]:
    found = remember.near_duplicates(entry.text, EVERYTHING)
    return tuple(name for name in found if name != entry.entry_id)
