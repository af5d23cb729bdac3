"""The checker's rows under the program's objective: what they show of drops, turns and bounds, and what they confirm."""

from dataclasses import replace

import pytest

from oragent.formulate import model_comparison
from oragent.formulate.model_comparison import CheckRow, Ruling, find_counterexample
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.modelling.data.solution import TOLERANCES, SolveStatus
from oragent.modelling.solving.flat_solving import solve
from oragent_benchmarks.families import FAMILIES
from oragent_benchmarks.formulate.mock_models import errors_of, plant_error


def entries(milp: Milp) -> list[CheckRow]:
    """A checker's rows for a model, as they come across the wire."""
    found = [CheckRow(row.name, row.terms, str(row.relation), row.rhs) for row in milp.rows]
    for one in milp.variables:
        found += [CheckRow(f"least {one.name}", {one.name: 1.0}, ">=", one.low)] * (one.low > -1e30)
        found += [CheckRow(f"most {one.name}", {one.name: 1.0}, "<=", one.high)] * (one.high < 1e30)
        found += [CheckRow(f"whole {one.name}", {one.name: 1.0}, "integer", 0.0)] * one.is_integer
    return found


def held(program: Milp, gold: Milp):
    names = {one.name for one in gold.variables}
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


def toy(*rows: Row, sense: Sense = Sense.MAXIMIZE) -> Milp:
    return Milp((Variable("x", 0), Variable("y", 0)), rows, Objective({"x": 1.0, "y": 1.0}), sense)


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
    program = Milp(variables, rows, cost, Sense.MINIMIZE, features=ModelFeatures(goals=goals))
    solved = replace(solve(program, duals=False), status=SolveStatus.FEASIBLE, values=point)

    def stop_on_time(checks: Milp, *options: object) -> object:
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
def test_every_pair_of_ends_has_its_ruling(program: Milp, gold: Milp, ruling: Ruling, named: str) -> None:
    found = held(program, gold)
    assert found.ruling is ruling
    assert (named in found.names) == bool(named)


def test_columns_that_were_not_returned_are_the_programs_own() -> None:
    """A fixed cost by a binary column: the checker tells the objective, the conflict names what forbids its point."""
    milp = Milp(
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


def test_a_point_within_a_gap_is_no_proof_that_the_program_forbids_a_better_one() -> None:
    milp = Milp((Variable("x", 0, 10),), (Row("room", {"x": 1.0}, Relation.AT_MOST, 8.0),), Objective({"x": 1.0}),
                Sense.MAXIMIZE)  # fmt: skip
    rows = [CheckRow("room", {"x": 1.0}, "<=", 8.0), CheckRow("most", {"x": 1.0}, "maximize", 0.0)]
    found = replace(solve(milp), status=SolveStatus.FEASIBLE, objective=7.5, bound=8.0, values={"x": 7.5})
    assert find_counterexample(milp, found, rows, {"x"}, 10.0).ruling is Ruling.UNDECIDED
    more = [CheckRow("room", {"x": 1.0}, "<=", 9.0), rows[1]]
    assert find_counterexample(milp, found, more, {"x"}, 10.0).ruling is Ruling.FORBIDS


def test_a_counterexample_lists_what_is_not_0_and_counts_the_rest() -> None:
    """36 routes, of which the optimum of the checks uses the last one alone: worth 9 each, 4 allowed."""
    names = [f"ship[{depot},{shop:02}]" for depot in ("Köln", "Łódź", "Graz") for shop in range(12)]
    worth = {name: 1.0 + (name == "ship[Graz,11]") * 8 for name in names}
    rows = (
        Row("fleet", dict.fromkeys(names, 1.0), Relation.AT_MOST, 4.0),
        Row("Graz is shut", {names[-1]: 1.0}, Relation.AT_MOST, 0.0),
    )
    milp = Milp(tuple(Variable(name, 0, 10) for name in names), rows, Objective(worth), Sense.MAXIMIZE)
    checks = [CheckRow("fleet", rows[0].terms, "<=", 4.0), CheckRow("worth", worth, "maximize", 0.0)]
    comparison = find_counterexample(milp, solve(milp), checks, set(names), 10.0)
    assert comparison.ruling is Ruling.FORBIDS
    assert comparison.objective == 36.0
    assert comparison.reason.startswith(
        "the point ship[Graz,11] = 4 (and 35 others at 0) breaks no check and is better"
    )
    served = tuple(Row(name, {name: 1.0}, Relation.AT_LEAST, 1.0) for name in names[:14])
    doubled = Row("too much", {names[0]: 1.0}, Relation.AT_LEAST, 3.0)
    milp = replace(milp, rows=(*served, doubled), sense=Sense.MINIMIZE)
    checks = [*(CheckRow(row.name, row.terms, ">=", 1.0) for row in served), CheckRow("cost", worth, "minimize", 0.0)]
    comparison = find_counterexample(milp, solve(milp), checks, set(names), 10.0)
    assert "(and 2 more not at 0, 22 others at 0)" in comparison.reason
