"""A session's project follows from its path alone, alike on every machine."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.projects import project_of

NAME = st.text(st.sampled_from("abcXYZ019-_. é数"), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..", "root", "home", "Users", "mnt") and len(name) > 1
)
REPOSITORY = st.builds("{}/{}".format, st.sampled_from(["/home/ana/src", "/srv", "C:/Users/ana", "/Users/ana/x"]), NAME)


@pytest.mark.parametrize(
    ("cwd", "project"),
    [
        ("/home/ana/src/api", "api"),
        ("/home/ana/src/api/", "api"),
        ("/home/ana/src/api//", "api"),
        ("/Users/ana/Code/My App", "My App"),
        ("/home/ana/src/Api", "Api"),
        ("/home/ana/数据库", "数据库"),
        ("/home/ana/src/api/packages/web", "web"),
        ("/home/ana/.config/nvim", "nvim"),
        ("/home/ana/src/api/.", "api"),
        ("/home/ana/src/api/../web", "web"),
        ("/workspaces/api", "api"),
        ("/workspace", "workspace"),
        ("/tmp", "tmp"),
        ("/mnt/data", "data"),
        ("~/src/api", "api"),
        ("api", "api"),
        ("src/api", "api"),
        ("/home/ana/odd\\name", "odd\\name"),
        # no project
        ("", ""),
        ("/", ""),
        ("//", ""),
        (".", ""),
        ("/..", ""),
        ("~", ""),
        ("~/", ""),
        ("/root", ""),
        ("/home", ""),
        ("/home/ana", ""),
        ("/home/ana/", ""),
        ("/var/home/ana", ""),
        ("/Users/ana", ""),
        ("/Users", ""),
        ("C:\\", ""),
        ("c:", ""),
        ("C:\\Users\\ana", ""),
        ("c:\\users\\ana\\", ""),
        ("C:/Users/ana", ""),
        ("/mnt/c", ""),
        ("/mnt/c/Users/ana", ""),
        ("/c/Users/ana", ""),
        ("\\\\wsl$\\Ubuntu", ""),
        ("\\\\wsl$\\Ubuntu\\home\\ana", ""),
        ("//wsl.localhost/Ubuntu/root", ""),
        ("\\\\server", ""),
        # Windows, WSL, UNC and Git Bash
        ("C:\\src\\api", "api"),
        ("C:\\src\\api\\", "api"),
        ("C:\\src/api", "api"),
        ("D:/src/api", "api"),
        ("C:\\Users\\ana\\api", "api"),
        ("C:\\root", "root"),
        ("\\\\?\\C:\\src\\api", "api"),
        ("\\\\?\\UNC\\server\\share\\api", "api"),
        ("\\\\server\\share\\team\\api", "api"),
        ("\\\\server\\projects", "projects"),
        ("\\\\wsl$\\Ubuntu\\home\\ana\\api", "api"),
        ("\\\\WSL.localhost\\Ubuntu\\home\\ana\\api", "api"),
        ("/mnt/c/Users/ana/api", "api"),
        ("/mnt/d/api", "api"),
        ("/c/Users/ana/api", "api"),
        ("/cygdrive/c/src/api", "api"),
        # worktrees inside the repository
        ("/home/ana/src/api/.claude/worktrees/fix-login", "api"),
        ("/home/ana/src/api/.claude/worktrees/agent-a1b2c3/", "api"),
        ("/home/ana/src/api/.claude/worktrees/fix-login/packages/web", "api"),
        ("/home/ana/src/api/.claude/worktrees", "api"),
        ("/home/ana/src/api/.claude/worktrees/a/.claude/worktrees/b", "api"),
        ("/home/ana/src/api/.worktrees/fix-login", "api"),
        ("/home/ana/src/api/.worktrees/fix-login/src", "api"),
        ("/srv/api/.cursor/worktrees/wt", "api"),
        ("/srv/api/.grok/worktrees/wt", "api"),
        ("C:\\src\\api\\.claude\\worktrees\\fix", "api"),
        ("\\\\wsl$\\Ubuntu\\home\\ana\\api\\.worktrees\\fix", "api"),
        # worktrees of all repositories in one home
        ("/home/ana/.codex/worktrees/3f2a/api", "api"),
        ("/Users/ana/.codex/worktrees/3f2a/api/src", "api"),
        ("C:\\Users\\ana\\.codex\\worktrees\\3f2a\\api", "api"),
        ("/nfs/people/ana/.codex/worktrees/3f2a/api", "api"),
        ("/home/ana/.cursor/worktrees/api/hvm", "api"),
        ("/home/ana/.cursor/worktrees/api/hvm/src/x", "api"),
        ("/nfs/people/ana/.cursor/worktrees/api/hvm", "api"),
        ("c:\\Users\\ana\\.cursor\\worktrees\\api\\hvm", "api"),
        ("/home/ana/.grok/worktrees/api/subagent-019f8476", "api"),
        ("~/.grok/worktrees/api/fix", "api"),
        ("/home/ana/.grok/worktrees/fix", "fix"),
        ("/home/ana/.worktrees/api/fix", "api"),
        # a home that is itself a repository is no project, nor are its worktrees
        ("/home/ana/.claude/worktrees/dotfiles-fix", ""),
        ("/home/ana/.codex/worktrees/3f2a", ""),
        ("/home/ana/.cursor/worktrees", ""),
        # folders that only look like it
        ("/home/ana/src/worktrees/api", "api"),
        ("/home/ana/src/api/.claude", ".claude"),
        ("/home/ana/src/api/.claude/commands", "commands"),
        ("/home/ana/src/claude/worktrees/fix", "fix"),
        ("/home/ana/.codex/sessions", "sessions"),
    ],
)
def test_the_project_of_a_path(cwd: str, project: str) -> None:
    assert project_of(cwd) == project


@given(st.text(st.sampled_from("abU~ .\\/:?$-") | st.characters(), max_size=40))
def test_any_path_has_at_most_one_segment_as_its_project(cwd: str) -> None:
    assert "/" not in project_of(cwd)
    assert project_of(cwd) not in (".", "..", "~")


@given(REPOSITORY, NAME, st.sampled_from([".claude/worktrees", ".worktrees"]))
def test_a_worktree_inside_a_repository_belongs_to_it(repository: str, name: str, folder: str) -> None:
    assert project_of(f"{repository}/{folder}/{name}") == project_of(repository)


@given(REPOSITORY, st.text("/", max_size=3))
def test_trailing_slashes_change_nothing(path: str, slashes: str) -> None:
    assert project_of(path + slashes) == project_of(path)


@given(st.lists(NAME, max_size=5))
def test_slashes_and_backslashes_of_windows_are_one(names: list[str]) -> None:
    assert project_of("C:\\" + "\\".join(names)) == project_of("C:/" + "/".join(names))


@given(NAME, NAME, st.sampled_from(["/home/ana", "/Users/ana", "/root", "C:/Users/ana", "/mnt/c/Users/ana", "~"]))
def test_the_worktrees_of_a_home_belong_to_the_repository_they_name(repository: str, name: str, home: str) -> None:
    assert project_of(f"{home}/.codex/worktrees/{name}/{repository}") == repository
    assert project_of(f"{home}/.cursor/worktrees/{repository}/{name}") == repository
    assert project_of(f"{home}/.grok/worktrees/{repository}/{name}") == repository
