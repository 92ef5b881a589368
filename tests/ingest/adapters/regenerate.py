"""Writes every sample's expectation anew: `python -m tests.ingest.adapters.regenerate`, then read the difference."""

import json

from tests.ingest.adapters.golden import cases


def main() -> None:
    """Write what today's adapters make of each sample."""
    for case in cases():
        case.expectation.write_text(json.dumps(case.read(), ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
