"""Parts of the objective, use of limits and charts over time agree with the model and its solution."""

import xml.etree.ElementTree as ElementTree

import pytest

from oragent.formulate.breakdown import chart_families, split_objective, tabulate_use
from oragent.formulate.charts import draw_chart
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import Solution
from oragent.modelling.solving.model_solving import solve
from oragent.report.pages.value_tables import DecisionFamily, group_families
from oragent_benchmarks.formulate.hard_set import hard_set


def solved(name: str) -> tuple[IndexedModel, Solution]:
    (milp,) = (case.gold for case in hard_set().cases if case.problem.name == name)
    assert milp is not None
    return milp, solve(milp, duals=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kinds"), [("lots", {"make", "clean", "stock"}), ("stock", {"packs", "sold", "left"})]
)
def test_the_parts_of_the_objective_add_up_to_it(name: str, kinds: set[str]) -> None:
    milp, solution = solved(name)
    parts = split_objective(milp, solution)
    assert {part.name for part in parts} == kinds
    assert sum(part.value for part in parts) == pytest.approx(solution.objective)
    for part in parts:
        names = [one for one in solution.values if one.startswith(f"{part.name}[")]
        assert part.value == pytest.approx(
            sum(milp.objective_record.terms.get(one, 0) * solution.values[one] for one in names)
        )


def test_the_use_of_upper_limits_is_shown_by_kind() -> None:
    milp, solution = solved("depots")
    (table,) = tabulate_use(milp, solution)
    depots = {"Gera": 62, "Halle": 70, "Jena": 48, "Riesa": 60, "Suhl": 54, "Zeitz": 58}
    assert {row.label: row.limit for row in table.rows} == depots
    for row in table.rows:
        used = sum(0.4 * value for name, value in solution.values.items() if name.startswith(f"pallets[{row.label},"))
        assert row.used == pytest.approx(used)
        assert row.share == pytest.approx(used / depots[row.label])


def test_limits_of_their_own_are_in_one_table() -> None:
    milp, solution = solved("grants")
    (table,) = tabulate_use(milp, solution)
    (row,) = table.rows
    assert (row.label, row.limit) == ("money", 2600)
    assert row.used == pytest.approx(solution.activities["money"])


def test_families_over_time_become_charts() -> None:
    milp, solution = solved("lots")
    families = group_families(milp.variable_records, solution.values)
    charts = {chart.name: chart for chart in chart_families(families)}
    chart = charts["make"]
    assert chart.periods == tuple(map(str, range(1, 17)))
    assert chart.series["lemon"] == tuple(
        pytest.approx(solution.values[f"make[lemon,{week}]"]) for week in range(1, 17)
    )
    svg = ElementTree.fromstring(f"<svg>{draw_chart(chart)}</svg>")
    assert len(svg.findall("rect")) == sum(value > 0 for series in chart.series.values() for value in series)


@pytest.mark.parametrize(
    ("labels", "is_time"),
    [
        (["2026-01-30", "2026-01-31", "2026-02-01", "2026-02-02"], True),
        (["08:00", "09:30", "11:00", "12:30"], True),
        (["week 1", "week 2", "week 3", "week 4"], True),
        (["1", "2", "3", "7"], False),
        (["1", "2", "3"], False),
        (["Ann", "Bea", "Cem", "Dao"], False),
        (["2026-13-30", "2026-01-31", "2026-02-01", "2026-02-02"], False),
        (["08:00", "9", "10", "11"], False),
    ],
)
def test_periods_are_dates_clock_times_and_numbers_without_gaps(labels: list[str], is_time: bool) -> None:
    entries = {(label,): f"x{place}" for place, label in enumerate(reversed(labels))}
    family = DecisionFamily("x", entries, dict.fromkeys(entries.values(), 2.0))
    charts = chart_families((family,))
    assert [chart.periods for chart in charts] == ([tuple(labels)] if is_time else [])


@pytest.mark.parametrize(("value", "is_shown"), [(0.5, True), (1.0, False), (1.5, True), (1.0 + 1e-12, False)])
def test_choices_are_no_amounts(value: float, is_shown: bool) -> None:
    entries = {(f"week {number}",): f"x{number}" for number in range(1, 5)}
    family = DecisionFamily("x", entries, dict.fromkeys(entries.values(), value))
    assert bool(chart_families((family,))) is is_shown
    mixed = DecisionFamily("x", entries, dict.fromkeys(entries.values(), value) | {"x1": 3.0})
    assert chart_families((mixed,))
