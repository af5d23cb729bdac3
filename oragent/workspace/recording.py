"""Write what a run came to as the public release does: an execution record, and one solver record a model.

Slacks are right side minus activity, so at most 0 on ``>=``; duals and reduced costs of integer models are null, and
those of their relaxation stand in a record of its own.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from oragent._base.files import file_stem
from oragent.milp.model import Milp
from oragent.milp.solution import Solution, SolveStatus
from oragent.workspace.explaining import describe_conflict
from oragent.workspace.objective import StopReason
from oragent.workspace.records import INPUTS
from oragent.workspace.runner import ProgramRun, SolvedModel

MOST_S = 20.0  # for the conflict of an infeasible model
CODES = {
    SolveStatus.OPTIMAL: 2,
    SolveStatus.INFEASIBLE: 3,
    SolveStatus.UNBOUNDED: 5,
    SolveStatus.FEASIBLE: 9,
    SolveStatus.UNKNOWN: 1,
}
PULP = {SolveStatus.OPTIMAL: "Optimal", SolveStatus.INFEASIBLE: "Infeasible", SolveStatus.UNBOUNDED: "Unbounded",
        SolveStatus.FEASIBLE: "Not Solved", SolveStatus.UNKNOWN: "Undefined"}  # fmt: skip


def write_records(ran: ProgramRun, timed: bool = True, inputs: str = "") -> dict[str, str]:
    """The files of a run, by path below the version: ``logs/`` and ``solver_records/``.

    Without ``timed`` they do not say how long it took, so that two runs leave the same. ``inputs`` is the hash of the
    code and data that were run; empty for records of a set.
    """
    files = {
        "logs/execution_record.json": _dump_json({
            "returncode": ran.code, "timed_out": ran.stop is StopReason.TIMEOUT,
            "objective_value": ran.printed_objective.value,
            "stdout": ran.stdout, "stderr": ran.stderr, "error": ran.reason or None, "backing": str(ran.backing),
            **({INPUTS: inputs} if inputs else {}),
        }),
        "logs/solver_output.log": ran.stdout,
    }  # fmt: skip
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
    """Models by names that files can have, each once."""
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
    whole = milp.has_integers
    return {
        "solver": "highs", "model_name": name, "status_code": CODES[solution.status],
        "status": str(CODES[solution.status]), "pulp_status": PULP[solution.status], "is_mip": whole,
        "objective_value": solution.objective,
        **({"objective_unit": milp.objective.unit} if milp.objective.unit else {}),
        "objective_bound": solution.bound, "mip_gap": solution.gap,
        **({"conflict": list(describe_conflict(milp, MOST_S))} if solution.status is SolveStatus.INFEASIBLE else {}),
        "runtime": round(solution.seconds, 6), "node_count": None, "iteration_count": None,
        **_record_columns(milp, solution, {} if whole else solution.duals, {} if whole else solution.reduced_costs),
    }  # fmt: skip


def _relaxation_record(name: str, milp: Milp, relaxed: Solution) -> dict[str, Any]:
    return {
        "solver": "highs", "model_name": f"{name}_lp_relaxation", "diagnostic_type": "lp_relaxation",
        "status_code": CODES[relaxed.status], "objective_value": relaxed.objective,
        "runtime": round(relaxed.seconds, 6), **_record_columns(milp, relaxed, relaxed.duals, relaxed.reduced_costs),
    }  # fmt: skip


def _record_columns(
    milp: Milp, solution: Solution, duals: Mapping[str, float], reduced: Mapping[str, float]
) -> dict[str, Any]:
    values, activities = solution.values, solution.activities
    return {
        "variables": {
            variable.name: {"value": values.get(variable.name), "reduced_cost": reduced.get(variable.name),
                            **({"unit": variable.unit} if variable.unit else {})}
            for variable in milp.variables
        },
        "constraints": {row.name: {
            "sense": str(row.relation), "rhs": row.rhs,
            "slack": row.rhs - activities[row.name] if row.name in activities else None,
            "dual_value": duals.get(row.name),
        } for row in milp.rows},
    }  # fmt: skip


def _log_text(solution: Solution) -> str:
    lines = [
        solution.solver, "threads 1", f"status {solution.standing}", f"objective {solution.objective}",
        f"bound {solution.bound}", f"gap {solution.gap}", f"seconds {solution.seconds:.3f}", solution.note,
    ]  # fmt: skip
    return "\n".join(filter(None, lines)) + "\n"


def _dump_json(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
