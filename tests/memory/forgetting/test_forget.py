"""Forgetting covers what it says, comes back by nothing but the owner's restore, and gives nothing away."""

import json
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from memory import sessions, sql, tools
from memory.actor import Actor
from memory.entries.citations import Wanted
from memory.errors import Conflict, Denied, InvalidInput, NotFound, Refused
from memory.forgetting import keyring
from memory.forgetting.forget import forget, restore
from memory.forgetting.plan import plan_forget
from memory.models import AuditLog, Entry, Record
from memory.scope import EVERYTHING, Scope
from tests.conftest import AgentHome, assistant, record_uuid, session_uuid, tool_result, user
from tests.memory.entries.conftest import AGENT, OTHER, OWNER, PERSON, REPLY, RESULT, Writer, event
from tests.memory.entries.conftest import agent as agent
from tests.memory.entries.conftest import owner as owner
from tests.memory.entries.conftest import talk as talk

SESSION = f"claude-code:{session_uuid(1)}"


def forgotten(target: str, code: Any = "wrong", actor: Actor = OWNER, scope: Scope = EVERYTHING) -> str:
    """Forget something as planned and return the tombstone."""
    plan = plan_forget(target, scope)
    return forget(target, "no longer wanted", code, plan.digest, scope, actor).tombstone


def said(**arguments: Any) -> str:
    """Return everything that a search answers, whole."""
    arguments = {"tools": True, "meta": True, "history": False, "max_tokens": 20_000} | arguments
    return tools.call("search", arguments, EVERYTHING, UTC, OWNER)


def visible() -> set[str]:
    """Return the ids of every visible event."""
    return {str(name) for (name,) in sql.rows("SELECT event_id FROM visible_event")}


def active() -> set[str]:
    """Return the entries that are not forgotten."""
    return set(Entry.objects.filter(forgotten=False).values_list("entry_id", flat=True))


class TestPlan:
    def test_an_entry_takes_its_versions_and_what_they_cite(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(event(1)))
        second = owner.correct(first.entry_id, "Sessions live in SQLite 3.", sources=(Wanted(event(2)),))
        other = owner.remember("The reply was short.", Wanted(event(2)), Wanted(event(7)))
        plan = plan_forget(first.entry_id, EVERYTHING)
        assert set(plan.entries) == {first.entry_id, second.entry_id}
        assert set(plan.events) == {event(1), event(2)}
        assert plan_forget(second.entry_id, EVERYTHING).entries == plan.entries
        assert other.entry_id not in plan.entries, "it has a source left"

    def test_an_event_takes_every_entry_that_cites_it_with_what_they_cite(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(event(1)), Wanted(RESULT))
        plan = plan_forget(event(1), EVERYTHING)
        assert (set(plan.entries), set(plan.events)) == ({first.entry_id}, {event(1), RESULT})

    def test_an_entry_left_without_a_source_goes_too_and_takes_no_further_events(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(event(1)), Wanted(event(2)))
        left = owner.remember("The reply was short.", Wanted(event(2)))
        plan = plan_forget(first.entry_id, EVERYTHING)
        assert (set(plan.entries), set(plan.events)) == ({first.entry_id, left.entry_id}, {event(1), event(2)})

    def test_exact_copies_go_with_it_and_short_ones_do_not(self, talk: AgentHome) -> None:
        other = session_uuid(9)
        talk.write(other, user(50, f"“{PERSON.upper()}”", other), user(51, "yes please", other), project="-w-x")
        talk.write(session_uuid(1), user(52, "yes please", session_uuid(1)))
        talk.sync()
        assert set(plan_forget(event(1), EVERYTHING).events) == {event(1), event(50)}
        assert plan_forget(event(1), EVERYTHING).copies == 1
        assert plan_forget(event(52), EVERYTHING).events == (event(52),)

    def test_a_session_takes_all_its_events(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        plan = plan_forget(SESSION, EVERYTHING)
        assert plan.sessions == (SESSION,)
        assert len(plan.events) == 6
        assert plan.entries == (first.entry_id,)

    def test_a_session_takes_its_sub_agents_and_what_they_say_later(self, talk: AgentHome) -> None:
        agent = talk.path / ".claude/projects/-w-app" / session_uuid(1) / "subagents" / "agent-a1.jsonl"
        agent.parent.mkdir(parents=True)
        record = user(40, "check every port of the machine", session_uuid(1), isSidechain=True, agentId="a1")
        agent.write_text(json.dumps(record) + "\n")
        talk.sync()
        assert event(40) in plan_forget(SESSION, EVERYTHING).events
        forgotten(SESSION)
        later = user(41, "and every door of the house", session_uuid(1), isSidechain=True, agentId="b2")
        (agent.parent / "agent-b2.jsonl").write_text(json.dumps(later) + "\n")
        talk.sync()
        assert {event(40), event(41)} & visible() == set()

    def test_a_message_that_says_what_an_entry_says_goes_with_it_and_the_other_way(
        self, owner: Writer, talk: AgentHome
    ) -> None:
        statement = "The vault key lies under the third stone."
        session = session_uuid(9)
        talk.write(session, user(60, statement, session))
        talk.sync()
        first = owner.remember(statement, Wanted(event(7)))
        again = owner.remember(statement, Wanted(event(7)), kind="memory")
        plan = plan_forget(first.entry_id, EVERYTHING)
        assert event(60) in plan.events
        assert again.entry_id in plan.entries
        assert first.entry_id in plan_forget(event(60), EVERYTHING).entries

    def test_a_second_tombstone_names_what_the_first_hides(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(event(1)), Wanted(event(2)))
        one = forgotten(first.entry_id)
        restore(one, "it is fine", OWNER)
        two = forgotten(event(2))
        assert first.entry_id not in active()
        restore(two, "it is fine", OWNER)
        assert first.entry_id in active()

    def test_what_is_not_there_or_not_seen_is_not_planned(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        for target in (first.entry_id, event(1), SESSION):
            with pytest.raises(NotFound):
                plan_forget(target, Scope(("billing",)))
        for target in ("ent_0000000000000000", "claude-code:nothing", ""):
            with pytest.raises(NotFound):
                plan_forget(target, EVERYTHING)


class TestForget:
    def test_it_is_gone_from_every_tool_and_its_lines_are_withheld(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        assert "nobody wants to run a server" in said(query="server")
        forgotten(first.entry_id)
        assert "nobody wants to run a server" not in said(query="nobody wants to run a server")
        assert "Sessions live in SQLite" not in said(query="sessions sqlite", **{"in": "entries"})
        for tool in ("get", "sources"):
            for name in (first.entry_id, event(1)):
                with pytest.raises(NotFound):
                    tools.call(tool, {"id": name}, EVERYTHING, UTC, OWNER)
        timeline = tools.call("timeline", {"session": SESSION}, EVERYTHING, UTC, OWNER)
        assert "server" not in timeline
        assert REPLY in timeline

    def test_a_word_that_only_it_held_is_one_that_never_occurred(self, owner: Writer) -> None:
        first = owner.remember("The codename is zanzibar.", Wanted(event(7)))
        never = json.loads(said(query="qwertz", explain=True))
        forgotten(first.entry_id)
        gone = json.loads(said(query="zanzibar", explain=True))
        for answer in (never, gone):
            answer["footer"].pop("explain")
        assert gone["footer"] | {"unmatched": []} == never["footer"] | {"unmatched": []}
        assert (gone["footer"]["unmatched"], gone["entries"], gone["hits"]) == (["zanzibar"], [], [])

    def test_a_plan_that_changed_since_is_a_conflict_with_the_new_one(self, owner: Writer) -> None:
        plan = plan_forget(event(1), EVERYTHING)
        first = owner.remember("Sessions live in SQLite.")
        with pytest.raises(Conflict) as conflict:
            forget(event(1), "no", "wrong", plan.digest, EVERYTHING, OWNER)
        assert conflict.value.current == plan_forget(event(1), EVERYTHING)
        assert (PERSON in str(conflict.value), active()) == (False, {first.entry_id})

    @pytest.mark.parametrize(
        "reason",
        [
            "",
            "  ",
            "x" * 1_001,
            f"He said {PERSON}",
            "keep sessions in SQLite",
            "it said nobody wants to run a server now",
        ],
    )
    def test_a_reason_that_is_none_or_repeats_it_is_refused(self, owner: Writer, reason: str) -> None:
        plan = plan_forget(event(1), EVERYTHING)
        with pytest.raises(InvalidInput) as refused:
            forget(event(1), reason, "wrong", plan.digest, EVERYTHING, OWNER)
        assert PERSON not in str(refused.value)
        assert event(1) in visible()

    def test_who_may_not_forget_does_not(self, owner: Writer) -> None:
        plan = plan_forget(event(1), EVERYTHING)
        with pytest.raises(Denied):
            forget(event(1), "no", "wrong", plan.digest, Scope(may_forget=False), AGENT)

    def test_nothing_kept_of_it_is_its_text(self, owner: Writer) -> None:
        owner.remember("Sessions live in SQLite.")
        before = Record.objects.count()
        forgotten(event(1), "private")
        new = [*Record.objects.filter(id__gt=before).values(), *AuditLog.objects.values()]
        assert "server" not in str(new)
        assert "SQLite" not in str(new)


class TestComesBackByNothing:
    @pytest.mark.parametrize(
        "text", [PERSON, PERSON.upper(), f"  «{PERSON}» ", PERSON.replace(" ", "\n\t "), "Ｌ" + PERSON[1:]]
    )
    def test_not_under_a_new_id_however_it_is_spelled(self, talk: AgentHome, text: str) -> None:
        forgotten(event(1))
        session = session_uuid(9)
        talk.write(session, user(60, text, session), user(61, "something else entirely, and longer", session))
        talk.sync()
        assert event(60) not in visible()
        assert event(61) in visible()
        assert "run a server" not in said(query="nobody wants to run a server")
        assert Record.objects.filter(kind="exclude").count() == 1
        assert AuditLog.objects.filter(action="exclude").count() == 1

    def test_not_as_an_entry_nor_a_correction(self, owner: Writer, agent: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        kept = owner.remember("Billing uses Postgres.", Wanted(event(7)))
        forgotten(first.entry_id)
        for statement in ("Sessions live in SQLite.", "sessions LIVE in sqlite", PERSON):
            for writer in (owner, agent):
                with pytest.raises(Refused):
                    writer.remember(statement, Wanted(event(7)))
                with pytest.raises(Refused):
                    writer.correct(kept.entry_id, statement)
        assert active() == {kept.entry_id}
        with pytest.raises(NotFound):
            agent.remember("Fine.", Wanted(quote="nobody wants to run a server"))

    def test_not_by_another_role_that_says_the_same_unless_it_was_an_entry(
        self, owner: Writer, talk: AgentHome
    ) -> None:
        statement = "The vault key lies under the third stone."
        first = owner.remember(statement, Wanted(event(7)))
        forgotten(first.entry_id)
        session = session_uuid(9)
        talk.write(session, assistant(60, statement, session), user(61, statement, session))
        talk.sync()
        assert {event(60), event(61)} & visible() == set()

    def test_not_by_a_line_of_the_same_log_that_quotes_it(self, talk: AgentHome) -> None:
        session = session_uuid(1)
        record = tool_result(70, 3, "all is well here", session, toolUseResult={"stdout": json.dumps({"said": PERSON})})
        talk.write(session, record)
        talk.sync()
        name = f"{event(70)}#0"
        sources = json.loads(tools.call("sources", {"id": name}, EVERYTHING, UTC, OWNER))
        assert "server" in sources["lines"][0]["text"], "the control"
        forgotten(event(1))
        sources = tools.call("sources", {"id": name}, EVERYTHING, UTC, OWNER)
        assert ("server" in sources, "withheld" in sources) == (False, True)
        assert "all is well here" in tools.call("get", {"id": name}, EVERYTHING, UTC, OWNER)

    def test_not_by_a_rewritten_file_a_key_that_was_added_or_what_is_said_later_in_its_session(
        self, talk: AgentHome
    ) -> None:
        forgotten(SESSION)
        keyring.add()
        session = session_uuid(1)
        log = talk.log(session)
        lines = log.read_bytes().split(b"\n")
        log.write_bytes(b"\n".join(lines[:2]) + b"\n")
        talk.write(session, user(80, "And another thing about all of this.", session))
        talk.write(session_uuid(9), user(81, PERSON, session_uuid(9)))
        talk.sync()
        assert visible() == {event(7)}
        assert sql.rows("SELECT session_id FROM visible_session") == [(f"claude-code:{session_uuid(2)}",)]

    def test_a_session_that_an_event_moves_into_is_forgotten_for_it_too(self, talk: AgentHome) -> None:
        fork = session_uuid(3)
        talk.write(fork, user(90, "Shall we talk about the weather today?", session_uuid(1)))
        talk.sync()
        assert event(90) in visible()
        forgotten(SESSION)
        talk.write(session_uuid(1), user(90, "Shall we talk about the weather today?", session_uuid(1)))
        talk.sync()
        assert event(90) not in visible()

    def test_plus_plus_is_not_sharp(self, owner: Writer) -> None:
        forgotten(owner.remember("C++", Wanted(event(7))).entry_id)
        with pytest.raises(Refused):
            owner.remember("c++", Wanted(event(1)))
        assert owner.remember("C#", Wanted(event(1))).outcome == "created"


class TestTitles:
    def test_a_title_is_silent_after_something_private_was_forgotten(self, talk: AgentHome) -> None:
        title: dict[str, object] = {
            "type": "ai-title",
            "sessionId": session_uuid(1),
            "aiTitle": "A plan without servers",
        }
        talk.write(session_uuid(1), title)
        talk.sync()
        assert "A plan without servers" in tools.call("timeline", {"since": "2020-01-01"}, EVERYTHING, UTC, OWNER)
        tombstone = forgotten(event(1), "private")
        listing = tools.call("timeline", {"since": "2020-01-01"}, EVERYTHING, UTC, OWNER)
        assert ("A plan without" in listing, "run a server" in listing) == (False, False)
        restore(tombstone, "it is fine", OWNER)
        assert "A plan without servers" in tools.call("timeline", {"since": "2020-01-01"}, EVERYTHING, UTC, OWNER)

    def test_a_short_private_message_silences_it_too(self, talk: AgentHome) -> None:
        title: dict[str, object] = {
            "type": "ai-title",
            "sessionId": session_uuid(1),
            "aiTitle": "A plan without servers",
        }
        talk.write(session_uuid(1), user(95, "PIN 4711", session_uuid(1)), title)
        talk.sync()
        forgotten(event(95), "secret")
        assert "A plan without" not in tools.call("timeline", {"since": "2020-01-01"}, EVERYTHING, UTC, OWNER)


class TestRestore:
    def test_everything_comes_back_and_only_what_no_other_covers(self, owner: Writer, talk: AgentHome) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(event(1)))
        before, held = visible(), active()
        one = forgotten(first.entry_id)
        two = forgotten(event(2))
        session = session_uuid(9)
        talk.write(session, user(60, PERSON, session))
        talk.sync()
        restore(two, "it is fine", OWNER)
        assert visible() == before - {event(1)}
        restore(one, "it is fine", OWNER)
        assert (visible(), active()) == (before | {event(60)}, held)
        assert "nobody wants to run a server" in said(query="server")
        assert owner.remember("Sessions live in SQLite.", kind="memory").outcome == "created"
        assert sql.rows("SELECT count(*) FROM value_digest") == [(0,)]
        rows = sql.rows("SELECT session_id, events, title, first_prompt FROM session ORDER BY id")
        sessions.rebuild_all()
        assert sql.rows("SELECT session_id, events, title, first_prompt FROM session ORDER BY id") == rows

    def test_what_two_tombstones_cover_waits_for_both(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(event(1)))
        whole = forgotten(SESSION)
        with pytest.raises(NotFound):
            plan_forget(first.entry_id, EVERYTHING)
        restore(whole, "it is fine", OWNER)
        assert active() == {first.entry_id}

    def test_only_the_owner_restores_once_and_with_a_reason(self, talk: AgentHome) -> None:
        tombstone = forgotten(event(1))
        with pytest.raises(Denied):
            restore(tombstone, "please", AGENT)
        with pytest.raises(InvalidInput):
            restore(tombstone, " ", OWNER)
        with pytest.raises(NotFound):
            restore("tmb_0000000000000000", "please", OWNER)
        restore(tombstone, "it is fine", OWNER)
        with pytest.raises(Conflict):
            restore(tombstone, "again", OWNER)
        assert [row.action for row in AuditLog.objects.order_by("id")] == ["forget", "restore"]


def test_the_constants_are_what_was_said(talk: AgentHome, store: Path) -> None:
    texts = {str(text) for (text,) in sql.rows("SELECT text FROM visible_event")}
    assert {PERSON, REPLY, OTHER} <= texts
    assert record_uuid(1) in event(1)
