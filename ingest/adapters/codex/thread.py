"""The facts of a thread: which it is, whose it is, where it runs and with which model."""

from typing import Any

from ingest.adapters.codex.record import id_of, known, name_of, object_of, ordinal_of
from memory.json_line import JsonObject
from memory.parsed import State

# Threads that Codex begins by itself: what stands there as the user's turn is no person's, nor any agent's task.
_HELPERS = frozenset({"guardian_review", "memory_consolidation"})


def read_session(payload: JsonObject, state: State) -> State:
    """Return the state after a `session_meta`.

    The first one names the thread. Later ones of the same thread tell where it was resumed; others were copied from
    the thread it was forked from.
    """
    thread = id_of(payload.get("id"))
    if not known(state, "id"):
        state = _with(state, _identity(payload, thread)) if thread else state
    elif thread != state["id"]:
        return state
    branch = object_of(payload.get("git")).get("branch")
    facts = {"cwd": payload.get("cwd"), "branch": branch, "version": payload.get("cli_version")}
    return _with(state, {key: name_of(value) for key, value in facts.items()})


def read_turn_context(payload: JsonObject, state: State) -> State:
    """Return the state after a `turn_context`: the directory and model of what follows."""
    return _with(state, {"cwd": name_of(payload.get("cwd")), "model": name_of(payload.get("model"))})


def _with(state: State, facts: dict[str, Any]) -> State:
    changed = {key: value for key, value in facts.items() if value not in ("", None, state.get(key))}
    return {**state, **changed} if changed else state


def _identity(payload: JsonObject, thread: str) -> dict[str, Any]:
    """Return whose session a thread is: its own, or that of an agent below the root of a tree of agents."""
    source, origin = payload.get("source"), payload.get("thread_source")
    agent = object_of(source).get("subagent")
    spawned_by = object_of(object_of(agent).get("thread_spawn")).get("parent_thread_id")
    parent = id_of(spawned_by) or id_of(payload.get("parent_thread_id"))
    helper = _is_helper(source, origin)
    forked_from = id_of(payload.get("forked_from_id"))
    if not (agent or parent or helper or origin == "subagent"):
        return {"id": thread, "session": thread, "replays": forked_from}
    # A whole tree of agents carries the id of the thread at its root as its session's.
    root = id_of(payload.get("session_id"))
    root = parent if root in ("", thread) else root
    above = _below(root, parent) or root
    return {
        "id": thread,
        "session": _below(root, thread),
        "parent": above,
        "replays": "" if helper else _below(root, forked_from) or above,
        "start": ordinal_of(payload.get("subagent_history_start_ordinal")),
        "sub": True,
        "helper": helper or None,
    }


def _is_helper(source: object, origin: object) -> bool:
    if isinstance(origin, str) and origin in _HELPERS:
        return True
    if not isinstance(source, dict):
        return False
    agent = source.get("subagent")
    return "internal" in source or bool(agent and "thread_spawn" not in object_of(agent))


def _below(root: str, thread: str) -> str:
    """Return the session of a thread in the tree of agents below `root`."""
    return f"{root}/{thread}" if root and thread and thread != root else thread
