"""What a run of a program left: its execution record, and one solver record for each model that it solved."""

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.workspace.layout import FileRole, Workspace
from oragent.workspace.objective import Backing, PrintedObjective, find_backing, parse_objective
from oragent.workspace.reading import decode_text, finite_number, read_bytes, read_json

EXECUTION = "logs/execution_record.json"
INPUTS = "inputs_sha256"  # key of the execution record: hash of the code and data that were run
SOLUTION, RELAXATION = ".solution.json", ".lp_relaxation.json"


@dataclass(frozen=True)
class SolverRecord:
    """One solver record.

    Attributes:
        name: Name of the model.
        status: Status, ``Optimal``, ``Infeasible`` and so on; empty where the record names none.
        objective: Objective at the solution; None without one.
        note: Whether it only notes what a program found by a search of its own, without a model.
        values: Values of the variables, by name.
        slacks: Right side minus activity of the constraints, by name.
        duals: Dual values of the constraints, by name; None for integer models.
    """

    name: str
    status: str
    objective: float | None
    note: bool
    values: Mapping[str, float | None]
    slacks: Mapping[str, float | None]
    duals: Mapping[str, float | None]


@dataclass(frozen=True)
class VersionRecords:
    """All records of one version.

    Attributes:
        objective: Objective of the execution record; None where it has none.
        printed: Objective in its output.
        solutions: Records of the solver.
        relaxations: Records of linear relaxations, for integer models.
    """

    objective: float | None
    printed: PrintedObjective
    solutions: tuple[SolverRecord, ...]
    relaxations: tuple[SolverRecord, ...]

    @property
    def solved_models(self) -> tuple[SolverRecord, ...]:
        """The records of models that were solved; notes are none."""
        return tuple(solution for solution in self.solutions if not solution.note)

    @property
    def backing(self) -> Backing:
        """What stands behind the objective printed; a note vouches for nothing."""
        return find_backing(self.printed, [model.objective for model in self.solved_models])


def inputs_hash(files: Mapping[str, Path], prefix: str = "") -> str:
    """Hash of the code and data of a version, by path and text; records of a run belong to it.

    Args:
        files: Files of the workspace, by path below it.
        prefix: Folder of the version, with ``/``; empty where there is one version alone.

    Raises:
        WorkspaceError: if a file cannot be read.
    """
    total = hashlib.sha256()
    for path in sorted(files):
        if path.startswith((f"{prefix}src/", f"{prefix}data/")):
            content = read_bytes(files[path])
            with suppress(WorkspaceError):  # of what is no text the bytes count
                content = decode_text(content, path).encode()
            total.update(f"{path.removeprefix(prefix)}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def are_stale(files: Mapping[str, Path], prefix: str = "") -> bool:
    """Whether the records of a version were made of other code or data than there are now.

    Records without a hash are taken as they are in versions of a set (``original/``, ``revised/``), which are never
    run in their folder; in a person's folder nobody knows what they are of.

    Args:
        files: Files of the workspace, by path below it.
        prefix: Folder of the version, with ``/``.

    Raises:
        WorkspaceError: if a file cannot be read.
    """
    if not any(path.startswith(f"{prefix}solver_records/") for path in files):
        return False
    execution = files.get(f"{prefix}{EXECUTION}")
    made_of = read_json(execution).get(INPUTS) if execution is not None else None
    if made_of is None:
        return not prefix
    return bool(made_of != inputs_hash(files, prefix))


def read_version(workspace: Workspace, version: str) -> VersionRecords | None:
    """The records of ``original`` or ``revised``; None where there are none.

    Raises:
        WorkspaceError: if one is no JSON object.
    """
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
    """One figure of all variables or constraints; empty where a note gives only their number."""
    if not isinstance(table, Mapping):
        return {}
    rows: Mapping[str, Any] = table
    return {name: finite_number(row.get(key)) if isinstance(row, Mapping) else None for name, row in rows.items()}
