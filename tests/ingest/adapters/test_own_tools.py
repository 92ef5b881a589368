"""Origin's own calls are recognised by name, and its answers by shape, so that their text is never kept."""

import pytest

from ingest.adapters.own_tools import is_own_answer, is_own_tool, own_call_text


@pytest.mark.parametrize(
    "name",
    [
        *("mcp__origin__search", "mcp__plugin_origin_origin__forget", "mcp__Origin-hub__remember"),
        *("mcp-user-origin-search", "mcp_origin_get", "origin__search", "origin_forget"),
    ],
)
def test_own_tools_are_recognised(name: str) -> None:
    assert is_own_tool(name)


@pytest.mark.parametrize(
    "name",
    [
        "search",
        "mcp__memory__search",
        "mcp__origin__delete",
        "mcp__origin__search_more",
        "mcp-origin",
        "original_search",
        "",
    ],
)
def test_other_tools_are_not(name: str) -> None:
    assert not is_own_tool(name)


@pytest.mark.parametrize(
    "text",
    [
        '{"entries":[],"hits":[],"footer":{}}',
        ' {\n  "entries": [',
        '{"cursor":"","hits":[{"text":"x"}],"footer":{"left_out":1}}',
        '<persisted-output>\nOutput too large (40KB). Full output saved to: /x\n\nPreview:\n{"entries":[{"text":"x"',
    ],
)
def test_own_answers_are_recognised_under_any_name(text: str) -> None:
    assert is_own_answer(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"hits":[]}',
        'see {"entries":[]}',
        '"hits":[ and "footer":{',
        "<persisted-output>\nfull output saved to: /x",
    ],
)
def test_other_results_are_not(text: str) -> None:
    assert not is_own_answer(text)


@pytest.mark.parametrize(
    ("asked", "kept"),
    [
        ("ent_00112233445566ff", ["ent_00112233445566ff"]),
        ("claude-code:0000e4e1-0000-4000-8000-000000000001#2", ["claude-code:0000e4e1-0000-4000-8000-000000000001#2"]),
        (["tmb_00112233445566ff", "the secret"], ["tmb_00112233445566ff"]),
        ("the secret", []),
        ("ent_00112233445566ff the secret", []),
        (None, []),
    ],
)
def test_of_a_call_only_the_tool_and_ids_are_kept(asked: object, kept: list[str]) -> None:
    text = own_call_text("mcp__origin__get", "toolu_1", {"id": asked, "reason": "the secret", "query": "the secret"})
    assert text.split("\n") == ["mcp__origin__get", "toolu_1", *kept]
