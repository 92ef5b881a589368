"""The person's words in a Codex log are told from what Codex put there; a tag that is merely quoted changes nothing."""

import pytest

from ingest.adapters.codex.markup import read_turn
from ingest.adapters.markup import Said

CONTEXT = "# Context from my IDE setup:\n\n## Active file: a.py\n\n"


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "<b>bold</b>",
        "<environment_context> stands in my log, why?",
        "why <turn_aborted>x</turn_aborted>",
        "<turn_aborted>x</turn_aborted>\nWhat does this mean?",
        "`<skill>x</skill>`",
        "<unknown_tag>x</unknown_tag>",
        "# Heading of mine\n\nand words",
        "# AGENTS.md instructions are not followed, why?",
        "My heading is\n## My request for Codex:\nwhat does it do?",
        "<image> is a tag",
    ],
)
def test_quoted_markup_stays_part_of_the_words(text: str) -> None:
    assert read_turn(text) == Said(text)


@pytest.mark.parametrize(
    ("text", "role"),
    [
        ("<environment_context>\n  <cwd>/w</cwd>\n</environment_context>", "system"),
        ("\n<user_instructions>\n\nbe brief\n\n</user_instructions>\n", "system"),
        ("# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nbe brief\n</INSTRUCTIONS>", "system"),
        ("<INSTRUCTIONS>be brief</INSTRUCTIONS>", "system"),
        ("<turn_aborted>\nstopped\n</turn_aborted>", "system"),
        ("<skill>\n<name>a</name>\nquotes </skill> itself\n</skill>", "system"),
        ('<subagent_notification>\n{"agent_path":"a"}\n</subagent_notification>', "system"),
        ("<recommended_plugins>a</recommended_plugins>", "system"),
        ("<permissions instructions>a</permissions instructions>", "system"),
        ("<user_shell_command>\n<command>ls</command>\n</user_shell_command>", "user"),
        ("<user_action>\n<action>review</action>\n</user_action>", "user"),
        (CONTEXT, "system"),
        (f"{CONTEXT}## My request for Codex:\n \n", "system"),
    ],
)
def test_what_the_program_put_there_is_meta(text: str, role: str) -> None:
    assert read_turn(text) == (text, True, role)


@pytest.mark.parametrize("heading", [CONTEXT, "# Files mentioned by the user:\n\n## a.py: /w/a.py\n\n"])
def test_of_an_editor_s_context_the_request_is_the_person_s(heading: str) -> None:
    assert read_turn(f"{heading}## My request for Codex:\nlight it\n") == Said("light it")


@pytest.mark.parametrize("text", ["<image name=[Image #1]>", "</image>", "<image>\n"])
def test_the_tags_around_an_image_say_nothing(text: str) -> None:
    assert read_turn(text).text == ""


@pytest.mark.parametrize(
    "text", ["<skill>" * 200_000, "<skill " * 200_000, " " * 4_000_000 + "<skill>", "# " * 500_000]
)
def test_a_text_of_megabytes_is_read_in_linear_time(text: str) -> None:
    assert read_turn(text) == Said(text)
