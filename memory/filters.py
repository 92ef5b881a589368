"""The filters that search and timeline share, as one SQL condition over events `e` and sessions `s`."""

from dataclasses import dataclass

from memory import aliases
from memory.scope import Scope
from memory.sql import Value, narrowed

TOUCHES = """s.id IN (
    SELECT t.session_id FROM event_file f JOIN visible_event t ON t.id = f.event
    WHERE instr(lower(f.path), lower(?)))"""


@dataclass(frozen=True)
class Filters:
    """Empty is no filter. `since` and `until` are UTC text, a half-open range; `session` is a session id.

    `tool` is a tool's name, `file` a part of a path that some tool call of the session names.
    """

    project: str = ""
    source: str = ""
    session: str = ""
    since: str = ""
    until: str = ""
    file: str = ""
    tool: str = ""

    def on_events(self, scope: Scope) -> tuple[str, list[Value]]:
        """Return the condition that an event and its session pass, scope included, and its values."""
        tests = (("e.at >= ?", self.since), ("e.at < ?", self.until), ("e.tool = ? COLLATE NOCASE", self.tool))
        condition, values = self._on_session(scope)
        return narrowed([condition], values, tests)

    def on_sessions(self, scope: Scope) -> tuple[str, list[Value]]:
        """Return the condition that a session passes which overlaps the time range, and its values."""
        condition, values = self._on_session(scope)
        return narrowed([condition], values, (("s.last_at >= ?", self.since), ("s.first_at < ?", self.until)))

    def _on_session(self, scope: Scope) -> tuple[str, list[Value]]:
        scoped, values = scope.condition("s.project")
        named, names = aliases.condition("s.project", [self.project] if self.project else [])
        tests = (("s.source = ?", self.source), ("s.session_id = ?", self.session), (TOUCHES, self.file))
        return narrowed([scoped, named], [*values, *names], tests)
