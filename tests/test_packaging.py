"""The wheel holds all that an installed Origin needs, and the locks pin all that it builds on."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("admin_ui", "ingest", "memory", "origin_site", "replication")
LOCKS = ("requirements.lock", "requirements-dev.lock")
PINNED = re.compile(r"(?P<pin>[a-z0-9][a-z0-9.-]*==[^ ]+)( ; [^\\]+)? \\")
HASH = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")
PROBE = "installed {{ name }}"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the wheel is built from, with a template and a static file more than the project may have so far."""
    checkout = tmp_path_factory.mktemp("checkout")
    for name in (*PACKAGES, "templates"):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, checkout / name, ignore=shutil.ignore_patterns("__pycache__"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, checkout)
    (checkout / "templates").mkdir(exist_ok=True)
    (checkout / "templates" / "probe.html").write_text(PROBE)
    (checkout / "admin_ui" / "static" / "admin_ui").mkdir(parents=True, exist_ok=True)
    (checkout / "admin_ui" / "static" / "admin_ui" / "probe.css").write_text("body {}")
    return checkout


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    subprocess.run(build, cwd=checkout, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def site_packages(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site-packages")
    zipfile.ZipFile(wheel).extractall(folder)
    return folder


def run_installed(site_packages: Path, home: Path, code: str, *arguments: str) -> str:
    environment = os.environ | {
        "PYTHONPATH": str(site_packages),
        "ORIGIN_HOME": str(home / ".origin"),
        "DJANGO_SETTINGS_MODULE": "origin_site.settings",
    }
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(command, cwd=home, env=environment, check=True, capture_output=True, text=True)
    return run.stdout


def test_the_wheel_holds_every_file_of_every_package_and_nothing_else(checkout: Path, wheel: Path) -> None:
    expected = {
        path.relative_to(checkout).as_posix()
        for package in PACKAGES
        for path in (checkout / package).rglob("*")
        if path.is_file()
    }
    expected |= {
        f"origin_site/{path.relative_to(checkout).as_posix()}"
        for path in (checkout / "templates").rglob("*")
        if path.is_file()
    }

    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert names == expected
    assert {"admin_ui/static/admin_ui/probe.css", "memory/migrations/0001_initial.py"} <= names


def test_the_wheel_declares_the_origin_command_and_its_licence(wheel: Path) -> None:
    contents = zipfile.ZipFile(wheel)
    entry_points, licence = (
        next(name for name in contents.namelist() if name.endswith(end)) for end in ("/entry_points.txt", "/LICENSE")
    )

    assert "origin = origin_site.cli:main" in contents.read(entry_points).decode()
    assert "MIT License" in contents.read(licence).decode()


def test_an_installed_origin_runs_its_checks(site_packages: Path, tmp_path: Path) -> None:
    output = run_installed(site_packages, tmp_path, "from origin_site.cli import main; main()", "check", "--deploy")

    assert "no issues" in output


def test_an_installed_origin_finds_its_templates(site_packages: Path, tmp_path: Path) -> None:
    code = (
        "import django; django.setup()\n"
        "from django.template.loader import render_to_string\n"
        "print(render_to_string('probe.html', {'name': 'Origin'}))"
    )

    assert run_installed(site_packages, tmp_path, code) == "installed Origin\n"


def test_an_installed_origin_holds_every_command(site_packages: Path, tmp_path: Path) -> None:
    commands = {path.stem for path in ROOT.glob("*/management/commands/[a-z]*.py")}

    output = run_installed(site_packages, tmp_path, "from origin_site.cli import main; main()", "help", "--commands")

    assert commands <= set(output.split())


def pins(lock: str) -> set[str]:
    lines = (ROOT / lock).read_text().splitlines()
    return {found["pin"] for line in lines if (found := PINNED.fullmatch(line))}


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_holds_pinned_versions_and_hashes_and_nothing_else(lock: str) -> None:
    lines = [line for line in (ROOT / lock).read_text().splitlines() if not line.lstrip().startswith("#")]

    assert [line for line in lines if not PINNED.fullmatch(line) and not HASH.fullmatch(line)] == []
    assert len(pins(lock)) > 20


def test_the_development_lock_holds_the_versions_of_the_other() -> None:
    assert pins("requirements.lock") < pins("requirements-dev.lock")


def test_the_locks_hold_every_dependency_that_the_project_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = {
        "requirements.lock": project["project"]["dependencies"],
        "requirements-dev.lock": project["dependency-groups"]["dev"],
    }

    for lock, requirements in declared.items():
        versions = dict(pin.split("==") for pin in pins(lock))
        for requirement in map(Requirement, requirements):
            assert requirement.specifier.contains(versions[requirement.name])


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    command = (ROOT / ".ci" / "run").read_text().splitlines()[-1]

    assert "pytest" in command
    assert command in (ROOT / "README.md").read_text()
