"""What arrives excluded tells on all that leans on it, as if it had been there when it was forgotten."""

import msgspec

from memory.models import Entry, Record, Session
from memory.mutation import mutation
from memory.records import log
from memory.records.bodies import Remember
from memory.records.canonical import canonical_json
from memory.records.wire import Wire, hash_of, wire
from tests.conftest import AgentHome, assistant, session_uuid, user
from tests.memory.entries.conftest import OWNER, PERSON, event
from tests.memory.entries.conftest import talk as talk
from tests.memory.forgetting.test_forget import SESSION, forgotten

ENTRY = "ent_0000000000000001"


def remembered_elsewhere(*events: str) -> Wire:
    """Return another store's record of a statement about events that have not arrived here."""
    sources = [{"event": name} for name in events]
    said = {"entry": ENTRY, "kind": "knowledge", "text": "a late fact", "confidence": 80, "trust": "accepted"}
    body = canonical_json(msgspec.to_builtins(msgspec.convert({**said, "sources": sources}, Remember)))
    at = "2026-03-01T00:00:00.000Z"
    record = Record(
        origin="b.1", oseq=1, hlc_ms=1, hlc_c=0, created_at=at, author="codex@b", kind="remember", body=body
    )
    record.sha256 = hash_of(record)
    return wire(record)


class TestAnEntryThatWaitedForItsOnlySource:
    def test_goes_with_it_where_its_session_is_forgotten(self, talk: AgentHome) -> None:
        with mutation("receive", OWNER):
            log.receive([remembered_elsewhere(event(30))])
        forgotten(SESSION)
        assert not Entry.objects.get(entry_id=ENTRY).forgotten, "its source is pending, not missing"
        talk.write(session_uuid(1), user(30, "said later", session_uuid(1)))
        talk.sync()
        assert Entry.objects.get(entry_id=ENTRY).forgotten


class TestATitle:
    def test_is_silent_from_the_arrival_of_a_private_copy_on(self, talk: AgentHome) -> None:
        forgotten(event(1), "private")
        session = session_uuid(3)
        title: dict[str, object] = {"type": "ai-title", "aiTitle": "A title that tells", "sessionId": session}
        talk.write(session, title, assistant(31, "quite another answer", session))
        talk.sync()
        assert Session.objects.get(session_id=f"claude-code:{session}").title == "A title that tells"
        talk.write(session, user(32, PERSON, session))
        talk.sync()
        assert Session.objects.get(session_id=f"claude-code:{session}").title == ""


def test_a_sync_does_not_count_what_it_took_in_forgotten(talk: AgentHome) -> None:
    forgotten(event(1))
    session = session_uuid(3)
    talk.write(session, user(32, PERSON, session), assistant(33, "quite another answer", session))
    assert talk.sync().sources["claude-code"].events == 1
