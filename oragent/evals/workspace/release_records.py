"""Execution records and solver records of the public release, by version of a question."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent.evals.workspace.printed import Backing, PrintedObjective, find_backing, parse_objective
from oragent.workspace.layout import FileRole, WorkspaceLayout
from oragent.workspace.reading import finite_number, read_json
from oragent.workspace.records import EXECUTION, RELAXATION, SOLUTION


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


def read_version(workspace: WorkspaceLayout, version: str) -> VersionRecords | None:
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
    """Return one field of each variable or constraint; empty if a note gives only their count."""
    if not isinstance(table, Mapping):
        return {}
    rows: Mapping[str, Any] = table
    return {name: finite_number(row.get(key)) if isinstance(row, Mapping) else None for name, row in rows.items()}
