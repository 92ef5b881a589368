"""Times are UTC milliseconds inside, the caller's zone outside, and bounds mean what a person meant by them."""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import times
from memory.errors import InvalidInput
from memory.times import from_epoch, from_ms, local, ms, parse_bound, process_zone, zone_named

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")
HAVANA = ZoneInfo("America/Havana")
SANTIAGO = ZoneInfo("America/Santiago")
NEW_YORK = ZoneInfo("America/New_York")

NOW = "2026-03-10T20:30:00.250Z"
STORED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
ZONES = st.sampled_from([UTC, SHANGHAI, BERLIN, HAVANA, SANTIAGO, NEW_YORK, ZoneInfo("Asia/Kathmandu")])
MOMENTS = st.integers(ms("1000-01-01T00:00:00.000Z"), ms("9000-01-01T00:00:00.000Z"))


def test_now_is_this_instant_in_the_stored_form() -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    stamp = times.now()
    assert STORED.fullmatch(stamp)
    assert before <= datetime.fromisoformat(stamp) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("text", "zone", "since", "until"),
    [
        ("2026-03-01", UTC, "2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z"),
        ("2026-03-01", SHANGHAI, "2026-02-28T16:00:00.000Z", "2026-03-01T16:00:00.000Z"),
        ("2026-02-28", NEW_YORK, "2026-02-28T05:00:00.000Z", "2026-03-01T05:00:00.000Z"),
        ("today", SHANGHAI, "2026-03-10T16:00:00.000Z", "2026-03-11T16:00:00.000Z"),
        ("yesterday", SHANGHAI, "2026-03-09T16:00:00.000Z", "2026-03-10T16:00:00.000Z"),
        ("Today ", UTC, "2026-03-10T00:00:00.000Z", "2026-03-11T00:00:00.000Z"),
        ("2026-03-29", BERLIN, "2026-03-28T23:00:00.000Z", "2026-03-29T22:00:00.000Z"),  # a day of 23 hours
        ("2026-10-25", BERLIN, "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z"),  # a day of 25 hours
        ("2026-11-01", HAVANA, "2026-11-01T04:00:00.000Z", "2026-11-02T05:00:00.000Z"),  # midnight comes twice
        ("2026-09-06", SANTIAGO, "2026-09-06T04:00:00.000Z", "2026-09-07T03:00:00.000Z"),  # midnight never comes
    ],
)
def test_a_day_is_whole_in_the_callers_zone(text: str, zone: tzinfo, since: str, until: str) -> None:
    assert parse_bound(text, zone=zone, end=False, now=NOW) == since
    assert parse_bound(text, zone=zone, end=True, now=NOW) == until


@pytest.mark.parametrize(
    ("text", "zone", "expected"),
    [
        ("2026-03-01T09:30", SHANGHAI, "2026-03-01T01:30:00.000Z"),
        ("2026-03-01 09:30:15", SHANGHAI, "2026-03-01T01:30:15.000Z"),
        ("2026-03-01T09:30:15.123456", UTC, "2026-03-01T09:30:15.123Z"),
        ("2026-03-01T09:30Z", SHANGHAI, "2026-03-01T09:30:00.000Z"),
        ("2026-03-01t09:30z", SHANGHAI, "2026-03-01T09:30:00.000Z"),
        ("2026-03-01T09:30:00-05:00", SHANGHAI, "2026-03-01T14:30:00.000Z"),
        ("24h", SHANGHAI, "2026-03-09T20:30:00.250Z"),
        ("7d", SHANGHAI, "2026-03-03T20:30:00.250Z"),
        ("2W", SHANGHAI, "2026-02-24T20:30:00.250Z"),
        ("0d", SHANGHAI, NOW),
    ],
)
def test_an_instant_is_the_same_bound_on_either_side(text: str, zone: tzinfo, expected: str) -> None:
    assert parse_bound(text, zone=zone, end=False, now=NOW) == expected
    assert parse_bound(text, zone=zone, end=True, now=NOW) == expected


def test_an_hour_that_came_twice_is_wholly_inside_the_range() -> None:
    assert parse_bound("2026-10-25T02:30", zone=BERLIN, end=False) == "2026-10-25T00:30:00.000Z"
    assert parse_bound("2026-10-25T02:30", zone=BERLIN, end=True) == "2026-10-25T01:30:00.000Z"


def test_relative_bounds_count_from_the_clock_when_no_time_is_given() -> None:
    before = datetime.now(UTC)
    bound = datetime.fromisoformat(parse_bound("1h", zone=UTC, end=False))
    assert abs(before - timedelta(hours=1) - bound) < timedelta(minutes=1)


@pytest.mark.parametrize(
    "text",
    [
        *("", "  ", "soon", "7", "7y", "-7d", "7 days", "1.5d", "d", "٣d", "99999999999999999999w", "9" * 5000 + "d"),
        *("2026-02-30", "2026-13-01", "2026-3-1", "20260301", "2026-W09-1", "2026", "01/03/2026", "0000-01-01"),
        *("2026-03-01T25:00", "2026-03-01T09:60", "2026-03-01T", "2026-03-01T09:30+99:00", "2026-03-01T09:30 UTC"),
    ],
)
def test_what_is_no_time_is_refused_with_the_forms_that_are(text: str) -> None:
    with pytest.raises(InvalidInput, match="Write 2026-03-01") as refused:
        parse_bound(text, zone=UTC, end=False, now=NOW)
    assert refused.value.field == "since"


def test_a_refusal_names_the_callers_parameter_and_never_repeats_its_value() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse_bound("<script>", zone=UTC, end=True, now=NOW)
    assert refused.value.field == "until"
    assert "script" not in str(refused.value)
    with pytest.raises(InvalidInput) as refused:
        parse_bound("never", zone=UTC, end=True, field="valid_to")
    assert refused.value.field == "valid_to"


def test_a_day_at_the_edge_of_the_calendar_is_refused() -> None:
    with pytest.raises(InvalidInput):
        parse_bound("9999-12-31", zone=UTC, end=True)
    with pytest.raises(InvalidInput):
        parse_bound("0001-01-01", zone=SHANGHAI, end=False)


@given(st.text(max_size=30), ZONES, st.booleans())
def test_a_bound_is_a_stored_time_or_a_refusal_whatever_was_written(text: str, zone: tzinfo, end: bool) -> None:
    try:
        bound = parse_bound(text, zone=zone, end=end, now=NOW)
    except InvalidInput:
        return
    assert STORED.fullmatch(bound)


@given(st.dates(datetime(1900, 1, 1).date(), datetime(2100, 1, 1).date()), ZONES)
def test_the_end_of_a_day_is_the_start_of_the_next(day: datetime, zone: tzinfo) -> None:
    following = (day + timedelta(days=1)).isoformat()
    assert parse_bound(day.isoformat(), zone=zone, end=True) == parse_bound(following, zone=zone, end=False)


@given(MOMENTS, ZONES)
def test_a_shown_time_read_back_is_the_same_second(moment: int, zone: tzinfo) -> None:
    shown = local(from_ms(moment), zone)
    assert ms(parse_bound(shown, zone=UTC, end=False)) == moment // 1000 * 1000


def test_times_are_shown_with_the_callers_offset() -> None:
    assert local("2026-03-01T16:30:15.999Z", SHANGHAI) == "2026-03-02T00:30:15+08:00"
    assert local("2026-07-01T12:00:00.000Z", BERLIN) == "2026-07-01T14:00:00+02:00"
    assert local("2026-01-01T12:00:00.000Z", UTC) == "2026-01-01T12:00:00+00:00"


def test_the_zero_time_of_other_languages_is_shown_and_never_breaks_an_answer() -> None:
    assert local("0001-01-01T00:00:00.000Z", NEW_YORK) == "0001-01-01T00:00:00+00:00"


@given(MOMENTS)
def test_milliseconds_and_stored_times_are_one_to_one(moment: int) -> None:
    assert ms(from_ms(moment)) == moment
    assert STORED.fullmatch(from_ms(moment))


@given(MOMENTS, MOMENTS)
def test_stored_times_sort_as_the_instants_do(one: int, other: int) -> None:
    assert (from_ms(one) < from_ms(other)) == (one < other)


def test_seconds_since_the_epoch_become_stored_times() -> None:
    assert from_epoch(0) == "1970-01-01T00:00:00.000Z"
    assert from_epoch(1772357415.1236) == "2026-03-01T09:30:15.124Z"
    assert from_epoch(-0.001) == "1969-12-31T23:59:59.999Z"


@pytest.mark.parametrize("seconds", [float("nan"), float("inf"), 1e18, -1e18])
def test_a_number_that_is_no_time_is_a_value_error(seconds: float) -> None:
    with pytest.raises(ValueError, match=r".+"):
        from_epoch(seconds)


@pytest.mark.parametrize("at", ["", "2026-03-01", "2026-03-01T09:30:00", "yesterday"])
def test_only_a_stored_time_has_milliseconds(at: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        ms(at)


@pytest.mark.parametrize(
    "name", ["", "Asia", "Nowhere/City", "../etc/passwd", "/etc/passwd", "\x00", "+24:00", "\ud800"]
)
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        zone_named(name)
    assert refused.value.field == "timezone"


@pytest.mark.parametrize(
    ("name", "offset"), [("Asia/Shanghai", 480), ("+05:30", 330), ("UTC-03:30", -210), ("UTC", 0), ("-0800", -480)]
)
def test_a_zone_has_a_name_or_an_offset(name: str, offset: int) -> None:
    assert datetime(2026, 1, 1, tzinfo=zone_named(name)).utcoffset() == timedelta(minutes=offset)


@pytest.mark.parametrize("variable", ["Asia/Tokyo", ":Asia/Tokyo", "/usr/share/zoneinfo/Asia/Tokyo"])
def test_the_process_zone_is_the_one_its_environment_names(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", variable)
    assert process_zone() == ZoneInfo("Asia/Tokyo")


@pytest.mark.parametrize("variable", ["Europe/Berlin", "CET-1CEST", ""])
def test_a_server_can_hand_its_zone_on_by_name(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", variable)
    zone = process_zone()
    assert local(NOW, zone_named(str(zone))) == local(NOW, zone)


def test_fixed_offsets_are_zones_too() -> None:
    assert zone_named(str(timezone(timedelta(hours=-3, minutes=-30)))) == timezone(timedelta(hours=-3, minutes=-30))
