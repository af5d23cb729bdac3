"""Rows for CP-SAT's constraints with cases have the optimum of CP-SAT, and its point meets them."""

import numpy as np
import pytest

from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import read_model
from oragent.modelling.capture.recorder import Recorder
from oragent.modelling.capture.recorders import cpsat_rows, from_cpsat
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.model_solving import solve

cp_model = pytest.importorskip("ortools.sat.python.cp_model")


def random_schedule(rng: np.random.Generator):
    """Four tasks, one of them optional, on a machine or a shared resource; their ends, a maximum and differences."""
    model = cp_model.CpModel()
    starts, ends, tasks = [], [], []
    for place in range(4):
        hours = int(rng.integers(1, 5))
        start = model.new_int_var(int(rng.integers(0, 3)), 14, f"s{place}")
        if place == 0:
            taken = model.new_bool_var("taken")
            tasks.append(model.new_optional_fixed_size_interval_var(start, hours, taken, "optional"))
        elif place == 1:
            size, end = model.new_int_var(1, hours, "size"), model.new_int_var(0, 20, "end")
            tasks.append(model.new_interval_var(start, size, end, "flexible"))
            model.add(size >= hours - 1)
        else:
            tasks.append(model.new_fixed_size_interval_var(start, hours, f"t{place}"))
        starts.append(start)
        ends.append(end if place == 1 else start + hours)
    kind = int(rng.integers(3))
    if kind == 0:
        model.add_no_overlap(tasks)
    elif kind == 1:
        model.add_cumulative(tasks, [int(rng.integers(1, 4)) for _ in tasks], 4)
    else:
        model.add_all_different([start + int(rng.integers(0, 2)) for start in starts])
    last = model.new_int_var(0, 30, "last")
    model.add_max_equality(last, ends)
    weights = [int(rng.integers(-1, 4)) for _ in starts]
    total = sum(w * s for w, s in zip(weights, starts, strict=True)) - 7 * taken
    # Limits of the maximum bind from below and from above.
    total += int(rng.choice([3, -2])) * last
    if rng.integers(2):
        model.minimize(total)
    else:
        model.maximize(1.5 - total)
    return model


def capture(model) -> tuple[IndexedModel, list]:
    cases: list = []
    snapshot = from_cpsat._snapshot(cp_model, model, "ortools", Recorder(None, "\0", 60.0), cases)
    return assemble(read_model(snapshot.to_text().encode())).model, cases


@pytest.mark.parametrize("seed", range(30))
def test_rows_have_the_optimum_of_cpsat_and_hold_at_its_point(seed: int) -> None:
    model = random_schedule(np.random.default_rng(seed))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    milp, cases = capture(model)
    solution = solve(milp, duals=False)
    if status == cp_model.INFEASIBLE:
        assert solution.status is SolveStatus.INFEASIBLE
        return
    assert status == cp_model.OPTIMAL
    assert solution.objective == pytest.approx(solver.objective_value)
    point = list(map(float, solver.response_proto.solution))
    point += [float(case(point)) for case in cases]
    arrays = milp.to_staged_arrays()
    assert arrays.largest_violation(np.array(point)) <= 1e-9
    assert arrays.objective_at(np.array(point)) == pytest.approx(solver.objective_value)


def test_an_objective_has_its_sense_constant_and_scale() -> None:
    model = cp_model.CpModel()
    x, b = model.new_int_var(0, 5, "x"), model.new_bool_var("b")
    y = model.new_int_var(0, 5, "y")
    expected = {"b": -3, "x": 2, "y": 0}
    for factor in (1, 0.5):
        for add, maximize in ((model.maximize, True), (model.minimize, False)):
            add(factor * (3 * b.negated() + 2 * x - 1 + 0 * y))
            made = from_cpsat.read_constraints(model.proto, "ortools").snapshot
            assert dict(zip(made.columns, made.cost, strict=True)) == {n: factor * c for n, c in expected.items()}
            assert (made.maximize, made.constant) == (maximize, 2 * factor)
    # In a file a scale of 0 means none.
    model.minimize(2 * x + 1)
    model.proto.objective.scaling_factor = 0
    made = from_cpsat.read_constraints(model.proto, "ortools").snapshot
    assert (made.cost, made.constant, made.maximize) == ([2, 0, 0], 1, False)
    model.proto.objective.scaling_factor = 0.5
    made = from_cpsat.read_constraints(model.proto, "ortools").snapshot
    assert (made.cost, made.constant, made.maximize) == ([1, 0, 0], 0.5, False)


def test_rows_know_the_constraints_that_they_come_from() -> None:
    model = cp_model.CpModel()
    x, y = model.new_int_var(0, 5, "x"), model.new_int_var(0, 5, "y")
    a, b = model.new_bool_var("a"), model.new_bool_var("b")
    model.add(x + y <= 7)
    model.add_bool_and(a, b)
    model.add_all_different(x, y)
    model.add(x >= 1)
    read = from_cpsat.read_constraints(model.proto, "ortools")
    assert read.origins == [0, 1, 1, 2, 2, 3]
    assert len(read.snapshot.rows) == 6


@pytest.mark.parametrize(("kind", "pairs"), [("different", 3), ("no overlap", 3), ("cumulative", 15)])
def test_constraints_on_too_many_pairs_are_missing(kind: str, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model = cp_model.CpModel()
    starts = [model.new_int_var(0, 9, f"s{at}") for at in range(3)]
    tasks = [model.new_fixed_size_interval_var(start, 2, "t") for start in starts]
    if kind == "different":
        model.add_all_different(starts)
    elif kind == "no overlap":
        model.add_no_overlap(tasks)
    else:
        model.add_cumulative(tasks, [1, 1, 1], 2)
    for limit, missing in ((pairs, 0), (pairs - 1, 1)):
        monkeypatch.setattr(cpsat_rows, "MAX_PAIRS", limit)
        made = from_cpsat.read_constraints(model.proto, "ortools").snapshot
        assert (len(made.missing), bool(made.rows)) == (missing, not missing)


def test_a_maximum_equals_at_least_one_of_its_expressions() -> None:
    model = cp_model.CpModel()
    parts = [model.new_int_var(0, 9, f"x{at}") for at in range(3)]
    model.add_max_equality(model.new_int_var(0, 9, "most"), parts)
    made = from_cpsat.read_constraints(model.proto, "ortools").snapshot
    cases = [at for at, name in enumerate(made.columns) if name.startswith("case")]
    begin = made.starts[-2]
    assert (made.indices[begin:], made.values[begin:], made.row_low[-1]) == (cases, [1.0] * 3, 1.0)


@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize(("hours", "last"), [((1, 1, 1), 3), ((2, 1, 2), 5), ((0, 2, 0), 2)])
def test_tasks_follow_each_other_without_a_gap(is_shared: bool, hours: tuple[int, ...], last: int) -> None:
    model = cp_model.CpModel()
    end = model.new_int_var(0, 9, "end")
    tasks = []
    for at, length in enumerate(hours):
        start = model.new_int_var(0, 9, f"s{at}")
        tasks.append(model.new_fixed_size_interval_var(start, length, f"t{at}"))
        model.add(end >= start + length)
    if is_shared:
        model.add_cumulative(tasks, [2] * len(hours), 3)
    else:
        model.add_no_overlap(tasks)
    model.minimize(end)
    assert solve(capture(model)[0], duals=False).objective == last


@pytest.mark.parametrize("is_present", [False, True])
@pytest.mark.parametrize("is_negated", [False, True])
@pytest.mark.parametrize("capacity", [3, 4])
def test_a_task_that_is_left_out_needs_nothing(is_present: bool, is_negated: bool, capacity: int) -> None:
    model = cp_model.CpModel()
    literal = model.new_bool_var("literal")
    present = literal.negated() if is_negated else literal
    model.add(present == int(is_present))
    start, end = model.new_int_var(0, 9, "start"), model.new_int_var(0, 9, "end")
    first = model.new_optional_fixed_size_interval_var(0, 3, present, "first")
    model.add_cumulative([first, model.new_fixed_size_interval_var(start, 2, "second")], [2, 2], capacity)
    model.add(end == start + 2)
    model.minimize(end)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.solve(model)
    milp, cases = capture(model)
    assert solve(milp, duals=False).objective == solver.objective_value == (5 if is_present and capacity < 4 else 2)
    point = list(map(float, solver.response_proto.solution))
    point += [float(case(point)) for case in cases]
    assert milp.to_staged_arrays().largest_violation(np.array(point)) <= 1e-9


@pytest.mark.parametrize(
    ("low", "high", "count"),
    [(None, 3, 1), (None, 4, 0), (None, 5, 0), (2, None, 1), (1, None, 0), (0, None, 0), (2, 3, 2)],
)
def test_a_row_under_a_condition_is_written_where_it_excludes_a_value(
    low: int | None, high: int | None, count: int
) -> None:
    model = cp_model.CpModel()
    x, b = model.new_int_var(1, 4, "x"), model.new_bool_var("b")
    domain = cp_model.Domain(cp_model.INT_MIN if low is None else low, cp_model.INT_MAX if high is None else high)
    model.add_linear_expression_in_domain(x, domain).only_enforce_if(b)
    made = from_cpsat.read_constraints(model.proto, "ortools").snapshot
    assert len(made.rows) == count
    for value, holds in ((value, holds) for value in range(1, 5) for holds in (0, 1)):
        point = np.array([value, holds])
        sums = [
            sum(v * point[column] for column, v in zip(made.indices[begin:end], made.values[begin:end], strict=True))
            for begin, end in zip(made.starts, made.starts[1:], strict=False)
        ]
        is_met = all(a <= s <= z for a, s, z in zip(made.row_low, sums, made.row_high, strict=True))
        assert is_met == (not holds or ((low or 1) <= value <= (high or 4)))


def test_intervals_make_a_schedule_and_their_conditions_are_kept() -> None:
    model = cp_model.CpModel()
    present, absent = model.new_bool_var("present"), model.new_bool_var("absent")
    start = model.new_int_var(-(10**18), 10**18, "start")
    model.add(start >= 1)
    snapshot = from_cpsat.read_constraints(model.proto, "ortools").snapshot
    assert not snapshot.is_schedule
    assert (snapshot.low[2], snapshot.high[2]) == (-np.inf, np.inf)
    assert (snapshot.row_low[0], snapshot.row_high[0]) == (1.0, np.inf)
    other = model.new_int_var(0, 9, "other")
    model.add_no_overlap(
        [
            model.new_optional_interval_var(other, 2, other + 2, present, "one"),
            model.new_optional_interval_var(other, 3, other + 3, absent.negated(), "two"),
        ]
    )
    snapshot = from_cpsat.read_constraints(model.proto, "ortools").snapshot
    assert snapshot.is_schedule
    assert [(part["name"], part["conditions"]) for part in snapshot.intervals] == [("one", {0: 1.0}), ("two", {1: 0.0})]
    assert [(part["lane"], part["is_exclusive"]) for part in snapshot.intervals] == [("machine 1", True)] * 2
    model = cp_model.CpModel()
    spans = [model.new_fixed_size_interval_var(model.new_int_var(0, 9, f"s{at}"), 2, f"t{at}") for at in range(5)]
    model.add_cumulative(spans[:2], [1, 1], 1)
    model.add_no_overlap(spans[1:3])
    model.add_cumulative(spans[3:4], [1], 1).with_name("crew")
    model.add_no_overlap(spans[2:4]).only_enforce_if(model.new_bool_var("used"))
    intervals = from_cpsat.read_constraints(model.proto, "ortools").snapshot.intervals
    lanes = [(part["lane"], part["is_exclusive"]) for part in intervals]
    assert lanes == [("resource 1", False), ("resource 1", False), ("machine 1", True), ("crew", False), ("", False)]
    assert [(part["start"]["constant"], part["end"]["constant"]) for part in intervals] == [(0, 2)] * 5
