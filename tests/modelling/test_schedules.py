"""Files of schedules are read, solved, explained, exported and run again; bounds and conflicts against brute force."""

import contextlib
import csv
import io
import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from rich.console import Console
from typer.testing import CliRunner

from oragent._base.errors import ModellingError
from oragent.cli.app import app
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.model_files import is_schedule
from oragent.modelling.opening import open_model
from oragent.modelling.scheduling import (
    ScheduleRequest,
    read_schedule,
    solve_schedule_file,
    write_schedule,
)
from oragent.modelling.scheduling import files as files_module
from oragent.modelling.scheduling.command import print_schedule
from oragent.modelling.scheduling.explanation import critical_path, explain_schedule, lower_bounds
from oragent.modelling.scheduling.files import job_shop_from_text, write_plan
from oragent.modelling.scheduling.schedule_model import (
    Interval,
    NoOverlap,
    ScheduleGoal,
    SchedulingModel,
    schedule_to_json,
)
from oragent.modelling.scheduling.schedule_solving import SchedulingSolution, schedule_rows, solve_schedule
from oragent.modelling.scheduling.source import schedule_source
from oragent.modelling.solving.array_solving import solve_arrays
from tests.modelling.test_scheduling import FT06, FT10, best_objective, is_job_shop_schedule, schedules

pytest.importorskip("ortools")

SMALL = "# three jobs on two machines\n+++ comment\ninstance small\n3 2\n0 3 1 2\n1 4 0 1\n0 2 1 3\n"
SMALL_JOBS = "0 3 1 2\n1 4 0 1\n0 2 1 3"


def shortest(text: str) -> int:
    """The least makespan over all orders of the machines, by longest paths."""
    jobs = [list(map(int, line.split())) for line in text.splitlines()]
    steps = [[(words[at], words[at + 1]) for at in range(0, len(words), 2)] for words in jobs]
    machines = sorted({machine for job in steps for machine, _ in job})
    on_machine = {
        m: [(j, s) for j, job in enumerate(steps) for s, (k, _) in enumerate(job) if k == m] for m in machines
    }
    best = 10**9
    for orders in itertools.product(*(itertools.permutations(on_machine[m]) for m in machines)):
        ends: dict[tuple[int, int], int] = {}
        pairs = [pair for order in orders for pair in itertools.pairwise(order)]
        for _ in range(2 * sum(map(len, steps))):
            before = dict(ends)
            for j, job in enumerate(steps):
                for s, (_, duration) in enumerate(job):
                    ready = [ends.get((j, s - 1), 0)] + [ends.get(a, 0) for a, b in pairs if b == (j, s)]
                    ends[j, s] = max(ready) + duration
            if ends == before:
                best = min(best, max(ends.values()))
                break
    return best


def test_a_job_shop_is_solved_explained_exported_and_run_again(tmp_path: Path) -> None:
    path = tmp_path / "small.jsp"
    path.write_text(SMALL, encoding="utf-8")
    best = shortest(SMALL_JOBS)
    out = io.StringIO()
    request = ScheduleRequest(path, explain=True, out=tmp_path / "plan.csv", solver="highs")
    solution = solve_schedule_file(request, Console(file=out, width=120))
    assert (solution.status, solution.objective) == (SolveStatus.OPTIMAL, best)
    assert "Critical path" in out.getvalue()
    rows = list(csv.DictReader((tmp_path / "plan.csv").read_text().splitlines()))
    starts = {row["interval"]: int(row["start"]) for row in rows}
    named = {f"job {j} step {s}": starts[f"op[J{j + 1}, {s + 1}]"] for j in range(3) for s in range(2)}
    assert is_job_shop_schedule(SMALL_JOBS, named)
    assert max(int(row["end"]) for row in rows) == best
    write_schedule(read_schedule(path), tmp_path / "again.json")
    assert is_schedule(tmp_path / "again.json")
    assert solve_schedule(read_schedule(tmp_path / "again.json"), solver="highs").objective == best


@pytest.mark.slow
def test_the_commands_take_a_job_shop(tmp_path: Path) -> None:
    path, runner = tmp_path / "small.jsp", CliRunner()
    path.write_text(SMALL, encoding="utf-8")
    best = shortest(SMALL_JOBS)
    solved = runner.invoke(app, ["solve", str(path), "--solver", "highs", "--out", str(tmp_path / "plan.json")])
    assert solved.exit_code == 0, solved.output
    assert json.loads((tmp_path / "plan.json").read_text())["objective"] == best
    for ending in ("json", "lp"):
        model = tmp_path / f"model.{ending}"
        assert runner.invoke(app, ["convert", str(path), "--out", str(model)]).exit_code == 0
        again = runner.invoke(app, ["solve", str(model), "--solver", "highs", "--out", str(tmp_path / "again.json")])
        assert again.exit_code == 0, again.output
        assert json.loads((tmp_path / "again.json").read_text())["objective"] == pytest.approx(best)
    families = {family.name: family.sets for family in open_model(path).variables}
    assert len(families["op"]) == 2


@pytest.mark.parametrize("goal", ScheduleGoal)
def test_the_source_for_cp_sat_has_the_same_optimum(goal: ScheduleGoal) -> None:
    intervals = tuple(Interval(f"t{i}", 2 + i, release=i, due=4, weight=1.5) for i in reversed(range(4)))
    machines = (NoOverlap("m", tuple(one.name for one in intervals)),)
    schedule = SchedulingModel(intervals, machines, goal=goal)
    source = schedule_source(schedule)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(source, "schedule.py", "exec"), {})
    status, objective = out.getvalue().splitlines()[0].split()
    assert (status, float(objective)) == ("OPTIMAL", solve_schedule(schedule, solver="highs").objective)
    assert [line.split()[0] for line in out.getvalue().splitlines()[1:]] == [interval.name for interval in intervals]


@pytest.mark.slow
@pytest.mark.parametrize(("text", "best"), [(FT06, 55), (FT10, 930)])
def test_published_job_shops_from_the_command_line(text: str, best: int, tmp_path: Path) -> None:
    size = len(text.splitlines())
    (tmp_path / "shop.jsp").write_text(f"{size} {size}\n{text}\n", encoding="utf-8")
    words = ["solve", str(tmp_path / "shop.jsp"), "--threads", "2", "--explain", "--out", str(tmp_path / "plan.json")]
    assert CliRunner().invoke(app, words).exit_code == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert (plan["status"], plan["objective"]) == ("optimal", best)
    names = itertools.product(range(size), range(size))
    starts = {f"job {j} step {s}": plan["starts"][f"op[J{j + 1}, {s + 1}]"] for j, s in names}
    assert is_job_shop_schedule(text, starts)


@settings(max_examples=25, deadline=None)
@given(schedule=schedules())
def test_bounds_hold_and_the_critical_path_has_no_gap(schedule: SchedulingModel) -> None:
    best = best_objective(schedule)
    if best is None or schedule.goal is not ScheduleGoal.MAKESPAN:
        return
    assert all(bound <= best for _, bound in lower_bounds(schedule))
    solution = solve_schedule(schedule, solver="highs")
    path = critical_path(schedule, solution.starts)
    ends = schedule.ends(solution.starts)
    assert ends[path[-1]] == best
    delays = {(pair.before, pair.after): pair.delay for pair in schedule.precedences}
    for first, second in itertools.pairwise(path):
        gap = delays.get((first, second), 0)
        assert solution.starts[second] - ends[first] in (0, gap)


def test_deadlines_in_conflict_are_a_smallest_set() -> None:
    limits = {"a": 4, "b": 5, "c": 30, "d": 6}
    intervals = tuple(Interval(name, 3, deadline=limit) for name, limit in limits.items())
    schedule = SchedulingModel(intervals, (NoOverlap("m", tuple(limits)),))
    solution = solve_schedule(schedule, solver="highs")
    assert solution.status is SolveStatus.INFEASIBLE
    line = explain_schedule(schedule, solution)[0]
    # a and b need 6 units of time before 5; d with either of them fits until 6.
    assert "'a' by 4" in line
    assert "'b' by 5" in line
    assert "'c'" not in line
    assert "'d'" not in line


def test_the_mixed_integer_model_is_that_of_the_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = job_shop_from_text(SMALL)
    rows = schedule_rows(replace(schedule, name="small"))
    assert solve_arrays(rows.to_arrays()).objective == pytest.approx(shortest(SMALL_JOBS))
    assert rows.name == "small"
    assert job_shop_from_text(SMALL) == schedule
    assert job_shop_from_text("1 1\n0 1000000000\n").intervals[0].duration == 10**9
    monkeypatch.setattr(files_module, "MAX_OPERATIONS", 6)
    assert job_shop_from_text(SMALL) == schedule
    monkeypatch.setattr(files_module, "MAX_OPERATIONS", 5)
    with pytest.raises(ModellingError):
        job_shop_from_text(SMALL)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no numbers here\n", "no line"),
        ("3\n", "line 1"),
        ("2 2\n0 1 1 2\n", "1 lines"),
        ("1 2\n0 1 1\n", "line 2"),
        ("1 2\n0 1 2 3\n", "machine 2"),
        ("1 2\n0 1 1 x\n", "'x'"),
        ("1 2\n0 1 1 -4\n", "'-4'"),
        ("100000 100000\n", "operations"),
        ("0 2\n", "operations"),
        ("2 0\n0 1\n0 1\n", "operations"),
        ("1 1\n0 10000000000\n", "line 2"),
        ("1 1\n0 1 0\n", "line 2"),
    ],
)
def test_wrong_texts_are_refused_in_one_line(text: str, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "shop.jsp"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ModellingError) as raised:
        read_schedule(path)
    assert expected in str(raised.value)
    assert "shop.jsp" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_schedule_has_no_inverse_and_no_sol_file(tmp_path: Path) -> None:
    path = tmp_path / "shop.json"
    path.write_text(schedule_to_json(job_shop_from_text(SMALL)), encoding="utf-8")
    for words in (["--inverse", str(path)], ["--out", str(tmp_path / "plan.sol")], ["--solver", "nothing"]):
        ended = CliRunner().invoke(app, ["solve", str(path), *words])
        assert isinstance(ended.exception, ModellingError), words


def test_long_notes_are_one_line_each() -> None:
    schedule = job_shop_from_text(SMALL)
    note = "a note " * 20
    solution = SchedulingSolution(
        SolveStatus.FEASIBLE, {}, 9.0, 7.0, limit="time", solver="HiGHS 1.2.3", seconds=1.25, note=note.strip()
    )
    out = io.StringIO()
    print_schedule(schedule, solution, Console(file=out, width=60))
    lines = out.getvalue().splitlines()
    assert [line.split()[0] for line in lines] == [
        "status",
        "objective",
        "bound",
        "ended",
        "note",
        "schedule",
        "solved",
    ]
    assert lines[4] == f"note      {note.strip()}"
    assert solve_schedule(schedule, solver="highs").solver
    tight = SchedulingModel((Interval("a", 3, deadline=2),), (NoOverlap("m", ("a",)),))
    for solver in ("cp-sat", "highs"):
        ended = solve_schedule(tight, solver=solver)
        assert (ended.status, bool(ended.solver), ended.starts) == (SolveStatus.INFEASIBLE, True, {})


def test_a_table_of_a_plan_is_sorted_by_start(tmp_path: Path) -> None:
    schedule = SchedulingModel((Interval("b", 3), Interval("a", 2)), (NoOverlap("m", ("a", "b")),))
    solution = SchedulingSolution(SolveStatus.OPTIMAL, {"b": 2, "a": 0}, 5.0)
    write_plan(schedule, solution, tmp_path / "plan.csv")
    assert (tmp_path / "plan.csv").read_bytes() == b"interval,machines,start,end\na,m,0,2\nb,m,2,5\n"
    write_plan(schedule, solution, tmp_path / "plan.json")
    assert json.loads((tmp_path / "plan.json").read_text())["starts"] == {"b": 2, "a": 0}
    for name, empty in (("plan.csv", SchedulingSolution(SolveStatus.INFEASIBLE)), ("plan.txt", solution)):
        with pytest.raises(ModellingError):
            write_plan(schedule, empty, tmp_path / name)
