"""Results of the verbs on revisions, as typed data; ``--json`` prints them."""

from typing import Literal

from pydantic import Field

from oragent.milp.operations.outcomes import SolveLimits
from oragent.milp.operations.results import AnyResult, DiffEntry, Figure, Moved, ObjectiveChange, ResultPart


class Revision(ResultPart):
    """Files that a model was made of."""

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

    # Whether the check holds; for verbs without a check, whether there is a solution.
    ok: bool = True
    warnings: tuple[str, ...] = ()


class RunResult(VerbResult):
    """A program or model file, run and solved."""

    verb: Literal["run"] = "run"
    revision: Revision
    status: str
    objective: Figure
    sense: str
    variables: int
    rows: int
    # Comparison of the program's point with the model solved here. Empty for a model file.
    verdict: str = ""
    reason: str = ""
    limits: SolveLimits = SolveLimits()


class LinesResult(VerbResult):
    """Lines of operations on the model of a revision, in order."""

    verb: str
    revision: Revision
    results: tuple[AnyResult, ...]


class WhatifResult(VerbResult):
    """The program run again with other values in some cells of its data."""

    verb: Literal["whatif"] = "whatif"
    revision: Revision
    # Cell, text before, text after.
    cells: tuple[tuple[str, str, str], ...]
    status: str
    objective: ObjectiveChange
    moved: tuple[Moved, ...] = ()
    entries: tuple[DiffEntry, ...] = ()


class CellEditInfo(ResultPart):
    """A cell of data that differs between two revisions."""

    path: str
    table: str = ""
    row: str = ""
    column: str = ""
    # Text before the change. None if the cell did not exist.
    before: str | None = None
    after: str | None = None
    # Whether the edit was planned. None without a plan.
    planned: bool | None = None


class Preservation(ResultPart):
    """Whether the new program has the former optimum at the former and neutral values."""

    # None if preservation could not be tested.
    holds: bool | None
    # Reason in one line.
    reason: str = ""
    objective: Figure = Figure()
    former: Figure = Figure()
    # Changed cells with their values.
    cells: tuple[str, ...] = ()


class ComparisonResult(VerbResult):
    """The models of two revisions compared, with the effect of each difference alone."""

    verb: Literal["diff-model", "verify"]
    old: Revision
    new: Revision
    objective: ObjectiveChange
    status: str
    entries: tuple[DiffEntry, ...]
    edits: tuple[CellEditInfo, ...] = ()
    # None for ``diff-model``.
    preservation: Preservation | None = None


class AuditResult(VerbResult):
    """Changed cells between two revisions, compared with a plan."""

    verb: Literal["audit-edits"] = "audit-edits"
    old: Revision
    new: Revision
    edits: tuple[CellEditInfo, ...]
    # Changed data files that are not tables.
    files: tuple[str, ...] = ()
    # Planned edits that were not made or were made with another value.
    missing: tuple[str, ...] = ()


class CitationInfo(ResultPart):
    """A citation, resolved."""

    text: str
    # Id of the commit. Empty for the working tree.
    commit: str = ""
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
    """Citations of a text, each looked up."""

    verb: Literal["cite"] = "cite"
    revision: Revision
    citations: tuple[CitationInfo, ...] = Field(default=())
