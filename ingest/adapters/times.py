"""The times agents write, in the one form the store keeps."""

import re
from datetime import UTC, datetime

# Written out rather than left to fromisoformat, whose grammar differs between Python versions: every store must agree.
_ISO = re.compile(
    r"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)?",
    re.ASCII,
)
_LONGEST, _KEPT_LENGTH = 64, 24
_YEARS = range(1990, 2201)
# The largest number still read as seconds, milliseconds and microseconds; each is past the year 5000 in its unit.
_UNITS = ((1e11, 1), (1e14, 1_000), (1e17, 1_000_000), (1e20, 1_000_000_000))


def utc_time(value: object) -> str:
    """Return a record's time as UTC `YYYY-MM-DDTHH:MM:SS.sssZ`; empty where it is none, or outside 1990 to 2200.

    Text is ISO 8601 with a date and a time, read as UTC where it names no zone. A number counts seconds,
    milliseconds, microseconds or nanoseconds since 1970, whichever its size makes sensible.
    """
    try:
        time = _time(value)
    except (ValueError, OverflowError, OSError):
        return ""
    if time is None or time.year not in _YEARS:
        return ""
    if isinstance(value, str) and len(value) == _KEPT_LENGTH and value[10] == "T" and value[-1] == "Z":
        return value
    return time.isoformat(timespec="milliseconds")[:23] + "Z"


def _time(value: object) -> datetime | None:
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _from_number(value)
    return None


def _from_text(text: str) -> datetime | None:
    if len(text) > _LONGEST or not _ISO.fullmatch(text):
        return None
    time = datetime.fromisoformat(text.upper())
    if time.tzinfo is None:
        return time.replace(tzinfo=UTC)
    return time if time.tzinfo is UTC else time.astimezone(UTC)


def _from_number(number: int | float) -> datetime | None:
    for limit, per_second in _UNITS:
        if 0 < number < limit:
            milliseconds = int(number * 1_000 // per_second)
            return datetime.fromtimestamp(milliseconds // 1_000, UTC).replace(microsecond=milliseconds % 1_000 * 1_000)
    return None
