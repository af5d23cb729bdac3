"""What each back end claims of a model: point, bound, duals, limits and counts, for both senses and all kinds of rows."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.features import (
    FurtherObjective,
    Indicator,
    ModelFeatures,
    OrderedSet,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
    SoftRow,
)
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.solving.back_ends.protocol import Ability, Limit, SolverOptions, SolverStatus
from oragent.modelling.solving.back_ends.registry import find_solver, list_solvers
from oragent.modelling.solving.highs import infeasibility_ray, run_highs

INSTALLED = [listing.name for listing in list_solvers() if listing.is_installed]
INF = np.inf
GRID = np.array(list(itertools.product(range(-2, 4), range(5), range(2))), dtype=float)


def able(*abilities: Ability) -> list[str]:
    """Return the installed solvers that have all abilities."""
    return [name for name in INSTALLED if set(abilities) <= find_solver(name).abilities]


def model(sign: int = 1, **more: object) -> Arrays:
    """Three whole variables with a row of two limits, an equation, and a row of each relation."""
    arrays = Arrays(
        Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE,
        sign * np.array([2.0, 3.0, -1.0]),
        7.0,
        np.array([-2.0, 0.0, 0.0]),
        np.array([3.0, 4.0, 1.0]),
        np.ones(3, dtype=bool),
        Sparse.from_dense(np.array([[1.0, 1.0, 0.0], [1.0, -1.0, 1.0], [0.0, 1.0, 2.0], [1.0, 0.0, -1.0]])),
        np.array([1.0, -1.0, 2.0, -INF]),
        np.array([5.0, -1.0, INF, 1.0]),
    )
    return replace(arrays, **more)


def best(arrays: Arrays) -> float | None:
    worths = [arrays.worth_at(point) for point in GRID if arrays.largest_violation(point) <= 1e-9]
    return (min if arrays.sense is Sense.MINIMIZE else max)(worths, default=None)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", able(Ability.INTEGER))
def test_a_whole_model_has_the_best_of_all_points(name: str, sign: int) -> None:
    solver = find_solver(name)
    for arrays in (
        model(sign),
        model(sign, row_high=np.array([2.0, -1.0, INF, 1.0])),
        model(sign, row_low=np.array([4.0, -1.0, 2.0, -INF])),
        model(sign, cost=np.zeros(3)),
        model(-sign),
    ):
        result = solver.solve(arrays, SolverOptions())
        assert (result.status, result.limit) == (SolverStatus.OPTIMAL, None)
        assert arrays.largest_violation(result.values) <= 1e-6
        assert arrays.objective_at(result.values) == pytest.approx(best(arrays))
        assert result.bound == pytest.approx(best(arrays))
        assert result.row_duals is None
        assert solver.version() == result.solver
        assert set(result.work) == {"nodes", "iterations"}
        assert all(count >= 0 for count in result.work.values())


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", able(Ability.CONTINUOUS, Ability.DUALS))
def test_duals_of_a_linear_model_are_slopes_of_its_optimum(name: str, sign: int) -> None:
    solver = find_solver(name)
    # The first row binds at its lower limit, with its upper limit in place if the costs are opposite.
    base = Arrays(
        Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE,
        sign * np.array([2.0, 3.0]),
        7.0,
        np.zeros(2),
        np.array([INF, 8.0]),
        np.zeros(2, dtype=bool),
        Sparse.from_dense(np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 1.0]])),
        np.array([3.0, -1.0, -INF]),
        np.array([9.0, 1.0, 40.0]),
    )
    for arrays, field in ((base, "row_low"), (replace(base, cost=-base.cost), "row_high")):
        result = solver.solve(arrays, SolverOptions())
        assert result.status is SolverStatus.OPTIMAL
        optimum = arrays.objective_at(result.values)
        for row in range(3):
            limits = getattr(arrays, field).copy()
            limits[row] += 0.01
            both = {field: limits}
            if row == 1:
                both = {
                    "row_low": np.array([*arrays.row_low[:1], -0.99, -INF]),
                    "row_high": np.array([9.0, 1.01, 40.0]),
                }
            moved = replace(arrays, **both)
            after = moved.objective_at(solver.solve(moved, SolverOptions()).values)
            assert result.row_duals[row] == pytest.approx((after - optimum) / 0.01, abs=1e-4)
    equal = replace(base, row_low=np.array([3.0, 1.0, -INF]))
    result = solver.solve(equal, SolverOptions())
    assert result.row_duals[:2].tolist() == pytest.approx([sign * 2.5, sign * -0.5], abs=1e-6)


@pytest.mark.parametrize("name", INSTALLED)
def test_models_without_an_optimum_have_no_point(name: str) -> None:
    solver = find_solver(name)
    is_whole = Ability.INTEGER in solver.abilities
    empty = model(row_low=np.array([8.0, -1.0, 2.0, -INF]), row_high=np.array([9.0, -1.0, INF, 1.0]))
    result = solver.solve(empty if is_whole else empty.without_integrality(), SolverOptions())
    assert result.status in (SolverStatus.INFEASIBLE, SolverStatus.INFEASIBLE_OR_UNBOUNDED)
    assert (result.values, result.limit) == (None, None)


@pytest.mark.parametrize("name", able(Ability.INTEGER, Ability.TIME))
def test_no_time_or_no_nodes_end_a_solve_with_their_limit(name: str) -> None:
    solver = find_solver(name)
    rng = np.random.default_rng(1)
    sizes = rng.integers(1000, 9999, (4, 120)).astype(float)
    hard = Arrays(
        Sense.MAXIMIZE, sizes.sum(axis=0), 0.0, np.zeros(120), np.ones(120), np.ones(120, dtype=bool),
        Sparse.from_dense(sizes), np.full(4, -INF), np.floor(sizes.sum(axis=1) / 2),
    )  # fmt: skip
    result = solver.solve(hard, SolverOptions(seconds=0.01))
    if result.status is SolverStatus.STOPPED:
        assert result.limit in (Limit.TIME, Limit.OTHER)
    if Ability.NODES in solver.abilities:
        result = solver.solve(hard, SolverOptions(nodes=1))
        assert (result.status, result.limit) == (SolverStatus.STOPPED, Limit.NODES)
        if result.values is not None:
            assert result.bound >= hard.objective_at(result.values)
    if Ability.GAP in solver.abilities:
        result = solver.solve(hard, SolverOptions(gap=0.5))
        assert result.status is SolverStatus.OPTIMAL
        assert hard.largest_violation(result.values) <= 1e-6


FEATURES = [
    (Ability.QUADRATIC_OBJECTIVE, ModelFeatures(quadratic=(QuadraticTerm(0, 0, 1.5), QuadraticTerm(0, 1, 0.5), QuadraticTerm(1, 0, 0.25), QuadraticTerm(1, 1, 1.0)))),
    (Ability.QUADRATIC_ROWS, ModelFeatures(quadratic_rows=(QuadraticRow("q", {2: 1.0}, (QuadraticTerm(0, 0, 1.0), QuadraticTerm(1, 1, 1.0)), Relation.AT_MOST, 4.5),))),
    (Ability.INDICATORS, ModelFeatures(indicators=(Indicator("i", 2, True, {0: 1.0}, Relation.AT_LEAST, 1.0),))),
    (Ability.INDICATORS, ModelFeatures(indicators=(Indicator("i", 2, False, {0: 1.0, 1: -1.0}, Relation.AT_MOST, -3.0),))),
    (Ability.INDICATORS, ModelFeatures(indicators=(Indicator("i", 2, True, {0: 1.0}, Relation.EQUAL, 1.0), Indicator("j", 2, False, {1: 1.0}, Relation.EQUAL, 3.0)))),
    (Ability.ORDERED_SETS, ModelFeatures(ordered_sets=(OrderedSet("s", 1, {0: 1.0, 1: 2.0, 2: 3.0}),))),
    (Ability.ORDERED_SETS, ModelFeatures(ordered_sets=(OrderedSet("s", 2, {1: 3.0, 0: 1.0, 2: 2.0}),))),
    (Ability.SEMI_CONTINUOUS, ModelFeatures(semi_continuous=(SemiContinuous(0),))),
]  # fmt: skip


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize(
    ("name", "features"),
    [(name, features) for ability, features in FEATURES for name in able(Ability.INTEGER, ability)],
)
def test_parts_that_are_native_have_the_best_of_all_points(name: str, features: ModelFeatures, sign: int) -> None:
    solver = find_solver(name)
    free = {"row_low": np.array([0.0, -4.0, -INF, -INF]), "row_high": np.array([5.0, 2.0, INF, INF])}
    arrays = model(sign, features=features, **free)
    if features.semi_continuous:
        arrays = replace(arrays, low=np.array([1.0, 0.0, 0.0]))
    result = solver.solve(arrays, SolverOptions())
    assert result.status is SolverStatus.OPTIMAL
    assert arrays.objective_at(result.values) == pytest.approx(best(arrays), abs=1e-5)
    assert arrays.largest_violation(result.values) <= 1e-5


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("name", able(Ability.INTEGER))
def test_a_start_may_be_feasible_or_not(name: str, sign: int) -> None:
    solver = find_solver(name)
    arrays = model(sign)
    for start in ([1.0, 2.0, 0.0], [9.0, 9.0, 9.0]):
        result = solver.solve(arrays, SolverOptions(), np.array(start))
        assert arrays.objective_at(result.values) == pytest.approx(best(arrays))


def test_highs_refuses_what_is_not_linear() -> None:
    for features in (
        ModelFeatures(soft_rows=(SoftRow(0, 1.0),)),
        ModelFeatures(goals=(FurtherObjective("g", {0: 1.0}),)),
        FEATURES[2][1],
    ):
        with pytest.raises(ModellingError):
            run_highs(model(features=features))
    assert (
        run_highs(model(features=ModelFeatures(goals=(FurtherObjective("g", {0: 1.0}, weight=0.0),)))).values
        is not None
    )


def test_highs_takes_threads_iterations_and_seeds() -> None:
    arrays = model().without_integrality()
    plain = run_highs(arrays)
    assert run_highs(arrays, SolverOptions(threads=2, seed=5)).values.tolist() == pytest.approx(plain.values.tolist())
    wide = Arrays(
        Sense.MINIMIZE, np.arange(1.0, 41.0), 0.0, np.zeros(40), np.full(40, INF), np.zeros(40, dtype=bool),
        Sparse.from_dense(np.tril(np.ones((40, 40)))), np.arange(1.0, 41.0), np.full(40, INF),
    )  # fmt: skip
    stopped = run_highs(replace(wide, cost=wide.cost[::-1].copy()), SolverOptions(iterations=0))
    assert (stopped.status, stopped.limit) in ((SolverStatus.STOPPED, Limit.ITERATIONS), (SolverStatus.OPTIMAL, None))
    assert run_highs(wide, SolverOptions(threads=1)).status is SolverStatus.OPTIMAL


@pytest.mark.parametrize("sign", [1, -1])
def test_multipliers_prove_that_a_linear_programme_has_no_point(sign: int) -> None:
    base = model(sign).without_integrality()
    assert infeasibility_ray(base) is None
    empty = replace(base, row_low=np.array([8.0, -1.0, 2.0, -INF]), row_high=np.array([9.0, -1.0, INF, 1.0]))
    rays = [infeasibility_ray(empty), infeasibility_ray(empty, 10.0)]
    for ray in rays:
        assert len(ray) == 4
        # The weighted sum of rows exceeds, at its most over the box, what its limits ask for at least.
        sums = abs(ray).max()
        for weights in (ray / sums, -ray / sums):
            row = weights @ empty.matrix
            most = float(np.where(row > 0, row * empty.high, row * empty.low).sum())
            sides = np.where(weights > 0, empty.row_low, empty.row_high)
            least = float((weights[weights != 0] * sides[weights != 0]).sum())
            if least > most + 1e-6:
                break
        else:
            raise AssertionError(ray)


@pytest.mark.parametrize("name", INSTALLED)
def test_solvers_print_nothing(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    solver = find_solver(name)
    arrays = model() if Ability.INTEGER in solver.abilities else model().without_integrality()
    assert solver.solve(arrays, SolverOptions()).values is not None
    assert capfd.readouterr() == ("", "")
