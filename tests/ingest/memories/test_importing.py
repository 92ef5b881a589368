"""Agents' own memories become entries that follow their files, and never against the owner's word."""

import contextlib
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Environment
from ingest.outlook import at_sources
from memory import mirror, sql, tools
from memory.check import check
from memory.entries import imported
from memory.entries.filters import EntryFilters
from memory.entries.reading import listed
from memory.errors import NotFound
from memory.forgetting.forget import forget, restore
from memory.forgetting.plan import plan_forget
from memory.models import Entry, Record
from memory.rebuild import rebuild
from memory.scope import EVERYTHING
from memory.status import status
from memory.times import now, process_zone
from tests.conftest import AgentHome, session_uuid, user
from tests.memory.entries.conftest import OWNER, Writer
from tests.memory.test_check import PARSERS

PAGE = "---\nname: Tests use a real database\ndescription: no mocks\ntype: {type}\n---\n{text}\n"


class Memories:
    """The memory files of an invented person."""

    def __init__(self, home: AgentHome) -> None:
        self.home = home
        self._clock = 1_790_000_000

    def write(self, text: str, path: str = ".claude/projects/-w-app/memory/real-db.md", kind: str = "feedback") -> Path:
        """Write one page as Claude Code does, or as it is where it is no such page, and sync."""
        file = self.home.path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PAGE.format(type=kind, text=text) if kind else text)
        self._clock += 10
        os.utime(file, (self._clock, self._clock))
        self.sync()
        return file

    def sync(self) -> int:
        """Sync and return how many entries followed."""
        return sum(report.memories for report in self.home.sync().sources.values())


@pytest.fixture
def memories(store: Path, agent_home: AgentHome) -> Memories:
    """A person with a session in the project whose memories they are."""
    session = session_uuid(1)
    agent_home.write(session, user(1, "hello there", session))
    return Memories(agent_home)


def held() -> list[tuple[str, str, str]]:
    """Return (kind, text, project) of the entries that hold now."""
    views, _ = listed(EVERYTHING, EntryFilters(), limit=50)
    return sorted((view.entry.kind, view.entry.text, view.entry.project) for view in views)


def texts() -> list[str]:
    """Return the texts of the entries that hold now."""
    return [text for _, text, _ in held()]


def alone(environment: Environment) -> int:
    """Return how many files of Claude Code status says are held here alone."""
    [source] = [
        each for each in status(at_sources(ADAPTERS, environment, now())).sources if each.source == "claude-code"
    ]
    assert source.sole_copies
    return source.sole_copies.files


def test_a_page_is_an_entry_with_the_line_it_came_from(memories: Memories) -> None:
    file = memories.write("Integration tests must hit a real database.")
    [(kind, text, project)] = held()
    assert (kind, text, project) == ("cognition", "Integration tests must hit a real database.", "app")
    entry = Entry.objects.get()
    assert (entry.trust, entry.imported, entry.author.partition("@")[0]) == ("accepted", True, "claude-code")
    answer = tools.call("sources", {"id": entry.entry_id}, EVERYTHING, process_zone())
    assert "no mocks" in answer
    assert str(file) in answer
    assert memories.sync() == 0
    assert list(check(PARSERS)) == []


@pytest.mark.parametrize(
    ("kind", "is_kept_as"),
    [
        ("user", "cognition"),
        ("feedback", "cognition"),
        ("project", "memory"),
        ("reference", "knowledge"),
        ("odd", "knowledge"),
    ],
)
def test_the_type_gives_the_kind(memories: Memories, kind: str, is_kept_as: str) -> None:
    memories.write("One statement.", kind=kind)
    assert [each for each, _, _ in held()] == [is_kept_as]


class TestFollowing:
    def test_edited_there_and_back_again_ends_where_it_began(self, memories: Memories) -> None:
        for text in ("Use Postgres.", "Use SQLite.", "Use Postgres."):
            memories.write(text)
            assert texts() == [text]
        assert Entry.objects.count() == 3
        assert len({entry.chain for entry in Entry.objects.all()}) == 1

    def test_deleted_it_ends_and_back_it_holds_again(self, memories: Memories) -> None:
        file = memories.write("Use Postgres.")
        file.unlink()
        assert (memories.sync(), texts()) == (1, [])
        assert memories.sync() == 0
        memories.write("Use Postgres.")
        assert (texts(), Entry.objects.count()) == (["Use Postgres."], 1)
        file.unlink()
        memories.sync()
        memories.write("Use SQLite.")
        assert texts() == ["Use SQLite."]

    def test_a_directory_that_cannot_be_read_ends_nothing(
        self, memories: Memories, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        memories.write("Use Postgres.")
        scan = os.scandir

        def refuse(path: Any) -> Any:
            if str(path).endswith("memory"):
                raise PermissionError(13, "Permission denied", str(path))
            return scan(path)

        monkeypatch.setattr(os, "scandir", refuse)
        report = memories.home.sync()
        assert any("could not be read" in problem for problem in report.sources["claude-code"].problems)
        assert texts() == ["Use Postgres."]

    def test_after_the_owners_correction_only_a_new_version_counts(self, memories: Memories) -> None:
        memories.write("Use Postgres.")
        Writer(OWNER).correct(Entry.objects.get().entry_id, "Use DuckDB.")
        memories.sync()
        assert texts() == ["Use DuckDB."]
        memories.write("Use MySQL.")
        assert texts() == ["Use MySQL."]

    def test_a_kill_between_the_line_and_the_record_is_made_good(
        self, memories: Memories, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch, contextlib.suppress(ZeroDivisionError):
            patch.setattr(imported, "settle", lambda *_: 1 // 0)
            memories.write("Use Postgres.")
        assert texts() == []
        assert (memories.sync(), texts()) == (1, ["Use Postgres."])
        assert (memories.sync(), Record.objects.count()) == (0, 1)

    @given(st.lists(st.sampled_from(["a", "b", "gone", "a", "owner"]), max_size=7))
    @settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_whatever_happens_to_the_file_its_last_word_holds(self, memories: Memories, steps: list[str]) -> None:
        path = f".claude/projects/-w-app/memory/page-{Entry.objects.count()}-{Record.objects.count()}.md"
        before, expected, stands, last = set(texts()), set[str](), set[str](), ""
        for step in steps:
            if step == "gone":
                (memories.home.path / path).unlink(missing_ok=True)
                memories.sync()
                expected = set()
            elif step == "owner" and expected:
                current = Entry.objects.get(text=min(expected), superseded=False, ends_at="")
                expected = stands = {f"the owner's word {Record.objects.count()}"}
                Writer(OWNER).correct(current.entry_id, min(expected))
                memories.sync()
            elif step in "ab":
                said = f"{step} of {path}"
                memories.write(said, path)
                # As it was when it was last imported, a file says nothing new, and the owner's word stands.
                expected = stands = stands if said == last else {said}
                last = said
            assert set(texts()) - before == expected, steps
        (memories.home.path / path).unlink(missing_ok=True)
        memories.sync()


class TestTheOwnersWord:
    def test_a_forgotten_memory_stays_hidden_however_its_file_changes(self, memories: Memories) -> None:
        memories.write("Use the zanzibar server.")
        entry = Entry.objects.get()
        plan = plan_forget(entry.entry_id, EVERYTHING)
        tombstone = forget(entry.entry_id, "never mind", "private", plan.digest, EVERYTHING, OWNER).tombstone
        memories.write("Use the zanzibar server, always.")
        memories.write("use the ZANZIBAR server", ".claude/projects/-w-app/memory/other.md")
        memories.sync()
        assert texts() == []
        for query in ({"query": "zanzibar", "meta": True, "tools": True}, {"query": "zanzibar", "history": True}):
            answer = tools.call("search", query, EVERYTHING, process_zone())
            assert "server" not in answer
        with pytest.raises(NotFound):
            tools.call("get", {"id": entry.entry_id}, EVERYTHING, process_zone())
        restore(tombstone, "it is fine", OWNER)
        memories.sync()
        assert "Use the zanzibar server, always." in texts()

    def test_a_rebuild_imports_nothing_twice(self, memories: Memories) -> None:
        memories.write("Use Postgres.")
        memories.write("Use SQLite.")
        [(path,)] = sql.rows("SELECT mirror_path FROM raw_file WHERE logical_path LIKE 'memories/%'")
        journal = mirror.path_of(str(path)).read_bytes()
        rebuild(PARSERS)
        assert (memories.sync(), texts(), Entry.objects.count()) == (0, ["Use SQLite."], 2)
        assert mirror.path_of(str(path)).read_bytes() == journal
        memories.write("Use DuckDB.")
        assert texts() == ["Use DuckDB."]

    def test_what_is_excluded_is_not_imported(self, memories: Memories, store: Path) -> None:
        (store / "config.toml").write_text('[archive.exclude]\npaths = ["~/.claude/projects/*/memory"]\n')
        memories.write("Use Postgres.")
        assert texts() == []


class TestPlaces:
    def test_an_index_counts_only_without_topics(self, memories: Memories) -> None:
        index = ".claude/projects/-w-app/memory/MEMORY.md"
        memories.write("# Notes\n\nUse Postgres.", index, kind="")
        assert texts() == ["# Notes\n\nUse Postgres."]
        memories.write("Use SQLite.")
        assert texts() == ["Use SQLite."]

    def test_zcode_and_sub_agents(self, memories: Memories) -> None:
        memories.write("从不使用 mock。", ".zcode/cli/memories/projects/app-64c18836016433f5/memory/login.md")
        memories.write("The reviewer is strict.", ".claude/agent-memory/reviewer/MEMORY.md")
        assert [(text, project) for _, text, project in held()] == [
            ("The reviewer is strict.", ""),
            ("从不使用 mock。", "app"),
        ]

    def test_grok_by_heading_and_no_template(self, memories: Memories) -> None:
        page = ".grok/memory/app-1a2b3c4d/MEMORY.md"
        template = "# Project Memory — /w/app\n> This file is automatically managed by Grok.\n<!-- Add any notes -->\n"
        memories.write(template, page, kind="")
        assert texts() == []
        memories.write(template + "## Database\nUse Postgres.\n\n## Style\nTabs.\n", page, kind="")
        assert texts() == ["Database\nUse Postgres.", "Style\nTabs."]
        memories.write(template + "## Style\nSpaces.\n", page, kind="")
        assert texts() == ["Style\nSpaces."]
        memories.write(template + "## Database\nUse Postgres.\n## Style\nSpaces.\n", page, kind="")
        assert texts() == ["Database\nUse Postgres.", "Style\nSpaces."]

    @pytest.mark.parametrize(
        "data",
        [b"", b"\xff\xfe\x00", b"---\nname: [broken\n---\nstill said", b"---\n---\n", b"\x00" * 99, b"x" * 5_000_000],
    )
    def test_odd_pages_cost_nothing_but_themselves(self, memories: Memories, data: bytes) -> None:
        memories.write("Use Postgres.")
        odd = memories.home.path / ".claude/projects/-w-app/memory/odd.md"
        odd.write_bytes(data)
        (odd.parent / "folder.md").mkdir()
        (odd.parent / "link.md").symlink_to("/etc/hostname")
        memories.sync()
        assert "Use Postgres." in texts()
        assert ("still said" in texts()) is (b"still" in data)

    def test_the_journal_only_grows(self, memories: Memories) -> None:
        memories.write("Use Postgres.")
        [(path,)] = sql.rows("SELECT mirror_path FROM raw_file WHERE logical_path LIKE 'memories/%'")
        before = mirror.path_of(str(path)).read_bytes()
        memories.write("Use SQLite.")
        assert mirror.path_of(str(path)).read_bytes().startswith(before)

    def test_a_page_that_is_there_is_not_said_to_be_held_here_alone(self, memories: Memories) -> None:
        file = memories.write("Use Postgres.")
        environment = memories.home.environment
        assert alone(environment) == 0
        file.unlink()
        assert alone(environment) == 1

    def test_timelines_do_not_list_them_as_sessions(self, memories: Memories) -> None:
        memories.write("Use Postgres.")
        answer = tools.call("timeline", {"since": "1990-01-01"}, EVERYTHING, process_zone())
        assert "memory/projects" not in answer
