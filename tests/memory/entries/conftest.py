"""What tests of entries share: a store with a small conversation in it, and short ways to write."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import pytest

from memory.actor import Actor
from memory.entries import correct as correcting
from memory.entries import remember as remembering
from memory.entries.citations import Wanted
from memory.entries.remember import Receipt
from memory.scope import EVERYTHING, Scope
from tests.conftest import AgentHome, assistant, record_uuid, session_uuid, tool_call, tool_result, user

OWNER = Actor(kind="owner", name="user", channel="cli", device="laptop")
AGENT = Actor(kind="agent", name="codex", channel="mcp", device="laptop")

PERSON = "Let us keep sessions in SQLite, because nobody wants to run a server."
REPLY = "Agreed: SQLite it is, with write-ahead logging switched on."
OUTPUT = "sqlite3 3.45 is installed in /usr/bin, compiled with FTS5"
OTHER = "The billing service talks to Postgres over a private link."


def event(number: int) -> str:
    """Return the id of the record with this number."""
    return f"claude-code:{record_uuid(number)}"


RESULT = f"{event(4)}#0"


@pytest.fixture
def talk(store: Path, agent_home: AgentHome) -> AgentHome:
    """A conversation in project `app`, and one in project `billing`."""
    session = session_uuid(1)
    agent_home.write(
        session,
        user(1, PERSON, session),
        assistant(2, REPLY, session),
        tool_call(3, "Bash", {"command": "sqlite3 --version"}, session),
        tool_result(4, 3, OUTPUT, session),
        tool_call(5, "mcp__origin__search", {"query": "which database"}, session),
        tool_result(6, 5, '{"hits": [{"text": "the purple database rule"}]}', session),
    )
    other = session_uuid(2)
    agent_home.write(other, user(7, OTHER, other, cwd="/w/billing"), project="-w-billing")
    agent_home.sync()
    return agent_home


@dataclass
class Writer:
    """Somebody who writes entries."""

    actor: Actor
    scope: Scope = EVERYTHING

    def remember(self, text: str, *sources: Wanted, kind: str = "knowledge", **fields: object) -> Receipt:
        """Remember a statement, by default on the person's own words."""
        make: Callable[..., remembering.Request] = remembering.Request
        request = make(kind, text, sources or (Wanted(event(1)),), **fields)
        return remembering.remember(request, self.scope, self.actor, UTC)

    def correct(self, entry_id: str, text: str = "", **fields: object) -> Receipt:
        """Correct an entry."""
        make: Callable[..., correcting.Request] = correcting.Request
        return correcting.correct(make(entry_id, text, **fields), self.scope, self.actor, UTC)


@pytest.fixture
def owner(talk: AgentHome) -> Writer:
    """The owner."""
    return Writer(OWNER)


@pytest.fixture
def agent(talk: AgentHome) -> Writer:
    """An agent."""
    return Writer(AGENT)
