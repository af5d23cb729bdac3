"""Labels of build and revise: the objective that the right model has, kept where no agent looks."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.layout import Mode
from oragent.workspace.reading import read_text, shorten, shorten_path

TOLERANCE = 0.01  # relative, of the public release
HEADER = ("workspace_id", "task_type", "instance_number", "instance_id", "reference_objective", "relative_tolerance")


@dataclass(frozen=True)
class Reference:
    """The label of one build or revise instance.

    Attributes:
        workspace_id: Id of the workspace: ``or_space_007_build`` in the public release.
        mode: Mode of the instance, build or revise.
        number: Number of the instance.
        instance_id: Id of the source that the instance comes from.
        objective: Objective of the reference program, in the units of the instance.
        tolerance: Relative error up to which a value passes.
    """

    workspace_id: str
    mode: Mode
    number: int
    instance_id: str
    objective: float
    tolerance: float = TOLERANCE


def workspace_id(mode: Mode, number: int) -> str:
    """How the public release names an instance."""
    return f"or_space_{number:03d}_{mode}"


def read_references(path: Path) -> Mapping[str, Reference]:
    """Read a file of reference objectives, in the format of the public release.

    Returns:
        References by workspace id.

    Raises:
        WorkspaceError: if it is no such table, holds an id twice, or a number that is none.
    """
    table = tables.read_strict(read_text(path), path)
    missing = [name for name in HEADER if name not in table.header]
    if missing:
        raise WorkspaceError(f"{shorten_path(path)} has no column {missing[0]}; expected {', '.join(HEADER)}")
    found: dict[str, Reference] = {}
    for line, row in enumerate(table.rows, 2):
        reference = _reference(dict(zip(table.header, row, strict=True)), f"{shorten_path(path)}:{line}")
        if reference.workspace_id in found:
            raise WorkspaceError(f"{shorten_path(path)}:{line} gives {shorten(reference.workspace_id)} a second time; "
                                 "expected one reference an instance")  # fmt: skip
        found[reference.workspace_id] = reference
    return found


def _reference(row: dict[str, str], place: str) -> Reference:
    objective, tolerance = (tables.parse_number(row[name]) for name in HEADER[4:])
    if objective is None or not math.isfinite(objective):
        raise WorkspaceError(f"{place}: reference_objective is {shorten(row[HEADER[4]])!r}; expected a finite number")
    if tolerance is None or not 0 < tolerance < 1:
        raise WorkspaceError(f"{place}: relative_tolerance is {shorten(row[HEADER[5]])!r}; expected a number in (0, 1)")
    if row["task_type"] not in {Mode.BUILD, Mode.REVISE}:
        raise WorkspaceError(f"{place}: task_type is {shorten(row['task_type'])!r}; expected build or revise")
    if not (row["instance_number"].isascii() and row["instance_number"].isdigit()):
        raise WorkspaceError(
            f"{place}: instance_number is {shorten(row['instance_number'])!r}; expected a whole number"
        )
    return Reference(
        row["workspace_id"],
        Mode(row["task_type"]),
        int(row["instance_number"]),
        row["instance_id"],
        objective,
        tolerance,
    )
