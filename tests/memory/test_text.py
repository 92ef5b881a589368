"""What counts as the same text, how CJK is found, and how long an answer is."""

import re
import sqlite3
import sys
import unicodedata
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import text as module
from memory.text import (
    cjk_bigrams,
    cjk_query,
    cjk_runs,
    cut,
    normalise,
    one_line,
    text_digest,
    token_estimate,
)

SURROGATES = st.characters(categories=["Cs"])
ANY_TEXT = st.text(
    st.one_of(st.characters(), SURROGATES, st.sampled_from(" \t\n\x00\x1f\u00a0\u200b\u3000.,'\"()「」。"))
)
ASCII_TEXT = st.text(st.characters(max_codepoint=127))
CJK = st.text(st.sampled_from("数据库迁移のがカタ字한국어々ー\U00020000\U00030000"), min_size=1, max_size=6)


def plain_normalise(text: str) -> str:
    """The definition, word for word and character by character, with nothing fast in it."""
    text = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    text = unicodedata.normalize("NFKC", text).casefold()
    text = "".join(c for c in text if unicodedata.category(c) != "Cf")
    text = "".join(" " if c.isspace() or unicodedata.category(c) == "Cc" else c for c in text)
    text = re.sub(" +", " ", text)
    edges = {c for c in text if c in " '\".,;:!?…。、" or unicodedata.category(c) in ("Ps", "Pe", "Pi", "Pf")}
    return text.strip("".join(edges)) if edges else text


@given(ANY_TEXT)
def test_normalise_is_the_definition_for_every_text(text: str) -> None:
    assert normalise(text) == plain_normalise(text)


@given(ASCII_TEXT)
def test_the_ascii_path_gives_what_the_general_path_gives(text: str) -> None:
    assert normalise(text) == module._normalise_any(text) == plain_normalise(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++", "c++"),
        ("C#", "c#"),
        ("+1", "+1"),
        ("👍", "👍"),
        ("$PATH", "$path"),
        ("  Use\tSQLite.\r\n", "use sqlite"),
        ('"Use SQLite!"', "use sqlite"),
        ("(see [1])", "see [1"),
        ("e.g. this", "e.g. this"),
        ("「使用 SQLite。」", "使用 sqlite"),
        ("Ｆｕｌｌ－ｗｉｄｔｈ…", "full-width"),
        ("stra\u00dfe", "strasse"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("a\x00\x1b b", "a b"),
        ("lone \ud800 half", "lone \ufffd half"),
        ("\u00ab oui \u00bb", "oui"),
        ("...", ""),
        ("", ""),
    ],
)
def test_normalise_keeps_what_means_something_and_drops_the_rest(text: str, expected: str) -> None:
    assert normalise(text) == expected


def test_the_dropped_format_characters_are_unicode_s_and_the_same_on_every_python() -> None:
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        listed = module._FORMAT.fullmatch(chr(code)) is not None
        assert listed or category != "Cf", f"U+{code:04X} is a format character that normalise keeps"
        assert not listed or category in ("Cf", "Cn"), f"U+{code:04X} is no format character"


def test_white_space_and_control_characters_are_one_gap() -> None:
    for code in range(sys.maxunicode + 1):
        gap = module._GAP.fullmatch(chr(code)) is not None
        assert gap == (chr(code).isspace() or unicodedata.category(chr(code)) == "Cc")


@given(ANY_TEXT)
def test_a_digest_is_sixteen_bytes_of_the_normal_form(text: str) -> None:
    assert text_digest(text) == sha256(plain_normalise(text).encode()).digest()[:16]


def test_copies_that_differ_in_quotes_case_and_space_have_one_digest() -> None:
    assert text_digest("Use  SQLite, please.") == text_digest("“use sqlite, please”")
    assert text_digest("C++") != text_digest("C")


def test_bigrams_overlap_and_end_in_the_last_character_of_each_run() -> None:
    assert cjk_bigrams("数据库") == "数据 据库 库"
    assert cjk_bigrams("把db迁移") == "把 迁移 移"
    assert cjk_bigrams("字") == "字"


def test_half_width_kana_are_indexed_as_the_kana_they_stand_for() -> None:
    assert cjk_bigrams("ﾃﾞｰﾀ") == cjk_bigrams("データ") == "デー ータ タ"


@pytest.mark.parametrize("text", ["", "plain ascii", "caf\u00e9 \u2014 \u00fcber", "\U0001f44d", "，。！「」"])
def test_a_text_without_cjk_has_no_bigrams(text: str) -> None:
    assert cjk_bigrams(text) == ""


@pytest.mark.parametrize(
    "character",
    ["\u4e00", "\u9fff", "\u3400", "\U00020000", "\U0002ebf0", "\U00030000", "\u3042", "\u30a2", "\ud55c", "\u3005"],
)
def test_every_cjk_script_is_indexed(character: str) -> None:
    assert cjk_runs(f"a{character}b") == [character]


def test_queries_have_the_shape_the_bigram_index_answers() -> None:
    assert cjk_query("字") == '"字"*'
    assert cjk_query("数据") == '"数据"'
    assert cjk_query("数据库") == '"数据 据库"'


@pytest.mark.parametrize("run", ["", "ab", '字"', "数 据", "数据x", "ﾃﾞｰﾀ"])
def test_only_a_run_of_cjk_becomes_a_query(run: str) -> None:
    with pytest.raises(ValueError, match="one run"):
        cjk_query(run)


def matches(text: str, run: str) -> bool:
    """Ask SQLite itself whether an index of `text` answers a query for `run`."""
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE VIRTUAL TABLE cjk USING fts5(text, tokenize='unicode61')")
    connection.execute("INSERT INTO cjk VALUES (?)", [cjk_bigrams(text)])
    found = connection.execute("SELECT count(*) FROM cjk WHERE cjk MATCH ?", [cjk_query(run)]).fetchone()[0]
    connection.close()
    return bool(found)


@given(st.lists(st.one_of(CJK, st.sampled_from(["a", " ", "db", "。", "\n"])), max_size=5).map("".join), CJK)
def test_a_run_is_found_exactly_where_it_occurs(text: str, run: str) -> None:
    assert matches(text, run) == (run in text)


@given(CJK, st.data())
def test_every_part_of_a_run_is_found(run: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(run) - 1))
    end = data.draw(st.integers(start + 1, len(run)))
    assert matches(f"x{run}y", run[start:end])


@given(ANY_TEXT)
def test_an_estimate_is_a_quarter_of_the_bytes_rounded_up(text: str) -> None:
    size = len("".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text).encode())
    assert token_estimate(text) * 4 - 3 <= size <= token_estimate(text) * 4


@given(ANY_TEXT, st.integers(-1, 20))
def test_a_cut_text_is_a_beginning_no_longer_than_its_limit(text: str, limit: int) -> None:
    assert text.startswith(cut(text, limit))
    assert len(cut(text, limit)) == min(len(text), max(limit, 0))


@given(ANY_TEXT, st.integers(-1, 20))
def test_a_title_is_one_line_within_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= max(limit, 0)
    assert line == " ".join(line.split())
    assert not any(unicodedata.category(c) == "Cc" for c in line)


def test_a_title_says_that_it_was_cut() -> None:
    assert one_line("first\n\tsecond   third", 12) == "first second\u2026"[:11] + "\u2026"
    assert one_line("first\n second", 12) == "first second"
    assert one_line("red \x1b[31malert", 40) == "red [31malert"
    assert one_line("anything", 0) == ""
