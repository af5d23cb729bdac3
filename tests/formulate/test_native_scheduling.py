"""Models with cases and whole figures by CP-SAT against enumeration."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent.formulate.native_scheduling import _add_machines, _read_order, _scale_of, solve_with_cp_sat
from oragent.modelling.data.features import (
    FurtherObjective,
    Indicator,
    ModelFeatures,
    QuadraticRow,
    QuadraticTerm,
    SemiContinuous,
    SoftRow,
)
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind
from oragent.modelling.data.solution import SolveStatus

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
    st.sampled_from(Sense), st.sampled_from([None, *Sense]), st.sampled_from([0.0, 1.0, 1.5]),
)  # fmt: skip
def test_cases_are_solved_as_by_enumeration(
    rows: list[Line], cases: list[Line], worth: tuple[float, float], sense: Sense, second: Sense | None, room: float
) -> None:
    """Later aims may take ``room`` of the first one."""
    milp = case_model(rows, cases, worth, sense, second)
    goals = tuple(replace(goal, slack_amount=room) for goal in milp.named_features.goals)
    milp = milp.with_records(features=replace(milp.named_features, goals=goals))
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

    def rank(point: tuple[int, ...]) -> float:
        return sense.sign * (worth[0] * point[0] + worth[1] * point[1])

    if second is not None:
        most = min(second.sign * point[1] for point in feasible) + room
        feasible = [point for point in feasible if second.sign * point[1] <= most]
    best = min(map(rank, feasible))
    assert solution.status is SolveStatus.OPTIMAL
    point = tuple(round(solution.values[name]) for name in NAMES)
    assert point in feasible
    assert rank(point) == pytest.approx(best)
    assert solution.objective == pytest.approx(sense.sign * best + 0.25)
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


@pytest.mark.parametrize(
    ("rhs", "names", "machines"),
    [(1, ("a", "b", "c"), [3]), (1, ("a", "b"), [2]), (2, ("a", "b", "c"), []), (1, ("a",), [])],
)
def test_tasks_of_which_no_two_overlap_share_a_machine(rhs: int, names: tuple[str, ...], machines: list[int]) -> None:
    """Machines only make the search faster: the rows say the same."""
    found = list_machines(dict.fromkeys(names, 3), list(itertools.combinations(names, 2)), rhs)
    assert [len(machine) for machine in found] == machines


SOME = (1.0, 1.0, Relation.AT_MOST, 3)
NATIVE = case_model([SOME], [SOME, SOME], (1.0, 1.0), Sense.MAXIMIZE, None)


@pytest.mark.parametrize("part", ["semi-continuous", "soft row", "quadratic row", "quadratic objective"])
def test_models_with_other_features_are_left_to_other_solvers(part: str) -> None:
    product = (QuadraticTerm("x", "y", 1.0),)
    features = {
        "semi-continuous": replace(NATIVE.named_features, semi_continuous=(SemiContinuous("x"),)),
        "soft row": replace(NATIVE.named_features, soft_rows=(SoftRow("r0", 5.0),)),
        "quadratic row": replace(
            NATIVE.named_features, quadratic_rows=(QuadraticRow("q", {}, product, Relation.AT_MOST, 4.0),)
        ),
        "quadratic objective": replace(NATIVE.named_features, quadratic=product),
    }[part]
    assert solve_with_cp_sat(NATIVE, (), 20.0) is not None
    assert solve_with_cp_sat(NATIVE.with_records(features=features), (), 20.0) is None


@pytest.mark.parametrize(
    ("terms", "rhs", "is_whole"),
    [
        ({"x": 1.0, "y": 1.0}, 3.0, True),
        ({"x": -1.0, "y": 1.0}, 3.0, True),
        ({"x": 2.0, "y": 1.0}, 3.0, False),
        ({"x": 1.0, "y": 2.0}, 3.0, True),
        ({"x": 1.0, "y": 1.0}, 2.5, False),
    ],
)
def test_a_continuous_column_is_whole_if_rows_only_add_and_subtract_it(
    terms: dict[str, float], rhs: float, is_whole: bool
) -> None:
    rows = (*NATIVE.row_records, Row("more", terms, Relation.AT_MOST, rhs))
    milp = NATIVE.with_records(variables=(Variable("x", 0, 3), *NATIVE.variable_records[1:]), rows=rows)
    assert (solve_with_cp_sat(milp, ("x",), 20.0) is not None) is is_whole
    assert solve_with_cp_sat(milp, (), 20.0) is None


@pytest.mark.parametrize(("sense", "value"), [(Sense.MAXIMIZE, 2.0), (Sense.MINIMIZE, 1.0)])
def test_bounds_between_whole_numbers_are_narrowed(sense: Sense, value: float) -> None:
    milp = NATIVE.with_records(
        variables=(Variable("x", 0.5, 2.5, INTEGER), *NATIVE.variable_records[1:]),
        objective=Objective({"x": 1.0}),
        sense=sense,
    )
    solution = solve_with_cp_sat(milp, (), 20.0)
    assert solution is not None
    assert (solution.status, solution.objective, solution.solver) == (SolveStatus.OPTIMAL, value, "CP-SAT")


def test_a_column_without_a_lower_bound_may_be_below_0() -> None:
    variables = (Variable("x", -INFINITY, 3), *NATIVE.variable_records[1:])
    row = Row("least", {"x": 1.0}, Relation.AT_LEAST, -2000.0)
    milp = NATIVE.with_records(
        variables=variables, rows=(*NATIVE.row_records, row), objective=Objective({"x": 1.0}), sense=Sense.MINIMIZE
    )
    solution = solve_with_cp_sat(milp, (), 20.0)
    assert solution is not None
    assert solution.objective == -2000.0
    # Without the row, a better point may lie beyond the bound that was added.
    assert solve_with_cp_sat(milp.with_records(rows=NATIVE.row_records), (), 20.0) is None


def test_a_model_without_an_objective_has_any_plan() -> None:
    solution = solve_with_cp_sat(NATIVE.with_records(objective=Objective({}, 7.0)), (), 20.0)
    assert solution is not None
    assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, 7.0)
    thirds = NATIVE.with_records(objective=Objective({"x": 1 / 3}))
    assert solve_with_cp_sat(thirds, (), 20.0) is None


def test_a_task_without_a_duration_takes_the_machine_for_a_moment() -> None:
    """It is at 2, and the other task of four hours cannot be around it."""
    variables = (Variable("a", 2, 2, INTEGER), Variable("b", 0, 9, INTEGER))
    milp = IndexedModel.from_records(variables, (), Objective({"b": 1.0}), Sense.MINIMIZE)
    solution = solve_with_cp_sat(milp, (), 20.0, intervals=[task("a", 0.0), task("b", 4.0)])
    assert solution is not None
    assert solution.objective == 2


@pytest.mark.parametrize(
    ("change", "begin"),
    [
        ({}, 4.0), ({"is_exclusive": False}, 0.0), ({"lane": "mill"}, 0.0), ({"end": TimeExpression({"a": 1.0}, 3.5)}, 0.0), ({"end": TimeExpression({"b": 1.0}, 4.0)}, 0.0),
        ({"start": TimeExpression({"a": 1.0}, 1.0)}, 4.0), ({"conditions": {"on": 1.0, "off": 1.0}}, 0.0), ({"start": TimeExpression({"a": 2.0}), "end": TimeExpression({"a": 2.0}, 5.0)}, 5.0),
    ],
)  # fmt: skip
def test_only_tasks_with_fixed_whole_times_are_intervals(change: dict, begin: float) -> None:
    """Task a is from 0 to 4, so that task b of two hours follows it where both are on one machine."""
    variables = (
        Variable("a", 0, 0, INTEGER),
        Variable("b", 0, 9, INTEGER),
        Variable("on", 1, 1, INTEGER),
        Variable("off", 1, 1, INTEGER),
    )
    milp = IndexedModel.from_records(variables, (), Objective({"b": 1.0}), Sense.MINIMIZE)
    first = replace(task("a", 4.0), **change)
    solution = solve_with_cp_sat(milp, (), 20.0, intervals=[first, task("b", 2.0)])
    assert solution is not None
    assert solution.objective == begin


@pytest.mark.parametrize(
    ("terms", "relation", "rhs", "order"),
    [
        ({"a": 1.0, "b": -1.0}, Relation.AT_MOST, -3.0, ("a", "b", 3)), ({"b": 1.0, "a": -1.0}, Relation.AT_LEAST, 3.0, ("a", "b", 3)), ({"a": 1.0, "b": -1.0}, Relation.AT_MOST, 0.0, ("a", "b", 0)),
        ({"a": 1.0, "b": -1.0}, Relation.AT_MOST, 3.0, None), ({"a": 1.0, "b": -1.0}, Relation.AT_MOST, -2.5, None), ({"a": 1.0, "b": -1.0}, Relation.EQUAL, -3.0, None),
        ({"a": 1.0, "b": 1.0}, Relation.AT_MOST, -3.0, None), ({"a": 1.0, "b": -2.0}, Relation.AT_MOST, -3.0, None), ({"a": 1.0}, Relation.AT_MOST, -3.0, None),
    ],
)  # fmt: skip
def test_an_order_of_two_tasks_is_read_from_its_row(
    terms: dict[str, float], relation: Relation, rhs: float, order: tuple | None
) -> None:
    part = Indicator("c", "s", True, terms, relation, rhs)
    assert _read_order([part]) == order
    assert _read_order([part, part]) is None
    assert _read_order([]) is None


def list_machines(sizes: dict[str, int], pairs: list[tuple[str, str]], rhs: float = 1.0) -> list[set[tuple[str, int]]]:
    """Tasks with their durations on each machine, for pairs of which one task comes before the other."""
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    indicators, rows = [], []
    for first, second in pairs:
        for before, after in ((first, second), (second, first)):
            switch = f"{before} before {after}"
            terms = {before: 1.0, after: -1.0}
            indicators.append(Indicator(switch, switch, True, terms, Relation.AT_MOST, -float(sizes[before])))
        terms = {f"{first} before {second}": 1.0, f"{second} before {first}": 1.0}
        rows.append(Row(f"{first} or {second}", terms, Relation.AT_LEAST, rhs))
    variables = [Variable(name, 0, 30, INTEGER) for name in sizes]
    variables += [Variable(part.binary, 0, 1, INTEGER) for part in indicators]
    features = ModelFeatures(indicators=tuple(indicators))
    milp = IndexedModel.from_records(variables, rows, Objective({"a": 1.0}), Sense.MINIMIZE, features=features)
    model = cp_model.CpModel()
    columns = {variable.name: model.new_int_var(0, 30, variable.name) for variable in variables}
    _add_machines(model, milp, columns)
    names = {column.index: name for name, column in columns.items()}
    tasks = {}
    for at, constraint in enumerate(model.proto.constraints):
        if constraint.has_interval():
            part = constraint.interval
            tasks[at] = (names[part.start.vars[0]], part.size.offset)
    return [
        {tasks[at] for at in constraint.no_overlap.intervals} for constraint in model.proto.constraints if constraint.has_no_overlap()
    ]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.sampled_from(list(itertools.combinations("abcde", 2)))),
    st.lists(st.integers(1, 4), min_size=5, max_size=5),
)
def test_machines_have_each_pair_of_tasks_that_excludes_each_other(
    pairs: set[tuple[str, str]], durations: list[int]
) -> None:
    sizes = dict(zip("abcde", durations, strict=True))
    machines = list_machines(sizes, sorted(pairs))
    shared = [pair for machine in machines for pair in itertools.combinations(sorted(name for name, _ in machine), 2)]
    assert set(shared) == pairs
    assert all(len(machine) > 1 for machine in machines)
    assert {task for machine in machines for task in machine} <= set(sizes.items())


def test_the_largest_groups_of_tasks_are_found_first() -> None:
    """Three tasks that exclude each other, and a fourth one that excludes one of them."""
    sizes = {"a": 1, "b": 2, "c": 3, "d": 4}
    for order in itertools.permutations([("a", "b"), ("a", "c"), ("b", "c"), ("a", "d")]):
        machines = list_machines(sizes, list(order))
        assert [{name for name, _ in machine} for machine in machines] == [set("abc"), set("ad")]
    assert list_machines(sizes, [("a", "b")], 2.0) == []


class SlowSolver:
    """Makes solvers that call their status by another name, and remembers them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, word: str = "") -> None:
        cp_model = pytest.importorskip("ortools.sat.python.cp_model")
        solvers = self.solvers = []
        kind = cp_model.CpSolver

        class Solver(kind):
            def __init__(self) -> None:
                super().__init__()
                solvers.append(self)

            def status_name(self, status: object = None) -> str:
                return word or super().status_name(status)

        monkeypatch.setattr(cp_model, "CpSolver", Solver)


@pytest.mark.parametrize("count", [1, 2])
def test_the_solver_has_the_limits_of_the_caller(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    made = SlowSolver(monkeypatch)
    milp = case_model([SOME], [SOME, SOME], (1.0, 1.0), Sense.MAXIMIZE, Sense.MAXIMIZE if count == 2 else None)
    assert solve_with_cp_sat(milp, (), 12.0, threads=2, gap=0.25) is not None
    (solver,) = made.solvers
    assert (solver.parameters.num_workers, solver.parameters.relative_gap_limit) == (2, 0.25)
    assert solver.parameters.max_time_in_seconds == 12.0 / count


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("UNKNOWN", SolveStatus.UNKNOWN),
        ("MODEL_INVALID", SolveStatus.UNKNOWN),
        ("FEASIBLE", SolveStatus.FEASIBLE),
        ("INFEASIBLE", SolveStatus.INFEASIBLE),
        ("OPTIMAL", SolveStatus.OPTIMAL),
    ],
)
def test_each_ending_of_the_solver_has_its_status(
    monkeypatch: pytest.MonkeyPatch, word: str, status: SolveStatus
) -> None:
    SlowSolver(monkeypatch, word)
    solution = solve_with_cp_sat(NATIVE, (), 20.0)
    assert solution is not None
    assert (solution.status, solution.solver) == (status, "CP-SAT")
    assert bool(solution.note) is (status is SolveStatus.FEASIBLE)
    assert (solution.objective is not None) is status.has_point


@pytest.mark.parametrize(("bound", "status"), [(6.0, SolveStatus.OPTIMAL), (9.0, SolveStatus.FEASIBLE)])
def test_a_point_is_optimal_if_its_bound_says_so(
    monkeypatch: pytest.MonkeyPatch, bound: float, status: SolveStatus
) -> None:
    """The solver may stop within its gap and call that optimal."""
    milp = case_model([SOME], [SOME, SOME], (1.0, 1.0), Sense.MAXIMIZE, None).with_records(
        objective=Objective({"x": 2.0})
    )
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")

    class Solver(cp_model.CpSolver):
        best_objective_bound = bound

    monkeypatch.setattr(cp_model, "CpSolver", Solver)
    solution = solve_with_cp_sat(milp, (), 20.0, gap=0.5)
    assert solution is not None
    assert (solution.objective, solution.bound, solution.status) == (6.0, bound, status)
