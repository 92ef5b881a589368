"""The brief for an agent that begins a session: what is known of the person and the project, and what was done last."""

from memory import timeline
from memory.entries import reading
from memory.entries.filters import EntryFilters
from memory.filters import Filters
from memory.label import LABEL
from memory.scope import Scope
from memory.secrets import mask
from memory.text import one_line, token_estimate

_ENTRIES, _SESSIONS = 100, 5
_LINE = 400


def brief(project: str, scope: Scope, max_tokens: int) -> str:
    """Return accepted cognition and knowledge and the last sessions' titles, within `max_tokens`, or nothing.

    It says no time that passes by itself: the same store gives the same bytes, which an agent's prompt cache needs.
    """
    lines = [
        *(f"- {one_line(mask(text), _LINE)}" for text in _texts("cognition", "", scope)),
        *(f"- {one_line(mask(text), _LINE)}" for text in _texts("knowledge", project, scope)),
        *(f"- session: {one_line(mask(title), _LINE)}" for title in _titles(project, scope)),
    ]
    head = f"{LABEL}: what Origin holds of the person and {project or 'all projects'}"
    return _within(head, lines, max_tokens)


def _texts(kind: str, project: str, scope: Scope) -> list[str]:
    views, _ = reading.listed(scope, EntryFilters(kind=kind, project=project), limit=_ENTRIES)
    return [view.entry.text for view in views]


def _titles(project: str, scope: Scope) -> list[str]:
    before = (timeline.LAST, timeline.LAST)
    found = timeline.sessions(scope, Filters(project=project), limit=_SESSIONS, before=before)
    return [f"{line.last_at[:10]} {line.title}" for line in found if line.title]


def _within(head: str, lines: list[str], max_tokens: int) -> str:
    taken = [head]
    for line in lines:
        if token_estimate("\n".join([*taken, line]) + "\n") <= max_tokens:
            taken.append(line)
    text = "\n".join(taken) + "\n"
    return text if len(taken) > 1 and token_estimate(text) <= max_tokens else ""
