"""Reading entries: a list of them, the newest first, and one with all that stands behind it."""

from dataclasses import dataclass

from memory import aliases, sql
from memory.entries import citations
from memory.entries.correct import visible
from memory.entries.filters import EntryFilters, Seen, in_order, now_seen, seen
from memory.errors import NotFound, OriginError
from memory.models import Entry, Review
from memory.provenance import EventDetail, Place, event, places, read_line
from memory.scope import Scope
from memory.secrets import mask
from memory.text import cut

# How many rows are asked for at once where the past has to be worked out for each.
_AT_ONCE = 500
NEWEST = """
    SELECT e.id, e.recorded_at FROM visible_entry e
    WHERE {condition} {current} AND (e.recorded_at, e.id) < (?, ?) ORDER BY e.recorded_at DESC, e.id DESC LIMIT ?"""
LAST = ("9", 1 << 62)


@dataclass(frozen=True)
class Citation:
    """A source of an entry. `state` is `ok`, `pending` (it has not arrived), `hidden` or `broken`."""

    event_id: str
    quote: str
    state: str


@dataclass(frozen=True)
class Detail:
    """One version, every version of its entry, what it cites and what the owner decided of it."""

    view: Seen
    versions: tuple[Seen, ...]
    citations: tuple[Citation, ...]
    reviews: tuple[Review, ...]


def listed(
    scope: Scope, filters: EntryFilters, *, limit: int, before: tuple[str, int] = LAST
) -> tuple[list[Seen], tuple[str, int] | None]:
    """Return the newest entries that the filters want, from `before` on, and where the next page begins."""
    condition, values = filters.condition(scope)
    current = (
        "" if filters.history or filters.known_at else "AND NOT e.superseded AND (e.ends_at = '' OR e.ends_at > ?)"
    )
    instant = [filters.instant] if current else []
    query = NEWEST.format(condition=condition, current=current)
    found: list[Seen] = []
    while len(found) <= limit:
        rows = sql.rows(query, [*values, *instant, *before, _AT_ONCE])
        found += seen(in_order([key for key, _ in rows]), filters)
        if len(rows) < _AT_ONCE:
            break
        before = (rows[-1][1], rows[-1][0])
    page = found[:limit]
    following = (page[-1].entry.recorded_at, page[-1].entry.pk) if len(found) > limit else None
    return page, following


def detail(entry_id: str, scope: Scope, *, is_owner: bool) -> Detail:
    """Return one version and what stands behind it, superseded and ended ones too. Raises `NotFound`."""
    entry = visible(entry_id, scope)
    if entry.trust == "rejected" and not is_owner:
        raise NotFound(f"No entry {cut(entry_id, 200)} is held.")
    others = Entry.objects.filter(chain=entry.chain, forgotten=False).order_by("recorded_at", "id")
    versions = [now_seen(each) for each in others if is_owner or each.trust != "rejected"]
    reviews = Review.objects.filter(entry_id=entry_id).select_related("record").order_by("record__hlc_ms", "id")
    cited = tuple(_citation(each.event_id, each.quote, scope) for each in entry.sources.order_by("position"))
    return Detail(now_seen(entry), tuple(versions), cited, tuple(reviews) if is_owner else ())


def _citation(event_id: str, quote: str, scope: Scope) -> Citation:
    """Look at a source again: the event's text must hold the quote, and its line must be what was archived."""
    try:
        found = event(event_id, scope)
    except NotFound:
        arrived = sql.rows("SELECT 1 FROM event WHERE event_id = ?", (event_id,))
        return Citation(event_id, "" if arrived else quote, "hidden" if arrived else "pending")
    is_sound = (not quote or citations.says(found.text, quote)) and _opens(found, scope)
    return Citation(event_id, mask(quote), "ok" if is_sound else "broken")


def _opens(found: EventDetail, scope: Scope) -> bool:
    try:
        first: Place = places(found, scope)[0]
        read_line(first.raw_file, first.line)
    except OriginError:
        return False
    return True


def project_of(view: Seen) -> str:
    """Return the name that an entry's project goes by."""
    return aliases.shown(view.entry.project)
