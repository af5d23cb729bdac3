"""What operations claim of files, other models and unproven solves, at the ends of their tolerances."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oragent._base.errors import ModellingError
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import Sensitivity, Solution, Source
from oragent.modelling.files.lp_reader import read_lp
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import ModelSession, SolveLimits, checking, outcomes, parse_line
from oragent.modelling.operations.command import write_scenarios
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import Outcome, OutcomePool, ScenarioModel, solution_outcome, solve_arrays
from oragent.modelling.operations.points import parse_csv, parse_json, parse_output
from oragent.modelling.operations.results import Figure, MatchTrial
from oragent.modelling.operations.rows import optimal_face
from oragent.modelling.operations.verifying import match_optima, summarize_agreement
from oragent.modelling.solving.array_solving import ArraySolution
from oragent.modelling.solving.back_ends import Limit
from oragent.modelling.solving.optimal_face import OptimalFace
from tests.modelling.shops import COLUMNS, fixed_shop
from tests.modelling.test_operation_details import BEST, NONE, OPEN, OPTIMAL, line_model

INF = math.inf


def one_variable(constant: float = 0.0, unit: str = "EUR") -> IndexedModel:
    builder = IndexedModelBuilder("one")
    x = builder.add_variables("x", low=-1e9, high=1e9)
    builder.set_objective("cost", "minimize", x, 1.0, constant=constant, unit=unit)
    return builder.build()


@pytest.mark.parametrize("worth", [0.0, 1e6, -1e6])
@pytest.mark.parametrize("side", [1, -1])
def test_a_claimed_objective_holds_up_to_a_relative_tolerance_on_both_sides(
    worth: float, side: int, tmp_path: Path
) -> None:
    session = ModelSession(one_variable(), folder=tmp_path)
    size = max(1.0, abs(worth))
    for step, holds in ((0.0, True), (0.9e-6, True), (1.1e-6, False), (0.5, False)):
        text = json.dumps({"values": {"x": worth}, "objective": worth + side * step * size})
        (tmp_path / "p.json").write_text(text)
        result = session.ask('verify "p.json"')
        assert (result.claim_holds, result.objective.unit, result.claimed.unit) == (holds, "EUR", "EUR")


def test_the_difference_to_an_optimum_that_is_not_proven_is_an_interval(tmp_path: Path) -> None:
    for sign in (1, -1):
        session = ModelSession(fixed_shop(sign).model(), SolveLimits(nodes=5), folder=tmp_path)
        point = session.study.point(session.study.present)
        worth = fixed_shop(sign).worth(point)
        session = ModelSession(fixed_shop(sign).model(), SolveLimits(nodes=5), folder=tmp_path)
        (tmp_path / "p.json").write_text(json.dumps(dict(zip(COLUMNS, np.zeros(5), strict=True))))
        scenario = session.study.present.known
        scenario.outcome = Outcome(BEST, point, worth, worth - 7.0 * sign)
        scenario.is_solved_with = session.study.limits
        result = session.ask('verify "p.json"')
        zero = fixed_shop(sign).worth(np.zeros(5))
        assert result.difference.value == pytest.approx(zero - worth)
        ends = sorted((zero - worth, zero - worth + 7.0 * sign))
        assert (result.difference.low, result.difference.high) == (pytest.approx(ends[0]), pytest.approx(ends[1]))
        assert result.difference.unit == "EUR"


def test_a_comparison_with_a_file_names_its_scenario_and_solves_no_difference(tmp_path: Path) -> None:
    session = ModelSession(fixed_shop(1).model(), folder=tmp_path)
    session.run(["need += 1", "stock[p] += 2", "keep more"])
    write(fixed_shop(1).model(), tmp_path / "other.json")
    (tmp_path / "p.json").write_text(json.dumps(dict(zip(COLUMNS, np.zeros(5), strict=True))))
    result = session.ask('verify "other.json" 1')
    assert (result.scenario, len(result.trials)) == ("more", 2)
    assert {entry.of for entry in result.differences} == {"data", "right-hand sides"}
    assert {entry.effect for entry in result.differences} == {None}
    effects = {entry.of: entry.effect for entry in session.ask('diff "other.json"').entries}
    assert None not in effects.values()
    assert session.ask('verify "p.json"').scenario == "more"
    point = session.study.point(session.study.present)
    (tmp_path / "p.json").write_text(json.dumps(dict(zip(COLUMNS, point.tolist(), strict=True))))
    assert session.ask('inverse "p.json"').scenario == "more"


def with_data(costs: list[float], data: dict[str, float], used: set[str]) -> IndexedModel:
    """Rooms for three variables; the used data limit them."""
    builder = IndexedModelBuilder("data")
    for name, figure in data.items():
        builder.add_parameter(name, [], figure)
    x = builder.add_variables("x", high=9.0)
    y = builder.add_variables("y", high=9.0)
    for name in data:
        rhs = builder.cells(name) if name in used else data[name]
        builder.add_rows(f"row {name}", [], "<=", rows=[0, 0], columns=[*x, *y], values=[1.0, 1.0], rhs=rhs)
    builder.set_objective("gain", "maximize", [*x, *y], np.array(costs), unit="EUR")
    return builder.build()


def test_only_data_that_both_models_use_are_multiplied() -> None:
    data = dict.fromkeys(("aside", "mine", "theirs", "both"), 40.0)
    first = with_data([1.0, 2.0], data, {"mine", "both"})
    second = with_data([1.5, 3.0], data, {"theirs", "both"})
    trials = match_optima(first, second, SolveLimits(), 2)
    assert [trial.perturbed for trial in trials] == ["as given", "data both", "data both"]
    assert {trial.optimum.unit for trial in trials} | {trial.other_optimum.unit for trial in trials} == {"EUR"}


@pytest.mark.parametrize(("count", "text"), [(4, "data a, b, c, d"), (5, "data a, b, c, d, ...")])
def test_a_trial_names_its_first_data(count: int, text: str) -> None:
    data = dict.fromkeys("abcde"[:count], 8.0)
    model = with_data([1.0, 2.0], data, set(data))
    assert [trial.perturbed for trial in match_optima(model, model, SolveLimits(), 2)] == [
        "as given", "costs of 2 variables", text,
    ]  # fmt: skip
    lone = with_data([1.0, 0.0], data, set(data))
    assert match_optima(lone, lone, SolveLimits(), 1)[1].perturbed == "costs of 1 variable"


def test_costs_are_shared_only_if_they_are_equal() -> None:
    model = with_data([1.0, 2.0], {"a": 8.0}, set())
    for step, count in ((0.0, 2), (1e-11, 2), (1e-7, 1), (1e-3, 1)):
        other = with_data([1.0, 2.0 * (1 + step)], {"a": 8.0}, set())
        (_, trial) = match_optima(model, other, SolveLimits(), 1)
        assert trial.perturbed.split()[:3] == ["costs", "of", str(count)]


def trial_of(agree: str) -> MatchTrial:
    return MatchTrial(perturbed="", optimum=Figure(), other_optimum=Figure(), status="", other_status="", agree=agree)


@pytest.mark.parametrize(
    ("answers", "summary"),
    [("yes yes", "yes"), ("yes open", "open"), ("open no yes", "no"), ("no open", "no"), ("open", "open")],
)
def test_models_agree_if_all_trials_do(answers: str, summary: str) -> None:
    assert summarize_agreement([trial_of(answer) for answer in answers.split()]) == summary


def test_models_without_a_common_member_are_compared(tmp_path: Path) -> None:
    def build(labels: list[str], terms: dict[str, float], goal: str = "o") -> IndexedModel:
        builder = IndexedModelBuilder("labels")
        builder.add_set("s", labels)
        x = builder.add_variables("x", ["s"], high=3.0)
        y = builder.add_variables("y", high=3.0)
        z = builder.add_variables("z", high=3.0)
        columns = {"y": int(y[0]), "z": int(z[0])}
        builder.add_rows("cap", ["s"], "<=", rows=np.arange(len(labels)), columns=x, rhs=1.0)
        for name in ("first", "second"):
            places = [columns[name] for name in terms]
            builder.add_rows(name, [], "<=", rows=[0] * len(terms), columns=places, values=[*terms.values()], rhs=4.0)
        builder.set_objective(goal, "maximize", y)
        return builder.build()

    write(build(["c", "d", "e"], {"y": 1.0}), tmp_path / "other.json")
    entries = ModelSession(build(["a", "b"], {"y": 1.0}), folder=tmp_path).ask('diff "other.json"').entries
    assert [(entry.of, entry.name, entry.change, entry.members) for entry in entries] == [
        ("set", "s", "removed", 2), ("set", "s", "added", 3),
        ("variables", "x", "removed", 2), ("variables", "x", "added", 3),
        ("rows", "cap", "removed", 2), ("rows", "cap", "added", 3),
    ]  # fmt: skip
    # A coefficient that only one model has is 0 in the other, and digits beyond the twelfth do not count.
    write(build(["a"], {"y": 1.0 + 4e-13, "z": 2.5}), tmp_path / "other.json")
    for terms, largest in (({"y": 1.0}, (0.0, 2.5)), ({"y": 1.0, "z": 2.5 + 1e-10}, (2.5 + 1e-10, 2.5))):
        entries = ModelSession(build(["a"], terms), folder=tmp_path).ask('diff "other.json"').entries
        assert [(entry.of, entry.name, entry.members, entry.largest) for entry in entries] == [
            ("coefficients", name, 1, ((f"{name}, z", *largest),)) for name in ("first", "second")
        ]


@pytest.mark.parametrize(
    ("before", "after", "differs"),
    [(0.0, 1e-9, True), (1e6, 1e6 + 1e-3, True), (1e6, 1e6 + 1e-8, False), (-3.0, 3.0, True), (0.0, 0.0, False)],
)
def test_constants_differ_in_their_first_twelve_digits(
    before: float, after: float, differs: bool, tmp_path: Path
) -> None:
    write(one_variable(after), tmp_path / "other.json")
    entries = ModelSession(one_variable(before), folder=tmp_path).ask('diff "other.json"').entries
    expected = [("objective", "constant", (("cost", before, after),))] if differs else []
    assert [(entry.of, entry.name, entry.largest) for entry in entries] == expected


@pytest.mark.parametrize("cost", [1.0, -1e6])
def test_the_inverse_lists_coefficients_that_change_in_more_than_their_last_digits(
    cost: float, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = []
    variables = [Variable(name, 0, 4) for name in ("a", "b", "c", "d")]
    flat = IndexedModel.from_records(variables, [], Objective(dict.fromkeys("abcd", cost)), Sense.MINIMIZE)
    size = abs(cost)

    def inverse_costs(arrays, point, seconds, solver, options):
        given.append((point.tolist(), seconds, solver, options))
        return arrays.cost + size * np.array([0.9e-9, 1.2e-9, -1.2e-9, 0.5])

    monkeypatch.setattr(checking, "inverse_costs", inverse_costs)
    (tmp_path / "p.json").write_text('{"a": 1, "b": 0, "c": 4, "d": 2}')
    for limits, seconds in ((SolveLimits(), 60.0), (SolveLimits(seconds=7.0), 7.0)):
        session = ModelSession(group_by_names(flat), limits, folder=tmp_path)
        result = session.ask('inverse "p.json"')
        assert [name for name, _, _ in result.coefficients] == ["b", "c", "d"]
        assert [new - old for _, old, new in result.coefficients] == pytest.approx(
            size * np.array([1.2e-9, -1.2e-9, 0.5]), rel=0.1
        )
        assert result.change.value == pytest.approx(size * (0.5 + 2.4e-9), rel=1e-12)
        assert given[-1] == ([1, 0, 4, 2], seconds, "highs", limits.options())
    monkeypatch.setattr(checking, "inverse_costs", lambda *_: None)
    with pytest.raises(ModellingError):
        session.ask('inverse "p.json"')


def squares(sign: int, unit: str = "EUR") -> IndexedModel:
    variables = [Variable("x", 0, 4), Variable("y", 0, 4)]
    features = ModelFeatures(quadratic=(QuadraticTerm("x", "x", float(sign)), QuadraticTerm("y", "y", float(sign))))
    sense = Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE
    row = Row("cap", {"x": 1, "y": 1}, Relation.AT_LEAST, 2)
    return group_by_names(
        IndexedModel.from_records(variables, [row], Objective({}, unit=unit), sense, features=features)
    )


@pytest.mark.parametrize("sign", [1, -1])
def test_a_model_with_squares_is_described_compared_and_explained_without_ranges(sign: int, tmp_path: Path) -> None:
    session = ModelSession(squares(sign), folder=tmp_path)
    (goal,) = session.ask("describe").objectives
    assert (goal.terms, goal.unit) == (2, "EUR")
    explanation = explain(squares(sign))
    assert [member.name for member in explanation.binding] == ["cap"]
    assert (explanation.ranges, explanation.with_integers_fixed, len(explanation.notes)) == ((), None, 1)
    linear = IndexedModel.from_records(
        [Variable("x", 0, 4), Variable("y", 0, 4)],
        [Row("cap", {"x": 1, "y": 1}, Relation.AT_LEAST, 2)],
        Objective({}),
        Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE,
    )
    write(linear, tmp_path / "linear.json")
    entries = session.ask('diff "linear.json"').entries
    assert ("features", "quadratic", "removed", 2) in [
        (entry.of, entry.name, entry.change, entry.members) for entry in entries
    ]
    assert [entry.change for entry in entries if entry.of == "objective"] == ["removed"]
    write(squares(sign), tmp_path / "squares.json")
    entries = ModelSession(group_by_names(linear), folder=tmp_path).ask('diff "squares.json"').entries
    assert {("features", "added"), ("objective", "added")} <= {(entry.of, entry.change) for entry in entries}


def two_conflicts() -> IndexedModel:
    limits = [
        Row(f"{side} {name}", {name: 1}, relation, rhs)
        for name in "xy"
        for side, relation, rhs in (("least", Relation.AT_LEAST, 5), ("most", Relation.AT_MOST, 3))
    ]
    flat = IndexedModel.from_records([Variable("x"), Variable("y")], limits, Objective({"x": 1}), Sense.MINIMIZE)
    return group_by_names(flat)


def test_no_row_alone_repairs_two_conflicts() -> None:
    explanation = explain(two_conflicts())
    assert len([name for family in explanation.conflict for name in family.names]) == 2
    assert (explanation.each_alone, explanation.least_total_change.value, explanation.proven) == ((), 4.0, True)
    assert explanation.notes == ()


def test_an_explanation_says_why_a_part_of_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ModellingError("no time")

    module = "oragent.modelling.operations.explanation"
    monkeypatch.setattr(f"{module}.conflict", refuse)
    explanation = explain(two_conflicts())
    assert (explanation.conflict, explanation.notes) == ((), ("no time",))
    assert explanation.least_total_change.value == 4.0
    monkeypatch.setattr(f"{module}.ray_of", lambda _: None)
    unbounded = IndexedModel.from_records([Variable("x")], [], Objective({"x": 1}), Sense.MAXIMIZE)
    explanation = explain(group_by_names(unbounded))
    assert (explanation.direction, explanation.change, len(explanation.notes)) == ((), None, 1)


def test_ranges_need_a_proven_optimum_with_duals() -> None:
    flat = IndexedModel.from_records(
        [Variable("x", 0, 4)], [Row("cap", {"x": 1}, Relation.AT_MOST, 3)], Objective({"x": 1}), Sense.MAXIMIZE
    )
    point = np.array([3.0])
    for outcome in (Outcome(BEST, point, 3.0, 4.0), Outcome(BEST, point, 3.0)):
        session = ModelSession(group_by_names(flat))
        session.study.present.known.outcome = outcome
        session.study.present.known.is_solved_with = session.study.limits
        for line in ("range cap", "range x"):
            with pytest.raises(ModellingError):
                session.ask(line)
        why = session.ask("why x")
        assert (why.reduced_cost, why.uniqueness, why.holds_from, why.holds_to) == (None, "", None, None)


@pytest.mark.parametrize(
    ("value", "low", "high", "forced"),
    [(1.0, 0.0, 9.0, "x <= 0"), (1.5, 0.0, 9.0, "x <= 0.5"), (0.5, 0.0, 9.0, ""), (3.0, 2.5, 9.0, "x <= 2.5"),
     (0.0, 0.0, 9.0, "x >= 1"), (0.0, 0.0, 0.5, "x >= 0.5"), (9.0, 0.0, 9.0, "x <= 8"), (9.0, 8.5, 9.0, "x <= 8.5")],
)  # fmt: skip
def test_why_forces_a_value_by_one_unit_within_its_bounds(value: float, low: float, high: float, forced: str) -> None:
    flat = IndexedModel.from_records([Variable("x", low, high)], [], Objective({"x": 1.0}), Sense.MINIMIZE)
    session = ModelSession(group_by_names(flat))
    session.study.present.known.outcome = Outcome(BEST, np.array([value]), value, low)
    session.study.present.known.is_solved_with = session.study.limits
    assert session.ask("why x").forced == forced


def test_solutions_of_files_are_outcomes() -> None:
    duals = Sensitivity(Source.LP, 5.0, {"r": 2.0, "s": 0.0}, {"x": 0.0})
    for source, expected in ((Source.LP, [2.0, 0.0]), (Source.FIXED, None), (Source.RELAXATION, None)):
        solution = Solution(
            OPTIMAL, 5.0, 4.5, values={"x": 1.0, "y": 3.0}, sensitivity=replace(duals, source=source),
            solver="S 1", limit="nodes",
        )  # fmt: skip
        outcome = solution_outcome(solution)
        assert (outcome.status, outcome.objective, outcome.bound) == (OPTIMAL, 5.0, 4.5)
        assert (outcome.point.tolist(), outcome.solver, outcome.ended_by) == ([1.0, 3.0], "S 1", "nodes")
        assert (None if outcome.row_duals is None else outcome.row_duals.tolist()) == expected
    assert solution_outcome(Solution(BEST, 5.0, -INF, values={"x": 1.0})).bound is None
    assert solution_outcome(Solution(BEST, 5.0, None, values={"x": 1.0})).row_duals is None
    assert solution_outcome(Solution(NONE)).point is None


def test_what_ended_a_solve_and_what_it_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    point, duals = np.array([1.0]), np.array([0.5])
    squared = replace(line_model(), features=ModelFeatures(quadratic=(QuadraticTerm(0, 0, 1.0),)))
    for arrays, gap, limit, bound, status, expected in (
        (line_model(), 0.1, None, 4.0, BEST, ("gap", 4.0, True)),
        (line_model(), 0.0, None, 4.0, BEST, ("", 4.0, True)),
        (line_model(), 0.1, Limit.NODES, -INF, BEST, ("nodes", None, True)),
        (line_model(), 0.1, None, None, OPTIMAL, ("", None, True)),
        (squared, 0.1, None, 4.0, OPTIMAL, ("", 4.0, False)),
    ):
        solved = ArraySolution(status, point, 5.0, bound, row_duals=duals, limit=limit, solver="S")
        monkeypatch.setattr(outcomes.array_solving, "solve_arrays", lambda *_, solved=solved: solved)
        outcome = solve_arrays(arrays, SolveLimits(gap=gap))
        assert (outcome.ended_by, outcome.bound, outcome.row_duals is not None) == expected
        assert (outcome.status, outcome.objective, outcome.solver, outcome.basis) == (status, 5.0, "S", None)


# From the basis before a change, HiGHS alone does not decide that the first what-if has no plan.
HARD_TO_DECIDE = """Minimize
 obj: 6 x + 7 y + z
Subject To
 r: 2 x + 1000 z >= 3999
 s: 1000 y - 2 z <= 3992
 t: 5 y - 2 z >= 12
 u: 438 <= 100 x + 100 y + 10 z <= 442
 v: - 2 x + 0.1 y + 1000 z <= 4001.4
 w: 2 x - 2 y <= -8
End
"""


def test_a_change_without_a_plan_is_decided_and_the_plan_of_another_stays_near() -> None:
    session = ModelSession(read_lp(HARD_TO_DECIDE))
    result = session.ask("whatif r = 4004")
    assert (result.status_after, result.decided) == ("infeasible", True)
    session.run(["r = 4004"])
    assert session.ask("solve").status == "infeasible"


@pytest.mark.parametrize(
    ("line", "is_near"),
    [
        ("r = 3998", True), ("relax s by 1", True), ("lower(x) = 1", False), ("upper(y) = 9", False), ("objective(x) = 5", False), ("r(x) = 3", False),
        ("drop w", False), ("forbid x", False),
    ],
)  # fmt: skip
def test_a_changed_model_starts_from_the_basis_if_its_right_hand_sides_alone_differ(line: str, is_near: bool) -> None:
    session = ModelSession(read_lp(HARD_TO_DECIDE))
    study = session.study
    after = study.scenario((parse_line(line),))
    basis = study.basis_near(study.present, after)
    assert (basis is not None) == is_near
    assert basis is None or basis is study.present.known.outcome.basis


def test_a_second_solver_solves_once_more_and_may_contradict(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def solve(arrays, limits, start=None, basis=None):
        used.append((limits.solver, None if start is None else start.tolist()))
        return Outcome(OPTIMAL, np.array([1.0]), 1.0, 1.0, limits.solver)

    monkeypatch.setattr(outcomes, "solve_arrays", solve)
    pool, model = OutcomePool(), ScenarioModel(line_model())
    pool.add_point(np.array([2.0]))
    pool.solve(model, SolveLimits(confirm="other"))
    # The second solver does not begin at a point of the first.
    assert used == [("highs", [2.0]), ("other", None)]
    assert {"highs", "other"} <= set(model.confirmation.split())
    pool.solve(model, SolveLimits(confirm="other", nodes=3))
    assert len(used) == 2
    alone = ScenarioModel(line_model(cost=3.0))
    OutcomePool().solve(alone, SolveLimits())
    assert (alone.confirmation, used[2:]) == ("", [("highs", None)])


def test_the_first_of_equally_good_points_stays_and_points_have_the_tolerance_of_the_solver() -> None:
    pool = OutcomePool()
    for value in (3.0, 2.0):
        pool.add_point(np.array([value]))
    model = ScenarioModel(line_model(cost=0.0))
    pool.refresh(model)
    assert model.outcome.point.tolist() == [3.0]
    for value, is_feasible in ((-1e-6, True), (-1.1e-6, False), (4.0, True)):
        pool, model = OutcomePool(), ScenarioModel(replace(line_model(), row_low=np.array([-INF])))
        pool.add_point(np.array([value]))
        pool.refresh(model)
        assert model.outcome.status is (BEST if is_feasible else OPEN)


def test_a_contradiction_found_later_replaces_what_was_known() -> None:
    pool = OutcomePool()
    loose, tight = ScenarioModel(line_model(low=5.0)), ScenarioModel(line_model(low=6.0))
    pool.solve(loose, SolveLimits())
    assert loose.outcome.status is NONE
    pool.refresh(tight)
    assert (tight.outcome.status, tight.outcome.solver) == (NONE, loose.outcome.solver)


def test_new_rows_of_a_flat_model_have_names_in_files() -> None:
    text = "min\n obj: x + y\nst\n cap: x + y >= 1\n 2nd: x <= 4\nend\n"
    session = ModelSession(read_lp(text))
    for line in ("row new: x + y <= 9", "drop cap"):
        session.ask(line)
        model = session.model
        assert len(model.flat_row_names) == model.shape[0] == len(set(model.flat_row_names))
    assert "new" in session.model.flat_row_names
    session.run(["drop rows", "row first: x <= 3", "row last: y <= 3"])
    assert list(session.model.flat_row_names) == ["first", "last"]
    assert session.ask("solve").objective.value == 0.0


@pytest.mark.parametrize(
    ("line", "is_allowed"),
    [("make <= 1e15", True), ("make <= 1.1e15", False), ("make >= -1e15", True), ("make >= -1.1e15", False),
     ("need = 1e15", True), ("need = -1e15", True), ("need = 1.1e15", False), ("need = -1.1e15", False),
     ("relax room by 1e15", True), ("relax room by 1.1e15", False), ("relax room by 0", True),
     ("stock[p] *= 1e15", False)],
)  # fmt: skip
def test_figures_end_at_the_largest_that_a_model_may_have(line: str, is_allowed: bool) -> None:
    session = fixed_shop(1).session()
    if is_allowed:
        session.ask(line)
        assert len(session.study.changes) == 1
    else:
        with pytest.raises(ModellingError):
            session.ask(line)


def test_no_figure_is_a_negative_zero() -> None:
    session = fixed_shop(1).session()
    session.run(["need = -0", "room *= 0", "room *= -1", "lower(make) = -0"])
    assert not np.signbit(session.model.rhs_values[:3]).any()
    assert not np.signbit(session.model.low.evaluate(session.model.cells)).any()
    for figure in (Figure.exact(-0.0), Figure.between(-0.0, -0.0, -0.0)):
        assert [math.copysign(1.0, value) for value in (figure.value, figure.low, figure.high)] == [1.0, 1.0, 1.0]


def test_counts_have_at_most_nine_digits_and_lines_an_end() -> None:
    assert parse_line("top 123456789 make").count == 123456789
    assert parse_line("top -3 make").count == -3
    padding = " " * (20_000 - len("solve"))
    assert parse_line("solve" + padding).operation == "solve"
    for line in ("top 1234567890 make", "top 1.5 make", "top --3 make", "solve" + padding + " "):
        with pytest.raises(ModellingError):
            parse_line(line)


def test_scenarios_of_a_file_are_readable_lines(tmp_path: Path) -> None:
    write_scenarios(tmp_path / "m.json", {"größer": ["need += 1", "tie = 2"]})
    (file,) = tmp_path.iterdir()
    assert [line.strip(' ",') for line in file.read_text(encoding="utf-8").splitlines()] == [
        "{", 'größer": [', "need += 1", "tie = 2", "]", "}",
    ]  # fmt: skip


def test_a_row_of_a_table_is_a_value_or_refused() -> None:
    model = fixed_shop(1).model()
    assert parse_csv(model, "name,value\nmake[a],1\n,\n\n").values == {"make[a]": 1.0}
    for text in ("name,value\nmake[a],\n", "make[a],1\n,2x\n", "make[a],1\nmake[b],\n"):
        with pytest.raises(ModellingError):
            parse_csv(model, text)


def test_an_objective_that_is_no_number_is_not_claimed() -> None:
    model = fixed_shop(1).model()
    for objective, claimed in ((3, 3.0), ("3", None), (None, None), (False, None), ([3], None)):
        text = json.dumps({"values": {"make[a]": 1.0}, "objective": objective})
        assert parse_json(model, text).objective == claimed
    builder = IndexedModelBuilder("goal")
    x = builder.add_variables("objective")
    builder.set_objective("o", "minimize", x)
    # It is a variable here.
    claim = parse_json(builder.build(), '{"objective": 4}')
    assert (claim.values, claim.objective) == ({"objective": 4.0}, 4.0)
    assert parse_output(builder.build(), "objective = 4\no = 5").values == {"objective": 4.0}


def test_lines_count_where_the_last_object_is_broken() -> None:
    model = fixed_shop(1).model()
    text = '{"make[a]": 1}\nmake[b] = 2\n{"make[a]": \n'
    assert parse_output(model, text).values == {"make[b]": 2.0}


@pytest.mark.parametrize("stage", ["profit within 50 % then waste", "profit within 2 then waste", "profit then waste"])
def test_stages_have_their_units_and_what_they_give_up(stage: str) -> None:
    session = fixed_shop(1, gains=False).session()
    session.ask(f"objective {stage}")
    result = session.ask("solve")
    given = (50.0 if "%" in stage else 0.0, 2.0 if "within 2" in stage else 0.0)
    assert [(part.name, part.optimum.unit) for part in result.stages] == [("profit", "EUR"), ("waste", "kg")]
    assert (result.stages[0].within, result.stages[0].within_amount) == given
    goals = session.ask("describe").objectives
    assert [(goal.within, goal.within_amount) for goal in goals] == [given, (0.0, 0.0)]
    assert [(goal.unit, goal.sense) for goal in goals] == [("EUR", "minimize"), ("kg", "minimize")]
    trial = session.ask("whatif need += 1")
    assert [(part.name, part.sense, part.after.unit, part.difference.unit) for part in trial.stages] == [
        ("profit", "minimize", "EUR", "EUR"), ("waste", "minimize", "kg", "kg"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("low", "high", "form"),
    [(0, 1, "binary"), (0, 0, "binary"), (1, 1, "binary"), (-1, 1, "integer"), (0, 2, "integer")],
)
def test_whole_variables_from_0_to_1_are_binary(low: float, high: float, form: str) -> None:
    variables = [Variable("x", low, high, VariableKind.INTEGER), Variable("y", 0, 1, VariableKind.INTEGER)]
    flat = IndexedModel.from_records(variables, [], Objective({"x": 1}), Sense.MINIMIZE)
    (family,) = ModelSession(group_by_names(flat)).ask("describe x").families
    assert family.form == form


def test_a_figure_is_exact_if_its_ends_are_proven_and_equal() -> None:
    for figure, is_exact in (
        (Figure.exact(3.0), True),
        (Figure.between(3.0, 3.0, 3.0), True),
        (Figure.between(3.0, 2.0, 4.0), False),
        (Figure(value=3.0), False),
        (Figure(low=3.0, high=3.0), False),
        (Figure.exact(INF), False),
        (Figure(), False),
    ):
        assert figure.is_exact is is_exact


def test_weights_and_tolerances_may_be_below_1() -> None:
    (first, last) = parse_line("objective 0.5 * waste + 2 profit within 0.25 then batch").stages
    assert [(part.name, part.weight) for part in first.parts] == [("waste", 0.5), ("profit", 2.0)]
    assert (first.within, first.percent, last.within) == (0.25, False, 0.0)
    assert parse_line("objective waste within 0 % then batch").stages[0].percent
    for line in ("objective 0 * waste", "objective waste within -0.5 then batch", "objective waste within inf then x"):
        with pytest.raises(ModellingError):
            parse_line(line)


def test_sides_by_a_set_have_the_same_members() -> None:
    def bound_rows(line: str) -> dict[str, float]:
        session = fixed_shop(1).session()
        session.ask(f"row new: {line}")
        return {member.name: member.value.value for member in session.ask("data new").members}

    assert bound_rows("sum make by good <= 3") == {"new[a]": 3.0, "new[b]": 3.0}
    assert bound_rows("3 <= sum make by good") == {"new[a]": -3.0, "new[b]": -3.0}
    assert bound_rows("sum make by good - sum open by good + 2 <= batch + 5") == {"new[a]": 3.0, "new[b]": 3.0}
    assert bound_rows("sum make[{b}] by good - sum open[b] by good <= 1") == {"new[b]": 1.0}
    for line in (
        "sum make[a] by good <= sum open by good",
        "sum make by good <= sum open[a] by good",
        "sum make[a] by good <= sum open[b] by good",
        "sum make by good <= sum stock by kind",
    ):
        with pytest.raises(ModellingError):
            bound_rows(line)


def test_a_feasible_point_of_a_file_is_known_from_then_on(tmp_path: Path) -> None:
    shop = fixed_shop(1)
    best, worse = shop.optima()[0], shop.points()[0]
    for point, is_feasible in ((worse, True), (best, True), (best + 9.0, False)):
        session = ModelSession(shop.model(), folder=tmp_path)
        known = session.study.present.known
        known.is_solved_with = session.study.limits
        (tmp_path / "p.json").write_text(json.dumps(dict(zip(COLUMNS, point.tolist(), strict=True))))
        result = session.ask('verify "p.json"')
        assert result.feasible is is_feasible
        assert known.outcome.objective == (pytest.approx(shop.worth(point)) if is_feasible else None)


def test_models_without_common_names_say_that_nothing_was_multiplied(tmp_path: Path) -> None:
    def build(name: str) -> IndexedModel:
        builder = IndexedModelBuilder("names")
        builder.set_objective("o", "maximize", builder.add_variables(name, high=3.0), 1.0)
        return builder.build()

    write(build("y"), tmp_path / "y.json")
    session = ModelSession(build("x"), folder=tmp_path)
    for trials, count in ((3, 1), (0, 0)):
        result = session.ask(f'verify "y.json" {trials}')
        assert (len(result.trials), len(result.warnings), result.same_optima) == (1, count, "yes")


def test_a_set_that_only_one_model_has_is_listed_with_its_first_labels(tmp_path: Path) -> None:
    def build(names: dict[str, int]) -> IndexedModel:
        builder = IndexedModelBuilder("sets")
        for name, size in names.items():
            builder.add_set(name, [f"{name}{number}" for number in range(size)])
            builder.add_parameter(f"of {name}", [name], np.zeros(size))
        builder.set_objective("o", "maximize", builder.add_variables("x", high=3.0), 1.0)
        return builder.build()

    write(build({"s": 2, "new": 7}), tmp_path / "other.json")
    entries = ModelSession(build({"old": 3, "s": 2}), folder=tmp_path).ask('diff "other.json"').entries
    assert [(entry.name, entry.change, entry.members) for entry in entries if entry.of == "set"] == [
        ("old", "removed", 3), ("new", "added", 7),
    ]  # fmt: skip
    assert [[label for label, _, _ in entry.largest] for entry in entries if entry.of == "set"] == [
        ["old0", "old1", "old2"], [f"new{number}" for number in range(5)],
    ]  # fmt: skip


def test_a_price_without_a_point_has_the_unit_of_the_objective() -> None:
    session = fixed_shop(1, gains=False).session()
    (member,) = session.ask("price need by 99").members
    assert (member.price_up, member.price_down.unit) == (Figure(unit="EUR"), "EUR")
    # The lower bound would be above the upper one.
    figures = [member for member in session.ask("price make by 99").members if member.name.startswith("lower")]
    assert [member.price_up for member in figures] == [Figure(unit="EUR")] * 2


def test_a_trial_shortens_the_names_of_data() -> None:
    data = {"a" * 40: 8.0}
    model = with_data([1.0, 2.0], data, set(data))
    assert match_optima(model, model, SolveLimits(), 2)[2].perturbed.removeprefix("data ").count("a") == 29


def test_duals_are_those_of_the_present_outcome() -> None:
    flat = IndexedModel.from_records(
        [Variable("x", 0, 4)], [Row("cap", {"x": 1}, Relation.AT_MOST, 3)], Objective({"x": 1}), Sense.MAXIMIZE
    )
    session = ModelSession(group_by_names(flat))
    scenario = session.study.present
    session.study.solve(scenario)
    face = optimal_face(scenario)
    assert face is not None
    assert optimal_face(scenario) is face
    scenario.known.outcome = replace(scenario.known.outcome, row_duals=np.array([7.0]))
    assert session.ask("binding").members[0].dual.value == 7.0
    for outcome in (replace(scenario.known.outcome, status=BEST), Outcome(OPTIMAL), Outcome(NONE)):
        scenario.known.outcome = outcome
        assert optimal_face(scenario) is None


@pytest.mark.parametrize("word", ["most", "least"])
def test_an_extreme_near_an_optimum_without_a_bound_has_one_open_end(word: str) -> None:
    shop = fixed_shop(1, gains=False)
    session = shop.session()
    point = shop.points()[0]
    present = session.study.present.known
    present.outcome = Outcome(BEST, point, shop.worth(point))
    present.is_solved_with = session.study.limits
    figure = session.ask(f"{word} sum make within 2").figure
    near = shop.with_row(shop.cost, -1, shop.worth(point) + 2 - shop.constant)
    extreme = near.best_with([1, 1, 0, 0, 0], -1 if word == "most" else 1).optimum()
    assert figure.value == pytest.approx(extreme)
    ends = (None, pytest.approx(extreme)) if word == "most" else (pytest.approx(extreme), None)
    assert (figure.low, figure.high) == ends


def test_a_pool_forgets_the_oldest_points_and_models(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcomes, "POOL", 2)
    pool = OutcomePool()
    for value in (3.0, 2.0, 1.5):
        pool.add_point(np.array([value]))
    for low, expected in ((1.2, 1.5), (1.8, 2.0), (2.5, None)):
        model = ScenarioModel(line_model(low=low))
        pool.refresh(model)
        assert model.outcome.objective == expected
    pool = OutcomePool()
    for low in (5.0, 1.0, 2.0):
        pool.solve(ScenarioModel(line_model(low=low)), SolveLimits())
    # The model without a point is forgotten, the bounds of the others are not.
    for low, status, bound in ((6.0, OPEN, 2.0), (2.5, OPEN, 2.0), (1.5, BEST, 1.0)):
        model = ScenarioModel(line_model(low=low))
        pool.refresh(model)
        assert (model.outcome.status, model.outcome.bound) == (status, bound)


def test_ranges_that_the_solver_does_not_settle_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    flat = IndexedModel.from_records(
        [Variable("x", 0, 4)], [Row("cap", {"x": 1}, Relation.AT_MOST, 3)], Objective({"x": 1}), Sense.MAXIMIZE
    )
    for method, lines in (("value_ends", ["range x"]), ("row_slopes", ["range cap"]), ("rhs_interval", ["range cap"])):
        with monkeypatch.context() as patch:
            patch.setattr(OptimalFace, method, lambda *_: None)
            for line in lines:
                with pytest.raises(ModellingError):
                    ModelSession(group_by_names(flat)).ask(line)
    with monkeypatch.context() as patch:
        patch.setattr(OptimalFace, "bound_interval", lambda *_: None)
        why = ModelSession(group_by_names(flat)).ask("why x")
        assert (why.holds_from, why.holds_to) == (None, None)
    (entry,) = ModelSession(group_by_names(flat)).ask("range x").entries
    assert (entry.uniqueness, entry.low, entry.high) == ("unique", 0.0, None)


def test_the_last_object_of_an_output_counts() -> None:
    model = fixed_shop(1).model()
    text = 'log\n{"make[a]": 1}\n{"make[a]": 2,\n"make[b]": 3}\n'
    assert parse_output(model, text).values == {"make[a]": 2.0, "make[b]": 3.0}


def test_coefficients_and_statuses_of_both_models_are_compared(tmp_path: Path) -> None:
    def build(terms: dict[str, float], most: float) -> IndexedModel:
        # More rows than columns.
        limits = [Row(f"r{number}", {"x": 1}, Relation.AT_MOST, 9) for number in range(4)]
        limits += [Row("last", terms, Relation.AT_LEAST, 1), Row("most", {"x": 1, "y": 1}, Relation.AT_MOST, most)]
        variables = [Variable("x", 0, 5), Variable("y", 0, 5)]
        return group_by_names(IndexedModel.from_records(variables, limits, Objective({"x": 1}), Sense.MINIMIZE))

    both, one = build({"x": 1.0, "y": 2.5}, 4), build({"x": 1.0}, 4)
    for first, second, figures in ((both, one, (2.5, 0.0)), (one, both, (0.0, 2.5))):
        write(second, tmp_path / "other.json")
        entries = ModelSession(first, folder=tmp_path).ask('diff "other.json"').entries
        assert [(entry.of, entry.largest) for entry in entries] == [("coefficients", (("last, y", *figures),))]
    session = ModelSession(both)
    assert session.ask("whatif last(x) = 0.5; last(y) = 0").objective.after.value == pytest.approx(2.0)
    assert session.ask("whatif most(y) = 3").objective.after.value == pytest.approx(0.0)
    none = build({"x": 1.0}, -1)
    for first, second, statuses in ((one, none, ("optimal", "infeasible")), (none, one, ("infeasible", "optimal"))):
        (trial,) = match_optima(first, second, SolveLimits(), 0)
        assert (trial.status, trial.other_status, trial.agree) == (*statuses, "no")
        values = {"optimal": pytest.approx(1.0), "infeasible": None}
        assert (trial.optimum.value, trial.other_optimum.value) == tuple(values[status] for status in statuses)
