"""Parts of a domain, its programs, and the kinds and depths of revisions by the taxonomy of the public release."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.workspace import tables
from oragent.workspace.tables import CsvTable


class Type(StrEnum):
    """Types of revision; codes and names disagree in the release, the names are those of the paper."""

    R1 = "parameter perturbation"
    R2 = "objective function transformation"
    R3 = "constraint modification"
    R4 = "penalty or fixed cost addition"
    R5 = "scenario restructuring"


class RevisionOperation(StrEnum):
    """Kinds of operation on a model."""

    ADD_VARIABLE = "+variable"
    REMOVE_VARIABLE = "-variable"
    ADD_CONSTRAINT = "+constraint"
    REMOVE_CONSTRAINT = "-constraint"
    MODIFY_CONSTRAINT = "modify_constraint"
    MODIFY_OBJECTIVE = "modify_objective"
    MODIFY_DATA = "modify_data"


class Depth(IntEnum):
    """Depth of a revision, from one operation to a new structure."""

    L1 = 1
    L2 = 2
    L3 = 3
    L4 = 4
    L5 = 5


@dataclass(frozen=True)
class Diff:
    """Number of operations of each kind in a revision; kinds that are not used may be left out."""

    counts: Mapping[RevisionOperation, int]

    def __post_init__(self) -> None:
        if any(count < 0 for count in self.counts.values()):
            raise WorkspaceError("a count of operations is negative; expected 0 or more of each kind")

    def has_any(self, *changes: RevisionOperation) -> bool:
        """Return True if there is an operation of one of these kinds."""
        return any(self.counts.get(change) for change in changes)

    @property
    def operation_count(self) -> int:
        """Number of operations, changes of data included."""
        return sum(self.counts.values())

    @property
    def kind_count(self) -> int:
        """Number of kinds of operation, without changes of data."""
        return sum(map(self.has_any, set(RevisionOperation) - {RevisionOperation.MODIFY_DATA}))

    @property
    def is_coupled(self) -> bool:
        """True if variables are added or removed, and constraints are added or changed with them."""
        variables = self.has_any(RevisionOperation.ADD_VARIABLE, RevisionOperation.REMOVE_VARIABLE)
        return variables and self.has_any(RevisionOperation.ADD_CONSTRAINT, RevisionOperation.MODIFY_CONSTRAINT)

    @property
    def is_cascading(self) -> bool:
        """True if one operation forces another: a removed variable, or constraints changed for a new variable."""
        pairs = (
            (RevisionOperation.ADD_CONSTRAINT, RevisionOperation.REMOVE_CONSTRAINT),
            (RevisionOperation.MODIFY_CONSTRAINT, RevisionOperation.ADD_VARIABLE),
        )
        return self.has_any(RevisionOperation.REMOVE_VARIABLE) or any(all(map(self.has_any, pair)) for pair in pairs)

    @property
    def depth(self) -> Depth:
        """The deepest level whose rule holds."""
        kinds, operations = self.kind_count, self.operation_count
        rules = {
            Depth.L5: kinds >= 4 or (self.is_coupled and self.is_cascading and operations >= 5),
            Depth.L4: kinds >= 3 or (self.is_coupled and operations >= 4),
            Depth.L3: kinds >= 2 or operations >= 3,
            Depth.L2: operations >= 2,
        }
        return next((depth for depth, holds in rules.items() if holds), Depth.L1)


REQUIREMENT = "business_requirement.md"
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Artifacts:
    """Tables and documents of a workspace; ``tables``: tables by file name; all rows as long as their header."""

    tables: Mapping[str, CsvTable]
    documents: Mapping[str, str]

    def with_table(self, name: str, table: CsvTable) -> "Artifacts":
        """Return the same with one table put in."""
        return Artifacts({**self.tables, name: table}, self.documents)

    def with_document(self, name: str, text: str) -> "Artifacts":
        """Return the same with one document put in."""
        return Artifacts(self.tables, {**self.documents, name: text})


@dataclass(frozen=True)
class NewFigure:
    """A figure that a revision brings; at its neutral value the revised model has the optimum of the original."""

    name: str
    value: float
    neutral: float
    unit: str
    meaning: str

    @property
    def row(self) -> tuple[str, ...]:
        """Row of the table of general parameters."""
        return self.name, f"{self.value:.10g}", self.unit, self.meaning


@dataclass(frozen=True)
class Plan:
    """Optimal plan of the original, as revisions see it; ``artifacts``: tables and documents without noise."""

    values: Mapping[str, float]
    artifacts: Artifacts

    def total(self, stem: str) -> float:
        """Return the sum of all variables of a kind, such as ``overtime``."""
        return sum(value for name, value in self.values.items() if name.startswith(f"{stem}__"))

    def largest(self, stem: str) -> float:
        """Return the largest variable of a kind."""
        return max((value for name, value in self.values.items() if name.startswith(f"{stem}__")), default=0.0)

    def column_sum(self, table: str, column: str) -> float:
        """Return the sum of a column."""
        return sum(tables.parse_number(cell) or 0.0 for cell in self.artifacts.tables[table].column(column))


@dataclass(frozen=True)
class DomainRevision:
    """A change of the business that a planner of the domain would recognise."""

    name: str
    type: Type
    # what the business says of it; names the figures in backquotes
    brief: str
    # figures that it brings, by the plan before it
    figures: Callable[[Plan], tuple[NewFigure, ...]]
    # body of the function ``revise(m)`` of the revised program
    code: str = ""
    # texts of the program that are replaced, each with what takes its place
    edits: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Domain:
    """A business with its planning problem; ``sense``: ``LpMinimize`` or ``LpMaximize``."""

    name: str
    title: str
    sense: str
    draw: Callable[[np.random.Generator], Artifacts]
    revisions: tuple[DomainRevision, ...]

    def program(self, revision: DomainRevision | None = None) -> str:
        """Return the program of the planning team, as it was or as it is after a revision."""
        body, call = (FOLDER / f"{self.name}.program.txt").read_text(encoding="utf-8"), ""
        for old, new in revision.edits if revision else ():
            assert old in body, old
            body = body.replace(old, new)
        if revision and revision.code:
            doc = f'    """{revision.name.capitalize()}."""\n'
            body += (
                "\n\ndef revise(m):\n" + doc + "".join(f"    {statement}\n" for statement in revision.code.splitlines())
            )
            call = "    revise(m)\n"
        frame = (FOLDER / "frame.program.txt").read_text(encoding="utf-8")
        return frame.format(title=f"{self.title}.", body=body, name=self.name, sense=self.sense, call=call)


def read_requirement(name: str) -> str:
    """Return the requirement of a domain; it lies beside this file, as its program does."""
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def text_of(value: float) -> str:
    """Return a figure as tables hold it: at most two decimals."""
    return f"{round(float(value), 2):.10g}"


def draw_table(header: str, rows: list[list[object]]) -> CsvTable:
    """Return a table by its column names with ``|`` between them; numbers become text of at most two decimals."""
    cells = [tuple(cell if isinstance(cell, str) else text_of(float(str(cell))) for cell in row) for row in rows]
    return CsvTable(tuple(header.split("|")), tuple(cells))


def draw_parameters(*rows: tuple[str, float, str, str]) -> CsvTable:
    """Return the table of general parameters: name, value, unit, meaning."""
    return CsvTable(
        tables.PARAMETERS_HEADER, tuple((name, text_of(value), unit, text) for name, value, unit, text in rows)
    )
