"""Where Codex's rollouts and the names of its threads are looked for, and what is left alone there."""

import errno
import os
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from ingest.adapters import ADAPTERS
from ingest.adapters.codex import ADAPTER, discover, places
from ingest.adapters.contract import Environment, SourceFile
from ingest.plan import discover as discovered

THREAD = "019e0000-0000-7000-8000-000000000001"
NAME = f"rollout-2026-06-01T09-59-59-{THREAD}.jsonl"


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def files(home: Path, **variables: str) -> dict[str, SourceFile]:
    return discovered(ADAPTER, Environment(home, variables)).files


def found(home: Path, **variables: str) -> dict[str, str]:
    """Return which file is read under each logical path."""
    return {logical_path: file.path for logical_path, file in files(home, **variables).items()}


def test_the_adapter_is_one_of_the_adapters() -> None:
    assert ADAPTER in ADAPTERS
    assert (ADAPTER.source, ADAPTER.display_name) == ("codex", "Codex")
    assert ADAPTER.version(Environment(Path("/nowhere"), {})) == ""


def test_rollouts_are_found_wherever_they_lie_and_all_else_is_left_alone(tmp_path: Path) -> None:
    root = tmp_path / ".codex"
    write(root / "sessions/2026/06/01" / NAME)
    write(root / "archived_sessions" / NAME.replace("0001.", "0002."))
    write(root / "sessions/2026/06/02" / NAME.replace("0001.jsonl", "0003.jsonl.zst"))
    others = [
        "history.jsonl",
        "log/codex-tui.log",
        "shell_snapshots/a.jsonl",
        "rollout-outside.jsonl",
        "sessions/2026/06/01/exec.jsonl",
        "sessions/2026/06/01/rollout-old.json",
        "sessions/2026/06/01/rollout-x.jsonl.lock",
        "sessions/2026/06/01/rollout-x.jsonl.zst.tmp",
        "logs_1.sqlite",
        "memories/MEMORY.md",
    ]
    for name in others:
        write(root / name)
    assert set(found(tmp_path)) == {f"sessions/{NAME.replace('0001.', f'000{number}.')}" for number in (1, 2, 3)}


def test_a_plain_a_compressed_and_an_archived_copy_are_one_file_and_the_plain_one_is_read(tmp_path: Path) -> None:
    root = tmp_path / ".codex"
    write(root / "sessions/2026/06/01" / f"{NAME}.zst")
    plain = write(root / "archived_sessions" / NAME)
    assert found(tmp_path) == {f"sessions/{NAME}": str(plain)}
    plain.unlink()
    assert [file.form for file in files(tmp_path).values()] == ["zstd"]


def test_a_file_is_told_with_its_size_time_and_inode(tmp_path: Path) -> None:
    path = write(tmp_path / ".codex/sessions/2026/06/01" / NAME)
    stat = path.stat()
    assert files(tmp_path)[f"sessions/{NAME}"] == SourceFile(
        "codex", str(path), f"sessions/{NAME}", "lines", stat.st_size, stat.st_mtime_ns, stat.st_ino
    )


def test_a_missing_home_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path) == {}
    (tmp_path / ".codex").mkdir()
    assert found(tmp_path) == {}


def test_the_variable_names_the_only_root(tmp_path: Path) -> None:
    write(tmp_path / ".codex/sessions" / NAME)
    other = write(tmp_path / "elsewhere/sessions" / NAME.replace("0001.", "0002."))
    assert list(found(tmp_path, CODEX_HOME=str(tmp_path / "elsewhere")).values()) == [str(other)]
    assert list(places(Environment(tmp_path, {"CODEX_HOME": "~/elsewhere"}))) == [
        str(tmp_path / "elsewhere/sessions"),
        str(tmp_path / "elsewhere/archived_sessions"),
    ]
    assert f"sessions/{NAME}" in found(tmp_path, CODEX_HOME=" ")


def test_the_files_of_names_are_told_apart_by_their_root_and_rollouts_are_not(tmp_path: Path) -> None:
    for root in (".codex", "elsewhere"):
        write(tmp_path / root / "sessions" / NAME)
        write(tmp_path / root / "session_index.jsonl")
    assert set(found(tmp_path)) == {f"sessions/{NAME}", "session_index.jsonl"}
    rollout, index = sorted(found(tmp_path, CODEX_HOME="~/elsewhere"), reverse=True)
    assert rollout == f"sessions/{NAME}"
    assert re.fullmatch("root-[0-9a-f]{8}/session_index.jsonl", index)


def test_the_newest_state_database_is_found_and_another_directory_may_hold_it(tmp_path: Path) -> None:
    root = tmp_path / ".codex"
    for name in ("state_4.sqlite", "state_10.sqlite", "state_x.sqlite", "state_9.sqlite-wal", "logs_11.sqlite"):
        write(root / name)
    assert [(file.logical_path, file.form) for file in files(tmp_path).values()] == [("state_10.sqlite", "rows")]
    other = write(tmp_path / "databases/state_2.sqlite")
    assert list(found(tmp_path, CODEX_SQLITE_HOME=str(tmp_path / "databases")).values()) == [str(other)]


def test_what_is_written_to_the_wal_changes_how_the_database_looks(tmp_path: Path) -> None:
    path = write(tmp_path / ".codex/state_5.sqlite", "")
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    before = files(tmp_path)["state_5.sqlite"]
    connection.execute("CREATE TABLE threads (id)")
    connection.commit()
    after = files(tmp_path)["state_5.sqlite"]
    connection.close()
    assert after.size > before.size


def test_links_out_of_the_root_are_not_followed(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.jsonl")
    sessions = write(tmp_path / ".codex/sessions/2026" / NAME).parent
    (sessions / "rollout-linked.jsonl").symlink_to(secret)
    (sessions / "cycle").symlink_to(sessions)
    (tmp_path / ".codex/session_index.jsonl").symlink_to(secret)
    (tmp_path / ".codex/state_5.sqlite").symlink_to(secret)
    assert set(found(tmp_path)) == {f"sessions/{NAME}"}


def test_a_directory_that_cannot_be_read_is_named_after_all_others_were_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = write(tmp_path / ".codex/sessions/2026" / NAME).parent
    write(tmp_path / ".codex/archived_sessions" / NAME)
    write(tmp_path / ".codex/session_index.jsonl")
    scandir = os.scandir

    def refuse(path: str) -> Any:
        if path == str(closed):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    left = discover(Environment(tmp_path, {}))
    assert [next(left).logical_path for _ in range(2)] == [f"sessions/{NAME}", "session_index.jsonl"]
    with pytest.raises(PermissionError, match="2026"):
        next(left)
