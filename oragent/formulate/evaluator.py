"""Run a generated program or checker in a sandboxed process and solve its model again.

The script reads ``request.json`` and ``program.py`` from its folder and prints one line of JSON. The untrusted text
runs only in its own process, and its output is a claim. The captured model is solved here.
"""

# isort: skip  # pins numerical libraries to one thread
import json
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oragent.harness import CandidateError, Guest
from oragent._base.errors import ModellingError
from oragent.formulate import warm  # noqa: F401  # the first solve is done, our solver is in place
from oragent.formulate.data import column_names, map_leaves
from oragent.formulate.model_class import solve_model
from oragent.formulate.model_comparison import CheckRow, find_counterexample, match_sentences
from oragent.formulate.program_call import POSITION, run_program
from oragent.formulate.symbols import check_numbers, check_symbols
from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import read_model
from oragent.modelling.convert.pulp_models import read_variable
from oragent.modelling.data.flat_model import Milp
from oragent.modelling.data.names import to_milp
from oragent.modelling.files import flat_json

# Share of a call's time for the solves of the program, so that the program can still return.
INNER = 0.5
LOG_CHARACTERS = 2000
# Maximum number of characters of the returned JSON.
MAX_RETURNED = 4 << 20
REQUEST, PROGRAM = Path("request.json"), Path("program.py")


def main() -> None:
    """Answer the request."""
    request = json.loads(REQUEST.read_text(encoding="utf-8"))
    try:
        with Guest(PROGRAM, request["function"]) as guest:
            guest.limit_s = request["limit_s"]
            answer = _run_and_solve(guest, request) if request["kind"] == "solve" else _run_checker(guest, request)
            answer["log"] = guest.log[-LOG_CHARACTERS:]
    except CandidateError as problem:
        answer = {"status": str(problem.status), "message": str(problem), "traceback": problem.traceback}
    except (
        ModellingError,
        ArithmeticError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
    ) as problem:
        answer = {"status": "invalid", "message": f"what the program gave back is not usable: {type(problem).__name__}"}
    sys.stdout.write(json.dumps(answer))


def _run_and_solve(guest: Guest, request: dict[str, Any]) -> dict[str, Any]:
    claim = json.loads(guest.run(run_program, request["arguments"], INNER * request["limit_s"], request["gap"]))
    if len(json.dumps(claim["returned"])) > MAX_RETURNED:
        raise CandidateError("returned too much: return only the model's variables", "invalid")
    models, problem = [], ""
    for text in claim["models"]:
        try:
            models.append(_read_captured(text))
        except ModellingError as wrong:
            problem = str(wrong)
    captured = _choose_model(models, column_names(claim["columns"]))
    if captured is None:
        return {
            "status": "unsolved",
            "message": problem or "the program solved no model",
            "returned": claim["returned"],
        }
    names = [variable.name for variable in captured.milp.variables]
    columns = map_leaves(claim["columns"], lambda leaf: _column_name(leaf, names))
    milp = _add_unused_variables(captured.milp, columns, claim["variables"])
    limits = (request["limit_s"], request["gap"], request["solver"], request["threads"])
    try:
        solution = solve_model(milp, *limits, is_schedule=captured.is_schedule)
    except ModellingError as wrong:
        return {"status": "unsupported", "message": str(wrong)}
    return {
        "status": "ok",
        "returned": claim["returned"],
        "columns": columns,
        "milp": flat_json.to_dict(milp),
        "solution": flat_json.solution_dict(solution),
        "models": len(claim["models"]),
        "framework": captured.framework,
        "is_schedule": captured.is_schedule,
    }


@dataclass(frozen=True)
class _Captured:
    """A recorded model with the program's names."""

    milp: Milp
    framework: str
    is_schedule: bool


def _read_captured(text: str) -> _Captured:
    """Read a recorded model.

    Raises:
        ModellingError: It cannot be read, or a part of it cannot be captured.
    """
    read = read_model(text.encode())
    return _Captured(to_milp(assemble(read).model), read.framework, read.is_schedule)


def _column_name(leaf: Any, names: list[str]) -> Any:
    """Return the name of a column that the program returned by its position; None for one that does not exist."""
    if not isinstance(leaf, str) or not leaf.startswith(POSITION):
        return leaf
    position = int(leaf.removeprefix(POSITION))
    return names[position] if 0 <= position < len(names) else None


def _choose_model(models: list[_Captured], names: set[str]) -> _Captured | None:
    """Return the last model that contains returned variables; otherwise the last model."""
    for captured in reversed(models):
        if names & {variable.name for variable in captured.milp.variables}:
            return captured
    if models:
        return models[-1]
    return None


def _add_unused_variables(milp: Milp, columns: Any, variables: dict[str, Any]) -> Milp:
    """Add returned variables that occur in no row and no objective."""
    names = {variable.name for variable in milp.variables}
    more = (read_variable(variables[name]) for name in sorted((column_names(columns) - names) & variables.keys()))
    return replace(milp, variables=(*milp.variables, *more))


def _run_checker(guest: Guest, request: dict[str, Any]) -> dict[str, Any]:
    values, columns, data = request["values"], request["columns"], request["data"]
    answer: dict[str, Any] = {"status": "ok", "entries": [], "comparison": None, "note": "", "sentences": {}}
    if request["point"]:
        answer["entries"] = json.loads(guest.run(check_numbers, values, data))
    if not request["milp"] or not column_names(columns):
        return answer | {"note": "no value of the program is a variable of its model"}
    try:
        rows = [CheckRow.from_entry(entry) for entry in json.loads(guest.run(check_symbols, values, columns, data))]
    except CandidateError as problem:
        if not request["point"]:
            raise
        return answer | {"note": str(problem)}
    milp = flat_json.from_dict(request["milp"])
    answer["sentences"] = match_sentences(milp, rows)
    solution = flat_json.solution_from_dict(request["solution"])
    try:
        answer["comparison"] = asdict(
            find_counterexample(
                milp,
                solution,
                rows,
                column_names(columns),
                request["limit_s"],
                solver=request["solver"],
                threads=request["threads"],
            )
        )
    except ModellingError as problem:
        answer["note"] = str(problem)
    return answer


if __name__ == "__main__":
    main()
