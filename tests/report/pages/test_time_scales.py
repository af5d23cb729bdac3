"""Clock times of values, against the datetimes of the standard library."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.report.pages.time_scales import MAX_MINUTES, TimeScale, read_time_scale


@pytest.mark.parametrize(
    ("unit", "value", "text"),
    [
        ("minutes since 08:00", 0, "08:00"),
        ("minutes since 08:00", 95, "09:35"),
        ("min after 8:30", 1080, "02:30 +1 d"),
        ("hours since 2026-03-02 06:00", 30, "2026-03-03 12:00"),
        ("days since 2026-02-27", 2, "2026-03-01"),
        ("15-minute slots since 07:00", 3, "07:45"),
        ("quarter hours from 07:00", 5, "08:15"),
        ("half hours since 22:00", 4, "00:00 +1 d"),
        ("seconds since 12:00", 30, "12:00:30"),
        ("minutes since 08:00", -60, "07:00"),
    ],
)
def test_clock_times_count_from_the_origin_in_the_unit(unit: str, value: float, text: str) -> None:
    scale = read_time_scale(unit)
    assert scale is not None
    assert scale.text(value) == text


@pytest.mark.parametrize(
    "unit", ["hours", "EUR", "minutes since the start", "pieces since 08:00", "days since 2026-99-99"]
)
def test_units_without_an_origin_have_no_clock_times(unit: str) -> None:
    assert read_time_scale(unit) is None


MINUTES = {"second": 1 / 60, "minute": 1, "hour": 60, "day": 1440, "week": 10080}
SPELLINGS = {
    "second": ["s", "sec", "secs", "second", "Seconds"],
    "minute": ["m", "min", "mins", "minute", "MINUTES"],
    "hour": ["h", "hour", "hours"],
    "day": ["d", "day", "days"],
    "week": ["w", "week", "weeks"],
}
SIZES = {"": 1, "15-": 15, "0.5 ": 0.5, "half ": 0.5, "Quarter-": 0.25, "2": 2}
SPELLED = [(unit, text) for unit, texts in SPELLINGS.items() for text in texts]
CLOCKS = st.times().map(lambda time: time.replace(second=0, microsecond=0))


@given(st.sampled_from(SPELLED), st.sampled_from(sorted(SIZES)), st.sampled_from(["since", "from", "after"]), CLOCKS)
def test_a_unit_is_read_in_each_spelling(spelled, size: str, word: str, clock) -> None:
    scale = read_time_scale(f"{size}{spelled[1]} {word} 2024-02-28  {clock:%H:%M}")
    assert scale is not None
    assert scale.origin == datetime(2024, 2, 28, clock.hour, clock.minute)
    assert scale.minutes == pytest.approx(MINUTES[spelled[0]] * SIZES[size])
    assert scale.has_date


@given(CLOCKS, st.integers(-69_000, 69_000), st.sampled_from([1 / 60, 1.0, 60.0, 1440.0]), st.booleans())
def test_a_clock_time_is_the_origin_and_the_time_since(clock, value: int, minutes: float, has_date: bool) -> None:
    origin = datetime(2024, 2, 28, clock.hour, clock.minute)
    text = TimeScale(origin, minutes, has_date).text(value)
    moment = origin + timedelta(seconds=round(value * minutes * 60))
    if has_date:
        assert datetime.fromisoformat(text) == moment
        # Days from midnight need no clock.
        assert (" " not in text) == (minutes == 1440 and (clock.hour, clock.minute) == (0, 0))
        return
    shown, *days = text.split(" ", 1)
    assert datetime.strptime(shown, "%H:%M:%S" if moment.second else "%H:%M").time() == moment.time()
    assert days == ([] if moment.date() == origin.date() else [f"{(moment.date() - origin.date()).days:+d} d"])


def test_a_time_far_from_its_origin_has_no_clock() -> None:
    scale = TimeScale(datetime(2024, 2, 28), 2.0, has_date=True)
    for sign in (1, -1):
        assert scale.text(sign * MAX_MINUTES / 2)
        assert not scale.text(sign * (MAX_MINUTES / 2 + 1))
    assert not scale.text(float("nan"))
    # Noise of a solver is no second.
    assert scale.text(29.99999999) == "2024-02-28 01:00"


@given(
    st.datetimes(allow_imaginary=False).map(lambda time: time.replace(second=0, microsecond=0)),
    st.integers(-700, 700),
)
def test_a_time_outside_the_calendar_has_no_clock(origin: datetime, weeks: int) -> None:
    try:
        expected = (origin + timedelta(weeks=weeks)).isoformat(" ", "minutes")
    except OverflowError:
        expected = ""
    assert TimeScale(origin, 10080.0, has_date=True).text(weeks) in (expected, expected.removesuffix(" 00:00"))


@pytest.mark.parametrize(("origin", "sign"), [(datetime.max, 1), (datetime.min, -1)])
def test_the_first_and_the_last_day_have_a_clock(origin: datetime, sign: int) -> None:
    scale = TimeScale(datetime(origin.year, origin.month, origin.day), 1440.0, has_date=True)
    assert scale.text(0) == origin.date().isoformat()
    assert not scale.text(sign)
