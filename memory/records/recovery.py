"""Bringing the database and the journal of records together after a kill, or after one of them was restored alone."""

from memory.mutation import mutation
from memory.records import identity, journal, log


def recover() -> None:
    """Take in the records that only the journal has, and write it anew where it lacks some; leaves one audit row.

    The caller holds the lock `migrate`, so that two processes do not both do it.
    """
    if not journal.is_behind():
        return
    with mutation("recover", identity.itself("cli")) as change:
        if journal.is_short():
            journal.write_anew()
        for record in log.receive(list(journal.unknown())):
            change.targets.append(f"{record.origin}/{record.oseq}")
