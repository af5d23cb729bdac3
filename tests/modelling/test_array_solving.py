"""Claims of back ends are checked: points, bounds, gaps and duals against closed forms, just inside and outside."""

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Sparse
from oragent.modelling.data.features import FurtherObjective, ModelFeatures, QuadraticTerm, SemiContinuous
from oragent.modelling.data.model_values import Sense
from oragent.modelling.solving.array_solving import (
    DUAL_FEASIBLE,
    _rounded_if_feasible,
    check_abilities,
    clean_duals,
    dual_bound,
    gradient_arrays,
    polish,
    ray_of,
    solve_arrays,
)
from oragent.modelling.solving.back_ends.protocol import Ability, Limit, SolverOptions, SolverResult, SolverStatus

INF = np.inf
DONE, STOPPED = SolverStatus.OPTIMAL, SolverStatus.STOPPED
Answer = SolverResult | Callable[[Arrays], SolverResult]


class Scripted:
    """A back end with given answers, which keeps what it was asked."""

    name, install = "scripted", ""
    abilities = frozenset(Ability)

    def __init__(self, *answers: Answer, abilities: Iterable[Ability] = Ability) -> None:
        self.answers, self.abilities = list(answers), frozenset(abilities)
        self.asked: list[tuple[Arrays, SolverOptions, np.ndarray | None]] = []

    def version(self) -> str:
        return "scripted 1"

    def solve(self, arrays: Arrays, options: SolverOptions, start: np.ndarray | None = None) -> SolverResult:
        self.asked.append((arrays, options, start))
        answer = self.answers.pop(0)
        return answer(arrays) if callable(answer) else answer


def claim(values: object = None, status: SolverStatus = DONE, **more: object) -> SolverResult:
    return SolverResult(status, "scripted 1", None if values is None else np.array(values, dtype=float), **more)


def model(sign: int = 1, integer: object = (True, True), **more: object) -> Arrays:
    """x + 2 y + 3, at least 4 of both together; maximised with opposite costs."""
    arrays = Arrays(
        Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE,
        sign * np.array([1.0, 2.0]),
        3.0,
        np.zeros(2),
        np.array([10.0, 10.0]),
        np.array(integer),
        Sparse.from_dense(np.array([[1.0, 1.0]])),
        np.array([4.0]),
        np.array([INF]),
    )
    return replace(arrays, **more)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("size", "gap", "status"),
    [(0, 0, "optimal"), (0, 0.9e-6, "optimal"), (0, 1.1e-6, "feasible"), (0, 0.5, "feasible"),
     (1e6, 0.9e-6, "optimal"), (1e6, 1.1e-6, "feasible")],
)  # fmt: skip
def test_a_point_is_optimal_up_to_a_gap_relative_to_its_objective(
    sign: int, size: float, gap: float, status: str
) -> None:
    arrays = model(sign)
    arrays = replace(arrays, constant=sign * (size - 4.0))
    worth = sign * size
    bound = worth - sign * gap * max(1.0, size)
    solution = solve_arrays(arrays, solver=Scripted(claim([4, 0], bound=bound)))
    assert solution.status == status
    assert solution.objective == worth
    assert solution.gap == pytest.approx(gap, rel=1e-6)
    assert solution.bound == pytest.approx(bound, abs=1e-12)
    assert bool(solution.note) == (status == "feasible")
    assert solution.solver == "scripted 1"
    assert 0 < solution.seconds < 100
    stopped = solve_arrays(arrays, solver=Scripted(claim([4, 0], STOPPED, bound=bound, limit=Limit.TIME)))
    assert (stopped.status, stopped.limit) == ("feasible", Limit.TIME)


@pytest.mark.parametrize(("worst", "status"), [(0.9e-6, "optimal"), (1.1e-6, "unknown")])
def test_a_point_may_break_a_row_by_the_tolerance_relative_to_its_summands(worst: float, status: str) -> None:
    arrays = model(integer=[False, False])
    solution = solve_arrays(arrays, solver=Scripted(claim([4 - 4 * worst, 0], bound=7.0 - 4 * worst)))
    assert solution.status == status
    assert bool(solution.note) == (status == "unknown")
    assert (solution.objective is None) == (status == "unknown")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_bound_without_duals_is_that_of_the_solver_or_none(sign: int) -> None:
    solution = solve_arrays(model(sign), solver=Scripted(claim([4, 0])))
    assert (solution.status, solution.bound, solution.gap) == ("feasible", -sign * INF, INF)


def test_values_of_integers_are_rounded_and_the_others_solved_again() -> None:
    arrays = model(integer=[True, False])
    solution = solve_arrays(arrays, solver=Scripted(claim([3 - 1e-7, 1 + 1e-7], bound=8.0)))
    assert solution.values.tolist() == [3, 1]
    assert solution.objective == 8.0
    # The best values of the others with these integers are taken, also if those of the solver are worse.
    solution = solve_arrays(arrays, solver=Scripted(claim([3, 5], bound=8.0)))
    assert solution.values.tolist() == [3, 1]
    # With a feature, nothing is solved again, and values are rounded where they stay feasible.
    semi = ModelFeatures(semi_continuous=(SemiContinuous(1),))
    arrays = model(integer=[True, False], low=np.array([0.0, 1.5]), features=semi)
    assert solve_arrays(arrays, solver=Scripted(claim([3 - 1e-7, 5], bound=16.0))).values.tolist() == [3, 5]
    assert solve_arrays(arrays, solver=Scripted(claim([2.4, 1.6], bound=8.0))).status == "unknown"
    assert solve_arrays(arrays, solver=Scripted(claim([2 + 1e-7, 2 - 1e-7], bound=9.0))).values.tolist() == [
        2,
        2 - 1e-7,
    ]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_linear_programme_has_the_bound_of_its_duals_and_gives_its_engine(sign: int) -> None:
    arrays, engine = model(sign, integer=[False, False]), object()
    duals = sign * np.array([1.0])
    solution = solve_arrays(arrays, solver=Scripted(claim([4, 0], row_duals=duals, bound=-99.0, engine=engine)))
    assert (solution.status, solution.bound) == ("optimal", solution.objective)
    assert solution.row_duals.tolist() == duals.tolist()
    assert solution.engine is engine
    worse = solve_arrays(arrays, solver=Scripted(claim([4, 0], row_duals=duals / 2)))
    # Half the price proves half of the four units of x.
    assert (worse.status, worse.bound) == ("feasible", pytest.approx(sign * 2.0 + 3.0))
    whole = solve_arrays(
        model(sign), solver=Scripted(claim([4, 0], row_duals=duals, bound=sign * 4 + 3, engine=engine))
    )
    assert (whole.row_duals, whole.engine) == (None, None)


NOTHING = claim(status=SolverStatus.INFEASIBLE_OR_UNBOUNDED)


@pytest.mark.parametrize(
    "status", [SolverStatus.INFEASIBLE, SolverStatus.UNBOUNDED, SolverStatus.INFEASIBLE_OR_UNBOUNDED]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_model_without_optimum_is_solved_without_its_objective(sign: int, status: SolverStatus) -> None:
    endless = model(-sign, high=np.full(2, INF), sense=Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE)
    cases = [
        (endless, claim([4, 0]), "unbounded"),
        (endless, claim([3, 0]), "unknown"),
        (endless, claim(status=STOPPED), "unknown"),
        (endless, NOTHING, "infeasible"),
        (endless, claim([4, 0], SolverStatus.INFEASIBLE), "infeasible"),
        (model(sign), claim([4, 0]), "unknown"),
    ]
    for arrays, second, expected in cases:
        solver = Scripted(claim([4, 0], status), second)
        solution = solve_arrays(arrays, solver=solver)
        assert (solution.status, solution.values) == (expected, None)
        assert not solver.asked[1][0].cost.any()


def test_a_quadratic_objective_is_left_out_like_a_linear_one() -> None:
    solver = Scripted(claim(status=SolverStatus.INFEASIBLE), NOTHING)
    assert solve_arrays(model(integer=[False, False], features=SQUARE), solver=solver).status == "infeasible"
    assert [len(asked.features.quadratic) for asked, *_ in solver.asked] == [1, 0]


def test_without_a_point_the_bound_and_the_limit_stay() -> None:
    solution = solve_arrays(model(), solver=Scripted(claim(status=STOPPED, bound=5.0, limit=Limit.NODES)))
    assert (solution.status, solution.bound, solution.limit) == ("unknown", 5.0, Limit.NODES)
    assert solution.note


def test_start_and_options_reach_the_solver() -> None:
    solver, options, start = Scripted(claim([4, 0], bound=7.0)), SolverOptions(nodes=3), np.array([1.0, 2.0])
    solve_arrays(model(), options, solver, start)
    ((_, given, begun),) = solver.asked
    assert (given, begun.tolist()) == (options, [1.0, 2.0])


SQUARE = ModelFeatures(quadratic=(QuadraticTerm(0, 0, 1.0),))


def test_a_convex_optimum_is_proven_in_a_box_around_it() -> None:
    # (x - 1)^2 has its optimum 0 in a box; the solver claims no bound at first.
    arrays = model(
        integer=[False, False], features=SQUARE, cost=np.array([-2.0, 0.0]), constant=1.0, row_low=np.array([0.0])
    )
    first = claim([1, 0])
    again = claim([1, 0], row_duals=np.zeros(1))
    solver = Scripted(first, again)
    solution = solve_arrays(arrays, solver=solver)
    assert (solution.status, solution.objective) == ("optimal", pytest.approx(0.0))
    boxed = solver.asked[1][0]
    assert (boxed.low.tolist(), boxed.high.tolist()) == ([0.8, 0.0], [1.2, 0.1])
    # A point at the edge of the box proves nothing, nor does one without a proof or no point.
    for other in (claim([1.1, 0], row_duals=np.zeros(1)), claim([1, 0], STOPPED, row_duals=np.zeros(1)), NOTHING):
        assert solve_arrays(arrays, solver=Scripted(first, other)).status == "feasible"
    # Near its middle is less than a quarter of the box from it.
    for shift, status in ((0.05, "feasible"), (0.04, "optimal")):
        near = claim([1, shift], row_duals=np.zeros(1))
        assert solve_arrays(arrays, solver=Scripted(first, near)).status == status
    # Its optimum in the box is better than the point outside of it.
    moved = solve_arrays(arrays, solver=Scripted(claim([1.05, 0]), again))
    assert (moved.status, moved.values.tolist()) == ("optimal", [1.0, 0.0])


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=2), st.lists(st.floats(-3, 3), min_size=2, max_size=2))
def test_a_tangent_has_the_value_and_the_slope_of_the_function(point: list[float], step: list[float]) -> None:
    terms = (QuadraticTerm(0, 0, 2.0), QuadraticTerm(0, 1, -1.0), QuadraticTerm(1, 0, 3.0))
    arrays = model(features=ModelFeatures(quadratic=terms))
    at, along = np.array(point), np.array(step)
    tangent = gradient_arrays(arrays, at)
    assert not tangent.features
    assert tangent.objective_at(at) == pytest.approx(arrays.objective_at(at), abs=1e-9)
    slope = (arrays.objective_at(at + 1e-3 * along) - arrays.objective_at(at - 1e-3 * along)) / 2e-3
    assert float(tangent.cost @ along) == pytest.approx(slope, abs=1e-6)
    plain = model()
    assert gradient_arrays(plain, at) is plain


def test_whole_points_have_no_negative_zero() -> None:
    arrays = model(low=np.array([-3.0, -3.0]))
    semi = replace(arrays, features=ModelFeatures(semi_continuous=(SemiContinuous(0),)))
    given_values = np.array([6.0, -1e-9])
    for values in (
        _rounded_if_feasible(arrays, given_values),
        polish(arrays, given_values, None),
        polish(semi, given_values, None),
    ):
        assert values.tolist() == [6, 0]
        assert not np.signbit(values).any()
    # Rounding may break a row: the point stays as it is.
    assert _rounded_if_feasible(arrays, np.array([3.5, 0.4])).tolist() == [4, 0]
    assert _rounded_if_feasible(arrays, np.array([3.4, 0.4])).tolist() == [3.4, 0.4]


def test_a_polished_point_has_whole_integers_within_its_bounds() -> None:
    arrays = model(integer=[True, False])
    assert polish(arrays, np.array([3.4, -1e-9]), None).tolist() == [3, 0]
    assert polish(arrays, np.array([11.0, 10 + 1e-9]), None).tolist() == [10, 10]
    assert polish(arrays, np.array([3.0, 1.0]), np.array([2.0, 2.0])).tolist() == [3, 1]
    assert polish(arrays, np.array([3.0, 2.0]), np.array([3.0, 1.0])).tolist() == [3, 1]
    assert polish(arrays, np.array([3.0, 2.0]), np.array([3.0, 0.0])).tolist() == [3, 2]
    # A loss of at most the tolerance, relative to the objective of 8 or -8, is taken.
    for constant in (3.0, -13.0):
        for loss, taken in ((7e-6, True), (9e-6, False)):
            again = np.array([3.0, 1.0 + loss / 2])
            shifted = replace(arrays, constant=constant)
            assert (polish(shifted, np.array([3.0, 1.0]), again).tolist()[1] > 1) is taken
    largest = model(-1, integer=[True, False])
    assert polish(largest, np.array([3.0, 2.0]), np.array([3.0, 1.0])).tolist() == [3, 1]
    semi = replace(arrays, features=ModelFeatures(semi_continuous=(SemiContinuous(1),)), low=np.array([0.0, 2.0]))
    assert polish(semi, np.array([3.4, 0.0]), None).tolist() == [3, 0]
    assert not np.signbit(polish(arrays, np.array([-0.2, -0.0]), None)).any()


def test_duals_and_reduced_costs_without_noise() -> None:
    arrays = model(cost=np.array([1.0, 1000.0]), integer=[False, False])
    for dual, cost, expected in (
        (1.0, 1.0 + 1.9e-9, 0.0),
        (1.0, 1.0 + 2.1e-9, 2.1e-9),
        (1.0, 1.0 - 2.1e-9, -2.1e-9),
        (0.0, 0.9e-12, 0.0),
        (0.0, 1e-9 * 1e-3, 0.0),
        (0.0, 2e-12, 2e-12),
    ):
        _, reduced = clean_duals(replace(arrays, cost=np.array([cost, 1000.0])), np.array([dual]))
        assert reduced[0] == pytest.approx(expected, rel=1e-5, abs=1e-16)
    for scale, dual, stays in (
        (1000.0, 0.9e-9, False),
        (1000.0, 1.1e-9, True),
        (0.1, 0.9e-10, False),
        (0.1, 1.1e-10, True),
    ):
        for sign in (1, -1):
            duals, _ = clean_duals(replace(arrays, cost=np.array([0.0, scale])), np.array([sign * dual]))
            assert duals.tolist() == [sign * dual if stays else 0.0]


@pytest.mark.parametrize("sign", [1, -1])
@given(st.lists(st.integers(-3, 3), min_size=2, max_size=2), st.lists(st.integers(-3, 3), min_size=3, max_size=3))
def test_the_bound_of_duals_is_the_least_of_the_lagrangian(sign: int, prices: list[int], costs: list[int]) -> None:
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]])
    arrays = Arrays(
        Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE,
        np.array(costs, dtype=float),
        2.0,
        np.array([-1.0, 0.0, 1.0]),
        np.array([2.0, 3.0, 5.0]),
        np.zeros(3, dtype=bool),
        Sparse.from_dense(matrix),
        np.array([-4.0, 1.0]),
        np.array([6.0, 3.0]),
    )
    duals = np.array(prices, dtype=float)
    # The objective plus the prices times what rows exceed any of their allowed values, at its best.
    reduced = arrays.cost - duals @ matrix
    best = scipy.optimize.linprog(
        sign * np.concatenate([reduced, duals]),
        bounds=[*zip(arrays.low, arrays.high, strict=True), *zip(arrays.row_low, arrays.row_high, strict=True)],
    )
    assert dual_bound(arrays, duals) == pytest.approx(sign * best.fun + 2.0)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("excess", "is_proof"), [(0.5e-6, True), (0.9e-4, True), (DUAL_FEASIBLE * 100, True), (1.1e-4, False)]
)
def test_a_price_against_a_missing_limit_is_noise_up_to_a_share_of_the_costs(
    sign: int, excess: float, is_proof: bool
) -> None:
    arrays = model(
        sign,
        integer=[False, False],
        cost=sign * np.array([1.0, 100.0]),
        row_low=np.array([-INF]),
        row_high=np.array([4.0]),
    )
    bound = dual_bound(arrays, sign * np.array([excess]))
    assert bound == pytest.approx(3.0) if is_proof else bound == -sign * INF


@pytest.mark.parametrize("sign", [1, -1])
def test_a_ray_improves_and_stays_within_all_limits(sign: int) -> None:
    sense = Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE
    base = Arrays(
        sense,
        sign * np.array([-1.0, -1.0, 1.0]),
        5.0,
        np.array([0.0, 0.0, -INF]),
        np.array([INF, 4.0, 7.0]),
        np.array([True, False, False]),
        Sparse.from_dense(np.array([[1.0, 1.0, 2.0]])),
        np.array([-3.0]),
        np.array([6.0]),
    )
    # The second one has an upper bound; the row allows 2 units of the first for each of the third.
    assert ray_of(base).tolist() == pytest.approx([1.0, 0.0, -0.5])
    assert ray_of(replace(base, row_high=np.array([INF]))) is not None
    assert ray_of(replace(base, high=np.array([9.0, 4.0, 7.0]))) is None
    assert ray_of(replace(base, low=np.array([0.0, 0.0, 0.0]))) is None
    assert ray_of(replace(base, cost=-base.cost)) is None
    assert ray_of(replace(base, features=SQUARE)) is None
    low_side = replace(
        base, low=np.array([-INF, 0.0, 0.0]), high=np.array([0.0, 4.0, INF]), cost=sign * np.array([1.0, 1.0, 3.0])
    )
    assert ray_of(replace(low_side, row_low=np.array([-INF]))).tolist() == pytest.approx([-1.0, 0.0, 0.0])
    assert ray_of(replace(low_side, row_high=np.array([INF]))) is None


GOALS = (
    FurtherObjective("first", {0: 1.0, 1: 1.0}, Sense.MAXIMIZE, 1.0, 2.0, 1, 0.1, 0.5),
    FurtherObjective("seen", {0: 5.0}, weight=0.0, constant=1.0),
)


def test_stages_are_minimised_in_order_and_keep_what_was_reached() -> None:
    arrays = model(features=ModelFeatures(goals=GOALS))
    # Twice the negative of (20 + 1), then the own objective within a tenth of 42, which is above the amount of 0.5.
    solver = Scripted(claim([10, 10], bound=-42.0), claim([10, 8], bound=29.0, engine=object()))
    solution = solve_arrays(arrays, SolverOptions(seconds=50.0), solver)
    (first, options, _), (second, later, start) = solver.asked
    assert (first.cost.tolist(), first.constant, first.sense) == ([-2.0, -2.0], -2.0, Sense.MINIMIZE)
    assert (second.cost.tolist(), second.constant, second.sense) == ([1.0, 2.0], 3.0, Sense.MINIMIZE)
    assert second.matrix.to_dense().tolist() == [[1.0, 1.0], [-2.0, -2.0]]
    assert second.row_high.tolist() == [INF, pytest.approx(-42.0 + 4.2 + 2.0)]
    assert second.row_low.tolist() == [4.0, -INF]
    assert start.tolist() == [10, 10]
    assert 0 < later.seconds <= options.seconds <= 50.0
    assert (solution.status, solution.objective, solution.gap) == ("optimal", 29.0, 0.0)
    assert solution.goals == {"first": 19.0, "seen": 51.0}
    assert (solution.bound, solution.row_duals, solution.engine, solution.note) == (None, None, None, "")


def test_duals_of_the_last_of_several_stages_are_none_of_the_model() -> None:
    arrays = model(integer=[False, False], features=ModelFeatures(goals=GOALS))
    prices = np.array([0.0]), np.array([1.0, 0.0])
    first, last = (
        claim(at, row_duals=duals, engine=object()) for at, duals in zip(([10, 10], [10, 8]), prices, strict=True)
    )
    solution = solve_arrays(arrays, solver=Scripted(first, last))
    assert solution.objective == 29.0
    assert (solution.row_duals, solution.engine) == (None, None)


def test_a_stage_that_is_not_proven_leaves_the_solution_unproven() -> None:
    arrays = model(features=ModelFeatures(goals=GOALS))
    for answers, gap in (
        ((claim([10, 10], bound=-84.0), claim([10, 8], bound=29.0)), 1.0),
        ((claim([10, 10], bound=-42.0), claim([10, 8], bound=0.0)), 1.0),
        ((claim([10, 10], bound=-42.0), claim(status=STOPPED, limit=Limit.TIME)), INF),
    ):
        solution = solve_arrays(arrays, solver=Scripted(*answers))
        assert (solution.status, solution.gap) == ("feasible", pytest.approx(gap))
        assert solution.note
    assert (solution.limit, solution.values.tolist(), solution.objective) == (Limit.TIME, [10, 10], 33.0)
    nothing = solve_arrays(arrays, solver=Scripted(claim(status=STOPPED, limit=Limit.TIME, bound=3.0)))
    assert (nothing.status, nothing.bound, nothing.gap, nothing.limit) == ("unknown", None, None, Limit.TIME)
    # Without time, the second stage is not begun.
    solver = Scripted(claim([10, 10], bound=-42.0))
    solution = solve_arrays(arrays, SolverOptions(seconds=0.0), solver)
    assert (solution.status, solution.limit, len(solver.asked)) == ("feasible", Limit.TIME, 1)


def test_objectives_that_are_only_computed_make_no_stage() -> None:
    solver = Scripted(claim([4, 0], bound=7.0))
    solution = solve_arrays(model(features=ModelFeatures(goals=GOALS[1:])), solver=solver)
    assert (solution.status, solution.objective, solution.goals) == ("optimal", 7.0, {"seen": 21.0})


def test_a_goal_after_a_quadratic_objective_is_refused() -> None:
    goals = (replace(GOALS[0], priority=-1),)
    quadratic = ModelFeatures(quadratic=SQUARE.quadratic, goals=goals)
    with pytest.raises(ModellingError):
        solve_arrays(model(features=quadratic), solver=Scripted())
    first = replace(quadratic, goals=GOALS)
    arrays = model(integer=[False, False], features=first)
    solver = Scripted(claim([10, 10], bound=-42.0), claim([4, 6], bound=35.0), claim([4, 6], bound=35.0))
    solve_arrays(arrays, solver=solver)
    assert solver.asked[0][0].features.quadratic == ()
    assert [term.value for term in solver.asked[1][0].features.quadratic] == [1.0]


@pytest.mark.parametrize(
    ("integer", "abilities", "is_able"),
    [
        ([True, True], {Ability.INTEGER}, True),
        ([True, False], {Ability.INTEGER}, False),
        ([False, False], {Ability.INTEGER}, False),
        ([False, False], {Ability.CONTINUOUS}, True),
        ([True, False], {Ability.CONTINUOUS}, False),
        ([True, False], {Ability.CONTINUOUS, Ability.INTEGER}, True),
    ],
)
def test_kinds_of_variables_need_abilities(integer: list[bool], abilities: set[Ability], is_able: bool) -> None:
    solver = Scripted(abilities=abilities)
    if is_able:
        check_abilities(model(integer=np.array(integer)), solver)
    else:
        with pytest.raises(ModellingError):
            check_abilities(model(integer=np.array(integer)), solver)


def test_a_violation_of_exactly_the_tolerance_is_allowed() -> None:
    """Points whose first value is below a limit of 0 by the tolerance, and by a little more."""
    for below, is_feasible in ((FEASIBLE, True), (FEASIBLE * 1.001, False)):
        arrays = model(integer=[False, False], low=np.full(2, -5.0), matrix=Sparse.from_dense(np.array([[1.0, 0.0]])))
        arrays = replace(arrays, row_low=np.zeros(1))
        point = [-below, 2.0]
        assert (solve_arrays(arrays, solver=Scripted(claim(point))).status == "feasible") is is_feasible
        whole = replace(arrays, integer=np.array([False, True]))
        rounded = _rounded_if_feasible(whole, np.array([-below, 2.25]))
        better = polish(whole, np.array([0.0, 3.0]), np.array(point))
        assert (rounded.tolist()[1], better.tolist()[1]) == ((2, 2) if is_feasible else (2.25, 3))
        endless = replace(arrays, cost=np.array([0.0, -1.0]), high=np.full(2, INF))
        ended = solve_arrays(endless, solver=Scripted(claim(status=SolverStatus.UNBOUNDED), claim(point)))
        assert (ended.status == "unbounded") is is_feasible


def test_after_a_stage_that_was_stopped_no_other_one_begins() -> None:
    goals = tuple(replace(GOALS[0], name=name, priority=priority) for name, priority in (("a", 3), ("b", 2)))
    solver = Scripted(claim([10, 10], bound=-42.0), claim(status=STOPPED, limit=Limit.NODES))
    solution = solve_arrays(model(features=ModelFeatures(goals=goals)), solver=solver)
    assert (solution.status, solution.limit, len(solver.asked)) == ("feasible", Limit.NODES, 2)


def test_the_first_missing_ability_by_name_is_reported() -> None:
    with pytest.raises(ModellingError, match=str(Ability.CONTINUOUS)):
        check_abilities(model(integer=np.array([True, False])), Scripted(abilities=set()))
