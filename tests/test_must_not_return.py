"""What must not come back, for every surface there is: canaries are looked for in whole outputs, with a control each.

A tool, a parameter, a command or a route that no row names fails the suite.
"""

import io
from collections.abc import Callable
from contextlib import redirect_stderr
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from memory import tools
from memory.actor import Actor
from memory.backup import backup
from memory.entries import correct as correcting
from memory.entries import remember as remembering
from memory.entries.citations import Wanted
from memory.entries.review import review
from memory.errors import OriginError
from memory.forgetting.forget import forget, restore
from memory.forgetting.plan import plan_forget
from memory.forgetting.verify import verify
from memory.rebuild import rebuild
from memory.restore_backup import restore_backup
from memory.scope import EVERYTHING, Scope
from tests.conftest import AgentHome, record_uuid, session_uuid, tool_call, tool_result, user, using_home
from tests.memory.test_check import PARSERS
from tests.test_structure import own_commands

OWNER = Actor(kind="owner", name="user", channel="cli", device="laptop")
AGENT = Actor(kind="agent", name="codex", channel="mcp", device="laptop")
SECRET = "correct-horse-battery-staple"


@dataclass(frozen=True)
class Thing:
    """Something that must not be seen: `asked` is a word that it holds, `canary` another that no question names."""

    asked: str
    canary: str
    name: str
    session: str = ""


def said(answer: Callable[[], str]) -> str:
    """Return what a surface says, its error included."""
    errors = io.StringIO()
    with redirect_stderr(errors):
        try:
            return answer() + errors.getvalue()
        except OriginError as error:
            return str(error) + errors.getvalue()


def tool(name: str, actor: Actor = AGENT, scope: Scope = EVERYTHING, **arguments: object) -> Callable[[], str]:
    """Return a call of a tool."""
    return lambda: tools.call(name, arguments, scope, UTC, actor)


def command(name: str, *arguments: str) -> Callable[[], str]:
    """Return a call of a command, with the JSON it can print behind what a person reads."""

    def run() -> str:
        out = io.StringIO()
        call_command(name, *arguments, stdout=out, stderr=out)
        return out.getvalue()

    return run


Surfaces = dict[str, Callable[[], str]]
BUDGET = {"max_tokens": 20_000}


def of_tools(thing: Thing, scope: Scope = EVERYTHING, actor: Actor = AGENT) -> Surfaces:
    """Return every tool with every parameter that could show the thing."""
    find: dict[str, Any] = {"query": thing.asked, "limit": 50, **BUDGET}
    searches: dict[str, dict[str, Any]] = {
        "": {},
        " in": {"in": "events"},
        " entries": {"in": "entries"},
        " kind": {"kind": "knowledge"},
        " project": {"project": "billing"},
        " source": {"source": "claude-code"},
        " session": {"session": thing.session},
        " since": {"since": "2020-01-01", "until": "2030-01-01"},
        " tools": {"tools": True},
        " meta": {"meta": True},
        " history": {"history": True},
        " trust": {"trust": "proposed"},
        " valid_at": {"valid_at": "2026-06-01"},
        " known_at": {"known_at": "2030-01-01"},
        " sort": {"sort": "recent"},
        " explain": {"explain": True},
        " cursor": {"cursor": "eyJoaXQiOjAsImVudHJ5IjowfQ"},
        " nothing": {"query": ""},
    }
    source = [{"quote": thing.asked * 2}]
    surfaces = {f"search{name}": tool("search", actor, scope, **find | extra) for name, extra in searches.items()}
    return surfaces | {
        "timeline": tool("timeline", actor, scope, since="2020-01-01", **BUDGET),
        "timeline until": tool("timeline", actor, scope, until="2030-01-01", project="billing", **BUDGET),
        "timeline session": tool("timeline", actor, scope, session=thing.session, **BUDGET),
        "timeline tools": tool("timeline", actor, scope, session=thing.session, tools=True, source="", **BUDGET),
        "get": tool("get", actor, scope, id=thing.name, **BUDGET),
        "get session": tool("get", actor, scope, id=thing.session, **BUDGET),
        "sources": tool("sources", actor, scope, id=thing.name, **BUDGET),
        "remember": tool("remember", actor, scope, kind="memory", text="A new one.", sources=source),
        "remember id": tool("remember", actor, scope, kind="memory", text="One.", sources=[{"event": thing.name}]),
        "correct": tool("correct", actor, scope, id=thing.name, valid_to="1999-01-01", valid_from="2000-01-01"),
        "forget": tool("forget", actor, scope, id=thing.name, reason="", plan="0" * 32),
        "forget plan": tool("forget", actor, scope, id=thing.name, reason="no"),
    }


def of_commands(thing: Thing) -> Surfaces:
    """Return every command that reads, with the options that could show the thing."""
    plain: dict[str, tuple[str, ...]] = {
        "search": (thing.asked,),
        "search --tools": (thing.asked, "--tools", "--meta", "--recent"),
        "timeline": ("--since", "2020-01-01"),
        "timeline SESSION": (thing.session, "--tools"),
        "show": (thing.name,),
        "show SESSION": (thing.session,),
        "sources": (thing.name,),
        "entries": (),
        "entries --history": ("--history",),
        "entries --trust": ("--trust", "proposed"),
        "entries --known-at": ("--known-at", "2030-01-01", "--valid-at", "2026-06-01"),
        "review": (),
        "correct": (thing.name, "--valid-to", "1999-01-01", "--valid-from", "2000-01-01"),
        "remember": ("A new one.", "--quote", thing.asked * 2),
        "forget": (thing.name,),
        "status": (),
        "audit": (),
        "secrets": (),
        "project": ("list",),
        "context": (),
        "check": (),
        "reparse": ("--diff", "--examples", "50"),
    }
    surfaces: Surfaces = {}
    for name, arguments in plain.items():
        of = name.partition(" ")[0]
        surfaces[f"{name} (command)"] = command(of, *arguments)
        if of not in ("context", "check"):
            first, rest = (arguments[:1], arguments[1:]) if of == "project" else ((), arguments)
            surfaces[f"{name} (JSON)"] = command(of, "--json", *first, *rest)
    return surfaces


# Commands that show nothing of what is held: they write, serve, or read what is not in the store.
SHOW_NOTHING = {
    "backup": "its file is at rest, and restored it is read by the rows above",
    "demo": "invents a history of its own",
    "keys": "prints a number",
    "mcp": "serves the tools above",
    "rebuild": "prints counts; the store it makes is read by the rows above",
    "restore": "prints the ids it was given",
    "restore_backup": "prints counts",
    "serve": "serves the tools above",
    "sync": "prints counts",
    "token": "reads tokens",
}
# Routes of the hub, and the surface each is.
ROUTES = {"/v1/hello", "/v1/cursors", "/v1/ingest", "/healthz", "/mcp"}


class TestEverySurfaceHasARow:
    thing = Thing("a", "b", "c", "d")

    def test_every_tool_and_parameter(self) -> None:
        named: dict[str, set[str]] = {}
        for call in of_tools(self.thing).values():
            cells = dict(zip(call.__code__.co_freevars, call.__closure__ or (), strict=True))
            named.setdefault(cells["name"].cell_contents, set()).update(cells["arguments"].cell_contents)
        for each in tools.TOOLS:
            properties = each.input_schema()["properties"]
            assert isinstance(properties, dict)
            shows = set(properties) - {"confidence", "idempotency_key", "reason_code", "cursor", "project", "text"}
            missing = shows - named[each.name] - {"sources"}
            assert not missing - {"valid_from", "valid_to"}, f"{each.name}: no row for {missing}"

    def test_every_command(self) -> None:
        rows = {name.partition(" ")[0] for name in of_commands(self.thing)}
        assert rows | set(SHOW_NOTHING) == set(own_commands())

    def test_every_route(self) -> None:
        from replication.hub.api import api

        found = {f"{prefix}{path}" for prefix, router in api._routers for path in router.path_operations}
        assert {path.replace("//", "/") for path in found} == ROUTES


# What is in the store


APP, BILLING = session_uuid(1), session_uuid(2)


def event(number: int) -> str:
    """Return the id of a record."""
    return f"claude-code:{record_uuid(number)}"


@pytest.fixture
def held(store: Path, agent_home: AgentHome) -> AgentHome:
    """Sessions of two projects."""
    agent_home.write(
        APP,
        user(1, "the walnut plan keeps everything in one file named quince", APP),
        user(2, "an unrelated remark about nothing that matters here at all", APP),
        tool_call(3, "Bash", {"command": "ls orchard"}, APP),
        tool_result(4, 3, "the orchard listing shows a medlar", APP),
        user(5, f"the tangerine url is postgres://app:{SECRET}@db/tangerine", APP),
    )
    agent_home.write(BILLING, user(6, "the almond contract names a loquat", BILLING, cwd="/w/billing"), project="-b")
    agent_home.sync()
    return agent_home


def remember(text: str, *events: str, actor: Actor = OWNER, **fields: Any) -> str:
    """Remember a statement and return its id."""
    request = remembering.Request("knowledge", text, [Wanted(name) for name in events or (event(2),)], **fields)
    return remembering.remember(request, EVERYTHING, actor, UTC).entry_id


def forgotten(target: str, code: Any = "private") -> str:
    """Forget and return the tombstone."""
    return forget(target, "never mind", code, plan_forget(target, EVERYTHING).digest, EVERYTHING, OWNER).tombstone


def shown(thing: Thing, surfaces: Surfaces) -> set[str]:
    """Return the surfaces that show the canary."""
    return {name for name, answer in surfaces.items() if thing.canary in said(answer)}


def everywhere(thing: Thing) -> Surfaces:
    """Return every surface, the tools as an agent and as the owner."""
    owners = {f"{name} (owner)": call for name, call in of_tools(thing, actor=OWNER).items()}
    return of_tools(thing) | owners | of_commands(thing)


WALNUT = Thing("walnut", "quince", event(1), f"claude-code:{APP}")


class TestForgotten:
    def test_an_event(self, held: AgentHome) -> None:
        assert {"search", "get", "sources", "timeline session", "show (command)"} <= shown(WALNUT, everywhere(WALNUT))
        tombstone = forgotten(WALNUT.name)
        assert shown(WALNUT, everywhere(WALNUT)) == set()
        assert verify(tombstone).surfaces == []
        restore(tombstone, "after all", OWNER)
        assert {"search", "get", "sources", "timeline session", "show (command)"} <= shown(WALNUT, everywhere(WALNUT))

    def test_an_event_after_a_rebuild_a_reparse_and_a_backup(self, held: AgentHome, tmp_path: Path) -> None:
        forgotten(WALNUT.name)
        call_command("reparse", stdout=io.StringIO())
        assert shown(WALNUT, of_tools(WALNUT)) == set()
        rebuild(PARSERS)
        assert shown(WALNUT, everywhere(WALNUT)) == set()
        backup(tmp_path / "b.tar.zst")
        restore_backup(tmp_path / "b.tar.zst", tmp_path / "restored")
        with using_home(tmp_path / "restored"):
            assert shown(WALNUT, everywhere(WALNUT)) == set()
            held.write(session_uuid(8), user(80, "THE WALNUT PLAN keeps everything in one file named Quince!", APP))
            held.sync()
            assert shown(WALNUT, everywhere(WALNUT)) == set()
            assert "Quince" not in said(tool("search", OWNER, query="walnut", tools=True, meta=True))

    def test_an_exact_copy_under_a_new_id(self, held: AgentHome) -> None:
        copy = session_uuid(3)
        held.write(copy, user(30, "the walnut plan keeps everything in one file named quince", copy), project="-c")
        held.sync()
        thing = Thing("walnut", "quince", event(30), f"claude-code:{copy}")
        assert "get" in shown(thing, everywhere(thing))
        forgotten(WALNUT.name)
        assert shown(thing, everywhere(thing)) == set()
        later = session_uuid(4)
        held.write(later, user(40, " The WALNUT plan keeps everything in one file named quince.", later), project="-d")
        held.sync()
        thing = Thing("walnut", "quince", event(40), f"claude-code:{later}")
        assert shown(thing, everywhere(thing)) == set()

    def test_an_entry_with_what_it_cites(self, held: AgentHome) -> None:
        name = remember("The cherry rule is a damson.", event(1))
        entry = Thing("cherry", "damson", name, f"claude-code:{APP}")
        assert {"search", "get", "timeline", "entries (command)", "context (command)"} <= shown(
            entry, everywhere(entry)
        )
        forgotten(name)
        assert shown(entry, everywhere(entry)) == set()
        assert shown(WALNUT, everywhere(WALNUT)) == set()

    def test_what_another_tombstone_hides_is_in_no_plan(self, held: AgentHome) -> None:
        name = remember("The cherry rule is a damson.", event(1), event(2))
        forgotten(name)
        entry = Thing("cherry", "damson", event(2), f"claude-code:{APP}")
        held.write(session_uuid(6), user(70, "an unrelated remark about the cherry and nothing else at all", APP))
        held.sync()
        assert shown(entry, everywhere(entry)) == set()
        plan = plan_forget(f"claude-code:{APP}", EVERYTHING)
        assert name in plan.entries
        assert "damson" not in said(command("forget", f"claude-code:{APP}"))

    def test_a_session_with_its_title(self, held: AgentHome) -> None:
        title: dict[str, object] = {"type": "custom-title", "sessionId": APP, "customTitle": "walnut and quince"}
        held.write(APP, title)
        held.sync()
        assert "timeline" in shown(WALNUT, everywhere(WALNUT))
        forgotten(WALNUT.session, "wrong")
        assert shown(WALNUT, everywhere(WALNUT)) == set()

    def test_our_own_answer_in_a_log(self, held: AgentHome) -> None:
        answer = said(tool("search", query="walnut"))
        assert "quince" in answer
        session = session_uuid(5)
        call = tool_call(50, "mcp__origin__search", {"query": "walnut"}, session)
        held.write(session, call, tool_result(51, 50, answer, session), project="-e")
        held.sync()
        forgotten(WALNUT.name)
        thing = Thing("walnut", "quince", f"{event(51)}#0", f"claude-code:{session}")
        assert shown(thing, everywhere(thing)) == set()
        result = Thing("walnut", "quince", f"{event(50)}#0", f"claude-code:{session}")
        assert shown(result, everywhere(result)) == set()


class TestNotNow:
    """What is kept but is not what is asked for."""

    def unless(self, thing: Thing, *allowed: str) -> None:
        """Check that only surfaces with these beginnings show a thing, and that the first of them does.

        The owner who names a thing to be forgotten is shown what that is.
        """
        found = shown(thing, everywhere(thing)) - {"forget (command)"}
        assert any(name.startswith(allowed[0]) for name in found), "the control"
        assert {name for name in found if not name.startswith(allowed)} == set()

    def test_superseded(self, held: AgentHome) -> None:
        name = remember("The hazel rule is a sloe.")
        correcting.correct(correcting.Request(name, "The hazel rule is another."), EVERYTHING, OWNER, UTC)
        history = ("search history", "get", "show", "entries --history", "correct")
        self.unless(Thing("hazel", "sloe", name, f"claude-code:{APP}"), *history)

    def test_ended(self, held: AgentHome) -> None:
        name = remember("The beech rule is a rowan.", valid_from="2026-01-01", valid_to="2026-02-01")
        history = ("search history", "get", "show", "entries --history")
        self.unless(Thing("beech", "rowan", name, f"claude-code:{APP}"), *history)

    def test_proposed(self, held: AgentHome) -> None:
        name = remember("The maple rule is a bilberry.", f"{event(4)}#0", actor=AGENT)
        proposed = ("search trust", "get", "show", "entries --trust", "review")
        self.unless(Thing("maple", "bilberry", name, f"claude-code:{APP}"), *proposed)

    def test_rejected(self, held: AgentHome) -> None:
        name = remember("The larch rule is a cloudberry.", f"{event(4)}#0", actor=AGENT)
        review(name, "reject", "", OWNER)
        thing = Thing("larch", "cloudberry", name, f"claude-code:{APP}")
        assert shown(thing, of_tools(thing)) == set()
        self.unless(thing, "show", "get (owner)", "get")

    def test_tool_output(self, held: AgentHome) -> None:
        thing = Thing("orchard", "medlar", f"{event(4)}#0", f"claude-code:{APP}")
        # A review shows what an entry cites, and the row `remember id` has just made one.
        asked = (
            "search tools",
            "search --tools",
            "timeline tools",
            "timeline SESSION",
            "get",
            "sources",
            "show",
            "review",
        )
        self.unless(thing, *asked)

    def test_a_secret(self, held: AgentHome) -> None:
        thing = Thing("tangerine", SECRET, event(5), f"claude-code:{APP}")
        assert shown(thing, everywhere(thing)) == set()
        assert "secret:" in said(tool("get", id=thing.name)), "the control"


class TestOtherScope:
    def test_another_project_is_in_no_answer(self, held: AgentHome) -> None:
        name = remember("The elder rule is a mirabelle.", event(6))
        entry = Thing("elder", "mirabelle", name, f"claude-code:{BILLING}")
        message = Thing("almond", "loquat", event(6), f"claude-code:{BILLING}")
        for thing in (entry, message):
            assert "get" in shown(thing, of_tools(thing)), "the control"
            assert "get" in shown(thing, of_tools(thing, Scope(("billing",))))
            assert shown(thing, of_tools(thing, Scope(("app",)))) == set()

    def test_a_store_that_may_only_be_read_says_no(self, held: AgentHome) -> None:
        read_only = Scope(may_write=False, may_forget=False)
        for name in ("remember", "correct", "forget"):
            arguments: dict[str, Any] = {"id": event(1), "reason": "no"}
            if name == "remember":
                arguments = {"kind": "memory", "text": "x", "sources": [{"event": event(1)}]}
            elif name == "correct":
                arguments = {"id": event(1), "text": "x"}
            assert "may" in said(tool(name, scope=read_only, **arguments))
