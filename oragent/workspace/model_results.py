"""Results of the verbs on revisions, as typed data; ``--json`` prints them."""

from typing import Literal

from pydantic import Field

from oragent.modelling.data.display import plain
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.results import (
    AnyResult,
    DiffEntry,
    Figure,
    Moved,
    ObjectiveChange,
    ResultPart,
    StageOptimum,
)


class Revision(ResultPart):
    """Files from which a model was made."""

    # Revision as named; ``.`` for the working tree.
    name: str
    # Id of the commit. Empty for the working tree and single files.
    commit: str = ""
    # Path of the program or model.
    program: str = ""
    # Name and version of the library that solved the model. Empty for a model file.
    framework: str = ""


class VerbResult(ResultPart):
    """Base of all results of verbs."""

    # Result of the check; for verbs without a check, True if the model has a solution.
    ok: bool = True
    warnings: tuple[str, ...] = ()


class RunResult(VerbResult):
    """Result of a program or model file that was run and solved."""

    verb: Literal["run"] = "run"
    revision: Revision
    status: str
    # Optimum of the most important objective.
    objective: Figure
    sense: str
    # Optima of several objectives, the most important first; empty for a single one.
    stages: tuple[StageOptimum, ...] = ()
    variables: int
    rows: int
    # Comparison of the program's point with an independent solution. Empty for a model file.
    verdict: str = ""
    reason: str = ""
    limits: SolveLimits = SolveLimits()


class LinesResult(VerbResult):
    """Results of operations on the model of a revision, in order."""

    verb: str
    revision: Revision
    results: tuple[AnyResult, ...]


class WhatifResult(VerbResult):
    """Result of the program with other values in some cells of its data."""

    verb: Literal["whatif"] = "whatif"
    revision: Revision
    # Each change: cell, text before, text after.
    cells: tuple[tuple[str, str, str], ...]
    status: str
    objective: ObjectiveChange
    # Changes of several objectives; empty for a single one.
    stages: tuple[ObjectiveChange, ...] = ()
    moved: tuple[Moved, ...] = ()
    entries: tuple[DiffEntry, ...] = ()


class CellEdit(ResultPart):
    """A cell of data that differs between two states; without a row, a file that is not a table."""

    path: str
    # Sheet or table of a file with several ones; otherwise empty.
    table: str = ""
    row: str = ""
    column: str = ""
    # Text before the change. None if the cell did not exist.
    before: str | None = None
    after: str | None = None
    # Whether the edit was planned. None without a plan.
    planned: bool | None = None
    # Place of the row in the former and in the new table, as read, from 0 on; None where it does not exist.
    places: tuple[int | None, int | None] = Field(default=(None, None), exclude=True, repr=False)

    def __str__(self) -> str:
        if not self.row:
            return plain(self.path, 160)
        old, new = ("none" if text is None else plain(text) or "empty" for text in (self.before, self.after))
        table = f"{self.path}, sheet {self.table}" if self.table else self.path
        return f"{plain(f'{table}, row {self.row}, column {self.column}', 160)}: {old} → {new}"


class Preservation(ResultPart):
    """Result of the check that the new program has the former optimum at the former and neutral values."""

    # None if preservation could not be tested.
    holds: bool | None
    # Reason in one line.
    reason: str = ""
    objective: Figure = Figure()
    former: Figure = Figure()
    # Changed cells with their values.
    cells: tuple[str, ...] = ()


class ComparisonResult(VerbResult):
    """Differences of the models of two revisions, with the effect of each difference alone."""

    verb: Literal["diff-model", "verify"]
    old: Revision
    new: Revision
    objective: ObjectiveChange
    # Changes of several objectives; empty for a single one.
    stages: tuple[ObjectiveChange, ...] = ()
    status: str
    entries: tuple[DiffEntry, ...]
    edits: tuple[CellEdit, ...] = ()
    # None for ``diff-model``.
    preservation: Preservation | None = None


class AuditResult(VerbResult):
    """Changed cells between two revisions, and whether a plan contains them."""

    verb: Literal["audit-edits"] = "audit-edits"
    old: Revision
    new: Revision
    edits: tuple[CellEdit, ...]
    # Changed data files that are not tables.
    files: tuple[str, ...] = ()
    # Planned edits that were not made or were made with another value.
    missing: tuple[str, ...] = ()


class CitationResult(ResultPart):
    """A citation, looked up."""

    text: str
    path: str = ""
    table: str = ""
    line: int | None = None
    row: str = ""
    column: str = ""
    keys: tuple[str, ...] = ()
    # Value at the cited place. None if the place does not exist.
    value: str | None = None
    holds: bool
    # Reason why the citation does not hold.
    reason: str = ""


class CiteResult(VerbResult):
    """Citations of a text with the result of each lookup."""

    verb: Literal["cite"] = "cite"
    revision: Revision
    citations: tuple[CitationResult, ...] = ()
