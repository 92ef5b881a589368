"""What is kept between answers is made again as soon as the database may have changed."""

import sqlite3
from pathlib import Path

from django.db import transaction

from memory import sql
from memory.held import held
from memory.models import Setting

COUNT = "SELECT count(*) FROM setting"


def counted() -> int:
    return held("settings", lambda: int(sql.rows(COUNT)[0][0]))


def test_nothing_is_asked_twice_of_an_unchanged_database(store: Path) -> None:
    made: list[int] = []
    for _ in range(3):
        held("made", lambda: made.append(1))
    assert made == [1]


def test_what_this_connection_writes_is_seen(store: Path) -> None:
    before = counted()
    Setting.objects.create(key="heron", value="grey")
    assert counted() == before + 1


def test_what_another_process_writes_is_seen(store: Path) -> None:
    before = counted()
    with sqlite3.connect(store / "origin.db") as other:
        other.execute("INSERT INTO setting (key, value) VALUES ('heron', 'grey')")
    other.close()
    assert counted() == before + 1


def test_what_was_rolled_back_is_not_kept(store: Path) -> None:
    before = counted()
    with transaction.atomic():
        Setting.objects.create(key="heron", value="grey")
        assert counted() == before + 1
        transaction.set_rollback(True)
    assert counted() == before
