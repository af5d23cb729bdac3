"""Bounds that rows imply, against loops over rows, and against all points of a grid."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.features import ModelFeatures, SemiContinuous, SoftRow
from oragent.modelling.data.model_values import Sense
from oragent.modelling.solving import tightening
from oragent.modelling.solving.tightening import implied_bounds

INF = math.inf
few = st.integers(-3, 3).map(float)
lows = st.sampled_from([-INF, -3.0, -1.0, 0.0, 1.0])
widths = st.sampled_from([0.0, 1.0, 4.0, INF])


def arrays_of(
    matrix: list[list[float]], low: list, high: list, row_low: list, row_high: list, **more: object
) -> Arrays:
    count = len(low)
    return Arrays(
        Sense.MINIMIZE, np.zeros(count), 0.0, np.array(low, dtype=float), np.array(high, dtype=float),
        np.zeros(count, dtype=bool), Sparse.from_dense(np.array(matrix, dtype=float).reshape(len(row_low), count)),
        np.array(row_low, dtype=float), np.array(row_high, dtype=float), **more,
    )  # fmt: skip


@st.composite
def programmes(draw: st.DrawFn) -> Arrays:
    """Up to three rows of three variables, some of them without bounds."""
    rows = draw(st.integers(0, 3))
    low = [draw(lows) for _ in range(3)]
    high = [draw(widths) if at == -INF else at + draw(widths) for at in low]
    row_low = [draw(lows) for _ in range(rows)]
    row_high = [draw(widths) if at == -INF else at + draw(widths) for at in row_low]
    return arrays_of([[draw(few) for _ in range(3)] for _ in range(rows)], low, high, row_low, row_high)


def tightened(arrays: Arrays, passes: int) -> tuple[list[float], list[float]]:
    """The bounds after some passes, each of which uses those of the pass before."""
    low, high = arrays.low.tolist(), arrays.high.tolist()
    for _ in range(passes):
        new_low, new_high = list(low), list(high)
        for row, least, most in zip(arrays.matrix.to_dense(), arrays.row_low, arrays.row_high, strict=True):
            for column, value in enumerate(row):
                others = [(a, low[at], high[at]) for at, a in enumerate(row) if at != column and a]
                smallest = sum(a * (lower if a > 0 else upper) for a, lower, upper in others)
                largest = sum(a * (upper if a > 0 else lower) for a, lower, upper in others)
                ends = [(most - smallest, value > 0), (least - largest, value < 0)] if value else []
                for end, is_upper in ends:
                    if math.isfinite(end) and is_upper:
                        new_high[column] = min(new_high[column], end / value)
                    elif math.isfinite(end):
                        new_low[column] = max(new_low[column], end / value)
        low, high = new_low, new_high
    return low, high


@pytest.mark.parametrize("passes", [1, 3])
@given(arrays=programmes())
def test_implied_bounds_are_those_of_loops_over_rows(arrays: Arrays, passes: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tightening, "PASSES", passes)
        low, high = implied_bounds(arrays)
    expected_low, expected_high = tightened(arrays, passes)
    assert low.tolist() == pytest.approx(expected_low, rel=1e-5, abs=1e-3)
    assert high.tolist() == pytest.approx(expected_high, rel=1e-5, abs=1e-3)
    assert (low >= arrays.low).all()
    assert (high <= arrays.high).all()
    # No point of the model is lost, not even by rounding.
    for point in map(np.array, itertools.product(np.arange(-2.0, 3.0), repeat=3)):
        if arrays.largest_violation(point) == 0:
            assert (low <= point).all()
            assert (point <= high).all()


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(("size", "room"), [(0.5, 1e-7), (1.0, 1e-7), (2e3, 2e-4)])
def test_implied_bounds_have_room_for_rounding(sign: int, size: float, room: float) -> None:
    arrays = arrays_of([[2.0]], [-INF], [INF], [-INF], [2 * sign * size])
    low, high = implied_bounds(arrays)
    assert low[0] == -INF
    assert high[0] - sign * size == pytest.approx(room, rel=1e-3)
    low, high = implied_bounds(arrays_of([[2.0]], [-INF], [INF], [2 * sign * size], [INF]))
    assert high[0] == INF
    assert sign * size - low[0] == pytest.approx(room, rel=1e-3)


@pytest.mark.parametrize(("size", "is_used"), [(0.9e12, True), (1.1e12, False)])
def test_very_large_implied_bounds_are_not_used(size: float, is_used: bool) -> None:
    for sign in (1, -1):
        low, high = implied_bounds(arrays_of([[sign]], [-INF], [INF], [-size], [size]))
        assert np.isfinite([*low, *high]).tolist() == [is_used] * 2


def test_rows_that_may_be_broken_imply_no_bounds() -> None:
    arrays = arrays_of([[1.0], [1.0]], [-INF], [INF], [-INF, -2.0], [1.0, INF])
    soft = replace(arrays, features=ModelFeatures(soft_rows=(SoftRow(0, above=1.0),)))
    assert [bounds.tolist() for bounds in implied_bounds(soft)] == [[pytest.approx(-2.0)], [INF]]
    assert [bounds.tolist() for bounds in implied_bounds(arrays)] == [[pytest.approx(-2.0)], [pytest.approx(1.0)]]


@pytest.mark.parametrize(("low", "high", "ends"), [(2.0, 5.0, (0, 4)), (-5.0, -2.0, (-4, 0)), (-1.0, 2.0, (-1, 2))])
def test_a_semi_continuous_variable_may_be_0(low: float, high: float, ends: tuple[float, float]) -> None:
    arrays = arrays_of([[1.0]], [low], [high], [-4.0], [4.0])
    semi = replace(arrays, features=ModelFeatures(semi_continuous=(SemiContinuous(0),)))
    assert [bounds[0] for bounds in implied_bounds(semi)] == [pytest.approx(end) for end in ends]
