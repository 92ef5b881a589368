"""How complete and how fresh the archive is, said with every answer."""

from memory import runs
from memory.held import held
from memory.times import ms, now


def freshness() -> dict[str, str]:
    """Return a sentence for each source, such as `41% indexed, 3 min old`."""
    last = held("last whole run", runs.last_whole_run)
    age = _age(last) if last else "never synced to the end"
    known = {
        source: f"{_share(done, total)}% indexed, {age}"
        for source, (done, total) in held("indexed", runs.indexed).items()
    }
    return known or {"all sources": f"nothing found, {age}"}


def unread() -> tuple[str, ...]:
    """Return the sources of which something found has not been read to its end."""
    return tuple(source for source, (done, total) in runs.indexed().items() if done < total)


def _share(done: int, total: int) -> int:
    return 100 if done >= total else done * 100 // total


def _age(last: str) -> str:
    minutes = max(ms(now()) - ms(last), 0) // 60_000
    if minutes < 120:
        return f"{minutes} min old"
    return f"{minutes // 60} h old" if minutes < 48 * 60 else f"{minutes // 1440} days old"
