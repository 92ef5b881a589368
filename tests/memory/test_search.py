"""Search finds what holds every word, in any script, and takes no character for syntax."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import sql
from memory.candidates import reach
from memory.filters import Filters
from memory.passages import PASSAGE, passage
from memory.scope import EVERYTHING, Scope
from memory.search import Found, search
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, tool_result, user
from tests.examples import examples

FIRST, SECOND = session_uuid(1), session_uuid(2)


def find(query: str, **options: Any) -> list[str]:
    """Return the ends of the ids of what a search finds."""
    return [hit.event_id.partition("#")[0][-2:] for hit in found(query, **options).hits]


def found(query: str, *, scope: Scope = EVERYTHING, **options: Any) -> Found:
    names = ("project", "source", "session", "since", "until")
    filters = Filters(**{name: str(options.pop(name)) for name in names if name in options})
    return search(query, scope, filters, **options)


@pytest.fixture
def talk(store: Path, agent_home: AgentHome) -> Path:
    """A talk about a queue, in three scripts and with tools, and another project's."""
    agent_home.write(
        FIRST,
        user(0x11, "Why does fetchUserById retry so often?", FIRST),
        assistant(0x12, "The retrying is in fetch_user_by_id; src/queue/worker.py deploys it.", FIRST),
        user(0x13, "我们决定使用消息队列，原因是重试更简单", FIRST),
        assistant(0x14, "キューの再試行は三回です。 재시도는 세 번입니다", FIRST),
        user(0x15, "重跑gen-itgc后50条数据悬空", FIRST),
        tool_call(0x16, "Bash", {"command": "rg retry src/queue/worker.py"}, FIRST),
        tool_result(0x17, 0x16, "worker.py:12: ERR_RETRY_LIMIT reached", FIRST),
        user(0x18, "<system-reminder>retry reminder</system-reminder>", FIRST, isMeta=True),
    )
    agent_home.write(SECOND, user(0x21, "retry of another project: naïve café", SECOND, cwd="/w/other"))
    agent_home.sync()
    return store


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("fetchUserById", ["11", "12"]),
        ("fetch_user_by_id", ["11", "12"]),
        ("fetch-user-by-id", ["11", "12"]),
        ("fetchuserbyid", ["11"]),
        ("UserBy", ["11", "12"]),
        ("retrying queue", ["12"]),
        ('"retrying is in"', ["12"]),
        ("src/queue/worker.py", ["12"]),
        ("naive cafe", ["21"]),
        ("消息队列", ["13"]),
        ("重试", ["13"]),
        ("決", []),
        ("原因 队列", ["13"]),
        ("再試行", ["14"]),
        ("再試", ["14"]),
        ("재시도", ["14"]),
        ("세 번", ["14"]),
        ("itgc", ["15"]),
        ("悬空", ["15"]),
        ("is", ["12"]),
        ("absent", []),
    ],
)
def test_every_word_is_found_in_its_script(talk: Path, query: str, expected: list[str]) -> None:
    assert sorted(find(query)) == expected


@pytest.mark.parametrize("query", ["retry AND", "NOT retry", "retry*", "(retry", '"retry', "text:retry", "^retry", "-"])
def test_syntax_of_the_index_is_plain_text(talk: Path, query: str) -> None:
    assert found(query).total >= 0
    assert set(find("NOT fetch_user_by_id")[:2]) == {"11", "12"}


def test_tools_and_machine_text_take_part_only_when_asked(talk: Path) -> None:
    assert find("rg worker.py") == ["16"], "the session is found by it, and no message speaks for it"
    assert "16" not in find("worker.py")
    assert {"12", "16", "17"} == set(find("worker.py", tools=True))
    assert find("reminder") == []
    assert len(find("reminder", meta=True)) == 1


def test_filters_and_scope_come_before_counting(talk: Path) -> None:
    assert found("retry").total == 3
    assert found("retry", project="other").total == 1
    assert found("retry", scope=Scope(("other",))).total == 1
    assert found("fetchUserById", scope=Scope(("other",))).unmatched == ("fetchUserById",)
    assert found("retry", session=f"claude-code:{FIRST}").total == 2
    assert found("retry", source="codex").total == 0
    assert found("retry", since="2026-05-01T00:00:18.000Z").total == 2
    assert found("retry", until="2026-05-01T00:00:18.000Z").total == 1


def test_a_word_that_occurs_nowhere_is_named(talk: Path) -> None:
    assert found("retry absent").unmatched == ("absent",)
    assert found("retry absent").relaxed
    assert set(find("retry absent")) >= {"11", "12", "21"}
    assert found("retry").unmatched == ()


def test_recent_orders_by_time_and_pages_do_not_overlap(talk: Path) -> None:
    everything = find("retry", recent=True)
    assert everything[0] == "21"
    assert [find("retry", recent=True, offset=n, limit=1) for n in range(4)] == [*([each] for each in everything), []]


def test_without_words_the_newest_messages_come(talk: Path) -> None:
    assert find("", limit=2) == ["21", "15"]


def test_secrets_that_an_older_table_let_through_are_masked_at_output(store: Path, agent_home: AgentHome) -> None:
    key = "AKIA" + "QWERTYUIOPASDFGH"
    agent_home.write(FIRST, user(1, f"the key is {key} indeed", FIRST))
    agent_home.sync()
    assert sql.rows("SELECT count(*) FROM event WHERE text LIKE ?", (f"%{key}%",)) == [(0,)]
    assert all(key not in hit.passage for hit in found("indeed").hits)


@examples(50)
@given(
    query=st.text(max_size=80) | st.lists(st.sampled_from(['"', "AND", "*", "決定", "a", "(", "retry"])).map(" ".join)
)
def test_no_query_raises(talk: Path, query: str) -> None:
    page = found(query, tools=True, meta=True)
    assert page.total >= len(page.hits)


@given(text=st.text(max_size=2000), term=st.text(max_size=20))
def test_a_passage_is_short_and_holds_the_term(text: str, term: str) -> None:
    shown = passage(f"{text} {term} {text}", [term])
    assert len(shown) <= PASSAGE
    words = " ".join(term.split())
    if words and term.lower() == term and len(term.lower()) == len(term) and term.isascii() and term.isalnum():
        assert words in shown.lower()


def test_without_filters_and_scope_the_indexes_alone_are_asked(store: Path) -> None:
    assert reach(EVERYTHING, Filters()).is_everything
    assert not reach(Scope(("app",)), Filters()).is_everything
    assert not reach(EVERYTHING, Filters(project="app")).is_everything
    assert not reach(EVERYTHING, Filters(since="2026-01-01T00:00:00.000Z")).is_everything
