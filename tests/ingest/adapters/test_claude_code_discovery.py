"""Where Claude Code's logs are looked for, and what is left alone there."""

import errno
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from ingest.adapters import ADAPTERS
from ingest.adapters.claude_code import ADAPTER, discover
from ingest.adapters.contract import Environment

SESSION = "5e551011-0000-4000-8000-000000000001"


def write(path: Path, text: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def found(home: Path, **variables: str) -> dict[str, str]:
    """Return where each logical path lies."""
    return {file.logical_path: file.path for file in discover(Environment(home, variables))}


def test_the_adapter_is_one_of_the_adapters() -> None:
    assert ADAPTER in ADAPTERS
    assert (ADAPTER.source, ADAPTER.display_name, ADAPTER.read_rows) == ("claude-code", "Claude Code", None)


def test_sessions_and_sub_agents_are_found_and_all_else_is_left_alone(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    wanted = [
        f"-w-lamp/{SESSION}.jsonl",
        "-w-lamp/agent-0a1b2c3d.jsonl",
        f"-w-lamp/{SESSION}/subagents/agent-a1.jsonl",
        f"-w-lamp/{SESSION}/subagents/agent-acompact-a2.jsonl",
        f"-w-lamp/{SESSION}/subagents/workflows/run-1/agent-a3.jsonl",
    ]
    others = [
        "-w-lamp/memory/MEMORY.md",
        "-w-lamp/memory/log.jsonl",
        f"-w-lamp/{SESSION}/tool-results/b1.txt",
        f"-w-lamp/{SESSION}/tool-results/b1.jsonl",
        f"-w-lamp/{SESSION}/subagents/agent-a1.meta.json",
        f"-w-lamp/{SESSION}/subagents/workflows/run-1/journal.jsonl",
        f"-w-lamp/{SESSION}.jsonl.wakatime",
        "-w-lamp/sessions-index.json",
    ]
    for name in wanted + others:
        write(projects / name)
    for name in ("history.jsonl", "todos/a.jsonl", "debug/b.jsonl"):
        write(tmp_path / ".claude" / name)
    assert set(found(tmp_path)) == {f"projects/{name}" for name in wanted}


def test_a_file_is_told_with_its_size_time_and_inode(tmp_path: Path) -> None:
    path = write(tmp_path / ".claude/projects/-w" / f"{SESSION}.jsonl", "")
    (file,) = discover(Environment(tmp_path, {}))
    status = path.stat()
    assert (file.source, file.form, file.path) == ("claude-code", "lines", str(path))
    assert (file.size, file.mtime_ns, file.inode) == (0, status.st_mtime_ns, status.st_ino)


def test_a_home_without_claude_code_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path) == {}
    (tmp_path / ".claude").mkdir()
    assert found(tmp_path) == {}


def test_the_second_usual_root_has_logical_paths_of_its_own(tmp_path: Path) -> None:
    write(tmp_path / ".claude/projects/-w/a.jsonl")
    second = tmp_path / ".config" / "claude"
    write(second / "projects/-w/a.jsonl")
    digest = hashlib.sha256(str(second).encode()).hexdigest()[:8]
    assert set(found(tmp_path)) == {"projects/-w/a.jsonl", f"root-{digest}/projects/-w/a.jsonl"}


def test_a_root_that_the_variable_names_replaces_the_usual_ones(tmp_path: Path) -> None:
    write(tmp_path / ".claude/projects/-w/a.jsonl")
    one, two = tmp_path / "one", tmp_path / "two"
    write(one / "projects/-w/b.jsonl")
    write(two / "projects/-w/c.jsonl")
    paths = found(tmp_path, CLAUDE_CONFIG_DIR=f"{one}, ~/two,{one}/,{tmp_path}/missing")
    assert sorted(Path(path).name for path in paths.values()) == ["b.jsonl", "c.jsonl"]
    assert all(logical.startswith("root-") for logical in paths)


@pytest.mark.parametrize("value", ["", " ", ","])
def test_an_empty_variable_changes_nothing(tmp_path: Path, value: str) -> None:
    write(tmp_path / ".claude/projects/-w/a.jsonl")
    assert set(found(tmp_path, CLAUDE_CONFIG_DIR=value)) == {"projects/-w/a.jsonl"}


def test_the_usual_root_keeps_its_logical_paths_when_the_variable_names_it(tmp_path: Path) -> None:
    write(tmp_path / ".claude/projects/-w/a.jsonl")
    assert set(found(tmp_path, CLAUDE_CONFIG_DIR=str(tmp_path / ".claude"))) == {"projects/-w/a.jsonl"}


def test_a_root_that_is_a_link_to_the_usual_one_is_read_once(tmp_path: Path) -> None:
    write(tmp_path / ".claude/projects/-w/a.jsonl")
    (tmp_path / ".config").mkdir()
    (tmp_path / ".config" / "claude").symlink_to(tmp_path / ".claude")
    assert set(found(tmp_path)) == {"projects/-w/a.jsonl"}


def test_a_linked_directory_is_not_followed(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere" / "secret.jsonl")
    project = write(tmp_path / ".claude/projects/-w/a.jsonl").parent
    (project.parent / "-linked").symlink_to(tmp_path / "elsewhere")
    (project / "cycle").symlink_to(project)
    assert set(found(tmp_path)) == {"projects/-w/a.jsonl"}


def test_a_linked_file_counts_only_where_it_resolves_inside_the_root(tmp_path: Path) -> None:
    project = write(tmp_path / ".claude/projects/-w/a.jsonl").parent
    write(tmp_path / ".claude" / "secret.jsonl")
    (project / "inside.jsonl").symlink_to(project / "a.jsonl")
    (project / "outside.jsonl").symlink_to(tmp_path / ".claude" / "secret.jsonl")
    (project / "dangling.jsonl").symlink_to(project / "gone.jsonl")
    (project / "loop.jsonl").symlink_to(project / "loop.jsonl")
    (project / "folder.jsonl").symlink_to(project)
    assert set(found(tmp_path)) == {"projects/-w/a.jsonl", "projects/-w/inside.jsonl"}


def test_what_is_no_regular_file_is_left_alone(tmp_path: Path) -> None:
    project = write(tmp_path / ".claude/projects/-w/a.jsonl").parent
    os.mkfifo(project / "pipe.jsonl")
    (project / "folder.jsonl").mkdir()
    assert set(found(tmp_path)) == {"projects/-w/a.jsonl"}


def test_a_name_that_is_no_utf_8_is_left_alone(tmp_path: Path) -> None:
    project = write(tmp_path / ".claude/projects/-w/ü.jsonl").parent
    try:
        Path(os.fsdecode(os.fsencode(project) + b"/\xff.jsonl")).write_text("{}")
    except OSError:
        pytest.skip("this file system holds only names in UTF-8")
    assert set(found(tmp_path)) == {"projects/-w/ü.jsonl"}


def test_a_directory_that_cannot_be_read_is_named_after_all_others_were_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = write(tmp_path / ".claude/projects/-closed/a.jsonl").parent
    write(tmp_path / ".claude/projects/-open/b.jsonl")
    write(tmp_path / ".config/claude/projects/-open/c.jsonl")
    scandir = os.scandir

    def refuse(path: str) -> Any:
        # A mode would not do: the user who runs the tests may be one who can read everything.
        if path == str(closed):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)
    files = discover(Environment(tmp_path, {}))
    assert sorted(Path(next(files).path).name for _ in range(2)) == ["b.jsonl", "c.jsonl"]
    with pytest.raises(PermissionError, match="-closed"):
        next(files)


def test_a_root_that_is_no_directory_is_named(tmp_path: Path) -> None:
    write(tmp_path / ".claude" / "projects")
    with pytest.raises(NotADirectoryError, match="projects"):
        list(discover(Environment(tmp_path, {})))
