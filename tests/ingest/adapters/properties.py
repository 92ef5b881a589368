"""What must hold of every adapter's parser, whatever a line holds; hypothesis draws the lines."""

import json
from collections.abc import Iterable
from typing import Any

import msgspec
from hypothesis import strategies as st

from ingest.adapters.contract import Adapter
from memory.errors import MalformedLine
from memory.parsed import Line, ParsedLine, ParseLine, State
from tests.ingest.adapters.golden import cases

# Lines that no adapter can read, and the reason each is counted under.
BROKEN_LINES = [
    (b'{"type":"user","mess', "broken JSON"),
    (b"[1]", "not a JSON object"),
    (b"plain text", "not a JSON object"),
    (b'{"type":"mode"}{"type":"mode"}', "two records on one line"),
    (b'{"a":' * 2_000 + b"1" + b"}" * 2_000, "nested too deeply"),
    (b'{"a":' + b"9" * 5_000 + b"}", "a number too long to read"),
]
# What editors, systems and crashes leave before and after a record.
BYTES_AROUND = {
    "byte order mark": (b"\xef\xbb\xbf", b""),
    "CRLF": (b"", b"\r"),
    "NUL bytes": (b"\x00\x00", b"\x00"),
    "white space": (b" ", b"\t"),
}


def json_values(*texts: str) -> st.SearchStrategy[Any]:
    """Draw any JSON value, `texts` among it: a field may be of any type."""
    return st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9) | st.sampled_from(texts),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
        max_leaves=6,
    )


def sample_lines(adapter: Adapter) -> list[bytes]:
    """Return the lines of an adapter's samples."""
    logs = [case.log for case in cases() if case.adapter is adapter]
    return [line for log in logs for line in log.read_bytes().split(b"\n") if line]


def parse_or_none(parse_line: ParseLine, data: bytes, state: State, path: str) -> ParsedLine | None:
    """Parse a line; any error but that it is malformed is a failure."""
    try:
        return parse_line(Line(data, 1, path), state)
    except MalformedLine:
        return None


def damaged_lines(lines: st.SearchStrategy[bytes]) -> st.SearchStrategy[bytes]:
    """Draw lines of true shape that were cut off, or had a stretch overwritten."""

    def damage(line: bytes) -> st.SearchStrategy[bytes]:
        ends = st.tuples(st.integers(0, len(line)), st.integers(0, len(line))).map(sorted)
        cut = ends.map(lambda places: line[: places[0]])
        overwritten = st.tuples(ends, st.binary(max_size=2)).map(
            lambda drawn: line[: drawn[0][0]] + drawn[1] + line[drawn[0][1] :]
        )
        return st.just(line) | cut | overwritten

    return lines.flatmap(damage)


def check_a_stored_state_changes_nothing(parse_line: ParseLine, lines: Iterable[bytes], path: str) -> None:
    """Parse lines with the state as it is and as it comes back from the store: the events are the same.

    Nor may a state be changed where it lies, or hold what the store cannot, or one line give two events of one id.
    """
    straight: State = {}
    stored: State = {}
    for data in lines:
        before = json.dumps(straight)
        once, again = parse_or_none(parse_line, data, straight, path), parse_or_none(parse_line, data, stored, path)
        assert json.dumps(straight) == before
        if once is None or again is None:
            assert once is again
            continue
        msgspec.json.encode(once)
        assert (once.events, once.titles, once.at) == (again.events, again.titles, again.at)
        ids = [event.event_id for event in once.events]
        assert len(ids) == len(set(ids))
        straight, stored = once.state, json.loads(json.dumps(again.state))
