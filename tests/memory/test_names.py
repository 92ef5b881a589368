"""A mistyped name is said to be one, and only from what the caller may see."""

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from memory import tools
from memory.scope import EVERYTHING, Scope
from tests.commands import printed
from tests.conftest import AgentHome
from tests.memory.entries.conftest import talk as talk


def note(tool: str, scope: Scope = EVERYTHING, **arguments: Any) -> str:
    """Return what a tool's footer says."""
    return str(json.loads(tools.call(tool, arguments, scope, UTC))["footer"].get("note", ""))


@pytest.mark.parametrize(
    ("tool", "arguments"), [("search", {"query": "postgres"}), ("timeline", {"since": "2020-01-01"})]
)
def test_a_mistyped_name_is_named_with_what_may_be_meant(talk: AgentHome, tool: str, arguments: dict[str, Any]) -> None:
    assert note(tool, project="biling", **arguments) == "No project is called 'biling'; there are billing."
    assert note(tool, project="nothing-like-it", **arguments) == "No project is called 'nothing-like-it'."
    assert note(tool, source="claude", **arguments) == "Nothing of 'claude' is held; there are claude-code."
    assert note(tool, project="billing", **arguments) == ""
    assert "billing" not in note(tool, Scope(("app",)), project="biling", **arguments).replace("biling", "")


def test_the_commands_say_so_too(talk: AgentHome) -> None:
    for name, *more in (("search", "postgres"), ("timeline",), ("entries",)):
        assert "No project is called 'biling'; there are billing." in printed(name, *more, "--project", "biling")


def test_a_store_without_anything_says_what_to_do(store: Path) -> None:
    assert "sync" in note("search", query="anything")
    assert "sync" in note("timeline")


def test_without_filters_none_are_spoken_of(talk: AgentHome) -> None:
    assert note("search", query="zzzz") == "No entry and no event holds any of these words."
    assert "within these filters" in note("search", query="zzzz", since="2020-01-01")
