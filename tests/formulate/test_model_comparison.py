"""The checker's rows under the program's objective: what they show of drops, turns and bounds, and what they confirm."""

import itertools
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.formulate import model_comparison
from oragent.formulate.model_comparison import (
    CheckRow,
    Ruling,
    _stops_direction,
    add_derived,
    checker_milp,
    find_counterexample,
)
from oragent.formulate.native_scheduling import solve_with_cp_sat
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
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
