"""The commands by which the owner curates what is remembered: what each prints, does, and refuses."""

import json

import pytest
from django.core.management import CommandError

from memory import found_secrets, sql
from memory.entries.citations import Wanted
from memory.errors import Conflict, InvalidInput, NotFound, OriginError, Refused
from memory.models import AuditLog, Tombstone
from tests.commands import origin, printed, printed_json
from tests.conftest import AgentHome, session_uuid, user
from tests.memory.entries.conftest import AGENT, PERSON, RESULT, Writer, event
from tests.memory.entries.conftest import talk as talk


def remember(text: str = "Sessions live in SQLite.", *more: str) -> str:
    """Remember a statement by the command and return its id."""
    made = printed_json("remember", text, "--quote", "nobody wants to run a server", *more)
    return str(made["id"])


def test_a_statement_goes_through_its_whole_life(talk: AgentHome) -> None:
    first = remember()
    assert "Sessions live in SQLite." in printed("entries")
    second = printed_json("correct", first, "Sessions live in SQLite 3.", "--event", event(2))["id"]
    assert [entry["text"] for entry in printed_json("entries")["entries"]] == ["Sessions live in SQLite 3."]
    assert [entry["id"] for entry in printed_json("entries", "--history")["entries"]] == [second, first]
    page = printed("show", second)
    assert f"source {event(1)}" in page
    assert f"version {first}: superseded" in page
    assert PERSON in printed("sources", second)
    assert "Sessions live in SQLite 3." in printed("context", "--project", "app")
    assert "Sessions live in SQLite 3." in printed("search", "sqlite")
    actions = [row["action"] for row in printed_json("audit")["rows"]]
    assert actions == ["correct", "remember"]


class TestForget:
    def test_nothing_happens_before_it_is_agreed_to(self, talk: AgentHome) -> None:
        first = remember()
        plan = printed_json("forget", first)
        assert (plan["planned"], plan["entries"], plan["events"]) == (True, [first], [event(1)])
        page = printed("forget", first)
        assert "Nothing was changed" in page
        assert PERSON in page, "the owner sees what is meant"
        with pytest.raises(CommandError, match="Name an entry"):
            printed("forget")
        with pytest.raises(Conflict):
            printed("forget", first, "--reason", "no", "--plan", "0" * 32)
        with pytest.raises(InvalidInput):
            printed("forget", first, "--yes")
        assert Tombstone.objects.count() == 0
        done = printed_json("forget", first, "--reason", "never mind", "--code", "private", "--plan", plan["plan"])
        with pytest.raises(NotFound):
            printed("show", first)
        with pytest.raises(Refused):
            printed("remember", "Sessions live in SQLite.", "--event", event(2))
        assert "none answers" in printed("forget", "--verify", done["tombstone"])
        assert "Restored" in printed("restore", done["tombstone"], "--reason", "it was right")
        assert "Sessions live in SQLite." in printed("show", first)

    def test_a_process_without_a_terminal_is_not_asked(self, talk: AgentHome) -> None:
        home = talk.path.parent / "origin"
        result = origin("forget", event(1), home=home, person=talk.path)
        assert (result.returncode, "Nothing was changed" in result.stdout) == (0, True), result.stderr
        result = origin("forget", event(1), "--yes", "--reason", f"he said {PERSON}", home=home, person=talk.path)
        assert (result.returncode, PERSON in result.stderr) == (2, False)
        result = origin("restore", "tmb_0000000000000000", "--reason", "x", home=home, person=talk.path)
        assert (result.returncode, result.stderr) == (1, "There is no tombstone tmb_0000000000000000.\n")


def test_a_review_shows_the_raw_line_and_decides(talk: AgentHome) -> None:
    name = Writer(AGENT).remember("The cloud is near.", Wanted(RESULT)).entry_id
    page = printed("review")
    assert "The cloud is near." in page
    assert " line 4" in page
    [waiting] = printed_json("review")["waiting"]
    assert "compiled with FTS5" in waiting["lines"][0]["text"]
    assert printed_json("review", "accept", name, "--reason", "so it is")["trust"] == "accepted"
    assert "Nothing waits" in printed("review")
    with pytest.raises(CommandError):
        printed("review", "believe", name)


def test_projects_are_listed_and_named(talk: AgentHome) -> None:
    assert "billing: 1 session" in printed("project", "list")
    assert "Nothing was changed" in printed("project", "alias", "billing", "money")
    assert "go by money now" in printed("project", "alias", "billing", "money", "--yes")
    assert "money: 1 session" in printed("project", "list")
    assert "money" in printed("search", "postgres", "--project", "money")


def test_a_brief_is_stable_bounded_and_silent_when_it_fails(talk: AgentHome) -> None:
    for number in range(30):
        remember(f"Rule {number} of the kitchen is to stir {number} times.")
    one = printed("context", "--project", "app", "--max-tokens", "200")
    assert one == printed("context", "--project", "app", "--max-tokens", "200")
    assert 0 < len(one.encode()) <= 800
    assert printed("context", "--project", "nothing-like-it", "--max-tokens", "200") == ""
    home = talk.path.parent / "origin"
    (home / "origin.db").write_bytes(b"broken" * 9000)
    result = origin("context", home=home, person=talk.path)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_secrets_are_listed_by_their_ends(talk: AgentHome) -> None:
    session = session_uuid(5)
    talk.write(session, user(70, "use postgres://deploy:correct-horse-battery@db/app", session))
    talk.sync()
    [found] = found_secrets.found_secrets()
    assert (found.ending, found.times, found.last_event) == ("tery", 1, event(70))
    assert "correct-horse" not in printed("secrets") + json.dumps(printed_json("secrets"))


def test_an_audit_log_that_was_edited_is_said_to_be(talk: AgentHome) -> None:
    assert "Nothing was changed" in printed("audit")
    remember()
    sql.execute("DROP TRIGGER audit_log_no_update")
    AuditLog.objects.update(code="x")
    with pytest.raises(OriginError, match="tampered"):
        printed("audit")


def test_a_new_key_knows_what_the_old_one_knew(talk: AgentHome) -> None:
    first = remember()
    printed("forget", first, "--reason", "never mind", "--yes")
    assert printed_json("keys", "rotate")["key_version"] == 2
    with pytest.raises(Refused):
        printed("remember", "Sessions live in SQLite.", "--event", event(2))
