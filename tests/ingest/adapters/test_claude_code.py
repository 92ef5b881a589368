"""What a line of a Claude Code log becomes; the samples beside show whole logs."""

import hashlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.adapters.claude_code import ADAPTER, parse_line
from memory.errors import MalformedLine
from memory.json_line import split_objects
from memory.parsed import Line, ParsedEvent, ParsedLine, State, Title
from tests.ingest.adapters.golden import Case, cases, read_lines
from tests.ingest.adapters.properties import BROKEN_LINES, BYTES_AROUND

SESSION = "5e551011-0000-4000-8000-000000000001"
OTHER_SESSION = "5e551011-0000-4000-8000-000000000002"
UUID = "0000e4e1-0000-4000-8000-000000000001"
PATH = f"projects/-w-lamp/{SESSION}.jsonl"
AT = "2026-05-04T12:00:00.000Z"

Record = dict[str, Any]


def user(content: object, **fields: object) -> Record:
    return {
        "type": "user",
        "uuid": UUID,
        "sessionId": SESSION,
        "timestamp": AT,
        "message": {"role": "user", "content": content},
    } | fields


def assistant(content: object, **fields: object) -> Record:
    message = {"id": "msg_1", "role": "assistant", "model": "claude-x", "content": content}
    return user(content) | {"type": "assistant", "message": message} | fields


def call(call_id: str, name: str, **arguments: object) -> Record:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: object, **fields: object) -> Record:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content} | fields


def parse(record: Record, state: State | None = None, path: str = PATH) -> ParsedLine:
    return parse_line(Line(json.dumps(record).encode(), 1, path), {} if state is None else state)


def events(*records: Record, path: str = PATH) -> list[ParsedEvent]:
    """Return the events of records that follow one another in one file."""
    state: State = {}
    found: list[ParsedEvent] = []
    for record in records:
        parsed = parse(record, state, path)
        state = parsed.state
        found += parsed.events
    return found


def event(*records: Record, path: str = PATH) -> ParsedEvent:
    """Return the last event of records that follow one another in one file."""
    return events(*records, path=path)[-1]


# Identity


def test_text_blocks_of_a_record_are_one_event_and_every_other_block_has_its_raw_index() -> None:
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "first"},
        call("toolu_1", "Bash", command="ls"),
        {"type": "text", "text": "second"},
        call("toolu_2", "Read", file_path="a.py"),
    ]
    found = events(assistant(content))
    assert [(each.event_id, each.text, each.block) for each in found] == [
        (f"claude-code:{UUID}", "first\n\nsecond", 0),
        (f"claude-code:{UUID}#2", "Bash\ncommand: ls", 2),
        (f"claude-code:{UUID}#4", "Read\nfile_path: a.py", 4),
    ]


def test_a_uuid_is_the_key_in_whatever_file_and_case_it_stands() -> None:
    copied = event(user("hi", sessionId=OTHER_SESSION), path=f"projects/-w/{OTHER_SESSION}.jsonl")
    assert copied.event_id == event(user("hi")).event_id == f"claude-code:{UUID}"
    assert event(user("hi", uuid=UUID.upper())).event_id == f"claude-code:{UUID.upper()}"


def test_an_id_that_is_no_uuid_is_told_with_the_record_s_session() -> None:
    assert event(user("hi", uuid="u1", sessionId=OTHER_SESSION)).event_id == f"claude-code:{OTHER_SESSION}/u1"
    assert event(user("hi", uuid="u 1#2", sessionId="")).event_id == f"claude-code:{SESSION}/u%201%232"


def test_a_record_without_a_uuid_is_known_by_what_it_says_and_not_by_its_line() -> None:
    record = user("hi", uuid=None)
    ids = {parse_line(Line(json.dumps(record).encode(), number, PATH), {}).events[0].event_id for number in (1, 9)}
    digest = hashlib.sha256(f"{SESSION}|user|{AT}|hi".encode()).hexdigest()
    assert ids == {f"claude-code:{SESSION}/{digest[:16]}"}
    assert event(user("ho", uuid=None)).event_id not in ids


def test_one_api_message_over_several_lines_gives_each_line_its_own_event() -> None:
    first = assistant([{"type": "text", "text": "I look."}])
    second = assistant([call("toolu_1", "Bash", command="ls")], uuid=OTHER_SESSION)
    assert [each.event_id for each in events(first, second)] == [
        f"claude-code:{UUID}",
        f"claude-code:{OTHER_SESSION}#0",
    ]


# Places


def test_a_file_named_by_a_uuid_is_that_session_whatever_its_copied_lines_say() -> None:
    copied, own = events(user("old", sessionId=OTHER_SESSION), user("new"))
    assert (copied.session, copied.home) == (SESSION, False)
    assert (own.session, own.home) == (SESSION, True)


def test_a_file_with_another_name_is_the_session_its_records_name() -> None:
    path = "projects/-w/export.jsonl"
    found = events(user("a", sessionId=None), user("b", sessionId="s1"), user("c", sessionId=7), path=path)
    assert [each.session for each in found] == ["export", "s1", "s1"]


@pytest.mark.parametrize("folders", ["subagents", "subagents/workflows/run-1", "workflows/run-1"])
def test_a_sub_agent_s_file_is_a_session_below_its_directory_s(folders: str) -> None:
    path = f"projects/-w/{SESSION}/{folders}/agent-a1.jsonl"
    found = event(user("look around", isSidechain=True, agentId="a1"), path=path)
    assert (found.session, found.parent) == (f"{SESSION}/agent-a1", SESSION)
    assert found.sub_agent
    assert found.home


def test_a_sub_agent_s_parent_is_its_directory_also_where_that_is_no_uuid_or_the_records_disagree() -> None:
    path = "root-0a1b2c3d/projects/-w/team/subagents/agent-a1.jsonl"
    found = event(user("x", sessionId=OTHER_SESSION, agentId="a2"), path=path)
    assert (found.session, found.parent, found.sub_agent, found.home) == ("team/agent-a1", "team", True, False)


def test_an_old_sub_agent_s_file_beside_its_parent_names_it_in_its_records() -> None:
    path = "projects/-w/agent-0a1b2c3d.jsonl"
    found = event(user("x", isSidechain=True), path=path)
    assert (found.session, found.parent, found.sub_agent) == (f"{SESSION}/agent-0a1b2c3d", SESSION, True)


@pytest.mark.parametrize("session_id", [None, "agent-0a1b2c3d", "0a1b2c3d"])
def test_an_old_sub_agent_s_file_that_names_no_other_session_has_no_parent(session_id: str | None) -> None:
    found = event(user("x", sessionId=session_id), path="projects/-w/agent-0a1b2c3d.jsonl")
    assert (found.session, found.parent, found.sub_agent) == ("agent-0a1b2c3d", "", True)


def test_a_sidechain_in_a_main_file_is_a_sub_agent_s_talk_in_the_same_session() -> None:
    found = event(user("x", isSidechain=True))
    assert (found.session, found.parent, found.sub_agent) == (SESSION, "", True)


def test_directory_branch_and_version_are_the_record_s_else_the_last_seen() -> None:
    known = user("a", cwd="/w/lamp", gitBranch="main", version="2.1.0")
    bare = event(known, user("b"))
    assert (bare.cwd, bare.branch, bare.agent_version) == ("/w/lamp", "main", "2.1.0")
    moved = event(known, user("b", cwd=r"D:\w\lamp", gitBranch="HEAD", version=3))
    assert (moved.cwd, moved.branch, moved.agent_version) == (r"D:\w\lamp", "", "2.1.0")


def test_only_what_the_model_wrote_names_a_model() -> None:
    said, asked = events(assistant("x"), user("y"))
    assert (said.model, asked.model) == ("claude-x", "")


# Times


def test_a_line_s_time_is_its_own_and_given_also_where_it_makes_no_event() -> None:
    assert parse({"type": "progress", "timestamp": AT}).at == AT
    assert parse({"type": "custom-title", "customTitle": "T"}).at == ""
    assert event(user("a"), user("b", timestamp="soon")).at == ""
    assert [each.at for each in events(user("a"), user("b", timestamp="2026-05-04T11:00:00Z"))] == [
        AT,
        "2026-05-04T11:00:00.000Z",
    ]


# What the person and the model said


@pytest.mark.parametrize(
    "content",
    [
        "light it",
        ["light it"],
        [{"type": "text", "text": "light it"}],
        {"type": "text", "text": "light it"},
        [None, 3, {"type": "text", "text": None}, {"text": "light it"}, {"type": "text", "text": " "}],
    ],
)
def test_content_of_every_shape_is_read(content: object) -> None:
    found = event(user(content))
    assert (found.kind, found.role, found.text) == ("message", "user", "light it")


@pytest.mark.parametrize("message", [None, 5, {}, {"content": None}, {"content": 5}, {"content": []}, {"content": " "}])
def test_a_record_that_says_nothing_makes_no_event(message: object) -> None:
    assert events(user("") | {"message": message}) == []


def test_images_become_placeholders() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0K"}}
    assert event(user([image, {"type": "text", "text": "see"}])).text == "[image image/png]\n\nsee"
    assert event(user([result("t", [image])])).text == "[image image/png]"


def test_thinking_is_no_event() -> None:
    thought = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "redacted_thinking", "data": "x"}]
    assert events(assistant(thought)) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"isMeta": True},
        {"isCompactSummary": True},
        {"isVisibleInTranscriptOnly": True},
        {"origin": {"kind": "task-notification"}},
        {"origin": {"kind": "peer", "from": "x"}},
    ],
)
def test_what_the_program_put_into_the_person_s_turn_is_meta(fields: Record) -> None:
    found = event(user("all is done", **fields))
    assert (found.kind, found.role, found.text) == ("meta", "system", "all is done")


def test_an_error_that_the_program_wrote_as_the_model_is_meta() -> None:
    said = assistant([{"type": "text", "text": "API Error"}])
    said["message"]["model"] = "<synthetic>"
    found = event(said)
    assert (found.kind, found.role, found.model) == ("meta", "assistant", "")


def test_a_command_is_meta_and_its_arguments_are_the_person_s_words() -> None:
    command = "<command-message>fix</command-message>\n<command-name>/fix</command-name>"
    assert event(user(command)).kind == "meta"
    said = event(user(f"{command}\n<command-args>the lamp</command-args>"))
    assert (said.kind, said.role, said.text) == ("message", "user", "the lamp")


def test_a_reminder_beside_words_leaves_the_words_alone() -> None:
    reminder = {"type": "text", "text": "<system-reminder>x</system-reminder>"}
    assert event(user([reminder, {"type": "text", "text": "light it"}])).text == "light it"
    assert event(user([reminder])).kind == "meta"


def test_text_that_quotes_markup_is_the_person_s() -> None:
    quoting = "Why is <command-name>/clear</command-name> in my log, and `<system-reminder>x</system-reminder>`?"
    assert (event(user(quoting)).kind, event(user(quoting)).text) == ("message", quoting)


def test_a_prompt_typed_while_the_agent_was_busy_is_the_person_s() -> None:
    queued = {"type": "queued_command", "prompt": "also trim it", "commandMode": "prompt"}
    found = event(user("") | {"type": "attachment", "attachment": queued})
    assert (found.kind, found.role, found.text, found.event_id) == (
        "message",
        "user",
        "also trim it",
        f"claude-code:{UUID}",
    )
    assert events({"type": "queue-operation", "operation": "enqueue", "content": "also trim it"}) == []


@pytest.mark.parametrize(
    "fields", [{"commandMode": "task-notification"}, {"isMeta": True}, {"origin": {"kind": "peer"}}]
)
def test_a_queued_text_of_another_sender_is_meta(fields: Record) -> None:
    queued = {"type": "queued_command", "prompt": "all is done", "commandMode": "prompt"} | fields
    assert event(user("") | {"type": "attachment", "attachment": queued}).kind == "meta"


def test_output_of_hooks_is_no_event() -> None:
    told = {"type": "hook_additional_context", "content": ["what the memory says"], "stdout": "what the memory says"}
    assert events(user("") | {"type": "attachment", "attachment": told}) == []


@pytest.mark.parametrize("kind", ["progress", "last-prompt", "file-history-snapshot", "frame-link", "journal", "user2"])
def test_bookkeeping_and_unknown_records_are_skipped(kind: str) -> None:
    state = {"sid": "s"}
    data = {"message": {"message": {"content": "a copy of what a sub-agent said"}}}
    parsed = parse(user("not read", type=kind, data=data), state)
    assert (parsed.events, parsed.titles) == ((), ())
    assert parsed.state is state


@pytest.mark.parametrize(
    "record", [{}, {"type": None}, {"type": 5}, {"type": ["user"]}, {"type": {}}, {"message": "x"}]
)
def test_a_record_without_a_type_is_skipped(record: Record) -> None:
    assert parse(record) == ParsedLine({})


# Tool calls and results


def test_a_result_names_the_tool_of_its_call() -> None:
    found = event(assistant([call("toolu_1", "Bash", command="ls")]), user([result("toolu_1", "a.py", is_error=True)]))
    assert (found.kind, found.role, found.tool, found.text) == ("tool_result", "tool", "Bash", "[error] a.py")


def test_the_state_holds_a_bounded_number_of_calls() -> None:
    calls = [assistant([call(f"toolu_{n}", "Bash")]) for n in range(100)]
    assert event(*calls, user([result("toolu_99", "x")])).tool == "Bash"
    assert event(*calls, user([result("toolu_35", "x")])).tool == ""
    state: State = {}
    for record in calls:
        state = parse(record, state).state
    assert len(json.dumps(state)) < 4_000


def test_a_call_keeps_the_files_it_names_though_its_text_is_long() -> None:
    found = event(assistant([call("toolu_1", "Write", content="x" * 10_000, file_path="/w/lamp/a.py")]))
    assert found.files == ("/w/lamp/a.py",)
    assert len(found.text) > 10_000


def test_the_whole_result_is_not_read_a_second_time_from_tool_use_result() -> None:
    assert len(events(user([result("t", "short")], toolUseResult={"stdout": "long"}))) == 1


# Origin's own calls: invariant 2


def test_origin_s_own_calls_and_answers_keep_names_and_ids_only() -> None:
    asked = assistant([call("toolu_1", "mcp__origin__get", id="ent_00112233445566ff", query="the secret")])
    answered = user([result("toolu_1", "the secret")], toolUseResult="the secret")
    found = events(asked, answered)
    assert [(each.kind, each.tool, each.text) for each in found] == [
        ("meta", "mcp__origin__get", "mcp__origin__get\ntoolu_1\nent_00112233445566ff"),
        ("meta", "mcp__origin__get", "mcp__origin__get\ntoolu_1"),
    ]


def test_an_own_answer_is_recognised_however_many_other_calls_came_between() -> None:
    between = [assistant([call(f"toolu_other_{n}", "Bash")]) for n in range(200)]
    own = assistant([call("toolu_own", "mcp__origin__search", query="x")])
    assert event(own, *between, user([result("toolu_own", "the secret")])).kind == "meta"


def test_an_own_answer_is_recognised_again_when_a_resumed_session_repeats_it() -> None:
    own = assistant([call("toolu_own", "mcp__origin__search")])
    answer = user([result("toolu_own", "the secret")])
    assert [each.kind for each in events(own, answer, answer)] == ["meta", "meta", "meta"]


def test_an_own_answer_without_its_call_is_recognised_by_shape() -> None:
    found = event(user([result("toolu_9", [{"type": "text", "text": '{"entries":[{"text":"the secret"}]}'}])]))
    assert (found.kind, found.text) == ("meta", "toolu_9")


# Titles


@pytest.mark.parametrize(
    ("record", "title"),
    [
        ({"type": "summary", "summary": "T", "leafUuid": UUID}, Title("summary", "T", leaf=f"claude-code:{UUID}")),
        ({"type": "summary", "summary": "T"}, Title("summary", "T", session=SESSION)),
        ({"type": "ai-title", "aiTitle": " T\n", "sessionId": "s1"}, Title("ai", "T", session="s1")),
        ({"type": "custom-title", "customTitle": "T", "sessionId": 5}, Title("custom", "T", session=SESSION)),
        ({"type": "agent-name", "agentName": "T", "sessionId": "s1"}, Title("agent-name", "T", session="s1")),
    ],
)
def test_titles_belong_to_the_session_or_the_record_they_name(record: Record, title: Title) -> None:
    assert parse(record).titles == (title,)


@pytest.mark.parametrize("record", [{"type": "summary"}, {"type": "ai-title", "aiTitle": 5}, {"type": "custom-title"}])
def test_a_title_line_without_a_title_gives_none(record: Record) -> None:
    assert parse(record).titles == ()


# Damage


@pytest.mark.parametrize(("data", "reason"), BROKEN_LINES)
def test_a_broken_line_is_malformed_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(MalformedLine, match=reason):
        parse_line(Line(data, 1, PATH), {})


def test_two_records_run_together_are_read_one_by_one() -> None:
    merged = json.dumps(user("one")).encode() + json.dumps(user("two", uuid=OTHER_SESSION)).encode()
    pieces, rest = split_objects(merged)
    texts = [parse_line(Line(piece, 1, PATH), {}).events[0].text for piece in pieces]
    assert (texts, rest) == (["one", "two"], b"")


@pytest.mark.parametrize(("before", "after"), BYTES_AROUND.values(), ids=BYTES_AROUND)
def test_bytes_around_a_record_change_nothing(before: bytes, after: bytes) -> None:
    data = json.dumps(user("light it")).encode()
    assert parse_line(Line(before + data + after, 1, PATH), {}) == parse_line(Line(data, 1, PATH), {})


def test_text_that_is_no_unicode_becomes_text_that_is() -> None:
    lone = parse_line(Line(json.dumps(user("\ud83d!\udcb2 \U0001f600")).encode(), 1, PATH), {})
    assert lone.events[0].text == "\ufffd!\ufffd \U0001f600"
    torn = parse_line(Line(json.dumps(user("caf@")).encode().replace(b"@", b"\xe9"), 1, PATH), {})
    assert torn.events[0].text == "caf\ufffd"


def test_a_line_of_many_megabytes_is_read_whole() -> None:
    assert len(event(user([result("t", "x" * 20_000_000)])).text) == 20_000_000


# Properties

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=9)
    | st.sampled_from([UUID, SESSION, AT]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["type", "text", "id"]), inner),
    max_leaves=6,
)
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", "hologram", "queued_command"])},
    optional=dict.fromkeys(["text", "id", "tool_use_id", "name", "input", "content", "source", "prompt"], JSON),
)
ENVELOPE = [
    "uuid",
    "sessionId",
    "timestamp",
    "cwd",
    "gitBranch",
    "version",
    "isMeta",
    "origin",
    "agentId",
    "isSidechain",
]
RECORDS = st.fixed_dictionaries(
    {"type": st.sampled_from(["user", "assistant", "system", "attachment", "summary", "ai-title", "progress"])},
    optional={
        "message": JSON | st.fixed_dictionaries({"content": JSON | st.lists(BLOCKS | JSON, max_size=3)}),
        "attachment": JSON | BLOCKS,
        **dict.fromkeys([*ENVELOPE, "content", "summary", "leafUuid", "aiTitle"], JSON),
    },
)
SAMPLES = [case for case in cases() if case.adapter is ADAPTER]
LINES = st.sampled_from([line for case in SAMPLES for line in case.log.read_bytes().split(b"\n") if line])
PATHS = st.sampled_from([PATH, f"projects/-w/{SESSION}/subagents/agent-a.jsonl", "projects/-w/agent-a.jsonl", "x", ""])


def parse_or_none(data: bytes, state: State, path: str) -> ParsedLine | None:
    try:
        return parse_line(Line(data, 1, path), state)
    except MalformedLine:
        return None


@settings(deadline=None)
@given(st.binary(), PATHS)
def test_arbitrary_bytes_are_at_worst_malformed(data: bytes, path: str) -> None:
    parse_or_none(data, {}, path)


@settings(deadline=None)
@given(LINES | RECORDS.map(lambda record: json.dumps(record).encode()), PATHS, st.data())
def test_a_damaged_line_is_at_worst_malformed(line: bytes, path: str, data: st.DataObject) -> None:
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(line))] * 2)))
    for damaged in (line, line[:start], line[:start] + data.draw(st.binary(max_size=2)) + line[end:]):
        parse_or_none(damaged, {}, path)


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=4), PATHS)
def test_events_can_be_stored_whatever_a_record_holds(records: list[Record], path: str) -> None:
    state: State = {}
    for record in records:
        parsed = parse_line(Line(json.dumps(record).encode(), 1, path), state)
        msgspec.json.encode(parsed)
        ids = [each.event_id for each in parsed.events]
        assert len(ids) == len(set(ids))
        state = parsed.state


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=4), PATHS)
def test_a_state_that_was_stored_between_lines_gives_the_same_events(records: list[Record], path: str) -> None:
    straight: State = {}
    stored: State = {}
    for record in records:
        data = json.dumps(record).encode()
        before = json.dumps(straight)
        once, again = parse_line(Line(data, 1, path), straight), parse_line(Line(data, 1, path), stored)
        assert (once.events, once.titles, once.at) == (again.events, again.titles, again.at)
        assert json.dumps(straight) == before
        straight, stored = once.state, json.loads(json.dumps(again.state))


@settings(deadline=None)
@given(st.sampled_from(SAMPLES), st.data())
def test_a_log_read_in_two_steps_gives_the_same_as_in_one(case: Case, data: st.DataObject) -> None:
    path, lines = case.expected()["path"], case.log.read_bytes().split(b"\n")
    cut = data.draw(st.integers(min_value=0, max_value=len(lines)))
    first = read_lines(parse_line, b"\n".join(lines[:cut]), path)
    second = read_lines(parse_line, b"\n".join(lines[cut:]), path, json.loads(json.dumps(first["state"])))
    whole = case.read()
    assert second["state"] == whole["state"]
    assert [each.get("events") for each in first["lines"] + second["lines"]] == [
        each.get("events") for each in whole["lines"]
    ]
