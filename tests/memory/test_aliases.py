"""A project by any of its names: for searching, for scopes, and as it is shown."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import aliases, timeline
from memory.actor import Actor
from memory.errors import Denied, InvalidInput
from memory.filters import Filters
from memory.models import AuditLog
from memory.name_project import name_project
from memory.scope import EVERYTHING, Scope
from memory.search import search
from tests.conftest import AgentHome, session_uuid, user

OWNER = Actor(kind="owner", name="user", channel="cli", device="laptop")


def test_all_names_find_what_is_held_under_any(store: Path, agent_home: AgentHome) -> None:
    for number, folder in enumerate(("/w/shop", "/w/shop-old", "/w/other"), 1):
        session = session_uuid(number)
        agent_home.write(session, user(number, "the zebra plan", session, cwd=folder), project=f"-{number}")
    agent_home.sync()
    assert aliases.plan_alias("shop-old") == (1, 0)
    name_project("shop-old", "shop", OWNER)
    for name in ("shop", "shop-old"):
        assert search("zebra", EVERYTHING, Filters(project=name)).total == 2
        assert search("zebra", Scope((name,)), Filters()).total == 2
        found = timeline.sessions(Scope((name,)), Filters(), limit=9, before=(timeline.LAST, timeline.LAST))
        assert len(found) == 2
    assert search("zebra", Scope(("other",)), Filters(project="shop")).total == 0
    assert aliases.projects() == [("other", 1, 0), ("shop", 2, 0)]
    name_project("shop-old", "shop-old", OWNER)
    assert search("zebra", EVERYTHING, Filters(project="shop")).total == 1


def test_only_the_owner_names_and_only_with_names(store: Path) -> None:
    with pytest.raises(Denied):
        name_project("a", "b", Actor(kind="agent", name="codex", channel="mcp", device="laptop"))
    for name in ("", " ", "two\nlines", "x" * 201):
        with pytest.raises(InvalidInput):
            name_project("a", name, OWNER)
    assert AuditLog.objects.count() == 0


NAMES = st.sampled_from("abcd")


@given(st.lists(st.tuples(NAMES, NAMES), max_size=6))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_named_what_names_form_one_project_agree(store: Path, named: list[tuple[str, str]]) -> None:
    for name, target in named:
        name_project(name, target, OWNER)
    for name in "abcd":
        names = aliases.names_of(name)
        assert name in names
        assert {aliases.shown(each) for each in names} == {aliases.shown(name)}
        assert all(aliases.names_of(each) == names for each in names)
    for name in "abcd":
        name_project(name, name, OWNER)
