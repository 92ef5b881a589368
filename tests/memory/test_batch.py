"""What is worked out about lines before any of it is written."""

from functools import partial

from memory.batch import BLOCKS_PER_LINE, Start, prepare
from memory.parsed import Line, ParsedEvent, ParsedLine, State


def test_an_event_over_several_lines_stands_where_it_begins() -> None:
    def parse_line(line: Line, state: State) -> ParsedLine:
        if line.number == 4:
            return ParsedLine(state, (ParsedEvent("a:1", "message", "user", "both", "s", line=2),))
        return ParsedLine(state)

    start = Start("a.jsonl", 1, {}, "", "2026-05-01T00:00:00.000Z")
    batch = prepare(b"{}\n{}\n{}\n{}\n", start, parse_line, 500)
    assert [(each.line, each.ordinal) for each in batch.events] == [(2, 2 * BLOCKS_PER_LINE)]


def test_blank_lines_are_not_counted_however_the_file_is_cut() -> None:
    lines = b"a\n\n  \nb\n\nc\n"
    for cut in (n for n in range(1, len(lines)) if lines[n - 1 : n] in b"abc\n"):
        seen: list[tuple[bytes, int, int]] = []
        start = Start("log", 1, {}, "", "")
        for piece in (lines[:cut], lines[cut:]):
            batch = prepare(piece, start, partial(noted, seen), 100)
            first_line = start.first_line + batch.newlines
            start = start._replace(first_line=first_line, open_line=batch.open_line, blank=start.blank + batch.blank)
        assert seen == [(b"a", 1, 0), (b"b", 4, 1), (b"c", 6, 2)], cut


def noted(seen: list[tuple[bytes, int, int]], line: Line, state: State) -> ParsedLine:
    seen.append((line.data, line.number, line.position))
    return ParsedLine(state)
