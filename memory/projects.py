"""Which project a session belongs to: rules on the path it began in, and nothing that only one machine could know."""

import re

_DRIVE = re.compile(r"[A-Za-z]:")
_WSL_SHARES = ("wsl$", "wsl.localhost")
_MOUNTS = ("mnt", "cygdrive")
_DRIVE_ROOT = ":"  # stands for any drive: no segment of a POSIX path is taken for one of Windows
_HOMES = (("home",), ("Users",), ("var", "home"), ("usr", "home"), ("export", "home"), (_DRIVE_ROOT, "Users"))

# Where worktrees lie (spec 2, Identity): within their repository, or those of all repositories together in a home.
_ANY = ".worktrees"  # <repository>/.worktrees/<name>
_INSIDE = ".claude"  # <repository>/.claude/worktrees/<name>
_BY_ID = ".codex"  # ~/.codex/worktrees/<id>/<repository>
_BY_REPOSITORY = (".cursor", ".grok")  # ~/.cursor/worktrees/<repository>/<id>
_AGENTS = (_INSIDE, _BY_ID, *_BY_REPOSITORY)


def project_of(cwd: str) -> str:
    """Return the name of the project that the folder `cwd` belongs to, or `""` for none (definitions: project).

    A worktree belongs to its repository; any other folder is named by its last segment. A root, a drive and a home are
    no project. POSIX, Windows, UNC, WSL and Git Bash paths are read alike on every system; case is kept.
    """
    segments = _segments(cwd)
    at = _worktrees_at(segments)
    return _named(segments) if at < 0 else _repository(segments, at)


def _repository(segments: list[str], at: int) -> str:
    """Return the repository whose worktree lies below the folder that starts at `at`."""
    owner, folder = _named(segments[:at]), segments[at]
    below = segments[at + 1 :] if folder == _ANY else segments[at + 2 :]
    if folder == _BY_ID and len(below) > 1:
        return below[1]
    if folder in _BY_REPOSITORY and len(below) > 1:
        return below[0]
    if owner or folder in (_INSIDE, _BY_ID):
        return owner
    return below[0] if below else ""


def _worktrees_at(segments: list[str]) -> int:
    # The first one: a worktree made within a worktree still belongs to the outermost repository.
    for at, segment in enumerate(segments):
        if segment == _ANY or (segment in _AGENTS and segments[at + 1 : at + 2] == ["worktrees"]):
            return at
    return -1


def _named(segments: list[str]) -> str:
    return "" if not segments or _is_home(segments) else segments[-1]


def _is_home(segments: list[str]) -> bool:
    """Say whether this is somebody's home, the folder of all homes, or a drive."""
    path, parent = tuple(segments), tuple(segments[:-1])
    return path in (("~",), ("root",), (_DRIVE_ROOT,)) or path in _HOMES or parent in _HOMES


def _segments(cwd: str) -> list[str]:
    """Return the path's segments below its root: without server or WSL distribution, every drive as `_DRIVE_ROOT`."""
    windows = not cwd.startswith("/") and ("\\" in cwd or _DRIVE.match(cwd) is not None)
    path = cwd.replace("\\", "/") if windows else cwd
    segments = _resolved(path)
    if path.startswith("//"):
        segments = _below_share(segments)
    return _with_drive(segments)


def _with_drive(segments: list[str]) -> list[str]:
    first, second = (*segments[:2], "", "")[:2]
    if first in _MOUNTS and len(second) == 1:
        below = segments[2:]
    elif _DRIVE.fullmatch(first) or (len(first) == 1 and second == "Users"):
        below = segments[1:]
    else:
        return segments
    if below and below[0].lower() == "users":
        below[0] = "Users"
    return [_DRIVE_ROOT, *below]


def _resolved(path: str) -> list[str]:
    segments: list[str] = []
    for segment in path.split("/"):
        if segment == "..":
            del segments[-1:]
        elif segment not in ("", "."):
            segments.append(segment)
    return segments


def _below_share(segments: list[str]) -> list[str]:
    if segments[:1] == ["?"] and segments[1:2] != ["UNC"]:
        return segments[1:]
    share = segments[2:] if segments[:1] == ["?"] else segments
    return share[2:] if share and share[0].lower() in _WSL_SHARES else share[1:]
