"""A database that is lost is made again from the mirrors, and is the same."""

import json
from pathlib import Path

import pytest
from django.db import connection

from memory import store as store_module
from tests.commands import origin, printed
from tests.conftest import AgentHome
from tests.ingest.test_properties import LOG, family, place, same
from tests.store_digest import contents

DERIVED = ("events", "places", "files_named", "sessions", "titles", "malformed")


@pytest.fixture
def filled(store: Path, agent_home: AgentHome) -> Path:
    """A store with everything awkward in it, a rewritten file among it."""
    for age, (name, records) in enumerate(family().items()):
        place(agent_home, name, records, when=1_777_000_000 + age)
    agent_home.log("awkward", "-w-odd").write_bytes(LOG)
    agent_home.sync()
    agent_home.log("awkward", "-w-odd").write_bytes(LOG[len(LOG) // 2 :])
    agent_home.sync()
    return store


def lose_database(home: Path) -> None:
    connection.close()
    for part in home.glob("origin.db*"):
        part.unlink()


def mirrors(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (home / "raw").rglob("*.zst")}


def test_a_lost_database_comes_back_the_same(filled: Path, agent_home: AgentHome) -> None:
    before, held = contents(filled), mirrors(filled)
    lose_database(filled)
    result = origin("sync", home=filled, person=agent_home.path)
    assert (result.returncode, "rebuild" in result.stderr) == (1, True)
    assert mirrors(filled) == held, "nothing touched what it did not know"
    result = origin("rebuild", "--json", home=filled, person=agent_home.path)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout)["problems"] == []
    same(contents(filled), before)
    assert mirrors(filled) == held


def test_sync_goes_on_after_a_rebuild_and_adds_nothing(filled: Path, agent_home: AgentHome) -> None:
    before = contents(filled)
    printed("rebuild")
    report = agent_home.sync()
    assert sum(each.events + each.bytes for each in report.sources.values()) == 0
    same(contents(filled), before)


def test_a_rebuild_keeps_the_store_and_the_old_database(filled: Path) -> None:
    uuid = store_module.setting("store_uuid")
    printed("rebuild")
    assert store_module.setting("store_uuid") == uuid != ""
    assert (filled / "origin.db.before-rebuild").exists()
    assert (filled / "origin.db").stat().st_mode & 0o777 == 0o600


def test_a_damaged_database_is_no_hindrance(filled: Path, agent_home: AgentHome) -> None:
    before = contents(filled)
    connection.close()
    data = bytearray((filled / "origin.db").read_bytes())
    data[: 8192 * 20] = b"\xff" * 8192 * 20
    (filled / "origin.db").write_bytes(bytes(data))
    result = origin("rebuild", home=filled, person=agent_home.path)
    assert result.returncode == 0, result.stderr
    same(contents(filled), before)


def test_a_store_in_use_is_not_swapped(filled: Path, agent_home: AgentHome) -> None:
    store_module.open_store()
    result = origin("rebuild", home=filled, person=agent_home.path)
    assert result.returncode == 1
    assert "Another process" in result.stderr
    assert not (filled / "origin.db.new").exists()


def test_a_mirror_that_does_not_say_what_it_is_is_left_alone(filled: Path) -> None:
    stray = filled / "raw" / "claude-code" / "stray.zst"
    stray.write_bytes(b"not a mirror")
    assert json.loads(printed("rebuild", "--json"))["problems"] == [
        f"{stray} does not say what it mirrors, so it was left out."
    ]
    assert stray.read_bytes() == b"not a mirror"
