"""Independent second solve of the models that a program left; the program's own results are not trusted.

It reads ``models.json`` from its folder and writes ``resolved.json`` after each step, so that finished work survives a
limit that ends the process. Each model comes with the point that the program received. The point is checked here. It
counts if no better solution is proven, because the program printed it.
"""

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent._base.errors import MilpError
from oragent.milp import as_json
from oragent.milp.as_pulp import GAP, from_pulp_dict
from oragent.milp.as_text import from_text
from oragent.milp.model import Milp, Variable
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import PROVEN, WARM_UP, evaluate_point, solve
from oragent.workspace.objective import is_within_tolerance
from oragent.workspace.reading import finite_number
from oragent.workspace.shim import compile_filter

MODELS, RESOLVED = Path("models.json"), Path("resolved.json")
OUT_OF_TIME = "not solved again: no time was left"
# Maximum number of variables and rows for which duals and ranges are computed.
SENSITIVE = 4000


def solve_models(limit_s: float, gap: float) -> None:
    """Solve all models up to a gap, the last one first; each solve gets the remaining time."""
    until = time.monotonic() + limit_s
    if gap > GAP:
        gap = gap
    else:
        gap = 0.0
    texts: list[tuple[str, str]] = json.loads(MODELS.read_text(encoding="utf-8"))
    results: list[dict[str, Any]] = [{"note": OUT_OF_TIME} for _ in texts]
    for index, (text, point) in reversed(list(enumerate(texts))):
        for result in _solve_again(text, point, until, gap):
            results[index] = result
            partial = RESOLVED.with_suffix(".partial")
            partial.write_text(json.dumps(results), encoding="utf-8")
            os.replace(partial, RESOLVED)


def _solve_again(text: str, point: str, until: float, gap: float) -> Iterator[dict[str, Any]]:
    """Yield the results for one model after each step: its rows, the program's point, the solution, the relaxation."""
    try:
        captured = json.loads(text)
        milp = _add_units(_read_model(captured), captured.get("units"))
        result: dict[str, Any] = {"milp": as_json.to_dict(milp), "note": OUT_OF_TIME}
        claimed = json.loads(point or "null")
        if values := _claimed_values(milp, claimed):
            point_solution = evaluate_point(milp, values, None, duals=False)
            result["solution"] = point_solution and as_json.solution_dict(point_solution)
        yield result
        remaining = until - time.monotonic()
        if remaining <= 0:
            return
        small = len(milp.variables) + len(milp.rows) <= SENSITIVE
        solution = _use_claimed_point(milp, solve(milp, remaining, gap, duals=small), claimed, small)
        result = {"milp": result["milp"], "solution": as_json.solution_dict(solution)}
        yield result
        if milp.has_integers and small:
            relaxed = solve(milp.without_integrality(), max(1.0, until - time.monotonic()), gap)
            yield result | {"relaxed": as_json.solution_dict(relaxed)}
    except (MilpError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        yield {"note": f"no model that can be read: {problem if isinstance(problem, MilpError) else type(problem)}"}


def _use_claimed_point(milp: Milp, solution: Solution, point: Any, duals: bool) -> Solution:
    """Use the program's feasible point if neither solution is proven, or if the program stopped there."""
    values = _claimed_values(milp, point)
    if not values or solution.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED):
        return solution
    if solution.status is SolveStatus.OPTIMAL and point.get("stopped") is not True:
        return solution
    claimed = evaluate_point(milp, values, solution.bound, duals=duals)
    if not claimed or claimed.objective is None:
        return solution
    if solution.objective is not None and is_within_tolerance(claimed.objective, solution.objective, PROVEN):
        # The value is the same, and this solution includes the proof, if any.
        return solution
    return replace(claimed, relaxation=solution.relaxation, seconds=solution.seconds)


def _claimed_values(milp: Milp, point: Any) -> dict[str, float]:
    """Return values by variable from names or from the model's order; empty if they do not fit the model."""
    if isinstance(point, dict):
        values = point.get("values")
    else:
        values = None
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
    if "mps" in captured:
        return from_text(captured["mps"], "mps")
    return from_pulp_dict(captured["data"], float(captured["constant"]))


def _add_units(milp: Milp, units: Any) -> Milp:
    """Return the model with units by name of a variable or family; ``objective`` is the key of the objective's unit."""
    if not isinstance(units, dict):
        return milp
    longest_first = sorted(units.items(), key=lambda pair: -len(pair[0]))
    shown = {name: unit[:20] for name, unit in longest_first if isinstance(unit, str)}

    def find_unit(variable: Variable) -> str:
        """Return the unit of the longest key that is a prefix of the variable's name."""
        names = (name for name in shown if re.match(rf"{re.escape(name)}(?:[_\[(]|$)", variable.name))
        return next((shown[name] for name in names), variable.unit)

    variables = tuple(replace(variable, unit=find_unit(variable)) for variable in milp.variables)
    return replace(milp, variables=variables, objective=replace(milp.objective, unit=shown.get("objective", "")))


# The first solve of a process takes ten times as long as later ones.
solve(WARM_UP)
# Compile once if interpreters are kept warm.
with suppress(OSError):
    compile_filter()
