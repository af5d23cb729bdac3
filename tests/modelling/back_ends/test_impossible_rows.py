"""Rows that no whole numbers fulfil, for which CP-SAT has no answer beside an indicator."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oragent.modelling.data.arrays import FEASIBLE
from oragent.modelling.data.features import Indicator, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.solving.back_ends.mathopt import has_impossible_row
from oragent.modelling.solving.model_solving import solve

WHOLE = VariableKind.INTEGER


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=3), st.sampled_from(Relation), st.floats(-9, 9))
def test_a_row_is_impossible_if_no_point_of_a_wide_grid_fulfils_it(
    coefficients: list[int], relation: Relation, rhs: float
) -> None:
    names = "xyz"[: len(coefficients)]
    row = Row("row", dict(zip(names, map(float, coefficients), strict=True)), relation, rhs)
    milp = IndexedModel.from_records(
        tuple(Variable(name, -40, 40, WHOLE) for name in names),
        (Row("first", {"x": 3.0}, Relation.AT_MOST, 9), row, Row("last", {"x": 2.0}, Relation.AT_LEAST, -5)),
        Objective({}),
        Sense.MINIMIZE,
    )
    # Steps of 1 reach every multiple of the divisor up to 40.
    values = {
        sum(c * x for c, x in zip(coefficients, point, strict=True))
        for point in itertools.product(range(-12, 13), repeat=len(names))
    }
    low, high = row.limits
    is_possible = any(low - FEASIBLE <= value <= high + FEASIBLE for value in values)
    if any(coefficients):
        assert has_impossible_row(milp.to_staged_arrays()) is not is_possible
    else:
        assert not (is_possible and has_impossible_row(milp.to_staged_arrays()))


@pytest.mark.parametrize(("rhs", "status"), [(1.0, "infeasible"), (2.0, "optimal")])
def test_cp_sat_answers_beside_an_indicator(rhs: float, status: str) -> None:
    pytest.importorskip("ortools")
    milp = IndexedModel.from_records(
        (Variable("a", 0, 1, WHOLE), Variable("x", -2, 3, WHOLE), Variable("z", 0, 4, WHOLE)),
        (Row("even", {"x": 2.0, "z": 2.0}, Relation.EQUAL, rhs),),
        Objective({"x": 1.0}),
        Sense.MINIMIZE,
        features=ModelFeatures(indicators=(Indicator("if", "a", False, {"x": 1.0}, Relation.AT_MOST, 0.0),)),
    )
    assert solve(milp, solver="cp-sat").status == status
    assert not has_impossible_row(
        IndexedModel.from_records(
            (Variable("x", 0, 9),), (Row("r", {"x": 2.0}, Relation.EQUAL, 1.0),), Objective({}), Sense.MINIMIZE
        ).to_staged_arrays()
    )


@pytest.mark.parametrize(
    ("rhs", "status"), [(sum([0.1] * 30), "optimal"), (3.0 - 1e-9, "optimal"), (3.001, "infeasible")]
)
def test_cp_sat_takes_a_right_hand_side_with_rounding_errors(rhs: float, status: str) -> None:
    pytest.importorskip("ortools")
    variables = (Variable("x", 0, 9, WHOLE), Variable("y", 0, 2, WHOLE))
    row = Row("sum", {"x": 1.0, "y": 1.0}, Relation.EQUAL, rhs)
    milp = IndexedModel.from_records(variables, (row,), Objective({"x": 1.0, "y": 2.0}), Sense.MAXIMIZE)
    solution = solve(milp, solver="cp-sat")
    assert solution.status == solve(milp).status == status
    assert solution.objective == (pytest.approx(5.0) if status == "optimal" else None)
