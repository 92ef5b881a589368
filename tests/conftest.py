"""What tests share: a store in a temporary home, and a person's home with invented logs in it."""

import json
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
from django.conf import settings
from django.db import connection
from pytest_django.plugin import DjangoDbBlocker

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Environment
from ingest.sync import Report, sync
from memory import store as store_module
from tests.examples import USUAL, examples


@pytest.fixture(scope="session")
def migrated_home(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Path:
    """A home migrated once; every test gets a copy of its files."""
    path = tmp_path_factory.mktemp("migrated") / "origin"
    with django_db_blocker.unblock(), using_home(path):
        store_module.open_store()
    return path


class using_home:
    """Let this process's store lie at `path` for the length of a with block."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        self._before = (settings.ORIGIN_HOME, connection.settings_dict["NAME"])
        self._point(self._path, self._path / "origin.db")
        return self._path

    def __exit__(self, *_: object) -> None:
        self._point(*self._before)

    def _point(self, home: Path, name: object) -> None:
        connection.close()
        settings.ORIGIN_HOME = home
        connection.settings_dict["NAME"] = name


@pytest.fixture
def store(tmp_path: Path, migrated_home: Path, django_db_blocker: DjangoDbBlocker) -> Iterator[Path]:
    """An empty migrated store of this process; yields its home directory."""
    path = tmp_path / "origin"
    shutil.copytree(migrated_home, path)
    with django_db_blocker.unblock(), using_home(path):
        yield path


@dataclass
class AgentHome:
    """A person's home directory, with helpers to write invented Claude Code logs."""

    path: Path

    @property
    def environment(self) -> Environment:
        """The machine as discovery sees it."""
        return Environment(self.path, {})

    def log(self, session: str, project: str = "-w-app") -> Path:
        """Return where a session's log lies."""
        path = self.path / ".claude" / "projects" / project / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def write(self, session: str, *records: dict[str, object], project: str = "-w-app") -> Path:
        """Append records to a session's log, one line each."""
        path = self.log(session, project)
        with path.open("ab") as file:
            for record in records:
                file.write(json.dumps(record, ensure_ascii=False).encode() + b"\n")
        return path

    def sync(self) -> Report:
        """Archive everything in this home."""
        return sync(ADAPTERS, self.environment)


@pytest.fixture
def agent_home(tmp_path: Path) -> AgentHome:
    """An empty person's home."""
    path = tmp_path / "person"
    path.mkdir()
    return AgentHome(path)


def session_uuid(number: int) -> str:
    """Return an invented session id."""
    return f"5e551011-0000-4000-8000-{number:012x}"


def record_uuid(number: int) -> str:
    """Return an invented record id."""
    return f"0000e4e1-0000-4000-8000-{number:012x}"


def user(number: int, text: object, session: str, **fields: object) -> dict[str, object]:
    """Return an invented line of what the person said; `number` gives its id and its second."""
    return _envelope(number, session) | {"type": "user", "message": {"role": "user", "content": text}} | fields


def assistant(number: int, text: object, session: str, **fields: object) -> dict[str, object]:
    """Return an invented line of what the agent said."""
    content = [{"type": "text", "text": text}] if isinstance(text, str) else text
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "claude-x", "content": content}
    return _envelope(number, session) | {"type": "assistant", "message": message} | fields


def tool_call(
    number: int, tool: str, arguments: dict[str, object], session: str, **fields: object
) -> dict[str, object]:
    """Return an invented tool call."""
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": tool, "input": arguments}
    return assistant(number, [block], session, **fields)


def tool_result(number: int, call: int, text: object, session: str, **fields: object) -> dict[str, object]:
    """Return the invented result of tool call `call`."""
    block = {"tool_use_id": f"toolu_{call}", "type": "tool_result", "content": text}
    return user(number, [block], session, **fields)


def _envelope(number: int, session: str) -> dict[str, object]:
    minutes, seconds = divmod(number, 60)
    hours, minutes = divmod(minutes, 60)
    return {
        "parentUuid": None,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/w/app",
        "sessionId": session,
        "version": "2.1.140",
        "gitBranch": "main",
        "uuid": record_uuid(number),
        "timestamp": f"2026-05-01T{hours:02d}:{minutes:02d}:{seconds:02d}.000Z",
    }


def pytest_configure() -> None:
    """Keep every test, and every process it starts, away from the person's own store."""
    usual = examples(USUAL)
    hypothesis.settings.register_profile("origin", max_examples=usual.max_examples, deadline=usual.deadline)
    hypothesis.settings.load_profile("origin")
    os.environ.setdefault("ORIGIN_HOME", str(Path(os.environ.get("TMPDIR", "/tmp")) / "origin-tests-never-used"))
