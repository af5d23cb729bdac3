"""Zero is a value: schedules and choices are complete in terminal, CSV, workbook, page and result file."""

import asyncio
import csv
import io
import itertools
import json
import re
from pathlib import Path

import pytest
from rich.console import Console

from oragent._base.budget import Budget
from oragent.formulate.breakdown import chart_families
from oragent.formulate.folder import FormulationRequest, finalize
from oragent.formulate.formulation import FormulationResult, formulate_case
from oragent.formulate.options import choose_options
from oragent.formulate.pages import render_page
from oragent.formulate.printing import print_outcome
from oragent.formulate.problem import ProblemText
from oragent.formulate.running import FormulationRunner
from oragent.ledger import Study
from oragent.llm.callable import Scripted
from oragent.llm.model import Request
from oragent.report.pages.value_tables import DecisionFamily, DecisionKind

# Minutes of 11 operations in 3 rooms of a theatre, of which one each can begin at once.
OPERATIONS = {
    "hip": 120, "knee": 90, "hernia": 45, "cataract": 20, "tonsils": 35, "bypass": 240,
    "valve": 200, "gall": 60, "wrist": 50, "skin": 25, "spine": 150,
}  # fmt: skip
ROOMS = ["A", "B", "C"]
THEATRE = """
from ortools.sat.python import cp_model
def solve(data):
    m = cp_model.CpModel()
    rooms, horizon = data["rooms"], sum(data["minutes"].values())
    start = {o: m.new_int_var(0, horizon, f"start_{o}") for o in data["minutes"]}
    room = {o: m.new_int_var(0, len(rooms) - 1, f"room_{o}") for o in data["minutes"]}
    finish = m.new_int_var(0, horizon, "finish")
    for at, name in enumerate(rooms):
        tasks = []
        for o, minutes in data["minutes"].items():
            here = m.new_bool_var(f"here_{o}_{name}")
            m.add(room[o] == at).only_enforce_if(here)
            tasks.append((o, here, m.new_optional_fixed_size_interval_var(start[o], minutes, here, f"in {name}")))
        m.add_no_overlap([task for _, _, task in tasks])
        rooms[at] = tasks
    for position, o in enumerate(data["minutes"]):
        m.add_exactly_one([tasks[position][1] for tasks in rooms])
        m.add(finish >= start[o] + data["minutes"][o])
    m.minimize(finish)
    s = cp_model.CpSolver()
    s.solve(m)
    return {"optimized_vars": {"start": start, "room": room, "finish": finish}}
"""
# One machine in PuLP: the order by binaries, starts and ends as continuous times.
MACHINE = """
import itertools
import pulp
def solve(data):
    hours = data["hours"]
    m = pulp.LpProblem("m", pulp.LpMinimize)
    start = pulp.LpVariable.dicts("start", hours, lowBound=0)
    end = pulp.LpVariable.dicts("end", hours, lowBound=0)
    first = pulp.LpVariable.dicts("first", (hours, hours), cat="Binary")
    late = pulp.LpVariable("late", lowBound=0)
    total = sum(hours.values())
    for a, b in itertools.combinations(hours, 2):
        m += start[b] >= end[a] - total * (1 - first[a][b])
        m += start[a] >= end[b] - total * first[a][b]
    for a in hours:
        m += end[a] == start[a] + hours[a]
        m += late >= end[a] - data["due"][a]
    m += late
    m.solve()
    return {"optimized_vars": {"start": start, "end": end, "late": late}}
"""
# Depots that are opened or not.
DEPOTS = """
import pulp
def solve(data):
    m = pulp.LpProblem("m", pulp.LpMinimize)
    opened = pulp.LpVariable.dicts("opened", data["cost"], cat="Binary")
    m += pulp.lpSum(data["cost"][d] * opened[d] for d in opened)
    m += pulp.lpSum(opened.values()) >= 2
    m.solve()
    return {"optimized_vars": {"opened": opened}}
"""


def formulate(folder: Path, runner: FormulationRunner, program: str, data: dict, variables: list[str]):
    """Return the end of a formulation with given variables in the facts, its terminal output, rows of the CSV and page."""
    facts = json.dumps({"OBJECTIVE": "minimize: end", "UNIT": "", "VARIABLES": variables})

    def reply(request: Request, number: int) -> str:
        return f"```json\n{facts}\n```\n```python\n{program}\n```"

    problem = ProblemText("plan", "A plan.", data)

    async def work(case):
        options = choose_options("default", without=frozenset({"counterfactual"}))
        return (await formulate_case(case, problem, options, runner)).to_plain()

    with Study(folder, {"": Scripted(reply)}, Budget(evaluations=None)) as study:
        (finished,) = asyncio.run(study.run_cases(["case"], work))
    (folder / "problem.md").write_text("A plan.")
    outcome = finalize(folder, FormulationResult.from_plain(finished.result))
    console = Console(file=io.StringIO(), width=200)
    print_outcome(outcome, console)
    rows = list(csv.DictReader((folder / "plan.csv").read_text().splitlines()))
    page = render_page(FormulationRequest(problem, choose_options("default")), outcome)
    return outcome, console.file.getvalue(), rows, page


def column(rows: list[dict], decision: str) -> dict[str, float]:
    """Return the values of a decision by the first label in the CSV."""
    labels = [name for name in rows[0] if name not in ("decision", "value", "unit", "time")]
    return {
        next((row[name] for name in labels if row[name]), ""): float(row["value"])
        for row in rows
        if row["decision"] == decision
    }


def sheet(path: Path, name: str) -> list[tuple]:
    openpyxl = pytest.importorskip("openpyxl")
    return list(openpyxl.load_workbook(path)[name].iter_rows(values_only=True))


@pytest.mark.parametrize("is_stated", [True, False])
def test_a_theatre_of_eleven_operations_is_complete_in_each_output(
    runner: FormulationRunner, tmp_path: Path, is_stated: bool
) -> None:
    pytest.importorskip("ortools")
    variables = ["start: first minute, minutes since 08:00, time, >= 0", "room: number of the room, , choice, 0 to 2"]
    data = {"minutes": OPERATIONS, "rooms": list(ROOMS)}
    _, text, rows, page = formulate(tmp_path, runner, THEATRE, data, variables if is_stated else [])
    start, room = column(rows, "start"), column(rows, "room")
    assert start.keys() == OPERATIONS.keys()
    # One operation begins at 0 in each room, and no two of a room overlap.
    assert sum(value == 0 for value in start.values()) == len(ROOMS)
    result = json.loads((tmp_path / "result.json").read_text())
    bars = result["schedule"]
    assert {bar["label"] for bar in bars} == OPERATIONS.keys()
    assert len(bars) == len(OPERATIONS)
    for bar in bars:
        assert (bar["start"], bar["end"] - bar["start"]) == (start[bar["label"]], OPERATIONS[bar["label"]])
    for first, second in itertools.combinations(bars, 2):
        if first["lane"] == second["lane"]:
            assert first["end"] <= second["start"] or second["end"] <= first["start"]
    lines = text.splitlines()
    assert all(any(name in line for line in lines) for name in OPERATIONS)
    assert len(sheet(tmp_path / "plan.xlsx", "start")[1:]) == len(OPERATIONS)
    assert page.count("<rect") == len(OPERATIONS)
    assert room.keys() == OPERATIONS.keys()
    if is_stated:
        assert {row["time"] for row in rows if row["decision"] == "start" and float(row["value"]) == 0} == {"08:00"}
        clock = {name: f"{8 + int(value) // 60:02}:{int(value) % 60:02}" for name, value in start.items()}
        assert all(re.search(rf"\b{name}\b.*{clock[name]}", text) for name in OPERATIONS)


def test_starts_and_ends_of_a_linear_model_are_intervals(runner: FormulationRunner, tmp_path: Path) -> None:
    hours = {"a": 3, "b": 5, "c": 2, "d": 4}
    due = {"a": 3, "b": 14, "c": 5, "d": 9}
    outcome, _, rows, page = formulate(tmp_path, runner, MACHINE, {"hours": hours, "due": due}, [])
    start, end = column(rows, "start"), column(rows, "end")
    assert start.keys() == end.keys() == hours.keys()
    assert min(start.values()) == 0
    assert outcome.solution is not None
    truth = min(
        max(0, *(sum(hours[job] for job in order[: at + 1]) - due[job] for at, job in enumerate(order)))
        for order in itertools.permutations(hours)
    )
    assert outcome.solution.objective == pytest.approx(truth)
    bars = json.loads((tmp_path / "result.json").read_text())["schedule"]
    assert {bar["label"]: (bar["start"], bar["end"]) for bar in bars} == {job: (start[job], end[job]) for job in hours}
    assert page.count("<rect") == len(hours)
    assert not chart_families(
        [
            DecisionFamily(
                "start", {(str(n),): str(n) for n in range(6)}, dict.fromkeys("012345", 2.0), kind=DecisionKind.TIME
            )
        ]
    )


def test_a_choice_of_no_is_shown(runner: FormulationRunner, tmp_path: Path) -> None:
    costs = {"Gera": 5, "Halle": 3, "Jena": 9, "Suhl": 4}
    _, text, rows, _ = formulate(tmp_path, runner, DEPOTS, {"cost": costs}, [])
    assert column(rows, "opened") == {"Gera": 0, "Halle": 1, "Jena": 0, "Suhl": 1}
    assert all(name in text for name in costs)


def family(kind: DecisionKind, values: dict[tuple[str, ...], float]) -> DecisionFamily:
    names = {index: ",".join(index) for index in values}
    return DecisionFamily("x", names, {names[index]: value for index, value in values.items()}, kind=kind)


def test_values_that_are_shown_depend_on_the_kind() -> None:
    single = {("a",): 0.0, ("b",): 1.0}
    assert family(DecisionKind.AMOUNT, single).shown_values == {("b",): 1.0}
    for kind in (DecisionKind.TIME, DecisionKind.CHOICE, DecisionKind.YES_NO):
        assert family(kind, single).shown_values == single
    # Of a table of yes and no, labels that have no yes at all are shown.
    table = {(person, day): float(person == "p" and day == "1") for person in "pq" for day in "12"}
    shown = family(DecisionKind.YES_NO, table).shown_values
    assert shown == {("p", "1"): 1.0, ("q", "1"): 0.0, ("q", "2"): 0.0}
    many = {(str(number),): float(number < 3) for number in range(100)}
    assert len(family(DecisionKind.YES_NO, many).shown_values) == 3
    assert len(family(DecisionKind.TIME, many).shown_values) == 100


def test_weekdays_and_months_keep_the_order_of_the_program() -> None:
    days = ["Thu", "Fri", "Sat", "Sun", "Mon"]
    values = dict(zip(days, (3.0, 1.0, 0.0, 2.0, 5.0), strict=True))
    made = DecisionFamily("make", {(day,): day for day in days}, values)
    (chart,) = chart_families([made])
    assert chart.periods == tuple(days)
    assert chart.series["make"] == (3.0, 1.0, 0.0, 2.0, 5.0)
    people = ["Ann", "Bea", "Cem", "Dao", "Eve"]
    assert not chart_families([DecisionFamily("make", {(name,): name for name in people}, dict.fromkeys(people, 2.0))])
