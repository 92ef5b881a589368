"""Remembering: what may be cited, what is trusted, and that nothing is written twice or against the owner's word."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from memory import config, sql
from memory.entries.citations import Wanted
from memory.entries.review import review
from memory.errors import Conflict, Denied, InvalidInput, NotFound, Refused
from memory.models import AuditLog, Entry, Record
from memory.scope import Scope
from tests.conftest import AgentHome, session_uuid, user
from tests.memory.entries.conftest import OTHER, OUTPUT, OWNER, PERSON, REPLY, RESULT, Writer, event


def cited(entry_id: str) -> list[tuple[str, str]]:
    """Return what an entry cites."""
    return list(Entry.objects.get(entry_id=entry_id).sources.order_by("position").values_list("event_id", "quote"))


class TestSources:
    @pytest.mark.parametrize(
        ("wanted", "found"),
        [
            (Wanted(event(1)), event(1)),
            (Wanted(event(2), "SQLite it is"), event(2)),
            (Wanted(quote="nobody wants to run a server"), event(1)),
            (Wanted(quote="“NOBODY   wants\tto ｒｕｎ a server!”"), event(1)),
            (Wanted(quote="compiled with FTS5"), RESULT),
        ],
    )
    def test_an_id_and_a_quote_find_the_event(self, agent: Writer, wanted: Wanted, found: str) -> None:
        receipt = agent.remember("Sessions live in SQLite.", wanted)
        assert cited(receipt.entry_id) == [(found, wanted.quote)]

    @pytest.mark.parametrize(
        ("wanted", "error"),
        [
            (Wanted("claude-code:00000000-dead-4000-8000-000000000000"), NotFound),
            (Wanted(event(1), "words that nobody said"), InvalidInput),
            (Wanted(event(1), " . "), InvalidInput),
            (Wanted(quote="server."), InvalidInput),
            (Wanted(), InvalidInput),
            (Wanted(quote="words that nobody ever said"), NotFound),
            (Wanted(quote="sqlite3 --version"), NotFound),
            (Wanted(quote="the purple database rule"), NotFound),
            (Wanted(quote="x" * 4_001), InvalidInput),
        ],
    )
    def test_what_is_not_said_cannot_be_cited(self, agent: Writer, wanted: Wanted, error: type[Exception]) -> None:
        with pytest.raises(error):
            agent.remember("Sessions live in SQLite.", wanted)
        assert (Record.objects.count(), AuditLog.objects.count()) == (0, 0)

    def test_origins_own_answers_are_no_source_even_by_id(self, agent: Writer) -> None:
        [(own,)] = sql.rows("SELECT event_id FROM event WHERE kind = 'meta' ORDER BY id LIMIT 1")
        with pytest.raises(InvalidInput):
            agent.remember("The purple rule.", Wanted(str(own)))

    def test_of_several_messages_that_hold_a_quote_the_newest_is_meant(self, agent: Writer, talk: AgentHome) -> None:
        session = session_uuid(1)
        talk.write(session, user(30, "again: nobody wants to run a server", session))
        talk.sync()
        receipt = agent.remember("No servers.", Wanted(quote="nobody wants to run a server"))
        assert cited(receipt.entry_id) == [(event(30), "nobody wants to run a server")]

    def test_each_event_is_cited_once_and_none_is_no_entry(self, agent: Writer) -> None:
        receipt = agent.remember("SQLite.", Wanted(event(1)), Wanted(quote=PERSON), Wanted(event(2)))
        assert [name for name, _ in cited(receipt.entry_id)] == [event(1), event(2)]
        with pytest.raises(InvalidInput):
            agent.remember("SQLite!", *[Wanted(event(1))] * 21)

    def test_an_excluded_event_is_no_source(self, agent: Writer) -> None:
        sql.insert("excluded_event (event_id, tombstone)", [(event(1), "tmb_0")])
        for wanted in (Wanted(event(1)), Wanted(quote="nobody wants to run a server")):
            with pytest.raises(NotFound):
                agent.remember("No servers.", wanted)


class TestTrust:
    @pytest.mark.parametrize(
        ("policy", "trusts"),
        [
            ("open", ["accepted", "accepted", "accepted"]),
            ("tool-output", ["accepted", "accepted", "proposed"]),
            ("person", ["accepted", "proposed", "proposed"]),
            ("all", ["proposed", "proposed", "proposed"]),
        ],
    )
    def test_an_agent_is_trusted_by_what_it_cites(
        self, agent: Writer, store: Path, policy: str, trusts: list[str]
    ) -> None:
        (store / config.NAME).write_text(f'[trust]\npolicy = "{policy}"\n')
        sources = (Wanted(event(1)), Wanted(event(2)), Wanted(RESULT))
        receipts = [agent.remember(f"Statement number {n}.", source) for n, source in enumerate(sources)]
        assert [receipt.trust for receipt in receipts] == trusts
        assert [receipt.outcome for receipt in receipts] == [
            "proposed" if trust == "proposed" else "created" for trust in trusts
        ]

    def test_the_owner_is_trusted_whatever_is_cited(self, owner: Writer, store: Path) -> None:
        (store / config.NAME).write_text('[trust]\npolicy = "all"\n')
        assert owner.remember("FTS5 is there.", Wanted(RESULT)).trust == "accepted"

    def test_a_prompt_that_a_sub_agent_got_is_not_the_persons_word(self, agent: Writer, talk: AgentHome) -> None:
        session = session_uuid(1)
        talk.write(session, user(40, "check every port of the machine", session, isSidechain=True))
        talk.sync()
        assert agent.remember("Ports are checked.", Wanted(event(40))).trust == "proposed"

    def test_a_policy_that_is_none_is_refused(self, agent: Writer, store: Path) -> None:
        (store / config.NAME).write_text('[trust]\npolicy = "everybody"\n')
        with pytest.raises(Exception, match="policy"):
            agent.remember("SQLite.")


class TestTwice:
    def test_the_same_statement_is_one_entry(self, agent: Writer) -> None:
        first = agent.remember("Sessions live in SQLite.")
        again = agent.remember("sessions  live in SQLITE")
        assert (again.outcome, again.entry_id) == ("duplicate", first.entry_id)
        assert agent.remember("Sessions live in SQLite.", kind="memory").outcome == "created"
        assert agent.remember("Sessions live in SQLite.", project="billing").outcome == "created"
        assert AuditLog.objects.count() == 3

    def test_one_that_says_nearly_the_same_is_named(self, agent: Writer) -> None:
        first = agent.remember("Sessions live in a SQLite database on this machine.")
        near = agent.remember("Sessions live in a SQLite database on that machine.")
        assert (near.outcome, near.near) == ("created", (first.entry_id,))
        assert agent.remember("The logo is blue.").near == ()

    def test_a_key_gives_the_first_receipt_again_and_no_other_content(self, agent: Writer) -> None:
        first = agent.remember("Sessions live in SQLite.", key="k1")
        assert agent.remember("Sessions live in SQLite.", key="k1") == dataclasses.replace(first, near=())
        for change in ({"confidence": 10}, {"project": "other"}, {"valid_from": "2026-01-01"}):
            with pytest.raises(Conflict):
                agent.remember("Sessions live in SQLite.", key="k1", **change)
        with pytest.raises(Conflict):
            agent.remember("Sessions live elsewhere.", key="k1")
        with pytest.raises(Conflict):
            agent.remember("Sessions live in SQLite.", Wanted(event(2)), key="k1")
        assert Entry.objects.count() == 1


class TestWhatIsWritten:
    @pytest.mark.parametrize("text", ["", "  ", "x" * 4_001, "...", "\u200b"])
    def test_a_text_that_says_nothing_or_too_much_is_refused(self, agent: Writer, text: str) -> None:
        with pytest.raises(InvalidInput):
            agent.remember(text)

    def test_the_project_is_that_of_the_source_unless_named(self, agent: Writer) -> None:
        assert agent.remember("Postgres is private.", Wanted(event(7))).project == "billing"
        assert agent.remember("Postgres is private!", Wanted(event(7)), project="infra").project == "infra"

    def test_a_secret_is_not_kept(self, agent: Writer) -> None:
        receipt = agent.remember("Deploys go to postgres://deploy:correct-horse-battery@db/app.")
        assert "correct-horse-battery" not in str(list(Entry.objects.values())) + str(list(Record.objects.values()))
        assert receipt.outcome == "created"

    @pytest.mark.parametrize(
        "fields",
        [
            {"confidence": 101},
            {"confidence": -1},
            {"valid_from": "someday"},
            {"valid_from": "2026-05-01", "valid_to": "2026-04-01"},
            {"key": "k" * 201},
        ],
    )
    def test_values_out_of_range_are_refused(self, agent: Writer, fields: dict[str, Any]) -> None:
        with pytest.raises(InvalidInput):
            agent.remember("Sessions live in SQLite.", **fields)

    def test_a_reader_writes_nothing(self, agent: Writer) -> None:
        agent.scope = Scope(may_write=False)
        with pytest.raises(Denied):
            agent.remember("Sessions live in SQLite.")

    def test_a_scope_neither_cites_nor_fills_another_project(self, agent: Writer) -> None:
        agent.scope = Scope(("app",))
        for wanted in (Wanted(event(7)), Wanted(quote=OTHER)):
            with pytest.raises(NotFound):
                agent.remember("Postgres is private.", wanted)
        with pytest.raises(NotFound):
            agent.remember("Sessions live in SQLite.", project="billing")
        assert agent.remember("Sessions live in SQLite.").project == "app"
        Writer(OWNER).remember("Sessions live in a Postgres box.", project="billing")
        assert agent.remember("Sessions live in a Postgres bin.").near == ()


class TestRefused:
    def test_what_was_rejected_is_not_written_again_until_accepted_after_all(self, agent: Writer) -> None:
        receipt = agent.remember("Everybody loves Postgres.", Wanted(RESULT))
        review(receipt.entry_id, "reject", "no", OWNER)
        for text in ("Everybody loves Postgres.", "everybody  loves POSTGRES", "“Everybody loves Postgres”"):
            with pytest.raises(Refused) as refused:
                agent.remember(text)
            assert "Postgres" not in str(refused.value)
            assert "reject" not in str(refused.value)
        review(receipt.entry_id, "accept", "yes", OWNER)
        assert agent.remember("Everybody loves Postgres.", kind="memory").outcome == "created"

    def test_plus_plus_is_not_sharp(self, agent: Writer) -> None:
        review(agent.remember("C++", Wanted(RESULT)).entry_id, "reject", "", OWNER)
        with pytest.raises(Refused):
            agent.remember("c++")
        assert agent.remember("C#").outcome == "created"


def test_what_was_said_is_quoted(talk: AgentHome) -> None:
    """The constants above are what the log says."""
    texts = {str(text) for (text,) in sql.rows("SELECT text FROM visible_event")}
    assert {PERSON, REPLY, OUTPUT, OTHER} <= texts
