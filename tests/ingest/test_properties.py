"""However a log arrives, in whatever pieces and whatever order, the store ends up the same."""

import itertools
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.plugin import DjangoDbBlocker

from tests.conftest import AgentHome, assistant, session_uuid, tool_call, tool_result, user, using_home
from tests.examples import examples
from tests.store_digest import contents

FIRST, SECOND, THIRD = session_uuid(1), session_uuid(2), session_uuid(3)


def line(record: object) -> bytes:
    return json.dumps(record, ensure_ascii=False).encode()


# Everything that makes cutting hard: merged records, a byte order mark, CRLF, bytes that are no UTF-8, NULs, blanks.
AWKWARD = (
    b"\xef\xbb\xbf" + line(user(1, "how do we deploy?", FIRST)) + b"\n",
    line(assistant(2, "With 部署脚本 and a café.", FIRST)) + b"\r\n",
    line(user(3, "one", FIRST)) + line(user(4, "two on one line", FIRST)) + b"\n",
    line(user(5, "then rubbish", FIRST)) + b"}{\n",
    b"\x00\x00\x00" + line(tool_call(6, "Read", {"file_path": "/w/app/a.py"}, FIRST)) + b"\n",
    b"no json at all\n",
    b'{"type":"user","message":{"content":"caf\xe9"},"uuid":"0000e4e1-0000-4000-8000-0000000000aa",'
    b'"timestamp":"2026-05-01T00:00:07.000Z"}\n',
    b"\n",
    line(tool_result(8, 6, "print('hello')", FIRST)) + b"\n",
    line({"type": "ai-title", "aiTitle": "Deploying", "sessionId": FIRST}) + b"\n",
    line(user(1, "how do we deploy?", FIRST)) + b"\n",
    line(assistant(9, "No newline at the end.", FIRST)),
)
LOG = b"".join(AWKWARD)


@contextmanager
def fresh(migrated_home: Path, blocker: DjangoDbBlocker) -> Iterator[tuple[Path, AgentHome]]:
    """An empty store and an empty person's home, for one example."""
    with tempfile.TemporaryDirectory() as folder, blocker.unblock():
        store = Path(folder) / "origin"
        shutil.copytree(migrated_home, store)
        with using_home(store):
            yield store, AgentHome(Path(folder) / "person")


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Assert part by part, so that a difference can be read."""
    for part, value in expected.items():
        assert found[part] == value, part


def stored(home: AgentHome, store: Path) -> dict[str, Any]:
    """Sync to the end and return what the store holds."""
    report = home.sync()
    assert not report.failed
    assert not [problem for each in report.sources.values() for problem in each.problems]
    return contents(store)


@pytest.fixture(scope="module")
def whole(migrated_home: Path, django_db_blocker: DjangoDbBlocker) -> dict[str, Any]:
    """What a store holds that met the whole log at once."""
    with fresh(migrated_home, django_db_blocker) as (store, home):
        home.log(FIRST).write_bytes(LOG)
        return stored(home, store)


@examples(12)
@given(cuts=st.lists(st.integers(0, len(LOG)), min_size=1, max_size=6))
def test_any_split_of_a_log_gives_one_store(
    cuts: list[int], whole: dict[str, Any], migrated_home: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    with fresh(migrated_home, django_db_blocker) as (store, home):
        for start, end in itertools.pairwise([0, *sorted(cuts), len(LOG)]):
            with home.log(FIRST).open("ab") as file:
                file.write(LOG[start:end])
            home.sync()
        same(stored(home, store), whole)


def test_every_single_cut_of_a_log_gives_one_store(
    whole: dict[str, Any], migrated_home: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    ends = [len(b"".join(AWKWARD[:n])) for n in range(1, len(AWKWARD))]
    near_ends = sorted({end + step for end in ends for step in (-2, -1, 0, 1, 2, 3, 4)})
    for cut in near_ends:
        with fresh(migrated_home, django_db_blocker) as (store, home):
            home.log(FIRST).write_bytes(LOG[:cut])
            home.sync()
            home.log(FIRST).write_bytes(LOG)
            same(stored(home, store), whole)


def family() -> dict[str, list[dict[str, object]]]:
    """Four files that repeat each other: a session, its resumed copy, a fork that renamed it, and a sub-agent."""
    first = [
        user(1, "why is the queue slow?", FIRST),
        assistant(2, "It commits after every row.", FIRST),
        tool_call(3, "Read", {"file_path": "/w/app/queue.py"}, FIRST),
        tool_result(4, 3, "def commit(): ...", FIRST),
        user(5, "we decided to batch them", FIRST),
    ]
    resumed = [*first[:4], user(10, "and now?", SECOND), assistant(11, "Batches of 500.", SECOND)]
    renamed = [record | {"sessionId": THIRD, "cwd": "/w/other"} for record in first[:3]]
    fork = [*renamed, user(20, "try another way", THIRD, cwd="/w/other")]
    titles: list[dict[str, object]] = [
        {"type": "summary", "summary": "Slow queue", "leafUuid": first[4]["uuid"]},
        {"type": "ai-title", "aiTitle": "Queue, resumed", "sessionId": SECOND},
        {"type": "custom-title", "customTitle": "The other way", "sessionId": THIRD},
    ]
    agent = [
        user(30, "look for commits", FIRST, agentId="a1", isSidechain=True),
        assistant(31, "Found three.", FIRST, agentId="a1", isSidechain=True),
    ]
    return {
        f"{FIRST}.jsonl": first,
        f"{SECOND}.jsonl": [titles[0], *resumed, titles[1]],
        f"{THIRD}.jsonl": [*fork, titles[2]],
        f"{FIRST}/subagents/agent-a1.jsonl": agent,
    }


def place(home: AgentHome, name: str, records: Sequence[object], when: int) -> None:
    path = home.log(FIRST).parent / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line(record) + b"\n" for record in records))
    os.utime(path, (when, when))


@pytest.fixture(scope="module")
def together(migrated_home: Path, django_db_blocker: DjangoDbBlocker) -> dict[str, Any]:
    """What a store holds that met the whole family at once."""
    with fresh(migrated_home, django_db_blocker) as (store, home):
        for name, records in family().items():
            place(home, name, records, when=1_777_000_000)
        return stored(home, store)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_any_order_of_files_gives_one_store(
    order: tuple[int, ...], together: dict[str, Any], migrated_home: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    files = list(family().items())
    with fresh(migrated_home, django_db_blocker) as (store, home):
        for number in order:
            place(home, *files[number], when=1_777_000_000)
            home.sync()
        same(stored(home, store), together)
    with fresh(migrated_home, django_db_blocker) as (store, home):
        for age, number in enumerate(order):
            place(home, *files[number], when=1_777_000_000 + age)
        same(stored(home, store), together)


def test_a_second_sync_adds_nothing(store: Path, agent_home: AgentHome) -> None:
    agent_home.log(FIRST).write_bytes(LOG)
    before = stored(agent_home, store)
    report = agent_home.sync()
    assert stored(agent_home, store) == before
    assert [(r.read, r.events, r.bytes) for r in report.sources.values()] == [(0, 0, 0)] * len(report.sources)
