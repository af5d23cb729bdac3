"""The checker's rows under the program's objective: what they show of drops, turns and bounds, and what they confirm."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.formulate import model_comparison
from oragent.formulate.aims import staged_objectives
from oragent.formulate.model_comparison import (
    CheckRow,
    Ruling,
    _stops_direction,
    add_derived,
    checker_milp,
    find_counterexample,
    overlap_choices,
)
from oragent.formulate.native_scheduling import solve_with_cp_sat
from oragent.modelling.data.features import FurtherObjective, ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import TOLERANCES, Solution, SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent_benchmarks.families import FAMILIES
from oragent_benchmarks.formulate.mock_models import errors_of, plant_error


def entries(milp: IndexedModel) -> list[CheckRow]:
    """A checker's rows for a model, as they come across the wire."""
    found = [CheckRow(row.name, row.terms, str(row.relation), row.rhs) for row in milp.row_records]
    for one in milp.variable_records:
        found += [CheckRow(f"least {one.name}", {one.name: 1.0}, ">=", one.low)] * (one.low > -1e30)
        found += [CheckRow(f"most {one.name}", {one.name: 1.0}, "<=", one.high)] * (one.high < 1e30)
        found += [CheckRow(f"whole {one.name}", {one.name: 1.0}, "integer", 0.0)] * one.is_integer
    return found


def held(program: IndexedModel, gold: IndexedModel):
    names = set(gold.flat_variable_names)
    return find_counterexample(program, solve(program, duals=False), entries(gold), names, 20.0)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_right_model_agrees_and_every_planted_error_that_changes_the_optimum_is_named(family: str) -> None:
    """The oracle is the optimum of the gold model: where it is missed, the comparison says so and names the row."""
    instance = FAMILIES[family](3, 3)
    assert held(instance.milp, instance.milp).ruling is Ruling.AGREES
    every = errors_of(instance.milp)
    for error in [*every[:: 1 + len(every) // 12], every[-1]]:
        program = plant_error(instance.milp, error)
        found, solution = held(program, instance.milp), solve(program, duals=False)
        if solution.status is SolveStatus.OPTIMAL and TOLERANCES["strict"].accepts(
            solution.objective, instance.optimum
        ):
            assert found.ruling is Ruling.AGREES
        elif error.row:
            assert found.ruling in (Ruling.FORBIDS, Ruling.ALLOWS)
            assert error.row in found.names, (str(error), found)
        else:
            assert found.ruling is Ruling.ALLOWS


def toy(*rows: Row, sense: Sense = Sense.MAXIMIZE) -> IndexedModel:
    return IndexedModel.from_records((Variable("x", 0), Variable("y", 0)), rows, Objective({"x": 1.0, "y": 1.0}), sense)


TWO_AIMS = [
    CheckRow("few", {"x": 1.0, "y": 1.0}, "<=", 12.0, ""),
    CheckRow("people", {"x": 1.0}, "maximize", 0.0, ""),
    CheckRow("cost", {"x": 2.0, "y": 1.0}, "minimize", -4.0, ""),
    CheckRow("least", {"y": 1.0}, ">=", 2.0, ""),
]


@pytest.mark.parametrize(
    ("point", "within"),
    [
        ({"x": 10.0, "y": 2.0}, 0.0),
        # One person less costs less, but the first aim differs by a ninth.
        ({"x": 9.0, "y": 2.0}, 1 / 9),
        # The cost is 27 in place of 26 with as many people.
        ({"x": 10.0, "y": 3.0}, 1 / 27),
        ({"x": 8.0, "y": 4.0}, 0.25),
    ],
)
def test_aims_of_a_checker_that_stops_on_time_are_compared_by_their_bounds(
    monkeypatch: pytest.MonkeyPatch, point: dict[str, float], within: float
) -> None:
    """The bounds by hand: 10 people at most, and 2 x + y + 4 with the people of the program and the least y."""
    goals = (FurtherObjective("people", {"x": 1.0}, Sense.MAXIMIZE, priority=1),)
    rows = (Row("few", {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 12.0), Row("least", {"y": 1.0}, Relation.AT_LEAST, 2.0))
    variables = (Variable("x", 0), Variable("y", 0))
    cost = Objective({"x": 2.0, "y": 1.0}, 4.0)
    program = IndexedModel.from_records(variables, rows, cost, Sense.MINIMIZE, features=ModelFeatures(goals=goals))
    solved = replace(solve(program, duals=False), status=SolveStatus.FEASIBLE, values=point)

    def stop_on_time(checks: IndexedModel, *options: object) -> object:
        return replace(solve(checks, duals=False), status=SolveStatus.FEASIBLE, bound=None)

    monkeypatch.setattr(model_comparison, "_solve_checks", stop_on_time)
    found = find_counterexample(program, solved, TWO_AIMS, {"x", "y"}, 20.0)
    assert found.ruling is Ruling.UNDECIDED
    assert found.within == pytest.approx(within, abs=1e-5)


LIMIT = Row("limit", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 8.0)
OTHER = Row("other", {"x": 3.0, "y": 1.0}, Relation.AT_MOST, 9.0)
NEVER = Row("never", {"x": 1.0}, Relation.AT_MOST, -1.0)


@pytest.mark.parametrize(
    ("program", "gold", "ruling", "named"),
    [
        (toy(LIMIT, OTHER), toy(LIMIT, OTHER), Ruling.AGREES, ""),
        (toy(LIMIT), toy(LIMIT, OTHER), Ruling.ALLOWS, "other"),
        (toy(LIMIT, OTHER), toy(LIMIT), Ruling.FORBIDS, "other"),
        (toy(), toy(LIMIT, OTHER), Ruling.ALLOWS, "limit"),  # unbounded: the ray breaks both
        (toy(), toy(), Ruling.AGREES, ""),  # both unbounded: that is the answer
        (toy(LIMIT), toy(), Ruling.FORBIDS, "limit"),  # by the checks it would be unbounded
        (toy(NEVER), toy(LIMIT), Ruling.FORBIDS, "never"),  # infeasible, and the checks have a point
        (toy(NEVER), toy(), Ruling.FORBIDS, "never"),
        (toy(NEVER), toy(NEVER), Ruling.AGREES, ""),  # both infeasible
        (toy(LIMIT), toy(NEVER), Ruling.ALLOWS, "never"),  # the checks have no point
        (toy(), toy(NEVER), Ruling.ALLOWS, "never"),
    ],
)
def test_every_pair_of_ends_has_its_ruling(
    program: IndexedModel, gold: IndexedModel, ruling: Ruling, named: str
) -> None:
    found = held(program, gold)
    assert found.ruling is ruling
    assert (named in found.names) == bool(named)


def test_columns_that_were_not_returned_are_the_programs_own() -> None:
    """A fixed cost by a binary column: the checker tells the objective, the conflict names what forbids its point."""
    milp = IndexedModel.from_records(
        (Variable("x", 0, 10), Variable("open", 0, 1, VariableKind.INTEGER)),
        (Row("link", {"x": 1.0, "open": -4.0}, Relation.AT_MOST, 0.0),),
        Objective({"x": 3.0, "open": -2.0}), Sense.MAXIMIZE,
    )  # fmt: skip
    told = [CheckRow("room", {"x": 1.0}, "<=", 6.0), CheckRow("worth", {"x": 3.0}, "maximize", 2.0)]
    found = find_counterexample(milp, solve(milp), told, {"x"}, 10.0)
    assert found.ruling is Ruling.FORBIDS
    assert found.values == {"x": 6.0}
    assert "link" in found.names
    better = replace(solve(milp), objective=16.0, values={"x": 6.0, "open": 1.0})
    assert find_counterexample(milp, better, told, {"x"}, 10.0).ruling is Ruling.AGREES


@pytest.mark.parametrize("sign", [1, -1])
def test_a_point_within_a_gap_is_no_proof_that_the_program_forbids_a_better_one(sign: int) -> None:
    """The program maximises an amount, or minimises its negative, and the checks maximise it."""
    sense = Sense.MAXIMIZE if sign > 0 else Sense.MINIMIZE
    room = Row("room", {"x": 1.0}, Relation.AT_MOST, 8.0)
    milp = IndexedModel.from_records((Variable("x", 0, 10),), (room,), Objective({"x": float(sign)}), sense)
    rows = [CheckRow("room", {"x": 1.0}, "<=", 8.0), CheckRow("most", {"x": 1.0}, "maximize", 0.0)]
    found = replace(solve(milp), status=SolveStatus.FEASIBLE, objective=sign * 7.5, bound=sign * 8.0, values={"x": 7.5})
    assert find_counterexample(milp, found, rows, {"x"}, 10.0).ruling is Ruling.UNDECIDED
    more = [CheckRow("room", {"x": 1.0}, "<=", 9.0), rows[1]]
    assert find_counterexample(milp, found, more, {"x"}, 10.0).ruling is Ruling.FORBIDS
    without_bound = replace(found, bound=None)
    assert find_counterexample(milp, without_bound, more, {"x"}, 10.0).ruling is Ruling.UNDECIDED


def test_a_counterexample_lists_what_is_not_0_and_counts_the_rest() -> None:
    """36 routes, of which the optimum of the checks uses the last one alone: worth 9 each, 4 allowed."""
    names = [f"ship[{depot},{shop:02}]" for depot in ("Köln", "Łódź", "Graz") for shop in range(12)]
    worth = {name: 1.0 + (name == "ship[Graz,11]") * 8 for name in names}
    rows = (
        Row("fleet", dict.fromkeys(names, 1.0), Relation.AT_MOST, 4.0),
        Row("Graz is shut", {names[-1]: 1.0}, Relation.AT_MOST, 0.0),
    )
    milp = IndexedModel.from_records(
        tuple(Variable(name, 0, 10) for name in names), rows, Objective(worth), Sense.MAXIMIZE
    )
    checks = [CheckRow("fleet", rows[0].terms, "<=", 4.0), CheckRow("worth", worth, "maximize", 0.0)]
    comparison = find_counterexample(milp, solve(milp), checks, set(names), 10.0)
    assert comparison.ruling is Ruling.FORBIDS
    assert comparison.objective == 36.0
    assert comparison.reason.startswith(
        "the point ship[Graz,11] = 4 (and 35 others at 0) breaks no check and is better"
    )
    served = tuple(Row(name, {name: 1.0}, Relation.AT_LEAST, 1.0) for name in names[:14])
    doubled = Row("too much", {names[0]: 1.0}, Relation.AT_LEAST, 3.0)
    milp = milp.with_records(rows=(*served, doubled), sense=Sense.MINIMIZE)
    checks = [*(CheckRow(row.name, row.terms, ">=", 1.0) for row in served), CheckRow("cost", worth, "minimize", 0.0)]
    comparison = find_counterexample(milp, solve(milp), checks, set(names), 10.0)
    assert "(and 2 more not at 0, 22 others at 0)" in comparison.reason


RELATIONS = {"<=": Relation.AT_MOST, ">=": Relation.AT_LEAST, "=": Relation.EQUAL}
Limit = tuple[int, int, str, int]
limits = st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.sampled_from(["<=", ">=", "="]), st.integers(-4, 8))
PLANS = list(itertools.product(range(-2, 5), repeat=2))
FROM_ZERO = [plan for plan in PLANS if min(plan) >= 0]


def allowed(rows: Sequence[Limit], plan: tuple[int, int]) -> bool:
    """Return whether a plan meets all rows."""
    for a, b, relation, rhs in rows:
        over = a * plan[0] + b * plan[1] - rhs
        if not {"<=": over <= 0, ">=": over >= 0, "=": over == 0}[relation]:
            return False
    return True


def box_model(rows: Sequence[Limit], objective: tuple[int, int], sense: Sense, low: int = 0) -> IndexedModel:
    """Two whole numbers from a bound to 4 with rows."""
    return IndexedModel.from_records(
        tuple(Variable(name, low, 4, VariableKind.INTEGER) for name in "xy"),
        tuple(
            Row(f"p{at}", {"x": float(a), "y": float(b)}, RELATIONS[relation], float(rhs))
            for at, (a, b, relation, rhs) in enumerate(rows)
        ),
        Objective({"x": float(objective[0]), "y": float(objective[1])}, 3.0),
        sense,
    )


def box_checks(rows: Sequence[Limit], objective: tuple[int, int], sense: Sense, low: int = 0) -> list[CheckRow]:
    checks = [
        CheckRow(f"c{at}", {"x": float(a), "y": float(b)}, relation, float(rhs))
        for at, (a, b, relation, rhs) in enumerate(rows)
    ]
    checks += [CheckRow(f"most {name}", {name: 1.0}, "<=", 4.0) for name in "xy"]
    checks += [CheckRow("least x", {"x": 1.0}, ">=", low), CheckRow("least y", {"y": -2.0, "x": 0.0}, "<=", -2.0 * low)]
    checks += [CheckRow(f"whole {name}", {name: 1.0}, "integer", 0.0) for name in "xy"]
    return [*checks, CheckRow("worth", {"x": float(objective[0]), "y": float(objective[1])}, str(sense), -3.0)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(limits, max_size=2), st.lists(limits, max_size=2),
    st.tuples(st.integers(-3, 3), st.integers(-3, 3)), st.sampled_from(Sense), st.booleans(),
    st.integers(-2, 0), st.integers(-2, 0),
)  # fmt: skip
def test_rulings_are_those_of_enumeration(
    program: list[Limit],
    checks: list[Limit],
    objective: tuple[int, int],
    sense: Sense,
    shares: bool,
    program_low: int,
    checks_low: int,
) -> None:
    if shares:
        program = [*program, *checks]
    milp = box_model(program, objective, sense, program_low)
    comparison = find_counterexample(
        milp, solve(milp, duals=False), box_checks(checks, objective, sense, checks_low), {"x", "y"}, 10.0
    )
    worth = {plan: sense.sign * (objective[0] * plan[0] + objective[1] * plan[1]) for plan in PLANS}
    by_program, by_checks = (
        min((worth[plan] for plan in PLANS if allowed(rows, plan) and min(plan) >= low), default=None)
        for rows, low in ((program, program_low), (checks, checks_low))
    )
    if by_program is None or by_checks is None:
        expected = Ruling.AGREES if by_program == by_checks else Ruling.FORBIDS if by_program is None else Ruling.ALLOWS
    elif by_program == by_checks:
        expected = Ruling.AGREES
    else:
        expected = Ruling.FORBIDS if by_checks < by_program else Ruling.ALLOWS
    assert comparison.ruling is expected
    assert comparison.proven
    if expected is Ruling.FORBIDS:
        point = (round(comparison.values["x"]), round(comparison.values["y"]))
        assert allowed(checks, point)
        assert not (allowed(program, point) and min(point) >= program_low)
        assert comparison.names
        rows = {f"p{at}": limit for at, limit in enumerate(program)}
        assert all(not allowed([rows[name]], point) for name in comparison.names if name in rows)
    elif expected is Ruling.ALLOWS and by_checks is not None:
        point = (round(comparison.values["x"]), round(comparison.values["y"]))
        assert allowed(program, point)
        assert worth[point] == by_program
        broken = {f"c{at}" for at, limit in enumerate(checks) if not allowed([limit], point)}
        broken |= {f"least {name}" for name, value in zip("xy", point, strict=True) if value < checks_low}
        assert set(comparison.names) == broken != set()
    elif by_checks is not None:
        assert comparison.objective == pytest.approx(sense.sign * by_checks + 3)
        assert worth[round(comparison.values["x"]), round(comparison.values["y"])] == by_checks


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(("worth", "named"), [(2.0, ()), (2.5, ("x",)), (2.0 + 1e-7, ()), (-2.0, None)])
def test_other_coefficients_of_the_objective_are_named(
    sense: Sense, worth: float, named: tuple[str, ...] | None
) -> None:
    """The optimum is at the same corner, where x is 0, so that both have the same value there."""
    relation, bound = (Relation.AT_MOST, "<=") if sense is Sense.MAXIMIZE else (Relation.AT_LEAST, ">=")
    row = Row("limit", {"x": 1.0, "y": 1.0}, relation, 4.0)
    price = 9.0 if sense is Sense.MAXIMIZE else 1.0
    milp = IndexedModel.from_records((Variable("x"), Variable("y")), (row,), Objective({"x": worth, "y": price}), sense)
    if sense is Sense.MINIMIZE and worth < 0:
        return
    checks = [CheckRow("limit", row.terms, bound, 4.0), CheckRow("worth", {"x": 2.0, "y": price}, str(sense), 0.0)]
    comparison = find_counterexample(milp, solve(milp, duals=False), checks, {"x", "y"}, 10.0)
    if named is None:
        named = ("x",)
    assert comparison.ruling is (Ruling.OBJECTIVE if named else Ruling.AGREES)
    assert comparison.names == named


def test_a_better_point_that_only_another_objective_ranks_lower_is_about_the_objective() -> None:
    row = Row("limit", {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 4.0)
    milp = IndexedModel.from_records(
        (Variable("x"), Variable("y")), (row,), Objective({"x": 3.0, "y": 2.0}), Sense.MAXIMIZE
    )
    checks = [CheckRow("limit", row.terms, "<=", 4.0), CheckRow("worth", {"x": 3.0, "y": 5.0}, "maximize", 0.0)]
    comparison = find_counterexample(milp, solve(milp, duals=False), checks, {"x", "y"}, 10.0)
    assert (comparison.ruling, comparison.names, comparison.objective) == (Ruling.OBJECTIVE, ("y",), 20.0)
    # With other columns in the objective nothing is named.
    other = milp.with_records(objective=Objective({"x": 3.0}))
    comparison = find_counterexample(other, solve(other, duals=False), checks, {"x", "y"}, 10.0)
    assert (comparison.ruling, comparison.names) == (Ruling.FORBIDS, ())


@pytest.mark.parametrize(
    ("gain", "size", "ruling"),
    [
        # A millionth of the objective, or of 1 for small ones, is no improvement.
        (0.9e-6, 1.0, Ruling.AGREES), (2e-6, 1.0, Ruling.FORBIDS), (0.9e-6, 0.1, Ruling.AGREES),
        (0.5, 1e6, Ruling.AGREES), (2.0, 1e6, Ruling.FORBIDS),
        (-0.5, 1e6, Ruling.AGREES), (-2.0, 1e6, Ruling.ALLOWS), (-2e-6, 1.0, Ruling.ALLOWS),
    ],
)  # fmt: skip
@pytest.mark.parametrize("sense", Sense)
def test_an_improvement_counts_beyond_the_tolerance(gain: float, size: float, ruling: Ruling, sense: Sense) -> None:
    """One variable at its limit; that of the checks is wider by the gain."""
    limit = sense.sign * -size
    low, high = (limit, 2e6) if sense is Sense.MINIMIZE else (-2e6, limit)
    milp = IndexedModel.from_records((Variable("x", low, high),), (), Objective({"x": 1.0}), sense)
    checks = [
        CheckRow("limit", {"x": 1.0}, "<=" if sense is Sense.MAXIMIZE else ">=", limit - sense.sign * gain),
        CheckRow("worth", {"x": 1.0}, str(sense), 0.0),
    ]
    solved = Solution(SolveStatus.OPTIMAL, objective=limit, bound=limit, values={"x": limit})
    assert find_counterexample(milp, solved, checks, {"x"}, 10.0).ruling is ruling


@pytest.mark.parametrize(
    ("left", "right", "argument", "value"),
    [
        # A fee by weight: 5 up to 2, then 3 more each, then 1 more each; the first piece goes on below.
        (None, None, 0.0, 5.0), (None, None, 2.0, 5.0), (None, None, 4.0, 11.0), (None, None, 6.0, 13.0),
        (1.0, None, 4.0, 11.0), (None, 5.0, 5.0, 12.0),
    ],
)  # fmt: skip
def test_a_piecewise_linear_function_is_the_model_of_its_points(
    left: float | None, right: float | None, argument: float, value: float
) -> None:
    """The fee of a fixed weight, as a column that the checks derive."""
    pytest.importorskip("ortools")
    points = ((0.0, 5.0), (2.0, 5.0), (4.0, 11.0), (5.0, 12.0))
    entries = [
        CheckRow("fee", {}, "pieces", 0.0, cases=((CheckRow("", {"w": 2.0}, "", 2.0),),), points=points),
        CheckRow("weight", {"w": 2.0}, "=", argument + 2.0),
    ]
    for sense in Sense:
        checks = [*entries, CheckRow("cost", {"fee": 1.0}, str(sense), 0.0)]
        milp = IndexedModel.from_records((Variable("w", -9, 9),), (), Objective({"w": 1.0}), sense)
        model = checker_milp(milp, checks, {"w"})
        solution = solve(model, duals=False)
        assert solution.objective == pytest.approx(value)
        assert add_derived({"w": (argument + 2.0) / 2}, checks)["fee"] == pytest.approx(value)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(-4, 4)), min_size=2, max_size=3),
    st.sampled_from(Sense),
)
def test_a_largest_value_is_that_of_enumeration(parts: list[tuple[int, int, int]], sense: Sense) -> None:
    pytest.importorskip("ortools")
    cases = tuple((CheckRow("", {"x": float(a), "y": float(b)}, "", float(-c)),) for a, b, c in parts)
    checks = [
        CheckRow("most", {}, "largest", 0.0, cases=cases), CheckRow("worth", {"most": 1.0}, str(sense), 0.0),
        *(CheckRow(f"most {name}", {name: 1.0}, "<=", 4.0) for name in "xy"),
        *(CheckRow(f"whole {name}", {name: 1.0}, "integer", 0.0) for name in "xy"),
    ]  # fmt: skip
    values = [max(a * x + b * y + c for a, b, c in parts) for x, y in FROM_ZERO]
    model = checker_milp(box_model([], (1, 1), sense), checks, {"x", "y"})
    answer = solve_with_cp_sat(model, {"x", "y"}, 10.0)
    assert answer is not None
    assert answer.objective == pytest.approx(min(values) if sense is Sense.MINIMIZE else max(values))


def test_columns_of_checks_are_whole_if_they_say_so_and_negative_if_the_program_allows_it() -> None:
    variables = (Variable("a", 2, 5, VariableKind.INTEGER), Variable("b", -3, 5), Variable("c", 0, 1), Variable("d"))
    milp = IndexedModel.from_records(variables, (), Objective({"a": 1.0}), Sense.MINIMIZE)
    entries = [CheckRow("whole b", {"b": 1.0}, "integer", 0.0), CheckRow("sum", {"c": 1.0, "a": 1.0}, "integer", 0.0)]
    model = checker_milp(milp, entries, {"a", "b", "c"})
    assert [(v.name, v.low, v.is_integer) for v in model.variable_records] == [
        ("a", 0, False),
        ("b", -3, True),
        ("c", 0, False),
    ]
    assert all(variable.high > 1e20 for variable in model.variable_records)
    # The program's only objective is used if the checks have none, and know its columns.
    assert model.objective_record.terms == {"a": 1.0}
    assert not checker_milp(milp, entries, {"b"}).objective_record.terms


def test_names_of_checks_are_unique_and_never_empty() -> None:
    entries = [CheckRow(name, {"x": 1.0}, "<=", 5.0) for name in ("", "", "a", "a", "a")]
    model = checker_milp(IndexedModel.from_records((Variable("x"),), (), Objective({}), Sense.MINIMIZE), entries, {"x"})
    names = [row.name for row in model.row_records]
    assert len(set(names)) == 5
    assert all(
        name.startswith(proposed or "check") for name, proposed in zip(names, ("", "", "a", "a", "a"), strict=True)
    )


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=2, max_size=3), st.integers(2, 6),
)  # fmt: skip
def test_tasks_of_a_machine_follow_each_other(tasks: list[tuple[int, bool]], end: int) -> None:
    """Optional tasks may be left out; the most tasks that fit into the time, by enumeration of subsets."""
    pytest.importorskip("ortools")
    names = [f"t{at}" for at in range(len(tasks))]
    present = [f"on{at}" for at, (_, optional) in enumerate(tasks) if optional]
    group = tuple(
        tuple([CheckRow("", {name: 1.0}, "", 0.0), CheckRow("", {}, "", -float(size))]
              + ([CheckRow("", {f"on{at}": 1.0}, "", 0.0)] if optional else []))
        for at, (name, (size, optional)) in enumerate(zip(names, tasks, strict=True))
    )  # fmt: skip
    entries = [CheckRow("machine", {}, "no overlap", 0.0, cases=group)]
    entries += [
        CheckRow(f"end {name}", {name: 1.0}, "<=", end - size) for name, (size, _) in zip(names, tasks, strict=True)
    ]
    entries += [CheckRow(f"most {name}", {name: 1.0}, "<=", 1.0) for name in present]
    entries += [CheckRow(f"whole {name}", {name: 1.0}, "integer", 0.0) for name in (*names, *present)]
    entries.append(CheckRow("many", dict.fromkeys(present, 1.0), "maximize", 0.0))
    variables = tuple(Variable(name, 0, 9, VariableKind.INTEGER) for name in (*names, *present))
    milp = IndexedModel.from_records(variables, (), Objective({}), Sense.MAXIMIZE)
    solution = solve(checker_milp(milp, entries, {*names, *present}), duals=False)
    fixed = sum(size for size, optional in tasks if not optional)
    optional = sorted(size for size, is_optional in tasks if is_optional)
    fitting = [count for count in range(len(optional) + 1) if fixed + sum(optional[:count]) <= end]
    # A task that is left out still has a start within the time.
    if any(size > end for size, _ in tasks) or not fitting:
        assert solution.status is SolveStatus.INFEASIBLE
    else:
        assert solution.objective == pytest.approx(max(fitting))


@pytest.mark.parametrize(
    ("relation", "step", "stops"),
    [
        ("<=", 1.0, True),
        ("<=", -1.0, False),
        (">=", 1.0, False),
        (">=", -1.0, True),
        ("=", 1.0, True),
        ("=", -1.0, True),
        ("=", 0.0, False),
        ("<=", 1e-12, False),
    ],
)
def test_a_row_stops_a_direction_that_leaves_it(relation: str, step: float, stops: bool) -> None:
    row = Row("r", {"x": 2.0, "y": -1.0}, RELATIONS[relation], 5.0)
    assert _stops_direction(row, {"x": 1.0, "y": 2.0 - step}) is stops
    assert _stops_direction(row, {"z": 1.0}) is False


def counter(
    milp: IndexedModel,
    solution: Solution | None,
    checks: Sequence[CheckRow],
    columns: str = "xy",
    limit_s: float = 10.0,
) -> model_comparison.ModelComparison:
    return find_counterexample(milp, solution or solve(milp, duals=False), checks, set(columns), limit_s)


def chosen_model(rows: Sequence[Limit], first: tuple[int, int, Sense], second: tuple[int, int, Sense]) -> IndexedModel:
    """Two whole numbers up to 4 with a first aim and a second one, whose constants are 1 and 3."""
    goal = FurtherObjective("first", {"x": float(first[0]), "y": float(first[1])}, first[2], 1.0, priority=1)
    milp = box_model(rows, second[:2], second[2])
    return milp.with_records(features=ModelFeatures(goals=(goal,)))


aims = st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.sampled_from(Sense))


@settings(max_examples=60, deadline=None)
@given(st.lists(limits, max_size=2), st.lists(limits, max_size=1), aims, aims)
def test_rulings_on_two_aims_are_those_of_enumeration(
    shared: list[Limit], more: list[Limit], first: tuple[int, int, Sense], second: tuple[int, int, Sense]
) -> None:
    """The program may have a row more than the checks."""
    milp = chosen_model([*shared, *more], first, second)
    checks = box_checks(shared, second[:2], second[2])
    checks.insert(0, CheckRow("first", {"x": float(first[0]), "y": float(first[1])}, str(first[2]), -1.0))
    comparison = counter(milp, None, checks)

    def rank(plan: tuple[int, int]) -> tuple[int, int]:
        return tuple(aim[2].sign * (aim[0] * plan[0] + aim[1] * plan[1]) for aim in (first, second))  # type: ignore[return-value]

    by_program, by_checks = (
        min((rank(plan) for plan in FROM_ZERO if allowed(rows, plan)), default=None)
        for rows in ([*shared, *more], shared)
    )
    # An aim without coefficients ranks no plan, so that the program has one aim less.
    if by_program == by_checks:
        assert comparison.ruling in (Ruling.AGREES, Ruling.OBJECTIVE)
        assert comparison.ruling is Ruling.AGREES or not any(first[:2])
    else:
        assert comparison.ruling is Ruling.FORBIDS
        assert {name for name in comparison.names if name.startswith("p")} <= {f"p{at}" for at in range(len(shared), 3)}


@settings(max_examples=80, deadline=None)
@given(st.lists(limits, max_size=2), aims, aims, st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_rulings_on_what_a_later_aim_may_take_are_those_of_enumeration(
    rows: list[Limit],
    first: tuple[int, int, Sense],
    second: tuple[int, int, Sense],
    by_program: int,
    by_checker: int,
    is_share: bool,
) -> None:
    """The first aim has the constant 1; a share is one of tenths."""
    milp = chosen_model(rows, first, second)
    (goal,) = milp.named_features.goals
    milp = milp.with_records(features=ModelFeatures(goals=(replace(goal, slack_amount=float(by_program)),)))
    room = {"room_share": by_checker / 10} if is_share else {"room": float(by_checker)}
    aim = CheckRow("first", {"x": float(first[0]), "y": float(first[1])}, str(first[2]), -1.0, "", **room)
    plans = [plan for plan in FROM_ZERO if allowed(rows, plan)]
    if not plans or not any(first[:2]) or not any(second[:2]):
        return
    solution = solve(milp, duals=False)
    comparison = counter(milp, solution, [aim, *box_checks(rows, second[:2], second[2])])
    ranks = {
        plan: [each[2].sign * (each[0] * plan[0] + each[1] * plan[1] + at) for each, at in ((first, 1), (second, 3))]
        for plan in plans
    }
    lost, chosen = ranks[round(solution.values["x"]), round(solution.values["y"])]
    best = min(rank[0] for rank in ranks.values())
    least = by_checker / 10 * abs(best) if is_share else by_checker
    reachable = min(rank[1] for rank in ranks.values() if rank[0] <= best + least + 1e-9)
    if lost <= best + least + 1e-9:
        expected = Ruling.AGREES if chosen == reachable else Ruling.FORBIDS
    else:
        expected = Ruling.ALLOWS if least else Ruling.UNDECIDED
    assert comparison.ruling is expected
    assert bool(comparison.reason) is (expected is not Ruling.AGREES)


def test_of_two_aims_the_first_one_that_differs_counts() -> None:
    milp = chosen_model([], (1, 0, Sense.MAXIMIZE), (0, 1, Sense.MINIMIZE))
    compare = model_comparison._compare_objectives
    for point, best, gain, value in (
        ({"x": 3.0, "y": 0.0}, {"x": 4.0, "y": 2.0}, 1.0, 4.0), ({"x": 4.0, "y": 0.0}, {"x": 3.0, "y": 2.0}, -1.0, 5.0),
        ({"x": 4.0, "y": 3.0}, {"x": 4.0, "y": 1.0}, 2.0, 6.0), ({"x": 4.0, "y": 1.0}, {"x": 4.0, "y": 1.0}, 0.0, 4.0),
        # The tolerance is relative to the better value, or to 1.
        ({"x": 4.0 + 4e-4, "y": 3.0}, {"x": 4.0, "y": 1.0}, 2.0, 6.0), ({"x": 4.0 + 6e-4, "y": 3.0}, {"x": 4.0, "y": 1.0}, -6e-4, 5.0 + 6e-4),
    ):  # fmt: skip
        gap = compare(milp, milp, point, best)
        assert (gap.gain, gap.value, gap.slack) == (pytest.approx(gain), pytest.approx(value), 0.0)
    # What the program lets a later aim take belongs to its own aim, and checks may have more aims.
    goal = replace(milp.named_features.goals[0], slack_amount=2.0)
    generous = milp.with_records(features=ModelFeatures(goals=(goal,)))
    assert compare(generous, milp, {"x": 3.0}, {"x": 4.0}).slack == 2.0
    assert compare(generous, milp, {"x": 4.0, "y": 2.0}, {"x": 4.0}).slack == 0.0
    single = box_model([], (1, 0), Sense.MAXIMIZE)
    assert compare(single, milp, {"x": 4.0, "y": 2.0}, {"x": 4.0}).slack == 0.0
    squares = single.with_records(features=ModelFeatures(quadratic=(QuadraticTerm("x", "x", -1.0),)))
    for model, size in ((single, 1e-6), (squares, 1e-4)):
        gap = compare(model, model, {"x": 1.0}, {"x": 1.0})
        assert gap.tolerance == pytest.approx(size * abs(gap.best))


@pytest.mark.parametrize(
    ("value", "ruling"),
    [(8.0, Ruling.UNDECIDED), (9.5, Ruling.UNDECIDED), (7.5, Ruling.FORBIDS), (10.0, Ruling.AGREES)],
)
@pytest.mark.parametrize("is_proven", [True, False])
def test_what_the_program_gives_up_in_an_aim_is_no_contradiction(
    monkeypatch: pytest.MonkeyPatch, value: float, ruling: Ruling, is_proven: bool
) -> None:
    """The first aim may be 2 from its best, which is 10."""
    goal = FurtherObjective("people", {"x": 1.0}, Sense.MAXIMIZE, priority=1, slack_amount=2.0)
    row = Row("most", {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 10.0)
    milp = IndexedModel.from_records(
        (Variable("x"), Variable("y")),
        (row,),
        Objective({"y": 1.0}),
        Sense.MINIMIZE,
        features=ModelFeatures(goals=(goal,)),
    )
    checks = [
        CheckRow("most", row.terms, "<=", 10.0),
        CheckRow("people", {"x": 1.0}, "maximize", 0.0),
        CheckRow("y", {"y": 1.0}, "minimize", 0.0),
    ]
    point = Solution(SolveStatus.OPTIMAL, objective=0.0, bound=0.0, values={"x": value, "y": 0.0})
    if not is_proven:
        solved = replace(solve(checker_milp(milp, checks, {"x", "y"}), duals=False), status=SolveStatus.FEASIBLE)
        monkeypatch.setattr(model_comparison, "_solve_checks", lambda *words: solved)
    comparison = counter(milp, point, checks)
    if is_proven:
        assert (comparison.ruling, comparison.proven) == (ruling, True)
    else:
        # The best point of the checks is not proven; a better one still contradicts.
        assert comparison.ruling is (Ruling.FORBIDS if ruling is Ruling.FORBIDS else Ruling.UNDECIDED)


@pytest.mark.parametrize("sense", Sense)
@pytest.mark.parametrize(
    ("gain", "ruling"),
    [(1e-6, Ruling.AGREES), (-1e-6, Ruling.AGREES), (1.5e-6, Ruling.FORBIDS), (-1.5e-6, Ruling.ALLOWS)],
)
def test_a_gain_of_the_tolerance_is_none(
    monkeypatch: pytest.MonkeyPatch, sense: Sense, gain: float, ruling: Ruling
) -> None:
    """The best value of the checks is 0."""
    milp = IndexedModel.from_records((Variable("x", -9, 9),), (), Objective({"x": 1.0}), sense)
    checks = [
        CheckRow("limit", {"x": 1.0}, "<=" if sense is Sense.MAXIMIZE else ">=", 0.0),
        CheckRow("worth", {"x": 1.0}, str(sense), 0.0),
    ]
    value = sense.sign * gain
    point = Solution(SolveStatus.OPTIMAL, objective=value, bound=value, values={"x": value})
    assert counter(milp, point, checks).ruling is ruling
    # Without a proof of the checks, only a better point contradicts.
    answer = Solution(SolveStatus.FEASIBLE, objective=0.0, bound=0.0, values={"x": 0.0})
    monkeypatch.setattr(model_comparison, "_solve_checks", lambda *words: answer)
    assert counter(milp, point, checks).ruling is (Ruling.FORBIDS if ruling is Ruling.FORBIDS else Ruling.UNDECIDED)


@pytest.mark.parametrize(
    ("bound", "ruling"), [(None, Ruling.UNDECIDED), (-1.0, Ruling.UNDECIDED), (0.0, Ruling.UNDECIDED), (1e-6, Ruling.UNDECIDED), (1.1e-6, Ruling.FORBIDS), (3.0, Ruling.FORBIDS)]
)  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_a_point_without_proof_may_be_improved_up_to_its_bound(bound: float | None, ruling: Ruling, sign: int) -> None:
    """The point has 5, the checks have 0 at least; the program minimises it, or maximises its negative."""
    sense = Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE
    milp = IndexedModel.from_records((Variable("x", -9, 9),), (), Objective({"x": float(sign)}), sense)
    checks = [CheckRow("limit", {"x": 1.0}, ">=", 0.0), CheckRow("worth", {"x": 1.0}, "minimize", 0.0)]
    point = Solution(
        SolveStatus.FEASIBLE, objective=sign * 5.0, bound=None if bound is None else sign * bound, values={"x": 5.0}
    )
    assert counter(milp, point, checks).ruling is ruling
    # One that is as good agrees, whatever its bound.
    equal = replace(point, objective=0.0, values={"x": 0.0})
    assert counter(milp, equal, checks).ruling is Ruling.AGREES
    # A proven one is contradicted.
    proven = replace(point, status=SolveStatus.OPTIMAL)
    assert counter(milp, proven, checks).ruling is Ruling.FORBIDS


@pytest.mark.parametrize(
    ("bound", "within"), [(None, None), (8.0, 0.0), (6.0, 0.25), (9.0, 0.0), (-8.0, 2.0)]
)  # fmt: skip
@pytest.mark.parametrize("sign", [1, -1])
def test_checks_without_a_proven_optimum_are_compared_by_their_bound(
    monkeypatch: pytest.MonkeyPatch, bound: float | None, within: float | None, sign: int
) -> None:
    """The program has 8 at its optimum, which the checks minimise, or maximise as its negative."""
    sense = "minimize" if sign > 0 else "maximize"
    milp = IndexedModel.from_records((Variable("x", 8, 9),), (), Objective({"x": 1.0}), Sense.MINIMIZE)
    checks = [CheckRow("limit", {"x": 1.0}, ">=", -9.0), CheckRow("worth", {"x": float(sign)}, sense, 0.0)]
    answer = Solution(
        SolveStatus.FEASIBLE, objective=sign * 8.0, bound=None if bound is None else sign * bound, values={"x": 8.0}
    )
    monkeypatch.setattr(model_comparison, "_solve_checks", lambda *words: answer)
    comparison = counter(milp, None, checks)
    assert (comparison.ruling, comparison.proven) == (Ruling.UNDECIDED, False)
    assert comparison.within == (None if within is None else pytest.approx(within))
    # A better point of the checks contradicts a proven optimum only.
    better = replace(answer, objective=sign * 7.0, values={"x": 7.0})
    monkeypatch.setattr(model_comparison, "_solve_checks", lambda *words: better)
    assert counter(milp, None, checks).ruling is Ruling.FORBIDS
    rough = replace(solve(milp, duals=False), status=SolveStatus.FEASIBLE)
    assert counter(milp, rough, checks).ruling is Ruling.UNDECIDED
    # Without a point of the program nothing can be said.
    assert counter(milp, Solution(SolveStatus.INFEASIBLE), checks).within is None
    for status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        assert counter(milp, Solution(status), checks).ruling is Ruling.UNDECIDED


def test_nothing_is_said_of_models_that_were_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    milp = toy(LIMIT)
    assert counter(milp, Solution(SolveStatus.UNKNOWN), entries(milp)).ruling is Ruling.UNDECIDED
    monkeypatch.setattr(model_comparison, "_solve_checks", lambda *words: Solution(SolveStatus.UNKNOWN))
    comparison = counter(milp, None, entries(milp))
    assert (comparison.ruling, comparison.proven, comparison.within) == (Ruling.UNDECIDED, False, None)


@pytest.mark.parametrize("program", [toy(LIMIT), toy(), toy(NEVER)])
@pytest.mark.parametrize("gold", [toy(LIMIT), toy(), toy(NEVER)])
def test_each_ending_of_both_models_is_a_proof(program: IndexedModel, gold: IndexedModel) -> None:
    assert held(program, gold).proven


@pytest.mark.parametrize("solver", ["", "highs"])
def test_checks_are_solved_by_the_solver_of_the_user_if_it_can(monkeypatch: pytest.MonkeyPatch, solver: str) -> None:
    native: list[object] = []
    solved: list[tuple[float, str, int]] = []
    refusals = iter([True, False])

    def solve_native(
        checks: IndexedModel, whole: set[str], limit_s: float, threads: int, gap: float, tasks: list
    ) -> None:
        native.append((sorted(whole), limit_s, threads, gap, tasks))

    def solve_model(checks: IndexedModel, limit_s: float, *, solver: str = "", threads: int = 1) -> Solution:
        solved.append((limit_s, solver, threads))
        if solver and next(refusals):
            raise ModellingError("not this class")
        return solve(checks, duals=False)

    monkeypatch.setattr(model_comparison, "solve_with_cp_sat", solve_native)
    monkeypatch.setattr(model_comparison, "solve_model", solve_model)
    milp = toy(LIMIT).with_records(variables=(Variable("x", kind=VariableKind.INTEGER), Variable("y")))
    solution = solve(milp, duals=False)
    checks = [row for row in entries(milp) if not row.name.startswith("whole")]
    find_counterexample(milp, solution, checks, {"x", "y"}, 7.0, solver=solver, threads=3)
    assert native == ([] if solver else [(["x"], 7.0, 3, 0.0, [])])
    # Another class than that of the model is solved by a solver that can.
    assert solved == ([(7.0, "highs", 3), (7.0, "", 3)] if solver else [(7.0, "", 3)])
    find_counterexample(milp, Solution(SolveStatus.INFEASIBLE), checks, {"x", "y"}, 7.0)
    # For a program without a point, only what the checks call whole is whole.
    assert native[-1] == ([], 7.0, 1, 0.0, [])

    def refuse(*words: object, **named: object) -> Solution:
        raise ModellingError("no")

    monkeypatch.setattr(model_comparison, "solve_model", refuse)
    with pytest.raises(ModellingError):
        find_counterexample(milp, solution, checks, {"x", "y"}, 7.0)


def test_the_time_for_bounds_is_shared_by_the_aims(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []

    held: list[float] = []

    def solve_model(checks: IndexedModel, limit_s: float) -> Solution:
        seconds.append(limit_s)
        held.extend(row.rhs for row in checks.row_records if row.name.startswith("aim"))
        return solve(checks, duals=False)

    monkeypatch.setattr(model_comparison, "solve_model", solve_model)
    checks = chosen_model([], (1, 0, Sense.MAXIMIZE), (1, 1, Sense.MAXIMIZE))
    # The first aim could be 5 in place of 4, and with it the second one 11 in place of 10.
    assert model_comparison._possible_gain(checks, {"x": 3.0, "y": 4.0}, 0.5) == pytest.approx(0.25)
    assert len(seconds) == 2
    assert 0 < seconds[0] <= 0.25
    assert 0.25 < seconds[1] <= 0.5
    # The first aim, which is x + 1, is held at 4 within a millionth.
    assert 3.0 - held[0] == pytest.approx(4e-6, rel=1e-3)
    assert model_comparison._possible_gain(checks, {"x": 3.0, "y": 4.0}, 0.0) is None
    assert len(seconds) == 2
    # Values below 0, and small ones, which are compared with 1.
    turned = chosen_model([], (1, 0, Sense.MINIMIZE), (1, 1, Sense.MINIMIZE))
    moved = turned.with_records(objective=replace(turned.objective_record, constant=-20.0))
    assert model_comparison._possible_gain(moved, {"x": 0.0, "y": 4.0}, 9.0) == pytest.approx(4 / 16)
    assert model_comparison._possible_gain(turned, {"x": 0.5, "y": 0.0}, 9.0) == pytest.approx(1 / 3)
    monkeypatch.setattr(model_comparison, "solve_model", lambda checks, limit_s: Solution(SolveStatus.UNKNOWN))
    assert model_comparison._possible_gain(checks, {"x": 3.0, "y": 4.0}, 9.0) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 3), st.sampled_from([None, 0, 1])), min_size=2, max_size=3),
    st.integers(0, 2),
    st.integers(0, 2),
)
def test_cases_of_two_tasks_hold_where_they_do_not_overlap(
    tasks: list[tuple[int, int, int | None]], x: int, d: int
) -> None:
    """A task begins at 2 x and its number, and takes d and its size."""
    group = []
    for at, (begin, size, presence) in enumerate(tasks):
        start, duration = (
            CheckRow("", {"x": 2.0, f"p{at}": 0.0}, "", -float(begin)),
            CheckRow("", {"d": 1.0}, "", -float(size)),
        )
        group.append(
            (start, duration) if presence is None else (start, duration, CheckRow("", {f"p{at}": 1.0}, "", 0.0))
        )
    point = {
        "x": float(x),
        "d": float(d),
        **{f"p{at}": float(presence or 0) for at, (*_, presence) in enumerate(tasks)},
    }
    entry = CheckRow("machine", {}, "no overlap", 0.0, "one at a time", cases=tuple(group))
    pairs = itertools.combinations(tasks, 2)
    choices = list(overlap_choices(entry))
    assert {(choice.name, choice.relation, choice.sentence) for choice in choices} == {
        ("machine", "any", "one at a time")
    }
    for choice, (first, second) in zip(choices, pairs, strict=True):
        starts = [2 * x + task[0] for task in (first, second)]
        ends = [start + d + task[1] for start, task in zip(starts, (first, second), strict=True)]
        apart = ends[0] <= starts[1] or ends[1] <= starts[0] or 0 in (first[2], second[2])
        assert any(row.value_at(point) <= 0 for (row,) in choice.cases) is apart


def test_tasks_with_fixed_durations_are_intervals_of_a_machine() -> None:
    def task(duration: CheckRow, *presence: CheckRow) -> tuple[CheckRow, ...]:
        return (CheckRow("", {"s": 2.0}, "", -3.0), duration, *presence)

    fixed, loose = CheckRow("", {}, "", -4.0), CheckRow("", {"d": 1.0}, "", 0.0)
    on = CheckRow("", {"on": 1.0}, "", 0.0)
    group = (
        task(fixed),
        task(fixed, on),
        task(loose),
        task(fixed, replace(on, terms={"on": 2.0})),
        task(fixed, replace(on, rhs=-1.0)),
        task(fixed, CheckRow("", {}, "", 0.0)),
        task(fixed),
    )
    rows = [CheckRow("row", {"s": 1.0}, "<=", 3.0), CheckRow("machine", {}, "no overlap", 0.0, cases=group)]
    intervals = list(model_comparison._task_intervals(rows))
    assert {(interval.lane, interval.is_exclusive) for interval in intervals} == {("check 1", True)}
    # From 2 s + 3, for 4.
    values = {"s": 5.0, "on": 1.0}
    assert [(interval.start.at(values), interval.end.at(values)) for interval in intervals] == [(13.0, 17.0)] * 3
    assert [interval.conditions for interval in intervals] == [{}, {"on": 1.0}, {}]


@pytest.mark.parametrize(
    ("row", "is_linear"),
    [
        (CheckRow("", {"x": 1.0}, "<=", 3.0), True), (CheckRow("", {"x": 1.0}, "integer", 0.0), False), (CheckRow("", {"x": 1.0}, "maximize", 0.0), False),
        (CheckRow("", {"x": 1.0}, "<=", 3.0, products={("x", "y"): 1.0}), False),
    ],
)  # fmt: skip
def test_cases_have_linear_rows_alone(row: CheckRow, is_linear: bool) -> None:
    builder = model_comparison.ChecksBuilder()
    choice = CheckRow("either", {}, "any", 0.0, "s", cases=((row,), (CheckRow("", {"y": 1.0}, ">=", 1.0),)))
    if not is_linear:
        with pytest.raises(ModellingError):
            builder.add(choice)
        return
    builder.add(choice)
    assert [(part.binary, part.terms, part.relation, part.rhs) for part in builder.indicators] == [
        ("choice of checks 1", {"x": 1.0}, Relation.AT_MOST, 3.0), ("choice of checks 2", {"y": 1.0}, Relation.AT_LEAST, 1.0),
    ]  # fmt: skip
    (some,) = builder.rows
    assert (dict(some.terms), some.relation, some.rhs, some.meaning) == (
        {"choice of checks 1": 1.0, "choice of checks 2": 1.0}, Relation.AT_LEAST, 1.0, "s",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("point", "largest", "fee"),
    [({"x": 3.0, "y": 5.0}, 6.0, 8.0), ({"x": 9.0, "y": 5.0}, 9.0, 14.0), ({"x": -4.0}, 1.0, 1.0)],
)
def test_derived_columns_have_their_values_at_a_point(point: dict[str, float], largest: float, fee: float) -> None:
    """The larger of x and y + 1, and a fee of it by three points."""
    cases = ((CheckRow("", {"x": 1.0}, "", 0.0),), (CheckRow("", {"y": 1.0}, "", -1.0),))
    rows = [
        CheckRow("most", {}, "largest", 0.0, cases=cases), CheckRow("row", {"x": 1.0}, "<=", 99.0),
        # A function of a column that is derived itself.
        CheckRow("fee", {}, "pieces", 0.0, cases=((CheckRow("", {"most": 1.0}, "", 0.0),),), points=((1.0, 1.0), (6.0, 8.0), (8.0, 12.0))),
    ]  # fmt: skip
    derived = add_derived(point, rows)
    assert (derived["most"], derived["fee"]) == (largest, pytest.approx(fee))
    assert {name: value for name, value in derived.items() if name in point} == point


@pytest.mark.parametrize(
    ("rows", "low"),
    [
        # x of the program is 0 at least; a check allows less, in each form of a bound.
        ([({"x": 0.5}, ">=", -2.0)], -4.0), ([({"x": -0.5}, "<=", 2.0)], -4.0), ([({"x": 2.0}, "=", -6.0)], -3.0), ([({"x": 1.0}, ">=", -2.0), ({"x": 1.0}, ">=", -5.0)], -2.0),
        # An upper bound, a row of two columns, one with products, and a positive bound allow nothing below 0.
        ([({"x": 1.0}, "<=", -2.0)], 0.0), ([({"x": -1.0}, ">=", 2.0)], 0.0), ([({"x": 1.0, "y": 1.0}, ">=", -2.0)], 0.0), ([({"x": 1.0}, ">=", 2.0)], 0.0),
        ([({"x": 1.0, "y": 0.0}, ">=", -2.0)], -2.0), ([({"x": 1.0}, "integer", -2.0)], 0.0),
    ],
)  # fmt: skip
def test_a_value_of_checks_is_at_least_0_unless_a_check_allows_less(rows: list[tuple], low: float) -> None:
    checks = [CheckRow(f"c{at}", *row) for at, row in enumerate(rows)]
    model = checker_milp(
        IndexedModel.from_records((Variable("x"), Variable("y")), (), Objective(), Sense.MINIMIZE), checks, {"x", "y"}
    )
    assert [variable.low for variable in model.variable_records] == [low, 0.0]
    multiplied = [replace(check, products={("x", "y"): 1.0}) for check in checks]
    model = checker_milp(
        IndexedModel.from_records((Variable("x", -7), Variable("y")), (), Objective(), Sense.MINIMIZE),
        multiplied,
        {"x", "y"},
    )
    assert [variable.low for variable in model.variable_records] == [-7.0, 0.0]


def test_only_linear_objectives_are_compared_by_their_coefficients() -> None:
    """Both are 2 at x = 1: twice x, and x plus its square."""
    row = Row("least", {"x": 1.0}, Relation.AT_LEAST, 1.0)
    milp = IndexedModel.from_records((Variable("x"), Variable("y")), (row,), Objective({"x": 2.0}), Sense.MINIMIZE)
    checks = [
        CheckRow("least", {"x": 1.0}, ">=", 1.0),
        CheckRow("cost", {"x": 1.0}, "minimize", 0.0, products={("x", "x"): 1.0}),
    ]
    assert counter(milp, None, checks).ruling is Ruling.AGREES
    squares = milp.with_records(
        objective=Objective({"x": 1.0}), features=ModelFeatures(quadratic=(QuadraticTerm("x", "x", 1.0),))
    )
    linear = [checks[0], CheckRow("cost", {"x": 2.0}, "minimize", 0.0)]
    assert counter(squares, None, linear).ruling is Ruling.AGREES
    without = model_comparison._without_objective(squares)
    assert (without.objective_record.terms, without.named_features.quadratic) == ({}, ())
    several = chosen_model([], (1, 0, Sense.MAXIMIZE), (0, 1, Sense.MINIMIZE))
    assert model_comparison._without_objective(several).named_features.goals == ()
    # Without an aim of the checker, the program's objective is used with its products.
    assert checker_milp(squares, checks[:1], {"x"}).named_features.quadratic == squares.named_features.quadratic


@pytest.mark.parametrize(
    ("relation", "limit", "sense"), [(Relation.AT_MOST, 0.0, Sense.MAXIMIZE), (Relation.AT_LEAST, 0.0, Sense.MINIMIZE)]
)
def test_a_point_of_few_columns_is_forbidden_by_the_rows_of_the_others(
    relation: Relation, limit: float, sense: Sense
) -> None:
    """x is tied to a column that is not returned, between 4 and 6; the checks allow from 1 to 9."""
    variables = (Variable("x", 0, 10), Variable("own", 4, 6))
    milp = IndexedModel.from_records(
        variables, (Row("link", {"x": 1.0, "own": -1.0}, relation, limit),), Objective({"x": 1.0}), sense
    )
    checks = [
        CheckRow("few", {"x": 1.0}, ">=", 1.0),
        CheckRow("many", {"x": 1.0}, "<=", 9.0),
        CheckRow("worth", {"x": 1.0}, str(sense), 0.0),
    ]
    comparison = counter(milp, None, checks, "x")
    assert (comparison.ruling, comparison.values) == (Ruling.FORBIDS, {"x": 9.0 if sense is Sense.MAXIMIZE else 1.0})
    assert "link" in comparison.names


def test_an_aim_that_the_checker_leaves_out_gives_no_freedom_to_those_after_it() -> None:
    """The program makes x as large as possible, then y; the checker knows y alone."""
    milp = chosen_model([(1, 1, "<=", 4)], (1, 0, Sense.MAXIMIZE), (0, 1, Sense.MAXIMIZE))
    checks = box_checks([(1, 1, "<=", 4)], (0, 1), Sense.MAXIMIZE)
    comparison = counter(milp, None, checks)
    assert (comparison.ruling, comparison.compared_aims) == (Ruling.AGREES, 0)


@pytest.mark.parametrize(
    ("terms", "direction", "stops"),
    [
        ({"x": 1.0}, {"x": 1.5e-9}, True), ({"x": 1.0}, {"x": 0.9e-9}, False), ({"x": 1e12, "y": -1e12}, {"x": 1.0, "y": 1.0 - 1e-10}, False),
        ({"x": 1e12, "y": -1e12}, {"x": 1.0, "y": 1.0 - 1e-8}, True), ({"x": 1.0, "z": 1e12}, {"x": 1.0}, True), ({"z": 1.0}, {"x": 1.0}, False),
    ],
)  # fmt: skip
def test_rounding_stops_no_direction(terms: dict[str, float], direction: dict[str, float], stops: bool) -> None:
    assert _stops_direction(Row("r", terms, Relation.AT_MOST, 5.0), direction) is stops
    assert _stops_direction(Row("r", terms, Relation.EQUAL, 5.0), direction) is stops
    opposite = {name: -value for name, value in terms.items()}
    assert _stops_direction(Row("r", opposite, Relation.AT_LEAST, 5.0), direction) is stops
    assert not _stops_direction(Row("r", opposite, Relation.AT_MOST, 5.0), direction)


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({"a": 0.0, "b": 1e-9}, "with every value at 0"), ({"a": 1.0, "b": -2e-9}, "a = 1, b = -2e-09"), ({"a": 1.0, "b": 0.0}, "a = 1 (and 1 other at 0)"),
        ({"a": 1.0, "b": 0.0, "c": 0.0}, "a = 1 (and 2 others at 0)"), ({}, "with every value at 0"),
    ],
)  # fmt: skip
def test_a_point_is_described_by_what_is_not_0(values: dict[str, float], text: str) -> None:
    assert model_comparison._describe_point(values) == text


def test_missing_columns_of_a_product_count_as_0() -> None:
    check = CheckRow("area", {"x": 2.0}, "<=", 4.0, "", products={("gone", "x"): 7.0, ("x", "x"): 3.0})
    assert check.value_at({"x": 2.0}) == 2 * 2 + 3 * 4 - 4


def test_objectives_of_a_checker_have_its_order_and_its_constants() -> None:
    named = [
        ("a", "maximize", {"x": 1.0}, 2.0),
        ("b", "minimize", {"y": 1.0}, -3.0),
        ("c", "maximize", {"x": 1.0, "y": 2.0}, 4.0),
    ]
    checks = [CheckRow(name, terms, relation, rhs) for name, relation, terms, rhs in named]
    model = checker_milp(box_model([], (1, 1), Sense.MAXIMIZE), checks, {"x", "y"})
    stages = staged_objectives(model)
    assert [(stage.sense, stage.at({"x": 5.0, "y": 7.0})) for stage in stages] == [
        (Sense.MAXIMIZE, 5.0 - 2), (Sense.MINIMIZE, 7.0 + 3), (Sense.MAXIMIZE, 19.0 - 4),
    ]  # fmt: skip
    products = [replace(checks[0], products={("x", "y"): 1.0}), *checks[1:]]
    for several in (products, products[:2]):
        with pytest.raises(ModellingError):
            checker_milp(box_model([], (1, 1), Sense.MAXIMIZE), several, {"x", "y"})
    last = [*checks[:2], replace(checks[2], products={("x", "y"): 1.0})]
    quadratic = checker_milp(box_model([], (1, 1), Sense.MAXIMIZE), last, {"x", "y"}).named_features.quadratic
    assert [(term.first, term.second, term.value) for term in quadratic] == [("x", "y", 1.0)]


def test_without_an_aim_on_either_side_all_is_compared() -> None:
    milp = toy(LIMIT).with_records(objective=Objective())
    comparison = counter(milp, None, [CheckRow("limit", LIMIT.terms, "<=", LIMIT.rhs)])
    assert (comparison.ruling, comparison.compared_aims) == (Ruling.AGREES, 1)
    assert counter(toy(LIMIT), None, [CheckRow("limit", LIMIT.terms, "<=", LIMIT.rhs)]).compared_aims == 0


def test_a_counterexample_has_the_columns_of_the_program_alone() -> None:
    pytest.importorskip("ortools")
    cases = tuple((CheckRow("", {name: 1.0}, "", 0.0),) for name in "xy")
    checks = [
        CheckRow("most", {}, "largest", 0.0, cases=cases), CheckRow("limit", {"most": 1.0}, "<=", 3.0),
        *(CheckRow(f"whole {name}", {name: 1.0}, "integer", 0.0) for name in "xy"), CheckRow("worth", {"x": 1.0, "y": 1.0}, "maximize", 0.0),
    ]  # fmt: skip
    for high, ruling in ((3, Ruling.AGREES), (2, Ruling.FORBIDS)):
        variables = tuple(Variable(name, 0, high, VariableKind.INTEGER) for name in "xy")
        milp = IndexedModel.from_records(variables, (), Objective({"x": 1.0, "y": 1.0}), Sense.MAXIMIZE)
        comparison = counter(milp, None, checks)
        assert (comparison.ruling, comparison.values) == (ruling, {"x": 3.0, "y": 3.0})


@pytest.mark.parametrize(
    ("ours", "names"), [(1e6, ()), (1e6 + 0.5, ()), (1e6 + 1.0, ()), (1e6 + 2.0, ("x",)), (1e6 - 2.0, ("x",))]
)
def test_coefficients_differ_beyond_a_millionth(ours: float, names: tuple[str, ...]) -> None:
    first, second = (toy(LIMIT).with_records(objective=Objective({"x": size, "y": 1.0})) for size in (ours, 1e6))
    costs = model_comparison._different_costs(first, second)
    assert (() if costs is None else costs[0]) == names
    assert model_comparison._different_costs(first, second.with_records(sense=Sense.MINIMIZE)) is None
    assert model_comparison._different_costs(first, second.with_records(objective=Objective({"x": 5.0}))) is None


@pytest.mark.parametrize(
    ("count", "zeros", "ending"),
    [(12, 0, "l = 1"), (13, 0, "(and 1 more not at 0)"), (14, 1, "(and 2 more not at 0, 1 other at 0)")],
)
def test_twelve_values_of_a_point_are_named(count: int, zeros: int, ending: str) -> None:
    values = {chr(97 + at): 1.0 for at in range(count)} | {f"z{at}": 0.0 for at in range(zeros)}
    text = model_comparison._describe_point(values)
    assert text.endswith(ending)
    assert text.count(" = 1") == 12


def test_a_program_without_a_point_gets_one_of_the_checks() -> None:
    """Also where the objective of the checks has no end."""
    comparison = held(toy(NEVER), toy(Row("some", {"x": 1.0, "y": 1.0}, Relation.AT_LEAST, 3.0)))
    assert comparison.ruling is Ruling.FORBIDS
    assert sum(comparison.values.values()) >= 3 - 1e-6
    assert set(comparison.values) == {"x", "y"}
