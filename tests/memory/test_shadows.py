"""Of two events that say the same one is shown, whatever order they came in."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.plugin import DjangoDbBlocker

from memory import archive, sql
from memory.archive import Origin, RawKey
from memory.parsed import Line, ParsedEvent, ParsedLine, State
from memory.sessions import rebuild_all
from tests.examples import examples
from tests.ingest.test_properties import fresh, same
from tests.store_digest import contents

Said = tuple[str, str, str, int, str]


def parse(line: Line, state: State) -> ParsedLine:
    """Read `id|text|twin|rank|replays`, in the session that the file is named after."""
    name, text, twin, rank, replays = line.data.decode().split("|")
    session = line.path.partition("/")[0]
    event = ParsedEvent(
        f"test:{session}/{name}",
        "message",
        "user",
        text,
        session,
        at="2026-05-01T00:00:00.000Z",
        twin=twin,
        rank=int(rank),
        replays=replays,
    )
    return ParsedLine(state, (event,), at=event.at)


def append(path: str, *said: Said) -> None:
    """Append events, given as (id, text, twin, rank, replays), to the file at `path`."""
    key = RawKey("", "test", path)
    if path not in archive.known("test"):
        archive.register([(key, Origin(path, "lines", 0, 0, 0))])
    data = "".join("|".join(map(str, each)) + "\n" for each in said).encode()
    archive.append(key, archive.cursor(key).bytes, data, parse)


def shown(session: str) -> list[str]:
    rows = sql.rows(
        "SELECT e.event_id FROM visible_event e JOIN session s ON s.id = e.session_id WHERE s.session_id = ?"
        " ORDER BY e.ordinal",
        (f"test:{session}",),
    )
    return [str(name).rpartition("/")[2] for (name,) in rows]


def found(word: str) -> int:
    return int(str(sql.rows("SELECT count(*) FROM message_words WHERE message_words MATCH ?", (word,))[0][0]))


def check() -> None:
    for index in ("message_trigram", "message_words", "message_grams", "tool_words", "session_words"):
        sql.execute(f"INSERT INTO {index}({index}, rank) VALUES ('integrity-check', 1)")
    before = sql.rows("SELECT * FROM session ORDER BY id")
    rebuild_all()
    assert sql.rows("SELECT * FROM session ORDER BY id") == before, "what is counted up is what adds up"


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_event_of_lowest_rank_hides_its_twins(store: Path, order: tuple[int, ...]) -> None:
    said: list[Said] = [
        ("a", "apple 苹果", "t", 0, ""),
        ("b", "apple 苹果", "t", 1, ""),
        ("c", "apple 苹果", "t", 2, ""),
    ]
    for number in order:
        append("s/log", said[number])
    assert shown("s") == ["a"]
    assert found("apple") == 1
    check()


def test_events_of_one_rank_do_not_hide_each_other(store: Path) -> None:
    append("s/log", ("a", "go on", "t", 0, ""), ("b", "go on", "t", 0, ""), ("c", "go on", "u", 1, ""))
    assert shown("s") == ["a", "b", "c"]


def test_a_twin_in_another_session_hides_nothing(store: Path) -> None:
    append("s/log", ("a", "apple", "t", 0, ""))
    append("r/log", ("b", "apple", "t", 1, ""))
    assert (shown("s"), shown("r")) == (["a"], ["b"])


@pytest.mark.parametrize("parent_first", [True, False])
def test_a_replayed_history_shows_only_what_comes_after_it(store: Path, *, parent_first: bool) -> None:
    parent: list[Said] = [("1", "plan", "", 0, ""), ("2", "do", "", 0, ""), ("3", "check", "", 0, "")]
    child: list[Said] = [("x", "plan", "", 0, "p"), ("y", "do", "", 0, ""), ("z", "differ", "", 0, "")]
    first, second = (("p/log", parent), ("c/log", child))[:: 1 if parent_first else -1]
    append(first[0], *first[1])
    append(second[0], *second[1])
    assert (shown("p"), shown("c")) == (["1", "2", "3"], ["z"])
    check()


TEXTS = st.lists(st.sampled_from(["plan", "do", "check"]), min_size=1, max_size=5)


@examples(12)
@given(parent=TEXTS, child=TEXTS, cuts=st.lists(st.booleans(), min_size=10, max_size=10))
def test_any_interleaving_of_a_session_and_its_replay_ends_the_same(
    parent: list[str], child: list[str], cuts: list[bool], migrated_home: Path, django_db_blocker: DjangoDbBlocker
) -> None:
    lines = {
        "p/log": [(f"p{n}", text, "", 0, "") for n, text in enumerate(parent)],
        "c/log": [(f"c{n}", text, "", 0, "p") for n, text in enumerate(child)],
    }
    with fresh(migrated_home, django_db_blocker) as (store, _):
        for path, said in lines.items():
            append(path, *said)
        together = contents(store)
        run = len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], zip(parent, child, strict=False))))
        assert shown("c") == [f"c{n}" for n in range(run, len(child))]
    with fresh(migrated_home, django_db_blocker) as (store, _):
        waiting = {path: list(said) for path, said in lines.items()}
        for first in cuts:
            path = "p/log" if first else "c/log"
            if waiting[path]:
                append(path, waiting[path].pop(0))
        for path, said in waiting.items():
            if said:
                append(path, *said)
        found_now = contents(store)
        check()
    for part in ("events", "sessions"):
        same({part: found_now[part]}, {part: together[part]})
