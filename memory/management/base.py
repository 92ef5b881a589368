"""What every command does alike: its help, the store, its options as named parameters, its errors as one sentence."""

import argparse
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser, handle_default_options
from django.db import DatabaseError, connections

from memory import home, store
from memory.errors import InvalidInput, OriginError
from memory.failures import explain
from memory.filters import Filters
from memory.management.printing import Paper, json_text, printable
from memory.records.identity import owner
from memory.scope import EVERYTHING
from memory.shapes import Json
from memory.times import process_zone
from memory.tools.tool import Caller, time_range

FAILED, USAGE, STOPPED, PIPE_CLOSED = 1, 2, 130, 141
# Commands have no token budget: a person's answer ends where --limit says.
UNBOUNDED = 1 << 40
_BASE_OPTIONS = frozenset(
    ("verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color", "skip_checks", "stdout", "stderr")
)


class StoreCommand(BaseCommand):
    """A command of Origin's. Its options arrive as the named parameters of `run`.

    `example` is what follows the command's name in the example its help ends with.
    """

    requires_system_checks: list[str] = []
    # Django's own options work as ever, but a person asking for help is not asking for them.
    suppressed_base_arguments = {
        "--version",
        "--verbosity",
        "--settings",
        "--pythonpath",
        "--no-color",
        "--force-color",
    }
    example = ""
    opens_store = True
    prints_json = True
    run: Callable[..., None]

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """Build the parser, whose help ends with one example."""
        subcommand = subcommand.replace("_", "-")
        name = f"{os.path.basename(prog_name)} {subcommand}"
        return super().create_parser(
            prog_name,
            subcommand,
            epilog=f"example:\n  {name} {self.example}".rstrip(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **kwargs,
        )

    def add_base_argument(self, parser: CommandParser, *args: str, **kwargs: Any) -> None:
        """Say of --traceback what it is here, and hide the rest."""
        if "--traceback" in args:
            kwargs["help"] = "show where an error came from"
        super().add_base_argument(parser, *args, **kwargs)

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the command's options."""
        self.declare(parser)
        if self.prints_json:
            parser.add_argument("--json", action="store_true", dest="as_json", help="print one JSON document")

    def declare(self, parser: CommandParser) -> None:
        """Declare what is the command's own."""

    def handle(self, *args: object, **options: Any) -> None:
        """Open the store and run the command."""
        self.paper_colour = not options["no_color"]
        if self.opens_store:
            store.open_store()
        self.run(**{name: value for name, value in options.items() if name not in _BASE_OPTIONS})

    def run_from_argv(self, argv: list[str]) -> None:
        """Run for a person on a command line: every way it can end is an exit code and at most one sentence."""
        self._called_from_command_line = True
        options = self.create_parser(argv[0], argv[1]).parse_args(argv[2:])
        handle_default_options(options)
        for stream in (sys.stdout, sys.stderr):
            cast(Any, stream).reconfigure(errors="replace")
        sys.exit(self._exit_code(vars(options)))

    def _exit_code(self, options: dict[str, Any]) -> int:
        try:
            self.execute(*options.pop("args", ()), **options)
            sys.stdout.flush()
        except BrokenPipeError:
            # `| head` has read enough. What is still buffered must not raise again when Python closes stdout.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return PIPE_CLOSED
        except KeyboardInterrupt:
            self._complain("Stopped.")
            return STOPPED
        except Exception as error:
            if options["traceback"]:
                raise
            self._complain(sentence(error))
            return exit_code(error)
        finally:
            connections.close_all()
        return 0

    def _complain(self, text: str) -> None:
        self.stderr.write(printable(text), lambda message: message)

    def paper(self) -> Paper:
        """Return where readable output goes."""
        return Paper(cast(TextIO, self.stdout), colour=self.paper_colour)

    def print_json(self, value: Json) -> None:
        """Print one JSON document, indented on a terminal."""
        self.stdout.write(json_text(value, indented=self.stdout.isatty()))


def sentence(error: Exception) -> str:
    """Return what a person is told of an error."""
    if isinstance(error, (OriginError, CommandError)):
        return str(error)
    if explained := explain(error):
        return explained
    if isinstance(error, DatabaseError):
        return f"The database in {home.home()} could not be used: {error}."
    if isinstance(error, OSError):
        return f"{error.filename or home.home()} could not be used: {error.strerror or error}."
    return f"Origin met an error it did not expect ({type(error).__name__}: {error}). --traceback shows where."


def exit_code(error: Exception) -> int:
    """Return 2 for what the caller wrote, 1 for everything else."""
    if isinstance(error, CommandError):
        return error.returncode
    return USAGE if isinstance(error, InvalidInput) else FAILED


def caller() -> Caller:
    """Return who asks by a command: the owner, who sees everything."""
    return Caller(EVERYTHING, process_zone(), owner())


def add_filters(parser: CommandParser) -> None:
    """Declare the filters that every reading command shares."""
    parser.add_argument("--project", default="", help="only this project")
    parser.add_argument("--source", default="", help="only this agent, e.g. claude-code")
    parser.add_argument("--since", default="", metavar="TIME", help="from 2026-05-01, an ISO time, 7d, 24h or today")
    parser.add_argument("--until", default="", metavar="TIME", help="to, in the same forms; a day is whole")


def filters(*, project: str, source: str, since: str, until: str) -> Filters:
    """Return the filters a person wrote. Raises `InvalidInput`."""
    since, until = time_range(since, until, process_zone())
    return Filters(project=project, source=source, since=since, until=until)


def positive(text: str) -> int:
    """Read a count from a command line."""
    count = int(text)
    if count < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return count


def command_line(arguments: Sequence[str]) -> str:
    """Return a line to copy that calls Origin the way this process was called."""
    script = sys.argv[0]
    program = [_near(sys.executable), script] if os.path.basename(script) == "manage.py" else ["origin"]
    return shlex.join([*program, *arguments])


def _near(path: str) -> str:
    """Return a path relative to the working directory where it lies below it; that directory may be gone."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path
