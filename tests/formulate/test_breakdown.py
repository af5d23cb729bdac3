"""Parts of the objective, use of limits and charts over time agree with the model and its solution."""

import xml.etree.ElementTree as ElementTree
from dataclasses import replace

import pytest

from oragent.formulate.breakdown import (
    GERMAN_WEEKDAYS,
    MAX_PERIODS,
    MAX_ROWS,
    MAX_SERIES,
    MONTHS,
    SINGLE,
    WEEKDAYS,
    LimitUse,
    TimeChart,
    UseTable,
    chart_families,
    find_periods,
    split_objective,
    tabulate_use,
)
from oragent.formulate.charts import HEIGHT, LEFT, TOP, WIDTH, draw_chart
from oragent.modelling.data.features import ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.model_solving import solve
from oragent.report.pages.value_tables import NOISE, DecisionFamily, DecisionKind, group_families
from oragent_benchmarks.formulate.hard_set import hard_set

MAXIMIZE = Sense.MAXIMIZE


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


def series(*labels: tuple[str, ...], kind: DecisionKind = DecisionKind.AMOUNT, **fields: object) -> DecisionFamily:
    """A family with a value of 2 for each index, and 3 for the first."""
    entries = {index: f"x{at}" for at, index in enumerate(labels)}
    values = dict.fromkeys(entries.values(), 2.0) | {"x0": 3.0}
    return DecisionFamily("x", entries, values, kind=kind, **fields)  # type: ignore[arg-type]


WEEKS = [f"week {number}" for number in range(1, 5)]


@pytest.mark.parametrize(
    ("used", "limit", "share"), [(3.0, 4.0, 0.75), (5.0, 4.0, 1.0), (4.0, 4.0, 1.0), (-1.0, 4.0, 0.0), (0.0, 4.0, 0.0)]
)
def test_the_share_of_a_limit_is_between_0_and_1(used: float, limit: float, share: float) -> None:
    assert LimitUse("oven", used, limit).share == share


def test_an_objective_with_products_or_without_a_plan_has_no_parts() -> None:
    values = {"make": 3.0, "sell": 5.0}
    milp = IndexedModel.from_records(tuple(map(Variable, values)), (), Objective({"make": 2.0, "sell": 1.0}), MAXIMIZE)
    solution = Solution(SolveStatus.OPTIMAL, values=values)
    assert {part.name: part.value for part in split_objective(milp, solution)} == {"make": 6.0, "sell": 5.0}
    assert split_objective(milp, Solution(SolveStatus.UNKNOWN, values=values)) == ()
    squares = ModelFeatures[str](quadratic=(QuadraticTerm("make", "make", -1.0),))
    assert split_objective(milp.with_records(features=squares), solution) == ()
    assert split_objective(milp.with_records(objective=Objective()), solution) == ()


def test_parts_of_the_objective_that_are_noise_are_left_out_and_twelve_are_shown() -> None:
    names = [f"{letter}{letter}" for letter in "abcdefghijkl"]
    milp = IndexedModel.from_records(tuple(map(Variable, names)), (), Objective(dict.fromkeys(names, 1.0)), MAXIMIZE)
    values = {name: 1.0 + at for at, name in enumerate(names)}
    parts = split_objective(milp, Solution(SolveStatus.OPTIMAL, values=values))
    assert [part.name for part in parts] == names[::-1]
    quiet = values | {"aa": NOISE, "bb": -2 * NOISE}
    parts = split_objective(milp, Solution(SolveStatus.OPTIMAL, values=quiet))
    assert [part.name for part in parts] == [*names[:1:-1], "bb"]
    # All others are noise: one part is none.
    alone = dict.fromkeys(names, NOISE / 2) | {"cc": 4.0}
    assert split_objective(milp, Solution(SolveStatus.OPTIMAL, values=alone)) == ()


def use(rows: list[Row], activities: dict[str, float], status: SolveStatus = SolveStatus.OPTIMAL) -> list[UseTable]:
    """Tables of the use of limits for given values of the left sides."""
    milp = IndexedModel.from_records((Variable("x"), Variable("y")), tuple(rows), Objective({"x": 1.0}), MAXIMIZE)
    return list(tabulate_use(milp, Solution(status, values={"x": 1.0, "y": 1.0}, activities=activities)))


def capacity(name: str, meaning: str = "", rhs: float = 9.0) -> Row:
    return Row(name, {"x": 1.0, "y": 2.0}, Relation.AT_MOST, rhs, meaning)


@pytest.mark.parametrize(
    ("terms", "relation", "rhs", "is_shown"),
    [
        ({"x": 1.0, "y": 1.0}, Relation.AT_MOST, 2.0, True), ({"x": 1.0, "y": 1.0}, Relation.AT_MOST, 1.9, False),
        ({"x": 1.0, "y": 1.0}, Relation.AT_LEAST, 2.0, False), ({"x": 1.0}, Relation.AT_MOST, 2.0, False),
        ({"x": 1.0, "y": -1.0}, Relation.AT_MOST, 2.0, False), ({"x": 1.0, "y": 0.0}, Relation.AT_MOST, 2.0, False),
        ({"x": 0.5, "y": 0.25}, Relation.AT_MOST, 2.5, True),
    ],
)  # fmt: skip
def test_an_upper_limit_of_several_amounts_counts_as_a_capacity(
    terms: dict[str, float], relation: Relation, rhs: float, is_shown: bool
) -> None:
    tables = use([Row("oven", terms, relation, rhs)], {"oven": 1.5})
    assert [row for table in tables for row in table.rows] == ([LimitUse("oven", 1.5, rhs)] if is_shown else [])


def test_limits_without_a_plan_or_a_value_are_not_shown() -> None:
    rows = [capacity("oven"), capacity("mill")]
    assert use(rows, {"oven": 1.0, "mill": 2.0}, SolveStatus.UNKNOWN) == []
    assert use(rows, {"mill": 2.0}) == [UseTable(SINGLE, "", (LimitUse("mill", 2.0, 9.0),))]


@pytest.mark.parametrize(("used", "is_shown"), [(2 * NOISE, True), (NOISE, False), (0.0, False)])
def test_a_table_of_limits_is_shown_if_one_of_them_is_used(used: float, is_shown: bool) -> None:
    rows = [capacity("oven[a]"), capacity("oven[b]"), capacity("mill", rhs=4.0)]
    tables = use(rows, {"oven[a]": 0.0, "oven[b]": used, "mill": 0.0})
    # A limit of its own is shown without use as well.
    assert [table.name for table in tables] == ([*(["oven"] if is_shown else []), SINGLE])


def test_limits_of_a_kind_have_their_sentence_if_all_have_the_same() -> None:
    values = {"oven[a]": 1.0, "oven[b]": 2.0}
    for second, sentence in (("9 hours each", "9 hours each"), ("8 hours", ""), ("", "")):
        (table,) = use([capacity("oven[a]", "9 hours each"), capacity("oven[b]", second)], values)
        assert (table.name, table.sentence, table.omitted) == ("oven", sentence, 0)
        assert [(row.label, row.used) for row in table.rows] == [("a", 1.0), ("b", 2.0)]


@pytest.mark.parametrize("count", [MAX_ROWS - 1, MAX_ROWS, MAX_ROWS + 3])
def test_limits_beyond_sixty_are_counted(count: int) -> None:
    kinds = [capacity(f"oven[{at}]") for at in range(count)]
    (table,) = use(kinds, {row.name: 1.0 for row in kinds})
    assert (len(table.rows), table.omitted) == (min(count, MAX_ROWS), max(0, count - MAX_ROWS))
    words = [f"{first}{second}" for first in "bcdfghklm" for second in ("ar", "en", "il", "os", "up", "ax", "ew")]
    single = [capacity(word) for word in [*words, *(word + "z" for word in words)][:count]]
    (table,) = use(single, {row.name: 1.0 for row in single})
    assert (table.name, len(table.rows), table.omitted) == (SINGLE, min(count, MAX_ROWS), max(0, count - MAX_ROWS))


def test_the_last_six_tables_of_limits_are_shown() -> None:
    rows = [capacity(f"{name}[{at}]") for name in ("aa", "bb", "cc", "dd", "ee", "ff", "gg") for at in range(2)]
    tables = use([*rows, capacity("money")], {row.name: 1.0 for row in rows} | {"money": 1.0})
    assert [table.name for table in tables] == ["cc", "dd", "ee", "ff", "gg", SINGLE]


@pytest.mark.parametrize("kind", DecisionKind)
def test_times_and_choices_are_not_drawn_over_periods(kind: DecisionKind) -> None:
    charts = chart_families([series(*((week,) for week in WEEKS), kind=kind)])
    assert bool(charts) is (kind not in (DecisionKind.TIME, DecisionKind.CHOICE))


def test_families_with_at_most_two_indices_are_drawn_over_their_first_periods() -> None:
    (chart,) = chart_families([series(*((week,) for week in WEEKS))])
    assert chart.series == {"x": (3.0, 2.0, 2.0, 2.0)}
    # Both indices are periods; a third index is too many, and no index is none.
    pairs = [(week, day) for week in WEEKS for day in ("mon", "tue", "wed", "thu")]
    (chart,) = chart_families([series(*pairs)])
    assert chart.periods == tuple(WEEKS)
    assert chart.series == {
        "mon": (3.0, 2.0, 2.0, 2.0), "tue": (2.0,) * 4, "wed": (2.0,) * 4, "thu": (2.0,) * 4,
    }  # fmt: skip
    assert chart_families([series(*((week, "a", "b") for week in WEEKS)), series(())]) == ()
    (second,) = chart_families([series(*((name, week) for week in WEEKS for name in ("a", "b")), unit="kg")])
    assert (second.name, second.unit, second.series["b"]) == ("x", "kg", (2.0,) * 4)


def test_four_charts_are_drawn() -> None:
    families = [replace(series(*((week,) for week in WEEKS)), name=f"x{at}") for at in range(6)]
    assert [chart.name for chart in chart_families(families)] == ["x0", "x1", "x2", "x3"]


@pytest.mark.parametrize("count", [MAX_SERIES - 1, MAX_SERIES, MAX_SERIES + 1, MAX_SERIES + 3])
def test_the_largest_lines_of_a_chart_are_shown_and_the_others_added_up(count: int) -> None:
    """Line k has k, or -k, in each but the last week: small ones come first in the data."""
    names = [f"line {chr(97 + at)}" for at in range(count)]
    entries = {(name, week): f"{name} {week}" for name in names for week in WEEKS}
    sizes = {name: (at + 1.0) * (-1) ** at for at, name in enumerate(names)}
    values = {f"{name} {week}": sizes[name] * (week != WEEKS[-1]) for name, week in entries}
    (chart,) = chart_families([DecisionFamily("make", entries, values)])
    shown = names if count <= MAX_SERIES else names[1 - MAX_SERIES :]
    rows = {name: (sizes[name],) * 3 + (0.0,) for name in shown}
    if count > MAX_SERIES:
        rows["others"] = (sum(sizes[name] for name in names if name not in shown),) * 3 + (0.0,)
    assert chart.series == rows
    assert list(chart.series) == list(rows)


YEARS = ["2027", "2028", "2029", "2030"]


@pytest.mark.parametrize(
    ("labels", "periods"),
    [
        (YEARS[::-1], YEARS), (["W 3", "W 1", "W 2", "W 4"], ["W 1", "W 2", "W 3", "W 4"]), (["day-1", "day-2", "day-3", "day-4"], None),
        (["KW_4", "KW_5", "KW_6", "KW_7"], None), (["M1", "M2", "M3", "M4"], []), (["2026-01-02", "2026-01-01", "2026-01-03", "2026-01-04"], ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]),
        # Clock times are of one day, in minutes and not in the order of their texts.
        (["9:30", "10:00", "8:59", "09:00:00"], ["8:59", "09:00:00", "9:30", "10:00"]),
        (["tue", "mon", "wed", "thu"], ["tue", "mon", "wed", "thu"]), (["1.1", "2.1", "3.1", "4.1"], []),
        # Two labels of one time, labels of two kinds, and too few.
        (["1", "01", "2", "3"], []), (["week 1", "week 2", "day 3", "day 4"], []), (["1", "2", "3"], []), (["mon", "tue", "wed"], []), (["mon", "tue", "wed", "x"], []),
        ([" 1", "2 ", "3", "4"], [" 1", "2 ", "3", "4"]), (["mo", "di", "mi", "do"], ["mo", "di", "mi", "do"]), (["jan", "feb", "mär", "apr"], ["jan", "feb", "mär", "apr"]),
        # All months are names of periods too.
        (["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"], None),
    ],
)  # fmt: skip
def test_the_index_of_periods_is_found_with_its_order(labels: list[str], periods: list[str] | None) -> None:
    """None stands for the order of the data, and no labels for no periods."""
    wanted = labels if periods is None else periods
    plain = find_periods(series(*((label,) for label in labels)))
    assert plain == ((0, tuple(wanted)) if wanted else None)
    beside = find_periods(series(*((name, label) for label in labels for name in ("Ann", "Bea", "Cem", "Dao"))))
    assert beside == ((1, tuple(wanted)) if wanted else None)


def test_two_indices_of_periods_and_too_many_periods_are_none() -> None:
    assert find_periods(series(*((year, f"w{at}") for year in YEARS for at in range(4)))) is None
    for count, is_found in ((MAX_PERIODS, True), (MAX_PERIODS + 1, False)):
        assert (find_periods(series(*((str(at),) for at in range(count)))) is not None) is is_found
    # The same 400 days of the week, and four codes of machines beside four weeks.
    codes = series(*((f"M{machine}", f"week {week}") for machine in range(1, 5) for week in range(1, 5)))
    assert find_periods(codes) == (1, tuple(WEEKS))


def texts_of(svg: ElementTree.Element) -> list[tuple[float, float, str, str]]:
    """Return place, anchor and content of each text."""
    return [
        (float(text.attrib["x"]), float(text.attrib["y"]), text.attrib["text-anchor"], text.text or "")
        for text in svg.findall("text")
    ]


@pytest.mark.parametrize("values", [(2.0, 6.0, 1.0, 4.0), (2.0, -3.0, 1.0, 4.0), (-2.0, -6.0, -1.0, -4.0)])
def test_the_figures_of_a_chart_are_beside_it_at_their_heights(values: tuple[float, ...]) -> None:
    chart = TimeChart("made", "t", tuple(WEEKS), {"a": values, "b": (0.0, 0.0, 0.0, 1.0)})
    svg = ElementTree.fromstring(f"<svg>{draw_chart(chart)}</svg>")
    figures = {text: (x, y) for x, y, anchor, text in texts_of(svg) if anchor == "end"}
    assert all(LEFT / 2 < x < LEFT for x, _ in figures.values())
    top, bottom = max(0.0, *values[:3], values[3] + 1.0 if values[3] > 0 else 1.0), min(0.0, *values)
    assert figures.keys() == {f"{top:g}", *([f"{bottom:g}"] if bottom < 0 else [])}
    assert TOP <= figures[f"{top:g}"][1] <= TOP + 16
    assert bottom == 0 or figures[f"{bottom:g}"][1] == TOP + HEIGHT
    line = svg.find("line")
    assert line is not None
    assert (float(line.attrib["x1"]), float(line.attrib["x2"])) == (LEFT, LEFT + WIDTH)
    assert line.attrib["y1"] == line.attrib["y2"]
    # Bars of a period are on top of each other, and those of two periods beside each other.
    bars = [{key: float(bar.attrib[key]) for key in ("x", "y", "width", "height")} for bar in svg.findall("rect")]
    assert all(bar["width"] == pytest.approx(0.8 * WIDTH / 4, abs=0.1) for bar in bars)
    assert bars[0]["x"] == pytest.approx(LEFT + 0.1 * WIDTH / 4, abs=0.1)
    axis = float(line.attrib["y1"])
    assert axis == pytest.approx(TOP + top / (top - bottom) * HEIGHT, abs=0.1)
    if values[3] > 0:
        assert bars[4]["y"] + bars[4]["height"] == pytest.approx(bars[3]["y"], abs=0.15)
        assert bars[3]["y"] + bars[3]["height"] == pytest.approx(axis, abs=0.15)
    else:
        assert bars[3]["y"] == pytest.approx(axis, abs=0.15)
        assert bars[4]["y"] + bars[4]["height"] == pytest.approx(axis, abs=0.15)
    assert bars[3]["x"] == bars[4]["x"]


def test_bars_below_the_axis_are_on_top_of_each_other_too() -> None:
    chart = TimeChart("made", "t", tuple(WEEKS), {"a": (-2.0,) * 4, "b": (3.0,) * 4, "c": (-1.0,) * 4})
    svg = ElementTree.fromstring(f"<svg>{draw_chart(chart)}</svg>")
    first, second, third = svg.findall("rect")[:3]
    sizes = [float(bar.attrib["height"]) for bar in (first, second, third)]
    assert sizes == pytest.approx([HEIGHT / 3, HEIGHT / 2, HEIGHT / 6], abs=0.1)
    assert [float(bar.attrib["y"]) for bar in (first, second, third)] == pytest.approx(
        [TOP + HEIGHT / 2, TOP, TOP + HEIGHT / 2 + sizes[0]], abs=0.15
    )
    assert len({bar.attrib["fill"] for bar in (first, second, third)}) == 3
    titles = [bar.find("title") for bar in (first, second, third)]
    assert [title.text for title in titles if title is not None] == ["week 1, a: -2", "week 1, b: 3", "week 1, c: -1"]


@pytest.mark.parametrize(("count", "every"), [(12, 1), (13, 2), (24, 2), (25, 3)])
def test_at_most_twelve_periods_are_named_below_their_columns(count: int, every: int) -> None:
    periods = tuple(f"{at} {'p' * 20}" for at in range(count))
    chart = TimeChart("made", "t", periods, {"a": (1.0,) * count})
    svg = ElementTree.fromstring(f"<svg>{draw_chart(chart)}</svg>")
    named = [(x, y, text) for x, y, anchor, text in texts_of(svg) if anchor == "middle"]
    assert [text for *_, text in named] == [period[:12] for period in periods[::every]]
    assert [x for x, *_ in named] == pytest.approx(
        [LEFT + (at + 0.5) * WIDTH / count for at in range(0, count, every)], abs=0.06
    )
    # Below the bars, within the view box.
    assert {TOP + HEIGHT < y <= 184 for _, y, _ in named} == {True}


@pytest.mark.parametrize("words", [MONTHS, WEEKDAYS, GERMAN_WEEKDAYS])
def test_all_names_of_months_and_weekdays_are_periods_in_the_order_of_the_data(words: frozenset[str]) -> None:
    labels = sorted(words, reverse=True)
    assert find_periods(series(*((label,) for label in labels))) == (0, tuple(labels))
