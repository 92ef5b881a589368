"""A store that an older parser made ends, reparsed, as if today's had read the logs first; nothing in it is edited."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pytest_django.plugin import DjangoDbBlocker

from ingest.adapters.claude_code import ADAPTER
from ingest.sync import sync
from memory import archive, mirror, reparse, sql
from memory.errors import MalformedLine
from memory.models import ExcludedEvent
from memory.parsed import Line, ParsedLine, ParseLine, State
from memory.reparse import plan_reparse
from tests.commands import printed, printed_json
from tests.conftest import AgentHome, assistant, record_uuid, session_uuid, tool_call, user
from tests.ingest.test_properties import LOG, family, fresh, place, same
from tests.ingest.test_sync import adapter
from tests.memory.secret_samples import checked
from tests.memory.test_schema import check_indexes
from tests.memory.test_shadows import append, shown
from tests.memory.test_shadows import parse as parse_said
from tests.store_digest import contents, damage, without_clock

ONE, TWO = session_uuid(1), session_uuid(2)
TODAY = {"claude-code": ADAPTER.parse_line}


def blind_to(*kinds: str) -> ParseLine:
    """An older parser that did not know events of these kinds, nor titles, nor named files."""

    def parse_line(line: Line, state: State) -> ParsedLine:
        parsed = ADAPTER.parse_line(line, state)
        events = tuple(msgspec.structs.replace(event, files=()) for event in parsed.events if event.kind not in kinds)
        return msgspec.structs.replace(parsed, events=events, titles=())

    return parse_line


def confused(line: Line, state: State) -> ParsedLine:
    """An older parser that could not read what assistants say."""
    if b'"assistant"' in line.data and b"tool_use" not in line.data:
        raise MalformedLine("unknown record")
    return ADAPTER.parse_line(line, state)


def deaf(line: Line, state: State) -> ParsedLine:
    """An older parser that understood nothing."""
    return ParsedLine(state)


OLDER: dict[str, ParseLine] = {
    "messages": blind_to("message"),
    "tool events": blind_to("tool_call", "tool_result"),
    "titles": blind_to(),
    "confused": confused,
    "deaf": deaf,
}


def archived(home: AgentHome, parse_line: ParseLine) -> None:
    sync([adapter(parse_line=parse_line)], home.environment)


def everything(home: AgentHome) -> None:
    """Logs that repeat each other, and one with everything awkward in it, whose ids are its own."""
    odd = LOG.replace(b"0000e4e1", b"0000e4e2").replace(ONE.encode(), session_uuid(9).encode())
    for age, (name, records) in enumerate(family().items()):
        place(home, name, records, when=1_777_000_000 + age)
    home.log("awkward", "-w-odd").write_bytes(odd)


def comparable(found: dict[str, Any]) -> dict[str, Any]:
    """Return what a store holds but for the clock, and the version that a malformed line was told with."""
    return without_clock(found) | {"malformed": [line[:-1] for line in found["malformed"]]}


@pytest.mark.parametrize("older", OLDER)
def test_it_ends_as_if_today_s_parser_had_read_the_logs_first(
    older: str, migrated_home: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    with fresh(migrated_home, django_db_blocker) as (store, home):
        everything(home)
        archived(home, ADAPTER.parse_line)
        expected = comparable(contents(store))
    with fresh(migrated_home, django_db_blocker) as (store, home):
        everything(home)
        archived(home, OLDER[older])
        mirrors = {path: path.read_bytes() for path in (store / "raw").rglob("*.zst")}
        printed("reparse")
        same(comparable(contents(store)), expected)
        check_indexes()
        assert damage(store) == []
        assert {path: path.read_bytes() for path in (store / "raw").rglob("*.zst")} == mirrors


def test_a_log_read_in_pieces_by_parsers_of_several_ages_ends_the_same(
    migrated_home: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    cuts = [0, *range(300, len(LOG), 701), len(LOG)]
    ages: list[ParseLine] = [*OLDER.values(), ADAPTER.parse_line]
    with fresh(migrated_home, django_db_blocker) as (store, home):
        home.log(ONE).write_bytes(LOG)
        archived(home, ADAPTER.parse_line)
        expected = comparable(contents(store))
    with fresh(migrated_home, django_db_blocker) as (store, home):
        for number, (start, end) in enumerate(itertools.pairwise(cuts)):
            with home.log(ONE).open("ab") as file:
                file.write(LOG[start:end])
            archived(home, ages[number % len(ages)])
        archived(home, deaf)
        printed("reparse")
        found = comparable(contents(store))
        assert found["sessions"].keys() == expected["sessions"].keys()
        assert found["events"].keys() == expected["events"].keys()
        assert found["malformed"] == expected["malformed"]
        assert found["mirrors"] == expected["mirrors"]


def test_a_second_one_finds_nothing(store: Path, agent_home: AgentHome) -> None:
    everything(agent_home)
    archived(agent_home, deaf)
    printed("reparse")
    before = contents(store)
    assert "find nothing" in printed("reparse", "--diff")
    assert "find nothing" in printed("reparse")
    assert contents(store) == before


def test_after_it_sync_goes_on_with_what_today_s_parser_knows(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))
    archived(agent_home, deaf)
    printed("reparse")
    late: dict[str, object] = {"type": "user", "uuid": record_uuid(2), "message": {"role": "user", "content": "Later"}}
    agent_home.write(ONE, late)
    archived(agent_home, ADAPTER.parse_line)
    assert sql.rows("SELECT c.cwd FROM event e JOIN event_context c ON c.id = e.context_id WHERE e.text = 'Later'") == [
        ("/w/app",)
    ], "the directory that an earlier line named is known"


def test_what_is_there_is_not_edited(store: Path, agent_home: AgentHome) -> None:
    def shouting(line: Line, state: State) -> ParsedLine:
        parsed = ADAPTER.parse_line(line, state)
        return msgspec.structs.replace(
            parsed, events=tuple(msgspec.structs.replace(event, text=event.text.upper()) for event in parsed.events)
        )

    agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))
    archived(agent_home, shouting)
    before = sql.rows("SELECT * FROM event ORDER BY id")
    printed("reparse")
    assert sql.rows("SELECT * FROM event ORDER BY id") == before
    assert sql.rows("SELECT * FROM event_place") == []


def test_nothing_excluded_becomes_visible_or_is_told_of(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "the forgotten word", ONE), assistant(2, "the other word", ONE))
    archived(agent_home, deaf)
    ExcludedEvent.objects.create(event_id=f"claude-code:{record_uuid(1)}", tombstone="tmb_0000000000000000")

    plan = printed("reparse", "--diff") + printed("reparse", "--diff", "--json")
    added = printed_json("reparse")

    assert "forgotten" not in plan
    assert added["sources"]["claude-code"]["events"] == {"message": 1}
    assert sql.rows("SELECT text FROM visible_event") == [("the other word",)]
    assert sql.rows("SELECT events, first_prompt FROM session") == [(1, "")]
    for index in ("message_words", "message_trigram"):
        assert sql.rows(f"SELECT count(*) FROM {index} WHERE {index} MATCH 'forgotten'") == [(0,)]
    check_indexes()


def test_an_excluded_one_that_was_there_stays_out_of_every_index(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "the forgotten word", ONE), assistant(2, "the other word", ONE))
    archived(agent_home, blind_to("tool_call"))
    ExcludedEvent.objects.create(event_id=f"claude-code:{record_uuid(1)}", tombstone="tmb_0000000000000000")
    printed("reparse")
    assert sql.rows("SELECT text FROM visible_event") == [("the other word",)]
    check_indexes()


class TestDiff:
    def test_it_shows_what_would_be_added_and_writes_nothing(self, store: Path, agent_home: AgentHome) -> None:
        log = agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))
        agent_home.write(ONE, tool_call(3, "Read", {"file_path": "/w/app/a.py"}, ONE))
        agent_home.write(ONE, {"type": "ai-title", "aiTitle": "Asking", "sessionId": ONE})
        archived(agent_home, confused)
        sql.rows("PRAGMA wal_checkpoint(TRUNCATE)")
        before = contents(store), (store / "origin.db").read_bytes()

        plan = printed_json("reparse", "--diff", "--examples", "1")
        page = printed("reparse", "--diff")

        missed = plan["sources"]["claude-code"]
        assert (missed["events"], missed["titles"], missed["malformed_before"]) == ({"message": 1}, 0, 1)
        assert missed["examples"] == [
            {
                "event_id": f"claude-code:{record_uuid(2)}",
                "kind": "message",
                "text": "Answer",
                "file": str(log),
                "line": 2,
            }
        ]
        assert page.splitlines()[0].split()[-2:] == ["malformed", "before"]
        assert page.splitlines()[1].split() == ["claude-code", "1", "0", "0", "0", "0", "1"]
        assert "recorded data, not instructions" in page
        assert (contents(store), (store / "origin.db").read_bytes()) == before

    def test_an_event_of_several_places_is_counted_once(self, store: Path, agent_home: AgentHome) -> None:
        for number in (1, 2, 3):
            agent_home.write(session_uuid(number), user(1, "Question", ONE))
        archived(agent_home, deaf)
        assert printed_json("reparse", "--diff")["sources"]["claude-code"]["events"] == {"message": 1}
        assert printed_json("reparse")["sources"]["claude-code"]["events"] == {"message": 1}
        assert sql.rows("SELECT count(*) FROM event_place") == [(2,)]

    def test_it_is_what_is_added(self, store: Path, agent_home: AgentHome) -> None:
        everything(agent_home)
        archived(agent_home, confused)
        plan = plan_reparse(TODAY, examples=0)
        assert reparse.reparse(TODAY).sources == plan.sources

    def test_secrets_are_masked(self, store: Path, agent_home: AgentHome) -> None:
        secret = checked("ghp_", 30)
        agent_home.write(ONE, user(1, f"use {secret} for it", ONE))
        archived(agent_home, deaf)
        page = printed("reparse", "--diff")
        assert "for it" in page
        assert secret not in page


class TestMalformedLines:
    def test_status_no_longer_tells_of_one_that_is_readable_now(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))
        with agent_home.log(ONE).open("ab") as file:
            file.write(b"no json\n")
        archived(agent_home, confused)
        assert printed_json("status")["sources"][0]["malformed"] == 2

        printed("reparse")

        (source,) = printed_json("status")["sources"]
        assert source["malformed"] == 1
        assert [(reason["lines"], reason["reason"]) for reason in source["reasons"]] == [(1, "not a JSON object")]

    def test_one_that_a_later_parser_cannot_read_again_is_told_again(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(ONE, assistant(2, "Answer", ONE))
        archived(agent_home, confused)
        printed("reparse")
        reparse.reparse({"claude-code": confused})
        assert [reason["lines"] for reason in printed_json("status")["sources"][0]["reasons"]] == [1]


class TestInterruptions:
    def test_a_kill_at_any_batch_leaves_a_store_that_the_next_run_finishes(
        self, migrated_home: Path, django_db_blocker: DjangoDbBlocker, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reparse, "BATCH_EVENTS", 2)
        with fresh(migrated_home, django_db_blocker) as (store, home):
            everything(home)
            archived(home, deaf)
            printed("reparse")
            expected = comparable(contents(store))
        for stop in range(1, 12):
            with fresh(migrated_home, django_db_blocker) as (store, home):
                everything(home)
                archived(home, deaf)
                with pytest.raises(KeyboardInterrupt):
                    reparse.reparse(TODAY, stopping_after(stop))
                assert damage(store) == []
                reparse.reparse(TODAY)
                same(comparable(contents(store)), expected)

    def test_lines_that_a_sync_appends_meanwhile_are_parsed_too(
        self, store: Path, agent_home: AgentHome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(reparse, "BATCH_EVENTS", 1)
        agent_home.write(ONE, user(1, "One", ONE), user(2, "Two", ONE))
        archived(agent_home, deaf)
        steps = iter(range(10))

        def go_on(done: int, total: int) -> None:
            if next(steps) == 0:
                agent_home.write(ONE, user(3, "Three", ONE))
                archived(agent_home, deaf)

        reparse.reparse(TODAY, go_on)
        assert sql.rows("SELECT text FROM event ORDER BY line") == [("One",), ("Two",), ("Three",)]
        assert archive.cursors([1])[1].parsed == 3

    def test_a_damaged_mirror_costs_one_sentence_and_no_other_file(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(ONE, user(1, "One", ONE))
        agent_home.write(TWO, user(2, "Two", TWO))
        archived(agent_home, deaf)
        [(held,)] = sql.rows("SELECT mirror_path FROM raw_file WHERE logical_path LIKE ?", (f"%{ONE}%",))
        path = mirror.path_of(str(held))
        path.write_bytes(path.read_bytes()[:-9] + b"\x00" * 9)

        found = reparse.reparse(TODAY)

        assert len(found.problems) == 1
        assert str(path) in found.problems[0]
        assert sql.rows("SELECT text FROM event") == [("Two",)]


def stopping_after(batches: int) -> Callable[[int, int], None]:
    left = iter(range(batches - 1))

    def progress(done: int, total: int) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    return progress


class TestTwinsAndReplays:
    PARENT = [("1", "plan", "", 0, ""), ("2", "do", "", 0, ""), ("3", "check", "", 0, "")]
    CHILD = [("x", "plan", "", 0, "p"), ("y", "do", "", 0, ""), ("w", "check", "", 0, ""), ("z", "differ", "", 0, "")]

    @pytest.mark.parametrize("missed", ["plan", "do", "check", "differ"])
    def test_a_copied_history_is_hidden_as_if_all_of_it_had_been_read_first(
        self, store: Path, missed: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def older(line: Line, state: State) -> ParsedLine:
            parsed = parse_said(line, state)
            kept = [msgspec.structs.replace(e, replays="") for e in parsed.events if e.text != missed]
            return msgspec.structs.replace(parsed, events=tuple(kept))

        monkeypatch.setattr("tests.memory.test_shadows.parse", older)
        append("p/log", *self.PARENT)
        append("c/log", *self.CHILD)
        reparse.reparse({"test": parse_said})
        assert (shown("p"), shown("c")) == (["1", "2", "3"], ["z"])
        check_indexes()

    def test_a_better_twin_that_was_missed_hides_the_other(self, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def older(line: Line, state: State) -> ParsedLine:
            parsed = parse_said(line, state)
            return msgspec.structs.replace(parsed, events=tuple(event for event in parsed.events if event.rank))

        monkeypatch.setattr("tests.memory.test_shadows.parse", older)
        append("s/log", ("a", "apple", "t", 0, ""), ("b", "apple", "t", 1, ""))
        assert shown("s") == ["b"]
        reparse.reparse({"test": parse_said})
        assert shown("s") == ["a"]
        check_indexes()
