"""The entry point behind `manage.py` and the installed `origin`."""

import gc
import os
import sys

PACKAGES = ("memory", "ingest", "replication", "admin_ui")


def main() -> None:
    """Run the command named on the command line, with everything it creates private to the owner."""
    os.umask(0o077)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "origin_site.settings")
    if sys.argv[1:2] == ["mcp"]:
        # Agents wait for this one: it answers its first request before Django is loaded. What importing makes is no
        # garbage, and looking for some takes a tenth of the time; the server turns this on again.
        gc.disable()
        from replication.stdio import serve_arguments

        serve_arguments(sys.argv[2:])
    if sys.argv[1:] in ([], ["help"], ["-h"], ["--help"]):
        print(overview(os.path.basename(sys.argv[0])))
    elif sys.argv[1:] in (["version"], ["--version"]):
        print(f"origin {version()}")
    else:
        from django.core.management import execute_from_command_line

        # A module's name has no dash: `restore-backup` lies in restore_backup.py.
        name = sys.argv[1] if sys.argv[1].startswith("-") else sys.argv[1].replace("-", "_")
        execute_from_command_line([sys.argv[0], name, *sys.argv[2:]])


def overview(program: str) -> str:
    """Return the list of Origin's own commands; Django's are there too, for whoever knows them."""
    import django
    from django.core.management import get_commands, load_command_class

    django.setup()
    own = {name: str(app) for name, app in get_commands().items() if app in PACKAGES}
    width = max(map(len, own))
    lines = [f"  {_dashed(name):{width}}  {load_command_class(own[name], name).help}" for name in sorted(own)]
    heading = [f"usage: {program} COMMAND [options]", "", "Origin archives the sessions of your coding agents.", ""]
    return "\n".join([*heading, *lines, "", f"{program} COMMAND --help says more and gives an example."])


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def version() -> str:
    """Return the version of the installed distribution; a checkout has none."""
    # Loaded here: it takes longer to import than a command should spend on starting.
    from importlib import metadata

    try:
        return metadata.version("origin-memory")
    except metadata.PackageNotFoundError:
        return "(a checkout)"
