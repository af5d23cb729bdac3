"""Parameters of Gurobi, its rows with two limits, and what its answers mean."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.model_values import Sense
from oragent.modelling.solving.back_ends import gurobi
from oragent.modelling.solving.back_ends.protocol import Limit, SolverOptions, SolverStatus

INF = np.inf


def arrays(**parts: Any) -> Arrays:
    """Rows: an equation, two limits, at most, at least, none."""
    fields = {
        "sense": Sense.MAXIMIZE, "cost": np.array([1.0, 2.0]), "constant": 0.0, "low": np.zeros(2), "high": np.full(2, 9.0),
        "integer": np.zeros(2, dtype=bool), "matrix": Sparse.from_dense(np.ones((5, 2))),
        "row_low": np.array([1.0, 2.0, -INF, 4.0, -INF]), "row_high": np.array([1.0, 5.0, 3.0, INF, INF]),
    }  # fmt: skip
    return Arrays(**fields | parts)


def test_options_become_parameters_where_they_are_given() -> None:
    model = SimpleNamespace(Params=SimpleNamespace())
    gurobi._set_options(model, SolverOptions(seconds=2.5, gap=0.25, threads=3, nodes=0, iterations=9, seed=11))
    given = {"Threads": 3, "Seed": 11, "MIPGap": 0.25, "MIPGapAbs": 0.0, "NonConvex": 2}
    assert vars(model.Params) == given | {"TimeLimit": 2.5, "NodeLimit": 0, "IterationLimit": 9}
    model = SimpleNamespace(Params=SimpleNamespace())
    gurobi._set_options(model, SolverOptions())
    assert vars(model.Params).keys() == given.keys()


def test_a_row_with_two_limits_is_in_two_blocks_and_has_the_sum_of_their_duals() -> None:
    blocks = gurobi._row_blocks(arrays())
    assert [(rows.tolist(), sense) for rows, sense, _ in blocks] == [([0], "="), ([1, 2], "<"), ([1, 3], ">")]
    assert [limits[rows].tolist() for rows, _, limits in blocks] == [[1], [5, 3], [2, 4]]
    assert gurobi._by_row(arrays(), np.array([10.0, 1, 2, 4, 8])).tolist() == [10, 1 + 4, 2, 8, 0]


def claimed(status: int, count: int = 1, bound: float = 7.0) -> Any:
    values = {"X": [1.0, 2.0], "Pi": [10.0, 1, 2, 4, 8]}
    return SimpleNamespace(
        Status=status, SolCount=count, ObjBound=bound, NodeCount=3, IterCount=4, getVars=list, getConstrs=list,
        getAttr=lambda name, members: values[name],
    )  # fmt: skip


SQUARE = ModelFeatures(quadratic=(QuadraticTerm(0, 0, 1.0),))
WHOLE = np.array([True, False])
# Code of Gurobi, number of points, its bound, the model, and the status, limit, bound, and whether there is a point and duals.
ANSWERS = [
    (2, 1, 7.0, {}, (SolverStatus.OPTIMAL, None, None, True, True)),
    (2, 1, 7.0, {"integer": WHOLE}, (SolverStatus.OPTIMAL, None, 7.0, True, False)),
    (2, 1, 7.0, {"features": SQUARE}, (SolverStatus.OPTIMAL, None, 7.0, True, False)),
    (2, 1, 1e100, {"integer": WHOLE}, (SolverStatus.OPTIMAL, None, None, True, False)),
    (2, 1, -9e99, {"integer": WHOLE}, (SolverStatus.OPTIMAL, None, -9e99, True, False)),
    (3, 0, 7.0, {}, (SolverStatus.INFEASIBLE, None, None, False, False)),
    (4, 1, 7.0, {"integer": WHOLE}, (SolverStatus.INFEASIBLE_OR_UNBOUNDED, None, None, False, False)),
    (5, 1, 7.0, {}, (SolverStatus.UNBOUNDED, None, None, False, False)),
    (9, 1, 7.0, {"integer": WHOLE}, (SolverStatus.STOPPED, Limit.TIME, 7.0, True, False)),
    (9, 0, 7.0, {"integer": WHOLE}, (SolverStatus.STOPPED, Limit.TIME, None, False, False)),
    (7, 1, 7.0, {}, (SolverStatus.STOPPED, Limit.ITERATIONS, None, True, False)),
    (8, 1, 7.0, {}, (SolverStatus.STOPPED, Limit.NODES, None, True, False)),
    (17, 1, 7.0, {}, (SolverStatus.STOPPED, Limit.MEMORY, None, True, False)),
    (13, 1, 7.0, {}, (SolverStatus.STOPPED, Limit.OTHER, None, True, False)),
]


@pytest.mark.parametrize(("status", "count", "bound", "parts", "expected"), ANSWERS)
def test_answers_are_read_by_their_codes(status: int, count: int, bound: float, parts: dict, expected: tuple) -> None:
    result = gurobi._result(claimed(status, count, bound), arrays(**parts), "Gurobi 1")
    has_point, has_duals = result.values is not None, result.row_duals is not None
    assert (result.status, result.limit, result.bound, has_point, has_duals) == expected
    assert (result.solver, result.work) == ("Gurobi 1", {"nodes": 3.0, "iterations": 4.0})
    if has_duals:
        assert result.row_duals.tolist() == [10, 5, 2, 8, 0]
    if has_point:
        assert result.values.tolist() == [1, 2]


@pytest.mark.parametrize("code", [gurobi.TOO_LARGE, 1])
def test_a_refusal_is_one_line(code: int) -> None:
    class Problem(Exception):
        errno = code

    refusal = gurobi._refusal(Problem("two\nlines"), arrays())
    assert isinstance(refusal, ModellingError)
    assert "\n" not in str(refusal)
    assert ("2" in str(refusal)) == (code == gurobi.TOO_LARGE)
