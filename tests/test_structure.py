"""What must hold of every file, whoever writes the next one."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("admin_ui", "ingest", "memory", "origin_site", "replication")
MANAGERS = {"objects", "_default_manager", "_base_manager"}
CONNECTIONS = {"connection", "connections"}

# Written in two parts, so that this file does not name what no file may name.
REGISTRY_HOSTS = ("pypi." + "org", "pythonhosted." + "org", "npmjs." + "org", "npmjs." + "com")
MACHINE_PATHS = ("/work" + "/main", "/work" + "/shared", "/root" + "/.", "/opt" + "/pypi", "/opt" + "/wheels")


def tracked_files() -> list[Path]:
    listing = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    return [ROOT / name for name in listing.stdout.split("\0") if name and (ROOT / name).is_file()]


def own_commands() -> list[str]:
    return sorted(name for name, package in get_commands().items() if package in PACKAGES)


def database_access(source: str) -> Iterator[str]:
    """Every manager and cursor in a module, as `line: what`."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute) and node.attr in MANAGERS:
            yield f"{node.lineno}: .{node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "cursor":
            # A connection's takes no argument; the archive's own, which says how far a file was read, takes a key.
            yield from () if node.args else (f"{node.lineno}: .cursor()",)
        if isinstance(node, ast.ImportFrom) and node.module == "django.db":
            yield from (f"{node.lineno}: {name.name}" for name in node.names if name.name in CONNECTIONS)


def test_only_memory_reaches_the_database() -> None:
    modules = [path for package in PACKAGES if package != "memory" for path in sorted((ROOT / package).rglob("*.py"))]

    found = {str(path.relative_to(ROOT)): list(database_access(path.read_text("utf-8"))) for path in modules}

    assert modules
    assert {path: places for path, places in found.items() if places} == {}


@pytest.mark.parametrize(
    "code",
    ["Event.objects.all()", "Event._base_manager", "x.cursor()", "from django.db import connection"],
)
def test_the_search_for_database_access_finds(code: str) -> None:
    assert list(database_access(code))


@pytest.mark.parametrize("code", ["adapters.cursor.parse_line(line)", "archive.cursor(key)"])
def test_the_agent_named_cursor_and_a_file_s_cursor_are_no_database_access(code: str) -> None:
    assert not list(database_access(code))


def test_every_command_says_what_it_does() -> None:
    apps = get_commands()

    helpless = [name for name in own_commands() if not load_command_class(apps[name], name).help.strip()]

    assert helpless == []


def test_no_command_hides_one_of_another_package() -> None:
    names = [path.stem for package in PACKAGES for path in (ROOT / package).glob("management/commands/[a-z]*.py")]

    assert sorted(names) == sorted(set(names))
    assert sorted(names) == own_commands()


def test_no_file_names_a_registry_or_a_path_of_the_machine_it_was_written_on() -> None:
    files = tracked_files()

    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in files
        for name in (*REGISTRY_HOSTS, *MACHINE_PATHS)
        if name.encode() in path.read_bytes()
    ]

    assert files
    assert found == []
