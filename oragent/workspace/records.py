"""Records of a run in the format of the public release: an execution record, and a solver record per solved model.

A slack is the right-hand side minus the activity, so it is at most 0 for ``>=``. Duals and reduced costs of integer
models are null; a separate record has those of the relaxation.
"""

import hashlib
import json
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from oragent._base.files import file_stem
from oragent.milp.capture.program import ProgramOutcome
from oragent.milp.explanation import Topic, explain_infeasible
from oragent.milp.model import Milp
from oragent.milp.solution import Solution, SolveStatus
from oragent.workspace.objective import is_within_tolerance
from oragent.workspace.reading import finite_number, read_bytes, read_json
from oragent.workspace.runner import ProgramRun, SolvedModel

EXECUTION = "logs/execution_record.json"
# Key of the execution record: hashes of the files that were used.
INPUTS = "inputs_sha256"
RECORDS = ("logs/", "solver_records/")
SOLUTION, RELAXATION = ".solution.json", ".lp_relaxation.json"
CONFLICT_S = 20.0
# Maximum number of lines of a remedy and of a conflict.
MOST_PARTS = 20
# Name of the row that a question adds to the model.
TRIAL = "what is asked for"
CODES = {
    SolveStatus.OPTIMAL: 2,
    SolveStatus.INFEASIBLE: 3,
    SolveStatus.UNBOUNDED: 5,
    SolveStatus.FEASIBLE: 9,
    SolveStatus.UNKNOWN: 1,
}
PULP = {
    SolveStatus.OPTIMAL: "Optimal",
    SolveStatus.INFEASIBLE: "Infeasible",
    SolveStatus.UNBOUNDED: "Unbounded",
    SolveStatus.FEASIBLE: "Not Solved",
    SolveStatus.UNKNOWN: "Undefined",
}


def hash_inputs(files: Mapping[str, Path], opened: Collection[str]) -> dict[str, str]:
    """Return the hash of each file that a program opened. The entry with an empty path is the hash of all file names.

    The hashes show whether records belong to the present files. Documents, records and answers do not count as inputs.
    """
    inputs = [path for path in files if not path.startswith((*RECORDS, "docs/", "answers/", "requests/"))]
    hashes = {"": hashlib.sha256("\n".join(sorted(inputs)).encode(errors="surrogateescape")).hexdigest()}
    for path in inputs:
        if path in opened:
            hashes[path] = hashlib.sha256(read_bytes(files[path])).hexdigest()
    return hashes


def are_stale(files: Mapping[str, Path]) -> bool:
    """Return True if records exist and were made from other code or data than the present ones.

    Records of unknown inputs count as stale.
    """
    if not any(path.startswith("solver_records/") for path in files):
        return False
    execution = files.get(EXECUTION)
    made_of = read_json(execution).get(INPUTS) if execution is not None else None
    return not isinstance(made_of, dict) or made_of != hash_inputs(files, made_of)


def read_current(files: Mapping[str, Path]) -> dict[str, Any]:
    """Read the record of the present code and data: the one with the recorded objective, else the first one.

    Return an empty mapping if no record exists, or if code or data have changed since.
    """
    paths = [path for path in files if path.startswith("solver_records/") and path.endswith(SOLUTION)]
    if not paths or are_stale(files):
        return {}
    printed = finite_number(read_json(files[EXECUTION]).get("objective_value"))
    records = [read_json(files[path]) for path in paths]
    values = [finite_number(record.get("objective_value")) for record in records]
    fitting = [
        record
        for record, value in zip(records, values, strict=True)
        if printed is not None and value is not None and is_within_tolerance(value, printed, 1e-6)
    ]
    return (fitting or records)[0]


def write_records(ran: ProgramRun, timed: bool = True, inputs: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the files that record a run, in ``logs/`` and ``solver_records/``, by path below the version.

    Without ``timed``, the files contain no durations, so that equal runs write equal files. ``inputs`` are the hashes
    of the files that were used; None for records of a benchmark set.
    """
    files = {
        "logs/execution_record.json": _dump_json(
            {
                "returncode": ran.code,
                "timed_out": ran.stop is ProgramOutcome.TIME,
                "objective_value": ran.objective,
                "stdout": ran.stdout,
                "stderr": ran.stderr,
                "error": ran.reason or None,
                **({INPUTS: dict(inputs)} if inputs else {}),
            }
        ),
        "logs/solver_output.log": ran.stdout,
    }
    for name, model in _name_models(ran.models).items():
        milp, solution, relaxed = model.milp, model.solution, model.relaxed
        if milp is None or solution is None:
            continue
        if not timed:
            solution, relaxed = replace(solution, seconds=0.0), relaxed and replace(relaxed, seconds=0.0)
        files[f"solver_records/{name}.solution.json"] = _dump_json(_solution_record(name, model, milp, solution))
        files[f"solver_records/{name}.highs.log"] = _log_text(solution)
        if relaxed is not None and relaxed.status.has_point:
            files[f"solver_records/{name}.lp_relaxation.json"] = _dump_json(_relaxation_record(name, milp, relaxed))
    return files


def _name_models(models: tuple[SolvedModel, ...]) -> dict[str, SolvedModel]:
    """Map unique names, which are valid file names, to models."""
    models_by_name: dict[str, SolvedModel] = {}
    for model in models:
        stem = file_stem(model.milp.name if model.milp else "", "model", allowed="A-Za-z0-9_-", filler="_", limit=60)
        name, number = stem, 1
        while name in models_by_name:
            number += 1
            name = f"{stem}_{number}"
        models_by_name[name] = model
    return models_by_name


def _solution_record(name: str, model: SolvedModel, milp: Milp, solution: Solution) -> dict[str, Any]:
    whole, is_infeasible = milp.has_integers, solution.status is SolveStatus.INFEASIBLE
    return {
        "solver": "highs",
        "model_name": name,
        "status_code": CODES[solution.status],
        "status": str(CODES[solution.status]),
        "pulp_status": PULP[solution.status],
        "is_mip": whole,
        "objective_value": solution.objective,
        **({"objective_unit": milp.objective.unit} if milp.objective.unit else {}),
        "objective_bound": solution.bound,
        "mip_gap": solution.gap,
        **({"conflict": list(describe_conflict(milp, CONFLICT_S))} if is_infeasible else {}),
        "runtime": round(solution.seconds, 6),
        "node_count": None,
        "iteration_count": None,
        **_record_columns(milp, solution, {} if whole else solution.duals, {} if whole else solution.reduced_costs),
        "indexed_names": _indexed_names(model, milp),
    }


def _indexed_names(model: SolvedModel, milp: Milp) -> dict[str, str]:
    """Return the names of variables in families as the program's name with indices in brackets."""
    if model.indexed is None:
        return {}
    pairs = zip(milp.variables, model.indexed.column_names, strict=True)
    return {variable.name: name for variable, name in pairs if variable.name != name}


def _relaxation_record(name: str, milp: Milp, relaxed: Solution) -> dict[str, Any]:
    return {
        "solver": "highs",
        "model_name": f"{name}_lp_relaxation",
        "diagnostic_type": "lp_relaxation",
        "status_code": CODES[relaxed.status],
        "objective_value": relaxed.objective,
        "runtime": round(relaxed.seconds, 6),
        **_record_columns(milp, relaxed, relaxed.duals, relaxed.reduced_costs),
    }


def _record_columns(
    milp: Milp, solution: Solution, duals: Mapping[str, float], reduced: Mapping[str, float]
) -> dict[str, Any]:
    values, activities = solution.values, solution.activities
    return {
        "variables": {
            variable.name: {
                "value": values.get(variable.name),
                "reduced_cost": reduced.get(variable.name),
                **({"unit": variable.unit} if variable.unit else {}),
            }
            for variable in milp.variables
        },
        "constraints": {
            row.name: {
                "sense": str(row.relation),
                "rhs": row.rhs,
                "slack": row.rhs - activities[row.name] if row.name in activities else None,
                "dual_value": duals.get(row.name),
            }
            for row in milp.rows
        },
    }


def _log_text(solution: Solution) -> str:
    lines = [
        solution.solver,
        "threads 1",
        f"status {solution.standing}",
        f"objective {solution.objective}",
        f"bound {solution.bound}",
        f"gap {solution.gap}",
        f"seconds {solution.seconds:.3f}",
        solution.note,
    ]
    return "\n".join(filter(None, lines)) + "\n"


def _dump_json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def describe_conflict(milp: Milp, most_s: float | None = None) -> Iterator[str]:
    """Describe changes of right-hand sides that make the model feasible, and the rows and bounds that conflict.

    The search for further conflicts ends after ``most_s`` seconds.
    """
    # The right-hand side of the trial row must not change.
    is_trial = any(row.name == TRIAL for row in milp.rows)
    if most_s is None:
        until = None
    else:
        until = time.monotonic() + most_s
    remarks = []
    for remark in explain_infeasible(milp, CONFLICT_S if most_s is None else min(CONFLICT_S, most_s)):
        remarks.append(remark)
        if until is not None and time.monotonic() > until:
            break
    remedy = [remark.text for remark in remarks if remark.topic is Topic.NEAREST and not is_trial]
    parts = [remark.text for remark in remarks if remark.topic is not Topic.NEAREST]
    for texts, word in ((remedy, "changes"), (parts, "parts of the conflict")):
        yield from (f"- {text}" for text in texts[:MOST_PARTS])
        if len(texts) > MOST_PARTS:
            yield f"- and {len(texts) - MOST_PARTS} more {word}"
