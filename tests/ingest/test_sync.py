"""Sync: what is read, what is noticed, and what one bad source costs."""

import dataclasses
import itertools
import json
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from ingest import sync as sync_module
from ingest.adapters.claude_code import ADAPTER
from ingest.adapters.contract import Adapter, Environment, JournalRow, SourceFile
from ingest.sync import dry_run, sync
from memory import archive, home, mirror, sql
from memory.archive import RawKey
from memory.errors import OriginError
from memory.freshness import freshness
from memory.parsed import Line, ParsedEvent, ParsedLine, State
from tests.conftest import AgentHome, assistant, session_uuid, user

FIRST, SECOND = session_uuid(1), session_uuid(2)


def count(table: str) -> int:
    return int(sql.rows(f"SELECT count(*) FROM {table}")[0][0])


def generations() -> list[int]:
    return [int(number) for (number,) in sql.rows("SELECT generation FROM raw_file ORDER BY id")]


def adapter(**changes: object) -> Adapter:
    return dataclasses.replace(ADAPTER, **changes)  # type: ignore[arg-type]


class TestRewrites:
    def test_a_file_that_was_only_touched_is_not_read_again(self, store: Path, agent_home: AgentHome) -> None:
        path = agent_home.write(FIRST, user(1, "one", FIRST))
        agent_home.sync()
        os.utime(path, (1, 1))
        report = agent_home.sync().sources["claude-code"]
        assert (report.read, report.bytes, generations()) == (1, 0, [0])
        assert agent_home.sync().sources["claude-code"].read == 0

    @pytest.mark.parametrize("where", ["head", "tail", "middle, by another file"])
    def test_a_rewrite_is_noticed(self, store: Path, agent_home: AgentHome, where: str) -> None:
        path = agent_home.write(FIRST, *(user(n, f"line {n} " * 50, FIRST) for n in range(1, 60)))
        agent_home.sync()
        data = path.read_bytes()
        at = {"head": 400, "tail": len(data) - 400}.get(where, len(data) // 2)
        changed = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        if "another" in where:
            fresh = path.with_suffix(".tmp")
            fresh.write_bytes(changed)
            fresh.replace(path)
        else:
            path.write_bytes(changed)
            os.utime(path, (2, 2))
        agent_home.sync()
        assert generations() == [0, 1]
        held = [mirror.path_of(str(name)) for (name,) in sql.rows("SELECT mirror_path FROM raw_file ORDER BY id")]
        assert [b"".join(frame.data for frame in mirror.frames(path)) for path in held] == [data, changed]

    def test_a_file_put_back_the_same_under_another_inode_goes_on(self, store: Path, agent_home: AgentHome) -> None:
        path = agent_home.write(FIRST, user(1, "one", FIRST))
        agent_home.sync()
        fresh = path.with_suffix(".tmp")
        fresh.write_bytes(path.read_bytes() + json.dumps(user(2, "two", FIRST)).encode() + b"\n")
        fresh.replace(path)
        report = agent_home.sync().sources["claude-code"]
        assert (report.events, generations()) == (1, [0])

    def test_a_file_that_vanished_is_kept_and_costs_nothing(self, store: Path, agent_home: AgentHome) -> None:
        path = agent_home.write(FIRST, user(1, "one", FIRST))
        agent_home.sync()
        path.unlink()
        report = agent_home.sync().sources["claude-code"]
        assert (report.failed, report.problems, count("visible_event")) == ("", [], 1)

    def test_an_empty_file_is_read_once(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.log(FIRST).write_bytes(b"")
        assert agent_home.sync().sources["claude-code"].read == 1
        assert agent_home.sync().sources["claude-code"].read == 0


class TestLastLine:
    def test_a_torn_line_waits_until_it_is_whole(self, store: Path, agent_home: AgentHome) -> None:
        whole = json.dumps(user(1, "one", FIRST)).encode()
        agent_home.log(FIRST).write_bytes(whole[:-5])
        assert agent_home.sync().sources["claude-code"].bytes == 0
        agent_home.log(FIRST).write_bytes(whole)
        assert agent_home.sync().sources["claude-code"].events == 1

    def test_nul_bytes_after_a_power_loss_wait_and_are_passed_over(self, store: Path, agent_home: AgentHome) -> None:
        line = json.dumps(user(1, "one", FIRST)).encode() + b"\n"
        agent_home.log(FIRST).write_bytes(line + b"\x00" * 5000)
        assert agent_home.sync().sources["claude-code"].bytes == len(line)
        with agent_home.log(FIRST).open("ab") as file:
            file.write(json.dumps(user(2, "two", FIRST)).encode() + b"\n")
        report = agent_home.sync().sources["claude-code"]
        assert (report.events, report.malformed, generations()) == (1, 0, [0])

    def test_a_line_longer_than_a_frame_is_one_frame(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(FIRST, user(1, "x" * 3_000_000, FIRST), user(2, "after", FIRST))
        agent_home.sync()
        assert [lines for (lines,) in sql.rows("SELECT lines FROM raw_frame ORDER BY raw_offset")] == [1, 1]
        assert sql.rows("SELECT length(text) FROM event ORDER BY line") == [(262_144,), (5,)]


class TestCompressedSources:
    def discover(self, environment: Environment) -> Iterator[SourceFile]:
        for path in sorted(environment.home.rglob("*.jsonl*")):
            form = "zstd" if path.suffix == ".zst" else "lines"
            status = path.stat()
            logical = path.name.removesuffix(".zst")
            yield SourceFile(
                "claude-code",
                str(path),
                logical,
                form,  # type: ignore[arg-type]
                status.st_size,
                status.st_mtime_ns,
                status.st_ino,
            )

    def sync(self, person: AgentHome) -> sync_module.SourceReport:
        return sync([adapter(discover=self.discover)], person.environment).sources["claude-code"]

    def test_a_log_that_is_compressed_and_unpacked_again_stays_one_raw_file(
        self, store: Path, agent_home: AgentHome
    ) -> None:
        plain = agent_home.path / f"{FIRST}.jsonl"
        packed = plain.with_suffix(".jsonl.zst")
        lines = [json.dumps(user(n, f"line {n} " * 80, FIRST)).encode() + b"\n" for n in range(1, 3000)]
        plain.write_bytes(b"".join(lines[:2000]))
        assert self.sync(agent_home).events == 2000
        packed.write_bytes(zstandard.compress(plain.read_bytes()))
        plain.unlink()
        assert (self.sync(agent_home).events, self.sync(agent_home).read) == (0, 0)
        plain.write_bytes(b"".join(lines))
        assert self.sync(agent_home).events == 999
        packed.write_bytes(zstandard.compress(plain.read_bytes()))
        assert self.sync(agent_home).read == 0, "of two copies the plain one counts"
        assert generations() == [0]
        assert count("event") == 2999

    def test_a_damaged_one_costs_one_line_of_the_report(self, store: Path, agent_home: AgentHome) -> None:
        (agent_home.path / "a.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfdrubbish")
        (agent_home.path / "b.jsonl").write_bytes(json.dumps(user(1, "fine", FIRST)).encode() + b"\n")
        report = self.sync(agent_home)
        assert report.events == 1
        assert len(report.problems) == 1
        assert "could not be decompressed" in report.problems[0]


def parse_row(line: Line, state: State) -> ParsedLine:
    row = json.loads(line.data)
    event = ParsedEvent(
        f"rows:{row['id']}", "message", "user", row["text"], "s", at=f"2026-05-01T00:00:{row['id']:02d}.000Z"
    )
    return ParsedLine(state, (event,), at=event.at)


def read_rows(path: Path, watermark: State) -> Iterator[JournalRow]:
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        query = "SELECT id, text FROM note WHERE id > ? ORDER BY id"
        for key, text in database.execute(query, (watermark.get("id", 0),)):
            yield JournalRow(json.dumps({"id": key, "text": text}).encode(), {"id": key})
    finally:
        database.close()


class TestRowJournals:
    def rows_adapter(self, path: Path) -> Adapter:
        def discover(_: Environment) -> Iterator[SourceFile]:
            status = path.stat()
            yield SourceFile("rows", str(path), "notes", "rows", status.st_size, status.st_mtime_ns, status.st_ino)

        return Adapter("rows", "Rows", discover, parse_row, lambda _: "", read_rows)

    def test_new_rows_become_lines_and_old_ones_are_not_read_again(self, store: Path, agent_home: AgentHome) -> None:
        path = agent_home.path / "notes.db"
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
        source = self.rows_adapter(path)
        expected = b""
        for start, end in itertools.pairwise((1, 450, 451, 900)):
            database.executemany("INSERT INTO note VALUES (?, ?)", [(n, f"note {n}") for n in range(start, end)])
            database.commit()
            report = sync([source], agent_home.environment).sources["rows"]
            assert report.events == end - start
            expected += b"".join(json.dumps({"id": n, "text": f"note {n}"}).encode() + b"\n" for n in range(start, end))
        [(held,)] = sql.rows("SELECT mirror_path FROM raw_file")
        assert b"".join(frame.data for frame in mirror.frames(mirror.path_of(str(held)))) == expected
        assert archive.cursor(RawKey("", "rows", "notes")).watermark == {"id": 899}
        assert sync([source], agent_home.environment).sources["rows"].read == 0

    def test_a_frame_of_rows_is_no_larger_than_one_of_lines(self, store: Path, agent_home: AgentHome) -> None:
        path = agent_home.path / "notes.db"
        database = sqlite3.connect(path)
        database.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT)")
        sizes = [400_000, 400_000, 400_000, 3_000_000, 10, 10]
        database.executemany("INSERT INTO note VALUES (?, ?)", [(n, "x" * size) for n, size in enumerate(sizes, 1)])
        database.commit()
        assert sync([self.rows_adapter(path)], agent_home.environment).sources["rows"].events == 6
        assert [lines for (lines,) in sql.rows("SELECT lines FROM raw_frame ORDER BY raw_offset")] == [2, 1, 1, 2]

    @pytest.mark.parametrize("content", [b"no database" * 100, b""])
    def test_a_broken_database_costs_one_line_and_no_other_source(
        self, store: Path, agent_home: AgentHome, content: bytes
    ) -> None:
        path = agent_home.path / "notes.db"
        path.write_bytes(content)
        agent_home.write(FIRST, user(1, "fine", FIRST))
        report = sync([self.rows_adapter(path), ADAPTER], agent_home.environment).sources
        assert report["claude-code"].events == 1
        assert len(report["rows"].problems) == 1
        assert "could not be read" in report["rows"].problems[0]


class TestFailures:
    def test_a_folder_that_cannot_be_listed_hides_no_other(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(FIRST, user(1, "fine", FIRST))

        def discover(environment: Environment) -> Iterator[SourceFile]:
            yield from ADAPTER.discover(environment)
            raise PermissionError(13, "Permission denied", "/w/secret")

        report = sync([adapter(discover=discover)], agent_home.environment).sources["claude-code"]
        assert (report.events, report.failed) == (1, "")
        assert report.problems == ["/w/secret could not be read: Permission denied."]

    def test_a_source_of_which_nothing_is_found_has_failed(self, store: Path, agent_home: AgentHome) -> None:
        def discover(_: Environment) -> Iterator[SourceFile]:
            raise PermissionError(13, "Permission denied", "/w/secret")
            yield

        report = sync([adapter(discover=discover)], agent_home.environment)
        assert report.failed
        assert report.sources["claude-code"].failed == "/w/secret could not be read: Permission denied."

    def test_a_mirror_that_lost_bytes_stops_its_own_file_only(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(FIRST, user(1, "one", FIRST))
        agent_home.sync()
        [(held,)] = sql.rows("SELECT mirror_path FROM raw_file")
        path = mirror.path_of(str(held))
        path.write_bytes(path.read_bytes()[:-10])
        agent_home.write(FIRST, user(2, "two", FIRST))
        agent_home.write(SECOND, user(3, "three", SECOND))
        report = agent_home.sync().sources["claude-code"]
        assert report.events == 1
        assert len(report.problems) == 1
        assert "shorter than the database says" in report.problems[0]

    def test_malformed_lines_are_counted_with_their_reasons(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.log(FIRST).write_bytes(b'[]\n{"a":\n' + b'{"a":' * 5000 + b"\n5\n\n   \n{}\n")
        report = agent_home.sync().sources["claude-code"]
        assert report.malformed == 4
        assert sql.rows("SELECT line, reason FROM malformed_line ORDER BY line") == [
            (1, "not a JSON object"),
            (2, "broken JSON"),
            (3, "nested too deeply"),
            (4, "not a JSON object"),
        ]

    def test_a_dry_run_writes_nothing(self, store: Path, agent_home: AgentHome) -> None:
        path = agent_home.write(FIRST, user(1, "one", FIRST))
        report = dry_run([ADAPTER], agent_home.environment).sources["claude-code"]
        assert (report.read, report.bytes) == (1, path.stat().st_size)
        assert (count("raw_file"), count("sync_log"), list((store / "raw").iterdir())) == (0, 0, [])


class TestOrder:
    def test_keys_follow_time_although_the_newest_file_is_read_first(self, store: Path, agent_home: AgentHome) -> None:
        for number in range(1, 6):
            session = session_uuid(number)
            path = agent_home.write(session, *(user(number * 100 + n, f"day {number}", session) for n in range(20)))
            os.utime(path, (number * 1000, number * 1000))
        agent_home.sync()
        times = [at for (at,) in sql.rows("SELECT at FROM event ORDER BY id")]
        assert times == sorted(times)

    def test_a_file_with_more_events_than_reserved_keys_takes_more(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.log(FIRST).write_bytes(
            b"".join(
                b'{"type":"user","uuid":"0000e4e1-0000-4000-8000-%012x","message":{"content":"x"}}\n' % n
                for n in range(3000)
            )
        )
        agent_home.sync()
        assert count("event") == 3000

    def test_a_file_written_while_a_backlog_is_read_comes_first(
        self, store: Path, agent_home: AgentHome, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sync_module, "HOT_CHECK_SECONDS", 0.01)
        monkeypatch.setattr(sync_module, "PAUSE_SECONDS", 0.02)
        monkeypatch.setattr(sync_module, "_PAUSE_AFTER_SECONDS", 0.0)
        monkeypatch.setattr(home, "alone", lambda: False)
        for number in range(2, 120):
            session = session_uuid(number)
            path = agent_home.write(session, *(user(number, "x" * 9000, session) for _ in range(20)))
            os.utime(path, (number, number))
        agent_home.write(FIRST, user(1, "one", FIRST))
        seen: list[tuple[str, bool]] = []

        def say_more() -> None:
            time.sleep(0.05)
            agent_home.write(FIRST, assistant(500, "the hot answer", FIRST))

        def progress(done: int, total: int) -> None:
            [(hot,)] = sql.rows("SELECT count(*) FROM event WHERE text = 'the hot answer'")
            seen.append((f"{done}/{total}", bool(hot)))

        writer = threading.Thread(target=say_more)
        writer.start()
        sync([ADAPTER], agent_home.environment, progress)
        writer.join()
        assert seen[-1][1]
        assert [hot for _, hot in seen].index(True) < len(seen) - 5, "it did not wait for the backlog"


class TestStore:
    def test_a_mirror_of_an_unknown_file_is_never_touched(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(FIRST, user(1, "one", FIRST))
        path = mirror.path_of(mirror.relative_path("claude-code", f"projects/-w-app/{FIRST}.jsonl", 0))
        path.parent.mkdir(parents=True)
        path.write_bytes(b"somebody's bytes")
        with pytest.raises(OriginError, match="rebuild"):
            agent_home.sync()
        assert path.read_bytes() == b"somebody's bytes"

    def test_every_run_is_logged_also_one_that_failed(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(FIRST, user(1, "one", FIRST))
        agent_home.sync()
        (store / "raw" / "claude-code" / "projects" / "-w-app" / f"{SECOND}.jsonl.zst").write_bytes(b"unknown")
        agent_home.write(SECOND, user(1, "one", SECOND))
        with pytest.raises(OriginError):
            agent_home.sync()
        assert [bool(error) for (error,) in sql.rows("SELECT error FROM sync_log ORDER BY id")] == [False, True]
        report = json.loads(str(sql.rows("SELECT report FROM sync_log ORDER BY id")[0][0]))
        assert report["claude-code"]["events"] == 1

    def test_files_are_private(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(FIRST, user(1, "one", FIRST))
        before = os.umask(0o022)
        try:
            agent_home.sync()
        finally:
            os.umask(before)
        for path in store.rglob("*"):
            assert path.stat().st_mode & 0o077 == 0, path

    def test_a_line_that_waits_to_be_whole_is_no_backlog(self, store: Path, agent_home: AgentHome) -> None:
        agent_home.write(FIRST, user(1, "one", FIRST))
        with agent_home.log(FIRST).open("ab") as file:
            file.write(b'{"torn')
        agent_home.sync()
        assert freshness() == {"claude-code": "100% indexed, 0 min old"}
