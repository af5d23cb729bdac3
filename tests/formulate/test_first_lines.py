"""Verdict, exit code, figure and unit of ``verify`` in each situation, against SciPy."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from scipy.optimize import Bounds, LinearConstraint, milp

from oragent.formulate.command import verify_files
from oragent.formulate.options import VerifyCommand
from oragent.modelling.data.features import FurtherObjective, ModelFeatures
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import INFINITY, Relation, Sense, VariableKind
from oragent.modelling.files.model_files import write

STORY = "Shelves take 3 hours and tables 2, of 24. Wood: 1 and 2 of 14. Profit is 5 and 4 EUR, less 7 of rent.\n"
ROWS = (
    Row("hours", {"x": 3.0, "y": 2.0}, Relation.AT_MOST, 24.0),
    Row("wood", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 14.0),
)
RIGHT = IndexedModel.from_records(
    tuple(Variable(name, 0, kind=VariableKind.INTEGER) for name in "xy"),
    ROWS, Objective({"x": 5.0, "y": 4.0}, -7.0, unit="EUR"), Sense.MAXIMIZE,
)  # fmt: skip
NEVER = Row("orders", {"x": 1.0}, Relation.AT_LEAST, 9.0)
CHECKER = """
def checks(values, data):
    x, y = values["x"], values["y"]
    yield "hours", 3 * x + 2 * y, "<=", 24, "Shelves take 3 hours and tables 2, of 24"
    yield "wood", x + 2 * y, "<=", 14, "Wood: 1 and 2 of 14"
    yield "whole x", x, "integer", None, ""
    yield "whole y", y, "integer", None, ""
    yield "profit", 5 * x + 4 * y - 7, "maximize", None, "Profit is 5 and 4 EUR"
"""
ORDERS = '    yield "orders", x, ">=", 9, "Profit"\n'
FREE = "".join(line for line in CHECKER.splitlines(keepends=True) if '"<="' not in line)
SILENT = "".join(line for line in CHECKER.splitlines(keepends=True) if "maximize" not in line)
GOAL = FurtherObjective("tables", {"y": 1.0}, Sense.MAXIMIZE, priority=1)
TWO = CHECKER.replace('    yield "profit"', '    yield "tables", y, "maximize", None, ""\n    yield "profit"')

# Model, checker, and verdict with exit code.
SITUATIONS: dict[str, tuple[IndexedModel, str, str, int]] = {
    "optimal": (RIGHT, CHECKER, "checked", 0),
    "contradicted by a missing row": (RIGHT.with_records(rows=ROWS[:1]), CHECKER, "contradicted", 4),
    "contradicted by a further row": (RIGHT.with_records(rows=(*ROWS, Row("few", {"x": 1.0}, Relation.AT_MOST, 3.0))), CHECKER, "contradicted", 4),
    "contradicted by its direction": (RIGHT.with_records(sense=Sense.MINIMIZE), CHECKER, "contradicted", 4),
    "contradicted by a constant": (RIGHT.with_records(objective=replace(RIGHT.objective_record, constant=7.0)), CHECKER, "contradicted", 4),
    "unchecked": (RIGHT, SILENT, "unchecked", 5),
    "infeasible": (RIGHT.with_records(rows=(*ROWS, NEVER)), CHECKER + ORDERS, "checked", 0),
    "infeasible by mistake": (RIGHT.with_records(rows=(*ROWS, NEVER)), CHECKER, "contradicted", 4),
    "unbounded": (RIGHT.with_records(rows=()), FREE, "checked", 0),
    "unbounded by mistake": (RIGHT.with_records(rows=()), CHECKER, "contradicted", 4),
    "several aims": (RIGHT.with_records(features=ModelFeatures(goals=(GOAL,))), TWO, "checked", 0),
}  # fmt: skip
FAST = ("optimal", "contradicted by a constant", "infeasible by mistake", "unbounded", "several aims")


def solve_by_scipy(model: IndexedModel) -> tuple[str, float | None]:
    """Return the status and the optimum; of several aims the most important one is held at its optimum."""
    names = [variable.name for variable in model.variable_records]
    rows = [*model.row_records]
    stages = [(goal.terms, goal.sense, goal.constant) for goal in model.named_features.goals]
    value = None
    for terms, sense, constant in [
        *stages,
        (model.objective_record.terms, model.sense, model.objective_record.constant),
    ]:
        cost = sense.sign * np.array([terms.get(name, 0.0) for name in names])
        constraints = [
            LinearConstraint(
                np.array([row.terms.get(name, 0.0) for name in names]),
                -np.inf if row.relation is Relation.AT_MOST else row.rhs,
                np.inf if row.relation is Relation.AT_LEAST else row.rhs,
            )
            for row in rows
        ]
        bounds = Bounds(
            [variable.low for variable in model.variable_records],
            [min(v.high, INFINITY) for v in model.variable_records],
        )
        result = milp(cost, integrality=np.ones(len(names)), bounds=bounds, constraints=constraints)
        if result.status == 4:
            # HiGHS tells an integer model without an optimum by its relaxation.
            result = milp(cost, bounds=bounds, constraints=constraints)
        if result.x is None:
            return {2: "infeasible", 3: "unbounded"}[result.status], None
        stage = sense.sign * float(result.fun) + constant
        rows.append(Row(f"held {len(rows)}", terms, Relation.EQUAL, stage - constant))
        value = stage if value is None else value
    return "optimal", value


@pytest.mark.parametrize(
    "situation", [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in SITUATIONS]
)
def test_the_first_line_of_a_verification_is_the_truth(tmp_path: Path, situation: str) -> None:
    model, checker, verdict, code = SITUATIONS[situation]
    status, optimum = solve_by_scipy(model)
    write(model, tmp_path / "model.json")
    (tmp_path / "story.md").write_text(STORY)
    console = Console(file=io.StringIO(), width=160)
    command = VerifyCommand(tmp_path / "story.md", tmp_path / "model.json", tmp_path / "out", checker=checker)
    assert verify_files(command, console) == code
    first = next(line for line in console.file.getvalue().splitlines() if not line.startswith("verification"))
    assert first.startswith(f"{verdict}: ")
    (file,) = (tmp_path / "out").glob("*/*/result.json")
    result: dict[str, Any] = json.loads(file.read_text())
    assert (result["verdict"], result["exit_code"], result["status"]) == (verdict, code, status)
    assert result["objective"] == (None if optimum is None else pytest.approx(optimum))
    if optimum is not None:
        assert f"{optimum:g}" in re.findall(r"-?\d+(?:\.\d+)?", first)
    elif verdict == "checked":
        assert status in first
    # A contradicted plan is not called optimal.
    assert ("optimal" in first) is (status == "optimal" and verdict != "contradicted")


def market_split(is_soft: bool) -> tuple[IndexedModel, str]:
    """Return a market split problem (Cornuéjols and Dawande 1998) with a planted plan, and its checker.

    The optimum is 0 with slacks and the plan without slacks. No solver finds it within a second.
    """
    rng = np.random.default_rng(1)
    figures = rng.integers(0, 100, (6, 50))
    rhs = figures @ rng.integers(0, 2, 50)
    columns = [Variable(f"x{at}", 0, 1, VariableKind.INTEGER) for at in range(50)]
    slacks = [Variable(f"{side}{row}", 0) for row in range(6) for side in ("over", "under")] if is_soft else []
    rows = [
        Row(
            f"market {row}",
            {f"x{at}": float(value) for at, value in enumerate(figures[row])}
            | ({f"over{row}": -1.0, f"under{row}": 1.0} if is_soft else {}),
            Relation.EQUAL,
            float(rhs[row]),
        )
        for row in range(6)
    ]
    objective = Objective({slack.name: 1.0 for slack in slacks} or {"x0": 1.0})
    lines = [
        f'    yield "once", values["x{at}"], "<=", 1, ""\n    yield "whole", values["x{at}"], "integer", None, ""'
        for at in range(50)
    ]
    for row in rows:
        left = " + ".join(f'{size} * values["{name}"]' for name, size in row.terms.items())
        lines.append(f'    yield "{row.name}", {left}, "=", {row.rhs}, ""')
    aim = " + ".join(f'values["{name}"]' for name in objective.terms)
    checker = "\n".join(["def checks(values, data):", *lines, f'    yield "aim", {aim}, "minimize", None, ""'])
    return IndexedModel.from_records((*columns, *slacks), tuple(rows), objective, Sense.MINIMIZE), checker


@pytest.mark.slow
@pytest.mark.parametrize("is_soft", [True, False])
def test_the_first_line_of_a_verification_out_of_time_promises_nothing(tmp_path: Path, is_soft: bool) -> None:
    model, checker = market_split(is_soft)
    write(model, tmp_path / "model.json")
    (tmp_path / "story.md").write_text("Split the shops between two directors, so that each has half of each market.")
    console = Console(file=io.StringIO(), width=160)
    command = VerifyCommand(
        tmp_path / "story.md", tmp_path / "model.json", tmp_path / "out", checker=checker, options={"time_s": 1.0}
    )
    code = verify_files(command, console)
    first = next(line for line in console.file.getvalue().splitlines() if not line.startswith("verification"))
    (folder,) = (tmp_path / "out").glob("*/*")
    result = json.loads((folder / "result.json").read_text())
    assert (result["verdict"], result["exit_code"], code) == ("no answer", 3, 3)
    assert first.startswith("no answer: ")
    assert "optimal" not in first
    if not is_soft:
        assert (result["status"], result["objective"]) == ("unknown", None)
        return
    assert result["status"] == "feasible"
    values = json.loads((folder / "solution.json").read_text())["values"]
    assert all(
        abs(sum(size * values[name] for name, size in row.terms.items()) - row.rhs) < 1e-5 for row in model.row_records
    )
    assert result["objective"] == pytest.approx(sum(values[name] for name in model.objective_record.terms))
    # The planted plan has the value 0.
    assert result["bound"] <= 1e-9 < result["objective"]
    assert f"{result['objective']:g}" in first


@pytest.mark.slow
@pytest.mark.parametrize(("gap", "verdict", "code"), [(0.9, "checked", 0), (0.01, "no answer", 3)])
def test_a_plan_within_the_accepted_gap_is_said_to_be_so(tmp_path: Path, gap: float, verdict: str, code: int) -> None:
    model, checker = market_split(is_soft=True)
    shifted = model.with_records(objective=replace(model.objective_record, constant=100.0))
    write(shifted, tmp_path / "model.json")
    (tmp_path / "story.md").write_text("Split the shops between two directors, so that each has half of each market.")
    console = Console(file=io.StringIO(), width=160)
    command = VerifyCommand(
        tmp_path / "story.md", tmp_path / "model.json", tmp_path / "out",
        checker=checker.replace('"aim", ', '"aim", 100 + '), options={"time_s": 1.0, "gap": gap},
    )  # fmt: skip
    assert verify_files(command, console) == code
    first = next(line for line in console.file.getvalue().splitlines() if not line.startswith("verification"))
    (folder,) = (tmp_path / "out").glob("*/*")
    result = json.loads((folder / "result.json").read_text())
    assert (result["verdict"], result["status"]) == (verdict, "feasible")
    # The optimum is 100.
    assert result["bound"] <= 100 + 1e-6 < result["objective"]
    stated = re.search(r"within ([\d.]+)%", first)
    assert stated is not None
    assert (result["objective"] - 100) / result["objective"] <= float(stated[1]) / 100 + 1e-4
    assert "optimal" not in first
