"""Parts of a domain, and the programs of its planning team before and after a revision."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from oragent.evals.workspace.revisions import Type
from oragent.workspace import tables
from oragent.workspace.tables import CsvTable

REQUIREMENT = "business_requirement.md"
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Artifacts:
    """Tables and documents of a workspace.

    Attributes:
        tables: Tables by file name; all rows as long as their header.
        documents: Texts by file name.
    """

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
    """A figure that a revision brings.

    Attributes:
        name: Name of the general parameter.
        value: Value in the revised workspace.
        neutral: Value at which the revised model has the optimum of the original one.
        unit: Unit.
        meaning: Meaning, for the table.
    """

    name: str
    value: float
    neutral: float
    unit: str
    meaning: str


@dataclass(frozen=True)
class Plan:
    """Optimal plan of the original, as revisions see it.

    Attributes:
        values: Values of variables by name.
        artifacts: Tables and documents without noise.
    """

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
    """A change of the business that a planner of the domain would recognise.

    Attributes:
        name: Name, such as ``safety stock``.
        type: Type by the taxonomy of the release.
        brief: What the business says of it; names the figures in backquotes.
        figures: Figures that it brings, by the plan before it.
        code: Body of the function ``revise(m)`` of the revised program.
        edits: Texts of the program that are replaced, each with what takes its place.
    """

    name: str
    type: Type
    brief: str
    figures: Callable[[Plan], tuple[NewFigure, ...]]
    code: str = ""
    edits: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Domain:
    """A business with its planning problem.

    Attributes:
        name: Name of the domain.
        title: Title for people.
        sense: ``LpMinimize`` or ``LpMaximize``.
        draw: Tables and requirement of an instance.
        revisions: Revisions.
    """

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
    """Return a table; numbers become text of at most two decimals.

    Args:
        header: Names of the columns with ``|`` between them.
        rows: Cells.
    """
    cells = [tuple(cell if isinstance(cell, str) else text_of(float(str(cell))) for cell in row) for row in rows]
    return CsvTable(tuple(header.split("|")), tuple(cells))


def draw_parameters(*rows: tuple[str, float, str, str]) -> CsvTable:
    """Return the table of general parameters: name, value, unit, meaning."""
    return CsvTable(
        tables.PARAMETERS_HEADER, tuple((name, text_of(value), unit, text) for name, value, unit, text in rows)
    )
