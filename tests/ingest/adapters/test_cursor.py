"""What a line of a Cursor transcript becomes, and where Cursor's files are looked for."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Environment
from ingest.adapters.cursor import ADAPTER, discover, parse_line
from memory.errors import MalformedLine
from memory.json_line import split_objects
from memory.parsed import Line
from tests.ingest.adapters.cursor_files import (
    CHILD,
    IDE,
    LEGACY,
    NESTED,
    SESSION,
    STORE,
    ChatStore,
    Record,
    calls,
    event,
    events,
    parse_all,
    prompt,
    says,
    text,
)
from tests.ingest.adapters.golden import read_lines
from tests.ingest.adapters.properties import (
    check_a_stored_state_changes_nothing,
    damaged_lines,
    json_values,
    parse_or_none,
    sample_lines,
)

FLAT = f"projects/w-lamp/agent-transcripts/{SESSION}.jsonl"
CHILD_OF = f"projects/w-lamp/agent-transcripts/{SESSION}/subagents/{CHILD}.jsonl"
OCTOBER = "Tuesday, Oct 6, 2026, 7:20 PM (UTC-7)"
AT = "2026-10-07T02:20:00.000Z"


# Identity


def test_an_event_is_named_by_its_session_the_number_of_its_record_and_the_bytes_of_its_line() -> None:
    record = says("assistant", text("one"), calls("Shell", command="ls"), text("two"), calls("Read", path="a.py"))
    digest = hashlib.sha256(json.dumps(record).encode()).hexdigest()[:8]
    found = events(prompt("hi"), record)[1:]
    assert [(each.event_id, each.text, each.block) for each in found] == [
        (f"cursor:{SESSION}/1-{digest}", "one\n\ntwo", 0),
        (f"cursor:{SESSION}/1-{digest}#1", "Shell\ncommand: ls", 1),
        (f"cursor:{SESSION}/1-{digest}#3", "Read\npath: a.py", 3),
    ]


def test_one_session_has_the_same_ids_in_both_layouts() -> None:
    assert [each.event_id for each in events(prompt("hi"), path=FLAT)] == [
        each.event_id for each in events(prompt("hi"), path=NESTED)
    ]


def test_lines_are_counted_whatever_they_say_and_blank_ones_are_not() -> None:
    data = [b'{"type":"turn_ended","status":"success"}', b"{torn", json.dumps(prompt("hi")).encode()]
    together = read_lines(parse_line, b"\n\n".join(data), NESTED)
    assert together["lines"][2]["events"][0]["event_id"].startswith(f"cursor:{SESSION}/2-")


@pytest.mark.parametrize("around", [(b"\xef\xbb\xbf", b""), (b"", b"\r"), (b"\x00\x00", b"\x00"), (b" ", b"\t")])
def test_bytes_around_a_record_change_nothing(around: tuple[bytes, bytes]) -> None:
    # Pitfall 38.
    data = json.dumps(prompt("light it")).encode()
    assert parse_line(Line(around[0] + data + around[1], 1, NESTED), {}) == parse_line(Line(data, 1, NESTED), {})


def test_a_line_that_was_edited_is_another_event() -> None:
    assert event(prompt("one")).event_id != event(prompt("two")).event_id


# Places


def test_a_sub_agent_is_a_session_below_the_one_whose_folder_it_lies_in() -> None:
    # Pitfall 30.
    found = event(prompt("count the lamps"), path=CHILD_OF)
    assert (found.session, found.parent, found.sub_agent) == (f"{SESSION}/{CHILD}", SESSION, True)
    assert found.event_id.startswith(f"cursor:{CHILD}/0-")


def test_sub_agents_whose_names_are_no_ids_are_told_apart_by_their_parents() -> None:
    paths = [f"projects/w/agent-transcripts/{parent}/subagents/child.jsonl" for parent in ("a", "b")]
    assert len({event(prompt("hi"), path=path).event_id for path in paths}) == 2


@pytest.mark.parametrize(
    ("path", "session"),
    [
        ("projects/w/agent-transcripts/talk.jsonl", "talk"),
        ("projects/w/agent-transcripts/talk/main.jsonl", "talk"),
        (f"projects/w/agent-transcripts/talk/{SESSION}.jsonl", SESSION),
        ("root-0a1b2c3d/projects/w/agent-transcripts/talk.txt", "talk"),
        ("talk.jsonl", "talk"),
    ],
)
def test_a_session_is_named_by_its_file_else_by_its_folder(path: str, session: str) -> None:
    assert parse_line(Line(b'{"role":"user","message":"x","text":"x"}', 1, path), {}).events[0].session == session


def test_the_directory_is_the_workspace_that_cursor_names() -> None:
    # Pitfall 20: the folder's name is never decoded.
    info = "<user_info>\nWorkspace Path: /w/lamp-post\n</user_info>"
    first = says("user", text(f"{info}\n<user_query>hi</user_query>"))
    found = events(first, says("assistant", calls("Shell", working_directory="/w/lamp-post/src")))
    assert {each.cwd for each in found} == {"/w/lamp-post"}


def test_without_a_workspace_the_directory_is_the_first_that_a_tool_works_in() -> None:
    work = [says("assistant", calls("Shell", working_directory=path)) for path in ("", r"C:\w\lamp", "/elsewhere")]
    found = events(prompt("hi"), *work)
    assert [each.cwd for each in found] == ["", "", r"C:\w\lamp", r"C:\w\lamp"]


# Times


def test_a_prompt_s_time_is_its_tag_s_to_the_minute_and_its_offset() -> None:
    # Pitfall 28.
    asked, said = parse_all(
        [json.dumps(each).encode() for each in (prompt("hi", OCTOBER), says("assistant", text("ho")))], NESTED
    )
    assert (asked.at, asked.events[0].at) == (AT, AT)
    # The archive gives what follows the last time there was, and says so.
    assert (said.at, said.events[0].at) == ("", "")


def test_a_record_s_own_time_is_preferred() -> None:
    assert event(prompt("hi", OCTOBER) | {"timestamp": "2026-10-07T02:20:31Z"}).at == "2026-10-07T02:20:31.000Z"
    assert (
        event({"role": "user", "message": {"content": "hi", "createdAt": 1_791_339_631_000}}).at
        == "2026-10-07T02:20:31.000Z"
    )


# What was said


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user", "message": {"content": "light it"}},
        {"role": "user", "message": {"content": ["light it"]}},
        {"role": "user", "message": {"content": {"type": "text", "text": "light it"}}},
        {"role": "user", "message": "light it"},
        {"role": "user", "content": [{"type": "text", "text": "light it"}]},
        {"message": {"role": "user", "content": "light it"}},
        says("user", None, 3, text(None), text(" "), text("light it")),
    ],
)
def test_content_of_every_shape_is_read(record: Record) -> None:
    # Pitfall 13.
    (found,) = events(record)
    assert (found.kind, found.role, found.text) == ("message", "user", "light it")


@pytest.mark.parametrize(
    "record",
    [
        {"role": "user"},
        {"role": "assistant", "message": None},
        {"role": "assistant", "message": {"content": 5}},
        {"role": 7, "message": {"content": "x"}},
        {"role": ["user"], "message": {"content": "x"}},
        {"role": "system", "message": {"content": "You are an agent."}},
        {"type": "turn_ended", "status": "success"},
        {"type": "lamp-trimmed", "error": None},
        {},
    ],
)
def test_a_record_that_says_nothing_makes_no_event(record: Record) -> None:
    # Pitfalls 43 and 45.
    assert events(record) == []


def test_what_cursor_adds_to_a_prompt_is_meta_beside_the_words() -> None:
    found = events(says("user", text("<attached_files>\na\n</attached_files>\n<user_query>\nhi\n</user_query>")))
    assert [(each.kind, each.role, each.event_id[-2:]) for each in found] == [
        ("message", "user", found[0].event_id[-2:]),
        ("meta", "system", "#0"),
    ]


def test_a_turn_that_is_all_cursor_s_is_meta() -> None:
    # Pitfall 17.
    found = events(says("user", text("<system_reminder>\nstay\n</system_reminder>")))
    assert [(each.kind, each.text) for each in found] == [("meta", "<system_reminder>\nstay\n</system_reminder>")]


def test_context_in_a_block_of_its_own_is_not_the_person_s() -> None:
    info = text("<user_info>\nOS: x\n</user_info>")
    assert [(each.kind, each.text) for each in events(says("user", info, text("<user_query>hi</user_query>")))] == [
        ("message", "hi")
    ]


def test_reasoning_is_no_event_and_its_stand_in_no_text() -> None:
    thought = [{"type": kind, "text": "hm"} for kind in ("thinking", "reasoning", "redacted-reasoning")]
    assert events(says("assistant", *thought, text("[REDACTED]"))) == []
    assert event(says("assistant", text("I look.\n\n[REDACTED]\n"))).text == "I look."
    assert event(says("assistant", text("[REDACTED]\nI look."))).text == "I look."
    quoting = "It says [REDACTED] here."
    assert event(says("assistant", text(quoting))).text == quoting


def test_images_become_placeholders() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
    assert event(says("user", image, text("see"))).text == "[image image/png]\n\nsee"


def test_a_turn_that_failed_says_why() -> None:
    found = event({"type": "turn_ended", "status": "error", "error": "usage limit"})
    assert (found.kind, found.role, found.text) == ("meta", "system", "turn_ended: usage limit")
    assert event({"error": {"text": "no network"}, "type": 5}).text == "error: no network"


def test_a_block_of_an_unknown_kind_is_meta() -> None:
    found = event(says("assistant", text("a"), {"type": "hologram", "text": "blue"}))
    assert (found.kind, found.text, found.event_id[-2:]) == ("meta", "blue", "#1")


def test_the_model_is_named_where_a_record_names_it() -> None:
    assert event(says("assistant", text("a"), model="lamp-1")).model == "lamp-1"
    assert event(says("user", text("a"), model="lamp-1")).model == ""


# Tools


def test_a_call_names_its_files() -> None:
    found = event(says("assistant", calls("StrReplace", path="/w/a.py", old_string="a", new_string="b")))
    assert (found.kind, found.tool, found.files) == ("tool_call", "StrReplace", ("/w/a.py",))
    assert event(says("assistant", calls("edit_file", target_file="b.py"))).files == ("b.py",)


def test_arguments_that_are_no_object_are_kept_as_they_are() -> None:
    # Pitfall 27.
    call = {"type": "tool_use", "name": "ApplyPatch", "input": "*** Begin Patch"}
    assert event(says("assistant", call)).text == "ApplyPatch\n*** Begin Patch"


@pytest.mark.parametrize(
    "content",
    ["out", [text("out")], {"content": [text("out")]}, [[text("out")], None]],
    ids=["text", "list", "object", "nested"],
)
def test_results_of_builds_that_write_them_are_read(content: object) -> None:
    # Pitfall 14.
    called = {"type": "tool_use", "id": "t1", "name": "Shell", "input": {}}
    found = event(
        says("assistant", called), says("user", {"type": "tool_result", "tool_use_id": "t1", "content": content})
    )
    assert (found.kind, found.role, found.tool, found.text) == ("tool_result", "tool", "Shell", "out")


def test_a_tool_of_an_mcp_server_is_named_by_server_and_tool() -> None:
    found = event(says("assistant", calls("CallMcpTool", server="tides", toolName="next", arguments={"at": "noon"})))
    assert (found.tool, found.text) == ("mcp__tides__next", "mcp__tides__next\nat: noon")


def test_of_origin_s_own_calls_and_answers_only_names_and_ids_are_kept() -> None:
    asked = {"id": "ent_00112233445566ff", "query": "the secret"}
    call = calls("CallMcpTool", server="user-origin", toolName="get", arguments=asked) | {"id": "t1"}
    answer = {"type": "tool_result", "tool_use_id": "t1", "content": "the secret"}
    found = events(says("assistant", call), says("user", answer))
    assert [(each.kind, each.text) for each in found] == [
        ("meta", "mcp__user-origin__get\nt1\nent_00112233445566ff"),
        ("meta", "mcp__user-origin__get\nt1"),
    ]
    labelled = '{"hits":[{"text":"the secret"}],"footer":{}}'
    assert "secret" not in event(says("user", {"type": "tool_result", "content": labelled})).text


def test_twins_say_what_they_are_a_copy_of_and_nothing_is_decided() -> None:
    result = {"type": "tool_result", "content": "x"}
    found = events(prompt("hi"), says("assistant", text("a"), calls("Shell")), says("user", result))
    assert [(each.kind, each.twin, each.rank) for each in found] == [
        ("message", "history", 0),
        ("message", "history", 0),
        ("tool_call", "history", 0),
        ("tool_result", "results", 0),
    ]


# Damage


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"role":"user","mess', "broken JSON"),
        (b"[1]", "not a JSON object"),
        (b"plain text", "not a JSON object"),
        (b'{"role":"user"}{"role":"user"}', "two records on one line"),
        (b'{"a":' * 2_000 + b"1" + b"}" * 2_000, "nested too deeply"),
        (b'{"a":' + b"9" * 5_000 + b"}", "a number too long to read"),
    ],
)
@pytest.mark.parametrize("path", [NESTED, LEGACY, STORE, IDE])
def test_a_broken_line_is_malformed_with_its_reason(data: bytes, reason: str, path: str) -> None:
    # Pitfalls 3, 5 and 44.
    with pytest.raises(MalformedLine, match=reason):
        parse_line(Line(data, 1, path), {})


def test_two_records_run_together_are_read_one_by_one() -> None:
    merged = json.dumps(prompt("one")).encode() + json.dumps(prompt("two")).encode()
    pieces, rest = split_objects(merged)
    assert [line.events[0].text for line in parse_all(pieces, NESTED)] == ["one", "two"]
    assert rest == b""


def test_text_that_is_no_unicode_becomes_text_that_is() -> None:
    # Pitfalls 1 and 2.
    assert event(prompt("\ud83d!\udcb2 \U0001f600")).text == "\ufffd!\ufffd \U0001f600"
    torn = json.dumps(says("user", text("caf@"))).encode().replace(b"@", b"\xe9")
    assert parse_line(Line(torn, 1, NESTED), {}).events[0].text == "caf\ufffd"


def test_a_line_of_many_megabytes_is_read_whole() -> None:
    # Pitfall 6.
    assert len(event(says("assistant", text("x" * 20_000_000))).text) == 20_000_000


# Where


def found(home: Path, **variables: str) -> dict[str, str]:
    return {file.logical_path: file.form for file in discover(Environment(home, variables))}


def write(path: Path, data: bytes = b"{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_the_adapter_is_one_of_the_adapters() -> None:
    assert ADAPTER in ADAPTERS
    assert (ADAPTER.source, ADAPTER.display_name) == ("cursor", "Cursor")


def test_transcripts_chats_and_the_ide_s_database_are_found_and_all_else_is_left_alone(tmp_path: Path) -> None:
    wanted = {NESTED: "lines", FLAT: "lines", LEGACY: "rows", CHILD_OF: "lines", STORE: "rows"}
    others = [
        "projects/w-lamp/agent-tools/output.txt",
        "projects/w-lamp/terminals/1.txt",
        "projects/w-lamp/worker.log",
        f"projects/w-lamp/{SESSION}.jsonl",
        f"projects/w-lamp/agent-transcripts/{SESSION}/notes.md",
        f"chats/0123456789abcdef0123456789abcdef/{SESSION}/meta.json",
        "agent-transcripts/x.jsonl",
    ]
    for name in [*wanted, *others]:
        write(tmp_path / ".cursor" / name)
    write(tmp_path / ".config/Cursor" / IDE)
    write(tmp_path / ".config/Cursor/User/workspaceStorage/x/state.vscdb")
    assert found(tmp_path) == wanted | {IDE: "rows"}


@pytest.mark.parametrize(
    ("place", "variables"),
    [
        ("Library/Application Support/Cursor", {}),
        ("roaming/Cursor", {"APPDATA": "roaming"}),
        ("xdg/Cursor", {"XDG_CONFIG_HOME": "xdg"}),
    ],
)
def test_the_ide_s_database_is_found_on_every_system(tmp_path: Path, place: str, variables: dict[str, str]) -> None:
    write(tmp_path / place / IDE)
    names = found(tmp_path, **{name: str(tmp_path / value) for name, value in variables.items()})
    assert [name.endswith(IDE) for name in names] == [True]


def test_a_moved_directory_of_the_cli_is_read_beside_the_usual_one(tmp_path: Path) -> None:
    write(tmp_path / ".cursor" / NESTED)
    write(tmp_path / "data" / STORE)
    names = sorted(found(tmp_path, CURSOR_DATA_DIR=str(tmp_path / "data"), CURSOR_CONFIG_DIR="~/.cursor"))
    digest = hashlib.sha256(os.fsencode(tmp_path / "data")).hexdigest()[:8]
    assert names == [NESTED, f"root-{digest}/{STORE}"]
    assert event(prompt("hi"), path=names[0]).session == SESSION


def test_a_home_without_cursor_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path) == {}
    assert list(ADAPTER.places(Environment(tmp_path, {})))[:2] == [
        str(tmp_path / ".cursor/projects"),
        str(tmp_path / ".cursor/chats"),
    ]


def test_links_that_lead_out_are_not_followed(tmp_path: Path) -> None:
    # Pitfall 39.
    secret = write(tmp_path / "secret.jsonl")
    transcripts = tmp_path / ".cursor/projects/w/agent-transcripts"
    transcripts.mkdir(parents=True)
    (transcripts / "planted.jsonl").symlink_to(secret)
    (transcripts / "loop").symlink_to(transcripts)
    storage = tmp_path / ".config/Cursor/User/globalStorage"
    storage.mkdir(parents=True)
    (storage / "state.vscdb").symlink_to(secret)
    assert found(tmp_path) == {}


def test_what_is_written_to_the_wal_changes_how_a_database_looks(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / ".cursor" / STORE.removesuffix("/store.db"))
    store.connection.execute("PRAGMA journal_mode=WAL")
    store.meta()
    (before,) = discover(Environment(tmp_path, {}))
    store.message("user", "hi")
    (after,) = discover(Environment(tmp_path, {}))
    assert after.size > before.size
    assert after.mtime_ns >= before.mtime_ns


# Properties

VALUES = json_values(SESSION, OCTOBER, "<user_query>", "</user_query>", "[Tool call] Shell", "user:", "[REDACTED]")
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool-call", "tool-result", "thinking", "image", "hologram"])},
    optional=dict.fromkeys(
        ["text", "id", "toolCallId", "name", "toolName", "input", "args", "content", "result", "isError", "source"],
        VALUES,
    ),
)
CONTENT = VALUES | st.lists(BLOCKS | VALUES, max_size=3)
RECORDS = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool", "system"]) | VALUES},
    optional={
        "message": VALUES | st.fixed_dictionaries({"content": CONTENT}),
        "content": CONTENT,
        **dict.fromkeys(["type", "error", "status", "timestamp", "model", "providerOptions"], VALUES),
    },
)
BUBBLES = st.fixed_dictionaries(
    {"type": st.sampled_from([1, 2]) | VALUES},
    optional=dict.fromkeys(
        ["text", "bubbleId", "createdAt", "codeBlocks", "modelInfo", "workspaceUris", "thinking"], VALUES
    )
    | {
        "toolFormerData": VALUES
        | st.fixed_dictionaries(
            {}, optional=dict.fromkeys(["name", "status", "rawArgs", "params", "result", "error"], VALUES)
        )
    },
)
COMPOSERS = st.fixed_dictionaries(
    {},
    optional={
        "conversation": VALUES | st.lists(BUBBLES | VALUES, max_size=3, unique_by=lambda bubble: str(bubble)),
        **dict.fromkeys(["name", "createdAt", "workspaceIdentifier", "modelConfig", "subagentInfo", "cwd"], VALUES),
    },
)
KEYS = (
    st.sampled_from([f"bubbleId:{SESSION}:b", f"composerData:{SESSION}", "composerData:", "0", "", "other:x"]) | VALUES
)


def as_row(value: Any) -> st.SearchStrategy[Record]:
    """Draw a journal line that holds a value as its JSON."""
    held = st.just(json.dumps(value)) | st.just(json.dumps(value).encode().hex())
    return st.fixed_dictionaries(
        {"table": st.sampled_from(["blobs", "meta", "cursorDiskKV", "transcript"]) | VALUES, "key": KEYS},
        optional={
            "value": held | VALUES,
            "value_base64": VALUES,
            "block": st.integers() | VALUES,
            "role": st.sampled_from(["user", "assistant"]) | VALUES,
            "text": VALUES
            | st.just("assistant:\nhm\n[Thinking] x\n\n[Tool call] Shell\n  a: b\n\nc\n[Tool result] Shell\nout"),
        },
    )


ROWS = (RECORDS | BUBBLES | COMPOSERS).flatmap(as_row)
LINES = (RECORDS | ROWS).map(lambda record: json.dumps(record).encode())
PATHS = st.sampled_from([NESTED, FLAT, CHILD_OF, LEGACY, STORE, IDE, "x.jsonl", "store.db", ""])


@settings(deadline=None)
@given(st.binary() | damaged_lines(LINES | st.sampled_from(sample_lines(ADAPTER))), PATHS)
def test_a_damaged_line_is_at_worst_malformed(data: bytes, path: str) -> None:
    parse_or_none(parse_line, data, {}, path)


@settings(deadline=None)
@given(st.lists(LINES, max_size=4), PATHS)
def test_a_state_that_was_stored_between_lines_gives_the_same_events(lines: list[bytes], path: str) -> None:
    check_a_stored_state_changes_nothing(parse_line, lines, path)
