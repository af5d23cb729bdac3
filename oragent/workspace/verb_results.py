"""Results of the verbs on revisions, as typed data; ``--json`` prints them."""

from typing import Literal

from pydantic import ConfigDict, Field

from oragent.milp.operations.outcomes import SolveLimits
from oragent.milp.operations.results import AnyResult, DiffEntry, Figure, Moved, ObjectiveChange, ResultPart
from oragent.workspace.file_results import VersionInfo


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
    objective: Figure
    sense: str
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
    status: str
    entries: tuple[DiffEntry, ...]
    edits: tuple[CellEditInfo, ...] = ()
    # None for ``diff-model``.
    preservation: Preservation | None = None


class AuditResult(VerbResult):
    """Changed cells between two revisions, and whether a plan contains them."""

    verb: Literal["audit-edits"] = "audit-edits"
    old: Revision
    new: Revision
    edits: tuple[CellEditInfo, ...]
    # Changed data files that are not tables.
    files: tuple[str, ...] = ()
    # Planned edits that were not made or were made with another value.
    missing: tuple[str, ...] = ()


class CitationInfo(ResultPart):
    """A citation and the result of its lookup."""

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
    """Citations of a text with the result of each lookup."""

    verb: Literal["cite"] = "cite"
    revision: Revision
    citations: tuple[CitationInfo, ...] = Field(default=())


class AgentResult(ResultPart):
    """Result of build, revise or ask."""

    model_config = ConfigDict(extra="ignore")

    verb: Literal["build", "revise", "ask"]
    request: str
    written: bool
    end: str
    calls: int
    # Path of the program. Empty for a question.
    path: str = ""
    objective: float | None = None
    # Gap between the objective and the best bound, as text.
    standing: str = ""
    run: str = ""
    # Objective before a revision.
    before: float | None = None
    # True if the former optimum is preserved at neutral values. None if that was not tested.
    preserved: bool | None = None
    differences: tuple[str, ...] = ()
    data_edits: tuple[str, ...] = ()
    unplanned_edits: tuple[str, ...] = ()
    # Planned edits that were not made.
    missing: tuple[str, ...] = ()
    comparison: ComparisonResult | None = None
    # Rows and bounds that conflict, if the model is infeasible.
    conflict: tuple[str, ...] = ()
    # Files that the person changed during the verb.
    clashes: tuple[str, ...] = ()
    draft: str = ""
    # Whether ``--accept`` can write the draft.
    can_accept: bool = False
    answer: str = ""
    broken_citations: tuple[str, ...] = ()
    # Version of the files to which an answer refers.
    revision: str = ""


class UnfinishedVerb(ResultPart):
    """A verb that was interrupted or waits for an answer from the person."""

    verb: str
    request: str = ""
    # Question to the person. Empty if no question waits.
    question: str = ""
    reason: str = ""


class VerbSummary(ResultPart):
    """A finished verb."""

    name: str
    # Whether its changes are in the present files.
    state: str = ""
    objective: float | None = None
    text: str = ""


class WorkspaceSummary(ResultPart):
    """State of a workspace."""

    verb: Literal["show"] = "show"
    program: str
    verbs: tuple[VerbSummary, ...]
    interrupted: UnfinishedVerb | None = None
    versions: tuple[VersionInfo, ...]


class ReversalResult(ResultPart):
    """Result of undo, redo or restore."""

    # Id of the new version. Empty if nothing had to be changed.
    version: str
    reason: str
    # Files that keep the person's changes.
    untouched: tuple[str, ...] = ()


class PageResult(ResultPart):
    """The written page."""

    verb: Literal["report"] = "report"
    path: str
