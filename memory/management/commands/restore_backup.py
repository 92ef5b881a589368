"""`restore-backup`: a backup into an empty directory."""

from pathlib import Path

from django.core.management.base import CommandParser

from memory.management.base import StoreCommand
from memory.management.printing import counted
from memory.restore_backup import restore_backup


class Command(StoreCommand):
    help = "Restore a backup into an empty directory, and say so only after every byte was compared."
    example = "/media/disk/origin-2026-05-01.tar.zst --into ~/.origin"
    # The store this process would open may be the one that is to come.
    opens_store = False

    def declare(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a file that `backup` wrote")
        parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="an empty or missing directory")

    def run(self, *, file: Path, into: Path, as_json: bool) -> None:
        manifest = restore_backup(file, into)
        if as_json:
            shape = {"home": str(into), "files": len(manifest.files), "counts": manifest.counts}
            self.print_json(shape | {"made_at": manifest.made_at, "digests": manifest.digests})
            return
        files = counted(len(manifest.files), "file")
        self.paper().line(f"{into} holds the backup of {manifest.made_at}: {files}, every one as it was backed up.")
        self.paper().line(f"To use it: ORIGIN_HOME={into}")
