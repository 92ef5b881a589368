"""Entries of the memories that agents keep in files of their own: each follows its file, the owner's word first.

What a file says now is compared with what its entry says, so that a kill between the journal's line and its record is
made good by the next sync, and no version is imported twice.
"""

import secrets
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from memory import sql
from memory.actor import Actor
from memory.entries.remember import LONGEST_TEXT
from memory.forgetting import values
from memory.models import Entry
from memory.mutation import Mutation, mutation
from memory.records import identity, log
from memory.records.bodies import Correct, End, Remember, Source
from memory.secrets import mask
from memory.text import cut, normalise
from memory.times import now

IMPORTED_CONFIDENCE = 80
# Every version, and whether it is the journal's last line: where the file is gone, that line says nothing.
VERSIONS = """
    SELECT s.session_id, e.event_id, e.tool, e.text, e.line = r.lines
    FROM event e JOIN session s ON s.id = e.session_id JOIN raw_file r ON r.id = e.raw_file_id
    WHERE r.id = ? AND e.kind = 'meta' ORDER BY e.line, e.id"""
CHAIN = """
    SELECT n.chain FROM entry n JOIN entry_source c ON c.entry_id = n.id JOIN event e ON e.event_id = c.event_id
    JOIN session s ON s.id = e.session_id WHERE s.session_id = ? AND n.imported ORDER BY n.id LIMIT 1"""
# What the file said when it was last imported: an owner's correction since then stands until that changes.
IMPORTED = """
    SELECT e.text FROM entry n JOIN entry_source c ON c.entry_id = n.id JOIN event e ON e.event_id = c.event_id
    WHERE n.chain = ? AND n.imported AND e.session_id = (SELECT id FROM session WHERE session_id = ?)
    ORDER BY e.line DESC LIMIT 1"""
PROJECT_NEAR = """
    SELECT s.project FROM raw_file r JOIN event e ON e.raw_file_id = r.id JOIN session s ON s.id = e.session_id
    WHERE r.store = '' AND r.source = ? AND r.logical_path >= ? AND r.logical_path < ? AND s.project <> '' LIMIT 1"""


class Item(NamedTuple):
    """What a memory says as of its last version: `event` is that version's, `text` None where it is gone."""

    session: str
    event: str
    kind: str
    text: str | None


def settle(raw_file: int, source: str, near: str, project: str) -> int:
    """Bring the entries of one memory file up to date; returns how many records that took.

    `near` is the beginning of the logical paths of logs of the same project, or empty where `project` is known.
    """
    written = 0
    for item in _items(raw_file):
        chain = _chain(item.session)
        if _needs(item, chain):
            actor = identity.agent(source, "sync")
            with mutation("import", actor) as change:
                written += _import(item, _chain(item.session), actor, project or _project(source, near), change)
    return written


def _items(raw_file: int) -> Iterable[Item]:
    """Return every item that any version of a file held, as its last version has it."""
    found: dict[str, Item] = {}
    for session, event, tool, text, is_last in sql.rows(VERSIONS, (raw_file,)):
        found[session] = Item(session, event, tool.partition(":")[2], text if is_last else None)
    return found.values()


def _chain(session: str) -> str:
    rows = sql.rows(CHAIN, (session,))
    return str(rows[0][0]) if rows else ""


def _current(chain: str) -> Entry | None:
    return Entry.objects.filter(chain=chain, superseded=False).exclude(trust="rejected").order_by("-id").first()


def _needs(item: Item, chain: str) -> bool:
    """True where an entry does not say what its file says; asking writes nothing."""
    if not chain:
        return item.text is not None
    current = _current(chain)
    if current is None or current.forgotten:
        return False
    if item.text is None:
        return not current.ends_at
    return bool(current.ends_at) or _is_new(item, chain)


def _is_new(item: Item, chain: str) -> bool:
    """True where a file says something else than when it was last imported."""
    before = [str(text) for (text,) in sql.rows(IMPORTED, (chain, item.session))]
    return not before or normalise(_kept(before[0])) != normalise(_kept(item.text or ""))


def _kept(text: str) -> str:
    return mask(cut(text, LONGEST_TEXT)).strip()


def _import(item: Item, chain: str, actor: Actor, project: str, change: Mutation) -> int:
    """Write what makes the entry say what the file says; another sync may have done so before this mutation began."""
    if not _needs(item, chain):
        return 0
    current = _current(chain) if chain else None
    if item.text is None and current:
        return _write(End(entry=current.entry_id, ends_at=now()), current.entry_id, actor, change)
    if item.text is None or values.holders(_kept(item.text), values.CATEGORIES):
        return 0  # the owner does not want it kept (invariant 2)
    if current and not _is_new(item, chain):
        return _write(End(entry=current.entry_id), current.entry_id, actor, change)
    first = _first(item, project)
    if current is None:
        return _write(first, first.entry, actor, change)
    heads = Entry.objects.filter(chain=chain, superseded=False).values_list("entry_id", flat=True)
    said = msgspec.structs.asdict(first) | {"project": current.project}
    return _write(Correct(**said, chain=chain, supersedes=tuple(heads)), first.entry, actor, change)


def _write(body: Remember | End, target: str, actor: Actor, change: Mutation) -> int:
    log.write(body, actor.author)
    change.targets.append(target)
    return 1


def _first(item: Item, project: str) -> Remember:
    assert item.text is not None, "what is gone is not remembered"
    return Remember(
        entry=f"ent_{secrets.token_hex(8)}",
        kind=item.kind,  # type: ignore[arg-type]
        text=_kept(item.text),
        confidence=IMPORTED_CONFIDENCE,
        sources=(Source(event=item.event),),
        trust="accepted",
        project=project,
        imported=1,
    )


def _project(source: str, near: str) -> str:
    """Return the project of the logs beside a memory, which both are kept by."""
    rows = sql.rows(PROJECT_NEAR, (source, near, near + "\U0010ffff")) if near else []
    return str(rows[0][0]) if rows else ""
