"""`restore`: take a forget back."""

from django.core.management.base import CommandParser

from memory.forgetting.forget import restore
from memory.management.base import StoreCommand
from memory.records.identity import owner


class Command(StoreCommand):
    help = "Bring back what a tombstone covers and no other one does. Only you can, and never an agent."
    example = "tmb_0123456789abcdef --reason 'it was right after all'"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("tombstone", help="as forget and audit print it")
        parser.add_argument("--reason", required=True, help="why")

    def run(self, *, tombstone: str, reason: str, as_json: bool) -> None:
        held = restore(tombstone, reason, owner())
        if as_json:
            self.print_json({"tombstone": held.tombstone_id, "target": held.target})
        else:
            self.paper().line(f"Restored what {tombstone} covered: {held.target}")
