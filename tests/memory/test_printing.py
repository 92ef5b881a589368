"""What commands print can be read, and steers no terminal."""

import io
import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.management.printing import Paper, counted, json_text, printable, size

OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
HOSTILE = st.lists(
    st.one_of(
        st.text(), st.sampled_from(["\x1b[2J", "\x1b]0;title\x07", "\x1b", "[31m", "\x9b5A", "\x07", "\r", "\x1b\\"])
    )
).map("".join)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(HOSTILE)
def test_no_control_character_but_newline_and_tab_is_printed(text: str) -> None:
    assert not OBEYED.search(printable(text))


@given(HOSTILE)
def test_a_piped_page_holds_no_control_character(text: str) -> None:
    out = io.StringIO()
    paper = Paper(out)
    paper.line(text, "bold", indent=2)
    paper.table((text, "b"), [(text, text)], right=[1])
    paper.raw(text)

    assert not OBEYED.search(out.getvalue())


@given(st.text())
def test_json_holds_no_control_character_and_says_the_same(text: str) -> None:
    value = {"text": text.encode("utf-8", "replace").decode()}

    written = json_text(value, indented=False)

    assert not OBEYED.search(written)
    assert json.loads(written) == value


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1))
def test_ordinary_text_is_printed_as_it_is(text: str) -> None:
    assert printable(f"a\t{text}\n") == f"a\t{text}\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;owned\x07prompt", "prompt"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b31mred", "red"),
        ("10%\r20%\r\n", "10%\n20%\n"),
        ("user\u202egnp.exe", "usergnp.exe"),
        ("\udc80", "\ufffd"),
    ],
)
def test_escape_sequences_leave_nothing_behind(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_square_brackets_are_no_markup() -> None:
    out = Terminal()
    Paper(out).line("[bold]x[/bold] :smile: [link=http://x]y[/link]")

    assert out.getvalue() == "[bold]x[/bold] :smile: [link=http://x]y[/link]\n"


def test_a_piped_line_is_neither_wrapped_nor_coloured() -> None:
    out = io.StringIO()
    Paper(out).line("word " * 500, "bold red")

    assert out.getvalue() == ("word " * 500).rstrip() + "\n"


def test_colours_appear_on_a_terminal_only_where_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    coloured, plain = Terminal(), Terminal()
    Paper(coloured).line("x", "red")
    Paper(plain, colour=False).line("x", "red")

    assert "\x1b[31m" in coloured.getvalue()
    assert "\x1b[31m" not in plain.getvalue()


def test_columns_line_up_also_under_wide_characters() -> None:
    out = io.StringIO()
    Paper(out).table(("name", "n"), [("数据库", 5), ("ab", 12)], right=[1])

    assert out.getvalue() == "name     n\n数据库   5\nab      12\n"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_999, "1.0 MB"), (12_300_000, "12.3 MB")]
)
def test_sizes_are_written_as_a_person_reads_them(count: int, text: str) -> None:
    assert size(count) == text


def test_one_is_not_plural() -> None:
    assert (counted(1, "line"), counted(2_000, "line")) == ("1 line", "2,000 lines")
