"""`keys`: the keys by which forgotten values are known again."""

from django.core.management.base import CommandParser

from memory.forgetting.rotate import rotate
from memory.management.base import StoreCommand
from memory.records.identity import owner


class Command(StoreCommand):
    help = "Add a key for what is forgotten from now on. Older keys are kept: what they know stays forgotten."
    example = "rotate"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("action", choices=("rotate",), help="add a key")

    def run(self, *, action: str, as_json: bool) -> None:
        version = rotate(owner())
        if as_json:
            self.print_json({"key_version": version})
        else:
            self.paper().line(f"Key {version} was added to the keyring; back it up with `backup`.")
