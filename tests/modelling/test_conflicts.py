"""A conflict is infeasible, and each of its proper subsets is not."""

from dataclasses import replace

import pytest
from hypothesis import assume, given

from oragent._base.errors import ModellingError
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations.flat_conflicts import ModelPart, Side, conflict, nearest
from oragent.modelling.solving.flat_solving import solve
from tests.modelling.models import models, pharmacy, steel

ROW, LOW, HIGH = Side


def everything(milp: Milp) -> set[ModelPart]:
    bounds = {ModelPart(LOW, one.name) for one in milp.variables if one.low > -float("inf")}
    bounds |= {ModelPart(HIGH, one.name) for one in milp.variables if one.high < float("inf")}
    return bounds | {ModelPart(ROW, row.name) for row in milp.rows}


def infeasible(milp: Milp) -> bool:
    return solve(replace(milp, objective=Objective()), limit_s=5).status is SolveStatus.INFEASIBLE


def without_parts(milp: Milp, gone: set[ModelPart]) -> Milp:
    variables = tuple(
        replace(
            one,
            low=-float("inf") if ModelPart(LOW, one.name) in gone else one.low,
            high=float("inf") if ModelPart(HIGH, one.name) in gone else one.high,
        )
        for one in milp.variables
    )
    return replace(milp, variables=variables, rows=[row for row in milp.rows if ModelPart(ROW, row.name) not in gone])


@pytest.mark.slow
@given(models())
def test_a_conflict_is_infeasible_and_every_proper_subset_feasible(milp: Milp) -> None:
    assume(infeasible(milp))
    found = conflict(milp)
    rest = everything(milp) - set(found.parts)
    alone = solve(replace(without_parts(milp, rest), objective=Objective()), limit_s=2).status
    # Without bounds the search for whole numbers may have no end, though presolve showed that there are none.
    assert alone is SolveStatus.INFEASIBLE or (milp.has_integers and alone is SolveStatus.UNKNOWN)
    if not found.irreducible:
        assert milp.has_integers
        return
    for part in found.parts:  # a smaller subset is feasible where a larger one is
        assert solve(replace(without_parts(milp, rest | {part}), objective=Objective())).status is SolveStatus.OPTIMAL


def test_steel_in_too_few_hours() -> None:
    found = conflict(steel(hours=12))
    assert found.parts == (
        ModelPart(ROW, "hours"),
        ModelPart(LOW, "bands"),
        ModelPart(LOW, "coils"),
        ModelPart(LOW, "plate"),
    )
    assert found.rows == ("hours",)


def test_a_fraction_between_bounds_is_a_conflict_of_the_bounds() -> None:
    milp = Milp([Variable("x", 0.2, 0.8, VariableKind.INTEGER)], [], Objective(), Sense.MINIMIZE)
    assert conflict(milp).parts == (ModelPart(LOW, "x"), ModelPart(HIGH, "x"))


def test_parity_is_a_conflict_of_an_integer_model_alone() -> None:
    """The relaxation is feasible, so that a linear certificate finds nothing."""
    variables = [Variable(name, 0, 10, VariableKind.INTEGER) for name in "xy"]
    odd = Row("odd", {"x": 2, "y": 2}, Relation.EQUAL, 7)
    roomy = Row("roomy", {"x": 1, "y": 1}, Relation.AT_MOST, 30)
    milp = Milp(variables, [roomy, odd], Objective(), Sense.MINIMIZE)
    assert conflict(milp).rows == ("odd",)


def test_a_feasible_model_has_no_conflict() -> None:
    with pytest.raises(ModellingError, match="not proven infeasible"):
        conflict(pharmacy())


def test_without_time_nothing_is_claimed() -> None:
    with pytest.raises(ModellingError, match="not proven infeasible"):
        conflict(steel(hours=12), limit_s=0.0)


def test_one_conflict_among_many_rows_is_found() -> None:
    variables = [Variable(f"x{place}", 0, 9) for place in range(300)]
    rows = [Row(f"r{place}", {f"x{place}": 1}, Relation.AT_MOST, 5) for place in range(300)]
    rows.insert(150, Row("too much", {"x70": 1}, Relation.AT_LEAST, 6))
    assert conflict(Milp(variables, rows, Objective(), Sense.MINIMIZE)).rows == ("r70", "too much")


def test_the_nearest_hours_of_steel() -> None:
    found = nearest(steel(hours=12))
    needed = 1000 / 200 + 500 / 140 + 750 / 160
    assert found.status is SolveStatus.OPTIMAL
    assert found.needed == {"hours": pytest.approx(needed)}
    assert found.total == pytest.approx(needed - 12)


def test_only_the_rows_named_give_way() -> None:
    tight = steel(hours=12, bounds_as_rows=True)
    assert set(nearest(tight).needed) <= {row.name for row in tight.rows}
    bands = nearest(tight, ["least bands"])
    assert bands.needed == {"least bands": pytest.approx(200 * (12 - 500 / 140 - 750 / 160))}
    assert nearest(tight, ["most bands"]).status is SolveStatus.INFEASIBLE
    with pytest.raises(ModellingError, match="the model has no row 'salt'"):
        nearest(tight, ["salt"])


@pytest.mark.slow
@given(models())
def test_with_the_nearest_right_hand_sides_a_model_is_feasible(milp: Milp) -> None:
    found = nearest(milp)
    if found.status is SolveStatus.INFEASIBLE:  # the bounds alone leave no point
        assert infeasible(replace(milp, rows=()))
        return
    rows = tuple(replace(row, rhs=found.needed.get(row.name, row.rhs)) for row in milp.rows)
    assert found.status is SolveStatus.OPTIMAL
    assert not infeasible(replace(milp, rows=rows))
    assert (found.total > 0) == infeasible(milp)


@pytest.mark.slow
@given(models(box=True, columns=2, rows=3))
def test_no_point_of_a_box_is_nearer(milp: Milp) -> None:
    whole = replace(milp, variables=tuple(replace(one, kind=VariableKind.INTEGER) for one in milp.variables))
    totals = [0.0]
    points: list[dict[str, float]] = [{}]
    for one in whole.variables:
        points = [point | {one.name: value} for point in points for value in range(int(one.low), int(one.high) + 1)]
    totals = []
    for point in points:
        sides = [(sum(c * point[name] for name, c in row.terms.items()), row.limits) for row in whole.rows]
        totals.append(sum(max(0.0, low - side, side - high) for side, (low, high) in sides))
    assert nearest(whole).total == pytest.approx(min(totals))
