"""Forget and restore: a tombstone over everything a plan covers, and the owner's way back."""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass

from memory.actor import Actor
from memory.errors import Conflict, Denied, InvalidInput, NotFound
from memory.forgetting import covered, values
from memory.forgetting.plan import Covered, plan_forget, seen_in, texts_of
from memory.models import Tombstone
from memory.mutation import mutation
from memory.records import log
from memory.records.bodies import Code, Digest, Forget, RestoreBody
from memory.scope import Scope
from memory.secrets import mask
from memory.text import cut

LONGEST_REASON = 1_000


@dataclass(frozen=True)
class Forgotten:
    """What a forget did: its tombstone, and how many entries and events of it the caller could see."""

    tombstone: str
    entries: int
    events: int


def forget(target: str, reason: str, code: Code, plan_digest: str, scope: Scope, actor: Actor) -> Forgotten:
    """Forget what a plan covers, for good until the owner restores it.

    `plan_digest` is that of the plan that was shown; if anything changed since, it is a `Conflict` that holds the new
    one. Raises `Denied`, `NotFound`, and `InvalidInput` for a reason that is missing or gives away what it is about.
    """
    if not scope.may_forget:
        raise Denied("This connection may not forget.")
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise InvalidInput("reason", f"A reason has 1 to {LONGEST_REASON} characters.")
    name = f"tmb_{secrets.token_hex(8)}"
    with mutation("forget", actor) as change:
        plan = plan_forget(target, scope)
        seen = seen_in(plan, scope)
        if plan.digest != plan_digest:
            raise Conflict("What this would cover has changed since it was shown; look at it again.", plan)
        texts = texts_of(plan)
        if covered.quotes(reason, (each.text for each in texts)):
            raise InvalidInput("reason", "The reason repeats what is to be forgotten; give one that does not.")
        body = Forget(
            tombstone=name,
            target=target,
            reason=mask(reason.strip()),
            code=code,
            effects=plan.effects,
            digests=tuple(_digests(texts)),
        )
        log.write(body, actor.author)
        change.targets += [name, target]
        change.code = code
    return Forgotten(name, *seen)


def restore(tombstone: str, reason: str, actor: Actor) -> Tombstone:
    """Bring back what a tombstone covers and no other live one does. The owner's alone.

    Raises `Denied`, `NotFound`, `Conflict` where it was restored already, and `InvalidInput`.
    """
    if not actor.is_owner:
        raise Denied("Only the owner restores, by a command or a page.")
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise InvalidInput("reason", f"A reason has 1 to {LONGEST_REASON} characters.")
    with mutation("restore", actor) as change:
        held = Tombstone.objects.filter(tombstone_id=tombstone).first()
        if held is None:
            raise NotFound(f"There is no tombstone {cut(tombstone, 40)}.")
        if not held.live:
            raise Conflict(f"The tombstone {tombstone} was restored already.")
        log.write(RestoreBody(tombstone=tombstone, reason=mask(reason.strip())), actor.author)
        change.targets.append(tombstone)
        change.code = held.code
    return Tombstone.objects.select_related("record").get(tombstone_id=tombstone)


def _digests(texts: Iterable[Covered]) -> Iterable[Digest]:
    found = {
        digest.digest: digest for each in texts if each.category for digest in values.digests(each.text, each.category)
    }
    return found.values()
