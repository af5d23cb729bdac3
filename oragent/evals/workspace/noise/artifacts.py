"""Tables and documents as plain data, and the record of what was done to them."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from oragent._base.errors import WorkspaceError
from oragent.workspace.reading import shown
from oragent.workspace.tables import CsvTable, is_missing

CANONICAL = re.compile(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{0,30}[1-9])?")


@dataclass(frozen=True)
class Artifacts:
    """What a workspace tells: its tables and documents.

    Attributes:
        tables: Tables by file name; all rows as long as their header.
        documents: Texts by file name.
    """

    tables: Mapping[str, CsvTable]
    documents: Mapping[str, str]

    def table(self, name: str) -> CsvTable:
        """A table by its file name.

        Raises:
            WorkspaceError: if there is none.
        """
        if name not in self.tables:
            raise WorkspaceError(f"no table {shown(name)}; there are {', '.join(map(shown, self.tables)) or 'none'}")
        return self.tables[name]

    def document(self, name: str) -> str:
        """A document by its file name.

        Raises:
            WorkspaceError: if there is none.
        """
        if name not in self.documents:
            raise WorkspaceError(
                f"no document {shown(name)}; there are {', '.join(map(shown, self.documents)) or 'none'}"
            )
        return self.documents[name]

    def put(self, name: str, content: CsvTable | str) -> "Artifacts":
        """The same with one table or document put in."""
        if isinstance(content, CsvTable):
            return replace(self, tables={**self.tables, name: content})
        return replace(self, documents={**self.documents, name: content})

    def drop(self, *names: str) -> "Artifacts":
        """The same without some tables and documents."""
        tables = {name: table for name, table in self.tables.items() if name not in names}
        return Artifacts(tables, {name: text for name, text in self.documents.items() if name not in names})


@dataclass(frozen=True)
class NoiseStep:
    """How one operator's noise is undone; it says where the truth stands, never what it is.

    Attributes:
        operator: Name of the operator.
        details: Details that its undoing needs, plain texts and whole numbers.
    """

    operator: str
    details: Mapping[str, str | int]

    def to_json(self) -> dict[str, Any]:
        """The step as plain data."""
        return {"operator": self.operator, **self.details}

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> "NoiseStep":
        """The step that ``to_json`` wrote.

        Raises:
            WorkspaceError: if it is none.
        """
        details = {name: given for name, given in value.items() if name != "operator"}
        if not isinstance(value.get("operator"), str) or not all(
            isinstance(one, str | int) for one in details.values()
        ):
            raise WorkspaceError("a step of noise is no record; expected the operator's name and plain details")
        return NoiseStep(value["operator"], details)

    def text(self, name: str) -> str:
        """A detail.

        Raises:
            WorkspaceError: if the record lacks it.
        """
        if name not in self.details:
            raise WorkspaceError(f"the record of {shown(self.operator)!r} lacks {name}; expected it to undo the noise")
        return str(self.details[name])


@dataclass(frozen=True)
class Planted:
    """Artifacts with noise.

    Attributes:
        artifacts: Artifacts as they are now.
        step: Step that leads back.
    """

    artifacts: Artifacts
    step: NoiseStep


@dataclass(frozen=True)
class Operator:
    """One kind of noise.

    Attributes:
        plant: Function that makes the noise somewhere, drawn at random, but hides no parameter or column of the names
            given; it gives None where there is no place for it.
        undo: Function that is the exact inverse of ``plant``; raises WorkspaceError where the truth is not to be found.
    """

    plant: Callable[[Artifacts, np.random.Generator, frozenset[str]], Planted | None]
    undo: Callable[[Artifacts, NoiseStep], Artifacts]


def draw(choices: list[Any], rng: np.random.Generator) -> Any:
    """One of some choices; None where there are none."""
    return choices[int(rng.integers(len(choices)))] if choices else None


def fraction(cell: str) -> Fraction | None:
    """A cell as an exact number, if it is written in the one canonical way: no sign or zero too many."""
    return Fraction(cell) if CANONICAL.fullmatch(cell) and cell != "-0" else None


def decimal(value: Fraction) -> str | None:
    """The canonical text of a number; None if its decimals do not end, or are too many."""
    rest, twos, fives = value.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    if rest != 1 or places > 30:
        return None
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    text = ("-" if value < 0 else "") + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)
    return text if CANONICAL.fullmatch(text) else None


def key(table: CsvTable) -> int | None:
    """The first column, if it tells the rows apart: no value missing or twice."""
    cells = [row[0] for row in table.rows]
    return 0 if cells and len(set(cells)) == len(cells) and not any(map(is_missing, cells)) else None


def numeric_columns(table: CsvTable) -> list[int]:
    """Columns behind the first that hold a canonical number in every row."""
    return [place for place in range(1, len(table.header))
            if table.rows and all(fraction(row[place]) is not None for row in table.rows)]  # fmt: skip


def changed_value(cell: str, rng: np.random.Generator) -> str:
    """Another number of about the same size in place of a canonical one; any other cell stays as it is."""
    value = fraction(cell)
    if value is None:
        return cell
    factor = Fraction(int(rng.choice([80, 90, 110, 120, 125])), 100)
    return decimal(value * factor if value else Fraction(1)) or cell


def add_line(text: str, line: str, rng: np.random.Generator) -> str:
    """A text with one more line, at a place drawn at random."""
    lines = text.split("\n")
    lines.insert(int(rng.integers(len(lines) + 1)), line)
    return "\n".join(lines)


def take_line(text: str, pattern: str) -> tuple[str, "re.Match[str]"]:
    """Take out the one line that matches, whole.

    Raises:
        WorkspaceError: if none does, or several do: then what it states is not known.
    """
    lines = text.split("\n")
    found = [(place, match) for place, line in enumerate(lines) if (match := re.fullmatch(pattern, line, re.DOTALL))]
    if len(found) != 1:
        raise WorkspaceError(f"{len(found)} lines state what was taken from the tables; expected exactly one")
    place, match = found[0]
    return "\n".join(lines[:place] + lines[place + 1 :]), match
