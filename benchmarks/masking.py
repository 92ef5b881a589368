"""Imports the logs of a home with a clock on the masking of secrets: what share of the work is it?

    HOME=LOGS ORIGIN_HOME=EMPTY python -m benchmarks.masking

Prints JSON: CPU seconds of the import, and of masking within it.
"""

import json
import os
import time
from pathlib import Path

import django


def main() -> None:
    """Import, and print what it took."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "origin_site.settings")
    django.setup()
    # Models can be loaded only after Django is.
    from ingest.adapters import ADAPTERS
    from ingest.adapters.contract import Environment
    from ingest.sync import sync
    from memory import secrets, store

    mask, spent = secrets.mask, 0.0

    def timed(text: str) -> str:
        nonlocal spent
        begun = time.process_time()
        masked = mask(text)
        spent += time.process_time() - begun
        return masked

    secrets.mask = timed
    store.open_store()
    begun = time.process_time()
    sync(ADAPTERS, Environment(Path.home(), {}))
    print(json.dumps({"import": time.process_time() - begun, "masking": spent}))


if __name__ == "__main__":
    main()
