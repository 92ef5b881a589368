"""What a row of ZCode's database becomes; the samples beside show whole journals."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.adapters.contract import Environment
from ingest.adapters.zcode import ADAPTER, discover
from ingest.adapters.zcode.parts import parse_line
from memory.errors import MalformedLine
from memory.parsed import Line, ParsedEvent, Title
from tests.ingest.adapters.properties import (
    check_a_stored_state_changes_nothing,
    damaged_lines,
    json_values,
    parse_or_none,
    sample_lines,
)
from tests.ingest.adapters.zcode_database import LOGICAL_PATH, REAL_USER, START, ZCodeDatabase, events, parse, read


@pytest.fixture
def database(tmp_path: Path) -> ZCodeDatabase:
    found = ZCodeDatabase(tmp_path / ".zcode/cli/db/db.sqlite")
    found.session("sess_1")
    return found


def event(database: ZCodeDatabase) -> ParsedEvent:
    """Return the last event of the database."""
    return events(database.path)[-1]


def tool(status: str, name: str = "Bash", **state: object) -> dict[str, Any]:
    usual = {"status": status, "input": {"command": "ls"}, "time": {"start": START + 100}}
    return {"type": "tool", "tool": name, "callID": "call_a", "state": usual | state}


# What the person and the model said


def test_a_text_part_is_a_message_named_after_it(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "light the lamp")
    database.message("msg_2", "sess_1", "assistant", modelID="GLM-5.3", providerID="builtin:zai")
    database.text("msg_2_p0", "msg_2", "sess_1", "It is lit.")
    asked, answered = events(database.path)
    assert (asked.event_id, asked.kind, asked.role, asked.text) == (
        "zcode:msg_1_p0",
        "message",
        "user",
        "light the lamp",
    )
    assert (answered.kind, answered.role, answered.model) == ("message", "assistant", "GLM-5.3")
    assert (asked.session, asked.cwd, asked.agent_version, asked.model) == ("sess_1", "/w/lamp", "0.16.9", "")


@pytest.mark.parametrize(
    "model", [{"modelID": "GLM"}, {"model": {"modelID": "GLM", "providerID": "zai"}}, {"model": "GLM"}]
)
def test_a_model_is_named_in_any_of_three_ways(database: ZCodeDatabase, model: dict[str, Any]) -> None:
    database.message("msg_1", "sess_1", "assistant", **model)
    database.text("p", "msg_1", "sess_1", "It is lit.")
    assert event(database).model == "GLM"


def test_the_directory_is_the_message_s_else_the_session_s(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "light it", path={"cwd": r"D:\w\lamp", "root": r"D:\w"})
    assert event(database).cwd == r"D:\w\lamp"


@pytest.mark.parametrize(
    "data",
    [
        {"semantics": {"origin": "agent_runtime", "kind": "background_notification"}},
        {"semantics": {"origin": "system", "kind": "rewind_notice"}},
        {"semantics": REAL_USER | {"uiVisibility": "hidden"}},
        {"semantics": REAL_USER, "synthetic": True},
        {"semantics": None, "source": "background_task"},
        {"semantics": None, "visibility": "model-only"},
        {"semantics": {"kind": "compact_summary"}},
    ],
)
def test_what_the_program_put_into_the_person_s_turn_is_meta(database: ZCodeDatabase, data: dict[str, Any]) -> None:
    database.user("msg_1", "sess_1", "all is done", **data)
    assert (event(database).kind, event(database).role) == ("meta", "system")


@pytest.mark.parametrize(
    "part", [{"synthetic": True}, {"metadata": {"visibility": "model-only"}}, {"metadata": {"runtimeMessage": True}}]
)
def test_a_part_that_the_program_added_is_meta_beside_the_person_s_words(
    database: ZCodeDatabase, part: dict[str, Any]
) -> None:
    database.user("msg_1", "sess_1", "light it")
    database.text("added", "msg_1", "sess_1", "the file's content", **part)
    assert [each.kind for each in events(database.path)] == ["message", "meta"]


def test_a_person_s_message_of_an_old_version_has_no_semantics(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "light it", semantics=None)
    assert (event(database).kind, event(database).role) == ("message", "user")


def test_a_slash_command_is_what_the_person_typed(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "/init", semantics=REAL_USER | {"kind": "slash_command"})
    assert event(database).kind == "message"


def test_reminders_are_meta_and_words_that_quote_one_are_not(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "<system-reminder>todo</system-reminder>", semantics=None)
    assert event(database).kind == "meta"
    database.user("msg_2", "sess_1", "why `<system-reminder>x</system-reminder>`?", semantics=None)
    assert event(database).kind == "message"


def test_a_notice_written_as_the_assistant_is_meta(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant", semantics={"origin": "system", "kind": "timeline_event"})
    database.text("p", "msg_1", "sess_1", "The context was compacted.")
    assert event(database).kind == "meta"
    database.message(
        "msg_2", "sess_1", "assistant", semantics={"origin": "agent_runtime", "kind": "assistant_response"}
    )
    database.text("q", "msg_2", "sess_1", "It is lit.")
    assert event(database).kind == "message"


@pytest.mark.parametrize("role", ["system", "moderator", 5, None])
def test_a_message_of_no_known_role_is_meta(database: ZCodeDatabase, role: Any) -> None:
    database.message("msg_1", "sess_1", role)
    database.text("p", "msg_1", "sess_1", "You are ZCode.")
    assert event(database).kind == "meta"


def test_an_answer_under_way_is_no_event_until_it_is_complete(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant", time={"created": START})
    database.text("p", "msg_1", "sess_1", "It is")
    rows, watermark = read(database.path)
    assert parse(rows)[0] == []
    database.update("part", "p", data={"type": "text", "text": "It is lit."})
    database.update("message", "msg_1", data={"role": "assistant", "time": {"created": START, "completed": START + 5}})
    more, _ = read(database.path, watermark)
    assert [each.text for each in parse(rows + more)[0]] == ["It is lit."]


# Tools


def test_a_completed_tool_part_is_a_call_and_its_result(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant", modelID="GLM")
    done = tool("completed", "Read", input={"file_path": "/w/lamp/a.py"}, output="x = 1")
    done["state"]["time"]["end"] = START + 250
    database.part("p", "msg_1", "sess_1", done)
    call, result = events(database.path)
    assert (call.event_id, call.kind, call.tool, call.text, call.files) == (
        "zcode:p",
        "tool_call",
        "Read",
        "Read\nfile_path: /w/lamp/a.py",
        ("/w/lamp/a.py",),
    )
    assert (result.event_id, result.kind, result.role, result.tool, result.text) == (
        "zcode:p#result",
        "tool_result",
        "tool",
        "Read",
        "x = 1",
    )
    assert (result.at[-5:], result.block > call.block) == (".250Z", True)


def test_a_running_tool_is_a_call_and_its_result_comes_when_it_is_done(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant")
    database.part("p", "msg_1", "sess_1", tool("running"))
    rows, watermark = read(database.path)
    assert [each.event_id for each in parse(rows)[0]] == ["zcode:p"]
    database.update("part", "p", data=tool("completed", output="a.py"))
    more, watermark = read(database.path, watermark)
    assert [(each.event_id, each.text) for each in parse(more)[0]] == [
        ("zcode:p", "Bash\ncommand: ls"),
        ("zcode:p#result", "a.py"),
    ]
    database.update("part", "p", data=tool("completed", output="[old output pruned]"))
    pruned, _ = read(database.path, watermark)
    assert [each.text for each in parse(rows + more + pruned)[0]] == ["Bash\ncommand: ls", "a.py"]


def test_a_pending_tool_has_no_arguments_yet(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant")
    database.part("p", "msg_1", "sess_1", tool("pending", input={}))
    assert events(database.path) == []


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"status": "error", "error": "exit 1"}, "[error] exit 1"),
        ({"status": "error", "output": "half"}, "[error] half"),
        ({"status": "completed", "output": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "a\nb"),
        ({"status": "completed", "output": {"answer": 42}}, '{"answer":42}'),
        ({"status": "completed", "output": None}, ""),
        (
            {"status": "completed", "output": "seen", "attachments": [{"mime": "image/png", "url": "data:…"}]},
            "seen\n[file image/png]",
        ),
        ({"status": "completed", "output": "a\n<system-reminder>be kind</system-reminder>"}, "a"),
    ],
)
def test_results_of_every_shape_are_read(database: ZCodeDatabase, state: dict[str, Any], text: str) -> None:
    database.message("msg_1", "sess_1", "assistant")
    database.part("p", "msg_1", "sess_1", {"type": "tool", "tool": "Bash", "state": state})
    assert event(database).text == text


def test_a_result_that_ends_before_it_began_does_not_stand_before_its_call(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant")
    database.part("p", "msg_1", "sess_1", tool("completed", output="x", time={"start": START, "end": START - 500}))
    call, result = events(database.path)
    assert call.at == result.at


def test_tools_logged_as_two_parts_are_told_by_their_call(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant")
    database.part("p", "msg_1", "sess_1", {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}})
    database.part("q", "msg_1", "sess_1", {"type": "tool_result", "tool_use_id": "t1", "content": "a.py"})
    assert [(each.event_id, each.kind, each.tool) for each in events(database.path)] == [
        ("zcode:p", "tool_call", "Bash"),
        ("zcode:q", "tool_result", "Bash"),
    ]


def test_origin_s_own_calls_and_answers_keep_names_and_ids_only(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant")
    asked = {"id": "ent_00112233445566ff", "query": "the secret"}
    database.part("p", "msg_1", "sess_1", tool("completed", "mcp__origin__get", input=asked, output="the secret"))
    database.part("q", "msg_1", "sess_1", tool("completed", "other_get", input={}, output='{"entries":["the secret"]}'))
    use = {"type": "tool_use", "id": "t1", "name": "mcp__origin__search", "input": {"query": "the secret"}}
    database.part("r", "msg_1", "sess_1", use)
    database.part("s", "msg_1", "sess_1", {"type": "tool_result", "tool_use_id": "t1", "content": "the secret"})
    found = events(database.path)
    assert [each.kind for each in found] == ["meta", "meta", "tool_call", "meta", "meta", "meta"]
    assert found[0].text == "mcp__origin__get\ncall_a\nent_00112233445566ff"
    assert not any("secret" in each.text for each in found)


# Other parts


def test_an_attached_file_is_a_placeholder(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "see")
    image = {"type": "file", "mime": "image/png", "filename": "a.png", "url": "data:image/png;base64,iVBORw0K"}
    database.part("p", "msg_1", "sess_1", image)
    database.part("q", "msg_1", "sess_1", {"type": "file", "mime": "text/plain", "filename": "/w/lamp/a.py"})
    found = events(database.path)[1:]
    assert [(each.kind, each.text, each.files) for each in found] == [
        ("meta", "[image image/png a.png]", ("a.png",)),
        ("meta", "[file text/plain /w/lamp/a.py]", ("/w/lamp/a.py",)),
    ]


def test_what_happened_to_a_session_is_meta(database: ZCodeDatabase) -> None:
    database.message("msg_1", "sess_1", "assistant")
    noted = {"type": "timeline", "timelineType": "context_compaction", "status": "completed"}
    database.part("p", "msg_1", "sess_1", noted)
    assert (event(database).kind, event(database).text) == ("meta", "timeline context_compaction completed")


@pytest.mark.parametrize("kind", ["reasoning", "step-start", "step-finish", "snapshot", "patch", "hologram", None, 5])
def test_thinking_bookkeeping_and_unknown_parts_are_no_events(database: ZCodeDatabase, kind: Any) -> None:
    database.message("msg_1", "sess_1", "assistant")
    database.part("p", "msg_1", "sess_1", {"type": kind, "text": "hm"})
    assert events(database.path) == []


# Sessions


def test_a_message_that_a_fork_inherited_is_no_event_while_its_original_is_there(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "light it")
    database.session("sess_fork")
    database.user("msg_f1", "sess_fork", "light it", metadata={"forkOrigin": {"messageId": "msg_1"}})
    database.user("msg_f2", "sess_fork", "another way", metadata={"forkOrigin": {"messageId": "msg_gone"}})
    assert [each.event_id for each in events(database.path)] == ["zcode:msg_1_p0", "zcode:msg_f2_p0"]


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("sess_subagent_agent_1", {"task_type": "subagent_child"}),
        ("sess_subagent_agent_2", {"task_type": "interactive"}),
        ("sess_2", {"task_type": "workflow"}),
    ],
)
def test_a_helper_s_session_is_marked_and_linked(
    database: ZCodeDatabase, name: str, columns: dict[str, object]
) -> None:
    database.session(name, parent_id="sess_1", **columns)
    database.user("msg_1", name, "look around")
    assert (event(database).session, event(database).parent, event(database).sub_agent) == (name, "sess_1", True)


def test_a_side_chat_is_the_person_s(database: ZCodeDatabase) -> None:
    database.session("sess_2", parent_id="sess_1", task_type="selection_side_chat")
    database.user("msg_1", "sess_2", "what is this?")
    assert (event(database).parent, event(database).sub_agent) == ("sess_1", False)


@pytest.mark.parametrize(
    ("columns", "titles"),
    [
        ({"title_source": "custom"}, [Title("custom", "Lamps", session="sess_2")]),
        ({"title_source": "generated"}, [Title("ai", "Lamps", session="sess_2")]),
        ({"title_source": "first_input"}, [Title("summary", "Lamps", session="sess_2")]),
        ({"title_source": "default"}, []),
        ({"title": "  "}, []),
    ],
)
def test_a_session_s_title_counts_by_where_it_comes_from(
    database: ZCodeDatabase, columns: dict[str, object], titles: list[Title]
) -> None:
    database.session("sess_2", **columns)
    assert parse(read(database.path)[0])[1][1:] == titles


def test_a_reverted_tail_is_noted_and_kept(database: ZCodeDatabase) -> None:
    database.user("msg_1", "sess_1", "light it")
    database.update("session", "sess_1", revert={"messageID": "msg_1", "partID": "msg_1_p0"})
    assert [(each.kind, each.text) for each in events(database.path)] == [
        ("meta", "reverted to before msg_1"),
        ("message", "light it"),
    ]


@pytest.mark.parametrize("data", ["no json", "[1]", "", b"\xff"])
def test_a_part_whose_data_is_no_object_is_malformed(database: ZCodeDatabase, data: str | bytes) -> None:
    database.message("msg_1", "sess_1", "user")
    database.part("p", "msg_1", "sess_1", data)
    rows, _ = read(database.path)
    with pytest.raises(MalformedLine):
        parse_line(Line(json.dumps(rows[-1]).encode(), 1, LOGICAL_PATH), {})


def test_a_part_without_its_message_or_session_is_read_by_what_is_there(database: ZCodeDatabase) -> None:
    database.text("p", "msg_gone", "sess_gone", "words")
    assert (event(database).kind, event(database).session) == ("meta", "sess_gone")


def test_a_lone_surrogate_in_a_message_becomes_text(database: ZCodeDatabase) -> None:
    database.part("p", database.message("m", "sess_1", "assistant"), "sess_1", '{"type":"text","text":"a\\ud83d!"}')
    assert event(database).text == "a\ufffd!"


@pytest.mark.parametrize("at", [1_790_000_000, 1_790_000_000_000, 1_790_000_000_000_000, "2026-09-21T14:13:20Z"])
def test_times_of_any_unit_are_read(database: ZCodeDatabase, at: object) -> None:
    database.user("m", "sess_1", "x")
    database.connection.execute("UPDATE part SET time_created = ?", [at])
    assert event(database).at == "2026-09-21T14:13:20.000Z"


# Discovery


def found(home: Path, **variables: str) -> dict[str, str]:
    return {file.logical_path: file.path for file in discover(Environment(home, variables))}


def test_the_database_is_found_in_the_usual_place(database: ZCodeDatabase, tmp_path: Path) -> None:
    assert found(tmp_path) == {"cli/db/db.sqlite": str(database.path)}
    assert list(ADAPTER.places(Environment(tmp_path, {}))) == [str(database.path)]


@pytest.mark.parametrize("variable", ["ZCODE_SESSION_DB_PATH", "ZCODE_SESSION_DB"])
def test_a_variable_names_the_database_instead(database: ZCodeDatabase, tmp_path: Path, variable: str) -> None:
    other = ZCodeDatabase(tmp_path / "elsewhere/mine.sqlite")
    (logical_path, path), *_ = found(tmp_path, **{variable: str(other.path)}).items()
    assert path == str(other.path)
    assert logical_path.startswith("root-")
    assert logical_path.endswith("/mine.sqlite")
    assert found(tmp_path, **{variable: str(database.path)}) == found(tmp_path)


def test_a_variable_names_the_directory_instead(tmp_path: Path) -> None:
    other = ZCodeDatabase(tmp_path / "elsewhere/cli/db/db.sqlite")
    assert list(found(tmp_path, ZCODE_STORAGE_DIR=str(tmp_path / "elsewhere")).values()) == [str(other.path)]


def test_a_machine_without_zcode_is_silent(tmp_path: Path) -> None:
    assert found(tmp_path) == {}
    (tmp_path / ".zcode").write_text("a file")
    assert found(tmp_path) == {}


def test_a_database_that_is_a_link_out_of_its_directory_is_left_alone(database: ZCodeDatabase, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.sqlite"
    os.rename(database.path, moved)
    database.path.symlink_to(moved)
    assert found(tmp_path) == {}


def test_what_is_written_to_the_wal_changes_how_the_database_looks(database: ZCodeDatabase, tmp_path: Path) -> None:
    before = next(iter(discover(Environment(tmp_path, {}))))
    database.user("msg_1", "sess_1", "light it" * 1_000)
    after = next(iter(discover(Environment(tmp_path, {}))))
    assert (after.size, after.mtime_ns) > (before.size, before.mtime_ns)
    assert after.form == "rows"


# Properties

VALUES = json_values("user", "assistant", "text", "tool", "completed", "sess_1", "real_user")
TIMES = dict.fromkeys(["time_created", "time_updated"], VALUES)
DATA = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool", "tool_use", "tool_result", "file", "timeline", "compaction", "patch"])},
    optional=dict.fromkeys(
        ["text", "tool", "callID", "id", "name", "input", "tool_use_id", "content", "mime", "filename", "metadata"],
        VALUES,
    )
    | {
        "state": VALUES
        | st.fixed_dictionaries(
            {"status": st.sampled_from(["pending", "running", "completed", "error"])},
            optional=dict.fromkeys(["input", "output", "error", "time", "attachments"], VALUES),
        )
    },
)
ROWS = st.fixed_dictionaries(
    {"table": st.sampled_from(["session", "message", "part"]), "id": VALUES | st.just("p"), "session_id": VALUES},
    optional=TIMES
    | dict.fromkeys(["title", "title_source", "revert", "data_base64", "session", "under_way", "copy"], VALUES)
    | {
        "data": VALUES | DATA.map(json.dumps),
        "message": VALUES
        | st.fixed_dictionaries({}, optional=dict.fromkeys(["role", "time", "model", "semantics", "path"], VALUES)),
    },
)
LINES = st.sampled_from(sample_lines(ADAPTER)) | ROWS.map(lambda row: json.dumps(row).encode())


@settings(deadline=None)
@given(st.binary() | damaged_lines(LINES))
def test_a_damaged_line_is_at_worst_malformed(data: bytes) -> None:
    parse_or_none(parse_line, data, {}, LOGICAL_PATH)


@settings(deadline=None)
@given(st.lists(LINES, max_size=4))
def test_a_state_that_was_stored_between_lines_gives_the_same_events(lines: list[bytes]) -> None:
    check_a_stored_state_changes_nothing(parse_line, lines, LOGICAL_PATH)
