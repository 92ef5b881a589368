"""The person's words are told from the markup around them; a tag that is merely quoted changes nothing."""

import pytest

from ingest.adapters.markup import Said, read_turn, without_last_reminders, without_reminders

REMINDER = "<system-reminder>\nmind the lamp\n</system-reminder>"


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "  \n<b>bold</b> words",
        "<command-name>/clear</command-name> stands in my log, why?",
        "why <command-args>x</command-args>",
        "<system-reminder> is never closed here",
        "a `<system-reminder>x</system-reminder>` in backticks",
        'a "<system-reminder>x</system-reminder>" in quotes',
        "[Request interrupted by user] stands in my log, why?",
        "Caveat: I know little of lamps.",
        "<task-notification>x</task-notification>\nWhat does this mean?",
    ],
)
def test_quoted_markup_stays_part_of_the_words(text: str) -> None:
    assert read_turn(text) == Said(text)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("<command-name>/clear</command-name>\n<command-args></command-args>", "user"),
        (" <bash-input>ls</bash-input>\n", "user"),
        ("[Request interrupted by user for tool use]", "user"),
        ("<bash-stdout></bash-stdout><bash-stderr>no</bash-stderr>", "system"),
        ('<teammate-message teammate_id="a">x</teammate-message>\n<teammate-message>y</teammate-message>', "system"),
        (f"{REMINDER}\n{REMINDER}", "system"),
        ("<task-notification>x</task-notification>\nFull transcript available at: /tmp/a", "system"),
        ("This session is being continued from a previous conversation that ran out of context.", "system"),
    ],
)
def test_a_text_that_is_all_markup_is_meta(text: str, role: str) -> None:
    assert read_turn(text) == (text, True, role)


def test_what_the_person_typed_inside_markup_is_theirs() -> None:
    assert read_turn("<command-name>/fix</command-name><command-args> the lamp </command-args>") == Said("the lamp")
    assert read_turn("<user-memory-input>use cotton</user-memory-input>") == Said("use cotton")


def test_markup_without_content_says_nothing() -> None:
    assert read_turn("<local-command-stdout> </local-command-stdout>").text == ""


def test_reminders_are_cut_out_of_words() -> None:
    assert read_turn(f"one\n{REMINDER}\n\ntwo {REMINDER} three\n{REMINDER}") == Said("one\n\ntwo three")
    assert without_reminders("no tag at all\n") == "no tag at all\n"


def test_reminders_appended_to_a_tools_output_are_cut_off() -> None:
    assert without_last_reminders(f"output\n\n{REMINDER}\n{REMINDER}\n") == "output"
    assert without_last_reminders(REMINDER) == REMINDER
    assert without_last_reminders(f"7→{REMINDER}") == f"7→{REMINDER}"
    assert without_last_reminders(f"{REMINDER}\nmore") == f"{REMINDER}\nmore"


MANY = 200_000


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<system-reminder>" * MANY, "<system-reminder>" * MANY),
        ("`<system-reminder>" * MANY + "</system-reminder>", "`<system-reminder>" * MANY + "</system-reminder>"),
        ("<system-reminder>x</system-reminder>" * MANY + "words", "words"),
        ("<command-name>x</command-name>" * MANY + "words", "<command-name>x</command-name>" * MANY + "words"),
        ("<command-name " * MANY, "<command-name " * MANY),
        (" " * 20 * MANY + "words", " " * 20 * MANY + "words"),
    ],
    ids=["open", "quoted", "reminders", "wrappers", "tags without end", "white space"],
)
def test_a_text_of_megabytes_is_read_in_linear_time(text: str, words: str) -> None:
    # Were it quadratic, this would not come back for minutes.
    assert read_turn(text) == Said(words)
    assert without_last_reminders(text) == text
