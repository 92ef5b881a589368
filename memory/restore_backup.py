"""Restoring a backup into an empty directory: nothing is reported before every byte was compared."""

import hashlib
import io
import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, BinaryIO

import msgspec
import zstandard

from memory import home, sql, store
from memory.backup import DATABASE, FORMAT, MANIFEST, SEAL_BYTES, Manifest, Member, seal_of
from memory.errors import InvalidInput, OriginError
from memory.records import digest

# Members are named by us; what else is in a file that somebody hands over must not reach the disk.
_NAME = re.compile(r"(?:[A-Za-z0-9_.@+=%~-]+/)*[A-Za-z0-9_.@+=%~-]+")
_PIECE = 1 << 20
_LARGEST_MANIFEST = 1 << 28


def restore_backup(path: Path, into: Path) -> Manifest:
    """Unpack a backup into `into`, a directory that is empty or missing, and return what it holds.

    The store there gets a new incarnation, since it may have forgotten what it already told others, and its tokens open
    nothing before they are confirmed. Raises `InvalidInput` for
    a directory with something in it and `OriginError` for a backup that is damaged or incomplete; nothing is left then.
    """
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise InvalidInput("into", f"{into} is not empty; a backup is only restored into an empty directory.")
    draft = into.with_name(into.name + ".partial")
    if draft.exists():
        raise InvalidInput("into", f"{draft} is left from a restore that was stopped; remove it first.")
    try:
        manifest = _unpack(path, draft)
        _verify(draft / DATABASE, manifest)
        if into.exists():
            into.rmdir()
        os.rename(draft, into)
    except OSError as error:
        raise OriginError(f"{error.filename or path} could not be used: {error.strerror or error}.") from error
    except (EOFError, tarfile.TarError, zstandard.ZstdError) as error:
        raise OriginError(f"{path} is no whole backup, or damaged: {error}.") from error
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return manifest


def _unpack(path: Path, draft: Path) -> Manifest:
    home.make_folder(draft)
    found: dict[str, Member] = {}
    manifest = b""
    with _opened(path) as tar:
        for info in tar:
            data = tar.extractfile(info)
            if not info.isfile() or data is None or not _is_safe(info.name) or info.name in found:
                raise OriginError(f"{path} holds something that no backup does: {info.name[:200]!r}.")
            if info.name == MANIFEST:
                manifest = data.read(_LARGEST_MANIFEST)
            else:
                found[info.name] = _extract(data, draft / info.name, info.name)
    return _compared(path, manifest, found)


@contextmanager
def _opened(path: Path) -> Iterator[tarfile.TarFile]:
    with path.open("rb") as file:
        size = _sealed(file)
        packed = _Unpacked(file, size)
        with tarfile.open(fileobj=packed, mode="r|") as tar:
            yield tar
        packed.finish()


def _sealed(file: BinaryIO) -> int:
    """Return how many bytes stand before the seal. Raises `EOFError` where they are not those that were sealed."""
    size = os.fstat(file.fileno()).st_size - SEAL_BYTES
    if size < 0:
        raise EOFError("it is too short")
    digest, left = hashlib.sha256(), size
    while left and (piece := file.read(min(_PIECE, left))):
        digest.update(piece)
        left -= len(piece)
    if file.read() != seal_of(digest.digest()):
        raise EOFError("it is not what was written")
    file.seek(0)
    return size


class _Unpacked(io.RawIOBase):
    """What a zstd file holds. Unlike the library's reader it tells a file that was cut short from one that ended."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size
        self._decoder, self._held = zstandard.ZstdDecompressor().decompressobj(), b""

    def read(self, size: int = -1) -> bytes:
        while len(self._held) < size and not self._decoder.eof and (piece := self._next()):
            self._held += self._decoder.decompress(piece)
        data, self._held = self._held[:size], self._held[size:]
        return data

    def _next(self) -> bytes:
        piece = self._file.read(min(_PIECE, self._left))
        self._left -= len(piece)
        return piece

    def finish(self) -> None:
        """Read to the checksum behind the last member. Raises `EOFError` where it is not the end of the file."""
        while self.read(_PIECE):
            pass
        if not self._decoder.eof or self._decoder.unused_data or self._left:
            raise EOFError("it does not end where it should")


def _is_safe(name: str) -> bool:
    return bool(_NAME.fullmatch(name)) and not {".", ".."} & set(name.split("/"))


def _extract(data: IO[bytes], to: Path, name: str) -> Member:
    home.make_folder(to.parent)
    home.private(to)
    sha256, size = hashlib.sha256(), 0
    with to.open("r+b") as file:
        while piece := data.read(_PIECE):
            file.write(piece)
            sha256.update(piece)
            size += len(piece)
        file.flush()
        os.fsync(file.fileno())
    return Member(name, size, sha256.hexdigest())


def _compared(path: Path, data: bytes, found: dict[str, Member]) -> Manifest:
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
    except msgspec.MsgspecError as error:
        raise OriginError(f"{path} is no whole backup: its manifest cannot be read.") from error
    if manifest.format != FORMAT:
        raise OriginError(f"{path} was written by a newer Origin; update Origin to restore it.")
    for member in manifest.files:
        if found.pop(member.name, None) != member:
            raise OriginError(f"{path} is damaged: {member.name} is not what was backed up.")
    if found:
        raise OriginError(f"{path} holds files that its manifest does not name.")
    return manifest


def _verify(database: Path, manifest: Manifest) -> None:
    """Compare what the database says with the manifest, and let it forget who it was and whom it let in."""
    with store.using_database(database):
        problems = [found for (found,) in sql.rows("PRAGMA integrity_check") if found != "ok"]
        digests = digest.of_store()
        sql.execute("DELETE FROM setting WHERE key = 'incarnation'")
        # One may have been revoked since the backup was made; the owner confirms those that were not.
        sql.execute("UPDATE api_token SET unverified = 1")
        sql.rows("PRAGMA wal_checkpoint(TRUNCATE)")
    if problems or digests != manifest.digests:
        raise OriginError(f"The database in the backup is not the one that was backed up{_first(problems)}.")


def _first(problems: list[str]) -> str:
    return f" ({problems[0]})" if problems else ""
