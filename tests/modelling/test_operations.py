"""Operations on scenarios: state, intervals under a gap, conflicts, checks of files, JSON, bad input."""

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import TypeAdapter

from oragent._base.errors import ModellingError
from oragent._base.terminal import Terminal
from oragent.modelling.data.builder import IndexedModelBuilder
from oragent.modelling.data.names import group_by_names
from oragent.modelling.files.model_files import write
from oragent.modelling.operations import (
    AnyResult,
    AnyResultModel,
    ModelSession,
    SolveLimits,
    parse_line,
    render,
    schemas,
)
from oragent.modelling.operations.command import run_lines
from oragent.modelling.operations.outcomes import bounds_hold
from oragent.modelling.operations.registry import CHANGES, QUERIES, STATES
from oragent.modelling.operations.requests import Operation
from oragent.modelling.references.answer_references import fill_reference
from tests.modelling import indexed_models as models
from tests.modelling import truths
from tests.modelling.indexed_models import CITIES, PRODUCTS, WEEKS

EVERY_KIND = """describe ship
data demand[Paris, *]
value ship
total ship by depot
top 2 ship by cost
binding
slack capacity
price capacity[Sued, wk1]
range ship[Lyon, *, wk1]
why ship[Lyon, Milano, wk1]
whynot ship[Lyon, Milano, wk1] >= 1
solve
whatif demand[*, wk2] *= 1.01; upper(stock) = inf
keep more
sweep holding = 0, 1
most sum ship[Lyon, *, *] within 5 %
alternatives 1
frontier cost co2 3
compare base more
demand *= 9
conflict
repair
undo
scenario base
verify "point.json"
verify "other.json" 1
inverse "point.json"
diff "other.json"
ship[Lyon, Milano, *] >= 1
forbid ship[Lyon, Nice, wk1]
free ship[Lyon, Nice, wk1]
row few: sum ship[Lyon, *, *] by week <= 90
relax few by 5
drop few
objective half: minimize sum stock
objective cost + 0.5 * co2 then half
cost(stock) += 1
solve""".splitlines()


def ask_every_kind(folder: Path) -> list[AnyResult]:
    """Results of every operation on the transport model."""
    session = ModelSession(models.transport(), folder=folder)
    write(ModelSession(models.transport()).model, folder / "other.json")
    point = session.study.point(session.study.present)
    (folder / "point.json").write_text(json.dumps(dict(zip(session.model.column_names, point.tolist(), strict=True))))
    return [session.ask(line) for line in EVERY_KIND]


def test_every_operation_survives_json_and_fits_its_schema(tmp_path: Path) -> None:
    results = ask_every_kind(tmp_path)
    assert {result.request.operation for result in results} == {*QUERIES, *CHANGES, *STATES}
    for line, result in zip(EVERY_KIND, results, strict=True):
        text = AnyResultModel(result=result).model_dump_json()
        assert AnyResultModel.model_validate_json(text).result == result
        assert result.line == render(parse_line(line))
        line = TypeAdapter(Operation)
        assert line.validate_json(result.request.model_dump_json()) == result.request


@pytest.mark.slow
def test_json_of_every_operation_is_valid_by_its_schema(tmp_path: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    every = schemas()
    for result in ask_every_kind(tmp_path):
        schema = every[result.request.operation]
        jsonschema.validate(json.loads(result.request.model_dump_json()), schema["request"])
        jsonschema.validate(json.loads(result.model_dump_json()), schema["result"])


def test_a_question_leaves_the_state_as_it_is(tmp_path: Path) -> None:
    session = ModelSession(models.transport(), folder=tmp_path)
    for line in EVERY_KIND[: EVERY_KIND.index("scenario base")]:
        before = session.study.changes
        result = session.ask(line)
        if result.kind != "state":
            assert session.study.changes == before


def test_keep_undo_and_scenarios() -> None:
    session = ModelSession(models.sites())
    session.ask("whatif open[Nantes] = 0")
    session.ask('keep "no Nantes"')
    assert session.ask("solve").scenario == "no Nantes"
    session.ask("undo")
    assert session.ask("solve").scenario == "base"
    compared = session.ask('compare base "no Nantes"')
    truth = truths.sites(models.sites_data())
    base = truth.solve()
    truth.high["open", "Nantes"] = 0.0
    assert compared.objective.difference.value == pytest.approx(truth.solve() - base)
    session.ask('scenario "No nantes"')
    assert session.study.changes
    for line in ("undo 5", "scenario nowhere", "keep base", "keep"):
        with pytest.raises(ModellingError):
            session.ask(line)


COMPARISONS = [
    ("demand[Cider, *] *= 0.8", lambda d: truths.scaled(d, "demand", 0.8, lambda p, w: p == "Cider")),
    ("setup_cost *= 1.3", lambda d: truths.scaled(d, "setup_cost", 1.3)),
    ("setup_cost *= 0.7", lambda d: truths.scaled(d, "setup_cost", 0.7)),
    ("hours *= 1.2", lambda d: truths.scaled(d, "hours", 1.2)),
    ("hours *= 0.97", lambda d: truths.scaled(d, "hours", 0.97)),
    ("hold_cost *= 2", lambda d: truths.scaled(d, "hold_cost", 2)),
    ("unit_cost[Juice] += 1", lambda d: truths.shifted(d, "unit_cost", 1, ("Juice",))),
    ("demand[*, wk2] *= 0.9", lambda d: truths.scaled(d, "demand", 0.9, lambda p, w: w == "wk2")),
    ("hold_cost[Perry] = 0", lambda d: truths.scaled(d, "hold_cost", 0, lambda p: p == "Perry")),
    ("setup_cost[Cider] += 60", lambda d: truths.shifted(d, "setup_cost", 60, ("Cider",))),
]


@pytest.mark.slow
@pytest.mark.parametrize("gap", [0.1, 0.3])
def test_intervals_under_a_gap_contain_the_truth(gap: float) -> None:
    session, data = ModelSession(models.lots(), SolveLimits(gap=gap, nodes=1)), models.lots_data()
    base, open_intervals = truths.lots(data).solve(), 0
    for line, changed in COMPARISONS:
        figure = session.ask(f"whatif {line}").objective.difference
        truth = truths.lots(changed(data)).solve() - base
        assert figure.low is not None
        assert figure.low - 1e-6 <= truth <= figure.high + 1e-6
        open_intervals += figure.low < figure.high
    assert open_intervals > 0


@pytest.mark.parametrize("direction", ["most", "least"])
def test_an_extreme_within_an_optimum_that_is_not_proven_is_an_interval(direction: str) -> None:
    line = f"{direction} sum store[*, *] within 20"
    exact = ModelSession(models.lots()).ask(line).figure
    figure = ModelSession(models.lots(), SolveLimits(gap=0.3, nodes=1)).ask(line).figure
    assert exact.is_exact
    assert figure.low is None or figure.low - 1e-6 <= exact.value
    assert figure.high is None or exact.value <= figure.high + 1e-6
    assert not figure.is_exact


def test_figures_only_sharpen_and_a_tighter_model_is_never_cheaper() -> None:
    session = ModelSession(models.lots(), SolveLimits(gap=0.3, nodes=1))
    first = session.ask("whatif hours *= 0.97").objective
    assert first.difference.low >= 0
    for line, _ in COMPARISONS:
        session.ask(f"whatif {line}")
    again = session.ask("whatif hours *= 0.97").objective
    for before, after in ((first.before, again.before), (first.after, again.after)):
        assert after.low >= before.low - 1e-9
        assert after.high <= before.high + 1e-9
    assert again.difference.low >= 0


def test_an_undecided_comparison_names_how_to_go_on() -> None:
    session = ModelSession(models.lots(), SolveLimits(gap=0.5, nodes=0))
    result = session.ask("whatif hold_cost[Cider] -= 1; unit_cost[Cider] += 0.05")
    low, high = result.objective.difference.low, result.objective.difference.high
    assert result.decided == (low >= 0 or high <= 0)
    assert bool(result.continue_with) != result.decided


def test_the_same_limits_give_the_same_figures() -> None:
    limits = SolveLimits(nodes=3, gap=0.05)
    lines = [f"whatif {line}" for line, _ in COMPARISONS[:4]]
    first, second = ([result.objective for result in ModelSession(models.lots(), limits).run(lines)] for _ in range(2))
    assert first == second


def test_bounds_hold_for_tighter_models_alone() -> None:
    model = models.transport()
    arrays = model.to_arrays()
    tighter = replace(arrays, row_low=arrays.row_low + np.where(np.isfinite(arrays.row_low), 1, 0))
    assert bounds_hold(arrays, tighter)
    assert not bounds_hold(tighter, arrays)
    assert bounds_hold(arrays, replace(arrays, cost=arrays.cost + 1))
    assert not bounds_hold(arrays, replace(arrays, cost=arrays.cost - 1))


def test_a_conflict_is_grouped_and_its_shortage_is_the_sum_of_the_data() -> None:
    data = models.transport_data()
    session = ModelSession(models.transport())
    session.ask("demand[*, wk1] *= 3")
    conflict = session.ask("conflict")
    families = {entry.family: entry for entry in conflict.families}
    assert conflict.irreducible
    assert families["meet"].members == len(CITIES)
    assert conflict.families[0].family == "meet"
    assert [entry.changed for entry in conflict.families] == [entry.family == "meet" for entry in conflict.families]
    needed = 3 * sum(data["demand"][city, "wk1"] for city in CITIES)
    possible = sum(data["supply"][depot, "wk1"] for depot in models.DEPOTS)
    assert (conflict.aggregate.needed, conflict.aggregate.possible) == pytest.approx((needed, possible))
    repair = session.ask("repair demand")
    assert repair.total.value == pytest.approx(needed - possible)
    session.run([change.line for change in repair.changes])
    assert session.ask("solve").status == "optimal"


def test_an_infeasible_trial_can_be_explained_before_it_is_kept() -> None:
    session = ModelSession(models.bakery())
    assert session.ask("whatif make[tart] >= 80; oven_hours = 10").status_after == "infeasible"
    assert {entry.family for entry in session.ask("conflict").families} == {"oven", "make"}
    assert session.study.changes == ()


def test_an_unbounded_model_opens_and_says_so() -> None:
    builder = IndexedModelBuilder()
    columns = builder.add_variables("x")
    builder.set_objective("gain", "maximize", columns)
    session = ModelSession(builder.build())
    assert session.ask("solve").status == "unbounded"
    with pytest.raises(ModellingError, match="unbounded"):
        session.ask("value x")
    assert session.ask("whatif x <= 4").objective.after.value == 4


def test_alternatives_have_the_next_best_values_of_binaries() -> None:
    data, session = models.sites_data(), ModelSession(models.sites())
    found = [solution.objective.value for solution in session.ask("alternatives 3").solutions]
    every = []
    for number in range(2 ** len(models.SITES)):
        truth = truths.sites(data)
        for place, site in enumerate(models.SITES):
            truth.low["open", site] = truth.high["open", site] = float(number >> place & 1)
        every.append(truth.solve())
    best = sorted(value for value in every if value is not None)
    assert found == pytest.approx(best[1:4])


def test_the_alternatives_of_a_linear_model_are_optima() -> None:
    builder = IndexedModelBuilder()
    columns = builder.add_variables("x", high=5.0)
    more = builder.add_variables("y", high=5.0)
    both = [*columns, *more]
    builder.add_rows("sum", [], ">=", columns=both, rhs=4.0)
    builder.set_objective("cost", "minimize", both)
    result = ModelSession(builder.build()).ask("alternatives 3")
    assert result.solutions
    assert all(solution.difference.value == pytest.approx(0) for solution in result.solutions)


def test_the_frontier_has_no_point_that_another_one_beats() -> None:
    points = ModelSession(models.transport()).ask("frontier cost co2 6").points
    pairs = [(point.first.value, point.second.value) for point in points]
    assert len(pairs) >= 4
    assert all(a[0] < b[0] and a[1] > b[1] for a, b in itertools.pairwise(pairs))
    for first, second in pairs:
        truth = truths.transport(models.transport_data())
        emission = truths.transport(models.transport_data(), "emission").cost
        truth.row(emission, -np.inf, second + 1e-6)
        assert truth.solve() == pytest.approx(first, rel=1e-5)


def test_why_a_variable_is_zero() -> None:
    data = models.transport_data()
    session = ModelSession(models.transport())
    result = session.ask("why ship[Lyon, Milano, wk1]")
    truth = truths.transport(data)
    base = truth.solve()
    truth.low["ship", "Lyon", "Milano", "wk1"] = 1.0
    assert result.at == "lower bound"
    assert result.difference.value == pytest.approx(truth.solve() - base)
    assert {row.name.split("[")[0] for row in result.rows} <= {"meet", "capacity"}


def test_ranges_are_those_in_which_the_price_stays() -> None:
    data = models.transport_data()
    entry = ModelSession(models.transport()).ask("range capacity[Nantes, wk1]").entries[0]
    inside = (entry.low + entry.value.value) / 2
    truth = truths.transport({**data, "supply": {**data["supply"], ("Nantes", "wk1"): inside}})
    expected = truths.transport(data).solve() + entry.price.value * (inside - entry.value.value)
    assert truth.solve() == pytest.approx(expected)


def test_files_of_solutions_are_verified_and_made_optimal(tmp_path) -> None:
    session = ModelSession(models.bakery(), folder=tmp_path)
    (tmp_path / "point.json").write_text(json.dumps({"make[bagel]": 10, "make[tart]": 100}))
    result = session.ask('verify "point.json"')
    assert not result.feasible
    assert result.breaches[0].name == "make[tart]"
    (tmp_path / "point.json").write_text(json.dumps({"make[bagel]": 10}))
    result = session.ask('verify "point.json"')
    assert result.feasible
    assert result.objective.value == pytest.approx(11)
    assert result.difference.value == pytest.approx(11 - truths.bakery(models.bakery_data()).solve())
    inverse = session.ask('inverse "point.json"')
    lines = [f"profit({name}) = {new!r}" for name, _, new in inverse.coefficients]
    session.run(lines)
    assert session.ask('verify "point.json"').difference.value == pytest.approx(0, abs=1e-5)
    (tmp_path / "point.json").write_text('{"bread": 1}')
    with pytest.raises(ModellingError, match="bread"):
        session.ask('verify "point.json"')


def test_two_models_are_compared_by_family_with_effects(tmp_path) -> None:
    data = models.transport_data()
    other = ModelSession(models.transport())
    other.run(["demand[Paris, *] *= 1.1", "row few: sum ship[Lyon, *, *] <= 60", "distance[Lyon, Nice] += 1"])
    write(other.model, tmp_path / "new.json")
    result = ModelSession(models.transport(), folder=tmp_path).ask('diff "new.json"')
    entries = {(entry.of, entry.name): entry for entry in result.entries}
    assert entries["rows", "few"].change == "added"
    demand = entries["data", "demand"]
    assert demand.members == len(WEEKS)
    truth = truths.transport(truths.scaled(data, "demand", 1.1, lambda city, week: city == "Paris"))
    assert demand.effect.value == pytest.approx(truth.solve() - truths.transport(data).solve())
    assert ModelSession(models.lots(), folder=tmp_path).ask('diff "new.json"').entries


def test_a_flat_model_has_the_same_answers_by_guessed_families() -> None:
    flat = models.transport().with_records()
    session = ModelSession(group_by_names(flat))
    whole = ModelSession(models.transport())
    for line, other in (
        ("whatif ship[Lyon, *, wk2..wk3] = 0", "whatif ship[Lyon, *, wk2..wk3] = 0"),
        ("whatif meet[Paris, *] *= 1.1", "whatif demand[Paris, *] *= 1.1"),
    ):
        first, second = session.ask(line).objective, whole.ask(other).objective
        assert first.after.value == pytest.approx(second.after.value)


def test_references_are_filled_in_with_units_and_intervals() -> None:
    session = ModelSession(models.lots(), SolveLimits(gap=0.5, nodes=0))
    session.ask("whatif hours *= 0.97")
    text = fill_reference("r1.objective.difference", session.results, session.model).text
    figure = session.results["r1"].objective.difference
    assert ("between" in text) == (not figure.is_exact)
    assert "EUR" in text
    for wrong in ("r9.objective", "r1.objective.differenc", "r1.moved[999].family", "r1.__class__", "r1.objective[0]"):
        with pytest.raises(ModellingError):
            fill_reference(wrong, session.results, session.model)


@pytest.mark.parametrize(
    "line",
    [
        "demand[Pari, *] = 3",
        "dmand = 3",
        "demand[Paris] = 3",
        "total ship[Lyon..Sued, *, *]",
        "total ship[*, *, wk4..wk2]",
        "total ship by month",
        "ship *= 2",
        "capacity >= 3",
        "demand <= 3",
        "relax demand by 3",
        "relax capacity by -3",
        "row meet: sum ship <= 3",
        "row r: ship <= 3",
        "row r: 2 <= 3",
        "row r: sum demand <= 3",
        "objective profit",
        "cst(ship) = 3",
        "capacity(stock[Lyon, wk9]) = 3",
        "ship >= 1e18",
        "stock[Lyon, wk1] >= 41",
        "demand = inf",
        "price capacity by 0",
        "why ship",
        "top 3 demand by cost",
        "frontier cost cost",
        "frontier cost nothing",
        "most sum ship by depot",
        "most sum demand",
        "conflict",
        "compare base nowhere",
        'verify "nothing.json"',
        'diff "nothing.json"',
        "sweep holding = inf",
        "drop ship",
        "forbid demand",
        "free capacity",
        "repair holding",
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line_and_changes_nothing(line: str, tmp_path) -> None:
    session = ModelSession(models.transport(), folder=tmp_path)
    with pytest.raises(ModellingError) as problem:
        session.ask(line)
    assert "\n" not in str(problem.value)
    assert session.study.changes == ()
    assert session.ask("solve").status == "optimal"


def test_a_name_of_data_and_rows_is_refused_unless_it_means_the_same() -> None:
    builder = IndexedModelBuilder()
    builder.add_set("city", ["a", "b"])
    builder.add_parameter("demand", ["city"], [1.0, 2.0])
    columns = builder.add_variables("x", ["city"])
    builder.add_rows("demand", ["city"], ">=", rows=[0, 1], columns=columns, rhs=builder.cells("demand"))
    builder.set_objective("cost", "minimize", columns)
    session = ModelSession(builder.build())
    assert session.ask("whatif demand *= 2").objective.difference.value == pytest.approx(3)
    builder.add_rows("twice", [], "<=", columns=columns, rhs=2 * builder.cells("demand", [("b",)]))
    session = ModelSession(builder.build())
    with pytest.raises(ModellingError, match=r"parameters\.demand"):
        session.ask("demand *= 2")
    assert session.ask("whatif rows.demand *= 1.2").objective.difference.value == pytest.approx(0.6)


def test_the_command_returns_results_and_keeps_scenarios(tmp_path, capsys) -> None:
    path = tmp_path / "m.json"
    write(models.sites(), path)
    console = Terminal()
    first = run_lines(path, ["whatif open[Lyon] = 0", "keep closed"], SolveLimits(), console)
    lines = [json.loads(result.model_dump_json()) for result in first]
    capsys.readouterr()
    assert [line["id"] for line in lines] == ["r1", "r2"]
    results = run_lines(path, ["solve"], SolveLimits(), console, scenario="closed")
    assert results[0].objective.value == pytest.approx(lines[0]["objective"]["after"]["value"])
    assert "closed" in capsys.readouterr().out
    assert PRODUCTS


@pytest.mark.parametrize(("folder", "path"), [("run", "."), ("run/logs", "..")])
def test_the_present_folder_is_a_run_with_its_scenarios(folder: str, path: str, tmp_path, monkeypatch) -> None:
    (tmp_path / "run/logs").mkdir(parents=True)
    write(models.sites(), tmp_path / "run/model.json")
    monkeypatch.chdir(tmp_path / folder)
    run_lines(Path(path), ["open[Lyon] = 0", "keep closed"], SolveLimits(), Terminal())
    (result,) = run_lines(tmp_path / "run", ["solve"], SolveLimits(), Terminal(), scenario="closed")
    assert result.status == "optimal"
