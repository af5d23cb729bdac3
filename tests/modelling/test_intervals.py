"""Intervals of a schedule, from plain data to their times and conditions."""

import json
from dataclasses import asdict

import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.intervals import PlanInterval, TimeExpression, read_intervals

PLAIN = {
    "name": "job", "start": {"terms": {"s": 1}, "constant": 2}, "end": {"terms": {"s": 1, "on": -3}, "constant": 0.5},
    "lane": "machine", "conditions": {"on": 1, "off": 0}, "is_exclusive": True,
}  # fmt: skip
COLUMNS = {"s", "on", "off"}


def test_plain_data_become_intervals_and_back() -> None:
    (interval,) = read_intervals([PLAIN], COLUMNS)
    assert interval == PlanInterval(
        "job", TimeExpression({"s": 1.0}, 2.0), TimeExpression({"s": 1.0, "on": -3.0}, 0.5), "machine", {"on": 1.0, "off": 0.0}, True
    )  # fmt: skip
    assert (dict(interval.end.terms), dict(interval.conditions)) == ({"s": 1.0, "on": -3.0}, {"on": 1.0, "off": 0.0})
    assert read_intervals(json.loads(json.dumps([asdict(interval)])), COLUMNS) == (interval,)
    assert read_intervals([PLAIN | {"is_exclusive": 1}], COLUMNS)[0].is_exclusive is False


def test_times_are_sums_at_a_point() -> None:
    (interval,) = read_intervals([PLAIN], COLUMNS)
    point = {"s": 4.0, "on": 1.0, "off": 0.0}
    assert (interval.start.at(point), interval.end.at(point)) == (6.0, 1.5)


@pytest.mark.parametrize(
    ("on", "off", "is_there"),
    [(1.0, 0.0, True), (0.75, 0.25, True), (1.25, -0.25, True), (0.0, 0.0, False), (1.0, 1.0, False), (0.5, 0.0, False),
     (1.0, 0.5, False)],
)  # fmt: skip
def test_an_interval_takes_place_if_all_conditions_hold(on: float, off: float, is_there: bool) -> None:
    (interval,) = read_intervals([PLAIN], COLUMNS)
    assert interval.takes_place({"s": 0.0, "on": on, "off": off}) is is_there
    assert PlanInterval("always", interval.start, interval.end).takes_place({})


@pytest.mark.parametrize(
    "change",
    [
        {"start": {"terms": {"t": 1}, "constant": 0}}, {"end": {"terms": {"t": 1}, "constant": 0}}, {"conditions": {"t": 1}},
        {"conditions": [1]}, {"start": 3}, {"start": {"terms": {}}}, {"start": {"terms": {"s": "x"}, "constant": 0}},
    ],
)  # fmt: skip
def test_what_is_no_interval_is_refused_in_one_line(change: dict) -> None:
    for plain in ([PLAIN | change], [PLAIN, PLAIN | change], 3, [{"name": "job"}]):
        with pytest.raises(ModellingError) as refused:
            read_intervals(plain, COLUMNS)
        assert "\n" not in str(refused.value)
