"""Prints what a benchmark measured beside what is to be reached, and writes it down as JSON."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Line(NamedTuple):
    """One figure of Origin's, that of the yardstick beside it, and what it may be at most: by itself, or as a ratio."""

    name: str
    origin: float
    bare: float | None = None
    at_most: float | None = None
    ratio_at_most: float | None = None

    @property
    def ratio(self) -> float | None:
        """Origin's figure to the yardstick's."""
        return self.origin / self.bare if self.bare else None

    @property
    def target(self) -> str:
        """What is to be reached, or nothing."""
        targets = [f"≤ {self.at_most:g}"] if self.at_most is not None else []
        targets += [f"≤ {self.ratio_at_most:g} ×"] if self.ratio_at_most is not None else []
        return ", ".join(targets)

    @property
    def reached(self) -> bool:
        """True where every target is reached."""
        within = self.at_most is None or self.origin <= self.at_most
        return within and (self.ratio_at_most is None or (self.ratio or 0) <= self.ratio_at_most)

    def text(self) -> str:
        """Return the line to print."""
        verdict = f"  {self.target}: {'reached' if self.reached else 'MISSED'}" if self.target else ""
        return _row(self.name, _figure(self.origin), _figure(self.bare), _figure(self.ratio)) + verdict


def _row(name: str, origin: str, bare: str, ratio: str) -> str:
    return f"{name:<38}{origin:>11}{bare:>11}{ratio:>8}"


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:,.2f}"


def show(title: str, lines: Iterable[Line], measured: object, path: Path, beside: str = "bare") -> None:
    """Print the table, and write it and all that was measured to a file; `beside` is what the yardstick is called."""
    lines = list(lines)
    print(f"{title}\n")
    print(_row("", "origin", beside, "ratio"))
    for line in lines:
        print(line.text())
    path.parent.mkdir(parents=True, exist_ok=True)
    table = [line._asdict() | {"ratio": line.ratio, "reached": line.reached} for line in lines]
    path.write_text(json.dumps({"title": title, "table": table, "measured": measured}, indent=1) + "\n")
    print(f"\nwritten to {path}")
