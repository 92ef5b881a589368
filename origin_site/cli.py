"""The entry point behind `manage.py` and the installed `origin`."""

import os
import sys


def main() -> None:
    """Run the command named on the command line, with everything it creates private to the owner."""
    os.umask(0o077)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "origin_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
