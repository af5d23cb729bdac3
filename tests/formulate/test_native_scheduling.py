"""Models with cases and whole figures by CP-SAT against enumeration, and bars of a plan against its times."""

import itertools
import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.formulate.charts import WIDTH
from oragent.formulate.gantt import LEFT, ROW, TOP, Bar, PlanSchedule, build_schedule, describe_schedule, draw_gantt
from oragent.formulate.native_scheduling import _add_machines, _scale_of, solve_with_cp_sat
from oragent.modelling.data.features import FurtherObjective, Indicator, ModelFeatures, QuadraticTerm
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind
from oragent.modelling.data.solution import SolveStatus
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind

pytest.importorskip("ortools")
INTEGER = VariableKind.INTEGER
NAMES = ("x", "y", "s", "t")
POINTS = list(itertools.product(range(4), range(4), range(2), range(2)))
lines = st.tuples(
    st.sampled_from([-2.0, -0.5, 0.0, 1.0, 3.0]), st.sampled_from([-1.0, 0.0, 1.5]), st.sampled_from(list(Relation)),
    st.integers(-3, 9),
)  # fmt: skip
Line = tuple[float, float, Relation, int]


def meets(line: Line, point: tuple[int, ...]) -> bool:
    a, b, relation, rhs = line
    over = a * point[0] + b * point[1] - rhs
    return {Relation.AT_MOST: over <= 0, Relation.AT_LEAST: over >= 0, Relation.EQUAL: over == 0}[relation]


def case_model(
    rows: list[Line], cases: list[Line], worth: tuple[float, float], sense: Sense, second: Sense | None
) -> IndexedModel:
    """Two numbers up to 3, rows, and two cases of which one holds at least; perhaps a more important aim, y."""
    switches = ("s", "t")
    goals = () if second is None else (FurtherObjective("first", {"y": 1.0}, second, 2.0, priority=1),)
    return IndexedModel.from_records(
        (*(Variable(name, 0, 3, INTEGER) for name in "xy"), *(Variable(name, 0, 1, INTEGER) for name in switches)),
        (
            *(Row(f"r{at}", {"x": a, "y": b}, relation, float(rhs)) for at, (a, b, relation, rhs) in enumerate(rows)),
            Row("some case", dict.fromkeys(switches, 1.0), Relation.AT_LEAST, 1.0),
        ),
        Objective({"x": worth[0], "y": worth[1]}, 0.25),
        sense,
        features=ModelFeatures(
            indicators=tuple(
                Indicator(f"c{at}", switch, True, {"x": a, "y": b}, relation, float(rhs))
                for at, (switch, (a, b, relation, rhs)) in enumerate(zip(switches, cases, strict=True))
            ),
            goals=goals,
        ),
    )


@settings(max_examples=60, deadline=None)
@given(
    st.lists(lines, max_size=1), st.lists(lines, min_size=2, max_size=2),
    st.tuples(st.sampled_from([-1.0, 0.5, 2.0]), st.sampled_from([-1.5, 1.0])),
    st.sampled_from(Sense), st.sampled_from([None, *Sense]),
)  # fmt: skip
def test_cases_are_solved_as_by_enumeration(
    rows: list[Line], cases: list[Line], worth: tuple[float, float], sense: Sense, second: Sense | None
) -> None:
    milp = case_model(rows, cases, worth, sense, second)
    feasible = [
        point
        for point in POINTS
        if all(meets(row, point) for row in rows)
        and point[2] + point[3] >= 1
        and all(not used or meets(case, point) for used, case in zip(point[2:], cases, strict=True))
    ]
    solution = solve_with_cp_sat(milp, (), 20.0)
    assert solution is not None
    if not feasible:
        assert solution.status is SolveStatus.INFEASIBLE
        return

    def rank(point: tuple[int, ...]) -> tuple[float, float]:
        value = sense.sign * (worth[0] * point[0] + worth[1] * point[1])
        return (0.0 if second is None else second.sign * point[1], value)

    best = min(map(rank, feasible))
    assert solution.status is SolveStatus.OPTIMAL
    point = tuple(round(solution.values[name]) for name in NAMES)
    assert point in feasible
    assert rank(point) == pytest.approx(best)
    assert solution.objective == pytest.approx(sense.sign * best[1] + 0.25)
    if second is None:
        assert solution.bound == pytest.approx(solution.objective)


@pytest.mark.parametrize("change", ["nothing", "no cases", "a fraction", "products", "continuous", "whole by its rows"])
def test_only_models_with_cases_and_whole_figures_are_solved(change: str) -> None:
    line = (1.0, 1.0, Relation.AT_MOST, 3)
    milp = case_model([line], [line, line], (1.0, 1.0), Sense.MAXIMIZE, None)
    loose = milp.with_records(variables=(Variable("x", 0, 3), *milp.variable_records[1:]))
    whole: tuple[str, ...] = ()
    if change == "no cases":
        milp = milp.with_records(features=ModelFeatures())
    elif change == "a fraction":
        milp = milp.with_records(rows=(*milp.row_records, Row("third", {"x": 1 / 3}, Relation.AT_MOST, 1.0)))
    elif change == "products":
        milp = milp.with_records(features=replace(milp.named_features, quadratic=(QuadraticTerm("x", "x", 1.0),)))
    elif change == "continuous":
        milp = loose
    elif change == "whole by its rows":
        milp, whole = loose, ("x",)
    solution = solve_with_cp_sat(milp, whole, 20.0)
    assert (solution is not None) is (change in ("nothing", "whole by its rows"))
    assert solution is None or solution.objective == 3.25


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        ([1.0, -3.0], 1),
        ([0.5, 2.0], 10),
        ([0.25], 100),
        ([0.7], 10),
        ([-0.7, 0.75], 100),
        ([2 / 3], None),
        ([1e-6], 10**6),
        ([1e-7], None),
        ([1 / 3], None),
        ([], 1),
        ([123456.7], 10),
        # Last digits of a large figure are rounding.
        ([1e6 + 1e-4], 1),
        ([-1e6 - 1e-4], 1),
        ([1e6 + 1e-2], 100),
    ],
)
def test_the_least_power_of_ten_makes_figures_whole(values: list[float], scale: int | None) -> None:
    assert _scale_of(values) == scale


def task(
    name: str, size: float, lane: str = "oven", conditions: dict[str, float] | None = None, exclusive: bool = True
) -> PlanInterval:
    return PlanInterval(
        name, TimeExpression({name: 1.0}), TimeExpression({name: 1.0}, size), lane, conditions or {}, exclusive
    )


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["a", "b"])), min_size=2, max_size=4))
def test_tasks_of_a_machine_need_the_sum_of_their_times(tasks: list[tuple[int, str]]) -> None:
    intervals = [task(f"t{at}", float(size), lane) for at, (size, lane) in enumerate(tasks)]
    variables = (*(Variable(f"t{at}", 0, 30, INTEGER) for at in range(len(tasks))), Variable("end", 0, 30, INTEGER))
    rows = tuple(
        Row(f"end {at}", {"end": 1.0, f"t{at}": -1.0}, Relation.AT_LEAST, float(size))
        for at, (size, _) in enumerate(tasks)
    )
    milp = IndexedModel.from_records(variables, rows, Objective({"end": 1.0}), Sense.MINIMIZE)
    solution = solve_with_cp_sat(milp, (), 20.0, intervals=intervals)
    assert solution is not None
    assert solution.objective == max(sum(size for size, lane in tasks if lane == each) for each in "ab")
    # A task that may overlap before the others changes nothing for these.
    first = replace(task("t0", 0.0), is_exclusive=False)
    again = solve_with_cp_sat(milp, (), 20.0, intervals=[first, *intervals])
    assert again is not None
    assert again.objective == solution.objective
    loose = [replace(interval, is_exclusive=False) for interval in intervals]
    solution = solve_with_cp_sat(milp, (), 20.0, intervals=loose)
    assert solution is not None
    assert solution.objective == max(size for size, _ in tasks)


@pytest.mark.parametrize(("wanted", "present", "end"), [(1.0, 1, 7), (1.0, 0, 4), (0.0, 0, 7), (0.0, 1, 4)])
def test_a_task_that_does_not_take_place_needs_no_machine(wanted: float, present: int, end: int) -> None:
    intervals = [task("a", 3.0, conditions={"on": wanted}), task("b", 4.0)]
    variables = (
        Variable("a", 0, 9, INTEGER), Variable("b", 0, 9, INTEGER), Variable("on", present, present, INTEGER), Variable("end", 0, 30, INTEGER),
    )  # fmt: skip
    rows = (
        Row("a", {"end": 1.0, "a": -1.0}, Relation.AT_LEAST, 3.0), Row("b", {"end": 1.0, "b": -1.0}, Relation.AT_LEAST, 4.0),
    )  # fmt: skip
    milp = IndexedModel.from_records(variables, rows, Objective({"end": 1.0}), Sense.MINIMIZE)
    solution = solve_with_cp_sat(milp, (), 20.0, intervals=intervals)
    assert solution is not None
    assert solution.objective == end


def test_a_value_without_bound_is_not_solved_up_to_a_horizon() -> None:
    line = (1.0, 1.0, Relation.AT_LEAST, 0)
    milp = case_model([], [line, line], (1.0, 1.0), Sense.MAXIMIZE, None)
    free = milp.with_records(variables=(Variable("x", 0, INFINITY, INTEGER), *milp.variable_records[1:]))
    assert solve_with_cp_sat(free, (), 20.0) is None
    smallest = free.with_records(sense=Sense.MINIMIZE)
    solution = solve_with_cp_sat(smallest, (), 20.0)
    assert solution is not None
    assert solution.objective == 0.25


BARS = (
    Bar("dough", "Anna", 0.0, 2.0),
    Bar("bread", "Anna", 2.0, 6.0),
    Bar("bread", "Bo", 1.0, 4.0),
    Bar("rest", "", 8.0, 8.0),
)


def test_bars_have_the_places_of_their_times_and_a_row_for_each_machine() -> None:
    svg, height = draw_gantt(PlanSchedule(BARS))
    bars = re.findall(
        r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="(\d+)" fill="([^"]+)"><title>([^<]+)', str(svg)
    )
    assert [title for *_, title in bars] == ["dough: 0 to 2", "bread: 2 to 6", "bread: 1 to 4", "rest: 8 to 8"]
    for (x, y, width, tall, _, _), bar, row in zip(bars, BARS, (0, 0, 1, 2), strict=True):
        assert float(x) == pytest.approx(LEFT + bar.start * WIDTH / 8, abs=0.1)
        assert float(width) == pytest.approx(max(1.0, (bar.end - bar.start) * WIDTH / 8), abs=0.1)
        # The bar has the same distance to both sides of its row.
        assert float(y) - (TOP + row * ROW) == TOP + (row + 1) * ROW - float(y) - int(tall) > 0
    colours = [colour for *_, colour, _ in bars]
    assert colours[1] == colours[2]
    assert len(set(colours)) == 3
    assert re.findall(r'text-anchor="end">([^<]+)', str(svg)) == ["Anna", "Bo", "rest"]
    assert height > 3 * ROW
    ticks = [float(text) for text in re.findall(r'text-anchor="middle">([\d.]+)<', str(svg))]
    assert ticks == [0, 1.3, 2.7, 4, 5.3, 6.7, 8]
    assert describe_schedule(PlanSchedule(BARS)) == [
        "Anna: dough 0 to 2, bread 2 to 6",
        "Bo: bread 1 to 4",
        "rest: 8 to 8",
    ]


def family(name: str, entries: dict[tuple[str, ...], float], kind: DecisionKind = DecisionKind.TIME) -> DecisionFamily:
    names = {index: f"{name}[{','.join(index)}]" for index in entries}
    return DecisionFamily(name, names, {names[index]: value for index, value in entries.items()}, kind=kind)


def test_intervals_are_shown_by_machine_if_they_take_place() -> None:
    starts = family("start", {("bread", "o1"): 3.0, ("cake", "o1"): 0.0, ("rolls", "o1"): 9.0})
    values = {**starts.values, "on": 0.0}
    names = dict(starts.entries)
    intervals = [
        PlanInterval("", TimeExpression({names[index]: 1.0}), TimeExpression({names[index]: 1.0}, size), "machine 1", conditions)
        for index, size, conditions in (
            (("bread", "o1"), 2.0, {}), (("cake", "o1"), 3.0, {}), (("rolls", "o1"), 1.0, {"on": 1.0}),
        )
    ]  # fmt: skip
    schedule = build_schedule(intervals, [starts], values)
    assert schedule is not None
    # The index that all share names the machine.
    assert schedule.bars == (Bar("cake", "o1", 0.0, 3.0), Bar("bread", "o1", 3.0, 5.0))
    named = build_schedule([replace(interval, lane="oven") for interval in intervals], [starts], values)
    assert named is not None
    assert {bar.lane for bar in named.bars} == {"oven"}
    assert build_schedule([intervals[2]], [starts], values) is None


@pytest.mark.parametrize(
    ("first", "second", "bars"),
    [
        (family("start", {("a", "m"): 1.0}), family("finish time", {("a", "m"): 4.0}), (Bar("a", "m", 1.0, 4.0),)),
        (family("begin", {("a",): 1.0}), family("end", {("a",): 4.0}), (Bar("a", "", 1.0, 4.0),)),
        (family("begin", {("a", "b", "c"): 1.0}), family("ends", {("a", "b", "c"): 4.0}), (Bar("a b c", "", 1.0, 4.0),)),
        (family("begin", {("a",): 1.0}), family("end", {("b",): 4.0}), None),
        (family("begin", {("a",): 1.0}), family("end", {("a",): 4.0}, DecisionKind.AMOUNT), None),
        (family("open", {("a",): 1.0}), family("end", {("a",): 4.0}), None),
    ],
)  # fmt: skip
def test_starts_and_ends_with_the_same_indices_are_intervals(
    first: DecisionFamily, second: DecisionFamily, bars: tuple[Bar, ...] | None
) -> None:
    schedule = build_schedule((), [first, second], {})
    assert (None if schedule is None else schedule.bars) == bars


@pytest.mark.parametrize(
    ("rhs", "names", "machines"),
    [(1, ("a", "b", "c"), [3]), (1, ("a", "b"), [2]), (2, ("a", "b", "c"), []), (1, ("a",), [])],
)
def test_tasks_of_which_no_two_overlap_share_a_machine(rhs: int, names: tuple[str, ...], machines: list[int]) -> None:
    """Machines only make the search faster: the rows say the same."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    indicators, rows = [], []
    for first, second in itertools.combinations(names, 2):
        for before, after in ((first, second), (second, first)):
            switch = f"{before} before {after}"
            terms = {before: 1.0, after: -1.0}
            indicators.append(Indicator(switch, switch, True, terms, Relation.AT_MOST, -3.0))
        terms = {f"{first} before {second}": 1.0, f"{second} before {first}": 1.0}
        rows.append(Row(f"{first} or {second}", terms, Relation.AT_LEAST, rhs))
    variables = [Variable(name, 0, 30, INTEGER) for name in names]
    variables += [Variable(part.binary, 0, 1, INTEGER) for part in indicators]
    features = ModelFeatures(indicators=tuple(indicators))
    milp = IndexedModel.from_records(variables, rows, Objective({"a": 1.0}), Sense.MINIMIZE, features=features)
    model = cp_model.CpModel()
    columns = {variable.name: model.new_int_var(0, 30, variable.name) for variable in variables}
    _add_machines(model, milp, columns)
    found = [constraint.no_overlap for constraint in model.proto.constraints if constraint.has_no_overlap()]
    assert [len(constraint.intervals) for constraint in found] == machines
