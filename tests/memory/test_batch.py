"""What is worked out about lines before any of it is written."""

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
