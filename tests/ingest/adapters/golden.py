"""Golden samples: invented logs in an agent's own format, each beside what its adapter makes of every line."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from ingest.adapters import ADAPTERS
from ingest.adapters.contract import Adapter
from memory.errors import MalformedLine
from memory.json_line import is_blank
from memory.parsed import Line, ParseLine, State

SAMPLES = Path(__file__).parent.parent / "samples"


@dataclass(frozen=True)
class Case:
    """One sample; its expectation names the logical path the log is read under."""

    adapter: Adapter
    log: Path

    @property
    def name(self) -> str:
        return f"{self.adapter.source}/{self.log.stem}"

    @property
    def expectation(self) -> Path:
        return self.log.with_suffix(".expected.json")

    def expected(self) -> dict[str, Any]:
        """Return what the adapter should make of the log; only its path where nothing has been generated yet."""
        if not self.expectation.exists():
            return {"path": self.log.name}
        found: dict[str, Any] = json.loads(self.expectation.read_bytes())
        return found

    def read(self) -> dict[str, Any]:
        """Return what the adapter makes of the log."""
        path = self.expected()["path"]
        return {"path": path, **read_lines(self.adapter.parse_line, self.log.read_bytes(), path)}


def cases() -> list[Case]:
    """Return every sample of every adapter."""
    return [Case(adapter, log) for adapter in ADAPTERS for log in sorted((SAMPLES / adapter.source).glob("*.jsonl"))]


def read_lines(parse_line: ParseLine, data: bytes, path: str, state: State | None = None) -> dict[str, Any]:
    """Return what a parser makes of each line, without what is empty, and the state it ends with."""
    state = state or {}
    lines = []
    said = [(number, text) for number, text in enumerate(data.split(b"\n"), start=1) if not is_blank(text)]
    for index, (number, text) in enumerate(said):
        try:
            parsed = parse_line(Line(text, number, path, index), state)
        except MalformedLine as error:
            lines.append({"line": number, "malformed": error.reason})
            continue
        state = parsed.state
        lines.append({"line": number, **_told(parsed.events, parsed.titles, parsed.at)})
    return {"lines": lines, "state": dict(state)}


def _told(*parts: object) -> dict[str, Any]:
    names = ("events", "titles", "at")
    return {name: _short(msgspec.to_builtins(part)) for name, part in zip(names, parts, strict=True) if part}


def _short(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_short(item) for item in value]
    if isinstance(value, dict):
        return {key: _short(item) for key, item in value.items() if item}
    return value
