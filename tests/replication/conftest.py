"""A store with two projects in it, made once, for servers that only read."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pytest_django.plugin import DjangoDbBlocker

from memory.store import open_store
from tests.conftest import AgentHome, assistant, session_uuid, tool_call, tool_result, user, using_home

API, WEB, NOWHERE = session_uuid(1), session_uuid(2), session_uuid(3)


@dataclass(frozen=True)
class Archived:
    """A store, and the home of the person whose sessions it holds."""

    store: Path
    person: Path


@pytest.fixture(scope="session")
def archived(tmp_path_factory: pytest.TempPathFactory, django_db_blocker: DjangoDbBlocker) -> Archived:
    """Sessions of two projects and one outside any, archived."""
    folder = tmp_path_factory.mktemp("archived")
    person, store = folder / "person", folder / "origin"
    person.mkdir()
    home = AgentHome(person)
    write_sessions(home)
    with django_db_blocker.unblock(), using_home(store):
        open_store()
        home.sync()
    return Archived(store, person)


def write_sessions(home: AgentHome) -> None:
    """Write one session of project api, one of web and one of no project, each with words of its own."""
    for number, (session, cwd, word) in enumerate(
        ((API, "/w/api", "heron"), (WEB, "/w/web", "walrus"), (NOWHERE, "", "moth"))
    ):
        at = number * 100
        command: dict[str, object] = {"command": f"grep -r {word} .", "file_path": f"{cwd}/{word}.py"}
        home.write(
            session,
            user(at + 1, f"Which database shall the {word} service use?", session, cwd=cwd),
            assistant(
                at + 2, f"We decided that {word} uses SQLite, because nobody runs a server for it.", session, cwd=cwd
            ),
            tool_call(at + 3, "Bash", command, session, cwd=cwd),
            tool_result(at + 4, at + 3, f"{word}.py: the {word} is here", session, cwd=cwd),
            project=f"-w-{word}",
        )
