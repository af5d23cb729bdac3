"""Optimal points, duals, slopes and intervals, against enumeration of all vertices and the Lagrangian."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.model_values import Sense
from oragent.modelling.solving.back_ends.protocol import SolverOptions
from oragent.modelling.solving.highs import infeasibility_ray, run_highs
from oragent.modelling.solving.model_solving import point_vector, solve
from oragent.modelling.solving.optimal_face import OptimalFace, is_same, optimal_points
from tests.modelling.enumeration import Plain
from tests.modelling.models import steel
from tests.modelling.test_degenerate import STEP, degenerate, optimum_after, slopes

INF = math.inf


def arrays_of(model: Plain) -> Arrays:
    """The arrays of a model, with the rows in their order."""
    return Arrays(
        Sense.MINIMIZE if model.sign > 0 else Sense.MAXIMIZE, model.cost, model.constant, model.low, model.high,
        model.integer, Sparse.from_dense(model.matrix),
        np.where(model.relations == -1, -INF, model.rhs), np.where(model.relations == 1, INF, model.rhs),
    )  # fmt: skip


def lagrangian(model: Plain, duals: np.ndarray) -> float:
    """The bound of duals: the best of the Lagrangian between the bounds of the variables."""
    assert (model.sign * model.relations * duals >= -1e-7)[model.relations != 0].all()
    reduced = model.cost - duals @ model.matrix
    best = np.minimum(model.sign * reduced * model.low, model.sign * reduced * model.high)
    return float(duals @ model.rhs + model.sign * best.sum())


@given(degenerate(), st.integers(0, 99))
def test_values_duals_and_slopes_are_those_of_all_vertices(model: Plain, place: int) -> None:
    base, optima = model.optimum(), model.optima()
    point = optima[place % len(optima)]
    face = OptimalFace(arrays_of(model), point)
    duals = face.duals
    assert lagrangian(model, duals) == pytest.approx(base, abs=1e-5)

    at_low, at_high = np.isclose(point, model.low), np.isclose(point, model.high)
    touched = np.abs(model.matrix @ point - model.rhs) < 1e-9
    assert face.is_nondegenerate == ((at_low | at_high).sum() + touched.sum() == len(point))

    differing = face.differing
    for row in range(len(model.rhs)):
        ends = slopes(model, "rhs", row)
        found = face.row_slopes(row)
        assert (found.less, found.more) == pytest.approx(ends, abs=1e-5)
        assert found.is_unique == (abs(ends[1] - ends[0]) < 1e-5) == (not differing[0][row])
        for side, sign in ((found.duals_less, -1), (found.duals_more, 1)):
            changed = optimum_after(model, "rhs", row, sign * STEP)
            assert (side is None) == (changed is None)
            if side is not None:
                assert lagrangian(model.moved(rhs=(row, sign * STEP)), side) == pytest.approx(changed, abs=1e-6)

    for column in range(len(point)):
        values = optima[:, column]
        assert face.value_ends(column) == pytest.approx((values.min(), values.max()), abs=1e-6)
        is_low, is_high = bool(face.at_low[column]), bool(face.at_high[column])
        assert (is_low, is_high) == (at_low[column], at_high[column])
        if is_low or is_high:
            sides = " ".join(name for name, is_there in (("low", is_low), ("high", is_high)) if is_there)
            found = face.bound_slopes(column)
            assert (found.less, found.more) == pytest.approx(slopes(model, sides, column), abs=1e-5)
            assert found.is_unique == (not differing[1][column])


@given(degenerate(), st.integers(0, 99))
def test_nothing_is_known_at_a_point_that_is_not_optimal(model: Plain, place: int) -> None:
    points, base = model.points(), model.optimum()
    point = points[place % len(points)]
    face = OptimalFace(arrays_of(model), point)
    is_optimal = abs(model.worth(point) - base) < 1e-7
    claimed = OptimalFace(face.arrays, point, np.zeros(len(model.rhs)))
    assert claimed.duals is not None
    assert claimed.differing is None or is_optimal
    assert (face.duals is not None) == (face.differing is not None) == is_optimal
    for row in range(len(model.rhs)):
        assert (face.row_slopes(row) is not None) == is_optimal
    for column in range(len(point)):
        assert (face.cost_interval(column) is not None) == is_optimal
        assert (face.value_ends(column) is not None) == is_optimal


def face_of(cost: object, low: object, high: object, point: object, sense: Sense = Sense.MINIMIZE) -> OptimalFace:
    """A model without rows."""
    cost, low, high, point = (np.array(part, dtype=float) for part in (cost, low, high, point))
    empty = Sparse.from_dense(np.zeros((0, len(cost))))
    no = np.zeros(0)
    arrays = Arrays(sense, cost, 0.0, low, high, np.zeros(len(cost), dtype=bool), empty, no, no)
    return OptimalFace(arrays, point, no)


def test_a_value_is_at_its_limit_within_a_tolerance_relative_to_it() -> None:
    low = np.array([0, 0, 1, 1, 1e6, 1e6, -1e6, -1e6, 5])
    steps = np.array([1e-7, 3e-7, 1e-7, 3e-7, 0.1, 0.3, 0.1, 0.3, -1e-3])
    is_near = [True, False, True, False, True, False, True, False, True]
    above = face_of(np.ones(9), low, np.full(9, INF), low + steps)
    assert above.at_low.tolist() == is_near
    assert not above.at_high.any()
    below = face_of(-np.ones(9), np.full(9, -INF), -low, -low - steps)
    assert below.at_high.tolist() == is_near
    assert not below.at_low.any()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (0.0, 5e-7, True), (0.0, 2e-6, False), (0.5, 0.5 - 9e-7, True), (0.5, 0.5 + 2e-6, False), (1.0, -1.0, False),
        (1e6, 1e6 + 0.5, True), (1e6, 1e6 + 2, False), (-1e6, -1e6 - 0.5, True), (-1e6, -1e6 + 2, False),
        (INF, INF, False), (-INF, -INF, False), (INF, 1.0, False), (1.0, -INF, False),
    ],
)  # fmt: skip
def test_figures_are_the_same_within_the_tolerance_of_the_solver(first: float, second: float, expected: bool) -> None:
    assert is_same(first, second) is expected
    assert is_same(second, first) is expected


def test_without_rows_a_cost_may_change_until_its_sign_does() -> None:
    face = face_of([2, -3, 0, 0], [0, 0, 1, 1], [4, 4, 1, 5], [0, 4, 1, 3])
    assert [face.cost_interval(column) for column in range(4)] == [(0, INF), (-INF, 0), (-INF, INF), (0, 0)]
    assert [part.tolist() for part in face.differing] == [[], [False] * 4]
    assert [part.dtype for part in face.differing] == [bool, bool]
    assert [face.value_ends(column) for column in range(4)] == [(0, 0), (4, 4), (1, 1), (1, 5)]
    assert [(slope.less, slope.more) for slope in map(face.bound_slopes, range(2))] == [(2, 2), (-3, -3)]
    most = face_of([-2, 3, 0, 0], [0, 0, 1, 1], [4, 4, 1, 5], [0, 4, 1, 3], Sense.MAXIMIZE)
    assert [most.cost_interval(column) for column in range(4)] == [(-INF, 0), (0, INF), (-INF, INF), (0, 0)]
    assert [(slope.less, slope.more) for slope in map(most.bound_slopes, range(2))] == [(-2, -2), (3, 3)]


def priced(costs: object, duals: object, sign: int = 1) -> tuple[list, list]:
    """Variables and rows that are fixed at all optimal points; each variable has a row of its own."""
    count = len(costs)
    zeros, ones = np.zeros(count), np.ones(count)
    sense = Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE
    matrix = Sparse.from_dense(np.eye(count))
    whole = np.zeros(count, dtype=bool)
    arrays = Arrays(sense, np.array(costs, dtype=float), 0.0, zeros, ones * 9, whole, matrix, ones, ones * 8)
    face = optimal_points(arrays, np.array(duals, dtype=float))
    assert (face.cost == costs).all()
    for part, limits in (((face.low, face.high), (0, 9)), ((face.row_low, face.row_high), (1, 8))):
        assert np.isin(np.column_stack(part), limits).all()
    return (
        np.where(face.low == face.high, face.low, INF).tolist(),
        np.where(face.row_low == face.row_high, face.row_low, INF).tolist(),
    )


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e6])
def test_limits_with_a_price_are_fixed_on_the_side_that_pays(sign: int, scale: float) -> None:
    costs, duals = np.array([3.0, -3, 0, 5, 5]), np.array([0.0, 0, 0, 5, 7])
    columns, rows = priced(sign * scale * costs, sign * scale * duals, sign)
    assert columns == [0, 9, INF, INF, 9]
    assert rows == [INF, INF, INF, 1, 1]
    columns, rows = priced(-sign * scale * costs, -sign * scale * duals, sign)
    assert columns == [9, 0, INF, INF, 0]
    assert rows == [INF, INF, INF, 8, 8]


def test_prices_below_the_tolerance_and_noise_of_large_figures_count_as_0() -> None:
    columns, rows = priced([1, 5e-8, 2e-7, 0, 0, 1e-7, 0], [0, 0, 0, 5e-8, 2e-7, 0, 1e-7])
    assert columns == [0, INF, 0, INF, 9, INF, INF]
    assert rows == [INF, INF, INF, INF, 1, INF, INF]
    # Beside large costs, prices are as small as before.
    assert priced([1e6, 2e-7], [0, 0])[0] == [0, 0]
    assert priced([1e6, 5e-8], [0, 0])[0] == [0, INF]
    # The difference of two figures of 1e6 is known to about 2e-3.
    assert priced([1e6, 1e6], [1e6 - 1e-3, 1e6 - 4e-3])[0] == [INF, 0]


def test_limits_that_do_not_exist_are_not_fixed() -> None:
    infinite = np.array([INF, INF])
    arrays = Arrays(
        Sense.MINIMIZE, np.array([1.0, -1.0]), 0.0, -infinite, infinite, np.zeros(2, dtype=bool),
        Sparse.from_dense(np.eye(2)), np.array([-INF, 1.0]), np.array([8.0, INF]),
    )  # fmt: skip
    face = optimal_points(arrays, np.array([0.5, -0.5]))
    assert [*face.low, *face.high, *face.row_low, *face.row_high] == [-INF, -INF, INF, INF, -INF, 1, 8, INF]


def test_solves_with_other_numbers_of_threads_do_not_matter() -> None:
    model = steel()
    arrays = model.to_staged_arrays()
    few = steel(hours=12).to_staged_arrays()
    expected, ray = solve(model), infeasibility_ray(few)
    face = OptimalFace(arrays, point_vector(model, expected.values))
    assert face.differing is not None
    for threads in (2, 1, 3):
        solution = solve(model, options=SolverOptions(threads=threads))
        assert solution.sensitivity == expected.sensitivity
        run_highs(arrays, SolverOptions(threads=threads))
        assert infeasibility_ray(few).tolist() == ray.tolist()
        run_highs(arrays, SolverOptions(threads=threads))
        ends = [face.value_ends(column) for column in range(3)]
        assert ends == [pytest.approx((value, value)) for value in expected.values.values()]


def test_without_rows_a_bound_may_move_until_the_other_one() -> None:
    face = face_of([2, -3, 2, -3], [2, 1, -INF, 1], [5, 4, -2, INF], [2, 4, -2, 1])
    assert [face.bound_interval(column, np.zeros(0)) for column in range(2)] == [(-INF, 5), (1, INF)]


def test_intervals_are_those_of_the_given_duals() -> None:
    """x is at most 4 by two rows: the duals of one row hold for less of it, and those of the other one for more."""
    arrays = Arrays(
        Sense.MAXIMIZE, np.array([3.0]), 0.0, np.zeros(1), np.array([9.0]), np.zeros(1, dtype=bool),
        Sparse.from_dense(np.ones((2, 1))), np.full(2, -INF), np.full(2, 4.0),
    )  # fmt: skip
    face = OptimalFace(arrays, np.array([4.0]))
    for _ in range(2):
        assert face.rhs_interval(0, np.array([3.0, 0.0])) == pytest.approx((0, 4))
        assert face.rhs_interval(0, np.array([0.0, 3.0])) == pytest.approx((4, INF))


@pytest.mark.parametrize(
    ("value", "is_nondegenerate"), [(2e-7, True), (-2e-7, True), (2.1e-7, False), (-2.1e-7, False)]
)
def test_a_free_variable_at_0_may_be_outside_of_the_basis(value: float, is_nondegenerate: bool) -> None:
    assert face_of([0], [-INF], [INF], [value]).is_nondegenerate is is_nondegenerate
    assert face_of([0], [-INF], [9], [value]).is_nondegenerate is False


@pytest.mark.parametrize("coefficient", [1.0, -1.0])
@pytest.mark.parametrize(("difference", "is_noise"), [(1e-3, True), (4e-3, False)])
def test_noise_of_large_figures_is_that_of_their_sizes(coefficient: float, difference: float, is_noise: bool) -> None:
    arrays = Arrays(
        Sense.MINIMIZE, np.array([1e6 * coefficient]), 0.0, np.zeros(1), np.ones(1), np.zeros(1, dtype=bool),
        Sparse.from_dense(np.array([[coefficient]])), np.array([-INF]), np.array([9.0]),
    )  # fmt: skip
    points = optimal_points(arrays, np.array([1e6 - difference]))
    assert (points.low[0] < points.high[0]) == is_noise
