"""`status`: what is held, per source, and where."""

import os
from pathlib import Path

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Environment
from ingest.outlook import at_sources
from memory import shapes
from memory.management.base import StoreCommand
from memory.management.printing import Paper, counted, moment, number, size
from memory.status import PURGE_DAYS, Purge, Run, SourceStatus, Status, status
from memory.times import local, now, process_zone


class Command(StoreCommand):
    help = "Say what the store holds of each agent, how fresh it is and what it takes on disk."
    example = "--json"

    def run(self, *, as_json: bool) -> None:
        found = status(at_sources(ADAPTERS, Environment(Path.home(), os.environ), now()))
        if as_json:
            self.print_json(shapes.status(found, process_zone()))
        else:
            _print(found, self.paper())


def _print(found: Status, paper: Paper) -> None:
    if found.sources:
        headings = ("source", "files", "sessions", "events", "logs", "mirrors", "malformed", "last sync")
        paper.table(headings, map(_row, found.sources), right=range(1, 7))
    else:
        paper.line("Nothing is held yet; `sync` archives the logs of the agents on this machine.")
    for source in found.sources:
        _print_malformed(source, paper)
    paper.line()
    for source in found.sources:
        _print_outlook(source, paper)
    for name, fresh in found.freshness.items():
        paper.line(f"{name}: {fresh}")
    if found.last_run:
        _print_run(found.last_run, paper)
    paper.line(f"home {found.home}: database {size(found.database_bytes)}, mirrors {size(found.mirror_bytes)}")


def _row(source: SourceStatus) -> tuple[str, ...]:
    return (
        source.source,
        number(source.files),
        number(source.sessions),
        number(source.events),
        size(source.bytes),
        size(source.mirror_bytes),
        number(source.malformed),
        moment(local(source.last_sync, process_zone()))[5:] if source.last_sync else "never",
    )


def _print_malformed(source: SourceStatus, paper: Paper) -> None:
    if source.reasons:
        paper.line()
        paper.line(f"Lines of {source.source} that could not be used:")
    for reason in source.reasons:
        version = f" (version {reason.agent_version})" if reason.agent_version else ""
        paper.line(f"{counted(reason.lines, 'line')}: {reason.reason}{version}", indent=2)


def _print_outlook(source: SourceStatus, paper: Paper) -> None:
    if source.sole_copies and source.sole_copies.files:
        files = counted(source.sole_copies.files, "file")
        held = size(source.sole_copies.bytes)
        paper.line(f"{source.source}: {files} ({held}) held here alone; they are gone where the agent had them")
    if source.purge:
        paper.line(f"{source.source}: {_forecast(source.purge)}")


def _forecast(purge: Purge) -> str:
    kept = f"logs are deleted by the agent {counted(purge.days, 'day')} after their last change"
    if not purge.next_at:
        return f"{kept}; none is left"
    due = "at its next start" if purge.next_at <= now() else moment(local(purge.next_at, process_zone()))
    return f"{kept}: {counted(purge.soon, 'file')} within {PURGE_DAYS} days, the next {due}"


def _print_run(run: Run, paper: Paper) -> None:
    if run.error:
        paper.line(f"The sync of {moment(local(run.started_at, process_zone()))} stopped: {run.error}")
    elif not run.ended_at:
        paper.line(f"The sync of {moment(local(run.started_at, process_zone()))} is still running, or was killed.")
