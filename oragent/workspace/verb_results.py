"""Results of the verbs on revisions, as typed data; ``--json`` prints them."""

from typing import Literal

from pydantic import Field

from oragent.milp.operations.outcomes import SolveLimits
from oragent.milp.operations.results import AnyResult, DiffEntry, Figure, Moved, ObjectiveChange, ResultPart


class Revision(ResultPart):
    """Files that a model was made of."""

    # as named; ``.`` for the working tree
    name: str
    # id of the commit; empty for the working tree and single files
    commit: str = ""
    # path of the program or model
    program: str = ""
    # name and version of the library that solved it; empty for a model file
    framework: str = ""


class VerbResult(ResultPart):
    """Base of all results of verbs."""

    # whether the check holds; for verbs that check nothing, whether there is a solution
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
    # what the program's own point is, compared with the model solved here; empty for a model file
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
    # cell, text before, text after
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
    # None where there is no such cell
    before: str | None = None
    after: str | None = None
    # None without a plan
    planned: bool | None = None


class Preservation(ResultPart):
    """Whether the new program has the former optimum at the former and neutral values."""

    # None if it could not be tested
    holds: bool | None
    # one line
    reason: str = ""
    objective: Figure = Figure()
    former: Figure = Figure()
    # cells that were set, with their values
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
    # None for ``diff-model``
    preservation: Preservation | None = None


class AuditResult(VerbResult):
    """Each changed cell between two revisions, and what a plan says of it."""

    verb: Literal["audit-edits"] = "audit-edits"
    old: Revision
    new: Revision
    edits: tuple[CellEditInfo, ...]
    # data files that differ and are no tables
    files: tuple[str, ...] = ()
    # planned and not made, or with another value
    missing: tuple[str, ...] = ()


class CitationInfo(ResultPart):
    """A citation, resolved."""

    text: str
    # id of the commit; empty for the working tree
    commit: str = ""
    path: str = ""
    table: str = ""
    line: int | None = None
    row: str = ""
    column: str = ""
    keys: tuple[str, ...] = ()
    # in the place that is cited; None where there is no such place
    value: str | None = None
    holds: bool
    # why it does not hold
    reason: str = ""


class CiteResult(VerbResult):
    """Citations of a text, each looked up."""

    verb: Literal["cite"] = "cite"
    revision: Revision
    citations: tuple[CitationInfo, ...] = Field(default=())
