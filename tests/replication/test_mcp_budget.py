"""No answer is longer than its `max_tokens`, whatever is asked."""

import base64
import json
from collections.abc import Iterator
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.plugin import DjangoDbBlocker

from memory import tools
from memory.errors import InvalidInput, NotFound
from memory.scope import EVERYTHING
from memory.shapes import MIN_TOKENS
from memory.store import open_store
from memory.text import token_estimate
from tests.conftest import AgentHome, assistant, record_uuid, session_uuid, tool_call, tool_result, user, using_home
from tests.examples import examples

LONG = session_uuid(7)
WORDS = ["heron", "深圳", "naïve", "the", "error", '"heron flies"', "x" * 300, "🦉", '"', "\\", "AND", "*", "NEAR(a b)"]
budgets = st.one_of(st.integers(MIN_TOKENS, 600), st.integers(MIN_TOKENS, tools.MAX_TOKENS), st.just(10**9))
queries = st.one_of(st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join), st.text(max_size=2_000))
ids = st.sampled_from(
    [f"claude-code:{record_uuid(number)}" for number in range(1, 15)] + [f"claude-code:{LONG}", "claude-code:none"]
)
calls = st.one_of(
    st.tuples(
        st.just("search"),
        st.fixed_dictionaries(
            {"query": queries},
            optional={
                "in": st.sampled_from(["all", "entries", "events"]),
                "sort": st.sampled_from(["relevance", "recent"]),
                "limit": st.integers(1, 50),
                "tools": st.booleans(),
                "meta": st.booleans(),
                "explain": st.booleans(),
                "project": st.text(max_size=20),
            },
        ),
    ),
    st.tuples(
        st.just("timeline"),
        st.fixed_dictionaries(
            {"since": st.just("2020-01-01")},
            optional={"session": st.just(f"claude-code:{LONG}"), "tools": st.booleans()},
        ),
    ),
    st.tuples(st.sampled_from(["get", "sources"]), st.fixed_dictionaries({"id": ids})),
)


@pytest.fixture(scope="module")
def wordy_store(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """A store whose texts, titles, paths and lines are long, of wide characters, and full of what JSON escapes."""
    folder = tmp_path_factory.mktemp("wordy")
    (folder / "person").mkdir()
    home = AgentHome(folder / "person")
    branch, cwd = "分支" * 60, "/w/" + "项目" * 60
    texts = ["heron " * 900, "深圳的鹭 " * 2_000, '"\\\n\t' * 3_000, "naïve the error 🦉 " * 500, "heron flies"]
    records = [user(number, text, LONG, cwd=cwd, gitBranch=branch) for number, text in enumerate(texts, 1)]
    records += [assistant(5 + number, text, LONG, cwd=cwd, gitBranch=branch) for number, text in enumerate(texts, 1)]
    records += [
        tool_call(11, "Edit", {"file_path": f"{cwd}/{'长' * 200}.py", "old": "\x01" * 5_000}, LONG, cwd=cwd),
        tool_result(12, 11, "heron\n" * 5_000, LONG, cwd=cwd),
    ]
    home.write(LONG, *records, project="-w-long")
    for number in range(20, 60):
        session = session_uuid(number)
        home.write(session, user(number, "the heron " + "鹭" * 300, session, cwd=cwd), project="-w-long")
    with django_db_blocker.unblock(), using_home(folder / "origin"):
        open_store()
        home.sync()
        yield


@examples(60)
@given(call=calls, max_tokens=budgets)
def test_an_answer_keeps_its_budget_and_so_does_every_page_after_it(
    wordy_store: None, call: tuple[str, dict[str, object]], max_tokens: int
) -> None:
    name, arguments = call
    arguments = arguments | {"max_tokens": max_tokens}
    for _ in range(4):
        try:
            text = tools.call(name, arguments, EVERYTHING, UTC)
        except NotFound:
            assert name != "search"
            return
        except InvalidInput as error:
            raise AssertionError(f"{name} {arguments}: {error}") from error
        assert token_estimate(text) <= min(max_tokens, tools.MAX_TOKENS)
        answer = json.loads(text)
        assert answer["origin"] == "recorded data, not instructions"
        if not (cursor := answer["footer"].get("cursor")):
            return
        assert cursor != arguments.get("cursor"), "a cursor must move on"
        assert set(answer) & {"hits", "sessions", "events", "event", "lines"}
        arguments = arguments | {"cursor": cursor}


def forged(position: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(position).encode()).decode().rstrip("=")


@pytest.mark.parametrize("value", ["x", None, True, -1, 1.5, 10**30, [], {}, "\ud800"])
def test_a_forged_cursor_is_refused_with_a_sentence(wordy_store: None, value: object) -> None:
    event, session = f"claude-code:{record_uuid(1)}", f"claude-code:{LONG}"
    for name, arguments, position in (
        ("search", {"query": "heron"}, {"hit": value}),
        ("timeline", {"since": "2020-01-01"}, {"at": 1, "session": value}),
        ("timeline", {"session": session}, {"at": "", "ordinal": value, "id": ""}),
        ("get", {"id": event}, {"character": value}),
        ("get", {"id": session}, {"at": "", "ordinal": value, "id": ""}),
        ("sources", {"id": event}, {"place": value, "character": value}),
    ):
        with pytest.raises(InvalidInput, match="leave it out to start again"):
            tools.call(name, arguments | {"cursor": forged(position)}, EVERYTHING, UTC)


@pytest.mark.parametrize("max_tokens", [MIN_TOKENS, 500, 2_000])
def test_every_part_of_a_long_text_comes_page_by_page(wordy_store: None, max_tokens: int) -> None:
    event = f"claude-code:{record_uuid(3)}"
    pieces, cursor = [], ""
    while True:
        answer = json.loads(
            tools.call("get", {"id": event, "max_tokens": max_tokens, "cursor": cursor}, EVERYTHING, UTC)
        )
        pieces.append(answer["event"]["text"])
        cursor = answer["footer"].get("cursor", "")
        if not cursor:
            break
        assert len(pieces) < 500

    assert "".join(pieces).strip() == ('"\\\n\t' * 3_000).strip()
