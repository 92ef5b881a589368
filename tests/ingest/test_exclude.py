"""What config.toml excludes is neither archived nor touched in the store, and what it cannot mean stops the sync."""

import dataclasses
import json
import sqlite3
from pathlib import Path

import msgspec
import pytest
import zstandard

from ingest.adapters import ADAPTERS
from ingest.adapters.claude_code import ADAPTER
from ingest.sync import Report, dry_run, sync
from memory import mirror, sql
from memory.errors import OriginError
from tests.commands import origin
from tests.conftest import AgentHome, assistant, session_uuid, user
from tests.ingest.test_sync import TestRowJournals, adapter

OPEN, SECRET, THIRD = session_uuid(1), session_uuid(2), session_uuid(3)


def exclude(store: Path, line: str) -> None:
    (store / "config.toml").write_text(f"[archive.exclude]\n{line}\n")


def held() -> str:
    """Return all that the mirrors hold."""
    paths = [mirror.path_of(str(name)) for (name,) in sql.rows("SELECT mirror_path FROM raw_file")]
    return b"".join(frame.data for path in paths if path.exists() for frame in mirror.frames(path)).decode()


def said() -> list[str]:
    return sorted(str(text) for (text,) in sql.rows("SELECT text FROM event"))


def files_known() -> int:
    return len(sql.rows("SELECT id FROM raw_file"))


def claude(report: Report) -> tuple[int, int, list[str]]:
    did = report.sources["claude-code"]
    return (did.files, did.excluded, did.problems)


@pytest.fixture
def two(agent_home: AgentHome) -> AgentHome:
    """A home with a session that may be archived, and one in another folder and project that may not."""
    agent_home.write(OPEN, user(1, "open words", OPEN))
    agent_home.write(SECRET, user(2, "secret words", SECRET, cwd="/w/diary"), project="-w-diary")
    return agent_home


class TestSources:
    def test_an_excluded_source_is_not_even_looked_for(self, store: Path, two: AgentHome) -> None:
        exclude(store, 'sources = ["claude-code"]')

        def discover(_: object) -> list[object]:
            raise AssertionError("it was looked for")

        report = sync([adapter(discover=discover)], two.environment)

        assert (report.excluded, report.sources, files_known()) == (("claude-code",), {}, 0)

    def test_a_source_that_is_none_stops_the_sync(self, store: Path, two: AgentHome) -> None:
        exclude(store, 'sources = ["claude"]')

        with pytest.raises(OriginError, match=r"'claude'.*claude-code"):
            two.sync()
        assert files_known() == 0


class TestPaths:
    @pytest.mark.parametrize(
        "pattern",
        [
            "~/.claude/projects/-w-diary",
            "~/.claude/projects/-w-diary/",
            "*-diary*",
            f"~/.claude/*/{SECRET}.jsonl",
            "{home}/.claude/projects/-w-d?ary/*",
        ],
    )
    def test_a_pattern_covers_a_file_or_a_folder(self, store: Path, two: AgentHome, pattern: str) -> None:
        exclude(store, f"paths = ['{pattern.format(home=two.path)}']")

        report = two.sync()

        assert claude(report) == (1, 1, [])
        assert (said(), files_known()) == (["open words"], 1)

    def test_a_folder_s_name_covers_no_other_that_begins_with_it(self, store: Path, two: AgentHome) -> None:
        exclude(store, 'paths = ["~/.claude/projects/-w-di"]')
        assert claude(two.sync()) == (2, 0, [])

    def test_a_path_is_known_by_where_a_link_leads_too(self, store: Path, two: AgentHome) -> None:
        real = two.path / "dotfiles"
        (two.path / ".claude").rename(real)
        (two.path / ".claude").symlink_to(real)
        exclude(store, f"paths = ['{real}/projects/-w-diary']")

        assert claude(two.sync()) == (1, 1, [])

    def test_another_copy_of_an_excluded_file_is_left_alone_too(self, store: Path, agent_home: AgentHome) -> None:
        lines = json.dumps({"type": "session_meta", "payload": {"id": OPEN, "cwd": "/w/app"}}).encode() + b"\n"
        plain = agent_home.path / ".codex" / "sessions" / f"rollout-2026-05-01T00-00-00-{OPEN}.jsonl"
        plain.parent.mkdir(parents=True)
        plain.write_bytes(lines)
        plain.with_suffix(".jsonl.zst").write_bytes(zstandard.compress(lines))
        exclude(store, "paths = ['*.jsonl']")

        report = agent_home.sync().sources["codex"]

        assert (report.files, report.excluded, files_known()) == (0, 2, 0)

    def test_a_pattern_that_no_path_can_match_stops_the_sync(self, store: Path, two: AgentHome) -> None:
        exclude(store, 'paths = ["projects/-w-diary"]')

        with pytest.raises(OriginError, match="begins with none of"):
            two.sync()


class TestProjects:
    def test_nothing_of_an_excluded_project_reaches_the_store(self, store: Path, two: AgentHome) -> None:
        exclude(store, 'projects = ["diary"]')

        for _ in range(2):
            assert claude(two.sync()) == (1, 1, [])

        assert (said(), files_known()) == (["open words"], 1)
        assert "secret" not in held()

    def test_a_worktree_belongs_to_its_project(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(SECRET, user(2, "secret", SECRET, cwd="/w/diary/.claude/worktrees/x"))
        exclude(store, 'projects = ["diary"]')
        assert claude(agent_home.sync()) == (0, 1, [])

    def test_a_file_waits_until_it_says_which_project_it_is_of(self, store: Path, agent_home: AgentHome) -> None:
        exclude(store, 'projects = ["diary"]')
        prompt: dict[str, object] = {
            "type": "queue-operation",
            "operation": "enqueue",
            "content": "secret words",
            "sessionId": SECRET,
        }
        agent_home.write(SECRET, prompt)
        assert claude(agent_home.sync()) == (1, 0, [])
        assert files_known() == 0
        agent_home.write(SECRET, user(2, "secret words", SECRET, cwd="/w/diary"))
        assert claude(agent_home.sync()) == (0, 1, [])
        assert files_known() == 0

    def test_one_that_says_it_late_is_archived_whole_where_it_may_be(self, store: Path, agent_home: AgentHome) -> None:
        exclude(store, 'projects = ["diary"]')
        agent_home.write(OPEN, {"type": "mode", "mode": "plan", "sessionId": OPEN})
        agent_home.sync()
        path = agent_home.write(OPEN, user(1, "open words", OPEN))
        agent_home.sync()
        assert (said(), held()) == (["open words"], path.read_text())

    def test_sub_agents_of_an_excluded_session_are_excluded_wherever_they_worked(
        self, store: Path, two: AgentHome
    ) -> None:
        agent = two.log(SECRET, "-w-diary").parent / SECRET / "subagents" / "agent-a1.jsonl"
        agent.parent.mkdir(parents=True)
        record = user(3, "look into it", SECRET, cwd="/w/diary/pages", agentId="a1", isSidechain=True)
        agent.write_text(json.dumps(record) + "\n")
        exclude(store, 'projects = ["diary"]')

        assert claude(two.sync()) == (1, 2, [])

    def test_an_archived_session_is_not_read_on(self, store: Path, two: AgentHome) -> None:
        two.sync()
        exclude(store, 'projects = ["diary"]')
        two.write(SECRET, assistant(5, "more of it", SECRET, cwd="/w/diary"), project="-w-diary")

        assert claude(two.sync()) == (1, 1, [])
        assert said() == ["open words", "secret words"]

    def test_a_file_is_archived_once_its_project_is_not_excluded_any_more(self, store: Path, two: AgentHome) -> None:
        exclude(store, 'projects = ["diary"]')
        two.sync()
        (store / "config.toml").unlink()
        two.sync()
        assert said() == ["open words", "secret words"]

    def test_a_dry_run_leaves_them_alone_too(self, store: Path, two: AgentHome) -> None:
        exclude(store, 'projects = ["diary"]')
        report = dry_run([ADAPTER], two.environment).sources["claude-code"]
        assert (report.read, report.excluded) == (1, 1)

    def test_of_a_database_the_rows_of_an_excluded_project_are_left_out(
        self, store: Path, agent_home: AgentHome
    ) -> None:
        exclude(store, 'projects = ["diary"]')
        path = agent_home.path / "notes.db"
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
            database.executemany("INSERT INTO note VALUES (?, ?)", [(1, "open"), (2, "secret"), (3, "open again")])
        source = TestRowJournals().rows_adapter(path)

        def parse_line(line: object, state: object) -> object:
            parsed = source.parse_line(line, state)  # type: ignore[arg-type]
            cwd = "/w/diary" if b"secret" in line.data else "/w/app"  # type: ignore[attr-defined]
            events = [msgspec.structs.replace(event, cwd=cwd, session=cwd) for event in parsed.events]
            return msgspec.structs.replace(parsed, events=tuple(events))

        report = sync([dataclasses.replace(source, parse_line=parse_line)], agent_home.environment).sources["rows"]  # type: ignore[arg-type]

        assert (report.events, report.problems) == (2, [])
        assert (said(), "secret" in held()) == (["open", "open again"], False)


class TestBrokenSettings:
    @pytest.mark.parametrize(
        "text",
        [
            "[archive\n",
            "[archive]\nexcludes = {}\n",
            "[archives.exclude]\nsources = []\n",
            '[archive.exclude]\nproject = ["diary"]\n',
            '[archive.exclude]\nprojects = "diary"\n',
            "[archive.exclude]\nprojects = [1]\n",
        ],
    )
    def test_one_that_cannot_be_understood_is_one_sentence_and_nothing_is_archived(
        self, store: Path, two: AgentHome, text: str
    ) -> None:
        (store / "config.toml").write_text(text)

        done = origin("sync", home=store, person=two.path)

        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
        assert done.stderr.startswith(f"{store / 'config.toml'} cannot be understood: ")
        assert files_known() == 0

    def test_a_link_that_leads_nowhere_is_no_missing_file(self, store: Path, two: AgentHome) -> None:
        (store / "config.toml").symlink_to(store / "gone.toml")
        with pytest.raises(OriginError, match="leads nowhere"):
            two.sync()

    def test_one_without_exclusions_changes_nothing(self, store: Path, two: AgentHome) -> None:
        (store / "config.toml").write_text("[archive]\n")
        assert claude(two.sync()) == (2, 0, [])


def test_the_summary_says_what_was_left_alone(store: Path, two: AgentHome) -> None:
    exclude(store, 'sources = ["zcode"]\nprojects = ["diary"]')

    page = origin("sync", home=store, person=two.path).stdout
    report = json.loads(origin("sync", "--json", home=store, person=two.path).stdout)

    assert page.splitlines()[-1] == "Left alone, as config.toml says: zcode, 1 file of claude-code."
    assert (report["excluded"], report["sources"]["claude-code"]["excluded"]) == (["zcode"], 1)


def test_the_sync_beside_a_server_honours_it(store: Path, two: AgentHome) -> None:
    from replication.background import COMMAND

    assert COMMAND[-2:] == ("sync", "--quiet"), "it runs the command that these tests are about"


def test_every_source_can_be_excluded(store: Path, two: AgentHome) -> None:
    exclude(store, f"sources = {json.dumps([each.source for each in ADAPTERS])}")
    assert two.sync().sources == {}
