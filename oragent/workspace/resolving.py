"""Solve again, apart from everybody, the models that a program left: what it said of them is not used.

It reads ``models.json`` from its folder and leaves ``resolved.json``. A model comes with the point that the program was
given. The point is checked here; it counts where nothing better is proven, as it is what the program printed.
"""

import json
import re
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent._base.errors import MilpError
from oragent.milp import as_json
from oragent.milp.as_pulp import from_pulp_dict
from oragent.milp.as_text import from_text
from oragent.milp.capturing import GAP
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import PROVEN, evaluate_point, solve
from oragent.workspace.reading import finite_number

MODELS, RESOLVED = Path("models.json"), Path("resolved.json")
SENSITIVE = 4000  # variables and rows up to which duals and ranges are computed


def solve_models(limit_s: float, gap: float) -> None:
    """Solve all models up to a gap, the last one first; each has what is left of the time."""
    until = time.monotonic() + limit_s
    gap = gap if gap > GAP else 0.0
    results = [
        _solve_again(text, point, until, gap)
        for text, point in reversed(json.loads(MODELS.read_text(encoding="utf-8")))
    ]
    RESOLVED.write_text(json.dumps(results[::-1]), encoding="utf-8")


def _solve_again(text: str, point: str, until: float, gap: float) -> dict[str, Any]:
    try:
        captured = json.loads(text)
        milp = _add_units(_read_model(captured), captured.get("units"))
        remaining = until - time.monotonic()
        if remaining <= 0:
            return {"milp": as_json.to_dict(milp), "note": "not solved again: no time was left"}
        small = len(milp.variables) + len(milp.rows) <= SENSITIVE
        result = {"milp": as_json.to_dict(milp)}
        solution = _use_claimed_point(
            milp, solve(milp, remaining, gap, duals=small), json.loads(point or "null"), small
        )
        result["solution"] = as_json.solution_dict(solution)
        if milp.has_integers and small:
            result["relaxed"] = as_json.solution_dict(solve(_relax(milp), max(1.0, until - time.monotonic()), gap))
        return result
    except (MilpError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        return {"note": f"no model that can be read: {problem if isinstance(problem, MilpError) else type(problem)}"}


def _use_claimed_point(milp: Milp, solution: Solution, point: Any, duals: bool) -> Solution:
    """The program's own point in place of ours, where it holds and neither is proven, or where the program stopped."""
    if not isinstance(point, dict) or solution.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        return solution
    if solution.status is SolveStatus.OPTIMAL and point.get("stopped") is not True:
        return solution
    values = _named_values(milp, point.get("values"))
    claimed = values and evaluate_point(milp, values, solution.bound, duals=duals)
    if not claimed or claimed.objective is None:
        return solution
    if solution.objective is not None and abs(claimed.objective - solution.objective) <= PROVEN * max(
        1.0, abs(solution.objective)
    ):
        return solution  # the same value, with its proof where there is one
    return replace(claimed, relaxation=solution.relaxation, seconds=solution.seconds)


def _named_values(milp: Milp, values: Any) -> dict[str, float]:
    """Values by variable, given by name or in the model's order; empty where they do not belong to it."""
    names = [variable.name for variable in milp.variables]
    if isinstance(values, list) and len(values) == len(names):
        values = dict(zip(names, values, strict=True))
    if not isinstance(values, dict):
        return {}
    numbers = {name: finite_number(values.get(name)) for name in names}
    return {name: value for name, value in numbers.items() if value is not None}


def _read_model(captured: dict[str, Any]) -> Milp:
    if "milp" in captured:
        return as_json.from_dict(captured["milp"])
    return (
        from_text(captured["mps"], "mps")
        if "mps" in captured
        else from_pulp_dict(captured["data"], float(captured["constant"]))
    )


def _add_units(milp: Milp, units: Any) -> Milp:
    """Return the model with units by name of a variable or of its family; ``objective`` names the objective's."""
    if not isinstance(units, dict):
        return milp
    shown = {
        name: unit[:20] for name, unit in sorted(units.items(), key=lambda pair: -len(pair[0])) if isinstance(unit, str)
    }

    def find_unit(variable: Variable) -> str:
        """The unit of the longest name that the variable's begins with."""
        names = (name for name in shown if re.match(rf"{re.escape(name)}(?:[_\[(]|$)", variable.name))
        return next((shown[name] for name in names), variable.unit)

    variables = tuple(replace(variable, unit=find_unit(variable)) for variable in milp.variables)
    return replace(milp, variables=variables, objective=replace(milp.objective, unit=shown.get("objective", "")))


def _relax(milp: Milp) -> Milp:
    return replace(
        milp, variables=tuple(replace(variable, kind=VariableKind.CONTINUOUS) for variable in milp.variables)
    )


WARM = Milp(
    (Variable("x", 0, 5, VariableKind.INTEGER), Variable("y", 0, 5)),
    (Row("limit", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 7.5),),
    Objective({"x": 1.0, "y": 1.0}),
    Sense.MAXIMIZE,
)
solve(WARM)  # the first solve of a process takes ten times as long as the next ones
