"""What the store holds: per source, and as a whole."""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from django.db.models import Count, Q, Sum

from memory import home
from memory.freshness import freshness
from memory.models import MalformedLine, RawFile, Session, SyncLog, VisibleEvent

# A source left out of so many runs by --source has not been synced lately.
_RUNS_SEARCHED = 200
# How far ahead a purge is told.
PURGE_DAYS = 7


@dataclass(frozen=True)
class Malformed:
    """Lines of one agent version that could not be used for one reason; the first 1,000 of each file are counted."""

    reason: str
    agent_version: str
    lines: int


@dataclass(frozen=True)
class SoleCopies:
    """Files that are held here alone: their source is gone."""

    files: int
    bytes: int


@dataclass(frozen=True)
class Purge:
    """What an agent will delete of its own logs: `days` after their last change, so many files within `PURGE_DAYS`.

    `next_at` is when the first of its files is due: at its next start where that is past, never where it is empty.
    """

    days: int
    soon: int
    next_at: str


class AtSource(NamedTuple):
    """What discovery found of a source: the logical paths of its files, and what the agent will delete of them."""

    logical_paths: Collection[str]
    purge: Purge | None


@dataclass(frozen=True)
class SourceStatus:
    """What is held of one source. `bytes` are of the logs, `mirror_bytes` of their compressed mirrors.

    `sole_copies` and `purge` are None where it is not known what there is at the source.
    """

    source: str
    files: int
    sessions: int
    events: int
    bytes: int
    mirror_bytes: int
    malformed: int
    reasons: tuple[Malformed, ...]
    last_sync: str
    sole_copies: SoleCopies | None
    purge: Purge | None


@dataclass(frozen=True)
class Run:
    """The last run of sync that began; `ended_at` is empty while it runs, and after a kill."""

    started_at: str
    ended_at: str
    error: str


@dataclass(frozen=True)
class Status:
    """What the store holds, where it lies and what it takes there."""

    home: str
    database_bytes: int
    mirror_bytes: int
    sources: tuple[SourceStatus, ...]
    last_run: Run | None
    freshness: Mapping[str, str]


def status(found: Mapping[str, AtSource]) -> Status:
    """Return what is held; `found` is what discovery found of each source that it could look through."""
    return Status(
        home=str(home.home()),
        database_bytes=sum(_size(Path(f"{home.database_path()}{suffix}")) for suffix in ("", "-wal")),
        mirror_bytes=sum(_size(path) for path in home.raw_path().rglob("*") if path.is_file()),
        sources=_sources(found),
        last_run=_last_run(),
        freshness=freshness(),
    )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _sources(found: Mapping[str, AtSource]) -> tuple[SourceStatus, ...]:
    held = RawFile.objects.values("source").annotate(
        files=Count("id", filter=Q(generation=0)),
        bytes=Sum("bytes"),
        mirror_bytes=Sum("stored_bytes"),
        malformed=Sum("malformed"),
    )
    sessions, events, reasons, synced = _sessions(), _events(), _reasons(), _last_syncs()
    return tuple(
        SourceStatus(
            **row,
            sessions=sessions.get(row["source"], 0),
            events=events.get(row["source"], 0),
            reasons=tuple(reasons[row["source"]]),
            last_sync=synced.get(row["source"], ""),
            sole_copies=_sole_copies(row["source"], found[row["source"]]) if row["source"] in found else None,
            purge=found[row["source"]].purge if row["source"] in found else None,
        )
        for row in held.order_by("source")
    )


def _sole_copies(source: str, at_source: AtSource) -> SoleCopies:
    """Count what is held of files that are gone, by their names; what they were before a rewrite goes with them."""
    held = RawFile.objects.filter(store="", source=source, bytes__gt=0).values_list("logical_path", "bytes")
    gone = [(path, size) for path, size in held if path not in at_source.logical_paths]
    return SoleCopies(files=len({path for path, _ in gone}), bytes=sum(size for _, size in gone))


def _sessions() -> dict[str, int]:
    shown = Session.objects.filter(events__gt=0)
    return dict(shown.values_list("source").annotate(count=Count("id")))


def _events() -> dict[str, int]:
    """Count through the view, so that what is forgotten is not counted (invariant 2)."""
    return dict(VisibleEvent.objects.values_list("session__source").annotate(count=Count("id")))


def _reasons() -> dict[str, list[Malformed]]:
    found: dict[str, list[Malformed]] = defaultdict(list)
    lines = MalformedLine.objects.filter(mended=False).values_list("raw_file__source", "reason", "agent_version")
    for source, reason, version, count in lines.annotate(count=Count("id")).order_by("-count", "reason"):
        found[source].append(Malformed(reason, version, count))
    return found


def _last_syncs() -> dict[str, str]:
    """Return when the last run that read each source to its end began."""
    found: dict[str, str] = {}
    whole = SyncLog.objects.filter(error="").exclude(ended_at="").order_by("-started_at", "-id")
    for started_at, report in whole.values_list("started_at", "report")[:_RUNS_SEARCHED]:
        for source, did in json.loads(report).items():
            if not did["failed"]:
                found.setdefault(source, started_at)
    return found


def _last_run() -> Run | None:
    run = SyncLog.objects.order_by("-started_at", "-id").first()
    return Run(run.started_at, run.ended_at, run.error) if run else None
