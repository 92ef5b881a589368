"""How commands print: plain lines when piped, rich on a terminal, and nothing that could steer one."""

import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

import msgspec

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

# What terminals obey: whole escape sequences first, so that no remains of them are left in the text.
_SEQUENCE = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]"
    "|(?:\x1b[\\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\\\|\x9c)"
    "|\x1b[ -/]*[0-~]"
)
_RETURN = re.compile("\r\n?")
# C0 but newline and tab, DEL, C1, and the controls of writing direction, which let a line read as another.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# JSON escapes C0 itself; a terminal obeys the rest of them too.
_RAW_IN_JSON = re.compile("[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_NO_WRAP = 1 << 20
_UNITS = ("B", "kB", "MB", "GB", "TB")


def printable(text: str) -> str:
    """Return a text without anything a terminal obeys; newlines and tabs stay."""
    text = _RETURN.sub("\n", _SEQUENCE.sub("", text))
    return _SURROGATE.sub("\ufffd", _CONTROL.sub("", text))


def json_text(value: object, *, indented: bool) -> str:
    """Return one JSON document, its control characters escaped."""
    data = msgspec.json.encode(value)
    text = (msgspec.json.format(data, indent=2) if indented else data).decode()
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def size(count: int) -> str:
    """Return a count of bytes as a person reads it: `12.3 MB`."""
    amount = float(count)
    for unit in _UNITS:
        if amount < 999.95 or unit == _UNITS[-1]:
            return f"{amount:.1f} {unit}" if unit != "B" else f"{count} B"
        amount /= 1000
    raise AssertionError("the last unit takes every size")


def number(count: int) -> str:
    """Return a count as a person reads it: `12,345`."""
    return f"{count:,}"


def counted(count: int, thing: str, things: str = "") -> str:
    """Return `1 session` or `2 sessions`."""
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def moment(at: object) -> str:
    """Return an ISO time without its seconds and offset: `2026-05-01 10:00`."""
    return str(at)[:16].replace("T", " ")


@contextmanager
def progress_bar(title: str, *, shown: bool) -> Iterator[Callable[[int, int], None]]:
    """Yield what is to be told how many bytes of how many are done; the bar is on stderr, and gone at the end."""
    if not shown:
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(title), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class Paper:
    """Where a command's readable output goes."""

    def __init__(self, out: TextIO, *, colour: bool = True) -> None:
        self._out = out
        self._console = _console(terminal=out.isatty(), colour=colour)

    def line(self, text: object = "", style: str = "", *, indent: int = 0) -> None:
        """Print a text, wrapped to the terminal's width."""
        from rich.padding import Padding
        from rich.text import Text

        shown = Text(printable(str(text)), style=style)
        self._print(Padding(shown, (0, 0, 0, indent), expand=False) if indent else shown)

    def table(self, headings: Sequence[str], rows: Iterable[Sequence[object]], *, right: Iterable[int] = ()) -> None:
        """Print aligned columns; `right` are the numbers of those aligned to the right."""
        from rich.table import Table
        from rich.text import Text

        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(headings))
        numbers = frozenset(right)
        for index, heading in enumerate(headings):
            table.add_column(
                Text(printable(heading)), justify="right" if index in numbers else "left", no_wrap=index in numbers
            )
        for row in rows:
            table.add_row(*(Text(printable(str(cell)).replace("\n", " ")) for cell in row))
        self._print(table)

    def raw(self, text: str) -> None:
        """Print a text as it is but for control characters, neither wrapped nor coloured."""
        self._out.write(printable(text) + "\n")

    def _print(self, shown: "RenderableType") -> None:
        """Render, then write: rich would fill up lines with spaces, and end the process where a pipe is closed."""
        with self._console.capture() as captured:
            self._console.print(shown)
        self._out.write("\n".join(line.rstrip(" ") for line in captured.get().split("\n")))


def _console(*, terminal: bool, colour: bool) -> "Console":
    # Loaded here: commands that print JSON start without it.
    from rich.console import Console

    return Console(
        file=io.StringIO(),
        width=None if terminal else _NO_WRAP,
        force_terminal=terminal,
        no_color=not colour or None,
        highlight=False,
        markup=False,
        emoji=False,
    )
