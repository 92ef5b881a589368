"""Correcting and reviewing: one version is current, nothing proposed hides anything, and the owner decides."""

import pytest

from memory.entries.citations import Wanted
from memory.entries.review import count_waiting, review, waiting
from memory.errors import Conflict, Denied, InvalidInput, NotFound, Refused
from memory.models import AuditLog, Entry
from memory.scope import Scope
from tests.memory.entries.conftest import AGENT, OWNER, RESULT, Writer, event


def state(entry_id: str) -> tuple[str, bool, bool]:
    """Return (trust, superseded, lost) of a version."""
    entry = Entry.objects.get(entry_id=entry_id)
    return entry.trust, entry.superseded, entry.lost


class TestCorrect:
    def test_a_correction_takes_the_place_and_the_sources(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", confidence=60)
        second = owner.correct(first.entry_id, "Sessions live in SQLite 3.45.", sources=(Wanted(RESULT),))
        assert second.corrected == (first.entry_id,)
        assert (state(first.entry_id), state(second.entry_id)) == (
            ("accepted", True, False),
            ("accepted", False, False),
        )
        entry = Entry.objects.get(entry_id=second.entry_id)
        assert (entry.confidence, entry.kind, entry.project, entry.chain) == (100, "knowledge", "app", first.entry_id)
        assert list(entry.sources.order_by("position").values_list("event_id", flat=True)) == [event(1), RESULT]

    def test_an_agent_keeps_the_confidence_it_found(self, agent: Writer) -> None:
        first = agent.remember("Sessions live in SQLite.", confidence=60)
        second = agent.correct(first.entry_id, "Sessions live in SQLite 3.")
        assert Entry.objects.get(entry_id=second.entry_id).confidence == 60

    def test_only_its_end_may_be_given(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", valid_from="2026-01-01")
        second = owner.correct(first.entry_id, valid_to="2026-06-01")
        entry = Entry.objects.get(entry_id=second.entry_id)
        assert (entry.text, entry.valid_from[:10], entry.ends_at[:10]) == (
            "Sessions live in SQLite.",
            "2026-01-01",
            "2026-06-01",
        )
        with pytest.raises(InvalidInput):
            owner.correct(second.entry_id, valid_to="2025-06-01")

    def test_correcting_an_older_version_corrects_what_is_current(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        second = owner.correct(first.entry_id, "Sessions live in SQLite 3.")
        third = owner.correct(first.entry_id, "Sessions live in DuckDB.")
        assert third.corrected == (second.entry_id, first.entry_id)
        assert [state(each.entry_id)[1] for each in (first, second, third)] == [True, True, False]

    def test_a_proposed_correction_hides_nothing_until_it_is_accepted(self, agent: Writer, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.", Wanted(RESULT))
        second = agent.correct(first.entry_id, "Sessions live in the cloud.")
        assert (second.outcome, state(first.entry_id), state(second.entry_id)) == (
            "proposed",
            ("accepted", False, False),
            ("proposed", False, False),
        )
        review(second.entry_id, "accept", "", OWNER)
        assert (state(first.entry_id)[1], state(second.entry_id)) == (True, ("accepted", False, False))
        review(second.entry_id, "reject", "", OWNER)
        assert state(first.entry_id) == ("accepted", False, False)

    def test_a_disputed_correction_does_not_bring_back_what_it_corrected(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        second = owner.correct(first.entry_id, "Sessions live in SQLite 3.")
        review(second.entry_id, "dispute", "", OWNER)
        assert (state(first.entry_id)[1], state(second.entry_id)[0]) == (True, "disputed")

    def test_a_key_is_one_version(self, owner: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        second = owner.correct(first.entry_id, "Sessions live in SQLite 3.", key="k")
        assert owner.correct(first.entry_id, "Sessions live in SQLite 3.", key="k") == second
        with pytest.raises(Conflict):
            owner.correct(first.entry_id, "Sessions live elsewhere.", key="k")
        assert Entry.objects.count() == 2

    def test_what_is_not_seen_is_not_corrected(self, owner: Writer, agent: Writer) -> None:
        first = owner.remember("Sessions live in SQLite.")
        agent.scope = Scope(("billing",))
        for name in (first.entry_id, "ent_0000000000000000"):
            with pytest.raises(NotFound):
                agent.correct(name, "Sessions live elsewhere.")
        agent.scope = Scope(may_write=False)
        with pytest.raises(Denied):
            agent.correct(first.entry_id, "Sessions live elsewhere.")

    def test_a_rejected_statement_is_no_correction_either(self, owner: Writer, agent: Writer) -> None:
        rejected = agent.remember("Sessions live in the cloud.", Wanted(RESULT))
        review(rejected.entry_id, "reject", "", OWNER)
        first = owner.remember("Sessions live in SQLite.")
        with pytest.raises(Refused):
            agent.correct(first.entry_id, "Sessions live in the cloud.")


class TestReview:
    def test_what_is_proposed_or_disputed_waits_and_then_does_not(self, agent: Writer) -> None:
        first = agent.remember("Sessions live in the cloud.", Wanted(RESULT))
        second = agent.remember("Sessions live in the clouds.", Wanted(RESULT))
        assert [(each.entry_id, each.near) for each in waiting()] == [
            (first.entry_id, (second.entry_id,)),
            (second.entry_id, (first.entry_id,)),
        ]
        review(first.entry_id, "accept", "", OWNER)
        review(second.entry_id, "reject", "", OWNER)
        assert (waiting(), count_waiting()) == ([], 0)
        review(first.entry_id, "dispute", "", OWNER)
        assert [each.entry_id for each in waiting()] == [first.entry_id]

    def test_only_the_owner_reviews(self, agent: Writer) -> None:
        first = agent.remember("Sessions live in the cloud.", Wanted(RESULT))
        with pytest.raises(Denied):
            review(first.entry_id, "accept", "", AGENT)
        with pytest.raises(NotFound):
            review("ent_0000000000000000", "accept", "", OWNER)
        assert (state(first.entry_id)[0], AuditLog.objects.count()) == ("proposed", 1)
