"""The inverse makes a point optimal, and with no smaller change."""

import itertools
import json
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import ModelSession
from oragent.modelling.solving.back_ends.highs import HighsSolver
from oragent.modelling.solving.back_ends.protocol import SolverOptions, SolverResult, SolverStatus
from oragent.modelling.solving.inverse_costs import inverse_costs
from oragent.modelling.solving.model_solving import point_vector, solve
from tests.modelling.models import models, pharmacy, steel


@dataclass(frozen=True)
class Inverse:
    change: float
    coefficients: dict[str, float]


def inverse(milp: IndexedModel, values: dict[str, float]) -> Inverse:
    costs = inverse_costs(milp.to_staged_arrays(), point_vector(milp, values))
    assert costs is not None
    before = [milp.objective_record.terms.get(one.name, 0.0) for one in milp.variable_records]
    steps = zip(milp.variable_records, before, costs.tolist(), strict=True)
    changed = {one.name: new for one, old, new in steps if abs(new - old) > 1e-9 * max(1.0, abs(old))}
    return Inverse(float(np.abs(costs - before).sum()), changed)


def with_costs(milp: IndexedModel, changed: dict[str, float]) -> IndexedModel:
    return milp.with_records(
        objective=replace(milp.objective_record, terms=dict(milp.objective_record.terms) | changed)
    )


def worth(milp: IndexedModel, point: dict[str, float]) -> float:
    return (
        sum(cost * point[name] for name, cost in milp.objective_record.terms.items()) + milp.objective_record.constant
    )


def test_steel_rolls_coils_where_plate_earns_no_more_an_hour() -> None:
    """Coils earn 30 * 140 = 4200 an hour, plate 29 * 160 = 4640: a cut of plate is cheaper than a rise of coils."""
    found = inverse(steel(), {"bands": 6000, "plate": 750, "coils": (40 - 30 - 750 / 160) * 140})
    assert found.coefficients == {"plate": pytest.approx(4200 / 160)}
    assert found.change == pytest.approx(2.75)


def test_an_optimal_point_needs_no_change() -> None:
    assert inverse(steel(), solve(steel()).values).change == 0
    assert inverse(pharmacy(), solve(pharmacy()).values).coefficients == {}


@pytest.mark.parametrize(
    ("point", "told"), [({"painkillers": 330, "sleeping pills": 0}, "morphine"), ({"salt": 1}, "'salt'")]
)
def test_a_point_that_breaks_the_model_is_refused(point: dict[str, float], told: str, tmp_path: Path) -> None:
    (tmp_path / "point.json").write_text(json.dumps(point))
    with pytest.raises(ModellingError, match=f"point.json.*{told}"):
        ModelSession(group_by_names(pharmacy()), folder=tmp_path).ask('inverse "point.json"')


@given(models(integers=False), st.integers(0, 2**32 - 1))
def test_a_vertex_of_a_linear_programme_becomes_optimal(milp: IndexedModel, seed: int) -> None:
    costs = np.random.default_rng(seed).integers(-5, 6, milp.shape[1])
    other = with_costs(milp, {one.name: float(cost) for one, cost in zip(milp.variable_records, costs, strict=True)})
    target = solve(other)
    assume(target.status is SolveStatus.OPTIMAL)
    found = inverse(milp, target.values)
    changed = with_costs(milp, found.coefficients)
    again = solve(changed)
    assert again.status is SolveStatus.OPTIMAL
    assert again.objective == pytest.approx(worth(changed, target.values), abs=1e-5)
    before = milp.to_staged_arrays().cost
    assert found.change <= np.abs(costs - before).sum() + 1e-6


@settings(max_examples=40)
@given(models(box=True, columns=2, rows=2), st.randoms(use_true_random=False))
def test_cuts_agree_with_the_cheapest_over_all_points(milp: IndexedModel, random) -> None:
    whole = milp.with_records(variables=tuple(replace(one, kind=VariableKind.INTEGER) for one in milp.variable_records))
    names = [one.name for one in whole.variable_records]
    grids = [range(int(one.low), int(one.high) + 1) for one in whole.variable_records]
    points = [dict(zip(names, map(float, point), strict=True)) for point in itertools.product(*grids)]
    feasible = [
        point
        for point in points
        if all(
            low <= sum(c * point[name] for name, c in row.terms.items()) <= high
            for row in whole.row_records
            for low, high in [row.limits]
        )
    ]
    assume(feasible)
    target = random.choice(feasible)
    found = inverse(whole, target)
    changed = with_costs(whole, found.coefficients)
    assert solve(changed).objective == pytest.approx(worth(changed, target), abs=1e-5)
    assert found.change == pytest.approx(_cheapest(whole, target, feasible), abs=1e-5)


def _cheapest(milp: IndexedModel, target: dict[str, float], feasible: list[dict[str, float]]) -> float:
    """One linear programme with a row for every feasible point."""
    sign = milp.sense.sign
    variables = [Variable(f"{side} {name}") for name in target for side in ("up", "down")]
    rows = []
    for place, point in enumerate(feasible):
        step = {name: point[name] - target[name] for name in target}
        terms = {f"{side} {name}": sign * s * step[name] for name in target for side, s in (("up", 1), ("down", -1))}
        now = sign * sum(cost * step[name] for name, cost in milp.objective_record.terms.items())
        rows.append(Row(f"r{place}", terms, Relation.AT_LEAST, -now))
    return solve(
        IndexedModel.from_records(variables, rows, Objective({one.name: 1 for one in variables}), Sense.MINIMIZE)
    ).objective


def test_a_direction_without_end_is_cut_off() -> None:
    milp = IndexedModel.from_records(
        [Variable("x", kind=VariableKind.INTEGER)], [], Objective({"x": 3}), Sense.MAXIMIZE
    )
    assert inverse(milp, {"x": 0}).coefficients == {"x": pytest.approx(0)}


def test_without_time_nothing_is_claimed() -> None:
    milp = pharmacy()
    point = point_vector(milp, {"painkillers": 100, "sleeping pills": 300})
    assert inverse_costs(milp.to_staged_arrays(), point, limit_s=0) is None


@pytest.mark.parametrize("sense", [Sense.MINIMIZE, Sense.MAXIMIZE])
@pytest.mark.parametrize(("point", "change"), [((4.0, 1.0), 8 + 1), ((1.0, 1.0), 0.0), ((1.5, 0.5), 3.0)])
def test_the_tangent_of_a_convex_objective_gives_the_least_change(
    sense: Sense, point: tuple[float, float], change: float
) -> None:
    """The gradient of x + y + x² + y² - x y at (4, 1) is (8, -1), and at (1.5, 0.5) it is (3.5, 0.5)."""
    sign = sense.sign
    terms = (("x", "x", 1.0), ("y", "y", 1.0), ("x", "y", -1.0))
    features = ModelFeatures(quadratic=tuple(QuadraticTerm(one, other, sign * value) for one, other, value in terms))
    row = Row("least", {"x": 1.0, "y": 1.0}, Relation.AT_LEAST, 2.0)
    objective = Objective({"x": sign, "y": sign})
    milp = IndexedModel.from_records((Variable("x"), Variable("y")), (row,), objective, sense, features=features)
    solution = inverse(milp, dict(zip("xy", point, strict=True)))
    assert solution.change == pytest.approx(change, abs=1e-6)
    again = solve(with_costs(milp, solution.coefficients))
    assert list(again.values.values()) == pytest.approx(point, abs=1e-3)
    whole = milp.with_records(variables=tuple(replace(one, kind=VariableKind.INTEGER) for one in milp.variable_records))
    with pytest.raises(ModellingError):
        inverse(whole, dict(zip("xy", (1.0, 1.0), strict=True)))


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize("as_row", [True, False])
@pytest.mark.parametrize(
    ("limit", "room", "is_tight"), [(0.5, 0.9e-6, True), (0.5, 1.1e-6, False), (1e6, 0.9, True), (1e6, 1.1, False)]
)
def test_a_point_is_at_a_limit_within_the_tolerance(
    sense: Sense, as_row: bool, limit: float, room: float, is_tight: bool
) -> None:
    rows = [Row("r", {"x": 1}, Relation.AT_MOST, limit)] if as_row else []
    x = Variable("x", 0, np.inf if as_row else limit)
    milp = IndexedModel.from_records([x], rows, Objective({"x": -3 * sense.sign}), sense)
    assert inverse(milp, {"x": limit - room}).change == pytest.approx(0 if is_tight else 3)


@pytest.mark.parametrize("status", [SolverStatus.STOPPED, SolverStatus.INFEASIBLE])
def test_a_search_that_is_not_finished_settles_nothing(status: SolverStatus, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopped(HighsSolver):
        def solve(self, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
            return replace(super().solve(arrays, options, start), status=status)

    milp = pharmacy()
    point = point_vector(milp, solve(milp).values)
    assert inverse_costs(milp.to_staged_arrays(), point) is not None
    monkeypatch.setattr("oragent.modelling.solving.inverse_costs.find_solver", lambda name: Stopped())
    assert inverse_costs(milp.to_staged_arrays(), point) is None


@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("room", "is_tight"), [(1e-6, True), (1.001e-6, False)])
def test_a_point_at_the_tolerance_from_a_limit_is_at_it(side: int, room: float, is_tight: bool) -> None:
    x = Variable("x", *sorted((0.0, -side)))
    milp = IndexedModel.from_records([x], [], Objective({"x": -3 * side}), Sense.MINIMIZE)
    assert inverse(milp, {"x": -side * room}).change == pytest.approx(0 if is_tight else 3)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(("loss", "change"), [(5, 0), (20, 1)])
def test_a_whole_point_is_optimal_within_the_tolerance_of_its_worth(sense: Sense, loss: float, change: float) -> None:
    x = Variable("x", 0, 1e7, VariableKind.INTEGER)
    milp = IndexedModel.from_records([x], [], Objective({"x": -sense.sign}), sense)
    assert inverse(milp, {"x": 1e7 - loss}).change == pytest.approx(change)
