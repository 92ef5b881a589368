"""`status` says what is held, how fresh it is, what could not be used, and what it takes on disk."""

from pathlib import Path

from memory.models import ExcludedEvent
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
    assert "not json" not in page


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


def test_a_page_lines_up_and_holds_no_colour_when_piped(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, user(1, "Question", ONE))
    agent_home.sync()

    done = origin("status", home=store, person=agent_home.path)

    heading, row = done.stdout.splitlines()[:2]
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert heading.startswith("source       files  sessions  events")
    assert row.startswith("claude-code      1         1       1")
