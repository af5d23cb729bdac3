"""Files, page, figures and words of a result that is made by hand, against the model itself."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from oragent._base.budget import Budget
from oragent.formulate.aims import (
    Aim,
    AimFacts,
    StagedObjective,
    StatedAim,
    choose_senses,
    match_aims,
    read_aim_facts,
)
from oragent.formulate.appeals import Citation, Dispute
from oragent.formulate.audit import find_foreign_figures, find_mismatches
from oragent.formulate.breakdown import TimeChart, split_objective
from oragent.formulate.charts import HEIGHT, TOP, draw_chart
from oragent.formulate.checks import Checked, CheckFinding, CheckStatus, Reason
from oragent.formulate.effects import Shortage, measure_effects
from oragent.formulate.explain import _variable_facts
from oragent.formulate.folder import FormulationRequest, create_folder, finalize, price_result
from oragent.formulate.metamorphic_tests import Property, PropertyResult
from oragent.formulate.model_comparison import CheckRow, find_counterexample
from oragent.formulate.modules import _changed_decisions
from oragent.formulate.options import choose_options
from oragent.formulate.pages import render_page
from oragent.formulate.perturbations import reverse_order
from oragent.formulate.printing import describe_aims, describe_shortage, headline
from oragent.formulate.problem import ProblemText
from oragent.formulate.prompting import PoolEntry
from oragent.formulate.running import ExecutionResult, nest_columns
from oragent.formulate.session import FormulationAttempt, best_attempt
from oragent.formulate.spending import estimate_formulation
from oragent.llm.model_settings import ModelSettings, RuntimeSettings
from oragent.llm.prices import Prices
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import Solution, SolveStatus, SolveVerdict
from oragent.modelling.files.model_files import read
from oragent.modelling.files.solution_json import solution_dict
from oragent.modelling.solving.model_solving import solve
from tests.formulate.results import BAKERY, FINDING, ROWS, STORY, checks_of, result_of


def test_the_files_of_a_result_hold_its_model_and_its_plan(tmp_path: Path) -> None:
    folder = create_folder(tmp_path, FormulationRequest(ProblemText("bakery", STORY), choose_options("default")))
    sentences = {"dough": "One bag of dough", "oven": "not used"}
    outcome = finalize(folder, result_of(BAKERY, checks=checks_of(CheckStatus.PASSED, sentences=sentences)))
    stored = read(folder / "milp.json")
    # A row keeps its own sentence, and gets that of the checker without one; the model has the text of the problem.
    assert [row.meaning for row in stored.row_records] == [
        "The oven has 12 hours",
        "There are 21 kg of flour",
        "One bag of dough",
    ]
    assert stored.meaning == STORY
    for form in ("json", "mps", "lp"):
        assert solve(read(folder / f"milp.{form}")).objective == pytest.approx(39)
    header, *rows = (folder / "plan.csv").read_text().splitlines()
    cells = [dict(zip(header.split(","), row.split(","), strict=True)) for row in rows]
    assert {cell["decision"]: float(cell["value"]) for cell in cells} == {"x": 3.0, "y": 6.0}
    assert json.loads((folder / "result.json").read_text())["objective"] == pytest.approx(39)
    assert outcome.solution is not None
    # Prices by solving again with half a unit more of each limit.
    page = render_page(FormulationRequest(ProblemText("bakery", STORY), choose_options("default")), outcome)
    for row in ROWS:
        wider = BAKERY.with_records(rows=tuple(replace(r, rhs=r.rhs + 0.5) if r.name == row.name else r for r in ROWS))
        price = 2 * ((solve(wider).objective or 0) - 39)
        assert outcome.solution.duals[row.name] == pytest.approx(price, abs=1e-6)
    assert f"{outcome.solution.duals['oven']:g}" in page
    interval = outcome.solution.ranges["flour"]
    assert f"{interval.low:g} to {interval.high:g}" in page


@pytest.mark.parametrize("series", [{"a": (2.0, 0.0, 5.0)}, {"a": (3.0, -1.0), "b": (1.0, 4.0)}, {"a": (-2.0, -6.0)}])
def test_bars_have_the_sizes_of_their_values_within_the_chart(series: dict[str, tuple[float, ...]]) -> None:
    periods = tuple(f"p{number}" for number in range(len(next(iter(series.values())))))
    svg = str(draw_chart(TimeChart("made", "t", periods, series)))
    bars = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"[^>]*><title>(\w+), (\w+)', svg
    )
    axis = float(re.search(r'<line [^>]*y1="([\d.]+)"', svg)[1])  # type: ignore[index]
    values = {(period, name): row[at] for name, row in series.items() for at, period in enumerate(periods) if row[at]}
    assert {(period, name) for *_, period, name in bars} == values.keys()
    scales = set()
    for x, y, width, height, period, name in bars:
        value = values[period, name]
        scales.add(round(float(height) / abs(value), 0))
        assert (float(y) < axis - 0.05) == (value > 0)
        assert TOP - 0.1 <= float(y) <= TOP + HEIGHT + 0.1
        # The name of the period is below the middle of its bar.
        middle = float(re.search(rf'<text x="([\d.]+)"[^>]*>{period}<', svg)[1])  # type: ignore[index]
        assert float(x) + float(width) / 2 == pytest.approx(middle, abs=0.11)
    assert max(scales) - min(scales) <= 1
    columns = list(zip(*series.values(), strict=True))
    top, bottom = (pick(sum(pick(0.0, value) for value in column) for column in columns) for pick in (max, min))
    # The highest and the lowest bars fill the chart.
    assert max(scales) == pytest.approx(HEIGHT / (top - bottom), abs=1)


@pytest.mark.parametrize(
    ("relation", "wanted", "possible"), [(">=", 5.0, 3.0), ("<=", 3.0, 5.0), (">=", -3.0, -5.0), ("<=", -5.0, -3.0)]
)
def test_a_shortage_is_a_positive_amount(relation: str, wanted: float, possible: float) -> None:
    assert describe_shortage(Shortage("row", "", relation, wanted, possible)).endswith(" 2")


def test_aims_that_were_not_compared_say_so() -> None:
    aims = [
        Aim("people", Sense.MAXIMIZE, 127.0, "people"),
        Aim("drivers", Sense.MINIMIZE, 4.0, "drivers", is_compared=False),
        Aim("cost", Sense.MINIMIZE, None, "EUR", slack=2.0),
        Aim("fuel", Sense.MINIMIZE, 7.0, "EUR"),
    ]
    people, drivers, cost, fuel = describe_aims(aims)
    assert "not compared" in drivers
    assert all("not compared" not in text for text in (people, cost, fuel))
    assert "127" in people
    # Two aims have one unit, so that their names tell them apart.
    assert cost.startswith("cost: -")
    assert fuel.startswith("fuel: 7")
    assert "2 from the best" in cost
    assert describe_aims(aims[:1]) == ["127 people"]


@pytest.mark.parametrize(
    ("objective", "unit", "count", "facts"),
    [
        ("maximize: people", "people", 1, [("people", "people", Sense.MAXIMIZE)]),
        ("minimize: km, then cost", "km, EUR", 1, [("km, then cost", "km, EUR", Sense.MINIMIZE)]),
        (
            "maximize: people; minimize: drivers",
            "people; drivers",
            2,
            [("people", "people", Sense.MAXIMIZE), ("drivers", "drivers", Sense.MINIMIZE)],
        ),
        # Three parts are not two aims.
        ("minimize: a; b; c", "EUR", 2, [("a; b; c", "EUR", Sense.MINIMIZE)]),
        (["maximize: a", "minimize: b"], ["kg"], 2, [("a", "kg", Sense.MAXIMIZE), ("b", "", Sense.MINIMIZE)]),
        ("people", ["x"], 1, [("people", "x", None)]),
        # A list stays as it is, whatever its parts.
        (["minimize: a, b", "minimize: c"], "", 2, [("a, b", "", Sense.MINIMIZE), ("c", "", Sense.MINIMIZE)]),
    ],
)
def test_the_words_about_aims(objective: object, unit: object, count: int, facts: list[tuple]) -> None:
    assert read_aim_facts({"OBJECTIVE": objective, "UNIT": unit}, count) == tuple(AimFacts(*fact) for fact in facts)


@pytest.mark.parametrize(("value", "sense"), [(-5.0, Sense.MAXIMIZE), (0.0, Sense.MINIMIZE), (5.0, Sense.MINIMIZE)])
def test_the_authors_direction_counts_for_negative_values_only(value: float, sense: Sense) -> None:
    milp = IndexedModel.from_records((Variable("x", -9, 9),), (), Objective({"x": 1.0}), Sense.MINIMIZE)
    solution = Solution(SolveStatus.OPTIMAL, objective=value, values={"x": value})
    facts = [AimFacts("profit", "EUR", Sense.MAXIMIZE)]
    assert choose_senses(milp, solution, (), facts) == [sense]
    # The checker's direction goes first.
    negated = [StatedAim("profit", Sense.MAXIMIZE, -value, aim=0, is_negated=True)]
    assert choose_senses(milp, solution, negated, ()) == [Sense.MAXIMIZE]


@pytest.mark.parametrize(
    ("terms", "value", "sense", "position", "negated"),
    [
        ({"a": 2.0}, None, Sense.MINIMIZE, 1, False),
        ({"a": -2.0}, None, Sense.MAXIMIZE, 1, True),
        # The same figures in the other direction are no negative.
        ({"a": 2.0}, None, Sense.MAXIMIZE, None, False),
        (None, 8.0, Sense.MINIMIZE, 1, False),
        (None, -8.0, Sense.MAXIMIZE, 1, True),
        (None, 8.5, Sense.MINIMIZE, None, False),
        (None, 3.0, Sense.MAXIMIZE, 0, False),
    ],
)
def test_an_aim_is_matched_by_its_terms_or_its_value(
    terms: dict[str, float] | None, value: float | None, sense: Sense, position: int | None, negated: bool
) -> None:
    objectives = (StagedObjective("b", Sense.MAXIMIZE, {"b": 1.0}), StagedObjective("a", Sense.MINIMIZE, {"a": 2.0}))
    stated = [StatedAim("aim", sense, value, terms), StatedAim("other", Sense.MINIMIZE, 99.0, {"c": 1.0})]
    aim, _ = match_aims(objectives, {"a": 4.0, "b": 3.0}, stated)
    # What nothing matches takes the first free place.
    assert (aim.aim, aim.is_negated) == (0 if position is None else position, negated)


def grouped(*meanings: str) -> dict[str, int]:
    """Rows of each effect by its name, for limits of three products at their bounds."""
    rows = tuple(
        Row(f"limit_{name}", {name: 1.0}, Relation.AT_MOST, 4.0, meaning)
        for name, meaning in zip("abc", meanings, strict=True)
    )
    milp = IndexedModel.from_records(
        tuple(map(Variable, "abc")), rows, Objective(dict.fromkeys("abc", 1.0)), Sense.MAXIMIZE
    )
    effects = measure_effects(milp, solve(milp, duals=False))
    for effect in effects:
        # Each limit of 4 becomes 10 percent wider.
        assert effect.changes[10] == pytest.approx(0.4 * effect.rows)
    return {effect.sentence or effect.name: effect.rows for effect in effects}


def test_limits_of_a_sentence_or_of_a_family_are_changed_together() -> None:
    assert grouped("each at most 4", "each at most 4", "c at most 4") == {"each at most 4": 2, "c at most 4": 1}
    assert grouped("", "", "") == {"limit": 3}


@pytest.mark.parametrize(("size", "shown"), [(4.0, False), (3.0, True)])
def test_a_row_that_a_choice_switches_off_has_no_effect(size: float, shown: bool) -> None:
    """A switch that is as large as the limit makes it a constant of the model."""
    variables = (Variable("x"), Variable("open", 0, 1, VariableKind.INTEGER))
    row = Row("cap", {"x": 1.0, "open": size}, Relation.AT_MOST, 4.0)
    milp = IndexedModel.from_records(variables, (row,), Objective({"x": 1.0}), Sense.MAXIMIZE)
    assert bool(measure_effects(milp, solve(milp, duals=False))) is shown


@pytest.mark.parametrize(
    ("data", "turned"),
    [
        ({"rows": [{"n": "a", "v": 5}, {"n": "b", "v": 2}]}, True),
        # Numbered rows keep their order, and so do those that a list of the same length belongs to.
        ({"rows": [{"n": "a", "v": 1}, {"n": "b", "v": 2}]}, False),
        ({"rows": [{"n": "a", "v": 5}, {"n": "b", "v": 2}], "cost": [3, 4]}, False),
        ({"rows": [{"n": "a", "v": 5}, {"n": "b", "v": 2}], "cost": [3, 4, 5]}, True),
        ({"rows": [{"n": "Monday", "v": 5}, {"n": "Tuesday", "v": 2}]}, False),
    ],
)
def test_rows_are_turned_where_their_order_has_no_meaning(data: dict[str, list], turned: bool) -> None:
    names = [row["n"] for row in reverse_order(data)["rows"]]
    assert names == [row["n"] for row in (reversed(data["rows"]) if turned else data["rows"])]


def test_calls_are_planned_for_models_with_a_name_only() -> None:
    runtime = RuntimeSettings(model=ModelSettings("m"), budget=Budget())
    assert not estimate_formulation("two_calls", STORY, RuntimeSettings(), Prices()).roles
    costs = {cost.role: cost for cost in estimate_formulation("two_calls", STORY, runtime, Prices()).roles}
    assert costs.keys() == {"program", "counterfactual"}
    # A program, and half of them are revised; one checker.
    assert costs["program"].tokens_out == 1.5 * 900
    assert costs["counterfactual"].calls == 1


def test_columns_are_nested_by_family_and_label() -> None:
    names = ["ship[a,b]", "ship[a,c]", "open"]
    milp = IndexedModel.from_records(tuple(map(Variable, names)), (), Objective({"open": 1.0}), Sense.MINIMIZE)
    columns = nest_columns(group_by_names(milp))
    leaves = re.findall(r"'([^']*)'", str(columns))
    assert set(names) <= set(leaves)


def attempt(number: int, status: SolveStatus | None) -> FormulationAttempt:
    ran = ExecutionResult(None, "") if status is None else ExecutionResult(None, milp=BAKERY, solution=Solution(status))
    return FormulationAttempt(number, "program", "", ran)


def test_a_proven_answer_is_better_than_a_point_and_a_point_than_none() -> None:
    order = [SolveStatus.OPTIMAL, SolveStatus.FEASIBLE, SolveStatus.INFEASIBLE, SolveStatus.UNKNOWN]
    for better, worse in itertools.pairwise(order):
        assert best_attempt([attempt(0, worse), attempt(1, better)]).number == 1, (better, worse)
        assert best_attempt([attempt(0, better), attempt(1, worse)]).number == 0, (better, worse)
    assert best_attempt([attempt(0, SolveStatus.OPTIMAL), attempt(1, SolveStatus.OPTIMAL)]).number == 0


def test_effects_of_a_result_name_its_limits() -> None:
    outcome = price_result(result_of(BAKERY))
    # The oven's 10 percent are 1.2 hours: y + 0.6, x - 0.4.
    assert {effect.sentence: effect.changes[10] for effect in outcome.effects} == {
        "The oven has 12 hours": pytest.approx(5 * 0.6 - 3 * 0.4),
        "There are 21 kg of flour": pytest.approx(3 * 0.7),
    }


def first_line(milp: IndexedModel = BAKERY, **fields: object) -> str:
    return headline(price_result(result_of(milp, **fields)))


def test_the_first_line_has_the_verdict_and_the_figure_of_each_situation() -> None:
    checked = first_line(checks=checks_of(CheckStatus.PASSED))
    assert checked.startswith("checked: 39")
    assert "optimal" in checked
    unchecked = first_line()
    assert unchecked.startswith("unchecked: 39")
    assert "optimal" in unchecked
    contradicted = first_line(checks=checks_of(CheckStatus.FAILED, FINDING))
    assert contradicted.startswith("contradicted: ")
    assert "39" in contradicted
    assert "optimal" not in contradicted
    dispute = Dispute(str(Reason.VIOLATED), "oven", "why", Citation("a", 1), Citation("b", 2))
    disputed = first_line(checks=checks_of(CheckStatus.FAILED, FINDING), disputes=(dispute,))
    assert disputed.startswith("disputed: 39")
    failed = first_line(metamorphic=({"property": "p", "datum": "d", "note": "n", "holds": False},))
    assert failed.startswith("contradicted: ")
    assert first_line(answer=False).startswith("no answer: 39")
    failed_run = replace(result_of(BAKERY), milp=None, solution=None, status="timeout")
    assert headline(price_result(failed_run)) == "no answer: timeout"


def test_the_first_line_of_several_aims_has_each_with_its_sense() -> None:
    goals = (FurtherObjective("people", {"x": 1.0}, Sense.MAXIMIZE, priority=1),)
    milp = BAKERY.with_records(
        objective=Objective({"y": 1.0}), sense=Sense.MINIMIZE, features=ModelFeatures(goals=goals)
    )
    line = first_line(milp)
    # Four of x, and none of y.
    assert re.search(r"4 .*maximize.* 0 .*minimize", line), line
    wrong = first_line(milp, checks=checks_of(CheckStatus.FAILED, FINDING))
    assert wrong.startswith("contradicted: ")
    assert re.search(r"4 .*maximize.* 0 .*minimize", wrong), wrong


@pytest.mark.parametrize(
    ("sense", "bound", "gap", "side"),
    [(Sense.MAXIMIZE, 40.0, 1 / 39, "at most 40"), (Sense.MINIMIZE, 38.0, 1 / 39, "at least 38")],
)
def test_a_point_within_a_gap_is_shown_with_its_bound(sense: Sense, bound: float, gap: float, side: str) -> None:
    solution = Solution(SolveStatus.FEASIBLE, objective=39.0, bound=bound, gap=gap, values={"x": 3.0, "y": 6.0})
    line = first_line(BAKERY.with_records(sense=sense), solution=solution_dict(solution))
    assert line.startswith("unchecked: 39")
    assert side in line
    assert "2.56" in line


@pytest.mark.parametrize(
    ("number", "stated", "compared"),
    [
        (1, [0], 1), (1, [], 0), (2, [0, 1], 2), (2, [0], 1),
        # Without the most important aim, nothing after it is compared.
        (2, [1], 0), (3, [0, 1], 2), (3, [0, 2], 1), (3, [1, 2], 0), (3, [], 0),
    ],
)  # fmt: skip
def test_aims_are_compared_up_to_the_first_that_a_checker_leaves_out(
    number: int, stated: list[int], compared: int
) -> None:
    names = "xyz"[:number]
    goals = tuple(
        FurtherObjective(name, {name: 1.0}, Sense.MAXIMIZE, priority=number - at) for at, name in enumerate(names[:-1])
    )
    variables = tuple(Variable(name, 0, 5) for name in names)
    features = ModelFeatures(goals=goals)
    milp = IndexedModel.from_records(variables, (), Objective({names[-1]: 1.0}), Sense.MAXIMIZE, features=features)
    entries = [CheckRow(f"aim {at}", {names[at]: 1.0}, "maximize", 0.0, "") for at in stated]
    entries += [CheckRow(f"most {name}", {name: 1.0}, "<=", 5.0, "") for name in names]
    comparison = find_counterexample(milp, solve(milp, duals=False), entries, set(names), 10.0)
    assert comparison.compared_aims == compared
    assert [aim.aim for aim in comparison.aims] == stated


def test_the_value_of_a_check_counts_missing_columns_as_zero() -> None:
    check = CheckRow("area", {"x": 2.0, "gone": 5.0}, "<=", 4.0, "", products={("x", "y"): 3.0, ("x", "gone"): 7.0})
    assert check.value_at({"x": 2.0, "y": 3.0}) == 2 * 2 + 3 * 2 * 3 - 4


@pytest.mark.parametrize(
    ("value", "foreign"),
    [(12, 0), (0.12, 0), (720, 0), (13, 1), ([12, 21], 0), ([12, 22, 99], 1), (0.79, 0), (1, 0), (1e301, 0), (-12, 0)],
)
def test_a_figure_is_foreign_if_the_text_does_not_have_it_in_any_unit(value: object, foreign: int) -> None:
    parameters = {"hours": {"Value": value}}
    assert len(find_foreign_figures(parameters, "12 hours and 21 kg, 21 % of it rye", {})) == foreign
    assert find_foreign_figures(parameters, "no figure", {"hours": 5}) == []


@pytest.mark.parametrize(
    ("about", "value", "count"),
    [
        ({"Type": "integer", "Kind": "scalar"}, 3, 0),
        ({"Type": "integer", "Kind": "scalar"}, 3.5, 1),
        ({"Type": "float", "Kind": "vector"}, [1, 2.5], 0),
        ({"Type": "float", "Kind": "vector"}, [[1], [2]], 1),
        ({"Type": "float", "Kind": "matrix"}, [[1], [2]], 0),
        ({"Type": "float, shape (2, n)"}, [[1, 2, 3], [4, 5, 6]], 0),
        ({"Type": "float, shape (3, n)"}, [[1, 2, 3], [4, 5, 6]], 1),
        ({"Type": "float, shape (2, n)"}, [[1, 2], [4, 5]], 1),
        ({"Type": "float, shape (unknown, 9)"}, [[1, 2], [4, 5]], 0),
        ("no object", 3, 0),
    ],
)
def test_data_that_are_not_what_the_encoder_says(about: object, value: object, count: int) -> None:
    assert len(find_mismatches({"p": about}, {"p": value, "n": 3})) == count
    assert find_mismatches({"q": about}, {"p": value}) == []


def checked_as(state: CheckStatus, *findings: CheckFinding, confirmed: bool = False) -> Checked:
    return Checked(state, findings, confirmed=confirmed)


@pytest.mark.parametrize(
    ("status", "gap", "own_gap", "checked", "is_answer"),
    [
        (SolveStatus.OPTIMAL, 0.0, 0.0, None, True), (SolveStatus.FEASIBLE, 0.05, 0.0, None, True),
        (SolveStatus.FEASIBLE, 0.051, 0.0, None, False), (SolveStatus.FEASIBLE, 0.051, 0.1, None, True),
        (SolveStatus.FEASIBLE, 0.04, 0.01, None, False), (SolveStatus.FEASIBLE, None, 0.0, None, False),
        (SolveStatus.UNKNOWN, None, 0.0, None, False), (SolveStatus.INFEASIBLE, None, 0.0, None, False),
        (SolveStatus.INFEASIBLE, None, 0.0, checked_as(CheckStatus.PASSED), False),
        (SolveStatus.INFEASIBLE, None, 0.0, checked_as(CheckStatus.PASSED, confirmed=True), True),
        (SolveStatus.UNBOUNDED, None, 0.0, checked_as(CheckStatus.PASSED, confirmed=True), True),
    ],
)  # fmt: skip
def test_an_answer_is_proven_within_the_gap_or_confirmed(
    status: SolveStatus, gap: float | None, own_gap: float, checked: Checked | None, is_answer: bool
) -> None:
    ran = ExecutionResult(None, milp=BAKERY, solution=Solution(status, objective=1.0, gap=gap))
    assert FormulationAttempt(0, "program", "", ran, checked, own_gap).is_answer is is_answer


def test_of_two_answers_the_better_checked_one_counts() -> None:
    passed, failed = PropertyResult(Property.ORDER, True), PropertyResult(Property.ORDER, False)
    ran = ExecutionResult(None, milp=BAKERY, solution=Solution(SolveStatus.OPTIMAL))
    ranked = [
        (checked_as(CheckStatus.PASSED), (passed,)), (checked_as(CheckStatus.FAILED, FINDING), ()),
        (checked_as(CheckStatus.FAILED, FINDING, FINDING), (passed, PropertyResult(Property.NAMES, None))),
        (checked_as(CheckStatus.FAILED, FINDING, FINDING), (failed,)), (None, ()),
    ]  # fmt: skip
    attempts = [
        FormulationAttempt(at, "program", "", ran, *pair[:1], properties=pair[1]) for at, pair in enumerate(ranked)
    ]
    for better, worse in itertools.pairwise(attempts):
        assert best_attempt([replace(worse, number=0), replace(better, number=1)]).number == 1
        assert best_attempt([replace(better, number=0), replace(worse, number=1)]).number == 0
    # A test of changed data that fails is as bad as a finding.
    assert attempts[3].rank < attempts[2].rank
    spoiled = FormulationAttempt(0, "program", "", ran, checked_as(CheckStatus.PASSED), properties=(failed,))
    assert spoiled.rank < attempts[0].rank
    refused = FormulationAttempt(0, "program", "", ExecutionResult(SolveVerdict.UNSUPPORTED, "why"))
    crashed = FormulationAttempt(0, "program", "", ExecutionResult(SolveVerdict.RUNTIME_ERROR, "why", "line 3\n"))
    assert (refused.is_refused, crashed.is_refused, crashed.has_failed, attempts[0].has_failed) == (
        True,
        False,
        True,
        False,
    )
    assert crashed.rank < refused.rank
    assert crashed.error == f"{SolveVerdict.RUNTIME_ERROR}: why\nline 3"
    assert refused.error == f"{SolveVerdict.UNSUPPORTED}: why"


@pytest.mark.parametrize(
    ("before", "after", "changed"),
    [
        ({"b": 1.0, "a": 2.0, "c": 3.0}, {"b": 2.0, "a": 1.0, "c": 3.0}, ["a", "b"]),
        ({"a": 1e6}, {"a": 1e6 + 0.5}, []), ({"a": 1e6}, {"a": 1e6 + 2.0}, ["a"]), ({"a": 0.1}, {"a": 0.1 + 5e-7}, []),
        ({"a": 0.1}, {"a": 0.1 + 2e-6}, ["a"]), ({"a": -1e6}, {"a": -1e6 - 0.5}, []), ({"a": 1.0, "d": 1.0}, {"a": 2.0}, ["a"]),
        ({"a": 1.0}, None, None),
    ],
)  # fmt: skip
def test_changed_decisions_are_those_that_differ(
    before: dict[str, float], after: dict[str, float] | None, changed: list[str] | None
) -> None:
    first, second = (
        ExecutionResult(
            None, milp=BAKERY, solution=None if values is None else Solution(SolveStatus.OPTIMAL, values=values)
        )
        for values in (before, after)
    )
    assert _changed_decisions(first, second) == changed
    if changed:
        # Of returned columns only those.
        assert _changed_decisions(replace(first, columns={"x": changed[0]}), second) == changed[:1]
    assert (
        _changed_decisions(first, ExecutionResult(None, milp=BAKERY, solution=Solution(SolveStatus.INFEASIBLE))) is None
    )


@pytest.mark.parametrize(
    ("terms", "times", "parts"),
    [
        ({"make[a]": 2.0, "make[b]": 1.0, "sell": 5.0}, (), {"sell": 15.0, "make": 8.0}),
        ({"make[a]": 2.0, "make[b]": 1.0, "sell": -5.0}, (), {"sell": -15.0, "make": 8.0}),
        # One kind alone has no parts, and times are not added up.
        ({"make[a]": 2.0}, (), {}), ({"make[a]": 2.0, "sell": 5.0}, ("sell",), {}), ({"make[a]": 2.0, "sell": 5.0}, ("make[b]",), {"sell": 15.0, "make[a]": 4.0}),
    ],
)  # fmt: skip
def test_parts_of_the_objective_add_up_by_kind(
    terms: dict[str, float], times: tuple[str, ...], parts: dict[str, float]
) -> None:
    values = {"make[a]": 2.0, "make[b]": 4.0, "sell": 3.0}
    milp = IndexedModel.from_records(tuple(map(Variable, values)), (), Objective(terms), Sense.MAXIMIZE)
    found = split_objective(milp, Solution(SolveStatus.OPTIMAL, values=values), (), times)
    assert {part.name: part.value for part in found} == parts
    assert [part.name for part in found] == list(parts)
    assert [part.share for part in found] == [abs(value) / max(map(abs, parts.values())) for value in parts.values()]
    constant = split_objective(
        milp.with_records(objective=Objective(terms, 100.0)), Solution(SolveStatus.OPTIMAL, values=values)
    )
    assert (constant[0].name, constant[0].value, constant[0].share) == ("constant", 100.0, 1.0)


def test_small_parts_of_the_objective_are_one() -> None:
    names = [f"{chr(97 + at)}{chr(98 + at)}" for at in range(14)]
    milp = IndexedModel.from_records(
        tuple(map(Variable, names)), (), Objective({name: 100.0 - at for at, name in enumerate(names)}), Sense.MAXIMIZE
    )
    parts = split_objective(milp, Solution(SolveStatus.OPTIMAL, values=dict.fromkeys(names, 1.0)))
    assert [part.name for part in parts] == [*names[:11], "others"]
    assert parts[-1].value == sum(100.0 - at for at in (11, 12, 13))


@pytest.mark.parametrize(
    ("listed", "facts"),
    [
        (["make_i: loaves made, kg, continuous, >= 0"], {"make": ("kg", "continuous")}),
        (["open: whether it is open, -, binary"], {"open": ("", "binary")}),
        # Without a unit there is no kind at the third place.
        (["make: loaves, continuous"], {}), (["make: integer"], {}), (["start t: when, hours, time"], {"start": ("hours", "time")}),
        ("make: a, b, integer", {}), ([5, "x"], {}),
    ],
)  # fmt: skip
def test_unit_and_kind_of_variables_are_read_from_the_formalization(listed: object, facts: dict) -> None:
    pool = [PoolEntry("formalization", "", {"VARIABLES": listed}), PoolEntry("program", "text")]
    assert _variable_facts(pool) == facts


def test_another_plan_is_one_of_returned_decisions() -> None:
    """Two products are worth the same; the columns that the program returns are its decisions."""
    row = Row("sum", {"x": 1.0, "y": 1.0}, Relation.AT_MOST, 4.0)
    milp = BAKERY.with_records(rows=(row,), objective=Objective({"x": 1.0, "y": 1.0}))
    assert set(price_result(result_of(milp)).alternative) == {"x", "y"}
    assert set(price_result(result_of(milp, columns={"made": "y"})).alternative) == {"y"}
    # A single best plan has no other one.
    assert price_result(result_of(BAKERY)).alternative == {}
