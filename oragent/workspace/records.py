"""What a run of a program left: its execution record, and one solver record for each model that it solved."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent.workspace.layout import Role, Workspace
from oragent.workspace.objective import Backing, Printed, backing, parse
from oragent.workspace.reading import finite, read_json

__all__ = ["Solution", "VersionRecords", "read_version"]

EXECUTION = "logs/execution_record.json"
SOLUTION, RELAXATION = ".solution.json", ".lp_relaxation.json"


@dataclass(frozen=True)
class Solution:
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
    printed: Printed
    solutions: tuple[Solution, ...]
    relaxations: tuple[Solution, ...]

    @property
    def models(self) -> tuple[Solution, ...]:
        """The records of models that were solved; notes are none."""
        return tuple(solution for solution in self.solutions if not solution.note)

    @property
    def backing(self) -> Backing:
        """What stands behind the objective printed; a note vouches for nothing."""
        return backing(self.printed, [model.objective for model in self.models])


def read_version(workspace: Workspace, version: str) -> VersionRecords | None:
    """The records of ``original`` or ``revised``; None where there are none.

    Raises:
        WorkspaceError: if one is no JSON object.
    """
    execution = workspace.files.get(f"{version}/{EXECUTION}")
    if execution is None:
        return None
    told = read_json(execution)
    files = {path: place for path, place in workspace.of_role(Role.RECORD).items() if path.startswith(f"{version}/")}
    solutions, relaxations = (
        tuple(_solution(place, ending) for path, place in files.items() if path.endswith(ending))
        for ending in (SOLUTION, RELAXATION)
    )
    return VersionRecords(
        finite(told.get("objective_value")), parse(str(told.get("stdout") or "")), solutions, relaxations
    )


def _solution(place: Path, ending: str) -> Solution:
    told = read_json(place)
    return Solution(
        name=place.name.removesuffix(ending),
        status=str(told.get("pulp_status") or told.get("status") or ""),
        objective=finite(told.get("objective_value")),
        note="diagnostic_type" in told,
        values=_column(told.get("variables"), "value"),
        slacks=_column(told.get("constraints"), "slack"),
        duals=_column(told.get("constraints"), "dual_value"),
    )


def _column(table: object, key: str) -> dict[str, float | None]:
    """One figure of all variables or constraints; empty where a note gives only their number."""
    if not isinstance(table, Mapping):
        return {}
    rows: Mapping[str, Any] = table
    return {name: finite(row.get(key)) if isinstance(row, Mapping) else None for name, row in rows.items()}
