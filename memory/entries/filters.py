"""Which entries a reader wants, and the state each is in at the instant that is asked about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory import aliases, sql
from memory.entries import state
from memory.errors import InvalidInput
from memory.models import Entry
from memory.scope import Scope
from memory.sql import Value
from memory.times import now

TRUSTS = ("accepted", "proposed", "disputed", "rejected")
CITES = """EXISTS (
    SELECT 1 FROM entry_source c JOIN event v ON v.event_id = c.event_id JOIN session w ON w.id = v.session_id
    WHERE c.entry_id = e.id AND {test})"""


@dataclass(frozen=True)
class EntryFilters:
    """Empty is no filter. `since` and `until` are of when an entry was recorded, a half-open range of UTC text.

    `valid_at` asks what held at an instant, `known_at` what the store knew at one; without either an entry must hold
    now. `history` gives superseded and ended versions too. `trust` is accepted unless another is asked for; `source`
    and `session` are those of an event that is cited.
    """

    kind: str = ""
    project: str = ""
    source: str = ""
    session: str = ""
    since: str = ""
    until: str = ""
    history: bool = False
    trust: str = ""
    valid_at: str = ""
    known_at: str = ""

    def condition(self, scope: Scope) -> tuple[str, list[Value]]:
        """Return the condition on entries `e` that needs no knowledge of their past, scope included, and its values."""
        scoped, values = scope.condition("e.project")
        named, names = aliases.condition("e.project", [self.project] if self.project else [])
        return sql.narrowed([scoped, named], [*values, *names], self._tests())

    def _tests(self) -> Iterable[tuple[str, str]]:
        yield "e.kind = ?", self.kind
        yield "e.recorded_at >= ?", self.since
        yield "e.recorded_at < ?", self.until
        yield "e.recorded_at <= ?", self.known_at
        yield CITES.format(test="w.source = ?"), self.source
        yield CITES.format(test="w.session_id = ?"), self.session
        if not self.known_at:
            yield "e.trust = ?", self.wanted_trust

    @property
    def wanted_trust(self) -> str:
        """The trust that is asked for."""
        return self.trust or "accepted"

    @property
    def instant(self) -> str:
        """When an entry must hold."""
        return self.valid_at or self.known_at or now()

    def check(self, *, is_owner: bool) -> None:
        """Raise `InvalidInput` for a trust that does not exist, or that only the owner is shown."""
        if self.trust and (self.trust not in TRUSTS or (self.trust == "rejected" and not is_owner)):
            raise InvalidInput("trust", "trust is accepted, proposed or disputed.")


@dataclass(frozen=True)
class Seen:
    """A version as it is shown: its row, and its status and trust at the instant that was asked about."""

    entry: Entry
    status: str
    trust: str
    lost: bool
    ends_at: str


def seen(entries: Sequence[Entry], filters: EntryFilters) -> list[Seen]:
    """Return those of the versions that the filters want, in their order, each with its state.

    For the past all the records of their chains up to then are folded again; what is forgotten today is in no answer,
    whatever was known before (definitions: known_at).
    """
    if not filters.known_at:
        views = [_view(each, each.trust, each.superseded, each.lost, each.ends_at, filters) for each in entries]
    else:
        known = state.states_of({each.chain for each in entries}, filters.known_at)
        views = [
            _view(each, then.trust, then.superseded, then.lost, then.ends_at, filters)
            for each in entries
            if (then := known.get(each.entry_id))
        ]
    return [view for view in views if _is_wanted(view, filters)]


def now_seen(entry: Entry) -> Seen:
    """Return a version as it is now, whatever its state."""
    return _view(entry, entry.trust, entry.superseded, entry.lost, entry.ends_at, EntryFilters())


def _view(entry: Entry, trust: str, superseded: bool, lost: bool, ends_at: str, filters: EntryFilters) -> Seen:
    ended = bool(ends_at) and ends_at <= filters.instant
    status = "superseded" if superseded else "ended" if ended else "active"
    return Seen(entry, status, trust, lost, ends_at)


def _is_wanted(view: Seen, filters: EntryFilters) -> bool:
    if view.trust != filters.wanted_trust:
        return False
    if filters.valid_at and view.entry.valid_from > filters.valid_at:
        return False
    return filters.history or view.status == "active"


def in_order(keys: Sequence[int]) -> list[Entry]:
    """Return entries by their keys, in that order."""
    held = Entry.objects.in_bulk(list(keys))
    return [held[key] for key in keys if key in held]
