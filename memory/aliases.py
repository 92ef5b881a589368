"""Names that the owner gave to projects: one project may have several, applied wherever a project is read."""

from collections.abc import Sequence

from memory import sql
from memory.held import held

# Of several aliases of one name the latest record counts.
ALIASES = """
    SELECT a.name, a.target FROM project_alias a JOIN record r ON r.id = a.record_id
    ORDER BY r.hlc_ms, r.hlc_c, r.origin, r.oseq"""
MOVES = """
    SELECT (SELECT count(*) FROM visible_session WHERE project = ?1),
        (SELECT count(*) FROM visible_entry WHERE project = ?1)"""
PROJECTS = """
    SELECT project, sum(sessions), sum(entries) FROM (
        SELECT project, 1 AS sessions, 0 AS entries FROM visible_session WHERE project <> ''
        UNION ALL SELECT project, 0, 1 FROM visible_entry WHERE project <> '') GROUP BY project ORDER BY project"""


def shown(project: str) -> str:
    """Return the name that a project goes by."""
    return _resolved(project, _aliases())


def names_of(project: str) -> tuple[str, ...]:
    """Return every name under which things of a project may be held, what it goes by among them."""
    aliases = _aliases()
    if not aliases:
        return (project,)
    target = _resolved(project, aliases)
    return tuple(sorted({project, target, *(name for name in aliases if _resolved(name, aliases) == target)}))


def condition(column: str, projects: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return an SQL condition for any of some projects, by any of their names, and its values; none is all."""
    if not projects:
        return "1", ()
    names = tuple(name for project in projects for name in names_of(project))
    return f"{column} IN ({sql.marks(len(names))})", names


def plan_alias(name: str) -> tuple[int, int]:
    """Return how many sessions and entries would go by another name; changes nothing."""
    sessions, entries = sql.rows(MOVES, (name,))[0]
    return int(sessions), int(entries)


def projects() -> list[tuple[str, int, int]]:
    """Return every project by the name it goes by, with its sessions and entries."""
    aliases = _aliases()
    counts: dict[str, tuple[int, int]] = {}
    for name, sessions, entries in sql.rows(PROJECTS):
        resolved = _resolved(str(name), aliases)
        held = counts.get(resolved, (0, 0))
        counts[resolved] = (held[0] + int(sessions), held[1] + int(entries))
    return [(name, *held) for name, held in sorted(counts.items())]


def _aliases() -> dict[str, str]:
    return held("aliases", _read_aliases)


def _read_aliases() -> dict[str, str]:
    return {str(name): str(target) for name, target in sql.rows(ALIASES)}


def _resolved(project: str, aliases: dict[str, str]) -> str:
    """Follow aliases of aliases; names that lead in a circle all go by the first of them in order."""
    seen: list[str] = []
    while project in aliases and project not in seen:
        seen.append(project)
        project = aliases[project]
    return min(seen[seen.index(project) :]) if project in seen else project
