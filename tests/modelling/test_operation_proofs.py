"""What operations claim where a solve ended at a limit, and the limits that reach each solve."""

import io
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Vector
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.features import Indicator, ModelFeatures, QuadraticTerm, SoftRow
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import ModelSession, SolveLimits, asking, state
from oragent.modelling.operations.outcomes import Outcome, OutcomePool, ScenarioModel
from oragent.modelling.operations.points import parse_json
from oragent.modelling.operations.printing import print_result
from oragent.modelling.operations.results import ConflictFamily, Figure
from oragent.modelling.operations.rows import dual_figure
from oragent.modelling.operations.verifying import match_optima
from oragent.modelling.solving.back_ends import SolverOptions, SolverResult
from oragent.modelling.solving.back_ends.highs import HighsSolver
from oragent.modelling.solving.optimal_face import OptimalFace, Slopes
from tests.modelling.shops import fixed_shop
from tests.modelling.test_operation_details import BEST, OPEN, OPTIMAL, known, line_model


@pytest.mark.parametrize("line", [
    "solve", "whatif need += 1", "whatif need = 99", "price room", "sweep need = 1, 2", "most sum make", "alternatives 2",
    "frontier profit waste 3", "why make[a]", "range make", "conflict", "repair", "repair tie",
])  # fmt: skip
def test_each_solve_has_the_limits_of_the_session(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[SolverOptions] = []
    solve = HighsSolver.solve

    def record(self: HighsSolver, arrays: Arrays, options: SolverOptions, start: Vector | None = None) -> SolverResult:
        given.append(options)
        return solve(self, arrays, options, start)

    monkeypatch.setattr(HighsSolver, "solve", record)
    limits = SolveLimits(nodes=1000, iterations=10**6, seed=3, threads=2)
    session = ModelSession(fixed_shop(-1).model(), limits)
    if line.startswith(("conflict", "repair")):
        session.ask("need = 99")
    if line == "repair tie":
        with pytest.raises(ModellingError):
            session.ask(line)
    else:
        session.ask(line)
    assert given
    for options in given:
        assert replace(options, seconds=None) == limits.options()


@pytest.mark.parametrize("sign", [1, -1])
def test_the_gap_of_a_point_is_its_distance_to_the_bound(sign: int) -> None:
    session = fixed_shop(sign).session()
    optimum = session.ask("solve").objective.value
    point = session.study.point(session.study.present)
    for status, bound, gap in (
        (BEST, optimum - sign * 3.0, 3.0 / max(1.0, abs(optimum))),
        (BEST, None, None),
        (OPTIMAL, optimum, 0.0),
    ):
        session = fixed_shop(sign).session()
        scenario = session.study.present.known
        session.study.pool.learn(scenario, Outcome(status, point, optimum, bound))
        scenario.is_solved_with = session.study.limits
        result = session.ask("solve")
        assert (result.status, result.gap) == (str(status), gap if gap is None else pytest.approx(gap))


@pytest.mark.parametrize("sense", Sense)
def test_a_difference_is_exact_only_if_both_optima_are_proven(sense: Sense) -> None:
    sign = sense.sign
    model = fixed_shop(sign).model()
    # Neither of the two models is tighter than the other.
    arrays = line_model(sense=sense), line_model(2.0 if sign > 0 else 0.5, -1.0, 9.0, sense)
    proven, open_ended = (OPTIMAL, 5.0, 5.0), (BEST, 7.0, 7.0 - 2.0 * sign)
    below, above = sorted((2.0, 2.0 - 2.0 * sign))
    for first, second, expected in (
        (proven, (OPTIMAL, 7.0, 7.0), (2, 2, 2)),
        (proven, open_ended, (2, below, above)),
        (open_ended, proven, (-2, -above, -below)),
        (open_ended, open_ended, (0, -2, 2)),
        (proven, (BEST, 7.0, None), (2, None, None)),
        (proven, (OPEN, None, None), (None, None, None)),
        ((OPEN, None, None), proven, (None, None, None)),
    ):
        before, after = (
            state.ModelScenario((), model, known(of, *outcome))
            for of, outcome in zip(arrays, (first, second), strict=True)
        )
        figure = state.difference(before, after)
        assert (figure.value, figure.low, figure.high, figure.unit) == (*expected, "EUR")


@pytest.mark.parametrize("sense", Sense)
def test_a_difference_lies_in_the_interval_that_a_tighter_model_leaves(sense: Sense) -> None:
    sign = sense.sign
    model = fixed_shop(sign).model()
    loose = known(line_model(sense=sense), BEST, 7.0 * sign, 5.0 * sign)
    tight = known(line_model(low=2.0, sense=sense), BEST, 6.0 * sign, 5.0 * sign)
    for first, second, ends in ((loose, tight, (0.0, 1.0 * sign)), (tight, loose, (0.0, -1.0 * sign))):
        figure = state.difference(state.ModelScenario((), model, first), state.ModelScenario((), model, second))
        assert (figure.value, figure.low, figure.high) == (0.0, *sorted(ends))


@pytest.mark.parametrize("number", [None, 0, 1, 2, 3])
def test_a_point_of_a_frontier_is_proven_if_both_of_its_solves_are(
    number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    solve, count = asking._solve_arrays, iter(range(9))

    def end_early(study: state.ModelStudy, arrays: Arrays) -> Outcome:
        outcome = solve(study, arrays)
        return replace(outcome, status=SolveStatus.FEASIBLE) if next(count) == number else outcome

    monkeypatch.setattr(asking, "_solve_arrays", end_early)
    points = fixed_shop(-1, gains=False).session().ask("frontier profit waste 2").points
    assert [point.proven for point in points] == [number not in (0, 1), number not in (2, 3)]


def test_a_frontier_whose_second_solve_has_no_point_is_not_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    solve, count = asking._solve_arrays, iter(range(9))

    def end_early(study: state.ModelStudy, arrays: Arrays) -> Outcome:
        return Outcome(SolveStatus.UNKNOWN) if next(count) % 2 else solve(study, arrays)

    monkeypatch.setattr(asking, "_solve_arrays", end_early)
    session = fixed_shop(-1, gains=False).session()
    points = session.ask("frontier profit waste 2").points
    assert [point.proven for point in points] == [False, False]
    assert points[0].first.value == pytest.approx(session.ask("solve").objective.value)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_dual_that_is_not_unique_lies_between_its_slopes(sign: int) -> None:
    slopes = Slopes(less=-sign * 1.0, more=sign * 3.0)
    low, high = sorted((slopes.less, slopes.more))
    for dual, shown in ((2.0 * sign, 2.0 * sign), (9.0, high), (-9.0, low), (high, high), (low, low)):
        assert dual_figure(dual, slopes, "EUR") == (Figure(value=shown, low=low, high=high, unit="EUR"), "not unique")
    assert dual_figure(2.0, Slopes(2.0, 2.0), "EUR") == (Figure.exact(2.0, "EUR"), "unique")
    assert dual_figure(2.0, None, "EUR") == (Figure(value=2.0, unit="EUR"), "not checked")
    infinite = Slopes(less=-math.inf, more=3.0) if sign > 0 else Slopes(less=-3.0, more=math.inf)
    figure, uniqueness = dual_figure(1.0, infinite, "EUR")
    assert (figure.value, figure.low, figure.high) == ((1, None, 3) if sign > 0 else (1, -3, None))
    assert uniqueness == "not unique"


@pytest.mark.parametrize("cost", [1.0, 1e8])
def test_duals_that_are_not_unique_are_so_beside_large_duals(cost: float) -> None:
    rows = [Row(name, {"xy"[name != "large"]: 1}, Relation.AT_LEAST, 1) for name in ("large", "first", "second")]
    goal = Objective({"x": cost, "y": 1})
    model = IndexedModel.from_records([Variable("x"), Variable("y")], rows, goal, Sense.MINIMIZE)
    face = OptimalFace(model.to_arrays(), np.ones(2), np.array([cost, 1.0, 0.0]))
    for row, ends in enumerate([(cost, cost), (0, 1), (0, 1)]):
        slopes = face.row_slopes(row)
        assert slopes is not None
        assert (slopes.less, slopes.more) == pytest.approx(ends)


@pytest.mark.parametrize(
    ("line", "optimum"), [("drop first", 8.5), ("drop soft", 10.0), ("drop last", 8.5), ("drop rows", 10.0)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_a_row_that_is_dropped_leaves_the_price_of_a_soft_row_with_its_row(
    sign: int, line: str, optimum: float
) -> None:
    rows = [
        Row("first", {"x": 1}, Relation.AT_MOST, 100),
        Row("soft", {"x": 1}, Relation.AT_MOST, 4),
        Row("last", {"x": 1}, Relation.AT_LEAST, -5),
    ]
    features = ModelFeatures(soft_rows=(SoftRow("soft", above=0.25),))
    sense = Sense.MAXIMIZE if sign > 0 else Sense.MINIMIZE
    flat = IndexedModel.from_records([Variable("x", 0, 10)], rows, Objective({"x": sign}), sense, features=features)
    session = ModelSession(group_by_names(flat))
    assert session.ask("solve").objective.value == pytest.approx(sign * 8.5)
    assert session.ask(f"whatif {line}").objective.after.value == pytest.approx(sign * optimum)


def test_a_conflict_lists_changed_families_first_and_parts_last() -> None:
    variables = [Variable("b", 0, 1, VariableKind.INTEGER), Variable("x", 0, 9)]
    rows = [Row("on", {"b": 1}, Relation.AT_LEAST, 1)]
    features = ModelFeatures(indicators=(Indicator("if b", "b", True, {"x": 1}, Relation.AT_MOST, 2),))
    flat = IndexedModel.from_records(variables, rows, Objective({"x": 1}), Sense.MINIMIZE, features=features)
    session = ModelSession(group_by_names(flat))

    def native(families: tuple[ConflictFamily, ...]) -> list[ConflictFamily]:
        # A solver without indicators needs the upper bound of x to write them as rows.
        return [entry for entry in families if entry.part != "upper bounds"]

    least = native(session.ask("whatif lower(x) = 3").conflict)
    assert [(entry.family, entry.part, entry.changed) for entry in least] == [
        ("x", "lower bounds", True), ("on", "rows", False), ("indicators", "parts", False),
    ]  # fmt: skip
    assert [(entry.members, entry.size, entry.names) for entry in least] == [
        (1, 1, ("x",)), (1, 1, ("on",)), (1, 1, ("indicator if b",)),
    ]  # fmt: skip
    again = native(session.ask("whatif lower(x) = 3; on = 1").conflict)
    assert [(entry.family, entry.changed) for entry in again] == [("on", True), ("x", True), ("indicators", False)]
    base = replace(flat, low=flat.low.with_values(np.array([1]), 3.0))
    found = native(ModelSession(group_by_names(base)).ask("conflict").families)
    assert [(entry.family, entry.changed) for entry in found] == [("on", False), ("x", False), ("indicators", False)]


def test_values_by_label_may_have_as_many_indices_as_keys_may_be_nested() -> None:
    def nested(count: int) -> dict[str, object]:
        value: object = 2
        for _ in range(count):
            value = {"a": value}
        return {"x": value}

    for count in (1, 8):
        builder = IndexedModelBuilder("deep")
        names = [f"s{number}" for number in range(count)]
        for name in names:
            builder.add_set(name, ["a"])
        builder.set_objective("o", "minimize", builder.add_variables("x", names), np.ones(1))
        model = builder.build()
        assert parse_json(model, json.dumps(nested(count))).values == {model.column_names[0]: 2.0}
        with pytest.raises(ModellingError):
            parse_json(model, json.dumps(nested(9)))


@pytest.mark.parametrize(
    ("limits", "options"),
    [
        (SolveLimits(gap=0.1, nodes=5), "--gap 0.01"),
        (SolveLimits(nodes=0), "--nodes 10"),
        (SolveLimits(nodes=5, iterations=5), "--nodes 50"),
        (SolveLimits(iterations=10), "--iterations 1000"),
        (SolveLimits(iterations=500, seconds=3), "--iterations 5000"),
        (SolveLimits(seconds=3), "--time 30"),
        (SolveLimits(), "--gap 0"),
    ],
)
def test_a_solve_that_a_limit_ended_goes_on_with_a_wider_limit(limits: SolveLimits, options: str) -> None:
    assert state.continue_options(limits) == options
    session = ModelSession(fixed_shop(1).model(), limits)
    scenario = session.study.present
    point = session.study.point(scenario)
    for outcome, is_told in ((Outcome(BEST, point, 3.0), True), (Outcome(OPTIMAL, point, 3.0), False)):
        scenario.known.outcome = outcome
        assert [options in warning for warning in session.study.warn(scenario)] == [True] * is_told


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (Outcome(SolveStatus.UNKNOWN, ended_by="nodes"), {"limit: nodes", "--nodes 50", "--solver"}),
        (Outcome(SolveStatus.UNKNOWN), {"--nodes 50", "--solver"}),
        (Outcome(SolveStatus.INFEASIBLE), {"infeasible", "'conflict'", "'repair'"}),
        (Outcome(SolveStatus.UNBOUNDED), {"unbounded"}),
    ],
)
def test_a_model_without_a_point_says_what_to_ask_instead(outcome: Outcome, words: set[str]) -> None:
    session = ModelSession(fixed_shop(1).model(), SolveLimits(nodes=5))
    known_state = session.study.present.known
    known_state.outcome, known_state.is_solved_with = outcome, session.study.limits
    with pytest.raises(ModellingError) as problem:
        session.ask("value make")
    every = {"limit: nodes", "--nodes 50", "--solver", "infeasible", "'conflict'", "'repair'", "unbounded"}
    assert {word for word in every if word in str(problem.value)} == words


def test_alternatives_say_whether_a_limit_left_some_out(monkeypatch: pytest.MonkeyPatch) -> None:
    solve = asking._solve_arrays
    every = fixed_shop(1).session().ask("alternatives 9")
    assert (every.complete, every.warnings) == (True, ())
    for status, number, is_point_kept in (
        (SolveStatus.FEASIBLE, 0, True),
        (SolveStatus.FEASIBLE, 1, True),
        (SolveStatus.UNKNOWN, 1, False),
    ):
        count = iter(range(99))

        def end_early(
            study: state.ModelStudy,
            arrays: Arrays,
            status: SolveStatus = status,
            number: int = number,
            is_point_kept: bool = is_point_kept,
            count: object = count,
        ) -> Outcome:
            outcome = solve(study, arrays)
            if next(count) != number:
                return outcome
            return replace(outcome, status=status) if is_point_kept else Outcome(status)

        with monkeypatch.context() as patch:
            patch.setattr(asking, "_solve_arrays", end_early)
            result = fixed_shop(1).session().ask("alternatives 9")
        if is_point_kept:
            assert (len(result.solutions), result.complete) == (len(every.solutions), True)
            assert len(result.warnings) == 1
        else:
            assert (len(result.solutions), result.complete, result.warnings) == (number, False, ())


def test_coefficients_of_a_model_without_rows_have_ranges() -> None:
    variables = [Variable("x", 0, 9), Variable("y", -2, 4), Variable("z", 3, 3)]
    flat = IndexedModel.from_records(variables, [], Objective({"x": 1, "y": -5, "z": 2}), Sense.MINIMIZE)
    session = ModelSession(group_by_names(flat))
    ranges = [session.ask(f"range {name}").entries[0] for name in "xyz"]
    assert [(entry.low, entry.high) for entry in ranges] == [(0, None), (None, 0), (None, None)]


def test_a_range_of_data_is_that_of_the_only_row_that_uses_them() -> None:
    def session(**changes: object) -> ModelSession:
        builder = IndexedModelBuilder("uses")
        builder.add_set("s", ["a", "b"])
        builder.add_parameter("need", ["s"], [1.0, 2.0])
        x = builder.add_variables("x", ["s"], high=9.0)
        cells = builder.cells("need")
        cells = replace(cells, factors=changes.get("factor", 1.0) * cells.factors)
        for name in ("first", "again")[: changes.get("rows", 1)]:
            builder.add_rows(name, ["s"], ">=", rows=[0, 1], columns=x, rhs=cells)
        builder.set_objective("o", "minimize", x, builder.cells("need") if "is_cost" in changes else 1.0)
        return ModelSession(builder.build())

    right = session().ask("range need").entries
    rows = session().ask("range first").entries
    assert [(entry.low, entry.high, entry.price) for entry in right] == [
        (entry.low, entry.high, entry.price) for entry in rows
    ]
    for changes in ({"factor": 2.0}, {"rows": 2}, {"is_cost": True}):
        with pytest.raises(ModellingError):
            session(**changes).ask("range need")
        assert session(**changes).ask("range first").entries


def test_trials_multiply_what_both_models_share_by_the_same_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    solved: list[Arrays] = []
    solve = OutcomePool.solve

    def record(self: OutcomePool, model: ScenarioModel, limits: SolveLimits) -> Outcome:
        solved.append(model.arrays)
        return solve(self, model, limits)

    def build(costs: list[float], stock: list[float]) -> IndexedModel:
        builder = IndexedModelBuilder("shared")
        builder.add_set("s", ["a", "b", "c"])
        builder.add_parameter("stock", ["s"], stock)
        builder.add_parameter("unused", ["s"], [1.0, 1.0, 1.0])
        x = builder.add_variables("x", ["s"], high=99.0)
        builder.add_rows("room", ["s"], "<=", rows=[0, 1, 2], columns=x, rhs=builder.cells("stock"))
        builder.set_objective("o", "maximize", x, costs)
        return builder.build()

    monkeypatch.setattr(OutcomePool, "solve", record)
    stock = [40.0, 2.5, 0.0]
    # The last cost differs and the second is 0, so that only the first is shared.
    first, second = build([3.0, 0.0, 1.0], stock), build([3.0, 0.0, 2.0], stock)
    trials = match_optima(first, second, SolveLimits(seed=5), 6)
    assert [trial.perturbed.split()[0] for trial in trials] == ["as", *["costs", "data"] * 3]
    pairs = list(zip(solved[::2], solved[1::2], strict=True))
    assert [pair[0].cost.tolist() for pair in pairs[:1]] == [[3.0, 0.0, 1.0]]
    assert pairs[0][0].row_high.tolist() == stock
    factors = []
    for number, (mine, theirs) in enumerate(pairs[1:]):
        assert mine.row_high.tolist() == theirs.row_high.tolist()
        assert mine.cost[0] == theirs.cost[0]
        assert (mine.cost[1:].tolist(), theirs.cost[1:].tolist()) == ([0.0, 1.0], [0.0, 2.0])
        if number % 2:
            assert mine.cost[0] == 3.0
            whole, part, none = mine.row_high.tolist()
            assert (whole, none) == (round(whole), 0.0)
            assert 0.8 * 40 - 1 <= whole <= 1.25 * 40 + 1
            assert 0.8 * 2.5 <= part <= 1.25 * 2.5
            assert part != 2.5
        else:
            assert mine.row_high.tolist() == stock
            factors.append(mine.cost[0] / 3.0)
    assert all(0.2 <= factor <= 3.0 for factor in factors)
    assert len(set(factors)) == 3
    lone = match_optima(build([0.0, 0.0, 1.0], stock), build([0.0, 0.0, 2.0], stock), SolveLimits(), 2)
    assert {trial.perturbed.split()[0] for trial in lone} == {"as", "data"}


def squares(sign: int) -> ModelSession:
    """A model whose objective has its only optimum at ``x = 1``, with ``x`` from 0 to 4 and a free ``y``."""
    variables = [Variable("x", 0, 4), Variable("y", 0, 4)]
    features = ModelFeatures(quadratic=(QuadraticTerm("x", "x", float(sign)),))
    sense = Sense.MINIMIZE if sign > 0 else Sense.MAXIMIZE
    row = Row("cap", {"x": 1, "y": 1}, Relation.AT_MOST, 6)
    flat = IndexedModel.from_records(variables, [row], Objective({"x": -2.0 * sign}), sense, features=features)
    return ModelSession(group_by_names(flat))


@pytest.mark.parametrize("sign", [1, -1])
def test_an_expression_of_a_model_with_squares_is_linear(sign: int) -> None:
    session = squares(sign)
    assert session.ask("solve").objective.value == pytest.approx(-sign)
    for line, figure in (("most x", 4), ("least x", 0), ("most x + 2 * y", 10), ("least x - y", -4)):
        assert session.ask(line).figure.value == pytest.approx(figure, abs=1e-6)
    alternatives = session.ask("alternatives 2")
    assert (alternatives.solutions, alternatives.complete) == ((), False)


@pytest.mark.parametrize(("units", "unit"), [(("t", "t"), "t"), (("t", ""), ""), (("", ""), ""), (("t", "kg"), "")])
def test_a_new_objective_has_the_unit_of_all_variables(units: tuple[str, str], unit: str) -> None:
    builder = IndexedModelBuilder("units")
    columns = [*(builder.add_variables(name, high=3.0, unit=each) for name, each in zip("xy", units, strict=True))]
    builder.set_objective("o", "maximize", np.concatenate(columns), np.ones(2), unit="EUR")
    session = ModelSession(builder.build())
    assert session.ask("solve").objective.unit == "EUR"
    session.ask("objective p: maximize x + y")
    assert session.ask("solve").objective.unit == unit


@pytest.mark.parametrize(
    ("value", "low", "high", "at"),
    [
        (1e-7, 0.0, 4.0, "lower bound"),
        (1.1e-7, 0.0, 4.0, "between"),
        (-1e-7, -4.0, 0.0, "upper bound"),
        (-1.1e-7, -4.0, 0.0, "between"),
        (0.0, 0.0, 0.0, "lower bound"),
        (3e7 + 2.9, 3e7, 4e7, "lower bound"),
    ],
)
def test_a_value_within_the_tolerance_is_at_its_bound(value: float, low: float, high: float, at: str) -> None:
    flat = IndexedModel.from_records([Variable("x", low, high)], [], Objective({"x": 1.0}), Sense.MINIMIZE)
    session = ModelSession(group_by_names(flat))
    scenario = session.study.present.known
    session.study.pool.learn(scenario, Outcome(BEST, np.array([value]), value, low))
    scenario.is_solved_with = session.study.limits
    assert session.ask("why x").at == at


def test_fields_without_a_value_are_not_printed() -> None:
    session = fixed_shop(1).session()
    for line in ("solve", "why make[a]", "describe", "whatif need += 1", "most sum make"):
        out = io.StringIO()
        print_result(session.ask(line), Console(file=out, width=200))
        lines = [text.rstrip() for text in out.getvalue().splitlines()]
        assert len(lines) > 2
        assert not [text for text in lines if text.endswith(":")]
    assert "difference" in out.getvalue() or "figure" in out.getvalue()


@pytest.mark.parametrize(
    ("figures", "order"), [([0.0, 0.5, -0.5], "bac"), ([0.5, 0.0, 2.0], "cab"), ([-1.0, -2.0, 0.0], "cab")]
)
def test_groups_are_sorted_by_their_totals(figures: list[float], order: str) -> None:
    builder = IndexedModelBuilder("groups")
    builder.add_set("s", ["a", "b", "c"])
    builder.add_set("t", ["1", "2"])
    builder.add_parameter("p", ["s", "t"], np.repeat(figures, 2), unit="t")
    builder.set_objective("o", "minimize", builder.add_variables("x"), np.ones(1))
    session = ModelSession(builder.build())
    result = session.ask("total p by s")
    assert "".join(group.label for group in result.groups) == order
    assert {group.label: (group.total.value, group.members) for group in result.groups} == {
        label: (2 * figure, 2) for label, figure in zip("abc", figures, strict=True)
    }
    assert (result.total.value, result.total.unit) == (2 * sum(figures), "t")
    assert "".join(member.labels[0] for member in session.ask("top 6 p").members) == "".join(name * 2 for name in order)
