"""Schedules, maxima and tariffs in checkers, against published optima and enumeration."""

import itertools

import pytest

from oragent.formulate.checks import Checked, CheckStatus, judge
from oragent.formulate.options import choose_options
from oragent.formulate.problem import DEFAULT
from oragent.formulate.running import ExecutionResult, FormulationRunner
from oragent.modelling.data.solution import SolveStatus
from tests.formulate.test_complete_plans import OPERATIONS, ROOMS, THEATRE

# Fisher and Thompson 1963, 6 jobs of 6 steps: machine and duration of each. The optimum is 55.
FT06 = """
2 1 0 3 1 6 3 7 5 3 4 6
1 8 2 5 4 10 5 10 0 10 3 4
2 5 3 4 5 8 0 9 1 1 4 7
1 5 0 5 2 5 3 3 4 8 5 9
2 9 1 3 4 5 5 4 0 3 3 1
1 3 3 3 5 9 0 10 4 4 2 1
"""
# Lawrence 1984, 10 jobs of 5 steps. The optimum is 666.
LA01 = """
1 21 0 53 4 95 3 55 2 34
0 21 3 52 4 16 2 26 1 71
3 39 4 98 1 42 2 31 0 12
1 77 0 55 4 79 2 66 3 77
0 83 3 34 2 64 1 19 4 37
1 54 2 43 4 79 0 92 3 62
3 69 4 77 1 87 2 87 0 93
2 38 0 60 1 41 3 24 4 83
3 17 1 49 4 25 0 44 2 98
4 77 3 79 2 43 1 75 0 96
"""
PROGRAM = """
from ortools.sat.python import cp_model
def solve(data):
    m = cp_model.CpModel()
    jobs = data["jobs"]
    horizon = sum(size for steps in jobs.values() for _, size in steps)
    start, on, finish = {}, {}, m.new_int_var(0, horizon, "finish")
    for job, steps in jobs.items():
        before = 0
        for machine, size in steps:
            begin = m.new_int_var(0, horizon, f"start_{job}_{machine}")
            start.setdefault(job, {})[machine] = begin
            on.setdefault(machine, []).append(m.new_fixed_size_interval_var(begin, size, ""))
            m.add(begin >= before)
            before = begin + size
        m.add(finish >= before)
    for tasks in on.values():
        m.add_no_overlap(tasks)
    m.minimize(finish)
    solver = cp_model.CpSolver()
    solver.solve(m)
    return {"optimized_vars": {"start": start, "finish": finish}}
"""
ROWS = """
def checks(values, data):
    start, on, ends = values["start"], {}, []
    for job, steps in data["jobs"].items():
        before = 0
        for machine, size in steps:
            yield (f"order of {job}", start[job][machine], ">=", before, "")
            before = start[job][machine] + size
            on.setdefault(machine, []).append((start[job][machine], size))
        ends.append(before)
    for machine, tasks in on.items():
"""
PAIRS = """
        for (first, size), (second, other) in itertools_combinations(tasks):
            yield (f"machine {machine}", [(first + size, "<=", second), (second + other, "<=", first)], "any", None, "")
    yield ("finish", max(ends), "minimize", None, "")
def itertools_combinations(tasks):
    return [(a, b) for at, a in enumerate(tasks) for b in tasks[at + 1:]]
"""
TASKS = """
        yield (f"machine {machine}", tasks, "no overlap", None, "")
    yield ("finish", max(ends), "minimize", None, "")
"""


def jobs(text: str) -> dict[str, list[tuple[str, int]]]:
    """Return machine and duration of each step by job."""
    return {
        f"job {number}": [
            (f"machine {machine}", int(size)) for machine, size in zip(*[iter(line.split())] * 2, strict=True)
        ]
        for number, line in enumerate(text.strip().splitlines())
    }


def check(runner: FormulationRunner, program: str, checker: str, data: dict) -> tuple[ExecutionResult, Checked]:
    ran = runner.run_program(program, DEFAULT, data)
    assert ran.milp is not None, ran.message
    return ran, judge(ran, runner.run_checker(checker, ran, data), choose_options("default"))


@pytest.mark.parametrize(("text", "optimum"), [(FT06, 55), (LA01, 666)])
@pytest.mark.parametrize("way", [PAIRS, TASKS])
def test_job_shops_are_compared_up_to_the_proof(runner: FormulationRunner, text: str, optimum: int, way: str) -> None:
    pytest.importorskip("ortools")
    data = {"jobs": jobs(text)}
    ran, checked = check(runner, PROGRAM, ROWS + way, data)
    assert (ran.status, ran.objective) == (SolveStatus.OPTIMAL, optimum)
    assert (checked.state, checked.confirmed) == (CheckStatus.PASSED, True), checked.note


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # A machine without a rule, steps in any order, a step that takes longer, and a rule that the text does not have.
        ("for tasks in on.values():", "for tasks in list(on.values())[1:]:"),
        ("m.add(begin >= before)", "pass"),
        ("before = begin + size\n", "before = begin + size + 1\n"),
        ("m.minimize(finish)", "m.add(start['job 1']['machine 1'] >= 20); m.minimize(finish)"),
    ],
)
@pytest.mark.parametrize("way", [PAIRS, TASKS])
def test_wrong_job_shops_are_contradicted(runner: FormulationRunner, old: str, new: str, way: str) -> None:
    pytest.importorskip("ortools")
    assert old in PROGRAM
    _, checked = check(runner, PROGRAM.replace(old, new), ROWS + way, {"jobs": jobs(FT06)})
    assert checked.state is CheckStatus.FAILED


THEATRE_CHECKER = """
def checks(values, data):
    start, room, finish = values["start"], values["room"], values["finish"]
    names = list(data["minutes"])
    for at, a in enumerate(names):
        yield ("whole", room[a], "integer", None, "")
        yield ("rooms", room[a], "<=", len(data["rooms"]) - 1, "")
        yield ("finish", finish, ">=", start[a] + data["minutes"][a], "")
        for b in names[at + 1:]:
            cases = [
                (start[a] + data["minutes"][a], "<=", start[b]),
                (start[b] + data["minutes"][b], "<=", start[a]),
                (room[a] - room[b], ">=", 1),
                (room[b] - room[a], ">=", 1),
            ]
            yield ("apart", cases, "any", None, "")
    yield ("finish", finish, "minimize", None, "")
"""


def test_eleven_operations_in_three_rooms_are_compared(runner: FormulationRunner) -> None:
    pytest.importorskip("ortools")
    ran, checked = check(runner, THEATRE, THEATRE_CHECKER, {"minutes": OPERATIONS, "rooms": list(ROOMS)})
    # The sum of 1,035 minutes in three rooms takes at least 345.
    assert ran.objective == 345
    assert (checked.state, checked.confirmed) == (CheckStatus.PASSED, True), checked.note


def test_tasks_that_never_take_place_need_no_machine(runner: FormulationRunner) -> None:
    """The second task has presence 0 in the data, so both can begin at once."""
    pytest.importorskip("ortools")
    program = """
from ortools.sat.python import cp_model
def solve(data):
    m = cp_model.CpModel()
    start = {k: m.new_int_var(0, 20, k) for k in "ab"}
    finish = m.new_int_var(0, 40, "finish")
    for k in "ab":
        m.add(finish >= start[k] + 5)
    m.minimize(finish)
    s = cp_model.CpSolver()
    s.solve(m)
    return {"optimized_vars": {"start": start, "finish": finish}}
"""
    checker = """
def checks(values, data):
    start, finish = values["start"], values["finish"]
    for k in "ab":
        yield ("finish", finish, ">=", start[k] + 5, "")
    yield ("machine", [(start["a"], 5), (start["b"], 5, data["present"])], "no overlap", None, "")
    yield ("finish", finish, "minimize", None, "")
"""
    ran, checked = check(runner, program, checker, {"present": 0})
    assert ran.objective == 5
    assert (checked.state, checked.confirmed) == (CheckStatus.PASSED, True), checked.note
    _, both = check(runner, program, checker, {"present": 1})
    assert both.state is CheckStatus.FAILED


CARRIER = """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMinimize)
    x = pulp.LpVariable.dicts("x", "ab", 0, 12, cat="Integer")
    cost = pulp.LpVariable.dicts("cost", "ab", 0)
    worst = pulp.LpVariable("worst", 0)
    on = {k: pulp.LpVariable.dicts("on" + k, range(3), cat="Binary") for k in "ab"}
    part = {k: pulp.LpVariable.dicts("part" + k, range(3), 0) for k in "ab"}
    ends = [0, 4, 8, 12]
    for k in "ab":
        points = data["tariff"][k]
        m += pulp.lpSum(on[k].values()) == 1
        m += x[k] == pulp.lpSum(part[k].values())
        for i in range(3):
            (x0, y0), (x1, y1) = points[i], points[i + 1]
            m += part[k][i] >= x0 * on[k][i]
            m += part[k][i] <= x1 * on[k][i]
        m += cost[k] == pulp.lpSum(
            points[i][1] * on[k][i]
            + (points[i + 1][1] - points[i][1]) / (points[i + 1][0] - points[i][0]) * (part[k][i] - points[i][0] * on[k][i])
            for i in range(3)
        )
        m += worst >= cost[k]
    m += x["a"] + x["b"] >= data["need"]
    m += worst + 0.01 * pulp.lpSum(cost.values())
    m.solve()
    return {"optimized_vars": {"x": x}}
"""
CARRIER_CHECKER = """
def checks(values, data):
    x = values["x"]
    cost = {k: piecewise(x[k], data["tariff"][k]) for k in "ab"}
    for k in "ab":
        yield ("whole", x[k], "integer", None, "")
        yield ("most", x[k], "<=", 12, "")
    yield ("need", x["a"] + x["b"], ">=", data["need"], "")
    yield ("worst", max(cost.values()) + 0.01 * sum(cost.values()), "minimize", None, "")
"""
TARIFFS = {
    # A discount for large amounts, which is not convex, and a surcharge.
    "a": [(0, 0), (4, 20), (8, 28), (12, 32)],
    "b": [(0, 0), (4, 8), (8, 24), (12, 60)],
}


def tariff(points: list[tuple[int, int]], value: int) -> float:
    for (left, low), (right, high) in itertools.pairwise(points):
        if left <= value <= right:
            return low + (high - low) / (right - left) * (value - left)
    raise AssertionError


@pytest.mark.parametrize("need", [5, 13, 18])
def test_maxima_and_tariffs_by_pieces_are_exact(runner: FormulationRunner, need: int) -> None:
    pytest.importorskip("ortools")
    data = {"tariff": TARIFFS, "need": need}
    ran, checked = check(runner, CARRIER, CARRIER_CHECKER, data)
    costs = [(tariff(TARIFFS["a"], a), tariff(TARIFFS["b"], b)) for a in range(13) for b in range(13) if a + b >= need]
    assert ran.objective == pytest.approx(min(max(pair) + 0.01 * sum(pair) for pair in costs))
    assert (checked.state, checked.confirmed) == (CheckStatus.PASSED, True), checked.note
    # The plan has to change with the tariff that the checker reads.
    for old, new in (
        ("max(cost.values())", "cost['a']"),
        ('data["tariff"][k]', 'data["tariff"]["b"]'),
        ("0.01", "0.9"),
    ):
        assert old in CARRIER_CHECKER
        _, other = check(runner, CARRIER, CARRIER_CHECKER.replace(old, new), data)
        assert other.state is CheckStatus.FAILED, old


def test_smallest_values_and_distances_have_rows(runner: FormulationRunner) -> None:
    """Maximise the smaller of two amounts, and stay near a target."""
    pytest.importorskip("ortools")
    program = """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMaximize)
    x = {k: pulp.LpVariable(k, 0, 9, cat="Integer") for k in "ab"}
    low, off = pulp.LpVariable("low"), pulp.LpVariable("off", 0)
    m += low <= x["a"] + 2
    m += low <= 2 * x["b"]
    m += off >= x["a"] - data["goal"]
    m += off >= data["goal"] - x["a"]
    m += 3 * x["a"] + 2 * x["b"] <= 26
    m += 4 * low - off
    m.solve()
    return {"optimized_vars": x}
"""
    checker = """
def checks(values, data):
    a, b = values["a"], values["b"]
    for value in (a, b):
        yield ("whole", value, "integer", None, "")
        yield ("most", value, "<=", 9, "")
    yield ("space", 3 * a + 2 * b, "<=", 26, "")
    yield ("aim", 4 * min(a + 2, 2 * b) - abs(a - data["goal"]), "maximize", None, "")
"""
    for goal in (1, 8):
        ran, checked = check(runner, program, checker, {"goal": goal})
        plans = ((a, b) for a in range(10) for b in range(10) if 3 * a + 2 * b <= 26)
        assert ran.objective == max(4 * min(a + 2, 2 * b) - abs(a - goal) for a, b in plans)
        assert (checked.state, checked.confirmed) == (CheckStatus.PASSED, True), checked.note
        _, other = check(runner, program, checker.replace("min(a + 2, ", "min(a + 1, "), {"goal": goal})
        assert other.state is CheckStatus.FAILED
