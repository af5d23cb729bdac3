"""Run a generated program, or a checker, in a guest, and solve what it modelled again: a script, one run a request.

It reads ``request.json`` and ``program.py`` from its folder and prints its answer, one line of JSON. The text of the
stranger lives in the guest alone, whose output goes elsewhere; what that says is a claim. The model that was captured
is solved here, and its values are reported.
"""

from oragent.harness import CandidateError, Guest  # isort: skip  # pins numerical libraries to one thread
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent._base.errors import MilpError
from oragent.formulate import beside, warm  # noqa: F401  # the first solve is done, our solver is in place
from oragent.formulate.matching import sentences_behind
from oragent.formulate.witness import CheckRow, counterexample, wire
from oragent.milp import as_json
from oragent.milp.as_pulp import from_pulp_dict
from oragent.milp.model import Milp, Variable, VariableKind
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import solve
from oragent.milp.wellformed import INFINITY

INNER = 0.5  # of the time of a call: for the solves of the program itself, so that it can return what it has
LOG_CHARACTERS = 2000
MOST_RETURNED = 4 << 20  # characters of JSON
REQUEST, PROGRAM = Path("request.json"), Path("program.py")


def main() -> None:
    """Answer the request."""
    request = json.loads(REQUEST.read_text(encoding="utf-8"))
    try:
        with Guest(PROGRAM, request["function"]) as guest:
            guest.limit_s = request["limit_s"]
            found = _solved(guest, request) if request["kind"] == "solve" else _checked(guest, request)
            found["log"] = guest.log[-LOG_CHARACTERS:]
    except CandidateError as problem:
        found = {"status": str(problem.status), "message": str(problem), "traceback": problem.traceback}
    except (MilpError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as problem:
        found = {"status": "invalid", "message": f"what the program gave back is not usable: {type(problem).__name__}"}
    sys.stdout.write(json.dumps(found))


def _solved(guest: Guest, request: dict[str, Any]) -> dict[str, Any]:
    claim = json.loads(guest.run(beside.solve, request["arguments"], INNER * request["limit_s"], request["gap"]))
    if len(json.dumps(claim["returned"])) > MOST_RETURNED:
        raise CandidateError("returned too much: return the model's variables and no more", "invalid")
    models, problem = [], ""
    for one in claim["models"]:
        try:
            models.append(from_pulp_dict(one["data"], one["constant"]))
        except MilpError as wrong:
            problem = str(wrong)
    milp = _meant(models, _names(claim["columns"]))
    if milp is None:
        return {
            "status": "unsolved",
            "message": problem or "the program solved no model",
            "returned": claim["returned"],
        }
    milp = _with(milp, claim["columns"], claim["variables"])
    solution = solve(milp, request["limit_s"], request["gap"], duals=False)
    return {
        "status": "ok",
        "returned": claim["returned"],
        "columns": claim["columns"],
        "milp": as_json.to_dict(milp),
        "solution": as_json.solution_dict(solution),
        "models": len(claim["models"]),
    }


def _meant(models: list[Milp], names: set[str]) -> Milp | None:
    """Of several models the last that has returned variables; else the last."""
    for milp in reversed(models):
        if names & {variable.name for variable in milp.variables}:
            return milp
    return models[-1] if models else None


def _with(milp: Milp, columns: Any, variables: dict[str, Any]) -> Milp:
    """The model with the returned variables that nothing in it mentions."""
    known = {variable.name for variable in milp.variables}
    more = []
    for name in sorted(_names(columns) - known):
        low, high, kind = variables[name]
        low, high = -INFINITY if low is None else low, INFINITY if high is None else high
        more.append(
            Variable(name, low, high, VariableKind.CONTINUOUS if kind == "Continuous" else VariableKind.INTEGER)
        )
    return replace(milp, variables=(*milp.variables, *more))


def _names(columns: Any) -> set[str]:
    if isinstance(columns, str):
        return {columns}
    inside = columns.values() if isinstance(columns, dict) else columns if isinstance(columns, list) else ()
    return {name for item in inside for name in _names(item)}


def _checked(guest: Guest, request: dict[str, Any]) -> dict[str, Any]:
    values, columns, data = request["values"], request["columns"], request["data"]
    found: dict[str, Any] = {"status": "ok", "entries": [], "witness": None, "note": "", "sentences": {}}
    if request["point"]:
        found["entries"] = json.loads(guest.run(beside.check_numbers, values, data))
    if not request["milp"] or not _names(columns):
        return found | {"note": "no value of the program is a variable of its model"}
    try:
        rows = [CheckRow.of(one) for one in json.loads(guest.run(beside.check_symbols, values, columns, data))]
    except CandidateError as problem:
        if not request["point"]:
            raise
        return found | {"note": str(problem)}
    milp = as_json.from_dict(request["milp"])
    found["sentences"] = sentences_behind(milp, rows)
    known = request["solution"]
    solution = Solution(SolveStatus(known["status"]), objective=known["objective"], values=known["values"])
    try:
        found["witness"] = wire(counterexample(milp, solution, rows, _names(columns), request["limit_s"]))
    except MilpError as problem:
        found["note"] = str(problem)
    return found


if __name__ == "__main__":
    main()
