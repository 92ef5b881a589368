"""How well the search tool finds what it should: `python -m benchmarks.retrieval LABELS [--home DIR] [--pooled]`.

Two forms of label file. The plain one is a list of {query, expected: [event or session ids], set?} over a home
directory of logs (`--home`); an empty `expected` is a negative, which must find nothing. The other is LoCoMo's, as
conversations with questions and their evidence: each turn becomes one message of an invented Claude Code log.
Every query goes through the tool function that agents call.
"""

import argparse
import json
import os
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast
from uuid import NAMESPACE_URL, uuid5

CUTS = (5, 10, 50)
LARGEST = 20_000

Json = dict[str, Any]


@dataclass(frozen=True)
class Label:
    """A query, what it should find, and how it is asked."""

    query: str
    expected: frozenset[str]
    group: str = ""
    project: str = ""


@dataclass(frozen=True)
class Result:
    """What one query found: events and sessions in order, how large a default answer is, and how long it took."""

    label: Label
    events: tuple[str, ...]
    sessions: tuple[str, ...]
    answer_bytes: int
    seconds: float

    def recall(self, cut: int) -> float:
        """The share of what was expected among the first `cut` hits."""
        shown = {*self.events[:cut], *self.sessions[:cut]}
        return len(self.label.expected & shown) / len(self.label.expected)

    def rank(self) -> int:
        """The place of the first expected hit, or 0."""
        for place, pair in enumerate(zip(self.events, self.sessions, strict=True), 1):
            if self.label.expected & set(pair):
                return place
        return 0


# --- asking


def ask(label: Label) -> Result:
    """Put one query to the tool."""
    from memory import tools
    from memory.scope import EVERYTHING

    arguments = {"query": label.query, "project": label.project, "limit": max(CUTS), "max_tokens": LARGEST}
    started = time.perf_counter()
    answer = json.loads(tools.call("search", arguments, EVERYTHING, UTC))
    seconds = time.perf_counter() - started
    hits = cast(list[Json], answer["hits"])
    usual = tools.call("search", {"query": label.query, "project": label.project}, EVERYTHING, UTC)
    return Result(
        label, tuple(hit["id"] for hit in hits), tuple(hit["session"] for hit in hits), len(usual.encode()), seconds
    )


def scores(results: Sequence[Result]) -> dict[str, float]:
    """Return the figures of queries that have something to find."""
    ranks = [result.rank() for result in results]
    times = sorted(result.seconds for result in results)
    return {
        "queries": len(results),
        **{f"recall@{cut}": mean(result.recall(cut) for result in results) for cut in CUTS},
        "hit@1": mean(rank == 1 for rank in ranks),
        "hit@5": mean(0 < rank <= 5 for rank in ranks),
        "mrr": mean(1 / rank if rank else 0.0 for rank in ranks),
        "empty": mean(not result.events for result in results),
        "bytes": mean(result.answer_bytes for result in results),
        "p50_ms": 1000 * times[len(times) // 2],
        "p95_ms": 1000 * times[len(times) * 95 // 100],
    }


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


# --- stores


def open_store_for(home: Path, person: Path) -> None:
    """Make a store in `home` of the logs below `person`."""
    import django

    os.environ["ORIGIN_HOME"] = str(home)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "origin_site.settings")
    django.setup()
    from ingest.adapters import ADAPTERS
    from ingest.adapters.contract import Environment
    from ingest.sync import sync
    from memory.store import open_store

    open_store()
    sync(ADAPTERS, Environment(person, {}))


# --- label files


def plain_labels(rows: Sequence[Json]) -> list[Label]:
    """Return the labels of the plain form."""
    return [Label(row["query"], frozenset(row["expected"]), row.get("set", "")) for row in rows]


def locomo_labels(conversations: Sequence[Json], *, pooled: bool) -> list[Label]:
    """Return the questions whose evidence is in the conversation; alone, each is asked within its own project."""
    labels = []
    for conversation in conversations:
        name = str(conversation["conversation"])
        turns = {turn["id"] for session in conversation["sessions"] for turn in session["turns"]}
        for question in conversation["questions"]:
            expected = frozenset(f"claude-code:{_uuid(name, turn)}" for turn in question["evidence"] if turn in turns)
            if expected:
                labels.append(Label(question["question"], expected, name, "" if pooled else name))
    return labels


def write_locomo(conversations: Sequence[Json], person: Path) -> None:
    """Write each conversation as the sessions of one project, one message a turn."""
    for conversation in conversations:
        name = str(conversation["conversation"])
        folder = person / ".claude" / "projects" / f"-w-{name}"
        folder.mkdir(parents=True)
        for session in conversation["sessions"]:
            native = _uuid(name, str(session["id"]))
            lines = "".join(f"{json.dumps(record)}\n" for record in _records(name, native, session))
            (folder / f"{native}.jsonl").write_text(lines)


def _records(name: str, native: str, session: Json) -> Iterator[Json]:
    start = datetime.strptime(session["date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
    first = session["turns"][0]["speaker"] if session["turns"] else ""
    for number, turn in enumerate(session["turns"]):
        text = f"{turn['speaker']}: {turn['text']} {turn.get('image_caption') or ''}".rstrip()
        role = "user" if turn["speaker"] == first else "assistant"
        content = text if role == "user" else [{"type": "text", "text": text}]
        yield {
            "type": role,
            "uuid": _uuid(name, turn["id"]),
            "parentUuid": None,
            "isSidechain": False,
            "userType": "external",
            "cwd": f"/w/{name}",
            "sessionId": native,
            "version": "2.1.140",
            "gitBranch": "main",
            "message": {"role": role, "content": content},
            "timestamp": (start + timedelta(seconds=30 * number)).strftime("%Y-%m-%dT%H:%M:%S.000Z"),
        }


def _uuid(conversation: str, name: str) -> str:
    return str(uuid5(NAMESPACE_URL, f"{conversation}/{name}"))


# --- command line


def print_table(groups: dict[str, list[Result]]) -> Json:
    """Print one line of figures for each group of queries; returns them."""
    table = {}
    for name, results in groups.items():
        positive = [result for result in results if result.label.expected]
        if positive:
            table[name] = scores(positive)
            figures = "  ".join(f"{figure} {value:.3f}" for figure, value in table[name].items())
            print(f"{name:<14} {figures}")
        if negative := [result for result in results if not result.label.expected]:
            found = [result.label.query for result in negative if result.events]
            table[f"{name} (nothing)"] = {"queries": len(negative), "found": len(found)}
            print(f"{name:<14} negatives {len(negative)}  found something {len(found)} {found[:5]}")
    return table


def missed(results: Iterable[Result]) -> Iterator[str]:
    """Yield the queries whose first expected hit is not the first, with its place."""
    for result in results:
        if result.label.expected and result.rank() != 1:
            yield f"{result.rank() or '-':>3}  {result.label.group:<12} {result.label.query}"


def grouped(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Return results by their set, and all of them."""
    groups: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        groups[result.label.group].append(result)
    return {**groups, "all": list(results)}


def main() -> None:
    """Score a label file and print the figures, as JSON too where asked."""
    options = _options()
    rows = json.loads(options.labels.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        person = options.home or Path(folder) / "person"
        is_locomo = bool(rows) and "conversation" in rows[0]
        if is_locomo:
            write_locomo(rows, person)
        open_store_for(Path(folder) / "origin", person)
        labels = locomo_labels(rows, pooled=options.pooled) if is_locomo else plain_labels(rows)
        wanted = [label for label in labels if re.search(options.only, label.group)]
        results = [ask(label) for label in wanted]
        table = print_table(grouped(results))
        if options.missed:
            print(*missed(results), sep="\n")
        if options.json:
            options.json.write_text(json.dumps(table, indent=2))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    parser.add_argument("labels", type=Path, help="a label file, of either form")
    parser.add_argument("--home", type=Path, help="the home directory of the logs that plain labels are about")
    parser.add_argument("--pooled", action="store_true", help="search all conversations at once, not each alone")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only sets whose name matches")
    parser.add_argument("--missed", action="store_true", help="also print the queries whose first hit is not expected")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    main()
