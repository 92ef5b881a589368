"""Backup: one file with all that a store holds, made while it is in use, and verified whole when it is restored.

A zstd-compressed tar of the database, the mirrors as far as that database knows them, the journal of records likewise,
the keys and the settings. The last member, `MANIFEST.json`, names every other with its size and SHA-256. Behind the tar
stands a skippable frame with the SHA-256 of the file up to there, since zstd has bits that no decoder reads.
"""

import hashlib
import io
import os
import struct
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec
import zstandard

from memory import config, home, sql, store
from memory.errors import InvalidInput, OriginError
from memory.forgetting import keyring
from memory.models import Entry, Event, RawFile, Record
from memory.records import digest, journal
from memory.times import now

MANIFEST = "MANIFEST.json"
DATABASE = "origin.db"
FORMAT = 1
_HUB = "hub.json"
# The second of the sixteen magic numbers of a skippable frame (RFC 8878, 3.1.2).
_SKIPPABLE = 0x184D2A51
SEAL_BYTES = 40


class Member(msgspec.Struct, frozen=True):
    """One file of a backup; `name` is its path below the home."""

    name: str
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What a backup holds. The digests are those of `records.digest`."""

    format: int
    made_at: str
    files: list[Member]
    counts: dict[str, int]
    digests: dict[str, str]


class Content(NamedTuple):
    """A file to go into a backup, and how many of its first bytes."""

    name: str
    path: Path
    size: int


def backup(path: Path) -> Manifest:
    """Write a backup of the store to `path`, which must not exist; other processes go on meanwhile.

    Raises `InvalidInput` where the file exists and `OriginError` where it cannot be written or a mirror is short.
    """
    if path.exists():
        raise InvalidInput("file", f"{path} exists already; a backup never replaces a file.")
    draft, copy = path.with_name(path.name + ".partial"), home.home() / f"backup-{os.getpid()}.db"
    try:
        home.private(copy)
        sql.copy_to(str(copy))
        home.private(draft)
        manifest = _write(draft, copy)
        os.link(draft, path)
    except FileExistsError:
        raise InvalidInput("file", f"{path} exists already; a backup never replaces a file.") from None
    except OSError as error:
        raise OriginError(f"The backup {path} could not be written: {error.strerror}.") from error
    finally:
        for part in (draft, copy, copy.with_name(copy.name + "-wal"), copy.with_name(copy.name + "-shm")):
            part.unlink(missing_ok=True)
    return manifest


def _write(draft: Path, copy: Path) -> Manifest:
    with store.using_database(copy):
        contents = list(_contents(copy))
        manifest = _empty_manifest()
    compressor = zstandard.ZstdCompressor(level=3, write_checksum=True)
    with draft.open("r+b") as file:
        with compressor.stream_writer(file, closefd=False) as packed, _tar(packed) as tar:
            manifest.files.extend(_add(tar, content) for content in contents)
            _add_bytes(tar, MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)))
        file.seek(0)
        file.write(seal_of(hashlib.file_digest(file, "sha256").digest()))
        file.flush()
        os.fsync(file.fileno())
    return manifest


def seal_of(digest: bytes) -> bytes:
    """Return the frame that ends a backup whose other bytes have this SHA-256."""
    return struct.pack("<II", _SKIPPABLE, len(digest)) + digest


def _tar(packed: object) -> tarfile.TarFile:
    return tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT)  # type: ignore[call-overload,no-any-return]


def _contents(copy: Path) -> Iterator[Content]:
    """Yield what belongs to a backup, as far as the copied database knows it: what grew since is the next one's."""
    yield Content(DATABASE, copy, copy.stat().st_size)
    for file in RawFile.objects.exclude(stored_bytes=0).order_by("id").iterator():
        path = home.raw_path() / file.mirror_path
        yield Content(path.relative_to(home.home()).as_posix(), path, file.stored_bytes)
    if known := journal.known_bytes():
        yield Content(journal.path().name, journal.path(), known)
    for path in (keyring.path(), config.path(), home.home() / _HUB):
        if path.exists():
            yield Content(path.relative_to(home.home()).as_posix(), path, path.stat().st_size)


def _empty_manifest() -> Manifest:
    counts = {
        "mirrors": RawFile.objects.count(),
        "events": Event.objects.count(),
        "entries": Entry.objects.count(),
        "records": Record.objects.count(),
    }
    return Manifest(
        format=FORMAT,
        made_at=now(),
        files=[],
        counts=counts,
        digests=digest.of_store(),
    )


class _Hashed(io.RawIOBase):
    """The first bytes of a file, hashed as they are read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.sha256.update(data)
        return data


def _add(tar: tarfile.TarFile, content: Content) -> Member:
    with content.path.open("rb") as file:
        if os.fstat(file.fileno()).st_size < content.size:
            raise OriginError(f"{content.path} is shorter than the database says; `check` tells more.")
        read = _Hashed(file)
        tar.addfile(_info(content.name, content.size), read)
    return Member(content.name, content.size, read.sha256.hexdigest())


def _add_bytes(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    tar.addfile(_info(name, len(data)), io.BytesIO(data))


def _info(name: str, size: int) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info
