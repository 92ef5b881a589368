"""`check` finds any flipped byte of what is kept, and anything derived that does not follow from the rest."""

import random
import shutil
from pathlib import Path

import pytest
from django.db import connection

from ingest.adapters import ADAPTERS
from memory import sql
from memory.check import check
from memory.forgetting import keyring, values
from memory.mutation import mutation
from memory.records import log
from memory.records.bodies import Effects, Forget
from tests.conftest import AgentHome, session_uuid
from tests.ingest.test_properties import LOG, family, place
from tests.memory.records.test_journal import OWNER
from tests.memory.records.test_log import correct, remember

PARSERS = {adapter.source: adapter.parse_line for adapter in ADAPTERS}


@pytest.fixture
def filled(store: Path, agent_home: AgentHome) -> Path:
    """A store with logs, entries, a correction and a tombstone."""
    for age, (name, records) in enumerate(family().items()):
        place(agent_home, name, records, when=1_777_000_000 + age)
    agent_home.log("awkward", "-w-odd").write_bytes(LOG)
    agent_home.log(session_uuid(7), "-w-odd").write_bytes(b"")
    agent_home.sync()
    [(first,), (second,)] = sql.rows("SELECT event_id FROM visible_event WHERE kind = 'message' ORDER BY id LIMIT 2")
    forget = Forget(
        tombstone="tmb_1",
        target=second,
        reason="private matters",
        code="private",
        effects=Effects(entries=("ent_gone",), events=(second,)),
        digests=values.digests("what is gone", "entry"),
    )
    with mutation("remember", OWNER) as change:
        log.write(remember("ent_kept", "the kept statement", first), OWNER.author)
        log.write(correct("ent_next", "ent_kept", ("ent_kept",), "the next statement"), OWNER.author)
        log.write(remember("ent_gone", "what is gone", second), OWNER.author)
        log.write(forget, OWNER.author)
        change.targets.append("tmb_1")
    return store


def findings() -> list[str]:
    """Return what a check of the whole store says."""
    return list(check(PARSERS))


def test_a_sound_store_passes_whatever_it_holds(filled: Path) -> None:
    assert findings() == []


def test_any_flipped_byte_of_any_file_beside_the_database_is_found_and_the_file_named(filled: Path) -> None:
    sql.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    chance = random.Random(5)
    paths = [*filled.rglob("*.zst"), filled / "records.jsonl", keyring.path()]
    assert len(paths) > 5
    for path in paths:
        whole = path.read_bytes()
        for offset in {0, len(whole) - 1, *(chance.randrange(len(whole)) for _ in range(6))}:
            flipped = bytearray(whole)
            flipped[offset] ^= 1 << chance.randrange(8)
            path.write_bytes(bytes(flipped))
            assert any(str(path) in finding for finding in findings()), (path, offset)
        path.write_bytes(whole[:-1])
        assert any(str(path) in finding for finding in findings()), f"{path} cut short"
        path.write_bytes(whole)
    assert findings() == []


@pytest.mark.parametrize(
    "edit",
    [
        "UPDATE event SET text = 'something else' WHERE id = (SELECT min(id) FROM event)",
        "UPDATE event SET kind = 'meta' WHERE id = (SELECT min(id) FROM event WHERE kind = 'message')",
        "UPDATE event SET line = line + 1 WHERE id = (SELECT min(id) FROM event)",
        "UPDATE event SET session_id = session_id + 1 WHERE id = (SELECT min(id) FROM event)",
        "DELETE FROM event_place WHERE id = (SELECT min(id) FROM event_place)",
        "UPDATE raw_frame SET sha256 = zeroblob(32) WHERE id = (SELECT min(id) FROM raw_frame)",
        "UPDATE raw_file SET bytes = bytes + 1 WHERE id = (SELECT min(id) FROM raw_file WHERE bytes > 0)",
        "UPDATE raw_file SET head_sha256 = 'x' WHERE id = (SELECT min(id) FROM raw_file WHERE bytes > 0)",
        "UPDATE record SET body = replace(body, 'kept', 'lost') WHERE id = 1",
        "UPDATE record SET author = 'codex@elsewhere' WHERE id = 2",
        "DELETE FROM audit_log",
        "UPDATE entry SET text = 'the other statement' WHERE entry_id = 'ent_kept'",
        "UPDATE entry SET trust = 'disputed' WHERE entry_id = 'ent_kept'",
        "UPDATE entry SET superseded = 0 WHERE entry_id = 'ent_kept'",
        "UPDATE entry SET forgotten = 0 WHERE entry_id = 'ent_gone'",
        "UPDATE tombstone SET live = 0",
        "DELETE FROM excluded_event",
        "DELETE FROM forgotten_entry",
        "DELETE FROM value_digest",
        "INSERT INTO excluded_event (event_id, tombstone) SELECT event_id, 'tmb_1' FROM visible_event LIMIT 1",
        "UPDATE session SET events = events + 1 WHERE id = (SELECT min(id) FROM session WHERE events > 0)",
        "INSERT INTO message_words(message_words, rowid, text) SELECT 'delete', id, text FROM message_text LIMIT 1",
    ],
)
def test_an_edit_of_the_database_is_found(filled: Path, edit: str) -> None:
    for (trigger,) in sql.rows(
        "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE '%no\\_%' ESCAPE '\\'"
    ):
        sql.execute(f"DROP TRIGGER {trigger}")
    connection.disable_constraint_checking()
    assert sql.execute(edit) > 0
    assert findings(), edit


def test_a_mirror_nobody_knows_and_one_that_is_missing_are_found(filled: Path) -> None:
    known = next(iter(filled.rglob("*.zst")))
    shutil.copy(known, known.with_name("other.jsonl.zst"))
    assert any("other.jsonl.zst" in finding and "does not know" in finding for finding in findings())
    known.with_name("other.jsonl.zst").unlink()
    known.unlink()
    assert any(str(known) in finding and "missing" in finding for finding in findings())
