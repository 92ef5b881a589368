#!/usr/bin/env python3
"""Run a command from a checkout: `python manage.py X` is `origin X`."""

from origin_site.cli import main

if __name__ == "__main__":
    main()
