"""The generator's logs have the shape that the benchmarks count on."""

import argparse
import json
import re
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.generate import DAYS, Tally, parse_size, write_logs, write_one_file

SIZE = 1_200_000
UNTIL = date(2026, 3, 31)


def generate(home: Path, seed: int = 7) -> Tally:
    return write_logs(SIZE, home, seed=seed, until=UNTIL, session_bytes=60_000)


def log_files(home: Path) -> list[Path]:
    return sorted(home.glob(".claude/projects/**/*.jsonl"))


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").split("\n")[:-1]]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    generate(home)
    return home


@pytest.fixture(scope="module")
def all_records(home: Path) -> list[dict[str, Any]]:
    return [record for path in log_files(home) for record in records(path)]


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(home: Path, tmp_path: Path) -> None:
    contents = {path.relative_to(home): path.read_bytes() for path in log_files(home)}

    generate(tmp_path / "again")
    generate(tmp_path / "other", seed=8)

    again = {path.relative_to(tmp_path / "again"): path.read_bytes() for path in log_files(tmp_path / "again")}
    assert again == contents
    assert not {path.stem for path in log_files(tmp_path / "other")} & {path.stem for path in log_files(home)}


def test_the_files_have_the_size_asked_for_and_the_tally_counts_them(tmp_path: Path) -> None:
    tally = generate(tmp_path)

    files = log_files(tmp_path)
    assert tally.bytes == sum(path.stat().st_size for path in files)
    assert tally.lines == sum(len(records(path)) for path in files)
    assert SIZE <= tally.bytes < 1.2 * SIZE
    assert 4 <= tally.sessions <= len(files)


def test_tool_results_take_a_little_more_than_half_of_the_bytes(all_records: list[dict[str, Any]]) -> None:
    lengths = {id(record): len(json.dumps(record, ensure_ascii=False).encode()) for record in all_records}

    results = sum(lengths[id(record)] for record in all_records if "toolUseResult" in record)

    assert 0.45 <= results / sum(lengths.values()) <= 0.7


def test_every_parent_is_an_earlier_record_of_the_same_file(home: Path) -> None:
    for path in log_files(home):
        seen: set[str | None] = {None}
        for record in records(path):
            assert record.get("parentUuid") in seen
            seen.add(record.get("uuid"))


def test_every_result_answers_the_call_before_it(home: Path) -> None:
    for path in log_files(home):
        calls: list[str] = []
        for record in records(path):
            for block in blocks(record):
                if block["type"] == "tool_use":
                    calls.append(block["id"])
                if block["type"] == "tool_result":
                    assert block["tool_use_id"] == calls[-1]


def blocks(record: dict[str, Any]) -> list[dict[str, Any]]:
    content = record.get("message", {}).get("content", [])
    return content if isinstance(content, list) else []


def test_a_file_lies_where_the_client_puts_it_and_ends_at_its_last_timestamp(home: Path) -> None:
    for path in log_files(home):
        talk = [record for record in records(path) if "cwd" in record]
        folder = path.relative_to(home / ".claude" / "projects").parts[0]
        last = datetime.fromisoformat(talk[-1]["timestamp"])
        assert folder == re.sub(r"[^A-Za-z0-9]", "-", talk[0]["cwd"])
        assert talk[0]["sessionId"] in path.relative_to(home).as_posix()
        assert abs(path.stat().st_mtime - last.timestamp()) < 1


def test_times_lie_within_the_days_before_the_date_given(all_records: list[dict[str, Any]]) -> None:
    days = {datetime.fromisoformat(record["timestamp"]).date() for record in all_records if "timestamp" in record}

    assert max(days) <= UNTIL
    assert (UNTIL - min(days)).days <= DAYS


def test_all_kinds_of_lines_occur(all_records: list[dict[str, Any]]) -> None:
    kinds = {record["type"] for record in all_records}
    kinds |= {block["type"] for record in all_records for block in blocks(record)}

    assert {"user", "assistant", "system", "file-history-snapshot"} <= kinds
    assert kinds & {"summary", "ai-title"}, "which of them, the version of the client that a date falls in decides"
    assert {"text", "thinking", "tool_use", "tool_result"} <= kinds


def test_one_file_holds_lines_as_long_as_asked(tmp_path: Path) -> None:
    tally = write_one_file(900_000, 300_000, tmp_path)

    (path,) = log_files(tmp_path)
    longest = max(len(line) for line in path.read_bytes().split(b"\n"))
    assert tally.bytes == path.stat().st_size >= 900_000
    assert 300_000 <= longest <= 1_000_000


def test_a_size_is_a_number_with_a_unit() -> None:
    assert parse_size("100MB") == 100_000_000
    with pytest.raises(argparse.ArgumentTypeError, match="no size"):
        parse_size("many")
