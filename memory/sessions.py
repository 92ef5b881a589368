"""Sessions: what their visible events add up to, kept up with every append and rebuilt where events move or hide."""

from collections.abc import Collection, Iterable, Mapping

from memory import sql
from memory.batch import PlacedTitle, PreparedEvent
from memory.forgetting import covered
from memory.models import RawFile, Session, SessionTitle
from memory.parsed import ParsedEvent, event_id
from memory.projects import project_of
from memory.secrets import mask
from memory.text import cjk_bigrams, cut, one_line

PROMPT_LIMIT = 300
PROMPT_READ = 2_000
TITLE_LIMIT = 200
TITLE_READ = 8_000
SHOWN_PROMPT = 100

# Definitions, session title: the first of these that a session has names it.
TITLE_ORDER = ("custom", "agent-name", "ai", "summary")

KEYS = "SELECT session_id, id, parent FROM session WHERE session_id IN ({marks})"
CHILDREN = "SELECT session_id FROM session WHERE parent IN ({marks})"
COUNTED = (
    *("events", "messages", "tool_calls", "first_at", "last_at", "head_at", "head_ordinal", "cwd", "branch"),
    *("project", "prompt_at", "prompt_ordinal", "first_prompt", "grams"),
)
SAVE = f"UPDATE session SET {', '.join(f'{column} = ?' for column in COUNTED)} WHERE id = ?"
COUNTS = """
    SELECT count(*), coalesce(sum(kind = 'message'), 0), coalesce(sum(kind = 'tool_call'), 0),
        coalesce(min(at), ''), coalesce(max(at), '')
    FROM visible_event WHERE session_id = ?"""
HEAD = """
    SELECT e.at, e.ordinal, c.cwd, c.branch FROM visible_event e JOIN event_context c ON c.id = e.context_id
    WHERE e.session_id = ? AND c.cwd <> '' ORDER BY e.at, e.ordinal, c.cwd, c.branch LIMIT 1"""
PROMPT = f"""
    SELECT e.at, e.ordinal, substr(e.text, 1, {PROMPT_READ}) FROM visible_event e
    WHERE e.session_id = ? AND e.kind = 'message' AND e.role = 'user' AND (? OR NOT e.sub_agent)
    ORDER BY e.at, e.ordinal, e.text LIMIT 1"""
# A title found through its leaf counts only while that record is visible: invariant 2.
TITLES = """
    SELECT t.kind, t.text, t.at, r.logical_path, r.generation, t.line
    FROM session_title t JOIN raw_file r ON r.id = t.raw_file_id
    WHERE t.session_id = ?
    UNION
    SELECT t.kind, t.text, t.at, r.logical_path, r.generation, t.line
    FROM session_title t JOIN raw_file r ON r.id = t.raw_file_id
    WHERE t.leaf <> '' AND EXISTS (
        SELECT 1 FROM visible_event e WHERE e.session_id = ?
        AND (e.event_id = t.leaf OR (e.event_id > t.leaf || '#' AND e.event_id < t.leaf || '$')))"""
# Of a session with a message that was forgotten as private or secret no title says anything.
SILENT = """
    SELECT DISTINCT e.session_id FROM tombstone t CROSS JOIN excluded_event x ON x.tombstone = t.tombstone_id
    CROSS JOIN event e ON e.event_id = x.event_id
    WHERE t.live AND t.code IN ('private', 'secret') AND e.kind = 'message'"""
# A title may come before the first event of its session.
UNTITLED = """
    SELECT s.id FROM session s WHERE s.title = '' AND s.id IN ({marks})
    AND EXISTS (SELECT 1 FROM session_title t WHERE t.session_id = s.session_id)"""
TITLED = "SELECT id, session_id, title, first_prompt FROM session WHERE id IN ({marks})"
RETITLE = "UPDATE session SET title = ?, grams = ? WHERE id = ?"
LEAF_OWNERS = """
    SELECT DISTINCT session_id FROM visible_event WHERE event_id = ? OR (event_id > ? || '#' AND event_id < ? || '$')"""
TITLED_LEAVES = "SELECT DISTINCT leaf FROM session_title WHERE leaf IN ({marks})"


def family(names: Iterable[str]) -> set[str]:
    """Return sessions by their ids, and those of their sub-agents, and of theirs."""
    found = set(names)
    fresh = found
    while fresh := {str(name) for (name,) in sql.rows_in(CHILDREN, sorted(fresh))} - found:
        found = found | fresh
    return found


def ensure(source: str, wanted: Mapping[str, str]) -> dict[str, int]:
    """Return the keys of sessions, making rows for those met for the first time.

    `wanted` maps session ids to the id of their parent, or to the empty string.
    """
    held = _held(wanted)
    if missing := wanted.keys() - held:
        rows = [Session(session_id=name, source=source, parent=wanted[name]) for name in missing]
        Session.objects.bulk_create(rows, ignore_conflicts=True)
        held = _held(wanted)
    for name, (key, parent) in held.items():
        if wanted[name] and not parent:
            Session.objects.filter(id=key).update(parent=wanted[name])
            rebuild([key])
    return {name: key for name, (key, _) in held.items()}


def _held(names: Collection[str]) -> dict[str, tuple[int, str]]:
    return {str(name): (int(key), str(parent)) for name, key, parent in sql.rows_in(KEYS, list(names))}


def add(events: Mapping[int, list[PreparedEvent]]) -> None:
    """Add new visible events to their sessions, given by the sessions' keys."""
    for session in Session.objects.filter(id__in=events):
        new = events[session.pk]
        _count(session, new)
        _find_head(session, new)
        _find_prompt(session, new)
        _save(session)


def _count(session: Session, new: list[PreparedEvent]) -> None:
    session.events += len(new)
    session.messages += sum(prepared.event.kind == "message" for prepared in new)
    session.tool_calls += sum(prepared.event.kind == "tool_call" for prepared in new)
    first, last = min(prepared.at for prepared in new), max(prepared.at for prepared in new)
    session.first_at = min(session.first_at or first, first)
    session.last_at = max(session.last_at, last)


def _find_head(session: Session, new: list[PreparedEvent]) -> None:
    placed = [(p.at, p.ordinal, p.event.cwd, p.event.branch) for p in new if p.event.cwd]
    if session.cwd:
        placed.append((session.head_at, session.head_ordinal, session.cwd, session.branch))
    if placed and min(placed) != (session.head_at, session.head_ordinal, session.cwd, session.branch):
        _set_head(session, *min(placed))


def _find_prompt(session: Session, new: list[PreparedEvent]) -> None:
    prompts = [(p.at, p.ordinal, p.text[:PROMPT_READ]) for p in new if _is_prompt(session, p.event)]
    if not prompts:
        return
    at, ordinal, text = min(prompts)
    held = (session.prompt_at, session.prompt_ordinal, session.first_prompt)
    if not session.first_prompt or (at, ordinal, one_line(text, PROMPT_LIMIT)) < held:
        _set_prompt(session, at, ordinal, text)


def _is_prompt(session: Session, event: ParsedEvent) -> bool:
    """True for the person's own words, or in a sub-agent's session for what it was asked."""
    return event.kind == "message" and event.role == "user" and (bool(session.parent) or not event.sub_agent)


def _save(session: Session) -> None:
    sql.execute(SAVE, [*(getattr(session, column) for column in COUNTED), session.pk])


def _set_head(session: Session, at: str, ordinal: int, cwd: str, branch: str) -> None:
    session.head_at, session.head_ordinal, session.cwd, session.branch = at, ordinal, cwd, branch
    session.project = project_of(cwd)


def _set_prompt(session: Session, at: str, ordinal: int, text: str) -> None:
    session.prompt_at, session.prompt_ordinal, session.first_prompt = at, ordinal, one_line(text, PROMPT_LIMIT)
    session.grams = _grams(session)


def _grams(session: Session) -> str:
    return cjk_bigrams(f"{session.title}\n{session.first_prompt}")


def session_title(title: str, first_prompt: str) -> str:
    """Return what a session is called: the title it was given, else the person's first real words."""
    return title or one_line(first_prompt, SHOWN_PROMPT)


def rebuild(keys: Collection[int]) -> None:
    """Work sessions out again from their visible events."""
    for session in Session.objects.filter(id__in=keys):
        counts = sql.rows(COUNTS, (session.pk,))[0]
        session.events, session.messages, session.tool_calls, session.first_at, session.last_at = counts
        _set_head(session, *(sql.rows(HEAD, (session.pk,)) or [("", 0, "", "")])[0])
        prompt = (sql.rows(PROMPT, (session.pk, bool(session.parent))) or [("", 0, "")])[0]
        _set_prompt(session, *prompt)
        _save(session)


def rebuild_all() -> None:
    """Work every session out again, and its title."""
    keys = set(Session.objects.values_list("id", flat=True))
    rebuild(keys)
    retitle(keys)


def write_titles(file: RawFile, titles: Iterable[PlacedTitle]) -> None:
    """Keep the titles that lines of a file gave."""
    SessionTitle.objects.bulk_create(
        [
            SessionTitle(
                raw_file=file,
                line=placed.line,
                kind=placed.title.kind,
                text=one_line(mask(cut(placed.title.text, TITLE_READ)), TITLE_LIMIT),
                session_id=event_id(file.source, placed.title.session) if placed.title.session else "",
                leaf=placed.title.leaf,
                at=placed.at,
            )
            for placed in titles
        ],
        ignore_conflicts=True,
    )


def owning(titles: Iterable[PlacedTitle], source: str) -> set[int]:
    """Return the keys of the sessions that titles are for, as far as they have arrived."""
    titles = list(titles)
    names = {event_id(source, placed.title.session) for placed in titles if placed.title.session}
    keys = set(Session.objects.filter(session_id__in=names).values_list("id", flat=True)) if names else set()
    for leaf in {placed.title.leaf for placed in titles if placed.title.leaf}:
        keys |= {int(key) for (key,) in sql.rows(LEAF_OWNERS, (leaf, leaf, leaf))}
    return keys


def untitled(keys: Collection[int]) -> set[int]:
    """Return those of the sessions that have no title yet although a line gave them one."""
    return {int(key) for (key,) in sql.rows_in(UNTITLED, list(keys))}


def titled_by(event_ids: Iterable[str]) -> set[int]:
    """Return the sessions of new events that an earlier summary named as its leaf."""
    records = {name.partition("#")[0] for name in event_ids}
    keys: set[int] = set()
    for (leaf,) in sql.rows_in(TITLED_LEAVES, list(records)):
        keys |= {int(key) for (key,) in sql.rows(LEAF_OWNERS, (leaf, leaf, leaf))}
    return keys


def retitle(keys: Collection[int]) -> None:
    """Work out the titles that agents gave sessions: the best kind, and of one kind the last.

    One that may tell what was forgotten is none (spec 3, rule 4).
    """
    held = sql.rows_in(TITLED, list(keys))
    given = {key: _given_title(name, key) for key, name, _, _ in held}
    forgets = any(given.values()) and covered.any_live()
    told = covered.texts() if forgets else ()
    silent = {key for (key,) in sql.rows(SILENT)} if forgets else set()
    for key, _, title, prompt in held:
        shown = "" if key in silent or covered.is_covered(given[key], told) else given[key]
        if shown != title:
            sql.execute(RETITLE, (shown, cjk_bigrams(f"{shown}\n{prompt}"), key))


def _given_title(session_id: str, key: int) -> str:
    found = sql.rows(TITLES, (session_id, key))
    best = min(found, key=lambda row: TITLE_ORDER.index(str(row[0])), default=None)
    same_kind = [row for row in found if best and row[0] == best[0]]
    return str(max(same_kind, key=lambda row: row[2:])[1]) if same_kind else ""
