"""From an event down to the bytes it came from: every place it stands in, and the exact line there (invariant 1)."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from memory import mirror, sql
from memory.batch import TEXT_LIMITS
from memory.errors import MalformedLine, NotFound, OriginError
from memory.forgetting import covered
from memory.json_line import load_object
from memory.scope import Scope
from memory.secrets import MASK, mask
from memory.sessions import session_title
from memory.text import cut

EVENT = """
    SELECT e.id, e.event_id, e.at, e.inferred, e.kind, e.role, e.sub_agent, e.tool, e.text,
        c.cwd, c.branch, c.model, c.agent_version, s.source, s.project, s.session_id, s.title, s.first_prompt, e.owner
    FROM visible_event e
    JOIN event_context c ON c.id = e.context_id
    JOIN visible_session s ON s.id = e.session_id
    WHERE e.event_id = ? AND {condition}"""
FILES = "SELECT path FROM event_file WHERE event = ? ORDER BY path"
# The owner place first, then the others in the order that owning goes by.
PLACES = """
    SELECT r.id, r.origin_path, r.mirror_path, r.generation, p.line, s.project, p.place = ? AS owns FROM (
        SELECT raw_file_id, line, home, 0 AS place, CASE WHEN owner IS NULL THEN session_id END AS session
        FROM event WHERE id = ?
        UNION ALL SELECT raw_file_id, line, home, id, session_id FROM event_place WHERE event = ?) p
    JOIN raw_file r ON r.id = p.raw_file_id
    LEFT JOIN session s ON s.id = p.session
    ORDER BY NOT owns, NOT p.home, r.logical_path, r.generation, p.line"""
# Invariant 2: a line is withheld as a whole where any event on it is excluded.
WITHHELD = """
    SELECT 1 FROM excluded_event x JOIN event e ON e.event_id = x.event_id
    WHERE (e.raw_file_id = ? AND e.line = ?)
        OR EXISTS (SELECT 1 FROM event_place p WHERE p.event = e.id AND p.raw_file_id = ? AND p.line = ?)
    LIMIT 1"""
# Two records that ran together on one line may be of two sessions.
ELSEWHERE = """
    SELECT 1 FROM event e JOIN session s ON s.id = e.session_id
    WHERE e.raw_file_id = ? AND e.line = ? AND NOT ({condition}) LIMIT 1"""
LINES = "SELECT lines FROM raw_file WHERE id = ?"
MIRROR_PATH = "SELECT mirror_path FROM raw_file WHERE id = ?"
# The frame in which a line begins, and those after it, for a line that later appends continued.
FRAMES = """
    SELECT first_line, stored_offset, stored_length, sha256 FROM raw_frame
    WHERE raw_file_id = ? AND first_line + lines >= ? AND first_line <= ? ORDER BY raw_offset"""


@dataclass(frozen=True)
class EventDetail:
    """One event whole, as far as its text is kept; the mirror has the rest."""

    key: int
    event_id: str
    at: str
    inferred: bool
    kind: str
    role: str
    sub_agent: bool
    tool: str
    text: str
    cwd: str
    branch: str
    model: str
    agent_version: str
    source: str
    project: str
    session: str
    title: str
    owner: int
    files: tuple[str, ...]

    @property
    def is_cut(self) -> bool:
        """True where the text reaches the length at which it is cut."""
        return len(self.text) >= TEXT_LIMITS[self.kind]


@dataclass(frozen=True)
class Place:
    """One line an event stands in: the agent's file, our mirror of it, and the line's number from 1."""

    raw_file: int
    path: str
    mirror: str
    generation: int
    line: int


def event(event_id: str, scope: Scope) -> EventDetail:
    """Return one visible event. Raises `NotFound`."""
    condition, values = scope.condition("s.project")
    found = sql.rows(EVENT.format(condition=condition), (event_id, *values))
    if not found:
        raise NotFound(f"No event {cut(event_id, 200)} is held.")
    key, name, at, inferred, kind, role, sub_agent, tool, text, *rest = found[0]
    cwd, branch, model, agent_version, source, project, session, title, prompt, owner = map(str, rest)
    return EventDetail(
        key=int(key),
        event_id=str(name),
        at=str(at),
        inferred=bool(inferred),
        kind=str(kind),
        role=str(role),
        sub_agent=bool(sub_agent),
        tool=str(tool),
        text=str(text),
        cwd=cwd,
        branch=branch,
        model=model,
        agent_version=agent_version,
        source=source,
        project=project,
        session=session,
        title=session_title(title, prompt),
        owner=int(owner) if owner != "None" else 0,
        files=tuple(str(path) for (path,) in sql.rows(FILES, (int(key),))),
    )


def places(detail: EventDetail, scope: Scope) -> list[Place]:
    """Return every line in scope that an event stands in, the one that places it in its session first."""
    found = sql.rows(PLACES, (detail.owner, detail.key, detail.key))
    return [Place(*place) for *place, project, owns in found if owns or scope.holds(project)]


def withheld(place: Place, scope: Scope) -> bool:
    """True where a line holds forgotten content, or another project's, so that none of it may be shown.

    Forgotten content is an excluded event of the line, or its text anywhere in it: sibling blocks, what a tool gave
    back and replayed histories hold copies (spec 3, rule 4).
    """
    if sql.rows(WITHHELD, (place.raw_file, place.line) * 2):
        return True
    if covered.any_live() and covered.holds_covered(read_line(place.raw_file, place.line)):
        return True
    if not scope.projects:
        return False
    condition, values = scope.condition("s.project")
    return bool(sql.rows(ELSEWHERE.format(condition=condition), (place.raw_file, place.line, *values)))


def read_line(raw_file: int, line: int) -> bytes:
    """Return the exact bytes of a line as the agent wrote them, without its newline.

    `line` counts from 1. Every frame read is checked against its SHA-256. Raises `NotFound` for a line that is not
    there and `OriginError` where the mirror is damaged.
    """
    number, pieces = 0, []
    for first_line, data in _frames_holding(raw_file, line):
        parts = data.split(b"\n")
        index = line - first_line
        pieces.append(parts[index])
        number = line
        if index < len(parts) - 1:
            break
    if not number:
        raise NotFound(f"The mirror has no line {line}.")
    return b"".join(pieces)


def last_line(raw_file: int) -> bytes:
    """Return the last complete line that was ingested of a raw file, or nothing where there is none."""
    lines = int(sql.rows(LINES, (raw_file,))[0][0])
    return read_line(raw_file, lines) if lines else b""


def masked_line(data: bytes) -> str:
    """Return a raw line to show, secrets masked; one that JSON escapes hide is masked in the record written anew."""
    text = mask(data.decode("utf-8", "replace"))
    try:
        record = msgspec.json.encode(_mask_strings(load_object(data))).decode()
    except (MalformedLine, RecursionError):
        return text
    return text if text.count(MASK) >= record.count(MASK) else record


def _mask_strings(value: object) -> object:
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, list):
        return [_mask_strings(item) for item in value]
    if isinstance(value, dict):
        return {mask(key): _mask_strings(item) for key, item in value.items()}
    return value


def _frames_holding(raw_file: int, line: int) -> Iterator[tuple[int, bytes]]:
    path = mirror.path_of(str(sql.rows(MIRROR_PATH, (raw_file,))[0][0]))
    for first_line, offset, length, digest in sql.rows(FRAMES, (raw_file, line, line)):
        data = mirror.read_frame(path, int(offset), int(length))
        if hashlib.sha256(data).digest() != digest:
            raise OriginError(f"The mirror {path} is damaged: what it holds at byte {offset} is not what was archived.")
        yield int(first_line), data
