"""The description of a passed check says what the number of repeated calls can show."""

import pytest

from oragent.evaluation.capabilities import describe_check


@pytest.mark.parametrize(
    ("calls", "count", "has_order"),
    [(1, "1 ", False), (2, "2 ", True), (1500, "1,500 ", True), (None, "some ", True), (2.5, "some ", True)],
)
def test_an_order_is_named_only_where_calls_have_one(calls, count, has_order):
    text = describe_check(calls, "this program")
    assert count in text
    assert "this program" in text
    assert ("order" in text) == has_order
