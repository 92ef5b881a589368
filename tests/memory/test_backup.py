"""A backup made in use, restored into an empty home, is the same store; a damaged one is refused whole."""

import random
from pathlib import Path

import pytest

from memory import sql
from memory import store as store_module
from memory.access import tokens
from memory.backup import backup
from memory.errors import InvalidInput, OriginError
from memory.forgetting import keyring
from memory.records import digest, identity
from memory.restore_backup import restore_backup
from tests.commands import origin, printed_json, started
from tests.conftest import AgentHome, session_uuid, user, using_home
from tests.memory.records.test_journal import OWNER
from tests.memory.test_check import filled, findings
from tests.store_digest import contents

__all__ = ["filled"]


def test_a_restored_backup_is_the_same_store_under_a_new_incarnation(filled: Path, tmp_path: Path) -> None:
    before, digests = contents(filled), (digest.of_records(), digest.of_events())
    origin_before, ring = identity.origin(), keyring.keys()
    manifest = backup(tmp_path / "b.tar.zst")
    assert (tmp_path / "b.tar.zst").stat().st_mode & 0o777 == 0o600
    assert restore_backup(tmp_path / "b.tar.zst", tmp_path / "new") == manifest
    with using_home(tmp_path / "new"):
        store_module.open_store()
        assert findings() == []
        assert (digest.of_records(), digest.of_events()) == digests
        assert contents(tmp_path / "new") == before
        assert keyring.keys() == ring
        uuid, _, incarnation = identity.origin().partition(".")
    assert uuid == origin_before.partition(".")[0]
    assert incarnation != origin_before.partition(".")[2]
    assert not list(filled.glob("backup-*"))


def test_a_backup_in_the_middle_of_a_sync_is_whole(store: Path, agent_home: AgentHome, tmp_path: Path) -> None:
    for number in range(40):
        session = session_uuid(number)
        agent_home.write(session, *(user(n, f"line {n} of {number} " * 40, session) for n in range(60)))
    running = started("manage.py", "sync", "--quiet", home=store, person=agent_home.path)
    made = 0
    while running.poll() is None and made < 5:
        backup(tmp_path / f"{made}.tar.zst")
        made += 1
    assert running.communicate() == ("", "")
    assert made > 0
    for number in range(made):
        restore_backup(tmp_path / f"{number}.tar.zst", tmp_path / f"home-{number}")
        with using_home(tmp_path / f"home-{number}"):
            store_module.open_store()
            assert findings() == []
    with using_home(tmp_path / "home-0"):
        agent_home.sync()
        after = contents(tmp_path / "home-0")
    agent_home.sync()
    assert after == contents(store), "a sync of the restored store goes on where the backup ended"


def test_any_flipped_byte_of_a_backup_is_refused_and_nothing_is_left(filled: Path, tmp_path: Path) -> None:
    backup(tmp_path / "b.tar.zst")
    whole = (tmp_path / "b.tar.zst").read_bytes()
    chance = random.Random(3)
    for offset in [0, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(12))]:
        flipped = bytearray(whole)
        flipped[offset] ^= 1 << chance.randrange(8)
        (tmp_path / "flipped").write_bytes(bytes(flipped))
        with pytest.raises(OriginError):
            restore_backup(tmp_path / "flipped", tmp_path / "new")
        assert not list(tmp_path.glob("new*"))
    for length in (0, 10, len(whole) // 2, len(whole) - 1):
        (tmp_path / "short").write_bytes(whole[:length])
        with pytest.raises(OriginError):
            restore_backup(tmp_path / "short", tmp_path / "new")


def test_tokens_of_a_backup_open_nothing_before_they_are_confirmed(store: Path, tmp_path: Path) -> None:
    token = tokens.create("laptop", ["read"], OWNER)
    backup(tmp_path / "b.tar.zst")
    restore_backup(tmp_path / "b.tar.zst", tmp_path / "new")
    assert tokens.resolve(token)
    with using_home(tmp_path / "new"):
        assert tokens.resolve(token) is None
        tokens.confirm("laptop", OWNER)
        assert tokens.resolve(token)


def test_a_backup_that_is_not_there_is_said_to_be_missing(store: Path, tmp_path: Path) -> None:
    with pytest.raises(OriginError, match=r"nothing could not be used: No such file or directory\.$"):
        restore_backup(tmp_path / "nothing", tmp_path / "new")


def test_nothing_is_overwritten(filled: Path, tmp_path: Path) -> None:
    (tmp_path / "there").write_text("mine")
    with pytest.raises(InvalidInput):
        backup(tmp_path / "there")
    backup(tmp_path / "b.tar.zst")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "note").write_text("mine")
    with pytest.raises(InvalidInput):
        restore_backup(tmp_path / "b.tar.zst", tmp_path / "full")
    assert (tmp_path / "full" / "note").read_text() == "mine"
    assert (tmp_path / "there").read_text() == "mine"


def test_the_commands_say_what_they_did(filled: Path, tmp_path: Path) -> None:
    sql.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    made = printed_json("backup", str(tmp_path / "b.tar.zst"))
    assert made["counts"]["entries"] == 3
    result = origin("restore-backup", str(tmp_path / "b.tar.zst"), "--into", str(tmp_path / "new"), home=filled)
    assert (result.returncode, "every one as it was backed up" in result.stdout) == (0, True), result.stderr
    result = origin("check", home=tmp_path / "new")
    assert (result.returncode, result.stdout) == (0, "Everything in the store is as it was written.\n"), result.stderr
    next(iter((tmp_path / "new").rglob("*.zst"))).unlink()
    result = origin("check", "--json", home=tmp_path / "new")
    assert (result.returncode, "missing" in result.stdout) == (1, True)
