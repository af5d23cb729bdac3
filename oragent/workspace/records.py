"""Records of a run in the format of the public release: an execution record, and a solver record per solved model.

Slacks are right-hand side minus activity, so at most 0 on ``>=``. Duals and reduced costs of integer models are null; a
separate record holds those of the relaxation.
"""

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oragent._base.files import file_stem
from oragent.milp.explanation import Topic, explain_infeasible
from oragent.milp.model import Milp
from oragent.milp.solution import Solution, SolveStatus
from oragent.workspace.layout import FileRole, Workspace
from oragent.workspace.objective import (
    Backing,
    PrintedObjective,
    StopReason,
    find_backing,
    is_within_tolerance,
    parse_objective,
)
from oragent.workspace.reading import finite_number, read_bytes, read_json
from oragent.workspace.runner import ProgramRun, SolvedModel

EXECUTION = "logs/execution_record.json"
# Key of the execution record: hash of the code and data that were run.
INPUTS = "inputs_sha256"
SOLUTION, RELAXATION = ".solution.json", ".lp_relaxation.json"
CONFLICT_S = 20.0
# Maximum number of lines of a remedy and of a conflict.
MOST_PARTS = 20
# Name of the row that a question adds.
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


@dataclass(frozen=True)
class SolverRecord:
    """Record of one solved model."""

    # Name of the model.
    name: str
    # ``Optimal``, ``Infeasible`` and so on. Empty if the record has no status.
    status: str
    # None without a solution.
    objective: float | None
    # Whether the record is only a note on the result of a program's own search, without a model.
    note: bool
    # Value by name of the variable.
    values: Mapping[str, float | None]
    # Right-hand side minus activity, by constraint.
    slacks: Mapping[str, float | None]
    # Dual by constraint. None for integer models.
    duals: Mapping[str, float | None]


@dataclass(frozen=True)
class VersionRecords:
    """All records of one version."""

    # Objective of the execution record. None if the record has no objective.
    objective: float | None
    # Objective in the program's output.
    printed: PrintedObjective
    solutions: tuple[SolverRecord, ...]
    # Records of the relaxations of integer models.
    relaxations: tuple[SolverRecord, ...]

    @property
    def solved_models(self) -> tuple[SolverRecord, ...]:
        """Return the records of solved models, without notes."""
        return tuple(solution for solution in self.solutions if not solution.note)

    @property
    def backing(self) -> Backing:
        """Return the backing of the printed objective; notes do not count."""
        return find_backing(self.printed, [model.objective for model in self.solved_models])


def inputs_hash(files: Mapping[str, Path], prefix: str = "") -> str:
    """Return the hash of a version's code and data by path and bytes, which ties the records of a run to them.

    The prefix is the folder of the version, with ``/``. It is empty if there is only one version.
    """
    total = hashlib.sha256()
    for path in sorted(files):
        if path.startswith((f"{prefix}src/", f"{prefix}data/")):
            content = read_bytes(files[path]).removeprefix(b"\xef\xbb\xbf")
            total.update(f"{path.removeprefix(prefix)}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def are_stale(files: Mapping[str, Path], prefix: str = "") -> bool:
    """Return True if the records of a version were made from other code or data than the present ones.

    Records without a hash are trusted in versions of a set (``original/``, ``revised/``), because these versions never
    run in their folder. In a user's folder they count as stale, because their origin is unknown.
    """
    if not any(path.startswith(f"{prefix}solver_records/") for path in files):
        return False
    execution = files.get(f"{prefix}{EXECUTION}")
    if execution is not None:
        made_of = read_json(execution).get(INPUTS)
    else:
        made_of = None
    if made_of is None:
        return not prefix
    return bool(made_of != inputs_hash(files, prefix))


def read_current(files: Mapping[str, Path]) -> dict[str, Any]:
    """Read the record of the present code and data: of the model with the recorded objective, else the first record.

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


def read_version(workspace: Workspace, version: str) -> VersionRecords | None:
    """Return the records of ``original`` or ``revised``; None if that version has no records."""
    execution = workspace.files.get(f"{version}/{EXECUTION}")
    if execution is None:
        return None
    execution_record = read_json(execution)
    files = {path: file for path, file in workspace.of_role(FileRole.RECORD).items() if path.startswith(f"{version}/")}
    solutions, relaxations = (
        tuple(_read_solution(file, ending) for path, file in files.items() if path.endswith(ending))
        for ending in (SOLUTION, RELAXATION)
    )
    return VersionRecords(
        finite_number(execution_record.get("objective_value")),
        parse_objective(str(execution_record.get("stdout") or "")),
        solutions,
        relaxations,
    )


def _read_solution(file: Path, ending: str) -> SolverRecord:
    record = read_json(file)
    return SolverRecord(
        name=file.name.removesuffix(ending),
        status=str(record.get("pulp_status") or record.get("status") or ""),
        objective=finite_number(record.get("objective_value")),
        note="diagnostic_type" in record,
        values=_read_column(record.get("variables"), "value"),
        slacks=_read_column(record.get("constraints"), "slack"),
        duals=_read_column(record.get("constraints"), "dual_value"),
    )


def _read_column(table: object, key: str) -> dict[str, float | None]:
    """Return one figure of all variables or constraints; empty if a note gives only their number."""
    if not isinstance(table, Mapping):
        return {}
    rows: Mapping[str, Any] = table
    return {name: finite_number(row.get(key)) if isinstance(row, Mapping) else None for name, row in rows.items()}


def write_records(ran: ProgramRun, timed: bool = True, inputs: str = "") -> dict[str, str]:
    """Return the files of a run by path below the version: ``logs/`` and ``solver_records/``.

    Without ``timed``, the files contain no durations, so that equal runs write equal files. ``inputs`` is the hash of
    the code and data that were run; it is empty for records of a set.
    """
    files = {
        "logs/execution_record.json": _dump_json(
            {
                "returncode": ran.code,
                "timed_out": ran.stop is StopReason.TIMEOUT,
                "objective_value": ran.printed_objective.value,
                "stdout": ran.stdout,
                "stderr": ran.stderr,
                "error": ran.reason or None,
                "backing": str(ran.backing),
                **({INPUTS: inputs} if inputs else {}),
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
        files[f"solver_records/{name}.solution.json"] = _dump_json(_solution_record(name, milp, solution))
        files[f"solver_records/{name}.highs.log"] = _log_text(solution)
        if relaxed is not None and relaxed.status.has_point:
            files[f"solver_records/{name}.lp_relaxation.json"] = _dump_json(_relaxation_record(name, milp, relaxed))
    return files


def _name_models(models: tuple[SolvedModel, ...]) -> dict[str, SolvedModel]:
    """Map unique names that are valid file names to models."""
    models_by_name: dict[str, SolvedModel] = {}
    for model in models:
        stem = file_stem(model.milp.name if model.milp else "", "model", allowed="A-Za-z0-9_-", filler="_", limit=60)
        name, number = stem, 1
        while name in models_by_name:
            number += 1
            name = f"{stem}_{number}"
        models_by_name[name] = model
    return models_by_name


def _solution_record(name: str, milp: Milp, solution: Solution) -> dict[str, Any]:
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
    }


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
    """Describe sufficient changes of right-hand sides, and the rows and bounds that conflict.

    After ``most_s`` seconds, the search for further remarks stops.
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
