"""Run a generated program or checker in a sandboxed process and solve its model again.

The script reads ``request.json`` and ``program.py`` from its folder and prints one line of JSON. The untrusted text
runs only in its own process, and its output is a claim. The captured model is solved here.
"""

# isort: skip  # pins numerical libraries to one thread
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from oragent.harness import CandidateError, Guest
from oragent._base.errors import ModellingError
from oragent.formulate import warm  # noqa: F401  # the first solve is done, our solver is in place
from oragent.formulate.aims import direct_objectives
from oragent.formulate.data import column_names, map_leaves
from oragent.formulate.model_class import solve_model
from oragent.formulate.model_comparison import CheckRow, find_counterexample, match_sentences
from oragent.formulate.native_scheduling import solve_with_cp_sat
from oragent.formulate.program_call import POSITION, run_program
from oragent.formulate.rules import compare_rules
from oragent.formulate.symbols import check_numbers, check_symbols
from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import ReadModel, read_model
from oragent.modelling.capture.solve_sequence import HeldObjective, join_solves
from oragent.modelling.convert.pulp_models import read_variable
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval
from oragent.modelling.files.model_json import model_dict, model_from_dict
from oragent.modelling.files.solution_json import solution_dict, solution_from_dict

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
    reads, problem = [], ""
    for text, objective in zip(claim["models"], claim["objectives"], strict=True):
        try:
            reads.append((read_model(text.encode()), _finite(objective)))
        except ModellingError as wrong:
            problem = str(wrong)
    captured, problem = _choose_model(reads, column_names(claim["columns"]), problem)
    if captured is None:
        return {
            "status": "unsolved",
            "message": problem or "the program solved no model",
            "returned": claim["returned"],
        }
    names = captured.milp.flat_variable_names
    columns = map_leaves(claim["columns"], lambda leaf: _column_name(leaf, names))
    milp = direct_objectives(_add_unused_variables(captured.milp, columns, claim["variables"]))
    limits = (request["limit_s"], request["gap"], request["solver"], request["threads"])
    try:
        intervals = list(_name_intervals(captured.intervals, names))
        whole = {variable.name for variable in milp.variable_records if variable.is_integer}
        native = None
        if captured.is_schedule and not request["solver"]:
            native = solve_with_cp_sat(milp, whole, limits[0], request["threads"], request["gap"], intervals)
        solution = native or solve_model(milp, *limits, is_schedule=captured.is_schedule)
    except ModellingError as wrong:
        return {"status": "unsupported", "message": str(wrong)}
    return {
        "status": "ok",
        "returned": claim["returned"],
        "columns": columns,
        "milp": model_dict(milp),
        "solution": solution_dict(solution),
        "models": len(claim["models"]),
        "framework": captured.framework,
        "is_schedule": captured.is_schedule,
        "held": [asdict(held) for held in captured.held],
        "intervals": [asdict(interval) for interval in intervals],
    }


@dataclass(frozen=True)
class _Captured:
    """A recorded model with the program's names, and the earlier objectives that it holds."""

    milp: IndexedModel
    framework: str
    is_schedule: bool
    held: tuple[HeldObjective, ...] = ()
    # Intervals whose columns are named by their positions.
    intervals: tuple[PlanInterval, ...] = ()


def _finite(value: Any) -> float | None:
    """Return a claimed objective; None if it is not a finite number."""
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _column_name(leaf: Any, names: list[str]) -> Any:
    """Return the name of a column that the program returned by its position; None for one that does not exist."""
    if not isinstance(leaf, str) or not leaf.startswith(POSITION):
        return leaf
    position = int(leaf.removeprefix(POSITION))
    return names[position] if 0 <= position < len(names) else None


def _name_intervals(intervals: tuple[PlanInterval, ...], names: list[str]) -> Iterator[PlanInterval]:
    """Yield the intervals with the names of their columns."""
    for interval in intervals:
        start, end = (
            replace(side, terms={names[int(column)]: size for column, size in side.terms.items()})
            for side in (interval.start, interval.end)
        )
        conditions = {names[int(column)]: value for column, value in interval.conditions.items()}
        yield replace(interval, start=start, end=end, conditions=conditions)


def _choose_model(
    reads: list[tuple[ReadModel, float | None]], names: set[str], problem: str
) -> tuple[_Captured | None, str]:
    """Return the last model that contains returned variables, otherwise the last model, and why others are not used.

    Objectives of earlier solves that the model holds belong to it.
    """
    usable: list[tuple[int, IndexedModel]] = []
    for number, (read, _) in enumerate(reads):
        try:
            usable.append((number, assemble(read).model))
        except ModellingError as wrong:
            problem = str(wrong)
    if not usable:
        return None, problem
    fitting = [entry for entry in usable if names & set(entry[1].flat_variable_names)]
    number, milp = (fitting or usable)[-1]
    read = reads[number][0]
    joined = join_solves([each for each, _ in reads[: number + 1]], [claim for _, claim in reads[: number + 1]])
    if joined.held:
        milp = assemble(joined.read).model
    return _Captured(milp, read.framework, read.is_schedule, joined.held, read.intervals), problem


def _add_unused_variables(milp: IndexedModel, columns: Any, variables: dict[str, Any]) -> IndexedModel:
    """Add returned variables that occur in no row and no objective."""
    names = set(milp.flat_variable_names)
    more = (read_variable(variables[name]) for name in sorted((column_names(columns) - names) & variables.keys()))
    return milp.with_records(variables=(*milp.variable_records, *more))


def _run_checker(guest: Guest, request: dict[str, Any]) -> dict[str, Any]:
    values, columns, data = request["values"], request["columns"], request["data"]
    answer: dict[str, Any] = {
        "status": "ok",
        "entries": [],
        "comparison": None,
        "note": "",
        "sentences": {},
        "rules": [],
    }
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
    milp = model_from_dict(request["milp"])
    answer["sentences"] = match_sentences(milp, rows)
    if request["compares_rules"]:
        try:
            rules = compare_rules(milp, rows, column_names(columns), request["limit_s"])
            answer["rules"] = [asdict(rule) for rule in rules]
        except ModellingError as problem:
            answer["note"] = str(problem)
    solution = solution_from_dict(request["solution"])
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
