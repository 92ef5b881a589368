"""Times of every form that agents write become one form; nonsense becomes none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ingest.adapters.times import utc_time

NOON = "2026-05-04T12:00:00.000Z"


@pytest.mark.parametrize(
    "value",
    [
        "2026-05-04T12:00:00.000Z",
        "2026-05-04T12:00:00Z",
        "2026-05-04T12:00:00.000999999Z",
        "2026-05-04T12:00:00z",
        "2026-05-04 12:00:00",
        "2026-05-04T12:00",
        "2026-05-04T14:00:00+02:00",
        "2026-05-04T06:30:00.0-0530",
        1_777_896_000,
        1_777_896_000.0,
        1_777_896_000_000,
        1_777_896_000_000_000,
        1_777_896_000_000_000_000,
    ],
)
def test_one_instant_has_one_form(value: object) -> None:
    assert utc_time(value) == NOON


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        "",
        "yesterday",
        "2026-05-04",
        "2026-13-04T12:00:00Z",
        "2026-02-30T12:00:00.000Z",
        "2026-05-04T24:00:00Z",
        "2026-05-04T12:00:60Z",
        "2026-W19-1T12:00:00Z",
        "20260504T120000Z",
        "٢٠٢٦-05-04T12:00:00Z",
        "2026-05-04T12:00:00Z" + "0" * 100,
        "1989-12-31T23:59:59Z",
        "2201-01-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        0,
        -1_777_896_000,
        5,
        10**40,
        float("nan"),
        float("inf"),
        [NOON],
        {"seconds": 1},
    ],
)
def test_what_is_no_time_is_empty(value: object) -> None:
    assert utc_time(value) == ""


def test_a_fraction_is_cut_to_milliseconds() -> None:
    assert utc_time("2026-05-04T12:00:00.9999999Z") == "2026-05-04T12:00:00.999Z"
    assert utc_time(1_777_896_000.25) == "2026-05-04T12:00:00.250Z"


@settings(deadline=None)
@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.datetimes().map(str)))
def test_any_value_gives_a_time_or_nothing(value: object) -> None:
    time = utc_time(value)
    assert time == "" or (len(time) == 24 and time == utc_time(time))
