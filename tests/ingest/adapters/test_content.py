"""Content blocks become text that can be read, whatever their nesting, and never their binary data."""

import pytest

from ingest.adapters.content import call_text, flatten, named_files

DATA = "iVBORw0KGgoAAAANSUhEUg"


@pytest.mark.parametrize(
    ("block", "text"),
    [
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}}, "[image image/png]"),
        ({"type": "image", "source": {"type": "url", "url": "https://a.example/b"}}, "[image https://a.example/b]"),
        ({"type": "image", "source": {"type": "url", "url": f"data:image/gif;base64,{DATA}"}}, "[image image/gif]"),
        ({"type": "image", "data": DATA, "mimeType": "image/png"}, "[image image/png]"),
        ({"type": "image", "data": DATA}, "[image]"),
        ({"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"}, "[image image/png]"),
        ({"type": "input_image", "image_url": "https://a.example/b"}, "[image https://a.example/b]"),
        ({"type": "input_image", "image_url": None}, "[image]"),
        ({"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{DATA}"}}, "[image image/gif]"),
        ({"type": "pdf", "source": {"type": "base64", "data": DATA}}, "[pdf]"),
        ({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a page"}}, "a page"),
        ({"type": "resource", "resource": {"uri": "wick://a", "text": "cotton"}}, "cotton"),
        (
            {"type": "resource", "resource": {"uri": "wick://a", "mimeType": "image/png", "blob": DATA}},
            "[resource image/png wick://a]",
        ),
        ({"type": "tool_reference", "tool_name": "Grep"}, '{"type":"tool_reference","tool_name":"Grep"}'),
        ({"type": "text", "text": None}, ""),
        ({}, "{}"),
    ],
)
def test_a_block_is_shown_as_text(block: dict[str, object], text: str) -> None:
    assert flatten(block) == text


def test_nested_content_is_flattened_in_order() -> None:
    content = ["a", [{"type": "text", "text": "b"}, None], {"type": "tool_result", "content": [["c"], {"text": "d"}]}]
    assert flatten(content) == "a\nb\nc\nd"


def test_content_nested_beyond_reason_is_shown_as_json() -> None:
    content: object = "core"
    for _ in range(100):
        content = [content]
    assert flatten(content).strip("[]") == '"core"'


def test_a_call_reads_as_its_name_and_a_line_for_each_argument() -> None:
    assert call_text("Bash", {"command": "ls -l\npwd", "timeout": 5, "env": {"A": ["ü"]}}) == (
        'Bash\ncommand: ls -l\npwd\ntimeout: 5\nenv: {"A":["ü"]}'
    )
    assert call_text("", "free text") == "free text"
    assert call_text("Stop", None) == "Stop"


def test_the_files_a_call_names_are_kept_as_given() -> None:
    arguments = {
        "file_path": "src/a.py",
        "path": 3,
        "paths": ["b", None, "src/a.py", ["c"]],
        "note": "d",
        "filePath": "",
    }
    assert named_files(arguments) == ("src/a.py", "b")
    assert named_files({"files": [f"f{n}" for n in range(100)]}) == tuple(f"f{n}" for n in range(64))
    assert named_files({"path": "x" * 5_000}) == ()
    assert named_files("path") == ()
