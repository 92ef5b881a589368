"""Records in any order give one state: what is derived depends on the set of them, never on their arrival."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import msgspec
import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from memory import sql
from memory.actor import Actor
from memory.errors import Conflict, InvalidInput
from memory.models import Record
from memory.mutation import mutation
from memory.records import clock, log
from memory.records.bodies import Correct, Effects, End, Exclude, Forget, Remember, RestoreBody, ReviewBody
from memory.records.canonical import canonical_json
from memory.records.wire import Wire, hash_of, wire
from tests.examples import examples

AGENT = Actor(kind="agent", name="codex", channel="mcp", device="laptop")
EVENTS = ("codex:t/1-aaaaaaaa", "codex:t/2-bbbbbbbb", "codex:t/3-cccccccc")


@dataclass
class Author:
    """Some store that writes records about a few entries, as its clock goes."""

    origin: str
    wires: list[Wire] = field(default_factory=list)

    def says(self, kind: str, body: object, ms: int) -> Wire:
        """Write one record."""
        text = canonical_json(msgspec.to_builtins(body))
        record = Record(
            origin=self.origin,
            oseq=len(self.wires) + 1,
            hlc_ms=ms,
            hlc_c=0,
            created_at=f"2026-03-01T00:00:{ms % 60:02d}.000Z",
            author="codex@laptop",
            kind=kind,
            body=text,
        )
        record.sha256 = hash_of(record)
        self.wires.append(wire(record))
        return self.wires[-1]


def remember(entry: str, text: str, *events: str, trust: str = "accepted") -> Remember:
    """Return a first version."""
    sources = [{"event": event} for event in events]
    return msgspec.convert(
        {"entry": entry, "kind": "knowledge", "text": text, "confidence": 80, "sources": sources, "trust": trust},
        Remember,
    )


def correct(entry: str, chain: str, older: tuple[str, ...], text: str, trust: str = "accepted") -> Correct:
    """Return a further version."""
    first = msgspec.to_builtins(remember(entry, text, EVENTS[0], trust=trust))
    return msgspec.convert({**first, "chain": chain, "supersedes": older}, Correct)


@st.composite
def histories(draw: st.DrawFn) -> list[Wire]:
    """What two stores said about two entries, in one order among many."""
    stores = [Author("a.1"), Author("b.1")]
    versions = ["ent_0000000000000000", "ent_0000000000000001"]
    chains = {name: name for name in versions}
    wires = [
        stores[0].says("remember", remember(name, f"statement {name}", EVENTS[number], EVENTS[2]), number)
        for number, name in enumerate(versions)
    ]
    for step in range(draw(st.integers(1, 9))):
        store, ms = draw(st.sampled_from(stores)), draw(st.integers(0, 40))
        target = draw(st.sampled_from(sorted(chains)))
        what = draw(st.sampled_from(["correct", "correct", "review", "end", "forget", "restore", "exclude"]))
        # A restore or an exclusion may come before its tombstone, or name one that never comes.
        tombstone = f"tmb_{draw(st.integers(0, step + 1)):016d}"
        if what == "correct":
            name = f"ent_{step + 2:016d}"
            older = draw(st.lists(st.sampled_from(sorted(chains)), min_size=1, max_size=2, unique=True))
            trust = draw(st.sampled_from(["accepted", "proposed"]))
            wires.append(store.says("correct", correct(name, chains[target], tuple(older), f"{name}", trust), ms))
            chains[name] = chains[target]
        elif what == "review":
            verdict = draw(st.sampled_from(["accept", "dispute", "reject"]))
            body = msgspec.convert({"review": f"rev_{step:016d}", "entry": target, "verdict": verdict}, ReviewBody)
            wires.append(store.says("review", body, ms))
        elif what == "end":
            ends_at = draw(st.sampled_from(["", "2026-03-01T00:00:30.000Z"]))
            wires.append(store.says("end", End(entry=target, ends_at=ends_at), ms))
        elif what == "forget":
            effects = Effects(entries=(target,), events=(draw(st.sampled_from(EVENTS)),))
            forget = Forget(tombstone=f"tmb_{step:016d}", target=target, reason="no", code="wrong", effects=effects)
            wires.append(store.says("forget", forget, ms))
        elif what == "restore":
            wires.append(store.says("restore", RestoreBody(tombstone=tombstone, reason="yes"), ms))
        else:
            events = (draw(st.sampled_from(EVENTS)),)
            wires.append(store.says("exclude", Exclude(tombstone=tombstone, events=events), ms))
    return wires


DERIVED = (
    "SELECT entry_id, chain, text, trust, superseded, lost, forgotten, ends_at FROM entry ORDER BY entry_id",
    "SELECT event_id, tombstone FROM excluded_event ORDER BY 1, 2",
    "SELECT entry_id, tombstone FROM forgotten_entry ORDER BY 1, 2",
    "SELECT holder, hex(digest) FROM value_digest ORDER BY 1, 2",
    "SELECT rowid FROM entry_words WHERE entry_words MATCH 'statement' ORDER BY 1",
)


def derived() -> list[list[sql.Result]]:
    """Return everything that follows from the records."""
    found = [sql.rows(query) for query in DERIVED]
    keys = {row[0]: row[1] for row in sql.rows("SELECT id, entry_id FROM entry")}
    return [*found[:-1], sorted((keys[key],) for (key,) in found[-1])]


class RollBack(Exception):
    """Ends an example and takes back all that it wrote."""


def told(*batches: list[Wire]) -> list[list[sql.Result]]:
    """Give an empty store these records and return what it makes of them."""
    with contextlib.suppress(RollBack), transaction.atomic():
        for batch in batches:
            log.receive(batch)
        found = derived()
        raise RollBack
    return found


class TestAnyOrderIsOneState:
    @given(histories(), st.randoms(use_true_random=False))
    @examples(15)
    def test_in_one_go_one_by_one_and_backwards_twice(self, store: Path, wires: list[Wire], random: Random) -> None:
        shuffled = list(wires)
        random.shuffle(shuffled)
        expected = told(wires)
        assert told(*([one] for one in shuffled)) == expected
        assert told(wires[::-1], shuffled) == expected

    def test_the_histories_reach_what_they_are_for(self, store: Path) -> None:
        author = Author("a.1")
        first, second = "ent_0000000000000000", "ent_0000000000000001"
        effects = Effects(entries=(first,), events=(EVENTS[0],))
        wires = [
            author.says("remember", remember(first, "statement one", EVENTS[0]), 1),
            author.says("correct", correct(second, first, (first,), "statement two"), 2),
            author.says("forget", Forget(tombstone="tmb_1", target=first, reason="", code="wrong", effects=effects), 3),
        ]
        [entries, excluded, forgotten, _, words] = told(wires)
        assert [(row[4], row[6]) for row in entries] == [(1, 1), (0, 1)], "superseded, and both forgotten"
        assert (excluded, forgotten, words) == ([(EVENTS[0], "tmb_1")], [(first, "tmb_1")], [])
        wires.append(author.says("restore", RestoreBody(tombstone="tmb_1", reason="yes"), 4))
        [entries, excluded, forgotten, _, words] = told(wires)
        assert [(row[4], row[6]) for row in entries] == [(1, 0), (0, 0)]
        assert (excluded, forgotten, words) == ([], [], [(first,), (second,)])


class TestWhatComesFromElsewhere:
    def test_a_record_that_is_not_what_its_hash_says_is_refused(self, store: Path) -> None:
        said = Author("a.1").says("remember", remember("ent_0000000000000000", "x", EVENTS[0]), 1)
        with pytest.raises(InvalidInput):
            log.receive([msgspec.structs.replace(said, body=said.body.replace('"x"', '"y"'))])

    def test_one_number_with_two_contents_is_a_conflict(self, store: Path) -> None:
        one, other = (Author("a.1").says("remember", remember(f"ent_{n:016d}", "x", EVENTS[0]), 1) for n in (0, 1))
        log.receive([one, one])
        with pytest.raises(Conflict):
            log.receive([other])

    def test_a_kind_or_a_shape_of_the_future_is_kept_and_says_nothing(self, store: Path) -> None:
        author = Author("a.1")
        strange = [author.says("dream", {"of": "sheep"}, 1), author.says("remember", {"entry": 7}, 2)]
        known = author.says("remember", {**msgspec.to_builtins(remember("ent_1", "x", EVENTS[0])), "mood": "calm"}, 3)
        log.receive([*strange, known])
        assert Record.objects.count() == 3
        assert '"mood":"calm"' in Record.objects.get(oseq=3).body
        assert sql.rows("SELECT entry_id FROM entry") == [("ent_1",)]

    def test_a_clock_years_ahead_is_taken_in_and_does_not_drag_ours(self, store: Path) -> None:
        author = Author("a.1")
        log.receive([author.says("remember", remember("ent_1", "x", EVENTS[0]), 2**45)])
        with mutation("remember", AGENT):
            ours = log.write(remember("ent_2", "y", EVENTS[0]), AGENT.author)
        assert ours.hlc_ms < 2**44
        assert (ours.oseq, ours.author) == (1, "codex@laptop")


def test_records_of_one_store_are_numbered_and_never_go_back_in_time(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([1000, 900, 900, 1001])
    monkeypatch.setattr(clock, "_wall", lambda: next(times))
    with mutation("remember", AGENT):
        written = [log.write(remember(f"ent_{n}", "x", EVENTS[0]), AGENT.author) for n in range(4)]
    assert [(r.oseq, r.hlc_ms, r.hlc_c) for r in written] == [(1, 1000, 0), (2, 1000, 1), (3, 1000, 2), (4, 1001, 0)]
