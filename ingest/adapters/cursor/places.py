"""What the path of one of Cursor's files says: which store it is of, and of which session."""

import re
from functools import lru_cache
from typing import NamedTuple

_UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")

TRANSCRIPTS = "agent-transcripts"
TRANSCRIPT, LEGACY, STORE, IDE = range(4)
"""Cursor's stores, the one to show first: where a session stands in several, the later ones are hidden."""

_ENDINGS = {".jsonl": TRANSCRIPT, ".txt": LEGACY, "store.db": STORE, "state.vscdb": IDE}


class Place(NamedTuple):
    """A file: its store, the id that its events are named after, its session, and the session that began that."""

    store: int
    thread: str
    session: str
    parent: str = ""


@lru_cache(maxsize=1_024)
def place_of(path: str) -> Place:
    """Return what a logical path says. The database of the IDE holds many sessions, which its rows name."""
    *folders, name = path.split("/")
    store = next((store for ending, store in _ENDINGS.items() if name.endswith(ending)), TRANSCRIPT)
    if store in (STORE, IDE):
        thread = folders[-1] if folders and store == STORE else ""
        return Place(store, thread, thread)
    stem = name.rpartition(".")[0] or name
    if folders[-1:] == ["subagents"] and len(folders) > 1:
        parent = folders[-2]
        session = child_session(parent, stem)
        return Place(store, stem if _UUID.fullmatch(stem) else session, session, parent)
    # <session>/<session>.jsonl, or beside the others: a name that is no id says less than its folder.
    own = _UUID.fullmatch(stem) or not folders or folders[-1] == TRANSCRIPTS
    session = stem if own else folders[-1]
    return Place(store, session, session)


def child_session(parent: str, thread: str) -> str:
    """Return the session of a thread, below its parent's where it is a sub-agent's."""
    return f"{parent}/{thread}" if parent and parent != thread else thread
