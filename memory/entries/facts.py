"""What records say of entries, as rows: written once, in whatever order the records come."""

import msgspec

from memory.models import Ending, Entry, EntrySource, EntrySupersedes, Record, Review
from memory.records.bodies import Correct, End, Remember, ReviewBody
from memory.text import cjk_bigrams, text_digest


def add_version(record: Record, body: Remember) -> set[str]:
    """Write a version with what it cites and corrects; returns its chain."""
    correct = body if isinstance(body, Correct) else None
    chain = correct.chain if correct else body.entry
    if Entry.objects.filter(entry_id=body.entry).exists():
        return {chain}
    entry = Entry.objects.create(
        record=record,
        entry_id=body.entry,
        chain=chain,
        kind=body.kind,
        text=body.text,
        grams=cjk_bigrams(body.text),
        confidence=body.confidence,
        author=record.author,
        project=body.project,
        valid_from=body.valid_from,
        valid_to=body.valid_to,
        recorded_at=record.created_at,
        first_trust=body.trust,
        imported=bool(body.imported),
        digest=text_digest(body.text),
        # Until the fold below it says otherwise nothing forgotten may be seen, not even by a trigger.
        forgotten=True,
    )
    EntrySource.objects.bulk_create(
        EntrySource(entry=entry, position=position, event_id=source.event, quote=source.quote)
        for position, source in enumerate(body.sources)
    )
    EntrySupersedes.objects.bulk_create(
        EntrySupersedes(entry=entry, older=older) for older in dict.fromkeys(correct.supersedes if correct else ())
    )
    return {chain}


def says(entry: Entry) -> bool:
    """True where a version is what its record says."""
    body = msgspec.json.decode(entry.record.body, type=Remember)
    columns = ("kind", "text", "confidence", "project", "valid_from", "valid_to")
    return body.entry == entry.entry_id and all(getattr(body, name) == getattr(entry, name) for name in columns)


def add_review(record: Record, body: ReviewBody) -> set[str]:
    """Write a review; returns the chain of what it reviews, if that has arrived."""
    if not Review.objects.filter(review_id=body.review).exists():
        Review.objects.create(
            record=record, review_id=body.review, entry_id=body.entry, verdict=body.verdict, reason=body.reason
        )
    return chains_of([body.entry])


def add_end(record: Record, body: End) -> set[str]:
    """Write an ending; returns the chain of what ends, if that has arrived."""
    Ending.objects.create(record=record, entry_id=body.entry, ends_at=body.ends_at)
    return chains_of([body.entry])


def chains_of(entry_ids: list[str]) -> set[str]:
    """Return the chains of versions, as far as they have arrived."""
    return set(Entry.objects.filter(entry_id__in=entry_ids).values_list("chain", flat=True))
