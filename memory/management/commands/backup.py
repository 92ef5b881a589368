"""`backup`: everything the store holds in one file."""

from pathlib import Path

from django.core.management.base import CommandParser

from memory.backup import backup
from memory.management.base import StoreCommand
from memory.management.printing import counted, size


class Command(StoreCommand):
    help = "Write everything the store holds, its keys too, into one new file. Agents and syncs go on meanwhile."
    example = "/media/disk/origin-2026-05-01.tar.zst"

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="where to write it; must not exist")

    def run(self, *, file: Path, as_json: bool) -> None:
        manifest = backup(file)
        stored = file.stat().st_size
        if as_json:
            shape = {"file": str(file), "bytes": stored, "files": len(manifest.files), "counts": manifest.counts}
            self.print_json(shape | {"digests": manifest.digests})
            return
        held = [
            counted(number, name[:-1] if name != "entries" else "entry", name)
            for name, number in manifest.counts.items()
        ]
        self.paper().line(f"{file}: {size(stored)}, with {', '.join(held)}.")
        self.paper().line("Whoever can read this file can read all of your sessions, and your keys. Keep it safe.")
