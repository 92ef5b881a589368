"""What the README says is so."""

import re
from pathlib import Path

from tests.test_structure import own_commands

README = (Path(__file__).resolve().parent.parent / "README.md").read_text("utf-8")


def test_its_table_lists_every_command_and_no_other() -> None:
    listed = re.findall(r"^\| `([a-z-]+)[^`]*` \|", README, re.MULTILINE)

    assert sorted(listed) == sorted(name.replace("_", "-") for name in own_commands())


def test_its_two_first_lines_are_the_ones_that_ci_runs() -> None:
    environment = "    python3 -m venv .venv && .venv/bin/pip install -r"

    assert f"{environment} requirements.lock && .venv/bin/python manage.py sync\n" in README
    assert f"{environment} requirements-dev.lock && .venv/bin/python -m pytest\n" in README


def test_every_path_it_links_to_is_there() -> None:
    root = Path(__file__).resolve().parent.parent

    assert [path for path in re.findall(r"\]\(([^):]+)\)", README) if not (root / path).exists()] == []
