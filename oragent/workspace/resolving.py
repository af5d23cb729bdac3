"""Solve again, apart from everybody, the models that a program left: what it said of them is not used.

It reads ``models.json`` from its folder and leaves ``resolved.json``. A model comes with the point that the program was
given. The point is checked here; it counts where nothing better is proven, as it is what the program printed.
"""

import json
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
from oragent.workspace.reading import finite

MODELS, RESOLVED = Path("models.json"), Path("resolved.json")
SENSITIVE = 4000  # variables and rows up to which duals and ranges are computed


def main(limit_s: float, gap: float) -> None:
    """Solve all models up to a gap, the last one first; each has what is left of the time."""
    until = time.monotonic() + limit_s
    gap = gap if gap > GAP else 0.0
    found = [
        _resolved(text, point, until, gap) for text, point in reversed(json.loads(MODELS.read_text(encoding="utf-8")))
    ]
    RESOLVED.write_text(json.dumps(found[::-1]), encoding="utf-8")


def _resolved(text: str, point: str, until: float, gap: float) -> dict[str, Any]:
    try:
        milp = _read(json.loads(text))
        left = until - time.monotonic()
        if left <= 0:
            return {"milp": as_json.to_dict(milp), "note": "not solved again: no time was left"}
        small = len(milp.variables) + len(milp.rows) <= SENSITIVE
        found = {"milp": as_json.to_dict(milp)}
        solution = _with_claim(milp, solve(milp, left, gap, duals=small), json.loads(point or "null"), small)
        found["solution"] = as_json.solution_dict(solution)
        if milp.has_integers and small:
            found["relaxed"] = as_json.solution_dict(solve(_relaxed(milp), max(1.0, until - time.monotonic())))
        return found
    except (MilpError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        return {"note": f"no model that can be read: {problem if isinstance(problem, MilpError) else type(problem)}"}


def _with_claim(milp: Milp, solution: Solution, point: Any, duals: bool) -> Solution:
    """The program's own point in place of ours, where it holds and neither is proven, or where the program stopped."""
    if not isinstance(point, dict) or solution.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        return solution
    if solution.status is SolveStatus.OPTIMAL and point.get("stopped") is not True:
        return solution
    values = _named(milp, point.get("values"))
    claimed = values and evaluate_point(milp, values, solution.bound, duals=duals)
    if not claimed or claimed.objective is None:
        return solution
    if solution.objective is not None and abs(claimed.objective - solution.objective) <= PROVEN * max(
        1.0, abs(solution.objective)
    ):
        return solution  # the same value, with its proof where there is one
    return replace(claimed, relaxation=solution.relaxation, seconds=solution.seconds)


def _named(milp: Milp, values: Any) -> dict[str, float]:
    """Values by variable, given by name or in the model's order; empty where they do not belong to it."""
    names = [one.name for one in milp.variables]
    if isinstance(values, list) and len(values) == len(names):
        values = dict(zip(names, values, strict=True))
    if not isinstance(values, dict):
        return {}
    known = {name: finite(values.get(name)) for name in names}
    return {name: value for name, value in known.items() if value is not None}


def _read(kept: dict[str, Any]) -> Milp:
    if "milp" in kept:
        return as_json.from_dict(kept["milp"])
    return from_text(kept["mps"], "mps") if "mps" in kept else from_pulp_dict(kept["data"], float(kept["constant"]))


def _relaxed(milp: Milp) -> Milp:
    return replace(milp, variables=tuple(replace(one, kind=VariableKind.CONTINUOUS) for one in milp.variables))


WARM = Milp(
    (Variable("x", 0, 5, VariableKind.INTEGER), Variable("y", 0, 5)),
    (Row("limit", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 7.5),),
    Objective({"x": 1.0, "y": 1.0}),
    Sense.MAXIMIZE,
)
solve(WARM)  # the first solve of a process takes ten times as long as the next ones
