"""What a line of a Grok Build file becomes; the samples beside show whole files."""

import errno
import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.adapters.contract import Environment
from ingest.adapters.grok import ADAPTER, discover, parse_line
from ingest.adapters.grok.about import read_rows
from ingest.adapters.grok.updates import MOST_CARRIED
from memory.errors import MalformedLine
from memory.parsed import Line, ParsedEvent, State, Title
from tests.ingest.adapters.properties import (
    check_a_stored_state_changes_nothing,
    damaged_lines,
    json_values,
    parse_or_none,
    sample_lines,
)

SESSION = "019e0000-0000-7000-8000-0000000000a1"
FORK = "019e0000-0000-7000-8000-0000000000a2"
FOLDER = f"sessions/%2Fw%2Flamp/{SESSION}"
UPDATES, CHAT = f"{FOLDER}/updates.jsonl", f"{FOLDER}/chat_history.jsonl"
START = 1_790_000_000_000
TURN_ENDED = {"sessionUpdate": "turn_completed", "prompt_id": "p1"}

Record = dict[str, Any]


def text(words: str) -> Record:
    return {"type": "text", "text": words}


def line(number: int, update: object, session: str = SESSION, event: str | None = None, **about: object) -> Record:
    """Return a line of updates.jsonl; half a second passes with each number."""
    meta = {"eventId": event or f"{session}-{number}", "agentTimestampMs": START + number * 500} | about
    params = {"sessionId": session, "update": update, "_meta": meta}
    return {"timestamp": START // 1_000, "method": "session/update", "params": params}


def asked(words: object, index: int = 0, **told: object) -> Record:
    content = text(words) if isinstance(words, str) else words
    meta = {"modelId": "grok-4.6", "promptIndex": index} | told
    return {"sessionUpdate": "user_message_chunk", "content": content, "_meta": meta}


def said(words: str) -> Record:
    return {"sessionUpdate": "agent_message_chunk", "content": text(words)}


def call(call_id: str, title: str = "read_file", **fields: object) -> Record:
    return {"sessionUpdate": "tool_call", "toolCallId": call_id, "title": title} | fields


def result(call_id: str, status: str = "completed", **fields: object) -> Record:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, "status": status} | fields


def shown(words: str) -> list[Record]:
    return [{"type": "content", "content": text(words)}]


def lines(*updates: Record) -> list[Record]:
    return [line(number, update) for number, update in enumerate(updates, start=1)]


def events(records: list[Record], path: str = UPDATES, state: State | None = None) -> list[ParsedEvent]:
    """Return the events of lines that follow one another in one file."""
    state = state or {}
    found: list[ParsedEvent] = []
    for number, record in enumerate(records, start=1):
        parsed = parse_line(Line(json.dumps(record).encode(), number, path), state)
        state = parsed.state
        found += parsed.events
    return found


def update_events(*updates: Record) -> list[ParsedEvent]:
    return events(lines(*updates))


def chat_events(*records: Record) -> list[ParsedEvent]:
    return events(list(records), CHAT)


# Messages in updates.jsonl


def test_chunks_of_a_message_are_one_event_named_and_placed_by_the_first() -> None:
    first, second = update_events(asked("light it"), said("It is"), said(" lit"), said("."), TURN_ENDED)
    assert (first.event_id, first.kind, first.role, first.text) == (f"grok:{SESSION}-1", "message", "user", "light it")
    assert (second.event_id, second.kind, second.role, second.text) == (
        f"grok:{SESSION}-2",
        "message",
        "assistant",
        "It is lit.",
    )
    assert (second.line, second.at, second.model) == (2, "2026-09-21T14:13:21.000Z", "grok-4.6")


def test_a_message_is_an_event_as_soon_as_a_line_follows_that_does_not_go_on_with_it() -> None:
    assert update_events(said("It is lit.")) == []
    for other in (asked("why?"), TURN_ENDED, {"sessionUpdate": "retry_state"}, call("c1"), {}):
        assert update_events(said("It is lit."), other)[0].text == "It is lit."


def test_chunks_of_another_turn_are_another_message() -> None:
    records = [line(1, said("one"), promptId="p1"), line(2, said("two"), promptId="p2"), line(3, TURN_ENDED)]
    assert [each.text for each in events(records)] == ["one", "two"]
    both = update_events(asked("one", 0), asked("two", 1), TURN_ENDED)
    assert [each.text for each in both] == ["one", "two"]


def test_thinking_is_no_event_and_ends_a_message() -> None:
    thought = {"sessionUpdate": "agent_thought_chunk", "content": text("hm")}
    assert [each.text for each in update_events(said("a"), thought, said("b"), TURN_ENDED)] == ["a", "b"]


def test_blocks_of_a_prompt_are_paragraphs_and_images_placeholders() -> None:
    image = {"type": "image", "data": "iVBORw0K", "mimeType": "image/png"}
    found = update_events(asked("see"), asked(image), asked("and this"), TURN_ENDED)
    assert [each.text for each in found] == ["see\n\n[image image/png]\n\nand this"]


@pytest.mark.parametrize("chunks", [1, 7, 400])
def test_however_a_long_message_is_cut_the_state_stays_small_and_the_text_is_what_is_kept_of_it(chunks: int) -> None:
    whole = "lamp " * 100_000
    size = len(whole) // chunks + 1
    parts = [said(whole[start : start + size]) for start in range(0, len(whole), size)]
    state: State = {}
    for number, record in enumerate(lines(*parts), start=1):
        state = parse_line(Line(json.dumps(record).encode(), number, UPDATES), state).state
    assert len(json.dumps(state)) < MOST_CARRIED + 1_000
    (event,) = events([line(9_999, TURN_ENDED)], state=state)
    assert event.text == whole[:MOST_CARRIED]


@pytest.mark.parametrize(
    "chunk", [asked("a task is done", hostTurn=True), asked("<system-reminder>x</system-reminder>")]
)
def test_what_the_program_put_into_the_person_s_turn_is_meta(chunk: Record) -> None:
    (event,) = update_events(chunk, TURN_ENDED)
    assert event.kind == "meta"


def test_words_that_quote_a_tag_are_the_person_s() -> None:
    words = "why does `<user_query>` stand around my <user_info>?"
    (event,) = update_events(asked(words), TURN_ENDED)
    assert (event.kind, event.text) == ("message", words)


@pytest.mark.parametrize(
    ("about", "timestamp", "at"),
    [
        ({"agentTimestampMs": START}, 5, "2026-09-21T14:13:20.000Z"),
        ({}, START // 1_000, "2026-09-21T14:13:20.000Z"),
        ({}, START, "2026-09-21T14:13:20.000Z"),
        ({}, "2026-09-21T14:13:20Z", "2026-09-21T14:13:20.000Z"),
        ({"agentTimestampMs": "soon"}, None, ""),
    ],
)
def test_times_of_any_unit_are_read(about: Record, timestamp: object, at: str) -> None:
    record = {"timestamp": timestamp, "params": {"update": said("x"), "_meta": about}}
    (event,) = events([record, line(2, TURN_ENDED)])
    assert event.at == at


def test_a_line_of_an_old_version_is_the_bare_parameters() -> None:
    bare = {"sessionId": SESSION, "update": asked("light it")}
    (event,) = events([bare, line(2, TURN_ENDED)])
    assert (event.text, event.home) == ("light it", True)
    assert event.event_id.startswith(f"grok:{SESSION}/u/")
    assert events([{}, bare, line(2, TURN_ENDED)])[0].event_id == event.event_id


# Tools in updates.jsonl


def test_a_call_and_its_result_are_two_events() -> None:
    made, given = update_events(
        call("c1", rawInput={"target_file": "/w/lamp/a.py"}),
        result("c1", "in_progress", content=shown("reading")),
        result("c1", content=shown("x = 1")),
    )
    assert (made.event_id, made.kind, made.tool, made.text, made.files) == (
        f"grok:{SESSION}-1",
        "tool_call",
        "read_file",
        "read_file\ntarget_file: /w/lamp/a.py",
        ("/w/lamp/a.py",),
    )
    assert (given.event_id, given.kind, given.role, given.tool, given.text) == (
        f"grok:{SESSION}-3",
        "tool_result",
        "tool",
        "read_file",
        "x = 1",
    )


def test_the_first_final_form_of_a_result_is_the_event() -> None:
    found = update_events(call("c1"), result("c1", content=shown("whole")), result("c1", content=shown("[pruned]")))
    assert [each.text for each in found[1:]] == ["whole"]


def test_a_call_that_is_complete_at_once_has_its_result_under_its_own_id() -> None:
    made, given = update_events(call("c1", status="completed", content=shown("x = 1")))
    assert (made.event_id, given.event_id) == (f"grok:{SESSION}-1", f"grok:{SESSION}-1#result")


def test_a_title_in_words_is_no_tool_s_name() -> None:
    (made,) = update_events(call("c1", "Read the lamp's wick", kind="read", locations=[{"path": "/w/a.py"}, {}, 5]))
    assert (made.tool, made.text, made.files) == ("read", "Read the lamp's wick", ("/w/a.py",))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"status": "failed", "rawOutput": "exit 1"}, "[error] exit 1"),
        ({"content": [{"type": "terminal", "terminalId": "t"}], "rawOutput": {"text": "done"}}, "done"),
        ({"content": [{"type": "diff", "path": "/w/a.py", "oldText": "a", "newText": "b"}]}, "[diff /w/a.py]"),
        ({"content": [*shown("a"), {"type": "content", "content": {"type": "image", "mimeType": "image/png"}}]}, None),
        ({"rawOutput": {"matches": 3}}, '{"matches":3}'),
        ({"content": 5}, "5"),
        ({}, ""),
    ],
)
def test_results_of_every_shape_are_read(fields: Record, words: str | None) -> None:
    (given,) = update_events(result("c1") | fields)
    assert given.text == ("a\n[image image/png]" if words is None else words)


def test_origin_s_own_calls_and_answers_keep_names_and_ids_only() -> None:
    found = update_events(
        call("c1", "origin__get", rawInput={"id": "ent_00112233445566ff", "reason": "the secret"}),
        result("c1", content=shown("the secret")),
        result("c9", content=shown('{"entries":["the secret"]}')),
    )
    assert [(each.kind, each.text) for each in found] == [
        ("meta", "origin__get\nc1\nent_00112233445566ff"),
        ("meta", "origin__get\nc1"),
        ("meta", "c9"),
    ]
    chat = chat_events(
        {
            "type": "assistant",
            "tool_calls": [{"id": "c1", "name": "origin__search", "arguments": '{"query":"secret"}'}],
        },
        {"type": "tool_result", "tool_call_id": "c1", "content": "the secret"},
        {"type": "tool_result", "tool_call_id": "c2", "content": '{"entries":["the secret"]}'},
    )
    assert [(each.kind, "secret" in each.text) for each in chat] == [("meta", False)] * 3


def test_what_happened_to_a_session_is_meta() -> None:
    rewound, compacted = update_events(
        {"sessionUpdate": "rewind_marker", "target_prompt_index": 2}, {"sessionUpdate": "auto_compact_completed"}
    )
    assert (rewound.kind, rewound.text) == ("meta", "rewound to prompt 2")
    assert (compacted.kind, compacted.text) == ("meta", "auto_compact_completed")


@pytest.mark.parametrize(
    "kind", ["plan", "retry_state", "hook_execution", "available_commands_update", "hologram", None, 5, ["plan"]]
)
def test_bookkeeping_and_unknown_updates_are_skipped(kind: object) -> None:
    state: State = {"model": "grok-4.6"}
    record = line(1, {"sessionUpdate": kind, "content": text("x")})
    parsed = parse_line(Line(json.dumps(record).encode(), 1, UPDATES), state)
    assert parsed.events == ()
    assert parsed.state is state


# Forks, and the two logs of one session


def test_a_fork_keeps_the_ids_of_what_it_copied_and_is_not_its_home() -> None:
    own, copied = asked("another way", 1), asked("light it", 0)
    records = [line(1, copied, FORK, f"{SESSION}-1"), line(2, own, FORK), line(3, TURN_ENDED, FORK)]
    first, second = events(records, UPDATES.replace(SESSION, FORK))
    assert (first.event_id, first.session, first.home) == (f"grok:{SESSION}-1", FORK, False)
    assert (second.event_id, second.session, second.home) == (f"grok:{FORK}-2", FORK, True)


def test_what_updates_tell_hides_the_chat_and_notes_alone_do_not() -> None:
    told = update_events(asked("light it"), call("c1"), result("c1"), {"sessionUpdate": "rewind_marker"})
    assert {(each.kind, each.twin, each.rank) for each in told} == {
        ("message", "history", 0),
        ("tool_call", "history", 0),
        ("tool_result", "history", 0),
        ("meta", "", 0),
    }
    chat = chat_events({"type": "system", "content": "You are Grok"}, {"type": "user", "content": "light it"})
    assert {(each.twin, each.rank) for each in chat} == {("history", 1)}


# chat_history.jsonl


def test_a_chat_s_events_are_named_by_what_they_say_and_not_by_their_lines() -> None:
    records: list[Record] = [
        {"type": "user", "content": [text("<user_query>\nlight it\n</user_query>")], "prompt_index": 0},
        {"type": "assistant", "content": "I look.", "tool_calls": [{"id": "c1", "name": "run", "arguments": "{}"}]},
        {"type": "tool_result", "tool_call_id": "c1", "content": "x = 1"},
        {"type": "assistant", "content": "It is lit."},
    ]
    ids = [each.event_id for each in chat_events(*records)]
    assert ids[2:4] == [f"grok:{SESSION}/c/c1", f"grok:{SESSION}/c/c1#result"]
    assert [each.event_id for each in chat_events(*records[1:])] == ids[1:]
    pruned = records[2] | {"content": "[old result removed]"}
    assert [each.event_id for each in chat_events(pruned, records[3])] == ids[3:]


def test_a_prompt_keeps_its_name_when_its_image_is_stripped() -> None:
    image = {"type": "image", "url": "data:image/png;base64,iVBORw0K"}
    whole = {"type": "user", "content": [text("see"), image], "prompt_index": 1}
    (before,), (after,) = chat_events(whole), chat_events(whole | {"content": [text("see")]})
    assert before.event_id == after.event_id
    assert before.text == "see\n\n[image]"


def test_a_prompt_that_took_the_place_of_one_rewound_is_another_event() -> None:
    one, other = ({"type": "user", "content": words, "prompt_index": 3} for words in ("this way", "that way"))
    assert len({each.event_id for each in (*chat_events(one), *chat_events(other))}) == 2


def test_the_same_words_said_twice_are_two_events() -> None:
    done = {"type": "assistant", "content": "Done."}
    first, second = chat_events(done, done)
    assert second.event_id == f"{first.event_id}-2"


def test_the_state_of_a_chat_stays_small() -> None:
    state: State = {}
    for number in range(1_000):
        record = {"type": "assistant", "content": f"lamp {number}", "tool_calls": [{"id": f"c{number}", "name": "run"}]}
        state = parse_line(Line(json.dumps(record).encode(), 1, CHAT), state).state
    assert len(json.dumps(state)) < 8_000


def test_both_versions_of_the_chat_are_read_and_may_be_mixed() -> None:
    old = {
        "role": "assistant",
        "content": "I look.",
        "reasoning_content": "hm",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "run", "arguments": '{"cmd":"ls"}'}}],
    }
    new = {
        "type": "assistant",
        "content": "I look.",
        "tool_calls": [{"id": "c1", "name": "run", "arguments": '{"cmd":"ls"}'}],
    }
    answers = ({"role": "tool", "tool_call_id": "c1", "content": "a"}, {"type": "tool_result", "tool_call_id": "c1"})
    assert chat_events(old) == chat_events(new)
    assert [each.tool for each in chat_events(old, answers[1], new, answers[0])] == ["", "run", "run", "", "run", "run"]
    assert [each.text for each in chat_events({"role": "user", "content": "light it"})] == ["light it"]


@pytest.mark.parametrize(
    "record",
    [
        {"content": [text("<user_info>\nOS: linux\n</user_info>")]},
        {"content": [text("<user_info>\nx\n</user_info>\n\n<git_status>\nclean\n</git_status>")]},
        {"content": [text("<system-reminder>skills</system-reminder>")]},
        {"content": [text("<agent_skills>x</agent_skills><mcp_servers>y</mcp_servers>")]},
        {"content": [text("be brief")], "synthetic_reason": "project_instructions"},
        {"content": [text("so far")], "synthetic_reason": "a_future_reason"},
        {"content": [text("so far")], "synthetic_reason": ["odd"]},
    ],
)
def test_what_grok_puts_into_the_chat_is_meta(record: Record) -> None:
    (event,) = chat_events({"type": "user"} | record)
    assert (event.kind, event.role) == ("meta", "system")


@pytest.mark.parametrize("reason", [None, "interjection", "agent_message"])
def test_what_somebody_said_is_a_message(reason: str | None) -> None:
    (event,) = chat_events({"type": "user", "content": [text("light it")], "synthetic_reason": reason})
    assert (event.kind, event.role) == ("message", "user")


def test_context_before_the_words_is_cut_off() -> None:
    words = "<user_info>\nx\n</user_info>\n<user_query>\nlight it\n</user_query>"
    (event,) = chat_events({"type": "user", "content": [text(words)]})
    assert (event.kind, event.text) == ("message", "light it")


def test_a_search_on_grok_s_servers_is_a_call() -> None:
    action = {"type": "search", "query": "smoking wicks", "sources": [{"url": "https://example.com"}]}
    (event,) = chat_events(
        {"type": "backend_tool_call", "kind": {"tool_type": "web_search", "id": "ws", "action": action}}
    )
    assert (event.event_id, event.tool, event.text) == (
        f"grok:{SESSION}/c/ws",
        "web_search",
        "web_search\nquery: smoking wicks",
    )
    (code,) = chat_events({"type": "backend_tool_call", "kind": {"tool_type": "code_interpreter", "code": "1 + 1"}})
    assert code.text == "code_interpreter\ncode: 1 + 1"


@pytest.mark.parametrize("record", [{"type": "reasoning", "id": "rs_1"}, {"type": "hologram"}, {"role": 5}, {}])
def test_thinking_and_unknown_lines_of_a_chat_are_no_events(record: Record) -> None:
    assert chat_events(record) == []


def test_a_call_whose_arguments_are_no_json_keeps_them_as_they_are() -> None:
    (event,) = chat_events({"type": "assistant", "tool_calls": [{"id": "c1", "name": "run", "arguments": "ls {"}]})
    assert event.text == "run\nls {"


# What is known of a session


def about(tmp_path: Path, name: str, value: object, watermark: State | None = None) -> list[tuple[bytes, State]]:
    path = tmp_path / name
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return [(row.line, row.watermark) for row in read_rows(path, watermark or {})]


def summary(**fields: object) -> Record:
    value = {"info": {"id": SESSION, "cwd": "/w/lamp"}, "created_at": "2026-09-21T14:00:00.123456Z"} | fields
    return {"file": "summary.json", "value": value}


def test_a_summary_says_where_a_session_began_and_whose_it_is() -> None:
    told = summary(head_branch="main", current_model_id="grok-4.6", parent_session_id=FORK)
    (event,) = events([told], f"{FOLDER}/summary.json")
    assert (event.event_id, event.kind, event.session, event.parent) == (
        f"grok:{SESSION}/summary",
        "meta",
        SESSION,
        FORK,
    )
    assert (event.cwd, event.branch, event.model, event.at) == (
        "/w/lamp",
        "main",
        "grok-4.6",
        "2026-09-21T14:00:00.123Z",
    )
    assert not event.sub_agent


@pytest.mark.parametrize("fields", [{"hidden": True}, {"session_kind": "subagent"}])
def test_a_helper_s_session_is_marked(fields: Record) -> None:
    assert events([summary(**fields)], f"{FOLDER}/summary.json")[0].sub_agent


def test_a_sub_agent_s_session_is_linked_by_the_file_its_parent_keeps_of_it() -> None:
    told = {"file": "meta.json", "value": {"child_session_id": FORK, "subagent_type": "explore"}}
    (event,) = events([told], f"{FOLDER}/subagents/sa-1/meta.json")
    assert (event.session, event.parent, event.sub_agent) == (FORK, SESSION, True)
    assert events([{"file": "meta.json", "value": {}}], f"{FOLDER}/subagents/sa-1/meta.json") == []


@pytest.mark.parametrize(
    ("fields", "titles"),
    [
        ({"generated_title": " T "}, [Title("ai", "T", session=SESSION)]),
        ({"generated_title": "T", "title_is_manual": True}, [Title("custom", "T", session=SESSION)]),
        ({"session_summary": "S"}, [Title("summary", "S", session=SESSION)]),
        ({"generated_title": 5, "session_summary": " "}, []),
    ],
)
def test_a_title_counts_by_where_it_comes_from(fields: Record, titles: list[Title]) -> None:
    data = json.dumps(summary(**fields)).encode()
    assert list(parse_line(Line(data, 1, f"{FOLDER}/summary.json"), {}).titles) == titles


@pytest.mark.parametrize(
    ("folder", "cwd"),
    [
        ("%2Fw%2Fa%20b", "/w/a b"),
        ("%2Fw%2F%E7%81%AF", "/w/灯"),
        ("C%3A%5Cw%5Clamp", r"C:\w\lamp"),
        ("a-very-long-path-0123456789abcdef", ""),
        ("%zz", ""),
        ("lamp%20oil", ""),
    ],
)
def test_a_directory_s_name_says_where_a_session_began_unless_it_is_hashed(folder: str, cwd: str) -> None:
    path = f"sessions/{folder}/{SESSION}/chat_history.jsonl"
    assert events([{"type": "user", "content": "x"}], path)[0].cwd == cwd


def test_the_directory_in_the_summary_wins_over_the_name() -> None:
    (event,) = events([summary(info={"cwd": "/moved/lamp"})], f"{FOLDER}/summary.json")
    assert event.cwd == "/moved/lamp"
    assert events([summary(info=None)], f"{FOLDER}/summary.json")[0].cwd == "/w/lamp"


def test_a_summary_is_one_line_however_it_is_laid_out_and_again_only_when_it_says_something_new(tmp_path: Path) -> None:
    value = {"generated_title": "灯", "num_messages": 1, "info": {"id": SESSION, "cwd": "/w"}}
    ((data, watermark),) = about(tmp_path, "summary.json", value)
    assert b"\n" not in data
    assert json.loads(data) == {"file": "summary.json", "value": value}
    assert about(tmp_path, "summary.json", value | {"num_messages": 2}, watermark) == []
    assert len(about(tmp_path, "summary.json", value | {"generated_title": "Lamp"}, watermark)) == 1


def test_a_broken_summary_is_malformed_once(tmp_path: Path) -> None:
    ((data, watermark),) = about(tmp_path, "summary.json", '{"info":\n')
    with pytest.raises(MalformedLine, match="broken JSON"):
        parse_line(Line(data, 1, f"{FOLDER}/summary.json"), {})
    assert about(tmp_path, "summary.json", '{"info":\n', watermark) == []
    assert about(tmp_path, "summary.json", " \n") == []


def test_a_summary_that_is_gone_is_an_error_of_the_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_rows(tmp_path / "summary.json", {}))


# Damage


@pytest.mark.parametrize("path", [UPDATES, CHAT, f"{FOLDER}/summary.json"])
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"type":"user","mess', "broken JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"a":1}{"b":2}', "two records on one line"),
        (b'{"a":' * 2_000 + b"1" + b"}" * 2_000, "nested too deeply"),
        (b'{"a":' + b"9" * 5_000 + b"}", "a number too long to read"),
    ],
)
def test_a_broken_line_is_malformed_with_its_reason(data: bytes, reason: str, path: str) -> None:
    with pytest.raises(MalformedLine, match=reason):
        parse_line(Line(data, 1, path), {})


@pytest.mark.parametrize(("before", "after"), [(b"\xef\xbb\xbf", b""), (b"", b"\r"), (b"\x00\x00", b"\x00")])
def test_bytes_around_a_record_change_nothing(before: bytes, after: bytes) -> None:
    data = json.dumps({"type": "user", "content": "light it"}).encode()
    assert parse_line(Line(before + data + after, 1, CHAT), {}) == parse_line(Line(data, 1, CHAT), {})


def test_text_that_is_no_unicode_becomes_text_that_is() -> None:
    assert chat_events({"type": "user", "content": "\ud83d!\udcb2"})[0].text == "\ufffd!\ufffd"


def test_a_line_of_many_megabytes_is_read_whole() -> None:
    (given,) = update_events(result("c1", content=shown("x" * 20_000_000)))
    assert len(given.text) == 20_000_000


# Discovery


def write(path: Path, data: str = "{}\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(data)
    return path


def found(home: Path, **variables: str) -> dict[str, str]:
    return {file.logical_path: file.form for file in discover(Environment(home, variables))}


def test_the_logs_and_what_is_said_of_them_are_found_and_nothing_else(tmp_path: Path) -> None:
    session = tmp_path / ".grok/sessions/%2Fw" / SESSION
    for name in ("updates.jsonl", "chat_history.jsonl", "summary.json", "subagents/sa-1/meta.json"):
        write(session / name)
    for name in ("events.jsonl", "rewind_points.jsonl", "signals.json", "chat_history.jsonl.corrupt", "meta.json"):
        write(session / name)
    for name in ("compaction/segment_001/chat_history.jsonl", "assets/updates.jsonl", "subagents/updates.jsonl"):
        write(session / name)
    write(session.parent / "prompt_history.jsonl")
    write(tmp_path / ".grok/sessions/summary.json")
    folder = f"sessions/%2Fw/{SESSION}"
    assert found(tmp_path) == {
        f"{folder}/updates.jsonl": "lines",
        f"{folder}/chat_history.jsonl": "lines",
        f"{folder}/summary.json": "rows",
        f"{folder}/subagents/sa-1/meta.json": "rows",
    }
    assert list(ADAPTER.places(Environment(tmp_path, {}))) == [str(tmp_path / ".grok/sessions")]


def test_a_variable_names_the_directory_instead(tmp_path: Path) -> None:
    write(tmp_path / ".grok/sessions/%2Fw/s1/updates.jsonl")
    write(tmp_path / "other/sessions/%2Fw/s2/updates.jsonl")
    (path,) = found(tmp_path, GROK_HOME=str(tmp_path / "other"))
    assert path.startswith("root-")
    assert path.endswith("/sessions/%2Fw/s2/updates.jsonl")
    assert list(found(tmp_path, GROK_HOME="")) == ["sessions/%2Fw/s1/updates.jsonl"]


def test_linked_directories_are_not_followed_and_linked_files_stay_inside(tmp_path: Path) -> None:
    write(tmp_path / "elsewhere/s2/updates.jsonl")
    sessions = write(tmp_path / ".grok/sessions/%2Fw/s1/updates.jsonl").parent.parent
    os.symlink(tmp_path / "elsewhere", sessions.parent / "%2Flinked")
    os.symlink(tmp_path / "elsewhere/s2/updates.jsonl", sessions / "s1/chat_history.jsonl")
    assert list(found(tmp_path)) == ["sessions/%2Fw/s1/updates.jsonl"]


def test_a_machine_without_grok_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path) == {}


def index_of(tmp_path: Path, sessions: int) -> Path:
    path = tmp_path / ".grok/sessions/session_search.sqlite"
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE session_docs (session_id TEXT PRIMARY KEY, cwd TEXT, title TEXT, content TEXT)")
    connection.executemany("INSERT INTO session_docs (session_id) VALUES (?)", [(str(n),) for n in range(sessions)])
    connection.commit()
    connection.close()
    return path


def test_an_index_of_sessions_without_any_log_is_named(tmp_path: Path) -> None:
    path = index_of(tmp_path, 3)
    with pytest.raises(OSError, match=r"lists sessions \(3\) whose logs are not beside it") as raised:
        found(tmp_path)
    assert (raised.value.errno, raised.value.filename) == (errno.ENOENT, str(path))


def test_an_index_beside_logs_and_an_empty_one_are_silent(tmp_path: Path) -> None:
    index_of(tmp_path, 0)
    assert found(tmp_path) == {}
    (tmp_path / ".grok/sessions/session_search.sqlite").unlink()
    index_of(tmp_path, 3)
    write(tmp_path / ".grok/sessions/%2Fw/s1/updates.jsonl")
    assert list(found(tmp_path)) == ["sessions/%2Fw/s1/updates.jsonl"]


# Properties

VALUES = json_values("text", "completed", SESSION, f"{SESSION}-1", "light it")
UPDATE = st.fixed_dictionaries(
    {
        "sessionUpdate": VALUES
        | st.sampled_from(
            ["user_message_chunk", "agent_message_chunk", "tool_call", "tool_call_update", "rewind_marker", "compacted"]
        )
    },
    optional=dict.fromkeys(
        ["content", "_meta", "toolCallId", "title", "kind", "rawInput", "rawOutput", "status", "locations"], VALUES
    )
    | {"target_prompt_index": VALUES},
)
UPDATE_LINES = st.fixed_dictionaries(
    {},
    optional={
        "timestamp": VALUES,
        "update": UPDATE,
        "params": VALUES
        | st.fixed_dictionaries({"update": UPDATE}, optional=dict.fromkeys(["sessionId", "_meta"], VALUES)),
    },
)
CALLS = st.lists(st.fixed_dictionaries({}, optional=dict.fromkeys(["id", "name", "arguments", "function"], VALUES)))
CHAT_LINES = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        ["content", "role", "synthetic_reason", "prompt_index", "tool_call_id", "model_id", "images", "kind"], VALUES
    )
    | {
        "type": VALUES | st.sampled_from(["user", "assistant", "tool_result", "system", "backend_tool_call"]),
        "tool_calls": VALUES | CALLS,
    },
)
ABOUT_LINES = st.fixed_dictionaries(
    {
        "value": VALUES
        | st.dictionaries(st.sampled_from(["info", "child_session_id", "generated_title", "hidden"]), VALUES)
    }
)
RECORDS = (UPDATE_LINES | CHAT_LINES | ABOUT_LINES).map(lambda record: json.dumps(record).encode())
LINES = st.sampled_from(sample_lines(ADAPTER)) | RECORDS
PATHS = st.sampled_from(
    [UPDATES, CHAT, f"{FOLDER}/summary.json", f"{FOLDER}/subagents/a/meta.json", "updates.jsonl", "meta.json", "x", ""]
)


@settings(deadline=None)
@given(st.binary() | damaged_lines(LINES), PATHS)
def test_a_damaged_line_is_at_worst_malformed(data: bytes, path: str) -> None:
    parse_or_none(parse_line, data, {}, path)


@settings(deadline=None)
@given(st.lists(LINES, max_size=5), PATHS)
def test_a_state_that_was_stored_between_lines_gives_the_same_events(lines: list[bytes], path: str) -> None:
    check_a_stored_state_changes_nothing(parse_line, lines, path)
