"""Solve again, apart from everybody, the models that a program left: what it said of them is not used.

It reads ``models.json`` from its folder and leaves ``resolved.json``.
"""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent.errors import MilpError
from oragent.milp import as_json
from oragent.milp.as_pulp import from_pulp_dict
from oragent.milp.as_text import from_text
from oragent.milp.model import Kind, Milp, Objective, Relation, Row, Sense, Variable
from oragent.milp.solving import solve

__all__ = ["MODELS", "RESOLVED", "main"]

MODELS, RESOLVED = Path("models.json"), Path("resolved.json")
SENSITIVE = 4000  # variables and rows up to which duals and ranges are computed


def main(limit_s: float) -> None:
    """Solve all models, the last one first; each has what is left of the time."""
    until = time.monotonic() + limit_s
    found = [_resolved(text, until) for text in reversed(json.loads(MODELS.read_text(encoding="utf-8")))]
    RESOLVED.write_text(json.dumps(found[::-1]), encoding="utf-8")


def _resolved(text: str, until: float) -> dict[str, Any]:
    try:
        milp = _read(json.loads(text))
        left = until - time.monotonic()
        if left <= 0:
            return {"milp": as_json.to_dict(milp), "note": "not solved again: no time was left"}
        small = len(milp.variables) + len(milp.rows) <= SENSITIVE
        found = {"milp": as_json.to_dict(milp)}
        found["solution"] = as_json.solution_dict(solve(milp, left, duals=small))
        if milp.has_integers and small:
            found["relaxed"] = as_json.solution_dict(solve(_relaxed(milp), max(1.0, until - time.monotonic())))
        return found
    except (MilpError, KeyError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        return {"note": f"no model that can be read: {problem if isinstance(problem, MilpError) else type(problem)}"}


def _read(kept: dict[str, Any]) -> Milp:
    if "milp" in kept:
        return as_json.from_dict(kept["milp"])
    return from_text(kept["mps"], "mps") if "mps" in kept else from_pulp_dict(kept["data"], float(kept["constant"]))


def _relaxed(milp: Milp) -> Milp:
    return replace(milp, variables=tuple(replace(one, kind=Kind.CONTINUOUS) for one in milp.variables))


WARM = Milp(
    (Variable("x", 0, 5, Kind.INTEGER), Variable("y", 0, 5)),
    (Row("limit", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 7.5),),
    Objective({"x": 1.0, "y": 1.0}),
    Sense.MAXIMIZE,
)
solve(WARM)  # the first solve of a process takes ten times as long as the next ones
