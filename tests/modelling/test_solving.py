"""Statuses, points, bounds and duals hold against brute force, other solvers and finite differences."""

import itertools
import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Solution, SolveStatus, Source, ValueRange
from oragent.modelling.solving import highs, model_solving
from oragent.modelling.solving.array_solving import NO_OPTIMUM, solve_arrays
from oragent.modelling.solving.back_ends import highs as highs_back_end
from oragent.modelling.solving.back_ends.protocol import SolverResult, SolverStatus
from oragent.modelling.solving.model_solving import add_duals, evaluate_point, ray, solve
from tests.modelling.models import models, pharmacy, steel

X, Y = Variable("x", kind=VariableKind.INTEGER), Variable("y", kind=VariableKind.INTEGER)
DIFFERENCE = Row("difference", {"x": 1, "y": -1}, Relation.AT_MOST, 0.5)


def shifted(milp: IndexedModel, row: str, rhs: float) -> IndexedModel:
    return milp.with_records(rows=tuple(replace(one, rhs=rhs) if one.name == row else one for one in milp.row_records))


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["", ">&-"], ids=["open", "closed"])
def test_nothing_is_printed_where_a_child_answers(closed: str) -> None:
    script = "from tests.modelling.models import steel; from oragent.modelling.solving.model_solving import solve; solve(steel())"
    done = subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" {closed}', sys.executable, script], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_steel() -> None:
    solution = solve(steel())
    assert solution.status is SolveStatus.OPTIMAL
    assert solution.objective == pytest.approx(194828.5714, abs=5e-5)
    assert solution.values == pytest.approx({"bands": 6000, "coils": 500, "plate": 1028.5714}, abs=5e-5)
    assert solution.duals == {"hours": pytest.approx(4640)}
    assert solution.ranges["hours"].low == pytest.approx(38.25892857)
    assert solution.ranges["hours"].high == pytest.approx(55.44642857)
    assert solution.reduced_costs == pytest.approx({"bands": 1.8, "coils": -3.142857, "plate": 0}, abs=1e-6)
    assert solution.sensitivity.source is Source.LP


def test_steel_with_its_bounds_as_rows_gives_the_same_prices() -> None:
    solution = solve(steel(bounds_as_rows=True))
    expected = {"hours": 4640, "least coils": -3.142857, "most bands": 1.8}
    assert {name: dual for name, dual in solution.duals.items() if dual} == pytest.approx(expected, abs=1e-6)


def test_pharmacy() -> None:
    solution = solve(pharmacy())
    assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, 735)
    assert solution.values == {"painkillers": 50, "sleeping pills": 117}
    draft = solve(pharmacy(first_draft=True))
    assert (draft.objective, draft.values) == (150, {"painkillers": 50, "sleeping pills": 0})


def test_an_unbounded_integer_model_is_not_called_infeasible() -> None:
    """HiGHS says "unbounded or infeasible" of it, which PuLP takes for infeasible."""
    milp = IndexedModel.from_records([X, Y], [DIFFERENCE], Objective({"x": 1}), Sense.MAXIMIZE)
    assert highs.run_highs(milp.to_staged_arrays()).status in NO_OPTIMUM
    assert solve(milp).status is SolveStatus.UNBOUNDED
    assert ray(milp) == {"x": 1, "y": 1}


def test_an_infeasible_model_with_an_improving_direction_is_infeasible() -> None:
    apart = Row("apart", {"x": 2, "y": -2}, Relation.EQUAL, 1)
    assert (
        solve(IndexedModel.from_records([X, Y], [apart], Objective({"x": 1}), Sense.MAXIMIZE)).status
        is SolveStatus.INFEASIBLE
    )


def test_a_model_without_rows_is_decided_by_its_bounds() -> None:
    box = Variable("x", -2, 7.5)
    assert solve(IndexedModel.from_records([box], [], Objective({"x": 2}, 1), Sense.MAXIMIZE)).objective == 16
    assert solve(IndexedModel.from_records([box], [], Objective(), Sense.MINIMIZE)).status is SolveStatus.OPTIMAL


def test_a_row_without_terms_still_counts() -> None:
    false = Row("false", {}, Relation.AT_LEAST, 1)
    assert solve(IndexedModel.from_records([X], [false], Objective(), Sense.MINIMIZE)).status is SolveStatus.INFEASIBLE


def brute_force(milp: IndexedModel) -> float | None:
    """The optimum of a pure integer model in a box; None where it is infeasible."""
    best = None
    grids = [range(math.ceil(one.low), math.floor(one.high) + 1) for one in milp.variable_records]
    for point in itertools.product(*grids):
        values = dict(zip((milp.flat_variable_names), point, strict=True))
        sides = [(sum(row.terms[name] * values[name] for name in row.terms), row.limits) for row in milp.row_records]
        if all(low <= side <= high for side, (low, high) in sides):
            worth = (
                sum(c * values[name] for name, c in milp.objective_record.terms.items())
                + milp.objective_record.constant
            )
            if best is None or milp.sense.sign * (worth - best) < 0:
                best = worth
    return best


@given(models(box=True))
def test_pure_integer_models_agree_with_trying_every_point(milp: IndexedModel) -> None:
    whole = milp.with_records(variables=tuple(replace(one, kind=VariableKind.INTEGER) for one in milp.variable_records))
    solution = solve(whole)
    expected = brute_force(whole)
    assert solution.status is (SolveStatus.INFEASIBLE if expected is None else SolveStatus.OPTIMAL)
    if expected is not None:
        assert solution.objective == pytest.approx(expected)
        assert solution.bound == pytest.approx(expected)


@given(models(integers=False))
def test_linear_programmes_agree_with_another_solver(milp: IndexedModel) -> None:
    arrays = milp.to_staged_arrays()
    rows = {"A_ub": [], "b_ub": [], "A_eq": [], "b_eq": []}
    for row, line in zip(milp.row_records, arrays.matrix.to_dense(), strict=True):
        kind, sign = (
            ("eq", 1) if row.relation is Relation.EQUAL else ("ub", -1 if row.relation is Relation.AT_LEAST else 1)
        )
        rows[f"A_{kind}"].append(sign * line)
        rows[f"b_{kind}"].append(sign * row.rhs)
    filled = {name: np.array(value) if value else None for name, value in rows.items()}
    bounds = list(zip(arrays.low, arrays.high, strict=True))
    expected = linprog(milp.sense.sign * arrays.cost, bounds=bounds, **filled, options={"presolve": False})
    solution = solve(milp)
    if expected.status == 0:
        assert solution.status is SolveStatus.OPTIMAL
        assert solution.objective == pytest.approx(
            milp.sense.sign * expected.fun + milp.objective_record.constant, abs=1e-6
        )
    elif expected.status in (2, 3):
        assert solution.status is {2: SolveStatus.INFEASIBLE, 3: SolveStatus.UNBOUNDED}[expected.status]


@given(models())
def test_every_status_carries_its_proof(milp: IndexedModel) -> None:
    solution = solve(milp)
    arrays = milp.to_staged_arrays()
    assert solution.status is not SolveStatus.UNKNOWN
    assert bool(solution.values) == solution.status.has_point
    if solution.status is SolveStatus.OPTIMAL:
        point = np.array(list(solution.values.values()))
        assert arrays.largest_violation(point) <= 1e-6
        assert solution.objective == pytest.approx(arrays.objective_at(point))
        assert solution.gap <= 1e-6
        assert all(slack >= -1e-6 for slack in solution.slacks.values())
    if solution.status is SolveStatus.UNBOUNDED:
        away = ray(milp)
        step = np.array([away.get(one.name, 0.0) for one in milp.variable_records])
        assert milp.sense.sign * (arrays.cost @ step) < 0
        feasible = solve(milp.with_records(objective=Objective()))
        assert (
            arrays.without_integrality().largest_violation(np.array(list(feasible.values.values())) + 1000 * step)
            <= 1e-6
        )


@settings(max_examples=40)
@given(models(integers=False), st.data())
def test_duals_are_finite_differences_over_all_of_their_range(milp: IndexedModel, data: st.DataObject) -> None:
    assume(milp.row_records)
    solution = solve(milp)
    assume(solution.status is SolveStatus.OPTIMAL)
    row = data.draw(st.sampled_from(milp.row_records))
    assume(row.name in solution.ranges)
    dual, interval = solution.duals[row.name], solution.ranges[row.name]
    assert row.rhs in interval
    for end in (max(interval.low, row.rhs - 7), min(interval.high, row.rhs + 7)):
        moved = solve(shifted(milp, row.name, end))
        assert moved.objective == pytest.approx(solution.objective + dual * (end - row.rhs), abs=1e-5)


@settings(max_examples=40)
@given(models(integers=False), st.data())
def test_reduced_costs_are_finite_differences_of_bounds(milp: IndexedModel, data: st.DataObject) -> None:
    solution = solve(milp)
    assume(solution.status is SolveStatus.OPTIMAL)
    variable = data.draw(st.sampled_from(milp.variable_records))
    assume(variable.low < variable.high and variable.name in solution.sensitivity.bound_ranges)
    value, cost = solution.values[variable.name], solution.reduced_costs[variable.name]
    side = "low" if value == variable.low else "high"
    assume(value == getattr(variable, side))
    interval = solution.sensitivity.bound_ranges[variable.name]
    for end in (max(interval.low, value - 7), min(interval.high, value + 7)):
        other = {"low": variable.high, "high": variable.low}[side]
        end = min(end, other) if side == "low" else max(end, other)
        variables = tuple(replace(one, **{side: end}) if one is variable else one for one in milp.variable_records)
        moved = solve(milp.with_records(variables=variables))
        assert moved.objective == pytest.approx(solution.objective + cost * (end - value), abs=1e-5)


@settings(max_examples=40)
@given(models(integers=False), st.data())
def test_values_stay_optimal_over_the_range_of_a_cost(milp: IndexedModel, data: st.DataObject) -> None:
    solution = solve(milp)
    assume(solution.status is SolveStatus.OPTIMAL)
    name = data.draw(st.sampled_from(milp.variable_records)).name
    cost, interval = milp.objective_record.terms.get(name, 0.0), solution.sensitivity.cost_ranges[name]
    assert cost in interval
    for end in (max(interval.low, cost - 7), min(interval.high, cost + 7)):
        terms = dict(milp.objective_record.terms) | {name: end}
        changed = milp.with_records(objective=replace(milp.objective_record, terms=terms))
        expected = solution.objective + (end - cost) * solution.values[name]
        assert solve(changed).objective == pytest.approx(expected, abs=1e-5)


def test_duals_of_an_integer_model_say_where_they_are_from() -> None:
    variables = (Variable("boxes", kind=VariableKind.INTEGER), Variable("loose", 0, 0.6))
    rows = (Row("weight", {"boxes": 2, "loose": 1}, Relation.AT_MOST, 5.5),)
    solution = solve(IndexedModel.from_records(variables, rows, Objective({"boxes": 3, "loose": 1}), Sense.MAXIMIZE))
    assert solution.values == {"boxes": 2, "loose": pytest.approx(0.6)}
    assert solution.sensitivity.source is Source.FIXED
    assert solution.duals == {"weight": 0}
    assert solution.relaxation.source is Source.RELAXATION
    assert solution.relaxation.duals == {"weight": pytest.approx(1.5)}


def knapsack(count: int = 60) -> IndexedModel:
    rng = np.random.default_rng(5)
    sizes = rng.integers(1000, 9999, (5, count))
    variables = [Variable(f"x{i}", 0, 1, VariableKind.INTEGER) for i in range(count)]
    rows = [
        Row(f"r{i}", {f"x{j}": int(size) for j, size in enumerate(line)}, Relation.AT_MOST, int(line.sum() // 2))
        for i, line in enumerate(sizes)
    ]
    worth = {f"x{j}": int(value) for j, value in enumerate(sizes.sum(axis=0) + rng.integers(0, 100, count))}
    return IndexedModel.from_records(variables, rows, Objective(worth), Sense.MAXIMIZE)


def test_a_gap_that_is_left_open_is_said() -> None:
    solution = solve(knapsack(), gap=0.05, duals=False)
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.objective <= solution.bound
    assert 0 < solution.gap <= 0.06
    assert solution.note


def test_without_time_nothing_is_known() -> None:
    solution = solve(knapsack(), limit_s=0.0)
    assert solution.status in (SolveStatus.UNKNOWN, SolveStatus.FEASIBLE)
    assert solution.note


def test_a_false_claim_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    def lying(arrays: Arrays, *limits: object, **more: object) -> SolverResult:
        return replace(highs.run_highs(arrays), values=np.full(len(arrays.cost), 1e4))

    monkeypatch.setattr(highs_back_end, "run_highs", lying)
    solution = solve(steel())
    assert solution.status is SolveStatus.UNKNOWN
    assert "breaks the model" in solution.note


def test_a_worse_point_is_not_called_optimal(monkeypatch: pytest.MonkeyPatch) -> None:
    def lazy(arrays: Arrays, *limits: object, **more: object) -> SolverResult:
        return replace(highs.run_highs(arrays), values=arrays.low.copy())

    monkeypatch.setattr(highs_back_end, "run_highs", lazy)
    solution = solve(steel())
    assert solution.status is SolveStatus.FEASIBLE
    assert solution.objective < solution.bound == pytest.approx(194828.5714)


def test_an_interval_holds_its_ends() -> None:
    assert 1 in ValueRange(1, 2)
    assert 2 in ValueRange(1, 2)
    assert 2.1 not in ValueRange(1, 2)


def test_only_an_optimum_of_highs_is_taken_for_sensitivity() -> None:
    milp = steel()
    arrays = milp.to_staged_arrays()
    solved = solve_arrays(arrays)
    taken = model_solving._run_of_engine(arrays, solved)
    assert taken.values is solved.values
    assert taken.row_duals is solved.row_duals
    assert taken.engine is solved.engine
    assert model_solving._run_of_engine(arrays, replace(solved, status=SolveStatus.FEASIBLE)) is None
    assert model_solving._run_of_engine(arrays, replace(solved, engine=None)) is None


def test_a_solution_has_the_seconds_of_its_solve() -> None:
    assert solve(steel()).seconds > 0
    assert solve(pharmacy(), duals=False).seconds > 0


def test_only_an_optimum_with_duals_has_sensitivity() -> None:
    milp = steel()
    arrays = milp.to_staged_arrays()
    solved = highs.run_highs(arrays)
    assert model_solving.compute_sensitivity(milp, arrays, solved, Source.LP) is not None
    for change in ({"status": SolverStatus.STOPPED}, {"values": None}, {"row_duals": None}):
        assert model_solving.compute_sensitivity(milp, arrays, replace(solved, **change), Source.LP) is None


@pytest.mark.parametrize("name", ["", " "])
def test_records_without_a_name_are_refused(name: str) -> None:
    for make in (lambda: Variable(name, 0.0, 1.0), lambda: Row(name, {"x": 1.0}, Relation.AT_MOST, 1.0)):
        with pytest.raises(ModellingError):
            make()


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(("bound", "gap"), [(None, None), (11.0, 1.0 / 10.0), (10.0, 0.0), (7.5, 0.25)])
def test_the_figures_of_a_point_are_the_sums_of_its_values(
    sense: Sense, bound: float | None, gap: float | None
) -> None:
    model = IndexedModel.from_records(
        [Variable("x", 0, 4, VariableKind.INTEGER), Variable("y", -1, 9)],
        [
            Row("most", {"x": 1, "y": 2}, Relation.AT_MOST, 9), Row("least", {"x": 1}, Relation.AT_LEAST, 1),
            Row("same", {"x": 2, "y": -1}, Relation.EQUAL, 3),
        ],
        Objective({"x": 3, "y": 2}, 2.0),
        sense,
    )  # fmt: skip
    found = evaluate_point(model, {"x": 2.0 + 1e-9, "y": 1.0}, bound, duals=False)
    assert (found.status, found.objective, found.bound) == (SolveStatus.FEASIBLE, 10.0, bound)
    assert found.gap == (None if gap is None else pytest.approx(gap))
    assert found.values == {"x": 2.0, "y": 1.0}
    assert found.activities == {"most": 4.0, "least": 2.0, "same": 3.0}
    assert {name: abs(slack) for name, slack in found.slacks.items()} == {"most": 5.0, "least": 1.0, "same": 0.0}
    assert all(slack >= 0 for slack in found.slacks.values())
    assert found.sensitivity is None
    assert evaluate_point(model, {"x": 2.0}, bound) is None
    assert found.note
    assert found.solver.startswith("HiGHS")
    near_0 = model.with_records(objective=replace(model.objective_record, constant=-7.5))
    assert evaluate_point(near_0, {"x": 2.0, "y": 1.0}, 2.0, duals=False).gap == 1.5
    below_0 = model.with_records(objective=replace(model.objective_record, constant=-18.0))
    assert evaluate_point(below_0, {"x": 2.0, "y": 1.0}, -11.0, duals=False).gap == pytest.approx(0.1)
    assert evaluate_point(model, {"x": 3.0, "y": 3.0}, bound).objective == 17.0


@pytest.mark.parametrize(("below", "is_feasible"), [(1e-6, True), (1.001e-6, False)])
def test_a_point_may_break_a_row_by_the_tolerance(below: float, is_feasible: bool) -> None:
    row = Row("r", {"x": 1.0}, Relation.AT_LEAST, 0.0)
    model = IndexedModel.from_records([Variable("x", -1, 1)], [row], Objective({"x": 1}), Sense.MINIMIZE)
    assert (evaluate_point(model, {"x": -below}, None) is not None) is is_feasible


def degenerate() -> IndexedModel:
    """Two rows with the same limit, of which either has the price."""
    rows = [Row(name, {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 4.0) for name in ("first", "second")]
    return IndexedModel.from_records([Variable("x"), Variable("y")], rows, Objective({"x": 3, "y": 2}), Sense.MAXIMIZE)


@pytest.mark.parametrize(("most", "is_known"), [(4 * (2 + 2), True), (4 * (2 + 2) - 1, False)])
def test_ranges_are_computed_up_to_a_size(most: int, is_known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_solving, "MAX_RANGED", most)
    found = solve(degenerate()).sensitivity
    assert found.several_duals == ("first", "second")
    assert set(found.cost_ranges) == ({"x", "y"} if is_known else set())
    # x is between its bounds.
    assert set(found.bound_ranges) == ({"y"} if is_known else set())


@pytest.mark.parametrize(("most", "is_known"), [(4, True), (3, False)])
def test_duals_are_compared_with_others_up_to_a_size(
    most: int, is_known: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_solving, "MAX_CHECKED", most)
    found = solve(degenerate()).sensitivity
    assert (found.several_duals, found.several_reduced_costs) == (
        (("first", "second"), ()) if is_known else (None, None)
    )
    assert sum(found.duals.values()) == pytest.approx(3)
    assert bool(found.cost_ranges) is is_known


@pytest.mark.parametrize(
    ("rhs", "slack", "is_tight"),
    [(0.5, 1e-6, True), (0.5, 1.1e-6, False), (-100.0, 0.9e-4, True), (100.0, 1.1e-4, False)],
)
def test_a_row_binds_within_the_tolerance(rhs: float, slack: float, is_tight: bool) -> None:
    solution = Solution(SolveStatus.OPTIMAL, slacks={"r": slack})
    assert solution.is_tight(Row("r", {}, Relation.AT_MOST, rhs)) is is_tight


def test_a_solution_names_the_limit_that_ended_it() -> None:
    assert solve(pharmacy()).limit == ""
    assert solve(pharmacy()).work.keys() == {"nodes", "iterations"}
    assert solve(pharmacy()).solver == highs.SOLVER
    assert solve(knapsack(), limit_s=0.0).limit == "time"


@pytest.mark.parametrize("sense", Sense)
def test_duals_are_added_to_a_known_solution(sense: Sense) -> None:
    linear = steel().with_records(sense=sense)
    known = solve(linear, duals=False)
    again = add_duals(linear, replace(known, bound=None, gap=None))
    expected = solve(linear)
    assert (again.sensitivity, again.relaxation) == (expected.sensitivity, None)
    assert (again.bound, again.gap) == (-sense.sign * math.inf, math.inf)
    kept = add_duals(linear, known)
    assert (kept.bound, kept.gap, kept.values) == (known.bound, known.gap, known.values)
    whole = pharmacy()
    assert add_duals(whole, solve(whole, duals=False)).relaxation == solve(whole).relaxation
    empty = Solution(SolveStatus.INFEASIBLE)
    assert add_duals(linear, empty) is empty


def test_a_point_of_an_integer_model_has_the_duals_of_its_fixed_integers() -> None:
    whole, linear = pharmacy(), steel()
    point = {"painkillers": 60.0, "sleeping pills": 150.0}
    assert evaluate_point(whole, point, None).sensitivity.source is Source.FIXED
    assert evaluate_point(whole, point, None, duals=False).sensitivity is None
    assert evaluate_point(linear, solve(linear).values, None).sensitivity is None


@pytest.mark.parametrize(
    ("status", "objective", "bound", "span"),
    [
        (SolveStatus.OPTIMAL, 5.0, 4.0, (5.0, 5.0)), (SolveStatus.FEASIBLE, 5.0, 4.0, (4.0, 5.0)),
        (SolveStatus.FEASIBLE, 5.0, 7.0, (5.0, 7.0)), (SolveStatus.FEASIBLE, 5.0, None, None),
        (SolveStatus.FEASIBLE, 5.0, -math.inf, None), (SolveStatus.UNKNOWN, None, 4.0, None),
        (SolveStatus.INFEASIBLE, 5.0, 4.0, None),
    ],
)  # fmt: skip
def test_the_optimum_is_between_the_objective_and_its_bound(
    status: SolveStatus, objective: float | None, bound: float | None, span: tuple[float, float] | None
) -> None:
    assert Solution(status, objective, bound).optimum_span == span


@pytest.mark.parametrize(
    ("objective", "bound", "gap", "figure"),
    [
        (200.0, 190.0, 0.05, " 5 %"), (200.0, 199.0, 0.00501, " 0.51 %"), (200.0, 200.0, 0.0, " 0 %"),
        (200.0, -50.0, 1.234, " 130 %"), (-200.0, -210.0, 0.0101, " 1.1 %"), (1.0, 0.9, 0.1, " 10 %"), (0.5, 0.25, 0.25, " 0.25"),
        (-0.5, -0.75, 0.25, " -0.75"),
    ],
)  # fmt: skip
def test_the_gap_of_a_solution_is_rounded_up_to_two_digits(
    objective: float, bound: float, gap: float, figure: str
) -> None:
    text = Solution(SolveStatus.FEASIBLE, objective, bound, gap).standing
    assert figure in text
    assert ("%" in text) is ("%" in figure)
    for missing in ({"bound": None}, {"gap": None}, {"bound": math.inf}):
        assert not any(
            sign.isdigit() for sign in replace(Solution(SolveStatus.FEASIBLE, 5.0, 4.0, 0.2), **missing).standing
        )
    assert Solution(SolveStatus.OPTIMAL, objective, bound, gap).standing == "optimal"
