"""Every change of the store leaves one row in the audit log, and none where it fails; a new one needs a case here."""

import ast
import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from memory import audit, devices
from memory.access import tokens
from memory.devices import Hello
from memory.entries import review
from memory.entries.citations import Wanted
from memory.forgetting import rotate
from memory.forgetting.forget import forget, restore
from memory.forgetting.plan import plan_forget
from memory.models import ApiToken, AuditLog, Entry, Record
from memory.name_project import name_project
from memory.records import journal, recovery
from memory.scope import EVERYTHING
from tests.conftest import AgentHome, session_uuid, user
from tests.memory.entries.conftest import OWNER, PERSON, Writer, event
from tests.memory.entries.conftest import owner as owner
from tests.memory.entries.conftest import talk as talk
from tests.memory.records.test_log import Author
from tests.memory.records.test_log import remember as body

MEMORY = Path(__file__).resolve().parents[2] / "memory"


def first_entry() -> str:
    """Return an entry that is there."""
    return Entry.objects.order_by("id").values_list("entry_id", flat=True)[0]


def forget_something() -> str:
    """Forget an event and return the tombstone."""
    plan = plan_forget(event(1), EVERYTHING)
    return forget(event(1), "never mind", "wrong", plan.digest, EVERYTHING, OWNER).tombstone


def arrive(talk: AgentHome) -> None:
    """Let something arrive that was forgotten."""
    talk.write(session_uuid(9), user(60, PERSON, session_uuid(9)))
    talk.sync()


def lose_a_commit() -> None:
    """Leave a record in the journal that the database does not have."""
    author = Author("0b5e77aa-0000-4000-8000-000000000009.a1")
    with journal.path().open("ab") as file:
        file.write(msgspec.json.encode(author.says("remember", body("ent_lost", "x", event(1)), 5)) + b"\n")


def say_hello(token: str) -> None:
    """Enrol a device."""
    told = Hello("0b5e77aa-0000-4000-8000-000000000001", "a1", "laptop", "device", 1, "")
    principal = tokens.resolve(token)
    assert principal
    devices.hello(told, principal, OWNER, 1)


def keep_a_memory(talk: AgentHome) -> None:
    """Let an agent keep a memory in a file of its own."""
    page = talk.path / ".claude" / "projects" / "-w-app" / "memory" / "page.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("Tests use a real database.")
    talk.sync()


Prepare = Callable[[AgentHome], object]
Act = Callable[[AgentHome, object], object]
# The module and function that opens the mutation -> what must be there before, and what to do.
CASES: dict[str, tuple[Prepare, Act]] = {
    "entries.remember.remember": (lambda _: None, lambda *_: Writer(OWNER).remember("SQLite is small.")),
    "entries.correct.correct": (lambda _: first_entry(), lambda _, name: Writer(OWNER).correct(str(name), "Other.")),
    "entries.review.review": (
        lambda _: first_entry(),
        lambda _, name: review.review(str(name), "dispute", "", OWNER),
    ),
    "forgetting.forget.forget": (lambda _: None, lambda *_: forget_something()),
    "forgetting.forget.restore": (lambda _: forget_something(), lambda _, name: restore(str(name), "yes", OWNER)),
    "forgetting.arrivals._write": (lambda _: forget_something(), lambda talk, _: arrive(talk)),
    "forgetting.rotate.rotate": (lambda _: None, lambda *_: rotate.rotate(OWNER)),
    "name_project.name_project": (lambda _: None, lambda *_: name_project("app", "shop", OWNER)),
    "access.tokens.create": (lambda _: None, lambda *_: tokens.create("laptop", ["read"], OWNER)),
    "access.tokens._change": (
        lambda _: tokens.create("laptop", ["read"], OWNER),
        lambda *_: tokens.revoke("laptop", OWNER),
    ),
    "access.tokens.refuse": (lambda _: None, lambda *_: tokens.refuse("token:10.0.0.1", OWNER)),
    "devices.hello": (lambda _: tokens.create("laptop", tokens.DEVICE, OWNER), lambda _, token: say_hello(str(token))),
    "entries.imported.settle": (lambda _: None, lambda talk, _: keep_a_memory(talk)),
    "records.recovery.recover": (lambda _: lose_a_commit(), lambda *_: recovery.recover()),
}


def mutating() -> Iterator[str]:
    """Yield every function of `memory` that opens a mutation."""
    for path in sorted(MEMORY.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.FunctionDef) or path.name == "mutation.py":
                continue
            calls = [inner.func for inner in ast.walk(node) if isinstance(inner, ast.Call)]
            if any(isinstance(call, ast.Name) and call.id == "mutation" for call in calls):
                module = ".".join(path.relative_to(MEMORY).with_suffix("").parts)
                yield f"{module}.{node.name}"


def test_every_mutating_operation_has_a_case() -> None:
    assert sorted(mutating()) == sorted(CASES)


def test_nothing_writes_records_outside_a_mutation() -> None:
    writers = {
        "arrivals",
        "forget",
        "correct",
        "remember",
        "review",
        "name_project",
        "recovery",
        "rebuild",
        "log",
        "imported",
    }
    found = set()
    for path in MEMORY.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "log":
                found.add(path.stem)
    assert found <= writers


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every mutation fail at its very end."""

    def fail() -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(journal, "append_new", fail)
        yield


@pytest.mark.parametrize("name", CASES)
def test_one_row_each_and_none_where_it_fails(
    owner: Writer, talk: AgentHome, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    owner.remember("Sessions live in SQLite.", Wanted(event(2)))
    prepare, act = CASES[name]
    prepared = prepare(talk)
    rows, records, known = AuditLog.objects.count(), Record.objects.count(), ApiToken.objects.count()
    with failing(monkeypatch), contextlib.suppress(OSError):
        act(talk, prepared)
    assert (AuditLog.objects.count(), Record.objects.count(), ApiToken.objects.count()) == (rows, records, known)
    act(talk, prepared)
    assert AuditLog.objects.count() == rows + 1
    assert list(audit.breaks()) == []
