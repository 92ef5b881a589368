"""What to say of a project or source that nobody has heard of: an empty answer that was a typing error is an error."""

from difflib import get_close_matches

from memory import aliases, sql
from memory.scope import Scope

SOURCES = "SELECT DISTINCT s.source FROM visible_session s WHERE {condition} ORDER BY 1"
PROJECTS = """
    SELECT s.project FROM visible_session s WHERE s.project <> '' AND {sessions}
    UNION SELECT e.project FROM visible_entry e WHERE e.project <> '' AND {entries}"""


def unknown(scope: Scope, *, project: str = "", source: str = "") -> str:
    """Return a sentence for a name that nothing in scope goes by, with those it may have been meant for; else nothing.

    A store that holds nothing yet knows no names, and says so.
    """
    condition, values = scope.condition("s.project")
    sources = [str(name) for (name,) in sql.rows(SOURCES.format(condition=condition), values)]
    if not sources:
        return "Nothing is archived yet; `sync` reads what the agents on this machine have."
    if source and source not in sources:
        return f"Nothing of {source!r} is held; there are {', '.join(sources)}."
    known = _projects(scope) if project else set()
    if project and not known & set(aliases.names_of(project)):
        near = get_close_matches(project, sorted(known), 3, 0.5)
        return f"No project is called {project!r}{'; there are ' + ', '.join(near) if near else ''}."
    return ""


def _projects(scope: Scope) -> set[str]:
    sessions, values = scope.condition("s.project")
    entries, others = scope.condition("e.project")
    return {str(name) for (name,) in sql.rows(PROJECTS.format(sessions=sessions, entries=entries), (*values, *others))}
