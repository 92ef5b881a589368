"""The person's words are told from what Cursor writes around them, and a time only where it is one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.adapters.cursor.prompt import Prompt, read_prompt, spoken_time

INFO = "<user_info>\nOS: x\nWorkspace Path: /w/my lamp\nShell: bash\n</user_info>"
TIME = "<timestamp>Tuesday, Oct 6, 2026, 7:20 PM (UTC-7)</timestamp>"
AT = "2026-10-07T02:20:00.000Z"


def query(words: str) -> str:
    return f"<user_query>\n{words}\n</user_query>"


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "  leading white space",
        "<b>bold</b> words",
        "<div>\n<user_query>\nquoted in a page\n</user_query>\n</div> what is this?",
        "why does `<user_query>` stand in my log?",
        f"{TIME.replace('<', '&lt;')} is a time",
        "<system_reminder> is never closed here",
    ],
)
def test_text_without_cursor_s_markup_is_the_person_s_as_it_is(text: str) -> None:
    assert read_prompt(text) == Prompt(text)


def test_the_words_stand_inside_the_query_and_the_rest_is_context() -> None:
    files = "<attached_files>\nlamp.py\n</attached_files>"
    found = read_prompt(
        f"{INFO}\n\n<rules>\nbe kind\n</rules>\n{files}\n{TIME}\n{query('light it')}\n<git_status>x</git_status>"
    )
    assert found == Prompt("light it", f"{files}\n<git_status>x</git_status>", AT, "/w/my lamp")


def test_words_may_quote_the_markup_they_stand_in() -> None:
    words = "why </user_query> and <timestamp>Oct 6, 2026, 1:00 AM (UTC)</timestamp>?"
    assert read_prompt(query(words)) == Prompt(words)


def test_prompts_that_were_sent_together_are_all_the_person_s() -> None:
    assert read_prompt(f"{TIME}\n{query('one')}\n{TIME}\n{query('two')}") == Prompt("one\n\ntwo", at=AT)


def test_a_query_that_is_never_closed_goes_to_the_end() -> None:
    assert read_prompt("<user_query>\nlight it").words == "light it"


def test_a_query_is_found_behind_context_that_is_no_element() -> None:
    assert read_prompt(f"{INFO}\nsome line\n{query('light it')}").words == "light it"


def test_words_after_context_without_a_query_are_the_person_s() -> None:
    found = read_prompt(f"{INFO}\nlight it")
    assert (found.words, found.workspace, found.context) == ("light it", "/w/my lamp", "")


def test_a_text_that_is_all_context_has_no_words() -> None:
    assert read_prompt(INFO) == Prompt("", "", "", "/w/my lamp", INFO)


@pytest.mark.parametrize(
    "text",
    [
        f"{TIME}\n<git_status>x</git_status>\n{query('light it')}",
        f"{TIME}\nsome line\n{query('light it')}",
        query(f"{TIME} is what it said"),
        f"<rules>\n{TIME}\n</rules>\n{query('light it')}",
        f"{INFO}\n{TIME}",
    ],
)
def test_a_time_counts_only_directly_before_the_query(text: str) -> None:
    # Pitfall 29.
    assert read_prompt(text).at == ""


@pytest.mark.parametrize(
    "text",
    [
        "Tuesday, Oct 6, 2026, 7:20 PM (UTC-7)",
        "Tuesday, October 6, 2026 at 7:20\u202fPM (UTC\u22127)",
        "Tue, 6 Oct 2026, 19:20 (UTC-07:00)",
        "Dienstag, 6. Oktober 2026 um 19:20 (UTC-7)",
        "mar. 6 oct. 2026, 19:20 (GMT-7)",
        "Oct 7, 2026, 2:20 a.m. UTC",
        "2026-10-06 19:20:00 (UTC-7)",
        "2026年10月6日 19:20 (UTC-7)",
        "Oct 7, 2026, 7:50 AM (UTC+5:30)",
        "Oct 7, 2026, 7:50 AM (UTC+0530)",
    ],
)
def test_one_instant_is_read_in_many_spellings(text: str) -> None:
    assert spoken_time(text) == AT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "yesterday evening (UTC)",
        "Tuesday, Oct 6, 2026, 7:20 PM",
        "Oct 6, 2026 (UTC-7)",
        "Floréal 6, 2026, 7:20 PM (UTC-7)",
        "10/6/2026, 7:20 PM (UTC-7)",
        "Oct 6, 2026, 13:20 PM (UTC-7)",
        "Oct 36, 2026, 7:20 PM (UTC-7)",
        "Oct 6, 2026, 7:60 PM (UTC-7)",
        "Oct 6, 2026, 7:20 PM (UTC-77)",
        "Oct 6, 0000, 7:20 PM (UTC-7)",
        "2026年10月6日 下午7:20 (UTC-7)",
        "Oct 6, 2026, 7:20 PM (UTC-7)" + " " * 200,
    ],
)
def test_a_time_that_is_not_sure_is_none(text: str) -> None:
    assert spoken_time(text) == ""


MANY = 200_000


@pytest.mark.parametrize(
    "text",
    [
        "<user_query>" * MANY,
        "</user_query><user_query>" * MANY,
        "<rules></rules>" * MANY,
        "<rules>" * MANY,
        "<rules>x</rules>" + "\n<user_query>" * MANY,
        "<user_query>" + "</user_query> " * MANY,
        "<user_info>" + "Workspace Path:" * MANY + "</user_info>",
        "<rules " * MANY,
        "<" + " " * MANY,
    ],
)
def test_a_text_of_megabytes_is_read_in_linear_time(text: str) -> None:
    # Were it quadratic, this would not come back for minutes.
    read_prompt(text)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from([INFO, TIME, "<user_query>", "</user_query>", "<rules>", "</rules>", "words", "\n", "<"]))
)
def test_any_markup_gives_words_or_context(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = read_prompt(text)
    assert found.words or found.context or not text.strip() or "<user_query>" in text


@settings(deadline=None)
@given(st.text(alphabet="OctMay 0123456789:,()+-UTCGMapm.\u202f年", max_size=60))
def test_any_text_gives_a_time_or_nothing(text: str) -> None:
    assert len(spoken_time(text)) in (0, 24)
