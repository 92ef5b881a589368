"""`status` says what is held, how fresh it is, what could not be used, and what it takes on disk."""

import dataclasses
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from ingest.adapters.claude_code import ADAPTER as CLAUDE_CODE
from ingest.adapters.contract import Environment, SourceFile
from ingest.outlook import at_sources
from memory.models import ExcludedEvent
from memory.status import Purge
from memory.times import ms, now
from tests.commands import origin, printed, printed_json
from tests.conftest import AgentHome, assistant, record_uuid, session_uuid, user

ONE, TWO = session_uuid(1), session_uuid(2)


def test_an_empty_store_says_what_to_do(store: Path) -> None:
    assert "Nothing is held yet" in printed("status")
    assert printed_json("status")["sources"] == []


def test_each_source_has_its_counts(store: Path, agent_home: AgentHome) -> None:
    logs = [
        agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE)),
        agent_home.write(TWO, user(3, "Another", TWO)),
    ]
    agent_home.sync()

    status = printed_json("status")

    (source,) = status["sources"]
    assert (source["source"], source["files"], source["sessions"], source["events"]) == ("claude-code", 2, 2, 3)
    assert source["bytes"] == sum(log.stat().st_size for log in logs)
    assert source["mirror_bytes"] == status["mirror_bytes"] == sum(f.stat().st_size for f in store.rglob("*.zst"))
    assert status["database_bytes"] >= (store / "origin.db").stat().st_size
    assert status["home"] == str(store)
    assert source["last_sync"] == status["last_run"]["started"]


def test_malformed_lines_are_told_by_reason_and_agent_version(store: Path, agent_home: AgentHome) -> None:
    log = agent_home.write(ONE, user(1, "Question", ONE))
    with log.open("ab") as file:
        file.write(b"not json\n[]\n")
    agent_home.sync()

    (source,) = printed_json("status")["sources"]
    page = printed("status")

    assert source["malformed"] == sum(reason["lines"] for reason in source["reasons"]) == 2
    for reason in source["reasons"]:
        assert reason["reason"] in page
    assert {reason["agent_version"] for reason in source["reasons"]} == {"2.1.140"}
    assert "(version 2.1.140)" in page
    assert "not json" not in page


def test_a_malformed_line_is_told_with_the_version_before_it_however_it_arrived(
    store: Path, agent_home: AgentHome
) -> None:
    log = agent_home.write(ONE, user(1, "Question", ONE))
    agent_home.sync()
    with log.open("ab") as file:
        file.write(b"not json\n")
    agent_home.sync()
    agent_home.write(ONE, user(2, "Later", ONE, version="2.2.0"))
    agent_home.sync()

    assert [reason["agent_version"] for reason in printed_json("status")["sources"][0]["reasons"]] == ["2.1.140"]


def test_a_rewritten_file_is_one_file(store: Path, agent_home: AgentHome) -> None:
    log = agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))
    agent_home.sync()
    log.unlink()
    agent_home.write(ONE, user(5, "Something else", ONE))
    agent_home.sync()

    assert printed_json("status")["sources"][0]["files"] == 1


def test_what_is_excluded_is_not_counted(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE), assistant(2, "Answer", ONE))
    agent_home.sync()
    ExcludedEvent.objects.create(event_id=f"claude-code:{record_uuid(1)}", tombstone="tmb_0000000000000000")

    assert printed_json("status")["sources"][0]["events"] == 1


@pytest.fixture
def at_home(agent_home: AgentHome, monkeypatch: pytest.MonkeyPatch) -> AgentHome:
    """The person whose home this process is in."""
    monkeypatch.setenv("HOME", str(agent_home.path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    monkeypatch.setenv("TZ", "UTC")
    return agent_home


class TestSoleCopies:
    def test_files_whose_source_is_gone_are_counted(self, store: Path, at_home: AgentHome) -> None:
        gone = at_home.write(ONE, user(1, "Question", ONE))
        at_home.write(TWO, user(2, "Another", TWO))
        at_home.sync()
        held = gone.stat().st_size
        assert printed_json("status")["sources"][0]["sole_copies"] == {"files": 0, "bytes": 0}
        assert "held here alone" not in printed("status")

        gone.unlink()

        assert printed_json("status")["sources"][0]["sole_copies"] == {"files": 1, "bytes": held}
        assert "claude-code: 1 file (" in printed("status")

    def test_a_rewritten_file_is_one_of_them_only_when_it_is_gone(self, store: Path, at_home: AgentHome) -> None:
        log = at_home.write(ONE, user(1, "Question", ONE))
        at_home.sync()
        log.unlink()
        at_home.write(ONE, user(5, "Something else", ONE))
        at_home.sync()
        assert printed_json("status")["sources"][0]["sole_copies"]["files"] == 0
        log.unlink()
        assert printed_json("status")["sources"][0]["sole_copies"]["files"] == 1

    def test_an_excluded_path_is_not_taken_for_gone(self, store: Path, at_home: AgentHome) -> None:
        at_home.write(ONE, user(1, "Question", ONE))
        at_home.sync()
        (store / "config.toml").write_text('[archive.exclude]\npaths = ["*"]\n')
        assert printed_json("status")["sources"][0]["sole_copies"]["files"] == 0

    def test_nothing_is_said_of_a_source_that_is_not_looked_for(self, store: Path, at_home: AgentHome) -> None:
        at_home.write(ONE, user(1, "Question", ONE))
        at_home.sync()
        (store / "config.toml").write_text('[archive.exclude]\nsources = ["claude-code"]\n')
        source = printed_json("status")["sources"][0]
        assert {"sole_copies", "purge"} & source.keys() == set()

    def test_nothing_is_said_of_a_source_that_cannot_be_listed(self, store: Path, at_home: AgentHome) -> None:
        def discover(environment: Environment) -> Iterator[SourceFile]:
            raise PermissionError(13, "Permission denied", "/w/secret")
            yield

        adapter = dataclasses.replace(CLAUDE_CODE, discover=discover)
        assert at_sources([adapter], at_home.environment, now()) == {}


class TestPurge:
    NOW = "2026-05-31T00:00:00.000Z"

    def forecast(self, person: AgentHome, *days_old: int) -> Purge | None:
        for number, days in enumerate(days_old, 1):
            path = person.write(session_uuid(number), user(number, "Question", session_uuid(number)))
            changed = (ms(self.NOW) - days * 86_400_000) // 1000
            os.utime(path, (changed, changed))
        return at_sources([CLAUDE_CODE], person.environment, self.NOW)["claude-code"].purge

    def test_it_says_how_many_files_go_within_a_week_and_when_the_next_does(self, agent_home: AgentHome) -> None:
        assert self.forecast(agent_home, 28, 25, 22, 1) == Purge(30, 2, "2026-06-02T00:00:00.000Z")

    @pytest.mark.parametrize(
        ("settings", "days"),
        [
            ('{"cleanupPeriodDays": 90}', 90),
            ('{"cleanupPeriodDays": 0}', 0),
            ('{"cleanupPeriodDays": 99999999}', 1_000_000),
            ('{"cleanupPeriodDays": "90"}', 30),
            ('{"cleanupPeriodDays": true}', 30),
            ('{"cleanupPeriodDays": -1}', 30),
            ("{}", 30),
            ("no json", 30),
        ],
    )
    def test_the_settings_say_how_long(self, agent_home: AgentHome, settings: str, days: int) -> None:
        agent_home.log(ONE)
        (agent_home.path / ".claude" / "settings.json").write_text(settings)
        found = self.forecast(agent_home, 1)
        assert found
        assert found.days == days

    def test_the_page_says_it(self, store: Path, at_home: AgentHome) -> None:
        log = at_home.write(ONE, user(1, "Question", ONE))
        at_home.sync()
        kept = "claude-code: logs are deleted by the agent 30 days after their last change"
        assert f"{kept}: 0 files within 7 days, the next 20" in printed("status")
        os.utime(log, (1, 1))
        assert f"{kept}: 1 file within 7 days, the next at its next start" in printed("status")
        log.unlink()
        assert f"{kept}; none is left" in printed("status")


def test_a_page_lines_up_and_holds_no_colour_when_piped(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))
    agent_home.sync()

    done = origin("status", home=store, person=agent_home.path)

    heading, row = done.stdout.splitlines()[:2]
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert heading.startswith("source       files  sessions  events")
    assert row.startswith("claude-code      1         1       1")
