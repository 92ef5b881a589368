"""Which rows of Cursor's databases are read, which blocks of its old transcripts, and how often."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.adapters.cursor.rows import read_rows
from tests.examples import examples
from tests.ingest.adapters.cursor_files import IDE, LEGACY, SESSION, STORE, ChatStore, IdeDatabase, Journal, journal
from tests.ingest.adapters.statements import statements

OTHER = "11a5e000-0000-4000-8000-0000000000b1"


@pytest.fixture
def ide(tmp_path: Path) -> IdeDatabase:
    found = IdeDatabase(tmp_path)
    found.composer(name="Lamps")
    found.bubble("b1", type=1, text="light it")
    return found


@pytest.fixture
def store(tmp_path: Path) -> ChatStore:
    found = ChatStore(tmp_path / SESSION)
    found.meta(name="Lamps")
    found.message("user", "light it")
    return found


def keys(rows: list[dict[str, Any]]) -> list[str]:
    return [row["key"].rsplit(":", 1)[1] if row["key"].startswith("bubbleId") else row["key"] for row in rows]


# The IDE's database


def test_a_row_becomes_one_canonical_line(ide: IdeDatabase) -> None:
    (*_, line) = journal(ide.path, IDE).lines
    value = json.dumps({"bubbleId": "b1", "type": 1, "text": "light it"})
    told = {"key": f"bubbleId:{SESSION}:b1", "table": "cursorDiskKV", "value": value}
    assert line == json.dumps(told, sort_keys=True, separators=(",", ":")).encode()


def test_a_second_read_of_an_unchanged_database_looks_at_one_row(ide: IdeDatabase) -> None:
    for number in range(100):
        ide.bubble(f"more{number}", type=2, text="x")
    read = journal(ide.path, IDE)
    with statements() as asked:
        assert read.read() == []
    assert len([query for query in asked if "cursorDiskKV WHERE key =" in query]) == 1
    assert len(asked) == 4, asked


def test_only_new_and_replaced_rows_are_read_again(ide: IdeDatabase) -> None:
    read = journal(ide.path, IDE)
    ide.bubble("b2", type=2, text="lit")
    ide.bubble("b1", type=1, text="light it, please")
    assert keys(read.read()) == ["b2", "b1"]
    assert read.read() == []


def test_the_last_row_is_read_again_where_it_was_replaced_in_its_place(ide: IdeDatabase) -> None:
    read = journal(ide.path, IDE)
    ide.bubble("b1", type=1, text="light it, please")
    assert keys(read.read()) == ["b1"]


def test_a_row_that_was_written_again_as_it_was_hides_none_before_it(ide: IdeDatabase) -> None:
    read = journal(ide.path, IDE)
    ide.bubble("b2", type=2, text="lit")
    ide.bubble("b1", type=1, text="light it")
    assert "b2" in keys(read.read())


def test_rows_that_take_the_place_of_deleted_ones_are_read(ide: IdeDatabase) -> None:
    for number in range(50):
        ide.bubble(f"old{number}", type=2, text="x")
    read = journal(ide.path, IDE)
    for number in range(40, 50):
        ide.delete(f"bubbleId:{SESSION}:old{number}")
    for number in range(5):
        ide.bubble(f"new{number}", type=2, text="y")
    assert keys(read.read())[-5:] == [f"new{number}" for number in range(5)]


def test_a_compacted_database_is_not_read_anew(ide: IdeDatabase) -> None:
    for number in range(50):
        ide.bubble(f"old{number}", type=2, text="x")
    read = journal(ide.path, IDE)
    for number in range(20):
        ide.delete(f"bubbleId:{SESSION}:old{number}")
    ide.connection.execute("VACUUM")
    ide.bubble("new", type=2, text="y")
    assert keys(read.read()) == ["new"]


def test_a_database_that_was_made_anew_is_read_from_its_start(ide: IdeDatabase, tmp_path: Path) -> None:
    read = journal(ide.path, IDE)
    again = IdeDatabase(tmp_path / "again")
    again.bubble("c1", type=1, text="hi")
    read.path = again.path
    assert keys(read.read()) == ["c1"]


def test_what_is_no_part_of_a_conversation_is_not_read(ide: IdeDatabase) -> None:
    for key in ("checkpointId:a:b", "messageRequestContext:a:b", "agentKv:blob:00", "bubbleId", "composerDataX:a"):
        ide.put(key, {"text": "x"})
    assert len(journal(ide.path, IDE).lines) == 2


def test_values_of_every_kind_are_read(ide: IdeDatabase) -> None:
    # Pitfall 31.
    for name, value in {"null": None, "blob": b'{"type":1,"text":"blob"}', "torn": b"\xff", "empty": ""}.items():
        ide.put(f"bubbleId:{SESSION}:{name}", value)
    told = {row["key"].rsplit(":", 1)[1]: row for row in journal(ide.path, IDE).rows()[2:]}
    assert "value" not in told["null"]
    assert told["blob"]["value"] == '{"type":1,"text":"blob"}'
    assert told["torn"]["value_base64"] == "/w=="
    assert told["empty"]["value"] == ""


def test_a_conversation_s_own_row_comes_before_its_bubbles_and_once(tmp_path: Path) -> None:
    ide = IdeDatabase(tmp_path)
    for thread in (SESSION, OTHER):
        ide.bubble("b1", thread, type=1, text="hi")
        ide.bubble("b2", thread, type=2, text="ho")
        ide.composer(thread)
    read = Journal(ide.path, IDE)
    told = [key for _ in range(10) for key in keys(read.read(most=1))]
    assert told == [f"composerData:{SESSION}", "b1", "b2", f"composerData:{OTHER}", "b1", "b2"]
    ide.composer(SESSION, name="Lamps")
    assert keys(read.read()) == [f"composerData:{SESSION}"]


def test_a_watermark_stays_small(ide: IdeDatabase) -> None:
    for number in range(5_000):
        ide.bubble(f"b{number}", f"thread-{number % 300}", type=2, text="x")
    assert len(json.dumps(journal(ide.path, IDE).watermark)) < 12_000


def test_a_database_without_the_table_holds_nothing(tmp_path: Path) -> None:
    for name in ("state.vscdb", "store.db"):
        sqlite3.connect(tmp_path / name).execute("CREATE TABLE ItemTable (key TEXT, value BLOB)").connection.commit()
        assert list(read_rows(tmp_path / name, {})) == []


def test_what_only_the_wal_holds_is_read(ide: IdeDatabase) -> None:
    # Pitfall 35.
    ide.connection.execute("PRAGMA journal_mode=WAL")
    ide.bubble("b2", type=2, text="in the WAL")
    assert ide.path.with_name("state.vscdb-wal").stat().st_size
    assert (
        keys(journal(ide.path, IDE).read() or [json.loads(line) for line in journal(ide.path, IDE).lines])[-1] == "b2"
    )


def test_an_open_transaction_of_the_agent_is_not_seen_and_not_in_the_way(ide: IdeDatabase) -> None:
    ide.connection.execute("PRAGMA journal_mode=WAL")
    read = journal(ide.path, IDE)
    ide.connection.execute("BEGIN IMMEDIATE")
    ide.bubble("b2", type=2, text="lit")
    assert read.read() == []
    ide.connection.execute("COMMIT")
    assert keys(read.read()) == ["b2"]


@pytest.mark.parametrize("name", ["state.vscdb", "store.db"])
def test_a_database_that_is_none_or_is_gone_raises_what_sync_reports(tmp_path: Path, name: str) -> None:
    with pytest.raises(FileNotFoundError):
        list(read_rows(tmp_path / name, {}))
    (tmp_path / name).write_bytes(b"no database at all" * 100)
    with pytest.raises(sqlite3.Error):
        list(read_rows(tmp_path / name, {}))


def test_nothing_is_written_beside_a_database(ide: IdeDatabase, tmp_path: Path) -> None:
    ide.connection.close()
    before = ide.path.read_bytes()
    journal(ide.path, IDE)
    assert [path.name for path in tmp_path.iterdir()] == ["state.vscdb"]
    assert ide.path.read_bytes() == before


WRITES = st.lists(
    st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 2), st.sampled_from(["put", "delete", "vacuum", "read"])),
    max_size=60,
)


@examples(30)
@given(WRITES)
def test_whatever_is_written_between_two_reads_the_last_values_are_in_the_journal(
    tmp_path_factory: pytest.TempPathFactory, writes: list[tuple[str, int, str]]
) -> None:
    ide = IdeDatabase(tmp_path_factory.mktemp("ide"))
    read = Journal(ide.path, IDE)
    for key, number, how in writes:
        if how == "put":
            ide.bubble(key, type=2, text=str(number))
        elif how == "delete":
            ide.delete(f"bubbleId:{SESSION}:{key}")
        elif how == "vacuum":
            ide.connection.execute("VACUUM")
        else:
            read.read()
    read.read()
    last = {row["key"]: row["value"] for row in map(json.loads, read.lines)}
    held = dict(ide.connection.execute("SELECT key, value FROM cursorDiskKV").fetchall())
    assert {key: last.get(key) for key in held} == held


# The store of a chat


def test_a_chat_s_meta_comes_before_its_messages_and_again_when_it_changes(store: ChatStore) -> None:
    store.path.with_name("meta.json").write_text('{"cwd":"/w/lamp"}')
    read = Journal(store.path, STORE)
    assert [(row["table"], row["key"]) for row in read.read(most=2)] == [("meta", "meta.json"), ("meta", "0")]
    assert [row["table"] for row in read.read()] == ["blobs"]
    store.meta(name="Fog")
    store.message("assistant", "lit")
    assert [row["table"] for row in read.read()] == ["meta", "blobs"]
    assert read.read() == []


def test_blobs_that_are_no_messages_are_not_read(store: ChatStore) -> None:
    store.blob(b"\x0a\x20\xff\xfe")
    assert [row["table"] for row in journal(store.path, STORE).rows()] == ["meta", "blobs"]


# Transcripts of older builds


def write(path: Path, text: str) -> Journal:
    path.write_bytes(text.encode())
    return Journal(path, LEGACY)


def texts(rows: list[dict[str, Any]]) -> list[str]:
    return [row["text"] for row in rows]


def test_each_block_is_a_row_and_no_byte_is_lost(tmp_path: Path) -> None:
    whole = "before\nuser:\nhi\n\nthere\nassistant:\nho\nA:\nuser: is no marker\n user:\nuser:\nbye"
    rows = write(tmp_path / "a.txt", whole).read()
    assert [(row["block"], row["role"]) for row in rows] == [
        (0, ""),
        (0, "user"),
        (1, "assistant"),
        (2, "assistant"),
        (3, "user"),
    ]
    assert "".join(texts(rows)) == whole


def test_a_transcript_that_grew_gives_what_was_added(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    read = write(path, "user:\nhi\nassistant:\nho\n")
    assert len(read.read()) == 2
    assert read.read() == []
    path.write_bytes(path.read_bytes() + b"\nand more\nuser:\nbye\n")
    rows = read.read()
    assert [(row["block"], row["role"], row["text"]) for row in rows] == [
        (1, "assistant", "\nand more\n"),
        (2, "user", "user:\nbye\n"),
    ]


def test_a_transcript_that_was_rewritten_is_read_from_its_start(tmp_path: Path) -> None:
    read = write(tmp_path / "a.txt", "user:\nhi\nassistant:\nho\n")
    read.read()
    write(tmp_path / "a.txt", "user:\nha\nassistant:\nho\n")
    assert texts(read.read()) == ["user:\nha\n", "assistant:\nho\n"]
    write(tmp_path / "a.txt", "user:\nha\n")
    assert texts(read.read()) == ["user:\nha\n"]


@pytest.mark.parametrize("text", ["", "\n\n", " \n\x00\x00"])
def test_an_empty_transcript_holds_nothing(tmp_path: Path, text: str) -> None:
    # Pitfall 37.
    assert write(tmp_path / "a.txt", text).read() == []


def test_markers_are_read_with_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    rows = write(tmp_path / "a.txt", "\ufeffuser:\r\nhi\r\nassistant:\r\nho\r\n").read()
    assert [row["role"] for row in rows] == ["user", "assistant"]


def test_a_block_that_is_no_utf_8_is_kept_byte_for_byte(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"user:\ncaf\xe9\n")
    read = journal(tmp_path / "a.txt", LEGACY)
    assert [event.text for event in read.events()] == ["caf\ufffd"]


BLOCKS = st.lists(
    st.sampled_from(["user:\n", "assistant:\n", "A:\n", "words\n", "\n", "user: x\n", "é\n"]), max_size=12
)


@examples(30)
@given(BLOCKS, BLOCKS)
def test_a_transcript_read_in_two_steps_loses_and_repeats_nothing(
    tmp_path_factory: pytest.TempPathFactory, first: list[str], second: list[str]
) -> None:
    path = tmp_path_factory.mktemp("txt") / "a.txt"
    read = write(path, "".join(first))
    rows = read.read()
    path.write_bytes("".join(first + second).encode())
    rows += read.read()
    assert "".join(texts(rows)).split() == "".join(first + second).split()
