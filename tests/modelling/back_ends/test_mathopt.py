"""Parameters of MathOpt's solvers, and the two attempts of CP-SAT with values up to a largest one."""

import time
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.features import Indicator, ModelFeatures, OrderedSet, QuadraticRow, QuadraticTerm
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.solving.back_ends import mathopt
from oragent.modelling.solving.back_ends.mathopt import LARGEST, LARGEST_AGAIN, QUADRATIC_GAP, MathOptSolver, _touches
from oragent.modelling.solving.back_ends.protocol import Ability, Limit, SolverOptions, SolverResult, SolverStatus

pytest.importorskip("ortools")

INF = np.inf
KINDS = {kind.name: kind for kind in mathopt.MATHOPT_SOLVERS}
OPTIMAL, STOPPED, NONE = SolverStatus.OPTIMAL, SolverStatus.STOPPED, SolverStatus.INFEASIBLE


def arrays(low: float = 0.0, high: float = INF, **parts: Any) -> Arrays:
    fields = {
        "sense": Sense.MAXIMIZE, "cost": np.array([1.0, 2.0]), "constant": 0.0, "low": np.array([low, 0.0]),
        "high": np.array([high, 5.0]), "integer": np.ones(2, dtype=bool), "matrix": Sparse.from_dense(np.ones((1, 2))),
        "row_low": np.array([-INF]), "row_high": np.array([INF]),
    }  # fmt: skip
    return Arrays(**fields | parts)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("features", [
    ModelFeatures(), ModelFeatures(quadratic=(QuadraticTerm(0, 0, 1.0),)),
    ModelFeatures(quadratic_rows=(QuadraticRow("q", {}, (QuadraticTerm(0, 0, 1.0),), Relation.AT_MOST, 1.0),)),
])  # fmt: skip
def test_options_become_the_parameters_that_a_solver_has(name: str, features: ModelFeatures) -> None:
    solver = MathOptSolver(KINDS[name])
    has = {ability: ability in solver.abilities for ability in Ability}
    options = SolverOptions(seconds=2.5, gap=1e-9, threads=3, nodes=7, iterations=9, seed=11)
    given = solver._parameters(arrays(features=features), options)
    fields = {field.name for field, _ in given.ListFields()}
    assert given.time_limit.ToTimedelta().total_seconds() == 2.5
    for field, ability, value in (
        ("random_seed", Ability.SEED, 11), ("threads", Ability.THREADS, 3), ("node_limit", Ability.NODES, 7),
        ("iteration_limit", Ability.ITERATIONS, 9),
    ):  # fmt: skip
        assert (field in fields) == has[ability]
        assert not has[ability] or getattr(given, field) == value
    assert ("relative_gap_tolerance" in fields) == ("absolute_gap_tolerance" in fields) == has[Ability.GAP]
    if has[Ability.GAP]:
        gaps = (given.relative_gap_tolerance, given.absolute_gap_tolerance)
        assert gaps == ((QUADRATIC_GAP, QUADRATIC_GAP) if features else (1e-9, 0.0))
        wide = solver._parameters(arrays(features=features), replace(options, gap=0.5))
        assert wide.relative_gap_tolerance == 0.5
    few = {field.name for field, _ in solver._parameters(arrays(), SolverOptions()).ListFields()}
    assert not {"time_limit", "node_limit", "iteration_limit"} & few
    criteria = given.pdlp.termination_criteria.simple_optimality_criteria
    expected = mathopt.PDLP_TOLERANCE if name == "pdlp" else 0.0
    if name == "pdlp":
        assert (criteria.eps_optimal_relative, criteria.eps_optimal_absolute) == (expected, expected)
    else:
        assert "pdlp" not in fields


def answer(status: SolverStatus, value: float | None = None, **more: Any) -> SolverResult:
    return SolverResult(status, "CP-SAT", None if value is None else np.array([value, 1.0]), **more)


# Bounds of the first variable, answers of the attempts, and the status and value of the result.
ATTEMPTS = [
    ((0.0, 9.0), [answer(OPTIMAL, 9.0)], (OPTIMAL, 9.0)),
    ((0.0, LARGEST), [answer(OPTIMAL, LARGEST)], (OPTIMAL, LARGEST)),
    ((-LARGEST, 0.0), [answer(NONE)], (NONE, None)),
    ((0.0, INF), [answer(OPTIMAL, 9.0)], (OPTIMAL, 9.0)),
    ((-INF, 9.0), [answer(OPTIMAL, -9.0)], (OPTIMAL, -9.0)),
    ((0.0, INF), [answer(STOPPED, limit=Limit.TIME)], (STOPPED, None)),
    ((0.0, INF), [answer(NONE), answer(OPTIMAL, 1e8)], (OPTIMAL, 1e8)),
    ((0.0, INF), [answer(NONE), answer(NONE)], (NONE, None)),
    ((0.0, INF), [answer(STOPPED, limit=Limit.OTHER), answer(NONE)], (NONE, None)),
    ((0.0, INF), [answer(NONE), answer(STOPPED)], (NONE, None)),
    ((0.0, INF), [answer(OPTIMAL, LARGEST), answer(OPTIMAL, 2e7)], (OPTIMAL, 2e7)),
    ((-INF, 0.0), [answer(OPTIMAL, -LARGEST), answer(OPTIMAL, -2e7)], (OPTIMAL, -2e7)),
    ((0.0, INF), [answer(OPTIMAL, LARGEST), answer(OPTIMAL, LARGEST_AGAIN)], (SolverStatus.INFEASIBLE_OR_UNBOUNDED, None)),
    ((-INF, 0.0), [answer(OPTIMAL, -LARGEST), answer(OPTIMAL, -LARGEST_AGAIN)], (SolverStatus.INFEASIBLE_OR_UNBOUNDED, None)),
    ((0.0, INF), [answer(OPTIMAL, LARGEST, bound=3.0), answer(STOPPED, limit=Limit.TIME)], (STOPPED, LARGEST)),
]  # fmt: skip


@pytest.mark.parametrize(("bounds", "answers", "expected"), ATTEMPTS)
@pytest.mark.parametrize("seconds", [None, 9.0])
def test_larger_values_are_tried_where_the_first_ones_do_not_settle_the_model(
    bounds: tuple, answers: list, expected: tuple, seconds: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, calls = [100.0], []
    solver = MathOptSolver(KINDS["cp-sat"])

    def solve_within(model: Arrays, options: SolverOptions, start: Any, largest: float | None = None) -> SolverResult:
        calls.append((options.seconds, largest))
        now[0] += 4.0
        return answers[len(calls) - 1]

    monkeypatch.setattr(solver, "_solve_within", solve_within)
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    result = solver.solve(arrays(*bounds), SolverOptions(seconds))
    assert (result.status, None if result.values is None else result.values[0]) == expected
    left = None if seconds is None else 5.0
    assert calls == [(seconds, LARGEST), (left, LARGEST_AGAIN)][: len(answers)]
    if expected == (STOPPED, LARGEST):
        assert (result.bound, result.limit) == (None, Limit.TIME)
    if result.status is SolverStatus.INFEASIBLE_OR_UNBOUNDED:
        assert result.bound is None


@pytest.mark.parametrize(
    ("low", "high", "value", "expected"),
    [
        (0.0, INF, 10.0, True), (0.0, INF, 9.9, False), (0.0, 10.0, 10.0, False), (0.0, 10.5, 10.0, True), (-INF, 0.0, -10.0, True),
        (-INF, 0.0, -9.9, False), (-10.0, 0.0, -10.0, False), (-10.5, 0.0, -10.0, True), (-INF, INF, 0.0, False), (0.0, INF, None, False),
    ],
)  # fmt: skip
def test_a_value_touches_the_largest_one_if_the_model_allows_more(
    low: float, high: float, value: float | None, expected: bool
) -> None:
    assert _touches(arrays(low, high), answer(OPTIMAL, value), 10.0) is expected


def test_other_solvers_have_one_attempt_without_a_largest_value(monkeypatch: pytest.MonkeyPatch) -> None:
    solver, calls = MathOptSolver(KINDS["scip"]), []
    monkeypatch.setattr(solver, "_solve_within", lambda *given: calls.append(given) or answer(NONE))
    assert solver.solve(arrays(), SolverOptions(), np.ones(2)).status is NONE
    assert [len(given) for given in calls] == [3]


def test_parts_have_their_columns_weights_and_limits() -> None:
    features = ModelFeatures(
        ordered_sets=(OrderedSet("a", 1, {1: 2.0, 0: 1.0}), OrderedSet("b", 2, {0: 5.0, 1: 6.0})),
        indicators=(
            Indicator("i", 0, True, {1: 3.0, 0: 0.0}, Relation.EQUAL, 2.0),
            Indicator("j", 1, False, {0: 1.0}, Relation.AT_LEAST, 4.0),
        ),
    )
    filled = mathopt.fill_model(arrays(features=features))
    for made, weights in ((filled.sos1_constraints[0], [1.0, 2.0]), (filled.sos2_constraints[1], [5.0, 6.0])):
        members = [(list(member.ids), list(member.coefficients)) for member in made.expressions]
        assert members == [([0], [1.0]), ([1], [1.0])]
        assert list(made.weights) == weights
    assert (len(filled.sos1_constraints), len(filled.sos2_constraints)) == (1, 1)
    rows = [
        (row.indicator_id, row.activate_on_zero, row.lower_bound, row.upper_bound, list(row.expression.ids))
        for _, row in sorted(filled.indicator_constraints.items())
    ]
    assert rows == [(0, False, -INF, 2.0, [1]), (0, False, 2.0, INF, [1]), (1, True, 4.0, INF, [0])]


def test_counts_of_a_solve_are_summed() -> None:
    stats = SimpleNamespace(simplex_iterations=3, barrier_iterations=4, first_order_iterations=5, node_count=2)
    termination = SimpleNamespace(objective_bounds=SimpleNamespace(dual_bound=7.0))
    ended = SimpleNamespace(solutions=[], termination=termination, solve_stats=stats)
    result = MathOptSolver(KINDS["scip"])._result(arrays(), ended, "NO_SOLUTION_FOUND", "TIME", "SCIP 1")
    assert (result.status, result.limit, result.bound, result.values) == (STOPPED, Limit.TIME, 7.0, None)
    assert result.work == {"nodes": 2.0, "iterations": 12.0}
    assert mathopt._dense(SimpleNamespace(ids=[], values=[]), 2).tolist() == [0.0, 0.0]
    assert mathopt._dense(SimpleNamespace(ids=[1], values=[4.0]), 2).tolist() == [0.0, 4.0]
