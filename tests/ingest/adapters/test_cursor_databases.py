"""What rows of Cursor's databases and blocks of its old transcripts become, and which store of a session is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from ingest.adapters.cursor import ADAPTER, parse_line
from ingest.sync import sync
from memory import sql
from memory.errors import MalformedLine
from memory.parsed import Line, ParsedEvent
from tests.conftest import AgentHome
from tests.ingest.adapters.cursor_files import (
    BEGUN,
    CHILD,
    IDE,
    LEGACY,
    NESTED,
    SESSION,
    STORE,
    ChatStore,
    IdeDatabase,
    Journal,
    calls,
    journal,
    lines_of,
    prompt,
    says,
    text,
)

AT = "2026-09-21T14:13:20.000Z"


# The IDE's database


def of_ide(tmp_path: Path, *bubbles: dict[str, Any], **composer: Any) -> Journal:
    ide = IdeDatabase(tmp_path)
    ide.composer(**composer)
    for number, bubble in enumerate(bubbles, 1):
        ide.bubble(f"b{number}", **bubble)
    return journal(ide.path, IDE)


def tool(**fields: Any) -> dict[str, Any]:
    return {"type": 2, "text": "", "toolFormerData": {"name": "read_file", "status": "completed"} | fields}


def told(events: list[ParsedEvent]) -> list[tuple[str, str, str, str]]:
    return [(each.event_id.rpartition("/")[2], each.kind, each.role, each.text) for each in events]


def test_bubbles_are_messages_named_by_their_keys(tmp_path: Path) -> None:
    read = of_ide(tmp_path, {"type": 1, "text": "light it"}, {"type": 2, "text": "Lit.", "thinking": {"text": "hm"}})
    assert [each.event_id for each in read.events()] == [f"cursor:{SESSION}/bubble/b{number}" for number in (1, 2)]
    assert told(read.events()) == [("b1", "message", "user", "light it"), ("b2", "message", "assistant", "Lit.")]
    assert {(each.session, each.twin, each.rank) for each in read.events()} == {(SESSION, "history", 3)}


def test_a_tool_s_bubble_is_its_call_and_its_result(tmp_path: Path) -> None:
    read = of_ide(tmp_path, tool(rawArgs='{"target_file":"a.py"}', params='{"x":1}', result='{"contents":"lit\\nup"}'))
    assert told(read.events()) == [
        ("b1#0", "tool_call", "assistant", "read_file\ntarget_file: a.py"),
        ("b1#result", "tool_result", "tool", "contents: lit\nup"),
    ]
    assert read.events()[0].files == ("a.py",)
    assert [each.twin for each in read.events()] == ["history", "results"]


@pytest.mark.parametrize(
    ("fields", "call", "result"),
    [
        ({"params": '{"path":"a"}', "result": "plain"}, "read_file\npath: a", "plain"),
        ({"params": {"path": "a"}}, "read_file\npath: a", None),
        ({"rawArgs": "{broken", "result": {"content": [{"type": "text", "text": "x"}]}}, "read_file\n{broken", "x"),
        ({"status": "error", "error": "no file"}, "read_file", "[error] no file"),
        ({"status": "cancelled"}, "read_file", None),
        ({"status": "a new one", "result": "x"}, "read_file", "x"),
        ({"status": ["odd"], "result": "x"}, "read_file", "x"),
        ({"status": None, "name": None, "result": 5}, "", "5"),
    ],
)
def test_calls_of_every_shape_are_read(tmp_path: Path, fields: dict[str, Any], call: str, result: str | None) -> None:
    found = [each.text for each in of_ide(tmp_path, tool(**fields)).events()]
    assert found == [call, *([] if result is None else [result])]


def test_a_tool_that_is_still_at_it_is_no_event_until_it_is_done(tmp_path: Path) -> None:
    ide = IdeDatabase(tmp_path)
    ide.bubble("b1", **tool(status="loading"))
    read = journal(ide.path, IDE)
    assert read.events() == []
    ide.bubble("b1", **tool(result="lit"))
    read.read()
    assert [each.text for each in read.events()] == ["read_file", "lit"]


def test_of_origin_s_own_answers_in_the_ide_only_names_and_ids_are_kept(tmp_path: Path) -> None:
    own = tool(name="mcp-user-origin-search", toolCallId="t1", rawArgs='{"query":"secret"}', result="secret")
    shell = tool(name="run_terminal_command_v2", result='{"output":"{\\"hits\\":[\\"secret\\"],\\"footer\\":{}}"}')
    renamed = tool(name="mcp-brain-search", result='{"hits":[{"text":"secret"}],"footer":{}}')
    found = of_ide(tmp_path, own, renamed).events()
    assert [each.kind for each in found] == ["meta", "meta", "tool_call", "meta"]
    assert "secret" not in "".join(each.text for each in found)
    assert of_ide(tmp_path / "x", shell).events()


def test_a_conversation_s_row_gives_title_directory_model_and_time(tmp_path: Path) -> None:
    read = of_ide(
        tmp_path,
        {"type": 2, "text": "Lit."},
        name=" Lamps ",
        workspaceIdentifier={"id": "x", "uri": {"fsPath": "/w/lamp"}},
        modelConfig={"modelName": "lamp-1"},
    )
    (title,) = read.titles()
    assert (title.kind, title.text, title.session) == ("ai", "Lamps", SESSION)
    (found,) = read.events()
    assert (found.cwd, found.model, found.at) == ("/w/lamp", "lamp-1", "")
    # The archive takes it from here, and says that it is inferred.
    assert read.parsed()[-1].at == AT


@pytest.mark.parametrize("name", [None, "", "  ", "New Agent", 5])
def test_a_conversation_without_a_name_has_no_title(tmp_path: Path, name: object) -> None:
    assert of_ide(tmp_path, name=name).titles() == []


@pytest.mark.parametrize(
    ("fields", "cwd"),
    [
        ({"workspaceIdentifier": {"id": "x", "uri": "file:///w/my%20lamp"}}, "/w/my lamp"),
        ({"workspaceIdentifier": {"id": "x", "uri": {"path": "/w/lamp"}}}, "/w/lamp"),
        ({"workspaceUris": ["file:///c%3A/w/lamp", "file:///w/other"]}, "c:/w/lamp"),
        ({"workspaceUris": ["vscode-remote://ssh/w/lamp", 5]}, ""),
        ({"workspaceIdentifier": {"id": "empty-window"}}, ""),
        ({"workspaceIdentifier": 5, "workspaceUris": {}}, ""),
    ],
)
def test_folders_are_read_however_they_are_written(tmp_path: Path, fields: dict[str, Any], cwd: str) -> None:
    # Pitfall 41.
    bubble = {"type": 1, "text": "hi"}
    assert of_ide(tmp_path / "composer", bubble, **fields).events()[0].cwd == cwd
    assert of_ide(tmp_path / "bubble", bubble | fields).events()[0].cwd == cwd


def test_a_bubble_without_a_time_is_as_late_as_the_last_of_its_own_conversation(tmp_path: Path) -> None:
    ide = IdeDatabase(tmp_path)
    ide.bubble("b1", type=1, text="hi", createdAt="2026-10-06T18:00:00.000Z")
    ide.composer(CHILD)
    ide.bubble("c1", CHILD, type=1, text="other")
    ide.bubble("b2", type=2, text="ho")
    at = [line.at for line in journal(ide.path, IDE).parsed() if line.events]
    assert at == ["2026-10-06T18:00:00.000Z", AT, "2026-10-06T18:00:00.000Z"]


def test_a_sub_agent_s_conversation_is_a_session_below_its_parent_s(tmp_path: Path) -> None:
    info = {"parentComposerId": CHILD, "rootParentConversationId": "root"}
    (found,) = of_ide(tmp_path, {"type": 1, "text": "count"}, subagentInfo=info).events()
    assert (found.session, found.parent, found.sub_agent) == (f"root/{SESSION}", "root", True)


def test_a_conversation_that_stands_whole_in_one_row_is_read(tmp_path: Path) -> None:
    bubbles = [
        {"type": 1, "bubbleId": "o1", "text": "is it lit?"},
        {"type": 2, "bubbleId": "o2", "text": "Yes."} | {"toolFormerData": {"name": "look", "result": "lit"}},
        {"type": 2, "bubbleId": "o1", "text": "again"},
        {"type": 2, "text": "no id"},
        7,
    ]
    found = of_ide(tmp_path, conversation=bubbles).events()
    assert [(each.event_id.rpartition("/")[2], each.block) for each in found] == [
        ("o1", 0),
        ("o2", 3),
        ("o2#0", 4),
        ("o2#result", 5),
    ]


def test_code_that_stands_in_no_text_is_the_message(tmp_path: Path) -> None:
    blocks = [{"content": "a = 1", "languageId": "python"}, 5]
    assert [each.text for each in of_ide(tmp_path, {"type": 2, "text": "", "codeBlocks": blocks}).events()] == ["a = 1"]


def test_a_row_that_is_no_object_is_malformed_and_costs_no_other(tmp_path: Path) -> None:
    with pytest.raises(MalformedLine, match="not a JSON object"):
        parse_line(Line(json.dumps({"key": "bubbleId:a:b", "value": "no JSON"}).encode(), 1, IDE), {})
    row = {"key": "bubbleId:a:b", "value_base64": "*"}
    assert parse_line(Line(json.dumps(row).encode(), 1, IDE), {}).events == ()


# The store of a chat


def of_store(tmp_path: Path, *messages: tuple[str, object], **meta: Any) -> Journal:
    store = ChatStore(tmp_path / SESSION)
    store.meta(**meta)
    for role, content in messages:
        store.message(role, content)
    return journal(store.path, STORE)


def test_a_chat_s_messages_are_named_by_their_blobs(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / SESSION)
    key = store.message("user", [text("<user_query>\nlight it\n</user_query>")])
    (found,) = journal(store.path, STORE).events()
    assert (found.event_id, found.text, found.session) == (f"cursor:{SESSION}/{key}", "light it", SESSION)
    assert (found.twin, found.rank) == ("history", 2)


def test_results_are_told_by_their_calls(tmp_path: Path) -> None:
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "Shell", "args": {"command": "ls"}}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "Shell", "result": "a.py", "isError": True}
    found = of_store(tmp_path, ("assistant", [call]), ("tool", [result])).events()
    assert [(each.kind, each.role, each.tool, each.text, each.twin) for each in found] == [
        ("tool_call", "assistant", "Shell", "Shell\ncommand: ls", "history"),
        ("tool_result", "tool", "Shell", "[error] a.py", "results"),
    ]


def test_of_origin_s_own_answers_in_a_chat_only_names_and_ids_are_kept(tmp_path: Path) -> None:
    arguments = {"server": "origin", "toolName": "search", "arguments": {"query": "secret"}}
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "CallMcpTool", "args": arguments}
    result = {"type": "tool-result", "toolCallId": "c1", "toolName": "CallMcpTool", "result": "secret"}
    found = of_store(tmp_path, ("assistant", [call]), ("tool", [result])).events()
    assert [(each.kind, each.text) for each in found] == [("meta", "mcp__origin__search\nc1")] * 2


def test_system_prompts_are_no_events(tmp_path: Path) -> None:
    assert of_store(tmp_path, ("system", "You are an agent."), ("user", None)).events() == []


@pytest.mark.parametrize("plain", [False, True], ids=["hexadecimal", "JSON"])
def test_a_chat_s_meta_gives_title_directory_model_and_time(tmp_path: Path, plain: bool) -> None:
    fields = {"name": "Lamps", "workspacePath": "/w/lamp", "lastUsedModel": "lamp-1"}
    read = of_store(tmp_path, ("assistant", "Lit."), plain=plain, **fields)
    assert [title.text for title in read.titles()] == ["Lamps"]
    assert [(each.cwd, each.model, each.at) for each in read.events()] == [("/w/lamp", "lamp-1", "")]
    assert read.parsed()[0].at == AT


def test_what_lies_beside_a_store_gives_its_directory_and_times(tmp_path: Path) -> None:
    store = ChatStore(tmp_path / SESSION)
    beside = store.path.with_name("meta.json")
    beside.write_text(json.dumps({"title": "Lamps", "cwd": "/w/lamp", "createdAtMs": BEGUN}))
    read = journal(store.path, STORE)
    beside.write_text(json.dumps({"title": "Lamps", "cwd": "/w/lamp", "createdAtMs": BEGUN, "updatedAtMs": BEGUN + 1}))
    store.message("user", "hi")
    read.read()
    assert [line.at for line in read.parsed()] == [AT, "2026-09-21T14:13:20.001Z", ""]
    assert read.events()[0].cwd == "/w/lamp"


def test_the_model_that_wrote_a_message_is_preferred(tmp_path: Path) -> None:
    wrote = {"providerOptions": {"cursor": {"modelName": "lamp-2"}}}
    read = of_store(tmp_path, ("assistant", [text("a") | wrote]), ("assistant", "b"), lastUsedModel={"model": "lamp-1"})
    assert [each.model for each in read.events()] == ["lamp-2", "lamp-1"]


def test_a_sub_agent_s_chat_is_a_session_below_its_parent_s(tmp_path: Path) -> None:
    info = {"parentAgentId": CHILD, "rootParentAgentId": CHILD, "toolCallId": "c1"}
    (found,) = of_store(tmp_path, ("user", "count"), subagentInfo=info).events()
    assert (found.session, found.parent, found.sub_agent) == (f"{CHILD}/{SESSION}", CHILD, True)


# Transcripts of older builds


def of_text(tmp_path: Path, whole: str) -> list[ParsedEvent]:
    path = tmp_path / f"{SESSION}.txt"
    path.write_text(whole)
    return journal(path, LEGACY).events()


def test_blocks_are_messages_named_by_their_number_and_bytes(tmp_path: Path) -> None:
    found = of_text(tmp_path, "user:\n<user_query>\nlight it\n</user_query>\nassistant:\nOne.\n\nTwo.\n")
    assert [(each.role, each.text) for each in found] == [("user", "light it"), ("assistant", "One.\n\nTwo.")]
    assert [each.event_id.rpartition("-")[0] for each in found] == [f"cursor:{SESSION}/t{number}" for number in (0, 1)]
    assert {(each.session, each.twin, each.rank) for each in found} == {(SESSION, "history", 1)}


def test_calls_are_told_from_prose_and_thinking_is_none(tmp_path: Path) -> None:
    found = of_text(
        tmp_path,
        "assistant:\n[Thinking] hm\n  so\n\nI look.\n[Tool call] Read\n  path: a\n\n[Tool result] Read\nout\n\n"
        "Now I write.\n[Tool call] Write\n  text: one\n\ntwo\n[Tool result] Write\n[Tool call] Last\n  x: y\n\nDone.\n",
    )
    assert [(each.kind, each.text) for each in found] == [
        ("message", "I look.\n\nNow I write.\n\nDone."),
        ("tool_call", "Read\n  path: a"),
        ("tool_result", "out"),
        ("tool_call", "Write\n  text: one\n\ntwo"),
        ("tool_call", "Last\n  x: y"),
    ]


def test_text_before_the_first_marker_is_meta(tmp_path: Path) -> None:
    assert [(each.kind, each.text) for each in of_text(tmp_path, "stray\nuser:\nhi\n")] == [
        ("meta", "stray\n"),
        ("message", "hi"),
    ]


# Which store is shown


def shown(session: str = SESSION) -> list[tuple[str, str]]:
    query = """
        SELECT e.kind, e.text FROM visible_event e JOIN session s ON s.id = e.session_id
        WHERE s.session_id = ? ORDER BY e.raw_file_id, e.ordinal, e.event_id"""
    return [(str(kind), str(words)) for kind, words in sql.rows(query, (f"cursor:{session}",))]


def cursor_home(home: AgentHome) -> dict[str, Any]:
    """Write one session to every store there is, and return what writes each."""
    root = home.path / ".cursor"

    def transcript() -> None:
        path = root / NESTED
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lines_of(prompt("light it"), says("assistant", text("Lit."), calls("Shell", command="ls"))))

    def legacy() -> None:
        path = root / LEGACY
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("user:\nlight it\nassistant:\nLit.\n")

    def store() -> None:
        chat = ChatStore(root / STORE.removesuffix("/store.db"))
        call = {"type": "tool-call", "toolCallId": "c1", "toolName": "Shell", "args": {"command": "ls"}}
        chat.message("user", "light it")
        chat.message("assistant", [text("Lit."), call])
        chat.message("tool", [{"type": "tool-result", "toolCallId": "c1", "result": "a.py"}])

    def ide() -> None:
        database = IdeDatabase(home.path / ".config/Cursor/User/globalStorage")
        database.bubble("b1", type=1, text="light it")
        database.bubble("b2", **tool(name="shell", rawArgs='{"command":"ls"}', result="a.py"))

    return {"transcript": transcript, "legacy": legacy, "store": store, "ide": ide}


@pytest.mark.parametrize("order", [["transcript", "legacy", "store", "ide"], ["ide", "store", "legacy", "transcript"]])
def test_a_session_in_every_store_is_shown_once_with_its_results(
    store: Path, agent_home: AgentHome, order: list[str]
) -> None:
    writers = cursor_home(agent_home)
    for name in order:
        writers[name]()
        report = sync((ADAPTER,), agent_home.environment)
        assert report.sources["cursor"].problems == []
    assert sorted(shown()) == [
        ("message", "Lit."),
        ("message", "light it"),
        ("tool_call", "Shell\ncommand: ls"),
        ("tool_result", "a.py"),
    ]


def test_a_database_that_cannot_be_read_costs_one_line_and_no_other_file(store: Path, agent_home: AgentHome) -> None:
    writers = cursor_home(agent_home)
    writers["transcript"]()
    broken = agent_home.path / ".config/Cursor" / IDE
    broken.parent.mkdir(parents=True)
    broken.write_bytes(b"no database at all" * 100)
    report = sync((ADAPTER,), agent_home.environment).sources["cursor"]
    assert len(report.problems) == 1
    assert str(broken) in report.problems[0]
    assert len(shown()) == 3
