"""`status`: what is held, per source, and where."""

from memory import shapes
from memory.management.base import StoreCommand
from memory.management.printing import Paper, counted, moment, number, size
from memory.status import Run, SourceStatus, Status, status
from memory.times import local, process_zone


class Command(StoreCommand):
    help = "Say what the store holds of each agent, how fresh it is and what it takes on disk."
    example = "--json"

    def run(self, *, as_json: bool) -> None:
        found = status()
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


def _print_run(run: Run, paper: Paper) -> None:
    if run.error:
        paper.line(f"The sync of {moment(local(run.started_at, process_zone()))} stopped: {run.error}")
    elif not run.ended_at:
        paper.line(f"The sync of {moment(local(run.started_at, process_zone()))} is still running, or was killed.")
