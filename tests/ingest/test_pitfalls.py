"""Each of the 45 pitfalls that real logs hold is a test: one that stands elsewhere, or one here named after its number.

What several agents write is asked of each of them, from what lies in a person's home to what is in the store.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import zstandard

from ingest.sync import SourceReport
from memory import sql, tools
from memory.scope import EVERYTHING
from memory.times import process_zone
from tests.commands import ROOT, environment, origin, printed_json, without_rights_over_files
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, user
from tests.ingest.adapters import cursor_files as cursor
from tests.ingest.adapters.golden import cases
from tests.ingest.adapters.zcode_database import REAL_USER, ZCodeDatabase

CLAUDE = "tests/ingest/adapters/test_claude_code.py::"
CLAUDE_FILES = "tests/ingest/adapters/test_claude_code_discovery.py::"
CODEX = "tests/ingest/adapters/test_codex.py::"
CODEX_FILES = "tests/ingest/adapters/test_codex_discovery.py::"
CODEX_TITLES = "tests/ingest/adapters/test_codex_titles.py::"
CODEX_SYNC = "tests/ingest/test_codex_sync.py::"
CURSOR = "tests/ingest/adapters/test_cursor.py::"
CURSOR_ROWS = "tests/ingest/adapters/test_cursor_rows.py::"
CURSOR_DATABASES = "tests/ingest/adapters/test_cursor_databases.py::"
GROK = "tests/ingest/adapters/test_grok.py::"
GROK_SYNC = "tests/ingest/test_grok_sync.py::"
ZCODE = "tests/ingest/adapters/test_zcode.py::"
ZCODE_ROWS = "tests/ingest/adapters/test_zcode_rows.py::"
ZCODE_SYNC = "tests/ingest/test_zcode_sync.py::"
SYNC = "tests/ingest/test_sync.py::"
PITFALLS = 45
PROTECTED: dict[int, tuple[str, ...]] = {
    6: (
        f"{SYNC}TestLastLine::test_a_line_longer_than_a_frame_is_one_frame",
        f"{CLAUDE}test_images_become_placeholders",
        f"{CODEX}test_an_image_is_never_kept_as_text",
        f"{CURSOR}test_images_become_placeholders",
        f"{GROK}test_blocks_of_a_prompt_are_paragraphs_and_images_placeholders",
        f"{ZCODE}test_an_attached_file_is_a_placeholder",
    ),
    # Origin counts no usage: the ids alone matter.
    10: (f"{CLAUDE}test_one_api_message_over_several_lines_gives_each_line_its_own_event",),
    13: (
        f"{CLAUDE}test_content_of_every_shape_is_read",
        f"{CLAUDE}test_a_record_that_says_nothing_makes_no_event",
        f"{CODEX}test_content_of_every_shape_is_read",
        f"{CURSOR}test_content_of_every_shape_is_read",
    ),
    14: (
        "tests/ingest/adapters/test_content.py::test_nested_content_is_flattened_in_order",
        "tests/ingest/adapters/test_content.py::test_a_block_is_shown_as_text",
        f"{CLAUDE}test_images_become_placeholders",
        f"{CODEX}test_a_result_of_every_shape_is_read",
        f"{CURSOR}test_results_of_builds_that_write_them_are_read",
        f"{GROK}test_results_of_every_shape_are_read",
        f"{ZCODE}test_results_of_every_shape_are_read",
    ),
    15: (
        f"{CLAUDE}test_a_sub_agent_s_file_is_a_session_below_its_directory_s",
        f"{CLAUDE}test_an_old_sub_agent_s_file_beside_its_parent_names_it_in_its_records",
        "tests/memory/test_timeline.py::test_sessions_come_last_active_first_with_sub_agents_folded_in",
    ),
    16: (f"{CLAUDE}test_bookkeeping_and_unknown_records_are_skipped",),
    17: (
        f"{CLAUDE}test_what_the_program_put_into_the_person_s_turn_is_meta",
        f"{CLAUDE}test_a_command_is_meta_and_its_arguments_are_the_person_s_words",
        f"{CLAUDE}test_a_queued_text_of_another_sender_is_meta",
        "tests/ingest/adapters/test_markup.py::test_a_text_that_is_all_markup_is_meta",
        "tests/ingest/adapters/test_codex_markup.py::test_what_the_program_put_there_is_meta",
        f"{CURSOR}test_a_turn_that_is_all_cursor_s_is_meta",
        f"{GROK}test_what_the_program_put_into_the_person_s_turn_is_meta",
        f"{ZCODE}test_what_the_program_put_into_the_person_s_turn_is_meta",
    ),
    18: (f"{CLAUDE}test_a_prompt_typed_while_the_agent_was_busy_is_the_person_s",),
    19: (
        f"{CLAUDE}test_text_that_quotes_markup_is_the_person_s",
        "tests/ingest/adapters/test_markup.py::test_quoted_markup_stays_part_of_the_words",
        "tests/ingest/adapters/test_codex_markup.py::test_quoted_markup_stays_part_of_the_words",
        "tests/ingest/adapters/test_cursor_prompt.py::test_text_without_cursor_s_markup_is_the_person_s_as_it_is",
        f"{GROK}test_words_that_quote_a_tag_are_the_person_s",
        f"{ZCODE}test_reminders_are_meta_and_words_that_quote_one_are_not",
    ),
    # The decoder is a dependency of Origin's, so it is never missing.
    21: (
        f"{CODEX_SYNC}test_a_thread_is_one_file_and_one_session_whatever_happens_to_its_file",
        f"{CODEX_SYNC}test_every_copy_of_a_thread_gives_the_same_store",
        f"{CODEX_SYNC}test_a_compressed_log_that_is_damaged_costs_one_line",
        f"{CODEX_FILES}test_a_plain_a_compressed_and_an_archived_copy_are_one_file_and_the_plain_one_is_read",
    ),
    22: (
        f"{CODEX_SYNC}test_every_copy_of_a_thread_gives_the_same_store",
        f"{CODEX_FILES}test_rollouts_are_found_wherever_they_lie_and_all_else_is_left_alone",
    ),
    23: (
        f"{CODEX_SYNC}test_a_fork_and_a_sub_agent_show_only_what_is_their_own",
        f"{CODEX}test_the_first_session_meta_names_the_thread_and_a_parent_s_copy_changes_nothing",
        f"{GROK_SYNC}test_a_fork_shows_what_is_its_own_and_is_linked_to_its_original",
    ),
    24: (
        f"{CODEX_SYNC}test_what_the_interface_was_told_is_shown_only_where_nothing_else_says_it",
        f"{CODEX}test_a_message_told_twice_is_shown_once",
    ),
    26: (
        f"{CODEX_FILES}test_rollouts_are_found_wherever_they_lie_and_all_else_is_left_alone",
        f"{CODEX}test_bookkeeping_and_unknown_records_are_skipped",
    ),
    27: (
        f"{CODEX}test_arguments_are_read_where_they_can_be",
        f"{CODEX}test_a_result_of_every_shape_is_read",
        f"{CURSOR}test_arguments_that_are_no_object_are_kept_as_they_are",
        f"{CURSOR_DATABASES}test_calls_of_every_shape_are_read",
        f"{GROK}test_a_call_whose_arguments_are_no_json_keeps_them_as_they_are",
    ),
    28: (
        f"{CURSOR}test_an_event_is_named_by_its_session_the_number_of_its_record_and_the_bytes_of_its_line",
        f"{CURSOR}test_a_prompt_s_time_is_its_tag_s_to_the_minute_and_its_offset",
    ),
    29: ("tests/ingest/adapters/test_cursor_prompt.py::test_a_time_counts_only_directly_before_the_query",),
    30: (
        f"{CURSOR}test_transcripts_chats_and_the_ide_s_database_are_found_and_all_else_is_left_alone",
        f"{CURSOR}test_a_sub_agent_is_a_session_below_the_one_whose_folder_it_lies_in",
    ),
    31: (
        f"{CURSOR_ROWS}test_values_of_every_kind_are_read",
        f"{CURSOR_ROWS}test_an_open_transaction_of_the_agent_is_not_seen_and_not_in_the_way",
        f"{CURSOR_ROWS}test_a_second_read_of_an_unchanged_database_looks_at_one_row",
        f"{CURSOR_DATABASES}test_a_chat_s_meta_gives_title_directory_model_and_time",
    ),
    32: (
        f"{GROK_SYNC}test_a_chat_that_is_compacted_keeps_what_it_said_and_repeats_nothing",
        f"{GROK_SYNC}test_in_any_order_of_arrival_updates_hide_the_chat",
        f"{SYNC}TestRewrites::test_a_rewrite_is_noticed",
    ),
    33: (
        f"{GROK}test_what_grok_puts_into_the_chat_is_meta",
        f"{GROK}test_context_before_the_words_is_cut_off",
    ),
    34: (
        f"{ZCODE_SYNC}test_a_database_in_use_is_read_as_it_grows_and_however_often_gives_one_store",
        f"{ZCODE_ROWS}test_a_changed_row_is_read_again_and_no_other",
        f"{ZCODE_ROWS}test_a_message_that_a_fork_inherited_is_marked_while_its_original_is_there",
    ),
    35: (
        "tests/ingest/adapters/test_journal.py::test_a_database_cannot_be_written_through_the_connection",
        f"{CODEX_TITLES}test_what_is_still_in_the_wal_is_read",
        f"{CURSOR_ROWS}test_what_only_the_wal_holds_is_read",
        f"{ZCODE_ROWS}test_rows_that_are_only_in_the_wal_are_read",
    ),
    36: (
        f"{SYNC}TestRewrites::test_a_file_that_vanished_is_kept_and_costs_nothing",
        f"{ZCODE_SYNC}test_what_the_agent_deletes_stays",
        "tests/test_invariants.py::TestPromise1Provenance::test_a_line_that_outlives_its_file_is_still_opened",
    ),
    39: (
        f"{CLAUDE_FILES}test_a_linked_directory_is_not_followed",
        f"{CLAUDE_FILES}test_a_linked_file_counts_only_where_it_resolves_inside_the_root",
        f"{CODEX_FILES}test_links_out_of_the_root_are_not_followed",
        f"{CURSOR}test_links_that_lead_out_are_not_followed",
        f"{GROK}test_linked_directories_are_not_followed_and_linked_files_stay_inside",
        f"{ZCODE}test_a_database_that_is_a_link_out_of_its_directory_is_left_alone",
    ),
    41: (
        "tests/memory/test_projects.py::test_the_project_of_a_path",
        "tests/memory/test_projects.py::test_slashes_and_backslashes_of_windows_are_one",
        f"{CLAUDE}test_directory_branch_and_version_are_the_record_s_else_the_last_seen",
        f"{CODEX}test_the_turn_s_context_says_where_and_with_which_model_what_follows_was_said",
        f"{CURSOR_DATABASES}test_folders_are_read_however_they_are_written",
        f"{CURSOR}test_without_a_workspace_the_directory_is_the_first_that_a_tool_works_in",
        f"{GROK}test_a_directory_s_name_says_where_a_session_began_unless_it_is_hashed",
        f"{ZCODE}test_the_directory_is_the_message_s_else_the_session_s",
    ),
    42: (
        "tests/ingest/adapters/test_times.py::test_one_instant_has_one_form",
        f"{GROK}test_times_of_any_unit_are_read",
        f"{ZCODE}test_times_of_any_unit_are_read",
        f"{ZCODE}test_a_result_that_ends_before_it_began_does_not_stand_before_its_call",
    ),
}

Record = dict[str, Any]

ONE, TWO, THREE = (session_uuid(number) for number in (1, 2, 3))
THREAD = "019e0000-0000-7000-8000-000000000001"
ROLLOUT = f".codex/sessions/2026/06/01/rollout-2026-06-01T09-59-59-{THREAD}.jsonl"
GROK_FOLDER = f".grok/sessions/%2Fw%2Flamp/{THREAD}"
IDE_FOLDER = ".config/Cursor/User/globalStorage"


class Log(NamedTuple):
    """Somewhere an agent keeps what was said: what a record there looks like, and how records are put there."""

    source: str
    says: Callable[[int, str], Record]
    put: Callable[[AgentHome, Sequence[bytes]], object]


def lines_at(path: str) -> Callable[[AgentHome, Sequence[bytes]], object]:
    def put(home: AgentHome, lines: Sequence[bytes]) -> None:
        write(home, path, b"".join(line + b"\n" for line in lines))

    return put


def write(home: AgentHome, path: str, data: bytes) -> Path:
    """Write a file below a person's home."""
    whole = home.path / path
    whole.parent.mkdir(parents=True, exist_ok=True)
    whole.write_bytes(data)
    return whole


def codex_says(number: int, text: str) -> Record:
    payload = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return {"timestamp": f"2026-06-01T08:00:{number:02}.000Z", "type": "response_item", "payload": payload}


def update_says(number: int, text: str) -> Record:
    content = [{"type": "content", "content": {"type": "text", "text": text}}]
    update = {"sessionUpdate": "tool_call_update", "toolCallId": f"c{number}", "status": "completed"}
    meta = {"eventId": f"{THREAD}-{number}", "agentTimestampMs": 1_790_000_000_000 + number * 1_000}
    return {"params": {"sessionId": THREAD, "update": update | {"content": content}, "_meta": meta}}


def put_parts(home: AgentHome, values: Sequence[bytes]) -> None:
    database = ZCodeDatabase(home.path / ".zcode/cli/db/db.sqlite")
    database.session("sess_1")
    database.message("msg_1", "sess_1", "user", semantics=REAL_USER)
    for number, value in enumerate(values):
        database.part(f"part_{number}", "msg_1", "sess_1", value)


def put_bubbles(home: AgentHome, values: Sequence[bytes]) -> None:
    database = cursor.IdeDatabase(home.path / IDE_FOLDER)
    for number, value in enumerate(values):
        database.put(f"bubbleId:{cursor.SESSION}:b{number}", value)


def put_blobs(home: AgentHome, values: Sequence[bytes]) -> None:
    store = cursor.ChatStore(home.path / ".cursor" / cursor.STORE.removesuffix("/store.db"))
    for value in values:
        store.blob(value)


# Where each log of lines lies, below a person's home.
PATHS = {
    "claude-code": f".claude/projects/-w-app/{ONE}.jsonl",
    "codex": ROLLOUT,
    "cursor": f".cursor/{cursor.NESTED}",
    "grok updates": f"{GROK_FOLDER}/updates.jsonl",
    "grok chat": f"{GROK_FOLDER}/chat_history.jsonl",
}
SAYS: dict[str, Callable[[int, str], Record]] = {
    "claude-code": lambda number, text: user(number, text, ONE),
    "codex": codex_says,
    "cursor": lambda number, text: cursor.prompt(text),
    "grok updates": update_says,
    "grok chat": lambda number, text: {"type": "user", "content": text},
}
LINES = {name: Log(name.split()[0], SAYS[name], lines_at(path)) for name, path in PATHS.items()}
DATABASES = {
    "zcode": Log("zcode", lambda number, text: {"type": "text", "text": text}, put_parts),
    "cursor ide": Log("cursor", lambda number, text: {"type": 1, "text": text}, put_bubbles),
    "cursor chat": Log("cursor", lambda number, text: {"role": "user", "content": text}, put_blobs),
}
LOGS = LINES | DATABASES
each_file_of_lines = pytest.mark.parametrize("name", LINES)
each_log = pytest.mark.parametrize("name", LOGS)


def said_by(name: str, *texts: str) -> list[bytes]:
    """Return a record for each text, as the agent writes it."""
    return [json.dumps(LOGS[name].says(number, text)).encode() for number, text in enumerate(texts, 1)]


def synced(home: AgentHome, source: str) -> SourceReport:
    """Sync, and see to it that no file was given up."""
    report = home.sync()
    assert not report.failed
    assert [problem for each in report.sources.values() for problem in each.problems] == []
    return report.sources[source]


def said() -> list[str]:
    """Return what can be seen, in the order of each log."""
    return [str(text) for (text,) in sql.rows("SELECT text FROM visible_event ORDER BY raw_file_id, ordinal")]


def ids() -> list[str]:
    return [str(name) for (name,) in sql.rows("SELECT event_id FROM event ORDER BY raw_file_id, ordinal")]


def generations() -> list[int]:
    return [int(str(number)) for (number,) in sql.rows("SELECT generation FROM raw_file")]


def asked(tool: str, **arguments: object) -> str:
    """Return what a tool answers, which must be text that can be sent."""
    answer = tools.call(tool, arguments, EVERYTHING, process_zone())
    assert answer.encode().decode() == answer
    return answer


def session_row(session: str, columns: str) -> tuple[Any, ...]:
    return sql.rows(f"SELECT {columns} FROM session WHERE session_id = ?", (session,))[0]


# The table


@cache
def names_in(path: str) -> frozenset[str]:
    """Return the names of a file's tests, with their classes'."""
    return frozenset(_tests(ast.parse((ROOT / path).read_text()).body, ""))


def _tests(body: Sequence[ast.stmt], prefix: str) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _tests(node.body, f"{prefix}{node.name}::")
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield prefix + node.name


@pytest.mark.parametrize("reference", sorted({each for several in PROTECTED.values() for each in several}))
def test_a_test_that_protects_a_pitfall_is_still_there(reference: str) -> None:
    path, _, test = reference.partition("::")
    assert test in names_in(path)


@pytest.mark.parametrize("number", range(1, PITFALLS + 1))
def test_every_pitfall_has_a_test(number: int) -> None:
    here = [test for test in names_in("tests/ingest/test_pitfalls.py") if test.startswith(f"test_pitfall_{number:02}_")]
    assert here or PROTECTED.get(number)


# Bytes and lines


@each_log
def test_pitfall_01_a_lone_surrogate_is_stored_found_and_sent(store: Path, agent_home: AgentHome, name: str) -> None:
    LOGS[name].put(agent_home, said_by(name, "broken \ud83d lamp \U0001f600", "after"))
    synced(agent_home, LOGS[name].source)
    assert said() == ["broken \ufffd lamp \U0001f600", "after"]
    assert "broken \ufffd lamp" in asked("search", query="broken lamp", tools=True)


@each_log
def test_pitfall_02_an_escaped_raw_byte_is_one_replaced_character(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    LOGS[name].put(agent_home, said_by(name, "caf\udcc3\udca9", "after"))
    synced(agent_home, LOGS[name].source)
    assert said() == ["caf\ufffd\ufffd", "after"]


def test_pitfall_02_names_with_raw_bytes_are_stored_and_sent(store: Path, agent_home: AgentHome) -> None:
    odd = "caf\udcb2"
    records = [
        user(1, "look", ONE, cwd=f"/w/{odd}", gitBranch=odd, version=odd),
        tool_call(2, odd, {"file_path": f"/w/{odd}.py", odd: odd}, ONE),
        {"type": "custom-title", "customTitle": odd, "sessionId": ONE},
        user(3, "odd ids", ONE, uuid=odd, sessionId=odd, timestamp=odd),
    ]
    lines_at(PATHS["claude-code"])(agent_home, [json.dumps(record).encode() for record in records])
    synced(agent_home, "claude-code")
    assert session_row(f"claude-code:{ONE}", "project, title, branch") == ("caf\ufffd",) * 3
    assert "caf\ufffd.py" in asked("timeline", session=f"claude-code:{ONE}", tools=True)


@each_file_of_lines
def test_pitfall_03_bytes_that_are_no_utf_8_cost_at_most_their_line(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    first, torn, last = said_by(name, "first", "caf@ lit", "last")
    breaks = json.dumps(LOGS[name].says(4, "a\u2028b\x85c"), ensure_ascii=False).encode()
    lines = [first, b"\xff\xfe{\xe9", torn.replace(b"@", b"\xe9"), breaks, last]
    LOGS[name].put(agent_home, lines)
    assert synced(agent_home, LOGS[name].source).malformed == 1
    assert said() == ["first", "caf\ufffd lit", "a\u2028b\x85c", "last"]


@each_file_of_lines
def test_pitfall_04_a_torn_last_line_waits_and_one_without_newline_is_taken(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    first, second, third = said_by(name, "first", "second", "third")
    write(agent_home, PATHS[name], first + b"\n" + second[:-7])
    synced(agent_home, LOGS[name].source)
    assert said() == ["first"]
    write(agent_home, PATHS[name], first + b"\n" + second)
    synced(agent_home, LOGS[name].source)
    assert said() == ["first", "second"]
    before = ids()
    write(agent_home, PATHS[name], first + b"\n" + second + b"\n" + third + b"\n")
    assert synced(agent_home, LOGS[name].source).malformed == 0
    assert said() == ["first", "second", "third"]
    assert (ids()[:2], generations()) == (before, [0])


@each_file_of_lines
def test_pitfall_05_records_run_together_are_all_read(store: Path, agent_home: AgentHome, name: str) -> None:
    one, two, three, four = said_by(name, "one", "two", "three", "four")
    LOGS[name].put(agent_home, [one + two, three + b'{"torn', b'{"torn' + three, four])
    assert synced(agent_home, LOGS[name].source).malformed == 2
    assert said() == ["one", "two", "three", "four"]
    assert len(set(ids())) == 4


@each_log
def test_pitfall_06_a_line_of_many_megabytes_is_read_and_its_text_cut(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    LOGS[name].put(agent_home, said_by(name, "first", "x" * 11_000_000, "last"))
    assert synced(agent_home, LOGS[name].source).malformed == 0
    first, huge, last = said()
    assert (first, last) == ("first", "last")
    assert len(huge) in (4_000, 262_144)


@pytest.mark.parametrize("form", ["lines", "zstd"])
def test_pitfall_07_memory_does_not_grow_with_the_size_of_a_log(tmp_path: Path, migrated_home: Path, form: str) -> None:
    for size in (4, 40):
        shutil.copytree(migrated_home, tmp_path / str(size) / "origin")
    small, large = (peak_of_a_sync(tmp_path / str(size), form, size << 20) for size in (4, 40))
    assert large < small + 16


def peak_of_a_sync(folder: Path, form: str, size: int) -> int:
    """Return the most memory, in MiB, that a sync of one log takes; it must be read to its end."""
    person = AgentHome(folder / "person")
    pad = json.dumps({"timestamp": "2026-06-01T08:00:00Z", "type": "world_state", "payload": {"x": "x" * 200_000}})
    path = write(person, ROLLOUT, b"")
    packed = path.with_name(path.name + ".zst")
    with packed.open("wb") as file, zstandard.ZstdCompressor().stream_writer(file) as packer, path.open("wb") as plain:
        for line in [pad] * (size // len(pad)) + [json.dumps(codex_says(1, "the end"))]:
            target = packer if form == "zstd" else plain
            target.write(line.encode() + b"\n")
    (path if form == "zstd" else packed).unlink()
    command = [sys.executable, "manage.py", "sync", "--json"]
    variables = environment(folder / "origin", person.path)
    process = subprocess.Popen(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE)
    assert process.stdout is not None
    report = json.loads(process.stdout.read())["sources"]["codex"]
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert (process.returncode, report["events"], report["problems"]) == (0, 1, [])
    return usage.ru_maxrss // (1 << (20 if sys.platform == "darwin" else 10))


# Copies in Claude Code's logs


def test_pitfall_08_a_uuid_repeated_in_one_file_is_one_event(store: Path, agent_home: AgentHome) -> None:
    repeated = user(1, "light it", ONE, gitBranch="other", promptId="p2", version="2.2.0")
    agent_home.write(ONE, user(1, "light it", ONE), assistant(2, "Lit.", ONE), repeated)
    assert synced(agent_home, "claude-code").events == 2
    assert said() == ["light it", "Lit."]
    assert session_row(f"claude-code:{ONE}", "messages, branch") == (2, "main")
    assert sql.rows("SELECT line FROM event_place") == [(3,)]


@pytest.mark.parametrize("order", [(ONE, TWO), (TWO, ONE)])
def test_pitfall_09_a_copied_history_is_counted_once_and_outlives_any_one_file(
    store: Path, agent_home: AgentHome, order: tuple[str, str]
) -> None:
    history = [user(1, "light it", ONE), assistant(2, "Lit.", ONE)]
    logs: dict[str, list[dict[str, object]]] = {
        ONE: history,
        TWO: [*(record | {"sessionId": TWO} for record in history), user(3, "and trim it", TWO)],
    }
    for session in order:
        agent_home.write(session, *logs[session])
        synced(agent_home, "claude-code")
    agent_home.log(order[0]).unlink()
    assert synced(agent_home, "claude-code").events == 0
    assert sorted(said()) == ["Lit.", "and trim it", "light it"]
    assert sql.rows("SELECT sum(messages) FROM session") == [(3,)]


def test_pitfall_11_a_request_id_changes_nothing(store: Path, agent_home: AgentHome) -> None:
    agent_home.write(ONE, assistant(1, "with", ONE, requestId="req_1"), assistant(2, "without", ONE))
    agent_home.write(ONE, assistant(3, "null", ONE, requestId=None), assistant(4, "odd", ONE, requestId=7))
    synced(agent_home, "claude-code")
    assert said() == ["with", "without", "null", "odd"]


def test_pitfall_12_a_summary_names_the_session_its_leaf_is_in(store: Path, agent_home: AgentHome) -> None:
    summary = {"type": "summary", "summary": "Lamps", "leafUuid": user(2, "", ONE)["uuid"]}
    unknown = {"type": "summary", "summary": "Storms", "leafUuid": user(99, "", ONE)["uuid"]}
    agent_home.write(TWO, summary, unknown, user(10, "and the oil?", TWO))
    agent_home.write(ONE, user(1, "light it", ONE), assistant(2, "Lit.", ONE))
    synced(agent_home, "claude-code")
    assert session_row(f"claude-code:{ONE}", "title") == ("Lamps",)
    assert session_row(f"claude-code:{TWO}", "title") == ("",)


@pytest.mark.parametrize(
    "content", ["light it", ["light it"], [{"type": "text", "text": "light it"}], [None, 3, {"text": "light it"}]]
)
def test_pitfall_13_grok_s_content_of_every_shape_is_read(store: Path, agent_home: AgentHome, content: object) -> None:
    records = [{"type": "user", "content": each} for each in (None, [], content)]
    LOGS["grok chat"].put(agent_home, [json.dumps(record).encode() for record in records])
    assert synced(agent_home, "grok").malformed == 0
    assert said() == ["light it"]


# Places and times


def test_pitfall_20_the_directory_comes_from_records_and_never_from_a_folder_s_name(
    store: Path, agent_home: AgentHome
) -> None:
    for session, cwd in ((ONE, "/w/a-b"), (TWO, "/w/a/b"), (THREE, None)):
        agent_home.write(session, user(int(session[-1]), "hi", session, cwd=cwd), project="-w-a-b")
    LOGS["cursor"].put(agent_home, said_by("cursor", "hi"))
    synced(agent_home, "claude-code")
    assert sql.rows("SELECT project, cwd FROM session ORDER BY source, session_id") == [
        ("a-b", "/w/a-b"),
        ("b", "/w/a/b"),
        ("", ""),
        ("", ""),
    ]


def test_pitfall_23_a_replayed_history_is_hidden_though_it_was_stamped_anew(store: Path, agent_home: AgentHome) -> None:
    fork = THREAD[:-1] + "2"
    history = [codex_says(1, "why does it smoke?"), codex_says(2, "look again")]
    meta = {"type": "session_meta", "payload": {"id": fork, "forked_from_id": THREAD}}
    copied = {"type": "session_meta", "payload": {"id": THREAD, "cwd": "/elsewhere"}}
    stamped = [record | {"timestamp": "2026-06-09T12:00:00.000Z"} for record in history]
    lines_at(ROLLOUT)(agent_home, [json.dumps(record).encode() for record in history])
    records = [meta, copied, *stamped, codex_says(9, "another way")]
    lines_at(ROLLOUT.replace(THREAD, fork))(agent_home, [json.dumps(record).encode() for record in records])
    synced(agent_home, "codex")
    assert sorted(said()) == ["another way", "look again", "why does it smoke?"]
    assert session_row(f"codex:{fork}", "messages, cwd") == (1, "")


def test_pitfall_25_bare_items_without_times_are_as_old_as_their_file_s_name_says(
    store: Path, agent_home: AgentHome
) -> None:
    bare = [codex_says(1, "light it")["payload"], {"record_type": "state"}, codex_says(2, "trim it")["payload"]]
    path = write(agent_home, ROLLOUT, b"".join(json.dumps(record).encode() + b"\n" for record in bare))
    os.utime(path, (1, 1))
    synced(agent_home, "codex")
    assert sql.rows("SELECT text, at, inferred FROM event ORDER BY ordinal") == [
        ("light it", "2026-06-01T09:59:59.000Z", 1),
        ("trim it", "2026-06-01T09:59:59.000Z", 1),
    ]


def test_pitfall_28_cursor_s_times_are_never_those_of_the_file(store: Path, agent_home: AgentHome) -> None:
    stamped = cursor.prompt("light it", "Tuesday, Oct 6, 2026, 7:20 PM (UTC-7)")
    data = cursor.lines_of(cursor.prompt("hi"), stamped, cursor.says("assistant", cursor.text("Lit.")))
    os.utime(write(agent_home, PATHS["cursor"], data), (1, 1))
    synced(agent_home, "cursor")
    found = sql.rows("SELECT text, at, inferred FROM event ORDER BY ordinal")
    assert found[1:] == [("light it", "2026-10-07T02:20:00.000Z", 0), ("Lit.", "2026-10-07T02:20:00.000Z", 1)]
    assert (found[0][2], str(found[0][1])[:4] != "1970") == (1, True)


# Databases


def test_pitfall_31_a_row_of_any_value_costs_at_most_itself(store: Path, agent_home: AgentHome) -> None:
    good = json.dumps({"type": 1, "text": "light it"})
    values: list[object] = [good, None, b"\xff", "", "no json", "[1]", good.encode(), good]
    database = cursor.IdeDatabase(agent_home.path / IDE_FOLDER)
    for number, value in enumerate(values):
        database.put(f"bubbleId:{cursor.SESSION}:b{number}", value)
    database.connection.execute("INSERT INTO cursorDiskKV VALUES (NULL, NULL), (x'ff', 1), ('composerData:', 2.5)")
    report = synced(agent_home, "cursor")
    assert (said(), report.malformed) == (["light it"] * 3, 3)


def test_pitfall_34_zcode_s_debug_logs_are_not_read_beside_its_database(store: Path, agent_home: AgentHome) -> None:
    LOGS["zcode"].put(agent_home, said_by("zcode", "light it"))
    for number in range(3):
        write(agent_home, f".zcode/cli/rollout/model-io-sess_{number}.jsonl", b'{"type":"text","text":"light it"}\n')
    assert synced(agent_home, "zcode").read == 1
    assert said() == ["light it"]


@pytest.mark.parametrize("left", ["", "-wal", "-wal -shm"], ids=["closed", "crashed", "open"])
def test_pitfall_35_a_database_on_a_read_only_disk_is_read_with_its_wal(
    store: Path, agent_home: AgentHome, tmp_path: Path, left: str
) -> None:
    database = ZCodeDatabase(tmp_path / "db.sqlite")
    database.session("sess_1")
    database.user("msg_1", "sess_1", "light it")
    if not left:
        database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    folder = write(agent_home, ".zcode/cli/db/db.sqlite", database.path.read_bytes()).parent
    for suffix in left.split():
        shutil.copy(f"{database.path}{suffix}", folder)
    before = sorted(path.name for path in folder.iterdir())
    folder.chmod(0o500)
    done = origin("sync", "--json", home=store, person=agent_home.path, preexec_fn=without_rights_over_files)
    folder.chmod(0o700)
    report = json.loads(done.stdout)["sources"]["zcode"]
    assert (report["events"], report["problems"]) == (1, [])
    assert sorted(path.name for path in folder.iterdir()) == before


# Odd files


SILENT: dict[str, list[Record]] = {
    "claude-code": [
        {"type": "file-history-snapshot", "messageId": "m", "snapshot": {}},
        {"type": "ai-title", "aiTitle": "Lamps", "sessionId": ONE},
    ],
    "codex": [{"type": "session_meta", "payload": {"id": THREAD, "cwd": "/w/lamp"}}],
    "cursor": [{"type": "turn_ended", "status": "success"}],
    "grok updates": [{"params": {"update": {"sessionUpdate": "plan", "entries": []}}}],
    "grok chat": [{"type": "reasoning", "id": "rs_1"}],
}


@pytest.mark.parametrize("empty", [True, False], ids=["empty", "metadata"])
@each_file_of_lines
def test_pitfall_37_a_file_in_which_nothing_is_said_is_no_session_until_something_is(
    store: Path, agent_home: AgentHome, name: str, empty: bool
) -> None:
    silent = b"".join(json.dumps(record).encode() + b"\n" for record in ([] if empty else SILENT[name]))
    path = write(agent_home, PATHS[name], silent)
    assert synced(agent_home, LOGS[name].source).malformed == 0
    assert json.loads(asked("timeline", since="2020-01-01"))["sessions"] == []
    assert printed_json("status")["sources"][0]["malformed"] == 0
    path.write_bytes(silent + said_by(name, "light it")[0] + b"\n")
    synced(agent_home, LOGS[name].source)
    assert len(json.loads(asked("timeline", since="2020-01-01"))["sessions"]) == 1


@pytest.mark.parametrize("name", DATABASES)
def test_pitfall_37_a_database_in_which_nothing_is_said_is_no_session(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    LOGS[name].put(agent_home, [])
    assert synced(agent_home, LOGS[name].source).malformed == 0
    assert json.loads(asked("timeline", since="2020-01-01"))["sessions"] == []


@each_file_of_lines
def test_pitfall_38_a_byte_order_mark_crlf_and_nul_bytes_change_nothing(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    first, second, third = said_by(name, "first", "second", "third")
    data = b"\xef\xbb\xbf" + first + b"\r\n\r\n" + b"\x00" * 64 + second + b"\r\n" + b"\x00" * 5_000
    write(agent_home, PATHS[name], data)
    assert synced(agent_home, LOGS[name].source).malformed == 0
    assert said() == ["first", "second"]
    write(agent_home, PATHS[name], data + third + b"\r\n")
    assert synced(agent_home, LOGS[name].source).malformed == 0
    assert (said(), generations()) == (["first", "second", "third"], [0])


def test_pitfall_40_a_directory_named_by_a_hash_is_the_one_that_a_file_in_it_names(
    store: Path, agent_home: AgentHome
) -> None:
    cwd = "/w/" + "/".join(["a-long-name"] * 30)
    folder = ".grok/sessions/a-long-name-a-long-name-0123456789abcdef"
    write(agent_home, f"{folder}/.cwd", cwd.encode())
    for session in (THREAD, THREAD[:-1] + "2"):
        write(agent_home, f"{folder}/{session}/chat_history.jsonl", said_by("grok chat", "light it")[0] + b"\n")
    summary = {"info": {"id": THREAD, "cwd": cwd}, "created_at": "2026-09-21T14:13:00Z"}
    write(agent_home, f"{folder}/{THREAD}/summary.json", json.dumps(summary).encode())
    write(agent_home, ".grok/sessions/slug-fedcba9876543210/.cwd", b"not a path at all")
    other = ".grok/sessions/slug-fedcba9876543210/019f8000-0000-7000-8000-0000000000ff/chat_history.jsonl"
    write(agent_home, other, said_by("grok chat", "elsewhere")[0] + b"\n")
    synced(agent_home, "grok")
    assert sql.rows("SELECT project FROM session WHERE session_id LIKE '%ff'") == [("",)]
    assert (
        sql.rows("SELECT project, cwd FROM session WHERE session_id NOT LIKE '%ff' ORDER BY session_id")
        == [("a-long-name", cwd)] * 2
    )


@each_file_of_lines
def test_pitfall_42_a_clock_that_goes_back_loses_nothing_and_keeps_the_order_of_the_file(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    records = [LOGS[name].says(number, f"said {number}") for number in (9, 3, 5)]
    LOGS[name].put(agent_home, [json.dumps(record).encode() for record in records])
    synced(agent_home, LOGS[name].source)
    assert said() == ["said 9", "said 3", "said 5"]
    ((first, last, earliest, latest),) = sql.rows(
        "SELECT first_at, last_at, min(e.at), max(e.at) FROM session s JOIN event e ON e.session_id = s.id"
    )
    assert (first, last) == (earliest, latest)


@each_log
def test_pitfall_43_a_record_of_an_unknown_type_is_passed_over_and_counted(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    first, last = said_by(name, "first", "last")
    unknown = b'{"type":"atis-latch","payload":{"update":{"sessionUpdate":"atis-latch"}},"frame":[1,{"a":null}]}'
    LOGS[name].put(agent_home, [first, unknown, last])
    assert synced(agent_home, LOGS[name].source).malformed == 0
    assert said() == ["first", "last"]
    assert int(str(sql.rows("SELECT sum(skipped) FROM raw_file")[0][0])) >= (name != "cursor chat")


# JSON at its limits

DEEP = b'{"a":' * 5_000 + b"1" + b"}" * 5_000


@each_log
def test_pitfall_44_depth_giant_numbers_and_nan_cost_at_most_their_record(
    store: Path, agent_home: AgentHome, name: str
) -> None:
    first, *odd, last = said_by(name, "first", "nan", "infinite", "deep", "giant", "long", "last")
    values = [b"NaN", b"[-Infinity,1e999]", DEEP, b"9" * 5_000, b"9" * 4_000]
    records = [line[:-1] + b',"zz":' + value + b"}" for line, value in zip(odd, values, strict=True)]
    LOGS[name].put(agent_home, [first, *records, last])
    report = synced(agent_home, LOGS[name].source)
    assert said() == ["first", "nan", "infinite", "long", "last"]
    assert report.malformed == 2


def called_with(name: str, arguments: str) -> bytes:
    """Return a record of a tool's call whose arguments are the given JSON."""
    calls: dict[str, Record] = {
        "claude-code": tool_call(1, "Bash", {"x": "@"}, ONE),
        "codex": {
            "type": "response_item",
            "payload": {"type": "function_call", "name": "run", "arguments": {"x": "@"}},
        },
        "cursor": cursor.says("assistant", cursor.calls("Shell", x="@")),
        "grok updates": {"params": {"update": {"sessionUpdate": "tool_call", "title": "run", "rawInput": {"x": "@"}}}},
        "grok chat": {"type": "assistant", "tool_calls": [{"id": "c", "name": "run", "arguments": {"x": "@"}}]},
        "zcode": {"type": "tool", "tool": "run", "state": {"status": "completed", "input": {"x": "@"}, "output": "y"}},
        "cursor ide": {"type": 2, "toolFormerData": {"name": "run", "params": {"x": "@"}, "status": "completed"}},
        "cursor chat": {"role": "assistant", "content": [{"type": "tool-call", "toolName": "run", "args": {"x": "@"}}]},
    }
    return json.dumps(calls[name]).encode().replace(b'"@"', arguments.encode())


@each_log
def test_pitfall_44_arguments_of_any_depth_are_read_or_malformed(store: Path, agent_home: AgentHome, name: str) -> None:
    depths = [*range(50, 700, 50), *range(700, 1_000)]
    calls = [called_with(name, '[{"a":' * (depth // 2) + "1" + "}]" * (depth // 2)) for depth in depths]
    first, last = said_by(name, "first", "last")
    LOGS[name].put(agent_home, [first, *calls, last])
    synced(agent_home, LOGS[name].source)
    assert [text for text in said() if text in ("first", "last")] == ["first", "last"]


# Types

ODD: tuple[object, ...] = (
    None,
    True,
    5,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "2026-05-04T12:00:00Z",
    [],
    [5],
    ["x"],
    {},
    {"a": 1},
)
HOMES = {"claude-code": ".claude", "codex": ".codex", "cursor": ".cursor", "grok": ".grok"}


def with_odd_fields(record: Record) -> Iterator[Record]:
    """Yield a record once for each of its fields, at any depth, and each odd value in it."""
    text = json.dumps(record)
    for path in places_in(record):
        for value in ODD:
            copy = json.loads(text)
            holder = copy
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = value
            yield copy


def places_in(value: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, item in inner:
        yield (*path, step)
        yield from places_in(item, (*path, step))


SAMPLES = [case for case in cases() if case.expected()["path"].endswith(".jsonl")]


@pytest.mark.parametrize("case", SAMPLES, ids=lambda case: case.name)
def test_pitfall_45_a_field_of_any_type_costs_at_most_its_line(store: Path, agent_home: AgentHome, case: Any) -> None:
    records = []
    for line in case.log.read_bytes().split(b"\n"):
        try:
            records.append(json.loads(line))
        except ValueError:
            continue
    odd = [
        json.dumps(each).encode() for record in records if isinstance(record, dict) for each in with_odd_fields(record)
    ]
    path = f"{HOMES[case.adapter.source]}/{re.sub('^root-[0-9a-f]+/', '', case.expected()['path'])}"
    write(agent_home, path, b"\n".join([*odd, b""]))
    report = synced(agent_home, case.adapter.source)
    assert (report.read, report.malformed, len(odd) > 10 * len(records)) == (1, 0, True)
    assert sql.rows("SELECT parsed + skipped FROM raw_file") == [(len(odd),)]
    asked("timeline", since="2020-01-01")


@pytest.mark.parametrize("name", DATABASES)
def test_pitfall_45_a_field_of_any_type_costs_at_most_its_row(store: Path, agent_home: AgentHome, name: str) -> None:
    first, last = said_by(name, "first", "last")
    records = [json.loads(first), json.loads(called_with(name, '"y"'))]
    odd = [json.dumps(each).encode() for record in records for each in with_odd_fields(record)]
    LOGS[name].put(agent_home, [first, *odd, last])
    synced(agent_home, LOGS[name].source)
    assert said()[-1] == "last"
    asked("timeline", since="2020-01-01")
