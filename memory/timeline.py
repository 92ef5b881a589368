"""Timeline: sessions by when they were, or one session's events in order."""

from dataclasses import dataclass

from memory import sql
from memory.errors import NotFound
from memory.filters import Filters
from memory.parsed import COMPACTION
from memory.scope import Scope
from memory.sessions import session_title
from memory.sql import Result
from memory.text import cut

FILES_SHOWN = 5

COLUMNS = """s.id, s.session_id, s.source, s.project, s.branch, s.title, s.first_prompt, s.first_at, s.last_at,
    s.messages, s.tool_calls, s.parent"""
# A sub-agent is folded into its parent, unless the parent is out of reach.
SESSIONS = f"""
    SELECT {COLUMNS} FROM visible_session s
    WHERE {{condition}} AND s.session_id NOT LIKE '%:memory/%'
        AND NOT EXISTS (SELECT 1 FROM visible_session p WHERE p.session_id = s.parent AND s.parent <> '' AND {{parent}})
        AND (s.last_at, s.session_id) < (?, ?)
    ORDER BY s.last_at DESC, s.session_id DESC LIMIT ?"""
SESSION = f"SELECT {COLUMNS} FROM visible_session s WHERE s.session_id = ? AND {{condition}}"
DIRECTORY = "SELECT s.cwd FROM visible_session s WHERE s.session_id = ? AND {condition}"
CHILDREN = """
    SELECT s.session_id FROM visible_session s WHERE s.parent = ? AND {condition} ORDER BY s.first_at, s.session_id"""
FILES = """
    SELECT f.path FROM event_file f JOIN visible_event e ON e.id = f.event
    WHERE e.session_id = ? GROUP BY f.path ORDER BY count(*) DESC, f.path LIMIT ?"""
EVENTS = f"""
    SELECT e.event_id, e.at, e.ordinal, e.kind, e.role, e.sub_agent, e.tool, e.text, c.model
    FROM visible_event e JOIN event_context c ON c.id = e.context_id
    WHERE e.session_id = ? AND (e.at, e.ordinal, e.event_id) > (?, ?, ?)
        AND (? = '' OR e.at >= ?) AND (? = '' OR e.at < ?)
        AND (e.kind = 'message' OR e.tool = '{COMPACTION}' OR (? AND e.kind IN ('tool_call', 'tool_result')))
    ORDER BY e.at, e.ordinal, e.event_id LIMIT ?"""

LAST = "\U0010ffff"


@dataclass(frozen=True)
class SessionLine:
    """One session in a list; `files` are the ones its tools named most, `sub_agents` the sessions folded into it."""

    key: int
    session_id: str
    source: str
    project: str
    branch: str
    title: str
    first_at: str
    last_at: str
    messages: int
    tool_calls: int
    parent: str
    sub_agents: tuple[str, ...]
    files: tuple[str, ...]


@dataclass(frozen=True)
class EventLine:
    """One event of a session in order; `model` only where it differs from the one before."""

    event_id: str
    at: str
    ordinal: int
    kind: str
    role: str
    sub_agent: bool
    tool: str
    text: str
    model: str


def sessions(
    scope: Scope, filters: Filters, *, limit: int, before: tuple[str, str] = (LAST, LAST)
) -> list[SessionLine]:
    """Return the sessions that overlap the filters' time range, the one last active first.

    `before` is the (last time, session id) after which a list goes on.
    """
    condition, values = filters.on_sessions(scope)
    parent, parent_values = scope.condition("p.project")
    query = SESSIONS.format(condition=condition, parent=parent)
    return [_line(row, scope) for row in sql.rows(query, [*values, *parent_values, *before, limit])]


def session(session_id: str, scope: Scope) -> SessionLine:
    """Return one session. Raises `NotFound`."""
    condition, values = scope.condition("s.project")
    found = sql.rows(SESSION.format(condition=condition), (session_id, *values))
    if not found:
        raise NotFound(f"No session {cut(session_id, 200)} is held.")
    return _line(found[0], scope)


def directory(session_id: str, scope: Scope) -> str:
    """Return the directory a session began in, or the empty string. Raises `NotFound`."""
    condition, values = scope.condition("s.project")
    found = sql.rows(DIRECTORY.format(condition=condition), (session_id, *values))
    if not found:
        raise NotFound(f"No session {cut(session_id, 200)} is held.")
    return str(found[0][0])


def _line(row: Result, scope: Scope) -> SessionLine:
    key, name, source, project, branch, title, prompt, first_at, last_at, messages, tool_calls, parent = row
    condition, values = scope.condition("s.project")
    children = sql.rows(CHILDREN.format(condition=condition), (name, *values))
    return SessionLine(
        key=int(key),
        session_id=str(name),
        source=str(source),
        project=str(project),
        branch=str(branch),
        title=session_title(str(title), str(prompt)),
        first_at=str(first_at),
        last_at=str(last_at),
        messages=int(messages),
        tool_calls=int(tool_calls),
        parent=str(parent),
        sub_agents=tuple(str(child) for (child,) in children),
        files=tuple(str(path) for (path,) in sql.rows(FILES, (key, FILES_SHOWN))),
    )


def events(
    line: SessionLine,
    filters: Filters,
    *,
    limit: int,
    tools: bool = False,
    after: tuple[str, int, str] = ("", -1, ""),
) -> list[EventLine]:
    """Return a session's messages and compactions in order, and its tool events when asked for.

    `after` is the (time, ordinal, event id) after which the list goes on.
    """
    times = (filters.since, filters.since, filters.until, filters.until)
    found: list[EventLine] = []
    model = ""
    for row in sql.rows(EVENTS, (line.key, *after, *times, tools, limit)):
        found.append(_event(row, model))
        model = found[-1].model or model
    return found


def _event(row: Result, model_before: str) -> EventLine:
    event_id, at, ordinal, kind, role, sub_agent, tool, text, model = row
    return EventLine(
        event_id=str(event_id),
        at=str(at),
        ordinal=int(ordinal),
        kind=str(kind),
        role=str(role),
        sub_agent=bool(sub_agent),
        tool=str(tool),
        text=str(text),
        model=str(model) if model != model_before else "",
    )
