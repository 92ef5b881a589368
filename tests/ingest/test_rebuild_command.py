"""A database that is lost is made again from the mirrors, and is the same."""

import json
from pathlib import Path

import pytest
from django.db import connection

from memory import audit, sql
from memory import store as store_module
from memory.models import AuditLog, Record
from memory.mutation import mutation
from memory.records import journal, log
from memory.records.bodies import Effects, Forget
from memory.setting import kept
from tests.commands import origin, printed
from tests.conftest import AgentHome
from tests.ingest.test_properties import LOG, family, place, same
from tests.memory.records.test_journal import OWNER
from tests.memory.records.test_log import derived, remember
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
    uuid = kept("store_uuid")
    printed("rebuild")
    assert kept("store_uuid") == uuid != ""
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


class TestRecords:
    """What was remembered and forgotten comes through, from the database or from the journal beside it."""

    @pytest.fixture
    def curated(self, filled: Path) -> tuple[str, str]:
        """An event that is forgotten, and a word that only it holds."""
        [(name, text)] = sql.rows("SELECT event_id, text FROM visible_event WHERE kind = 'message' ORDER BY id LIMIT 1")
        effects = Effects(entries=("ent_gone",), events=(str(name),))
        forget = Forget(tombstone="tmb_1", target=str(name), reason="private", code="private", effects=effects)
        with mutation("forget", OWNER) as change:
            log.write(remember("ent_kept", "the kept statement", "codex:elsewhere/1-aaaaaaaa"), OWNER.author)
            log.write(remember("ent_gone", "the forgotten statement", str(name)), OWNER.author)
            log.write(forget, OWNER.author)
            change.targets.append("tmb_1")
        return str(name), str(text)

    @pytest.mark.parametrize("lost", ["nothing", "database", "journal", "half the database"])
    def test_come_through(self, filled: Path, curated: tuple[str, str], lost: str) -> None:
        before, audited = derived(), AuditLog.objects.count()
        if lost == "database":
            lose_database(filled)
            store_module.open_store()
            assert derived() == before, "a new database takes the records in before any log"
            lose_database(filled)
        elif lost == "journal":
            journal.path().unlink()
        elif lost == "half the database":
            connection.close()
            (filled / "origin.db").write_bytes((filled / "origin.db").read_bytes()[: 8192 * 30])
        printed("rebuild")
        assert derived() == before
        assert [record.sha256 for record in Record.objects.order_by("id")] == [each.sha256 for each in journal.held()]
        assert sql.rows("SELECT count(*) FROM event WHERE event_id = ?", (curated[0],)) == [(1,)]
        assert sql.rows("SELECT count(*) FROM visible_event WHERE event_id = ?", (curated[0],)) == [(0,)]
        if lost == "nothing":
            assert AuditLog.objects.count() == audited
        assert list(audit.breaks()) == []
