"""What a line of a Codex rollout becomes; the samples beside show whole logs."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.adapters.codex import ADAPTER, parse_line
from memory.errors import MalformedLine
from memory.json_line import split_objects
from memory.parsed import Line, ParsedEvent, ParsedLine, State, Title
from tests.ingest.adapters.properties import (
    BROKEN_LINES,
    BYTES_AROUND,
    check_a_stored_state_changes_nothing,
    damaged_lines,
    json_values,
    parse_or_none,
    sample_lines,
)

THREAD = "019e0000-0000-7000-8000-000000000001"
PARENT = "019e0000-0000-7000-8000-000000000002"
ROOT = "019e0000-0000-7000-8000-000000000003"
PATH = f"sessions/rollout-2026-06-01T09-59-59-{THREAD}.jsonl"
AT = "2026-06-01T08:00:00.000Z"

Record = dict[str, Any]


def record(kind: str, **payload: object) -> Record:
    return {"timestamp": AT, "type": kind, "payload": payload}


def session(thread: str = THREAD, **facts: object) -> Record:
    return record("session_meta", id=thread, **facts)


def spawned(parent: str = PARENT, **facts: object) -> Record:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": parent, "depth": 1}}}
    return record("session_meta", id=THREAD, source=source, **facts)


def item(**payload: object) -> Record:
    return record("response_item", **payload)


def told(kind: str, **payload: object) -> Record:
    return record("event_msg", type=kind, **payload)


def user(*texts: str) -> Record:
    return item(type="message", role="user", content=[{"type": "input_text", "text": text} for text in texts])


def assistant(text: str) -> Record:
    return item(type="message", role="assistant", content=[{"type": "output_text", "text": text}])


def call(call_id: str, name: str, arguments: object = "{}", **fields: object) -> Record:
    return item(type="function_call", call_id=call_id, name=name, arguments=arguments, **fields)


def output(call_id: str, result: object) -> Record:
    return item(type="function_call_output", call_id=call_id, output=result)


def lines(*records: Record, path: str = PATH) -> list[ParsedLine]:
    """Return what each of records that follow one another in one file says."""
    state: State = {}
    found = []
    for number, each in enumerate(records, start=1):
        found.append(parse_line(Line(json.dumps(each).encode(), number, path, number - 1), state))
        state = found[-1].state
    return found


def events(*records: Record, path: str = PATH) -> list[ParsedEvent]:
    return [each for line in lines(*records, path=path) for each in line.events]


def event(*records: Record, path: str = PATH) -> ParsedEvent:
    """Return the last event of records that follow one another in one file."""
    return events(*records, path=path)[-1]


def shown(*records: Record) -> list[tuple[str, str]]:
    """Return kind and text of the events that no twin of the same session hides."""
    found = events(*records)
    best = {each.twin: each.rank for each in sorted(found, key=lambda each: -each.rank)}
    return [(each.kind, each.text) for each in found if not each.twin or each.rank == best[each.twin]]


# Identity


def test_an_event_is_named_by_thread_line_and_the_digest_of_the_line() -> None:
    said = json.dumps(user("hi")).encode()
    state = lines(session())[0].state
    found = parse_line(Line(said, 5, PATH, 4), state).events[0]
    assert found.event_id == f"codex:{THREAD}/4-{hashlib.sha256(said).hexdigest()[:8]}"


def test_an_ordinal_takes_the_place_of_the_line() -> None:
    found = event(session(), user("hi") | {"ordinal": 70})
    assert found.event_id.startswith(f"codex:{THREAD}/o70-")


@pytest.mark.parametrize("ordinal", [-1, True, "7", 1.5, None, 10**30])
def test_what_is_no_ordinal_is_none(ordinal: object) -> None:
    assert event(session(), user("hi") | {"ordinal": ordinal}).event_id.startswith(f"codex:{THREAD}/1-")


def test_the_path_says_nothing_about_an_id() -> None:
    moved = event(session(), user("hi"), path="sessions/rollout-copy.jsonl")
    assert moved.event_id == event(session(), user("hi")).event_id
    assert (moved.home, event(session(), user("hi")).home) == (False, True)


def test_a_continuation_of_a_line_keeps_its_number_and_has_an_id_of_its_own() -> None:
    state = lines(session())[0].state
    one, two = (parse_line(Line(json.dumps(user(text)).encode(), 2, PATH, 1), state).events[0] for text in ("a", "b"))
    assert (one.event_id.rpartition("-")[0], two.event_id.rpartition("-")[0]) == (f"codex:{THREAD}/1",) * 2
    assert one.event_id != two.event_id


def test_without_a_session_meta_the_file_s_name_is_the_thread() -> None:
    assert event(user("hi")).event_id.startswith(f"codex:{THREAD}/0-")
    assert event(user("hi"), path="sessions/rollout-dev-x.jsonl").session == "rollout-dev-x"


def test_the_first_session_meta_names_the_thread_and_a_parent_s_copy_changes_nothing() -> None:
    found = event(session(cwd="/w/lamp"), session(PARENT, cwd="/w/other", cli_version="0.1"), user("hi"))
    assert (found.session, found.cwd, found.agent_version) == (THREAD, "/w/lamp", "")


def test_a_resumed_thread_goes_on_where_its_new_session_meta_says() -> None:
    resumed = session(cwd="/w/lamp-2", cli_version="0.2", git={"branch": "b"})
    found = event(session(cwd="/w/lamp", cli_version="0.1"), resumed, user("hi"))
    assert (found.session, found.cwd, found.agent_version, found.branch) == (THREAD, "/w/lamp-2", "0.2", "b")


# Forks and sub-agents


def test_a_fork_is_a_session_of_its_own_that_may_replay_another_s() -> None:
    found = event(session(forked_from_id=PARENT), user("hi"))
    assert (found.session, found.parent, found.replays, found.sub_agent) == (THREAD, "", PARENT, False)


@pytest.mark.parametrize(
    "facts",
    [
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": PARENT}}}, "session_id": THREAD},
        {"source": "cli", "thread_source": "subagent", "parent_thread_id": PARENT, "session_id": PARENT},
        {"parent_thread_id": PARENT},
    ],
)
def test_a_sub_agent_s_session_lies_below_its_parent_s(facts: Record) -> None:
    found = event(session(**facts), user("look around"))
    assert (found.session, found.parent, found.replays) == (f"{PARENT}/{THREAD}", PARENT, PARENT)
    assert found.sub_agent
    assert found.event_id.startswith(f"codex:{THREAD}/")


def test_a_sub_agent_of_a_sub_agent_lies_below_the_root_of_the_tree() -> None:
    found = event(spawned(session_id=ROOT), user("look around"))
    assert (found.session, found.parent, found.replays) == (f"{ROOT}/{THREAD}", f"{ROOT}/{PARENT}", f"{ROOT}/{PARENT}")


def test_only_what_lies_before_the_start_of_its_own_history_can_be_a_replay() -> None:
    meta = spawned(subagent_history_start_ordinal=3) | {"ordinal": 0}
    found = events(meta, user("why?") | {"ordinal": 2}, user("look") | {"ordinal": 3}, user("look"))
    assert [each.replays for each in found] == [PARENT, "", ""]


def test_a_copied_record_reads_as_its_original_does() -> None:
    records = [user("why?"), call("c", "shell"), output("c", "x"), assistant("so")]
    copied = [(each.kind, each.role, each.text) for each in events(spawned(), session(PARENT), *records)]
    assert copied == [(each.kind, each.role, each.text) for each in events(session(PARENT), *records)]


@pytest.mark.parametrize(
    "facts",
    [
        {"source": {"subagent": "review"}, "parent_thread_id": PARENT},
        {"source": {"subagent": {"other": "guardian"}}, "parent_thread_id": PARENT},
        {"thread_source": "guardian_review", "parent_thread_id": PARENT},
    ],
)
def test_the_prompt_of_a_thread_that_codex_began_by_itself_is_meta(facts: Record) -> None:
    asked, answered = events(session(**facts), user("Review the changes."), assistant("Fine."))
    assert (asked.kind, asked.parent, asked.sub_agent, asked.replays) == ("meta", PARENT, True, "")
    assert answered.kind == "message"


# Times and facts


def test_bare_items_of_old_builds_are_read_without_times() -> None:
    meta = {"id": THREAD, "timestamp": "2025-06-03T08:11:12.345Z", "instructions": "x", "git": {"branch": "wick"}}
    state = {"record_type": "state"}
    bare = [meta, state, user("hi")["payload"], call("c", "shell")["payload"], output("c", "x")["payload"]]
    found = lines(*bare)
    assert [line.at for line in found] == ["2025-06-03T08:11:12.345Z", "", "", "", ""]
    assert [each.kind for line in found for each in line.events] == ["message", "tool_call", "tool_result"]
    assert (found[2].events[0].session, found[2].events[0].branch) == (THREAD, "wick")


def test_the_turn_s_context_says_where_and_with_which_model_what_follows_was_said() -> None:
    context = record("turn_context", cwd=r"D:\w\lamp", model="gpt-x")
    asked, answered = events(session(cwd="/w"), context, user("hi"), assistant("ho"))
    assert (asked.cwd, asked.model, answered.model) == (r"D:\w\lamp", "", "gpt-x")


def test_times_may_go_back_and_are_kept_as_they_are() -> None:
    later = user("b") | {"timestamp": "2026-06-01T07:00:00Z"}
    assert [each.at for each in events(user("a"), later)] == [AT, "2026-06-01T07:00:00.000Z"]


# What the person and the model said


@pytest.mark.parametrize(
    "content",
    [
        "light it",
        ["light it"],
        [{"type": "text", "text": "light it"}],
        {"text": "light it"},
        [None, 3, {"text": "light it"}],
    ],
)
@pytest.mark.parametrize("kind", ["message", None])
def test_content_of_every_shape_is_read(content: object, kind: str | None) -> None:
    found = event(item(type=kind, role="user", content=content))
    assert (found.kind, found.role, found.text) == ("message", "user", "light it")


def test_text_blocks_of_a_message_are_one_event() -> None:
    assert event(user("one", "two")).text == "one\n\ntwo"


def test_a_message_told_twice_is_shown_once() -> None:
    pairs = [
        user("hi"),
        told("user_message", message="hi \n"),
        told("agent_message", message="ho"),
        assistant("ho"),
        told("agent_message", message="only the interface heard this"),
    ]
    assert shown(*pairs) == [
        ("message", "hi"),
        ("message", "ho"),
        ("message", "only the interface heard this"),
    ]


def test_a_message_with_an_image_is_the_same_as_the_interface_was_told() -> None:
    image = {"type": "input_image", "image_url": "data:image/png;base64,iVBORw0K"}
    parts = [{"text": "<image name=[Image #1]>"}, image, {"text": "</image>"}, {"text": "like here"}]
    said = item(type="message", role="user", content=parts)
    assert shown(said, told("user_message", message="like here", local_images=["/w/a.png"])) == [
        ("message", "like here\n\n[image image/png]")
    ]


def test_items_that_newer_builds_tell_the_interface_are_twins_too() -> None:
    command = {"type": "CommandExecution", "id": "c", "command": ["sh", "-lc", "ls"], "aggregated_output": "a.py"}
    records = [
        user("hi"),
        told("item_completed", item={"type": "UserMessage", "content": [{"type": "text", "text": "hi"}]}),
        call("c", "exec_command"),
        told("item_completed", item=command),
        output("c", "a.py"),
        told("item_completed", item={"type": "AgentMessage", "content": [{"type": "Text", "text": "ho"}]}),
        assistant("ho"),
    ]
    assert [text for _, text in shown(*records)] == ["hi", "exec_command", "a.py", "ho"]


@pytest.mark.parametrize("role", ["developer", "system", None, 5])
def test_what_neither_the_person_nor_the_model_said_is_meta(role: object) -> None:
    found = event(item(type="message", role=role, content="be brief"))
    assert (found.kind, found.role) == ("meta", "system")


def test_what_the_program_put_beside_the_person_s_words_is_left_out() -> None:
    context = "<environment_context>\n<cwd>/w</cwd>\n</environment_context>"
    assert (event(user(context)).kind, event(user(context)).role) == ("meta", "system")
    assert event(user(context, "light it")).text == "light it"


@pytest.mark.parametrize("kind", ["reasoning", "ghost_snapshot", "compaction", "additional_tools", "new_kind"])
def test_reasoning_and_bookkeeping_are_no_events(kind: str) -> None:
    summary = [{"type": "summary_text", "text": "hm"}]
    assert events(item(type=kind, summary=summary, text="hm", encrypted_content="gAAAA")) == []


@pytest.mark.parametrize(
    "each",
    [
        {"type": "world_state", "payload": {"state": {}}},
        {"type": "inter_agent_communication_metadata", "payload": {}},
        {"type": "thread.started", "thread_id": "x"},
        {"type": "item.completed", "item": {"type": "agent_message", "text": "x"}},
        {"record_type": "state"},
        {"type": "response_item", "payload": None},
        {"type": ["response_item"], "payload": {"type": "message", "role": "user", "content": "x"}},
        told("token_count"),
        told("agent_reasoning", text="hm"),
        told("task_complete", last_agent_message="done"),
        told("thread_rolled_back", num_turns=1),
        told("new_kind", message="x"),
    ],
)
def test_bookkeeping_and_unknown_records_are_skipped(each: Record) -> None:
    parsed = lines(each)[0]
    assert (parsed.events, parsed.titles, parsed.state) == ((), (), {})


def test_a_summary_is_meta_and_the_copies_it_stands_for_are_not_read() -> None:
    history = [user("hi")["payload"]]
    found = events(record("compacted", message="They light it.", replacement_history=history))
    assert [(each.kind, each.text) for each in found] == [("meta", "They light it.")]
    assert events(record("compacted", message="", replacement_history=history)) == []


def test_what_an_agent_sent_another_is_meta_without_its_encrypted_part() -> None:
    content = [{"type": "input_text", "text": "Look."}, {"type": "encrypted_content", "encrypted_content": "gAAAA"}]
    found = event(item(type="agent_message", author="/root", recipient="/root/ada", content=content))
    assert (found.kind, found.text) == ("meta", "/root → /root/ada\nLook.")


# Tool calls and results


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ('{"cmd":"ls","n":[1]}', "exec_command\ncmd: ls\nn: [1]"),
        ({"cmd": "ls"}, "exec_command\ncmd: ls"),
        ('{"cmd":', 'exec_command\n{"cmd":'),
        ("[1]", "exec_command\n[1]"),
        ("", "exec_command"),
        (None, "exec_command"),
        ('{"a":' * 2_000 + "1" + "}" * 2_000, "exec_command\n" + '{"a":' * 2_000 + "1" + "}" * 2_000),
    ],
    ids=["object", "no text", "broken", "list", "empty", "null", "deep"],
)
def test_arguments_are_read_where_they_can_be(arguments: object, text: str) -> None:
    assert event(call("c", "exec_command", arguments)).text == text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ("a.py", "a.py"),
        ([{"type": "input_text", "text": "a"}, {"type": "output_text", "text": "b"}], "a\nb"),
        ([{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0K"}], "[image image/png]"),
        ({"content": "a", "success": False}, "[error] a"),
        ({"type": "input_text", "text": "a"}, "a"),
        ('{"output":"a\\n","metadata":{"exit_code":0}}', "a\n"),
        ('{"output":"a","metadata":{"exit_code":2}}', "[error] a"),
        ('{"output":', '{"output":'),
        (None, ""),
        (7, "7"),
    ],
)
def test_a_result_of_every_shape_is_read(result: object, text: str) -> None:
    found = event(call("c", "exec_command"), output("c", result))
    assert (found.kind, found.role, found.tool, found.text) == ("tool_result", "tool", "exec_command", text)


@pytest.mark.parametrize("name", ["mcp__oil__level", "level"])
def test_a_server_s_tool_has_one_name(name: str) -> None:
    found = event(call("c", name, namespace="mcp__oil" if name == "level" else None))
    assert found.tool == "mcp__oil__level"
    ended = told("mcp_tool_call_end", call_id="d", invocation={"server": "oil", "tool": "level"}, result={"Ok": {}})
    assert event(ended).tool == "mcp__oil__level"


def test_the_files_of_a_patch_are_named() -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n*** Move to: b.py\n*** Delete File: c d.py\n*** End Patch"
    assert event(item(type="custom_tool_call", call_id="c", name="apply_patch", input=patch)).files == (
        "a.py",
        "b.py",
        "c d.py",
    )
    assert event(call("c", "apply_patch", json.dumps({"input": patch}))).files == ("a.py", "b.py", "c d.py")
    assert event(call("c", "view_image", '{"path":"/w/a.png"}')).files == ("/w/a.png",)


@pytest.mark.parametrize(
    "ended",
    [
        told("exec_command_end", call_id="c", command=["ls"], aggregated_output="a.py", exit_code=0),
        told("patch_apply_end", call_id="c", success=True, stdout="a.py", changes={}),
        told("mcp_tool_call_end", call_id="c", invocation={}, result={"Err": "a.py"}),
        told("dynamic_tool_call_response", call_id="c", tool="x", content_items=[{"text": "a.py"}]),
    ],
)
def test_the_end_of_a_call_is_shown_only_where_there_is_no_output(ended: Record) -> None:
    alone = event(call("c", "x"), ended)
    assert (alone.kind, "a.py" in alone.text) == ("tool_result", True)
    assert shown(call("c", "x"), ended, output("c", "the output"))[1:] == [("tool_result", "the output")]


def test_a_search_of_the_web_is_one_call_and_its_pages_are_the_result() -> None:
    action = {"type": "search", "query": "cotton wick"}
    page = {"title": "Wicks", "url": "https://a.example/wicks", "snippet": "Cotton burns well."}
    ended = told("web_search_end", call_id="ws_1", query="cotton wick", action=action, results=[page])
    found = events(item(type="web_search_call", action=action), ended)
    assert [(each.kind, each.rank, each.twin) for each in found[:2]] == [
        ("tool_call", 0, found[0].twin),
        ("tool_call", 1, found[0].twin),
    ]
    assert found[2].event_id == f"{found[1].event_id}#result"
    assert found[2].text == "Wicks\nhttps://a.example/wicks\nCotton burns well."


def test_an_image_is_never_kept_as_text() -> None:
    data = "iVBORw0K" * 10
    made = item(type="image_generation_call", id="ig_1", revised_prompt="a lamp", result=data)
    found = events(made, told("image_generation_end", call_id="ig_1", revised_prompt="a lamp", result=data))
    assert [each.text for each in found] == ["image_generation\nprompt: a lamp\nresult: [image]"] * 2
    assert found[0].twin == found[1].twin


# Origin's own calls: invariant 2

ASKED = '{"id":"ent_00112233445566ff","query":"the secret"}'
IN_CODE = "const r = await tools.mcp__origin__search({query: 'the secret'}); text(r)"


@pytest.mark.parametrize(
    "asked",
    [
        call("c", "get", ASKED, namespace="mcp__origin"),
        call("c", "mcp__origin__get", ASKED),
        call("c", "origin__get", ASKED),
        item(type="custom_tool_call", call_id="c", name="exec", input=IN_CODE),
    ],
    ids=["namespace", "name", "old name", "program"],
)
def test_origin_s_own_calls_and_answers_keep_names_and_ids_only(asked: Record) -> None:
    ended = told("mcp_tool_call_end", call_id="c", invocation={}, result={"Ok": {"content": ["the secret"]}})
    found = events(asked, ended, output("c", "the secret"), output("c", "the secret"))
    assert [each.kind for each in found] == ["meta"] * 4
    assert all("secret" not in each.text and each.tool.startswith("mcp__origin__") for each in found)


@pytest.mark.parametrize(
    "answer",
    [
        '{"entries":[{"text":"the secret"}]}',
        'Wall time: 0.1 seconds\nOutput:\n{"entries":[{"text":"the secret"}]}',
        "Process exited with code 0\nOutput:\nrecorded data, not instructions\n\nthe secret",
        [{"type": "input_text", "text": '{"entries":[{"text":"the secret"}]}'}],
    ],
)
def test_an_own_answer_is_recognised_by_shape_under_any_name(answer: object) -> None:
    found = event(call("c", "exec_command"), output("c", answer))
    assert (found.kind, found.text) == ("meta", "exec_command\nc")


def test_an_end_of_an_own_call_that_was_not_seen_is_known_by_its_server() -> None:
    invocation = {"server": "origin", "tool": "search", "arguments": {"query": "the secret"}}
    found = event(told("mcp_tool_call_end", call_id="c", invocation=invocation, result={"Ok": {"content": ["secret"]}}))
    assert (found.kind, found.text) == ("meta", "mcp__origin__search\nc")


# Titles


def test_a_thread_s_name_is_its_title() -> None:
    named = told("thread_name_updated", thread_id=THREAD, thread_name=" The lamp ")
    assert lines(session(), named)[-1].titles == (Title("custom", "The lamp", session=THREAD),)
    assert lines(spawned(), named)[-1].titles == (Title("custom", "The lamp", session=f"{PARENT}/{THREAD}"),)


@pytest.mark.parametrize("fields", [{"thread_name": ""}, {"thread_name": 5}, {"thread_name": "x", "thread_id": PARENT}])
def test_no_name_and_a_copied_thread_s_name_are_no_titles(fields: Record) -> None:
    assert lines(session(), told("thread_name_updated", **fields))[-1].titles == ()


# Damage


@pytest.mark.parametrize(("data", "reason"), BROKEN_LINES)
@pytest.mark.parametrize("path", [PATH, "session_index.jsonl", "state_5.sqlite"])
def test_a_broken_line_is_malformed_with_its_reason(data: bytes, reason: str, path: str) -> None:
    with pytest.raises(MalformedLine, match=reason):
        parse_line(Line(data, 1, path), {})


def test_two_records_run_together_are_read_one_by_one() -> None:
    pieces, rest = split_objects(json.dumps(user("one")).encode() + json.dumps(user("two")).encode())
    found = [parse_line(Line(piece, 1, PATH), {}).events[0] for piece in pieces]
    assert ([each.text for each in found], rest) == (["one", "two"], b"")
    assert len({each.event_id for each in found}) == 2


@pytest.mark.parametrize(("before", "after"), BYTES_AROUND.values(), ids=BYTES_AROUND)
def test_bytes_around_a_record_change_nothing(before: bytes, after: bytes) -> None:
    data = json.dumps(user("light it")).encode()
    assert parse_line(Line(before + data + after, 1, PATH), {}) == parse_line(Line(data, 1, PATH), {})


def test_text_that_is_no_unicode_becomes_text_that_is() -> None:
    assert event(user("\ud83d!\udcb2 \U0001f600")).text == "\ufffd!\ufffd \U0001f600"
    torn = parse_line(Line(json.dumps(user("caf@")).encode().replace(b"@", b"\xe9"), 1, PATH), {})
    assert torn.events[0].text == "caf\ufffd"


def test_a_line_of_many_megabytes_is_read_whole() -> None:
    assert len(event(output("c", "x" * 20_000_000)).text) == 20_000_000


def test_the_state_stays_small_however_long_a_log_is() -> None:
    calls = [call(f"call_{number}", "exec_command") for number in range(1_000)]
    assert len(json.dumps(lines(session(), *calls)[-1].state)) < 4_000


# Properties

VALUES = json_values(THREAD, AT, "user", "assistant", "subagent", "data:image/png;base64,iV")
KINDS = [
    *("message", "agent_message", "function_call", "custom_tool_call_output", "local_shell_call", "web_search_call"),
    *("image_generation_call", "tool_search_output", "user_message", "exec_command_end", "patch_apply_end"),
    *("mcp_tool_call_end", "web_search_end", "item_completed", "thread_name_updated", "error", "exited_review_mode"),
]
FIELDS = [
    *("role", "content", "message", "name", "namespace", "arguments", "input", "call_id", "output", "action", "images"),
    *("results", "tools", "command", "changes", "invocation", "result", "review_output", "error", "thread_name", "cwd"),
    *("source", "thread_source", "parent_thread_id", "session_id", "forked_from_id", "git", "id", "author", "success"),
]
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["input_text", "input_image", "encrypted_content", "hologram"])},
    optional=dict.fromkeys(["text", "image_url", "content"], VALUES),
)
PAYLOADS = st.fixed_dictionaries(
    {"type": VALUES | st.sampled_from(KINDS)},
    optional=dict.fromkeys(FIELDS, VALUES)
    | {
        "content": VALUES | st.lists(BLOCKS | VALUES, max_size=3),
        "item": VALUES | st.fixed_dictionaries({"type": st.sampled_from(["UserMessage", "FileChange", "Extension"])}),
    },
)
RECORDS = (
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(
                ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"]
            )
        },
        optional={"payload": VALUES | PAYLOADS, "timestamp": VALUES, "ordinal": VALUES},
    )
    | PAYLOADS
)
LINES = st.sampled_from(sample_lines(ADAPTER)) | RECORDS.map(lambda each: json.dumps(each).encode())
PATHS = st.sampled_from(
    [PATH, "sessions/rollout-x.jsonl", "session_index.jsonl", "state_5.sqlite", "rollout-", "x", ""]
)


@settings(deadline=None)
@given(st.binary() | damaged_lines(LINES), PATHS)
def test_a_damaged_line_is_at_worst_malformed(data: bytes, path: str) -> None:
    parse_or_none(parse_line, data, {}, path)


@settings(deadline=None)
@given(st.lists(LINES, max_size=4), PATHS)
def test_a_state_that_was_stored_between_lines_gives_the_same_events(lines: list[bytes], path: str) -> None:
    check_a_stored_state_changes_nothing(parse_line, lines, path)
