"""Status, figure, verdict and exit code of ``workspace run``, ``whatif`` and ``verify``, against SciPy."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.optimize import linprog

from oragent.workspace.model_commands import VerbCommands, print_verb_result
from oragent.workspace.model_results import RunResult
from oragent.workspace.settings import EffortOptions
from tests.workspace.release import put
from tests.workspace.teams import begin

FIGURES = {"flour": 100.0, "oven": 40.0, "order": 10.0, "rye": 4.0, "wheat": 3.0, "rent": 12.5, "sense": -1.0}
PROGRAM = """import csv, pathlib
import pulp

with open(pathlib.Path(__file__).resolve().parents[1] / "data" / "figures.csv", newline="") as file:
    p = {row["name"]: float(row["value"]) for row in csv.DictReader(file)}
problem = pulp.LpProblem("bakery", pulp.LpMaximize if p["sense"] < 0 else pulp.LpMinimize)
rye, wheat = pulp.LpVariable("rye", 0), pulp.LpVariable("wheat", 0)
problem += p["rye"] * rye + p["wheat"] * wheat - p["rent"]
if p["flour"] < 1000:
    problem += rye + wheat <= p["flour"], "flour"
problem += rye <= p["oven"], "oven"
problem += rye >= p["order"], "order"
# more
problem.solve()
print(pulp.value(problem.objective))
"""
# What a situation changes in the figures.
SITUATIONS = {
    "optimal": {},
    "least": {"sense": 1.0, "rye": 2.0, "wheat": 5.0},
    "negative": {"rye": -4.0, "wheat": -1.0},
    "infeasible": {"order": 41.0},
    "unbounded": {"flour": 1000.0},
}  # fmt: skip


def truth(changes: dict[str, float], most_rye: float = np.inf) -> tuple[str, float | None]:
    """Return the status and the optimum by SciPy."""
    p = FIGURES | changes
    flour = [[1.0, 1.0]] if p["flour"] < 1000 else []
    bounds = [(p["order"], min(p["oven"], most_rye)), (0, None)]
    cost = p["sense"] * np.array([p["rye"], p["wheat"]])
    if bounds[0][0] > bounds[0][1]:
        return "infeasible", None
    found = linprog(cost, A_ub=flour or None, b_ub=[p["flour"]] if flour else None, bounds=bounds)
    status = {0: "optimal", 2: "infeasible", 3: "unbounded"}[found.status]
    return status, p["sense"] * found.fun - p["rent"] if found.status == 0 else None


def make_folder(folder: Path, changes: dict[str, float], program: str = PROGRAM, **more: float) -> Path:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("name", "value"), *(FIGURES | changes | more).items()])
    put(folder, {"src/bakery.py": program, "data/figures.csv": out.getvalue(), "docs/a.md": "# Bakery\n"})
    return folder


def run_verb(folder: Path, name: str, *words: Any) -> tuple[int, dict[str, Any]]:
    """Return the exit code and the result."""
    console = Console(file=io.StringIO(), width=200)
    code = getattr(VerbCommands(folder, console, EffortOptions(), as_json=True), name)(*words)
    return code, json.loads(console.file.getvalue())


@pytest.mark.parametrize("situation", SITUATIONS)
def test_a_run_has_the_status_and_the_optimum_of_its_model(tmp_path: Path, situation: str) -> None:
    status, optimum = truth(SITUATIONS[situation])
    code, result = run_verb(make_folder(tmp_path, SITUATIONS[situation]), "run")
    console = Console(file=io.StringIO(), width=200)
    print_verb_result(RunResult.model_validate(result), console)
    text = console.file.getvalue()
    assert (code, result["ok"]) == ((0, True) if optimum is not None else (3, False))
    assert result["status"] == status
    assert result["objective"]["value"] == (None if optimum is None else pytest.approx(optimum))
    assert result["sense"] == ("minimize" if situation == "least" else "maximize")
    assert (result["variables"], result["rows"]) == (2, 3 - (situation == "unbounded"))
    assert status in text
    assert optimum is None or f"{optimum:g}" in text


@pytest.mark.parametrize("situation", ["negative", "infeasible", "unbounded"])
def test_a_whatif_has_both_optima_and_their_difference(tmp_path: Path, situation: str) -> None:
    changes = SITUATIONS[situation]
    (_, before), (status, after) = truth({}), truth(changes)
    lines = [f"data/figures.csv[{name}, value] = {value:g}" for name, value in changes.items()]
    code, result = run_verb(make_folder(tmp_path, {}), "try_changes", lines)
    assert (code, result["ok"], result["status"]) == (0 if after is not None else 3, after is not None, status)
    assert result["objective"]["before"]["value"] == pytest.approx(before)
    assert result["objective"]["after"]["value"] == (None if after is None else pytest.approx(after))
    assert [cell[1:] for cell in result["cells"]] == [
        [f"{FIGURES[name]}", f"{value:g}"] for name, value in changes.items()
    ]
    # Nothing was written.
    assert f"flour,{FIGURES['flour']}" in (tmp_path / "data/figures.csv").read_text()


REVISIONS = {
    # A rule with a figure of its own, which is neutral at 1000; a rule without one; another price; a rule of no effect.
    "neutral": ('problem += rye <= p["most_rye"], "most_rye"', {"most_rye": 20.0}, 20.0, ["data/figures.csv[most_rye, value] = 1000"], True),
    "not neutral": ('problem += rye <= p["most_rye"], "most_rye"', {"most_rye": 20.0}, 20.0, ["data/figures.csv[most_rye, value] = 30"], False),
    "a figure of the program": ('problem += rye <= 20, "most_rye"', {}, 20.0, [], False),
    "no effect": ('problem += rye <= 99, "most_rye"', {}, np.inf, [], True),
    "infeasible": ('problem += rye <= p["most_rye"], "most_rye"', {"most_rye": 5.0}, 5.0, ["data/figures.csv[most_rye, value] = 1000"], True),
}  # fmt: skip


SLOW = ("no effect", "a figure of the program")


@pytest.mark.parametrize(
    "revision", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in REVISIONS]
)
def test_a_verified_revision_keeps_the_former_optimum_at_neutral_values(tmp_path: Path, revision: str) -> None:
    row, more, most_rye, neutral, holds = REVISIONS[revision]
    begin(make_folder(tmp_path, {}))
    make_folder(tmp_path, {}, PROGRAM.replace("# more", row), **more)
    (_, before), (status, after) = truth({}), truth({}, most_rye)
    code, result = run_verb(tmp_path, "verify", "HEAD", ".", neutral)
    assert result["status"] == status
    assert result["objective"]["before"]["value"] == pytest.approx(before)
    assert result["objective"]["after"]["value"] == (None if after is None else pytest.approx(after))
    # A revision without a solution is refused, whatever holds at neutral values.
    is_right = holds and after is not None
    assert (code, result["ok"], result["preservation"]["holds"]) == (0 if is_right else 1, is_right, holds)
    assert result["preservation"]["former"]["value"] == pytest.approx(before)
    assert {edit["row"] for edit in result["edits"]} == set(more)
