"""CP-SAT with optima beyond the largest values that it tries at first."""

import math

import pytest

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve

WHOLE = VariableKind.INTEGER


def sum_of_two(relation: Relation, rhs: float, sense: Sense, high: float = math.inf) -> IndexedModel:
    variables = (Variable("x", 0, high, WHOLE), Variable("y", 0, high, WHOLE))
    row = Row("sum", {"x": 1.0, "y": 1.0}, relation, rhs)
    return IndexedModel.from_records(variables, (row,), Objective({"x": 2.0, "y": 1.0}), sense)


@pytest.mark.parametrize(
    ("milp", "optimum"),
    [
        (sum_of_two(Relation.AT_MOST, 8e7, Sense.MAXIMIZE, 5e7), 13e7),
        (sum_of_two(Relation.AT_MOST, 8e7 + 1, Sense.MAXIMIZE), 16e7 + 2),
        (sum_of_two(Relation.AT_LEAST, 3e7, Sense.MINIMIZE), 3e7),
        (sum_of_two(Relation.AT_MOST, 9, Sense.MAXIMIZE), 18),
        (sum_of_two(Relation.AT_LEAST, 9, Sense.MAXIMIZE, 1e7), 3e7),
    ],
)
def test_an_optimum_at_large_values(milp: IndexedModel, optimum: float) -> None:
    pytest.importorskip("ortools")
    solution = solve(milp, solver="cp-sat")
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.objective == optimum


@pytest.mark.parametrize(
    ("milp", "status"),
    [
        (sum_of_two(Relation.AT_LEAST, 9, Sense.MAXIMIZE), SolveStatus.UNBOUNDED),
        (sum_of_two(Relation.AT_MOST, -9, Sense.MAXIMIZE), SolveStatus.INFEASIBLE),
        (sum_of_two(Relation.AT_LEAST, 9e7, Sense.MAXIMIZE, 4e7), SolveStatus.INFEASIBLE),
    ],
)
def test_no_optimum_with_variables_without_bounds(milp: IndexedModel, status: SolveStatus) -> None:
    pytest.importorskip("ortools")
    assert solve(milp, solver="cp-sat").status is status
