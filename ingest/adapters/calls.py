"""Remembers tool calls between lines: a result is told by its call, which names the tool and may be Origin's own."""

from typing import NamedTuple

from ingest.adapters.own_tools import is_own_tool
from memory.parsed import State

LONGEST_ID = 200
# Calls whose result may still come. Origin's own are kept longer: a result taken for another tool's would be indexed.
_CALLS, _MOST_CALLS = "calls", 64
_OWN_CALLS, _MOST_OWN_CALLS = "own", 512


class Called(NamedTuple):
    """The tool a result is of, as far as it is known, and whether it is one of Origin's own."""

    name: str
    own: bool


def called(state: State, call_id: str) -> Called:
    """Return what a call was of, by its id; an empty name where it was not seen or is long past."""
    own_name = _calls(state, _OWN_CALLS).get(call_id, "")
    return Called(own_name or _calls(state, _CALLS).get(call_id, ""), bool(own_name))


def with_call(state: State, call_id: str, name: str) -> State:
    """Return the state after a call was made; the oldest calls are forgotten."""
    name = name[:LONGEST_ID]
    if not name or not call_id:
        return state
    key, most = (_OWN_CALLS, _MOST_OWN_CALLS) if is_own_tool(name) else (_CALLS, _MOST_CALLS)
    return {**state, key: _with_call(_calls(state, key), call_id, name, most)}


def without_call(state: State, call_id: str) -> State:
    """Return the state after a result; a call of Origin's own stays known, for its answer may be logged again."""
    calls = _calls(state, _CALLS)
    if call_id not in calls:
        return state
    return {**state, _CALLS: {other: name for other, name in calls.items() if other != call_id}}


def _calls(state: State, key: str) -> dict[str, str]:
    calls = state.get(key)
    return calls if isinstance(calls, dict) else {}


def _with_call(calls: dict[str, str], call_id: str, name: str, most: int) -> dict[str, str]:
    kept = {**calls, call_id: name}
    if len(kept) > most:
        del kept[next(iter(kept))]
    return kept
