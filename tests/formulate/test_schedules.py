"""Eight schedules of up to 60 operations: checked, and complete in terminal, CSV, workbook and page.

``python -m tests.formulate.test_schedules`` prints the output and the seconds of each.
"""

import csv
import io
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from oragent.formulate.folder import FormulationRequest, finalize
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.gantt import build_schedule
from oragent.formulate.options import choose_options
from oragent.formulate.pages import render_page
from oragent.formulate.printing import print_outcome
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.modelling.data.intervals import PlanInterval, TimeExpression
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind
from oragent.sandbox.sandbox import Sandbox
from tests.formulate.replies import play
from tests.formulate.test_complete_plans import OPERATIONS, ROOMS, THEATRE
from tests.formulate.test_schedule_checks import FT06, LA01, PAIRS, PROGRAM, ROWS, TASKS, THEATRE_CHECKER, jobs

TEXT = "A schedule of tasks that may not overlap. It should end as early as possible."
# A crew per flight; two flights of a crew may not overlap, and standby crews cost more.
CREW = """
from ortools.sat.python import cp_model
def solve(data):
    m = cp_model.CpModel()
    fly = {c: {f: m.new_bool_var(f"fly_{c}_{f}") for f in data["flights"]} for c in data["cost"]}
    for f in data["flights"]:
        m.add_exactly_one([fly[c][f] for c in fly])
    for c in fly:
        tasks = [m.new_optional_fixed_size_interval_var(start, size, fly[c][f], "")
                 for f, (start, size) in data["flights"].items()]
        m.add_no_overlap(tasks)
    m.minimize(sum(data["cost"][c] * size * fly[c][f] for c in fly for f, (_, size) in data["flights"].items()))
    s = cp_model.CpSolver()
    s.solve(m)
    return {"optimized_vars": {"fly": fly}}
"""
CREW_CHECKER = """
def checks(values, data):
    fly, flights = values["fly"], data["flights"]
    for f in flights:
        yield ("one crew", sum(fly[c][f] for c in fly), "=", 1, "")
        for c in fly:
            yield ("whole", fly[c][f], "integer", None, "")
            yield ("once", fly[c][f], "<=", 1, "")
            for g in flights:
                (a, m), (b, n) = flights[f], flights[g]
                if f < g and a < b + n and b < a + m:
                    yield ("apart", fly[c][f] + fly[c][g], "<=", 1, "")
    cost = sum(data["cost"][c] * flights[f][1] * fly[c][f] for c in fly for f in flights)
    yield ("cost", cost, "minimize", None, "")
"""
# Rooms by decisions whether an operation takes place there.
OPEN_CHECKER = """
def checks(values, data):
    start, here, minutes = values["start"], values["here"], data["minutes"]
    for o in minutes:
        yield ("finish", values["finish"], ">=", start[o] + minutes[o], "")
        yield ("one room", sum(here[o].values()), "=", 1, "")
        for r in data["rooms"]:
            yield ("whole", here[o][r], "integer", None, "")
            yield ("once", here[o][r], "<=", 1, "")
    for r in data["rooms"]:
        yield ("apart in " + r, [(start[o], minutes[o], here[o][r]) for o in minutes], "no overlap", None, "")
    yield ("finish", values["finish"], "minimize", None, "")
"""
# A project with precedences, in PuLP; all starts of the first tasks are 0.
PROJECT = """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMinimize)
    start = pulp.LpVariable.dicts("start", data["days"], lowBound=0)
    finish = pulp.LpVariable("finish", 0)
    for task, days in data["days"].items():
        m += finish >= start[task] + days
        for before in data["after"][task]:
            m += start[task] >= start[before] + data["days"][before]
    m += finish
    m.solve()
    return {"optimized_vars": {"start": start, "finish": finish}}
"""
PROJECT_CHECKER = """
def checks(values, data):
    start, days = values["start"], data["days"]
    for task in days:
        for before in data["after"][task]:
            yield ("order", start[task], ">=", start[before] + days[before], "")
    yield ("finish", max(start[task] + days[task] for task in days), "minimize", None, "")
"""


@dataclass(frozen=True)
class Schedule:
    """A schedule with its optimum, and the decision of which each operation has a value."""

    program: str
    checker: str
    data: dict[str, Any]
    optimum: float
    decision: str = "start"


def job_shop(seed: int, count: int, machines: int) -> dict[str, list[tuple[str, int]]]:
    """Return a random job shop: each job visits each machine once."""
    rng = np.random.default_rng(seed)
    return {
        f"job {job}": [(f"machine {machine}", int(rng.integers(5, 60))) for machine in rng.permutation(machines)]
        for job in range(count)
    }


def load(shop: dict[str, list[tuple[str, int]]]) -> int:
    """Return the work of the machine with the most work, which no schedule can undercut."""
    steps = [step for job in shop.values() for step in job]
    return max(sum(size for name, size in steps if name == machine) for machine, _ in steps)


def project(seed: int, count: int) -> dict[str, dict[str, Any]]:
    rng = np.random.default_rng(seed)
    days = {f"task {task}": int(rng.integers(1, 9)) for task in range(count)}
    names = list(days)
    after = {
        name: sorted({names[int(rng.integers(at))] for _ in range(2)}) if at > 4 else []
        for at, name in enumerate(names)
    }
    return {"days": days, "after": after}


def longest_path(data: dict[str, dict[str, Any]]) -> int:
    ends: dict[str, int] = {}
    for task, days in data["days"].items():
        ends[task] = days + max((ends[before] for before in data["after"][task]), default=0)
    return max(ends.values())


SHOP = job_shop(4, 12, 5)
SMALL = job_shop(9, 9, 4)
WARDS = {
    f"case {number}": minutes for number, minutes in enumerate([30, 45, 60, 20, 80, 15, 35, 50, 25, 40, 55, 65, 70, 10])
}
FLIGHTS = {f"flight {number:02}": (20 * number, 90) for number in range(18)}
PLAN = project(3, 60)
SCHEDULES = {
    "Fisher and Thompson, 36 operations": Schedule(PROGRAM, ROWS + TASKS, {"jobs": jobs(FT06)}, 55),
    "Fisher and Thompson, rows by pairs": Schedule(PROGRAM, ROWS + PAIRS, {"jobs": jobs(FT06)}, 55),
    "Lawrence, 50 operations": Schedule(PROGRAM, ROWS + TASKS, {"jobs": jobs(LA01)}, 666),
    "job shop of 60 operations": Schedule(PROGRAM, ROWS + TASKS, {"jobs": SHOP}, load(SHOP)),
    "theatre of 11 operations": Schedule(THEATRE, THEATRE_CHECKER, {"minutes": OPERATIONS, "rooms": list(ROOMS)}, 345),
    # 600 minutes in three rooms.
    "theatre of 14 operations": Schedule(
        THEATRE.replace("start[o], minutes, here", "start[o], minutes, taken.setdefault(o, {}).setdefault(name, here)")
        .replace('"room": room', '"room": room, "here": taken').replace("finish = ", "taken = {}\n    finish = ", 1),
        OPEN_CHECKER, {"minutes": WARDS, "rooms": list(ROOMS)}, 200,
    ),
    # Five flights overlap at any time, so that each of the five cheapest crews is needed.
    "crew of 18 flights": Schedule(
        CREW, CREW_CHECKER, {"flights": FLIGHTS, "cost": {"A": 3, "B": 3, "C": 3, "D": 3, "E": 3, "standby": 9}},
        3 * 90 * 18, "fly",
    ),
    "project of 60 tasks": Schedule(PROJECT, PROJECT_CHECKER, PLAN, longest_path(PLAN)),
}  # fmt: skip


def labels_of(schedule: Schedule) -> list[tuple[str, ...]]:
    """Return the labels of each operation."""
    if "jobs" in schedule.data:
        return [(job, machine) for job, steps in schedule.data["jobs"].items() for machine, _ in steps]
    if "flights" in schedule.data:
        return [(flight,) for flight in schedule.data["flights"]]
    return [(name,) for name in schedule.data.get("days", schedule.data.get("minutes"))]


def formulate(folder: Path, runner: FormulationRunner, schedule: Schedule) -> tuple[dict, str, list[dict], str]:
    """Return the result file, terminal output at 80 columns, rows of the CSV, and page."""
    problem = ProblemText("schedule", TEXT, json.loads(json.dumps(schedule.data)))

    async def work(case):
        return (await formulate_case(case, problem, choose_options("default"), runner)).to_plain()

    replies = {"counterfactual": f"```python\n{schedule.checker}\n```"}
    plain = play(folder, work, replies, f"```json\n{{}}\n```\n```python\n{schedule.program}\n```")
    (folder / "problem.md").write_text(TEXT)
    outcome = finalize(folder, FormulationResult.from_plain(plain))
    console = Console(file=io.StringIO(), width=80)
    print_outcome(outcome, console)
    rows = list(csv.DictReader((folder / "plan.csv").read_text().splitlines()))
    page = render_page(FormulationRequest(problem, choose_options("default")), outcome)
    return json.loads((folder / "result.json").read_text()), console.file.getvalue(), rows, page


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "project of 60 tasks" else pytest.mark.slow) for name in SCHEDULES],
)
def test_a_schedule_is_checked_and_complete_in_each_output(
    runner: FormulationRunner, tmp_path: Path, name: str
) -> None:
    pytest.importorskip("ortools")
    openpyxl = pytest.importorskip("openpyxl")
    schedule = SCHEDULES[name]
    result, text, rows, page = formulate(tmp_path, runner, schedule)
    assert (result["verdict"], result["exit_code"]) == ("checked", 0), result["reasons"]
    assert (result["status"], result["objective"]) == ("optimal", pytest.approx(schedule.optimum))
    values = [row for row in rows if row["decision"] == schedule.decision]
    sheet = openpyxl.load_workbook(tmp_path / "plan.xlsx")[schedule.decision]
    cells = {str(cell) for line in sheet.iter_rows(values_only=True) for cell in line}
    for labels in labels_of(schedule):
        assert any(set(labels) <= set(row.values()) for row in values), labels
        assert all(label in text and label in page for label in labels), labels
        assert set(labels) <= cells, labels
    assert all(len(line) <= 80 for line in text.splitlines())


def test_tasks_at_fixed_times_are_named_by_the_decision_that_they_take_place() -> None:
    """Two crews share three flights; each crew is a machine."""
    flights = {"LH1": (0.0, 90.0), "LH2": (30.0, 60.0), "LH3": (100.0, 150.0)}
    entries = {(crew, flight): f"fly_{crew}_{flight}" for crew in "AB" for flight in flights}
    flown = {("A", "LH1"), ("A", "LH3"), ("B", "LH2")}
    values = {name: float(index in flown) for index, name in entries.items()}
    family = DecisionFamily("fly", entries, values, kind=DecisionKind.YES_NO)
    intervals = [
        PlanInterval(
            "", *(TimeExpression({}, time) for time in flights[flight]), f"machine {'AB'.index(crew) + 1}", {name: 1.0}
        )
        for (crew, flight), name in entries.items()
    ]
    schedule = build_schedule(intervals, [family], values)
    assert schedule is not None
    lanes = {lane: [(bar.label, bar.start, bar.end) for bar in bars] for lane, bars in schedule.lanes.items()}
    assert lanes["A"] == [("LH1", 0.0, 90.0), ("LH3", 100.0, 150.0)]
    # The only flight of a machine has both labels.
    assert [(bar.label, bar.start) for bar in schedule.bars if "LH2" in bar.label] == [("B LH2", 30.0)]


def main() -> None:
    for name in sys.argv[1:] or SCHEDULES:
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, Sandbox(1) as box:
            result, text, _, _ = formulate(Path(folder), FormulationRunner(box), SCHEDULES[name])
        print(f"{name}: {result['verdict']}, {result['objective']:g}, {time.perf_counter() - begun:.1f} s", flush=True)
        print(text)


if __name__ == "__main__":
    main()
