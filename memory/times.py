"""Times as Origin stores, reads and shows them: UTC to the millisecond inside, the caller's zone outside."""

import os
import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from memory.errors import InvalidInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_ZONE_FILES = "zoneinfo/"

_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MOMENT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]{1,9})?)?"
    r"(?:[Zz]|[+-][0-9]{2}:?[0-9]{2}(?::[0-9]{2})?)?"
)
_AGO = re.compile(r"([0-9]+)([hdw])")
_OFFSET = re.compile(r"(?:UTC)?([+-])([0-9]{2}):?([0-9]{2})")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_DAYS_BACK = {"today": 0, "yesterday": 1}
_FORMS = "Write 2026-03-01, 2026-03-01T09:30 (with an offset or in your own zone), 24h, 7d, 2w, today or yesterday."


def now() -> str:
    """Return this instant as it is stored, `YYYY-MM-DDTHH:MM:SS.sssZ` (definitions: time)."""
    return _stamp(datetime.now(UTC))


def parse_bound(text: str, *, zone: tzinfo, end: bool, now: str = "", field: str = "") -> str:
    """Return the stored form of a bound that a person or an agent wrote, one side of a half-open range [from, to).

    A day is its first instant in `zone`, or with `end` the first instant after it, so that `until` a day has all of
    it; `today` and `yesterday` are days. A date and time without an offset is read in `zone`, and where clocks went
    back (or forward) over it, as the reading that leaves the range wider. `24h`, `7d` and `2w` count back from `now`, a
    stored time, which is the clock's where it is empty. `field` names the parameter in the error, else since or until.
    Raises `InvalidInput`.
    """
    field = field or ("until" if end else "since")
    try:
        bound = _bound(text.strip(), zone, end, _moment(now) if now else datetime.now(UTC))
    except (ValueError, OverflowError):
        raise InvalidInput(field, f"The time given as {field} is not on the calendar. {_FORMS}") from None
    if bound is None:
        raise InvalidInput(field, f"The time given as {field} cannot be read. {_FORMS}")
    return _stamp(bound)


def _bound(text: str, zone: tzinfo, end: bool, clock: datetime) -> datetime | None:
    if ago := _AGO.fullmatch(text.lower()):
        return clock - int(ago[1]) * _UNITS[ago[2]]
    if (back := _DAYS_BACK.get(text.lower())) is not None:
        return _edge_of_day(clock.astimezone(zone).date() - timedelta(days=back), zone, end)
    if _DAY.fullmatch(text):
        return _edge_of_day(date.fromisoformat(text), zone, end)
    if _MOMENT.fullmatch(text):
        return _wider_reading(datetime.fromisoformat(text.upper()), zone, end)
    return None


def _edge_of_day(day: date, zone: tzinfo, end: bool) -> datetime:
    # With fold 0, a midnight that clocks skipped is the instant they were moved, and one that came twice is the first.
    return datetime.combine(day + timedelta(days=int(end)), time(), tzinfo=zone).astimezone(UTC)


def _wider_reading(moment: datetime, zone: tzinfo, end: bool) -> datetime:
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    readings = [moment.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    return max(readings) if end else min(readings)


def local(at: str, zone: tzinfo) -> str:
    """Return the stored time `at` as ISO with seconds and offset in `zone`, as every answer shows it.

    A time at the calendar's edge that `zone` would push over it stays in UTC: logs hold the zero time of other
    languages.
    """
    moment = _moment(at)
    try:
        return moment.astimezone(zone).isoformat(timespec="seconds")
    except OverflowError:
        return moment.isoformat(timespec="seconds")


def process_zone() -> tzinfo:
    """Return the zone this process runs in: `TZ`, else the system's, by name where it has one.

    `zone_named(str(zone))` is the same zone again, which is what a forwarding server sends as its own.
    """
    named = os.environ.get("TZ", "").removeprefix(":") or str(Path("/etc/localtime").resolve())
    try:
        return zone_named(named.rpartition(_ZONE_FILES)[2])
    except InvalidInput:
        offset = datetime.now().astimezone().utcoffset() or timedelta()
        return timezone(offset - offset % timedelta(minutes=1))


def zone_named(name: str) -> tzinfo:
    """Return the zone of an IANA name such as `Asia/Shanghai`, or of an offset such as `+08:00` or `UTC+08:00`.

    Raises `InvalidInput` on `timezone`.
    """
    if offset := _OFFSET.fullmatch(name):
        minutes = int(offset[2]) * 60 + int(offset[3])
        if minutes < 24 * 60:
            return timezone(timedelta(minutes=-minutes if offset[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        sentence = "No such time zone; write a name such as Asia/Shanghai, or an offset such as +08:00."
        raise InvalidInput("timezone", sentence) from None


def ms(at: str) -> int:
    """Return the stored time `at` as milliseconds since 1970-01-01T00:00:00Z. Raises `ValueError` for another form."""
    return (_moment(at) - _EPOCH) // _MILLISECOND


def from_ms(milliseconds: int) -> str:
    """Return the stored form of a count of milliseconds since 1970 in UTC; `ms()` undoes it.

    Raises `ValueError` outside the years 1 to 9999.
    """
    try:
        return _stamp(_EPOCH + milliseconds * _MILLISECOND)
    except OverflowError:
        raise ValueError(f"{milliseconds} ms is outside the years 1 to 9999") from None


def from_epoch(seconds: float) -> str:
    """Return the stored form of seconds since 1970 in UTC, to the nearest millisecond.

    Raises `ValueError` outside the years 1 to 9999 and for what is no number.
    """
    try:
        return from_ms(round(seconds * 1000))
    except OverflowError:
        raise ValueError(f"{seconds} s is no time") from None


def _moment(at: str) -> datetime:
    moment = datetime.fromisoformat(at)
    if moment.tzinfo is None:
        raise ValueError(f"{at} has no offset")
    return moment.astimezone(UTC)


def _stamp(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
