"""A record as it travels and as the journal keeps it."""

import msgspec

from memory.models import Record
from memory.records.canonical import record_hash


class Wire(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The columns of a record; `body` is canonical JSON, hashed byte for byte."""

    origin: str
    oseq: int
    hlc_ms: int
    hlc_c: int
    created_at: str
    author: str
    kind: str
    body: str
    sha256: str


def wire(record: Record) -> Wire:
    """Return a record as it travels."""
    return Wire(**{name: getattr(record, name) for name in Wire.__struct_fields__})


def hash_of(record: Record | Wire) -> str:
    """Return the hash that a record should have (definitions: record hash)."""
    return record_hash(
        origin=record.origin,
        oseq=record.oseq,
        hlc=(record.hlc_ms, record.hlc_c),
        created_at=record.created_at,
        author=record.author,
        kind=record.kind,
        body=record.body,
    )


def is_sound(record: Record | Wire) -> bool:
    """True where a record is what its author hashed."""
    return hash_of(record) == record.sha256
