"""What is still at the sources: which files the agents have, and which of those they will delete soon."""

from collections.abc import Iterable

from ingest import exclude, plan
from ingest.adapters.contract import Adapter, Environment, SourceFile
from ingest.memories.files import find as memory_files
from memory.status import PURGE_DAYS, AtSource, Purge
from memory.times import from_ms, ms

_DAY_MS = 86_400_000


def at_sources(adapters: Iterable[Adapter], environment: Environment, now: str) -> dict[str, AtSource]:
    """Return what is found of each source; one that is excluded, or not to be looked through, is left out."""
    adapters = tuple(adapters)
    excluded = exclude.load(environment, {adapter.source for adapter in adapters}).sources
    found = {}
    for adapter in adapters:
        if adapter.source not in excluded:
            files, _, failure = plan.discover(adapter, environment)
            failures: list[OSError] = []
            memories = {file.logical_path for file in memory_files(adapter.source, environment, failures)}
            if not failure and not failures:
                purge = _purge(adapter, environment, files.values(), now)
                found[adapter.source] = AtSource(files.keys() | memories, purge)
    return found


def _purge(adapter: Adapter, environment: Environment, files: Iterable[SourceFile], now: str) -> Purge | None:
    days = adapter.retention(environment)
    if days is None:
        return None
    due = [file.mtime_ns // 1_000_000 + days * _DAY_MS for file in files]
    soon = sum(at <= ms(now) + PURGE_DAYS * _DAY_MS for at in due)
    return Purge(days, soon, from_ms(min(due)) if due else "")
