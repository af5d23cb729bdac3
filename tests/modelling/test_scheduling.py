"""Schedules against published optima and against trying every start."""

import itertools
import math
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oragent._base.errors import ModellingError
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.scheduling import schedule_solving
from oragent.modelling.scheduling.schedule_model import (
    MAX_TIME,
    Cumulative,
    Interval,
    NoOverlap,
    Precedence,
    ScheduleGoal,
    SchedulingModel,
    schedule_breaches,
    schedule_from_json,
    schedule_objective,
    schedule_to_json,
)
from oragent.modelling.scheduling.schedule_solving import SchedulingSolution, solve_schedule
from oragent.modelling.solving.back_ends import SolverOptions
from oragent.modelling.solving.back_ends.protocol import Limit

pytest.importorskip("ortools")

# Fisher & Thompson 1963: machine and duration of each operation of a job
FT06 = """2 1 0 3 1 6 3 7 5 3 4 6
1 8 2 5 4 10 5 10 0 10 3 4
2 5 3 4 5 8 0 9 1 1 4 7
1 5 0 5 2 5 3 3 4 8 5 9
2 9 1 3 4 5 5 4 0 3 3 1
1 3 3 3 5 9 0 10 4 4 2 1"""
FT10 = """0 29 1 78 2 9 3 36 4 49 5 11 6 62 7 56 8 44 9 21
0 43 2 90 4 75 9 11 3 69 1 28 6 46 5 46 7 72 8 30
1 91 0 85 3 39 2 74 8 90 5 10 7 12 6 89 9 45 4 33
1 81 2 95 0 71 4 99 6 9 8 52 7 85 3 98 9 22 5 43
2 14 0 6 1 22 5 61 3 26 4 69 8 21 7 49 9 72 6 53
2 84 1 2 5 52 3 95 8 48 9 72 0 47 6 65 4 6 7 25
1 46 0 37 3 61 2 13 6 32 5 21 9 32 8 89 7 30 4 55
2 31 0 86 1 46 5 74 4 32 6 88 8 19 9 48 7 36 3 79
0 76 1 69 3 76 5 51 2 85 9 11 6 40 7 89 4 26 8 74
1 85 0 13 2 61 6 7 8 64 9 76 5 47 3 52 4 90 7 45"""


def job_shop(text: str) -> SchedulingModel:
    intervals, precedences = [], []
    machines: dict[int, list[str]] = {}
    for job, line in enumerate(text.splitlines()):
        words = list(map(int, line.split()))
        for step, (machine, duration) in enumerate(zip(words[::2], words[1::2], strict=True)):
            name = f"job {job} step {step}"
            intervals.append(Interval(name, duration))
            machines.setdefault(machine, []).append(name)
            if step:
                precedences.append(Precedence(f"job {job} step {step - 1}", name))
    every = tuple(NoOverlap(f"machine {machine}", tuple(names)) for machine, names in sorted(machines.items()))
    return SchedulingModel(tuple(intervals), every, (), tuple(precedences))


def is_job_shop_schedule(text: str, starts: dict[str, int]) -> bool:
    """A check that reads the text itself."""
    used: dict[int, list[tuple[int, int]]] = {}
    for job, line in enumerate(text.splitlines()):
        words, ready = list(map(int, line.split())), 0
        for step in range(len(words) // 2):
            start, duration = starts[f"job {job} step {step}"], words[2 * step + 1]
            if start < ready:
                return False
            ready = start + duration
            used.setdefault(words[2 * step], []).append((start, ready))
    return all(a[1] <= b[0] for spans in used.values() for a, b in itertools.pairwise(sorted(spans)))


def test_ft06_takes_55() -> None:
    solution = solve_schedule(job_shop(FT06))
    assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, 55)
    assert is_job_shop_schedule(FT06, solution.starts)


@pytest.mark.slow
def test_ft10_takes_930() -> None:
    solution = solve_schedule(job_shop(FT10), SolverOptions(threads=2))
    assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, 930)
    assert is_job_shop_schedule(FT10, solution.starts)


@pytest.mark.slow
def test_ft06_takes_55_as_a_mixed_integer_model() -> None:
    solution = solve_schedule(job_shop(FT06), solver="highs")
    assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, 55)


@st.composite
def schedules(draw: st.DrawFn) -> SchedulingModel:
    intervals = []
    for index in range(3):
        release = draw(st.integers(0, 2))
        duration = draw(st.integers(0, 3))
        deadline = draw(st.sampled_from([None, None, release + duration + 2]))
        weight = draw(st.sampled_from([0.0, 1.0, 2.5]))
        intervals.append(
            Interval(f"t{index}", duration, release, deadline, draw(st.sampled_from([None, *range(6)])), weight)
        )
    names = [interval.name for interval in intervals]
    machines = (NoOverlap("machine", tuple(draw(st.permutations(names))[: draw(st.integers(0, 3))])),)
    demands = {name: draw(st.integers(0, 2)) for name in names}
    resources = (Cumulative("crew", draw(st.integers(1, 3)), demands),) if draw(st.booleans()) else ()
    precedences = (Precedence("t0", "t1", draw(st.integers(0, 1))),) if draw(st.booleans()) else ()
    return SchedulingModel(tuple(intervals), machines, resources, precedences, draw(st.sampled_from(ScheduleGoal)))


# A release of 2, three durations of 3 and a delay of 1 end at 12 at the latest.
HORIZON = 13


def best_objective(schedule: SchedulingModel) -> float | None:
    """The least objective over all starts, each rule written out again."""
    durations = [interval.duration for interval in schedule.intervals]
    index = {interval.name: place for place, interval in enumerate(schedule.intervals)}
    best = None
    for starts in itertools.product(*(range(i.release, HORIZON - i.duration) for i in schedule.intervals)):
        ends = [start + duration for start, duration in zip(starts, durations, strict=True)]
        spans = list(zip(starts, ends, strict=True))
        if any(i.deadline is not None and end > i.deadline for i, end in zip(schedule.intervals, ends, strict=True)):
            continue
        if any(starts[index[p.after]] < ends[index[p.before]] + p.delay for p in schedule.precedences):
            continue
        works = [spans[index[name]] for machine in schedule.machines for name in machine.intervals]
        works = [(start, end) for start, end in works if end > start]
        if any(a[0] < b[1] and b[0] < a[1] for a, b in itertools.combinations(works, 2)):
            continue
        loads = [
            sum(d for name, d in r.demands.items() if spans[index[name]][0] <= t < spans[index[name]][1]) - r.capacity
            for r in schedule.resources
            for t in range(HORIZON)
        ]
        if max(loads, default=0) > 0:
            continue
        worth = schedule_objective(schedule, dict(zip(index, starts, strict=True)))
        best = worth if best is None else min(best, worth)
    return best


@pytest.mark.parametrize("solver", ["cp-sat", "highs"])
@settings(max_examples=12, deadline=None)
@given(schedule=schedules())
def test_schedules_agree_with_trying_every_start(solver: str, schedule: SchedulingModel) -> None:
    expected, solution = best_objective(schedule), solve_schedule(schedule, solver=solver)
    if expected is None:
        assert solution.status is SolveStatus.INFEASIBLE
    else:
        assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, pytest.approx(expected))
        assert solution.bound == pytest.approx(expected)
        assert not schedule_breaches(schedule, solution.starts)


@pytest.mark.parametrize("solver", ["cp-sat", "highs"])
@pytest.mark.parametrize("goal", ScheduleGoal)
def test_a_schedule_may_take_no_time(solver: str, goal: ScheduleGoal) -> None:
    schedule = SchedulingModel((Interval("a", 0, due=0), Interval("b", 0)), (NoOverlap("m", ("a", "b")),), goal=goal)
    solution = solve_schedule(schedule, solver=solver)
    assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, 0)


@pytest.mark.parametrize(
    ("due", "weight", "bound", "is_proven"),
    [
        (0, 1.0, 10.0, True), (0, 1.0, 9.0, False), (0, 1.0, None, False), (0, 0.05, 0.5 - 1.5e-6, False),
        (0, 0.05, 0.5 - 0.9e-6, True), (0, 1e5, 1e6 - 0.9, True), (0, 1e5, 1e6 - 1.1, False), (10, 1.0, 0.0, True),
    ],
)  # fmt: skip
def test_a_schedule_is_optimal_if_its_bound_says_so(
    due: int, weight: float, bound: float | None, is_proven: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = SchedulingModel((Interval("a", 10, due=due, weight=weight),), goal=ScheduleGoal.WEIGHTED_TARDINESS)
    found = SchedulingSolution(SolveStatus.FEASIBLE, {"a": 0}, bound=bound, solver="test")
    monkeypatch.setattr(schedule_solving, "_solve_with_cp_sat", lambda *given: found)
    solution = solve_schedule(schedule)
    assert solution.objective == weight * (10 - due)
    assert solution.status is (SolveStatus.OPTIMAL if is_proven else SolveStatus.FEASIBLE)
    assert (solution.note == "") == is_proven


def test_a_schedule_that_breaks_a_rule_is_not_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = SchedulingModel((Interval("a", 10, release=1),))
    found = SchedulingSolution(SolveStatus.FEASIBLE, {"a": 0}, bound=10.0, solver="test")
    monkeypatch.setattr(schedule_solving, "_solve_with_cp_sat", lambda *given: found)
    solution = solve_schedule(schedule)
    assert (solution.status, solution.starts, solution.bound, solution.objective) == (
        SolveStatus.UNKNOWN,
        {},
        None,
        None,
    )
    assert "'a'" in solution.note


@pytest.mark.parametrize("goal", ScheduleGoal)
def test_what_cp_sat_has_found_at_its_limit_is_kept(goal: ScheduleGoal, monkeypatch: pytest.MonkeyPatch) -> None:
    cp_model = pytest.importorskip("ortools.sat.python.cp_model")
    solvers: list[SimpleNamespace] = []
    statuses = [cp_model.FEASIBLE, cp_model.OPTIMAL, cp_model.UNKNOWN, cp_model.OPTIMAL]

    def make() -> SimpleNamespace:
        solver = SimpleNamespace(
            parameters=SimpleNamespace(), solve=lambda model: statuses[len(solvers) - 1], best_objective_bound=3000.0,
            response_proto=SimpleNamespace(solution=[2, 5, 0, 0, 0, 0]),
        )  # fmt: skip
        solvers.append(solver)
        return solver

    monkeypatch.setattr(cp_model, "CpSolver", make)
    schedule = SchedulingModel((Interval("a", 3, due=1), Interval("b", 4, due=2)), goal=goal)
    bound = 3000.0 if goal is ScheduleGoal.MAKESPAN else 3.0
    options = SolverOptions(seconds=7.5, threads=3, gap=0.25, seed=5)
    for limit, starts in (("time", {"a": 2, "b": 5}), ("", {"a": 2, "b": 5}), ("time", {})):
        solution = solve_schedule(schedule, options)
        assert (solution.limit, solution.starts, solution.bound) == (limit, starts, bound)
        assert solution.solver.startswith("CP-SAT")
        assert (solution.status is SolveStatus.UNKNOWN) == (not starts)
        assert solution.note or starts
    assert vars(solvers[0].parameters) == {
        "num_workers": 3, "random_seed": 5, "relative_gap_limit": 0.25, "max_time_in_seconds": 7.5
    }  # fmt: skip
    solve_schedule(schedule)
    assert "max_time_in_seconds" not in vars(solvers[-1].parameters)


@pytest.mark.parametrize(
    ("status", "objective", "bound", "expected"),
    [
        (SolveStatus.OPTIMAL, 5.0, None, 5.0), (SolveStatus.FEASIBLE, 7.0, 4.5, 4.5), (SolveStatus.FEASIBLE, 7.0, -math.inf, None),
        (SolveStatus.FEASIBLE, 7.0, None, None),
    ],
)  # fmt: skip
def test_a_back_end_bounds_a_schedule(
    status: SolveStatus, objective: float, bound: float | None, expected: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    solved = SimpleNamespace(
        status=status,
        values=[0.2, 2.0],
        objective=objective,
        bound=bound,
        limit=Limit.TIME,
        solver="test 1",
        note="slow",
    )
    monkeypatch.setattr(schedule_solving, "solve_arrays", lambda *given: solved)
    schedule = SchedulingModel((Interval("a", 2), Interval("b", 3)))
    solution = solve_schedule(schedule, solver="highs")
    assert (solution.starts, solution.objective, solution.bound) == ({"a": 0, "b": 2}, 5.0, expected)
    assert (solution.limit, solution.solver) == ("time", "test 1")


def test_figures_of_schedules_have_their_limits() -> None:
    for fine in (
        {"duration": MAX_TIME},
        {"duration": 0, "deadline": 0, "due": MAX_TIME},
        {"duration": 1, "weight": 999999.999},
    ):
        Interval("a", **fine)
    for wrong in (
        {"duration": MAX_TIME + 1}, {"duration": 1, "release": -1}, {"duration": 1, "deadline": -1}, {"duration": 1, "due": MAX_TIME + 1},
        {"duration": 1, "weight": 1e6}, {"duration": 1, "weight": -1.0}, {"duration": 1, "weight": 0.0005},
    ):  # fmt: skip
        with pytest.raises(ModellingError):
            Interval("a", **wrong)
    Cumulative("r", 0, {"a": 0})
    for capacity, demands in ((-1, {"a": 0}), (1, {"a": -1, "b": 1})):
        with pytest.raises(ModellingError):
            Cumulative("r", capacity, demands)


def test_the_check_sees_overlaps_overloads_and_early_starts() -> None:
    intervals = (Interval("a", 2), Interval("b", 2, release=1, deadline=4))
    schedule = SchedulingModel(intervals, (NoOverlap("m", ("a", "b")),), (Cumulative("r", 1, {"a": 1, "b": 1}),))
    assert len(schedule_breaches(schedule, {"a": 0, "b": 1})) == 2
    assert schedule_breaches(schedule, {"a": 0, "b": 2}) == ()
    assert len(schedule_breaches(schedule, {"a": 0, "b": 3})) == 1
    assert len(schedule_breaches(schedule, {"a": 2, "b": 0})) == 1


@given(schedules())
def test_json_reads_back_equal(schedule: SchedulingModel) -> None:
    assert schedule_from_json(schedule_to_json(schedule)) == schedule


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"intervals": []}', "no interval"),
        ('{"intervals": [{"name": "a", "duration": -1}]}', "'a'"),
        ('{"intervals": [{"name": "a", "duraton": 1}]}', "duraton"),
        ('{"intervals": [{"name": "a", "duration": 1}], "machines": [{"name": "m", "intervals": ["b"]}]}', "'b'"),
    ],
)
def test_wrong_schedules_are_refused_in_one_line(text: str, expected: str) -> None:
    with pytest.raises(ModellingError) as raised:
        schedule_from_json(text)
    assert expected in str(raised.value)
    assert "\n" not in str(raised.value)
