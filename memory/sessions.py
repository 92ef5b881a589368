"""Sessions: what their visible events add up to, kept up with every append and rebuilt where events move or hide."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from memory import sql
from memory.batch import PlacedTitle
from memory.models import RawFile, Session, SessionTitle
from memory.parsed import event_id
from memory.projects import project_of
from memory.text import cjk_bigrams, one_line

PROMPT_LIMIT = 300
TITLE_LIMIT = 200
SHOWN_PROMPT = 100

# Definitions, session title: the first of these that a session has names it.
TITLE_ORDER = ("custom", "agent-name", "ai", "summary")

COUNTS = """
    SELECT count(*), coalesce(sum(kind = 'message'), 0), coalesce(sum(kind = 'tool_call'), 0),
        coalesce(min(at), ''), coalesce(max(at), '')
    FROM visible_event WHERE session_id = ?"""
HEAD = """
    SELECT e.at, e.ordinal, c.cwd, c.branch FROM visible_event e JOIN event_context c ON c.id = e.context_id
    WHERE e.session_id = ? AND c.cwd <> '' ORDER BY e.at, e.ordinal, c.cwd, c.branch LIMIT 1"""
PROMPT = """
    SELECT e.at, e.ordinal, substr(e.text, 1, 2000) FROM visible_event e
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
LEAF_OWNERS = """
    SELECT DISTINCT session_id FROM visible_event WHERE event_id = ? OR (event_id > ? || '#' AND event_id < ? || '$')"""
TITLED_LEAVES = "SELECT DISTINCT leaf FROM session_title WHERE leaf IN ({marks})"


class EventFacts(NamedTuple):
    """What a session learns from one new visible event."""

    session: int
    at: str
    ordinal: int
    kind: str
    role: str
    sub_agent: bool
    cwd: str
    branch: str
    text: str


def ensure(source: str, wanted: Mapping[str, str]) -> dict[str, int]:
    """Return the keys of sessions, making rows for those met for the first time.

    `wanted` maps session ids to the id of their parent, or to the empty string.
    """
    rows = [Session(session_id=name, source=source, parent=parent) for name, parent in wanted.items()]
    Session.objects.bulk_create(rows, ignore_conflicts=True)
    keys = dict(Session.objects.filter(session_id__in=wanted).values_list("session_id", "id"))
    for name, parent in wanted.items():
        if parent and Session.objects.filter(session_id=name, parent="").update(parent=parent):
            rebuild([keys[name]])
    return keys


def add(facts: Iterable[EventFacts]) -> None:
    """Add new visible events to their sessions."""
    by_session: dict[int, list[EventFacts]] = defaultdict(list)
    for fact in facts:
        by_session[fact.session].append(fact)
    for session in Session.objects.filter(id__in=by_session):
        _count(session, by_session[session.pk])
        _find_head(session, by_session[session.pk])
        _find_prompt(session, by_session[session.pk])
        session.save()


def _count(session: Session, facts: list[EventFacts]) -> None:
    session.events += len(facts)
    session.messages += sum(fact.kind == "message" for fact in facts)
    session.tool_calls += sum(fact.kind == "tool_call" for fact in facts)
    first, last = min(fact.at for fact in facts), max(fact.at for fact in facts)
    session.first_at = min(session.first_at or first, first)
    session.last_at = max(session.last_at, last)


def _find_head(session: Session, facts: list[EventFacts]) -> None:
    placed = [(fact.at, fact.ordinal, fact.cwd, fact.branch) for fact in facts if fact.cwd]
    if session.cwd:
        placed.append((session.head_at, session.head_ordinal, session.cwd, session.branch))
    if placed:
        _set_head(session, *min(placed))


def _set_head(session: Session, at: str, ordinal: int, cwd: str, branch: str) -> None:
    session.head_at, session.head_ordinal, session.cwd, session.branch = at, ordinal, cwd, branch
    session.project = project_of(cwd)


def _find_prompt(session: Session, facts: list[EventFacts]) -> None:
    prompts = [
        (fact.at, fact.ordinal, one_line(fact.text[:2000], PROMPT_LIMIT))
        for fact in facts
        if fact.kind == "message" and fact.role == "user" and (session.parent or not fact.sub_agent)
    ]
    if session.first_prompt:
        prompts.append((session.prompt_at, session.prompt_ordinal, session.first_prompt))
    if prompts:
        _set_prompt(session, *min(prompts))


def _set_prompt(session: Session, at: str, ordinal: int, text: str) -> None:
    session.prompt_at, session.prompt_ordinal, session.first_prompt = at, ordinal, text
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
        _set_prompt(session, prompt[0], prompt[1], one_line(prompt[2], PROMPT_LIMIT))
        session.save()


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
                text=one_line(placed.title.text, TITLE_LIMIT),
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


def titled_by(event_ids: Iterable[str]) -> set[int]:
    """Return the sessions of new events that an earlier summary named as its leaf."""
    records = {name.partition("#")[0] for name in event_ids}
    keys: set[int] = set()
    for (leaf,) in sql.rows_in(TITLED_LEAVES, list(records)):
        keys |= {int(key) for (key,) in sql.rows(LEAF_OWNERS, (leaf, leaf, leaf))}
    return keys


def retitle(keys: Collection[int]) -> None:
    """Work out the titles that agents gave sessions: the best kind, and of one kind the last."""
    for session in Session.objects.filter(id__in=keys):
        found = sql.rows(TITLES, (session.session_id, session.pk))
        best = min(found, key=lambda row: TITLE_ORDER.index(str(row[0])), default=None)
        same_kind = [row for row in found if best and row[0] == best[0]]
        session.title = str(max(same_kind, key=lambda row: row[2:])[1]) if same_kind else ""
        session.grams = _grams(session)
        session.save(update_fields=["title", "grams"])
