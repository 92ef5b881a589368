"""Reading entries through the tools: what holds, what held, what was known, and what is nobody's business."""

import json
from datetime import UTC
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memory import sql, times, tools
from memory.actor import Actor
from memory.entries.citations import Wanted
from memory.entries.filters import EntryFilters
from memory.entries.reading import listed
from memory.entries.review import review
from memory.errors import InvalidInput, NotFound
from memory.models import Record
from memory.records import log
from memory.scope import EVERYTHING, Scope
from memory.text import token_estimate
from tests.conftest import AgentHome, session_uuid
from tests.memory.entries.conftest import AGENT, OWNER, PERSON, RESULT, Writer, event


def ask(tool: str, *, scope: Scope = EVERYTHING, actor: Actor | None = AGENT, **arguments: object) -> dict[str, Any]:
    """Call a tool and return its answer."""
    answer: dict[str, Any] = json.loads(tools.call(tool, arguments, scope, UTC, actor))
    return answer


def found(**arguments: Any) -> list[str]:
    """Return the texts of the entries that a search gives."""
    return [entry["text"] for entry in ask("search", **arguments)["entries"]]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let records be written at a time of the test's choosing."""

    def set_clock(moment: str) -> None:
        monkeypatch.setattr(log, "now", lambda: moment)

    return set_clock


class TestFourCorners:
    """A fact of January, learnt in March, and corrected in May."""

    @pytest.fixture
    def learnt(self, owner: Writer, at: Any) -> tuple[str, str]:
        at("2026-03-10T00:00:00.000Z")
        first = owner.remember("The office is in Ghent.", valid_from="2026-01-01")
        at("2026-05-10T00:00:00.000Z")
        second = owner.correct(first.entry_id, "The office is in Bruges.")
        at(times.now())
        return first.entry_id, second.entry_id

    @pytest.mark.parametrize(
        ("valid_at", "known_at", "texts"),
        [
            ("2026-02-01", "2026-02-01", []),
            ("2026-02-01", "2026-04-01", ["The office is in Ghent."]),
            ("2026-02-01", "2026-06-01", ["The office is in Bruges."]),
            ("2025-12-01", "2026-06-01", []),
            ("2025-12-01", "2026-04-01", []),
            ("2026-02-01", "", ["The office is in Bruges."]),
            ("", "2026-04-01", ["The office is in Ghent."]),
            ("", "", ["The office is in Bruges."]),
        ],
    )
    def test_through_search_with_and_without_words(
        self, learnt: tuple[str, str], valid_at: str, known_at: str, texts: list[str]
    ) -> None:
        for query in ("where is the office?", "office", ""):
            assert found(query=query, valid_at=valid_at, known_at=known_at, **{"in": "entries"}) == texts, query

    def test_an_end_is_half_open_and_no_known_end_is_none(self, owner: Writer) -> None:
        first = owner.remember("The trial runs.", valid_from="2026-01-01", valid_to="2026-02-01")
        assert found(query="trial", **{"in": "entries"}) == []
        assert found(query="trial", valid_at="2026-01-31T23:59:59Z") == ["The trial runs."]
        assert found(query="trial", valid_at="2026-02-01T00:00:00Z") == []
        assert found(query="trial", history=True) == ["The trial runs."]
        assert ask("get", id=first.entry_id)["entry"]["status"] == "ended"

    def test_a_trust_of_then_is_asked_for_and_not_that_of_now(self, agent: Writer, at: Any) -> None:
        at("2026-03-10T00:00:00.000Z")
        first = agent.remember("The cloud is near.", Wanted(RESULT))
        at("2026-05-10T00:00:00.000Z")
        review(first.entry_id, "accept", "", OWNER)
        at(times.now())
        assert found(query="cloud", known_at="2026-04-01") == []
        assert found(query="cloud", known_at="2026-04-01", trust="proposed") == ["The cloud is near."]
        assert found(query="cloud") == found(query="cloud", known_at="2026-06-01") == ["The cloud is near."]


class TestWhatIsShown:
    def test_only_what_is_current_and_accepted_unless_asked(self, owner: Writer, agent: Writer) -> None:
        first = owner.remember("Deploys run on Mondays.")
        owner.correct(first.entry_id, "Deploys run on Tuesdays.")
        proposed = agent.remember("Deploys run by themselves.", Wanted(RESULT))
        rejected = agent.remember("Deploys run at night.", Wanted(RESULT))
        review(rejected.entry_id, "reject", "", OWNER)
        assert found(query="deploys run") == ["Deploys run on Tuesdays."]
        assert sorted(found(query="deploys run", history=True)) == [
            "Deploys run on Mondays.",
            "Deploys run on Tuesdays.",
        ]
        [entry] = ask("search", query="deploys run", trust="proposed")["entries"]
        assert (entry["id"], entry["trust"]) == (proposed.entry_id, "proposed")
        for trust in ("rejected", "believed"):
            with pytest.raises(InvalidInput):
                ask("search", query="deploys", trust=trust)
        with pytest.raises(NotFound):
            ask("get", id=rejected.entry_id)
        assert ask("get", id=rejected.entry_id, actor=OWNER)["entry"]["trust"] == "rejected"
        views, _ = listed(EVERYTHING, EntryFilters(trust="rejected"), limit=9)
        assert [view.entry.entry_id for view in views] == [rejected.entry_id]

    def test_get_gives_sources_versions_and_reviews(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(event(1), "keep sessions in SQLite"))
        second = owner.correct(first.entry_id, "Sessions live in SQLite 3.", sources=(Wanted(RESULT),))
        review(second.entry_id, "dispute", "is it?", OWNER)
        answer = ask("get", id=second.entry_id, actor=OWNER)
        assert answer["entry"]["trust"] == "disputed"
        assert answer["sources"] == [{"event": event(1), "quote": "keep sessions in SQLite"}, {"event": RESULT}]
        assert [(each["id"], each["status"]) for each in answer["versions"]] == [
            (first.entry_id, "superseded"),
            (second.entry_id, "active"),
        ]
        assert [(each["verdict"], each["reason"]) for each in answer["reviews"]] == [("dispute", "is it?")]
        lines = ask("sources", id=second.entry_id)["lines"]
        assert [line["event"] for line in lines] == [event(1), RESULT]
        assert PERSON in lines[0]["text"]

    def test_a_source_that_has_not_arrived_is_pending_and_one_that_is_gone_hidden(self, owner: Writer) -> None:
        receipt = owner.remember("Sessions live in SQLite.", Wanted(event(1)), Wanted(event(2)))
        sql.insert("excluded_event (event_id, tombstone)", [(event(2), "tmb_0")])
        assert ask("get", id=receipt.entry_id)["sources"][1] == {"event": event(2), "state": "hidden"}

    def test_timelines_show_what_was_remembered_then_and_there(self, owner: Writer) -> None:
        owner.remember("Sessions live in SQLite.")
        assert [e["text"] for e in ask("timeline", since="1d")["entries"]] == ["Sessions live in SQLite."]
        assert "entries" not in ask("timeline", until="2026-06-01")
        session = ask("timeline", session=f"claude-code:{session_uuid(1)}")
        assert [e["text"] for e in session["entries"]] == ["Sessions live in SQLite."]
        assert "entries" not in ask("timeline", session=f"claude-code:{session_uuid(2)}")


class TestFinding:
    @pytest.mark.parametrize(
        "query",
        [
            "unicode normaliser",
            "how do we fold unicode?",
            "fold_width",
            "foldWidth",
            "FoldWidth",
            '"every comparison"',
            "comparisons",
            "全角",
            "全角文字は何ですか",
            "ent",
        ],
    )
    def test_words_identifiers_phrases_and_cjk(self, owner: Writer, query: str) -> None:
        receipt = owner.remember("The Unicode normaliser fold_width folds 全角文字 before every comparison.")
        owner.remember("Lunch is at noon.", kind="memory")
        asked = receipt.entry_id if query == "ent" else query
        if query == "ent":
            assert ask("get", id=asked)["entry"]["id"] == receipt.entry_id
        else:
            assert [e["id"] for e in ask("search", query=asked)["entries"]] == [receipt.entry_id]

    def test_a_question_about_nothing_that_is_held_finds_no_entry(self, owner: Writer) -> None:
        owner.remember("Lunch is at noon.")
        assert found(query="which colour has the parrot?") == []

    def test_a_cursor_goes_on_until_everything_was_shown_once(self, owner: Writer) -> None:
        texts = {f"Rule {n} of the kitchen: {'stir ' * 30}{n}." for n in range(12)}
        for text in texts:
            owner.remember(text)
        cursor, seen = "", list[str]()
        for _ in range(30):
            asked: dict[str, Any] = {
                "query": "rule of the kitchen",
                "limit": 5,
                "max_tokens": 700,
                "cursor": cursor,
                "in": "entries",
            }
            answer = ask("search", **asked)
            seen += [entry["text"] for entry in answer["entries"]]
            cursor = answer["footer"].get("cursor", "")
            if not cursor:
                break
        assert sorted(seen) == sorted(texts)

    @given(st.text(max_size=60), st.integers(200, 900))
    @settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_no_words_raise_and_no_answer_is_over_budget(self, owner: Writer, query: str, budget: int) -> None:
        if not Record.objects.exists():
            for n in range(4):
                owner.remember(f"The rule {n} of 全角文字 {'word ' * 200}", kind="memory")
        text = tools.call("search", {"query": query, "max_tokens": budget}, EVERYTHING, UTC, AGENT)
        assert token_estimate(text) <= budget


class TestScope:
    def test_another_projects_entries_are_in_no_answer(self, owner: Writer, talk: AgentHome) -> None:
        canary = "the zanzibar agreement"
        theirs = owner.remember(f"Billing signed {canary}.", Wanted(event(7)))
        ours = owner.remember("App signed nothing.", Wanted(event(1)))
        nobodys = owner.remember("The person likes tea.", Wanted(event(1)), kind="cognition")
        everything = ask("search", query="zanzibar")
        assert [e["id"] for e in everything["entries"]] == [theirs.entry_id]
        calls: list[tuple[str, dict[str, Any]]] = [
            ("search", {"query": "zanzibar"}),
            ("search", {"query": "zanzibar", "in": "entries", "history": True, "explain": True}),
            ("search", {"query": "signed", "known_at": "2030-01-01"}),
            ("search", {"query": "", "project": "billing"}),
            ("search", {"query": "signed", "valid_at": "2030-01-01"}),
            ("timeline", {"since": "2020-01-01"}),
            ("timeline", {"since": "2020-01-01", "project": "billing"}),
            ("get", {"id": theirs.entry_id}),
            ("sources", {"id": theirs.entry_id}),
            ("correct", {"id": theirs.entry_id, "text": "It was signed."}),
            ("remember", {"kind": "knowledge", "text": f"Billing signed {canary}!", "sources": [{"event": event(1)}]}),
        ]
        for tool, arguments in calls:
            try:
                text = json.dumps(ask(tool, scope=Scope(("app",)), **arguments))
            except NotFound as error:
                text = str(error)
            assert canary not in text, (tool, arguments)
            assert theirs.entry_id not in text.replace(str(arguments.get("id")), ""), (tool, arguments)
        assert ask("search", query="signed nothing", scope=Scope(("app",)))["entries"][0]["id"] == ours.entry_id
        assert nobodys.project == "app"

    def test_writing_through_the_tools_gives_a_receipt(self, talk: AgentHome) -> None:
        source = {"quote": "nobody wants to run a server"}
        answer = ask("remember", kind="knowledge", text="No servers, please.", sources=[source])
        receipt = answer["receipt"]
        assert (receipt["outcome"], receipt["trust"], receipt["project"]) == ("created", "accepted", "app")
        again = ask("remember", kind="knowledge", text="No servers, please.", sources=[source])["receipt"]
        assert (again["outcome"], again["id"]) == ("duplicate", receipt["id"])
        corrected = ask("correct", id=receipt["id"], text="No servers at all.")["receipt"]
        assert corrected["corrected"] == [receipt["id"]]
        wrongs: tuple[dict[str, Any], ...] = ({"sources": [{"events": "x"}]}, {"sources": "x"}, {"kind": "rumour"})
        for wrong in wrongs:
            with pytest.raises(InvalidInput):
                ask("remember", **{"kind": "knowledge", "text": "Hm.", "sources": [source], **wrong})
