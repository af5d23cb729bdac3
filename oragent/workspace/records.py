"""Records of a run: its execution record, and one solver record for each solved model."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent.workspace.layout import FileRole, Workspace
from oragent.workspace.objective import Backing, PrintedObjective, find_backing, is_within_tolerance, parse_objective
from oragent.workspace.reading import finite_number, read_bytes, read_json

EXECUTION = "logs/execution_record.json"
INPUTS = "inputs_sha256"  # key of the execution record: hash of the code and data that were run
SOLUTION, RELAXATION = ".solution.json", ".lp_relaxation.json"


@dataclass(frozen=True)
class SolverRecord:
    """One solver record."""

    name: str  # of the model
    status: str  # ``Optimal``, ``Infeasible`` and so on; empty where the record names none
    objective: float | None  # None without a solution
    note: bool  # whether it only notes what a program found by a search of its own, without a model
    values: Mapping[str, float | None]  # of the variables, by name
    slacks: Mapping[str, float | None]  # right side minus activity, by constraint
    duals: Mapping[str, float | None]  # by constraint; None for integer models


@dataclass(frozen=True)
class VersionRecords:
    """All records of one version."""

    objective: float | None  # of the execution record; None where it has none
    printed: PrintedObjective  # in its output
    solutions: tuple[SolverRecord, ...]
    relaxations: tuple[SolverRecord, ...]  # of integer models

    @property
    def solved_models(self) -> tuple[SolverRecord, ...]:
        """The records of models that were solved; notes are none."""
        return tuple(solution for solution in self.solutions if not solution.note)

    @property
    def backing(self) -> Backing:
        """Backing of the printed objective; a note does not count."""
        return find_backing(self.printed, [model.objective for model in self.solved_models])


def inputs_hash(files: Mapping[str, Path], prefix: str = "") -> str:
    """Hash of the code and data of a version, by path and bytes; records of a run belong to it.

    The prefix is the folder of the version, with ``/``; empty where there is one version alone.
    """
    total = hashlib.sha256()
    for path in sorted(files):
        if path.startswith((f"{prefix}src/", f"{prefix}data/")):
            content = read_bytes(files[path]).removeprefix(b"\xef\xbb\xbf")
            total.update(f"{path.removeprefix(prefix)}\0{hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()


def are_stale(files: Mapping[str, Path], prefix: str = "") -> bool:
    """Return True if the records of a version were made from other code or data than the present ones.

    Records without a hash are taken as they are in versions of a set (``original/``, ``revised/``), which are never
    run in their folder; in a person's folder nobody knows what they are of.
    """
    if not any(path.startswith(f"{prefix}solver_records/") for path in files):
        return False
    execution = files.get(f"{prefix}{EXECUTION}")
    made_of = read_json(execution).get(INPUTS) if execution is not None else None
    if made_of is None:
        return not prefix
    return bool(made_of != inputs_hash(files, prefix))


def read_current(files: Mapping[str, Path]) -> dict[str, Any]:
    """Read the record of the present code and data: that of the model with the recorded objective, else the first.

    Empty where there is none, or where code or data have changed since.
    """
    paths = [path for path in files if path.startswith("solver_records/") and path.endswith(SOLUTION)]
    if not paths or are_stale(files):
        return {}
    printed = finite_number(read_json(files[EXECUTION]).get("objective_value"))
    records = [read_json(files[path]) for path in paths]
    values = [finite_number(record.get("objective_value")) for record in records]
    fitting = [record for record, value in zip(records, values, strict=True)
               if printed is not None and value is not None and is_within_tolerance(value, printed, 1e-6)]  # fmt: skip
    return (fitting or records)[0]


def read_version(workspace: Workspace, version: str) -> VersionRecords | None:
    """The records of ``original`` or ``revised``; None where there are none."""
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
