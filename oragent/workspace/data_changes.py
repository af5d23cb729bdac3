"""Changed cells of data files between two states of a workspace: list, comparison with a plan, and former values."""

import fnmatch
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import OragentError, WorkspaceError
from oragent.workspace import tables
from oragent.workspace.cells import (
    PLAIN_NUMBER,
    CellChange,
    CellReference,
    change_cells,
    locate_cell,
    read_change,
    undo_edits,
)
from oragent.workspace.data_edits import DATABASES, fold_text, is_same_text, list_edits
from oragent.workspace.layout import TABLES
from oragent.workspace.model_results import AuditResult, CellEdit, Revision
from oragent.workspace.reading import parse_json, read_bytes, read_text, shorten_path
from oragent.workspace.sources import FolderState

FIGURES = f"data/{tables.PARAMETERS_FILE}"
DATA_ENDINGS = (*TABLES, *DATABASES, ".json", ".parquet")
MAX_PLAN_BYTES = 4 << 20
# A number with a decimal comma, which cannot be a number with a separator of thousands.
DECIMAL_COMMA = re.compile(r"[+-]?\d+,(?:\d{1,2}|\d{4,})")


def list_data(state: FolderState, patterns: Sequence[str] = ()) -> dict[str, Path]:
    """Return the data files of a state by path. Without patterns, these are the files in ``data``, else all tables.

    The program or model file is excluded.
    """
    programs = (state.file, state.settings.program)
    files = {path: file for path, file in state.list_files().items() if path not in programs}
    if patterns:
        return {
            path: file for path, file in files.items() if any(fnmatch.fnmatch(path, pattern) for pattern in patterns)
        }
    in_folder = {path: file for path, file in files.items() if path.startswith("data/")}
    if in_folder:
        return in_folder
    return {path: file for path, file in files.items() if path.casefold().endswith(DATA_ENDINGS)}


@dataclass(frozen=True)
class DataFiles:
    """Data files of two states that differ, by path."""

    old: Mapping[str, bytes]
    new: Mapping[str, bytes]

    @classmethod
    def between(cls, old: FolderState, new: FolderState) -> "DataFiles":
        """Read the data files that differ between two states. A file that is data in one state is read in both."""
        named = [state.settings.data for state in (old, new)]
        patterns = [*named[0], *named[1]] if all(named) else []
        paths = dict.fromkeys([*list_data(old, patterns), *list_data(new, patterns)])
        first, second = old.list_files(), new.list_files()
        differing = [path for path in paths if not _is_same_file(path, first, second)]
        contents = [{path: read_bytes(files[path]) for path in differing if path in files} for files in (first, second)]
        return cls(*contents)

    def list_edits(self) -> list[CellEdit]:
        """List the cells that differ. A changed file that is not a table is one edit without a row."""
        return list_edits(self.old, self.new)

    def former_contents(self, neutral: Sequence[CellChange]) -> dict[str, bytes]:
        """Return the new files with former values in the changed cells and the given neutral values in the named cells.

        Raises:
            WorkspaceError: Cells were removed, so the new files have no place for their former values.
        """
        every, contents = self.list_edits(), {}
        for path in dict.fromkeys(edit.path for edit in every):
            edits = [edit for edit in every if edit.path == path]
            if path not in self.new:
                contents[path] = self.old[path]
                continue
            if all(edit.before is not None or not edit.row for edit in edits) and path in self.old:
                contents[path] = self.old[path]
                continue
            if any(edit.after is None and edit.row for edit in edits):
                raise WorkspaceError(f"{shorten_path(path)} has new cells and lacks former ones: compare it by hand")
            former = [edit for edit in edits if edit.before is not None]
            # A new file stays, also if it is not a table.
            contents[path] = undo_edits(self.new[path], path, former) if former else self.new[path]
        for path in dict.fromkeys(change.cell.path for change in neutral):
            changes = [change for change in neutral if change.cell.path == path]
            content = contents.get(path, self.new.get(path))
            if content is None:
                raise WorkspaceError(
                    f"{shorten_path(path)} is not a changed data file; neutral values are for cells of changed files"
                )
            contents[path] = change_cells(content, path, changes)
        return contents


def _is_same_file(path: str, first: Mapping[str, Path], second: Mapping[str, Path]) -> bool:
    return (
        path in first
        and path in second
        and first[path].stat().st_size == second[path].stat().st_size
        and read_bytes(first[path]) == read_bytes(second[path])
    )


@dataclass(frozen=True)
class PlannedEdit:
    """A planned edit of one cell."""

    path: str
    # Labels of the row, joined with commas.
    row: str
    # Empty for any column: of a figure of the parameter table, or of a row that is added or removed.
    column: str = ""
    # Empty for any value.
    value: str = ""
    table: str = ""
    # Value at which a new cell has no effect. Empty if there is none.
    neutral: str = ""
    # Whether the row is a figure of the parameter table.
    is_figure: bool = False

    def __str__(self) -> str:
        return f"{self.cell} = {self.value}"

    @property
    def cell(self) -> CellReference:
        """Cell of the edit."""
        return CellReference(self.path, self.table, (self.row,), self.column or "Value")

    @property
    def cells(self) -> tuple[CellReference, ...]:
        """Cell of the edit, with its row as one label and as several."""
        labels = tuple(label.strip() for label in self.row.split(","))
        return self.cell, replace(self.cell, row=labels)

    @property
    def plain_value(self) -> str:
        """Value with a decimal point. A comma before three digits stays, because it may separate thousands."""
        return _with_point(self.value)

    def names_file(self, path: str) -> bool:
        """Return True if the edit is planned in the file with this path."""
        return path == self.path or path.endswith(f"/{self.path}")

    def has_value(self, edit: CellEdit) -> bool:
        """Return True if an edit led to the planned value."""
        return not self.value or any(is_same_text(text, edit.after) for text in (self.value, self.plain_value))

    def matches(self, edit: CellEdit) -> bool:
        """Return True if the names of an edit and its new value are the planned ones."""
        if not self.names_file(edit.path):
            return False
        if not edit.row:
            return True
        row, planned = fold_text(edit.row), fold_text(self.row)
        is_value = self.has_value(edit)
        if edit.path.casefold().endswith(".json") and self.column and row == f"{planned}, {fold_text(self.column)}":
            # In a JSON file, the last key is a part of the row.
            return is_value
        if row != planned and not row.startswith(f"{planned}, ") and not planned.startswith(f"{row}, "):
            return False
        if self.table and edit.table and fold_text(self.table) != fold_text(edit.table):
            return False
        if not self.column:
            return self.is_figure or edit.before is None or edit.after is None
        return fold_text(self.column) == fold_text(edit.column) and is_value


@dataclass(frozen=True)
class EditPlan:
    """Planned edits of data: ``plan.json`` of ``revise``, or lines ``CELL = VALUE``."""

    planned: tuple[PlannedEdit, ...]

    @classmethod
    def read(cls, path: Path) -> "EditPlan":
        """Read a plan: JSON with ``data`` and ``edits``, or text with one change per line; ``#`` begins a comment."""
        text = read_text(path, MAX_PLAN_BYTES)
        if path.suffix != ".json":
            lines = (line.strip() for line in text.splitlines())
            return cls(tuple(_of_change(read_change(line)) for line in lines if line and not line.startswith("#")))
        tree = parse_json(text, path)
        if not isinstance(tree, dict) or not all(isinstance(tree.get(key, []), list) for key in ("data", "edits")):
            raise WorkspaceError(
                f"{shorten_path(path)} is not a plan; expected an object with the lists data and edits"
            )
        return cls.of_tree(tree)

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> "EditPlan":
        """Return the plan of an object with the lists ``data`` (figures of the parameter table) and ``edits``."""
        planned = []
        for entry in (*tree.get("data", ()), *tree.get("edits", ())):
            if isinstance(entry, str):
                planned.append(_of_change(read_change(entry)))
            elif isinstance(entry, dict):
                texts = {name: str(value) for name, value in entry.items() if value is not None}
                path, row = texts.get("path") or FIGURES, texts.get("row") or texts.get("name", "")
                cell = {name: texts.get(name, "") for name in ("column", "value", "neutral")}
                planned.append(PlannedEdit(path, row.strip(), **cell, is_figure="path" not in entry))
        return cls(tuple(planned))

    def split(self, edits: Sequence[CellEdit], data: DataFiles) -> tuple[list[CellEdit], list[CellEdit]]:
        """Split edits of data files into planned ones and all others."""
        named = [edit for edit in edits if any(_is_planned(edit, planned, data) for planned in self.planned)]
        return named, [edit for edit in edits if edit not in named]

    def missing(self, edits: Sequence[CellEdit], data: DataFiles) -> Iterator[PlannedEdit]:
        """Yield the planned edits of data files that were not made or were made with another value."""
        for planned in self.planned:
            column = fold_text(planned.cell.column) if planned.is_figure else ""
            made = (edit for edit in edits if not column or fold_text(edit.column) == column)
            if not any(_is_planned(edit, planned, data) for edit in made):
                yield planned

    def neutral_cells(self, folder: Path) -> list[CellChange]:
        """Return the neutral values as changes of cells, without those of cells that a folder lacks."""
        changes = []
        for edit in self.planned:
            value = _with_point(edit.neutral)
            cell = next((cell for cell in edit.cells if read_text_of(folder, cell) is not None), None)
            if cell is not None and PLAIN_NUMBER.fullmatch(value):
                changes.append(CellChange(cell, value))
        return changes


def _is_planned(edit: CellEdit, planned: PlannedEdit, data: DataFiles) -> bool:
    """Return True if an edit is that of the planned cell. Names are compared if no cell has the planned ones."""
    names_cell = planned.names_file(edit.path) and (planned.column or planned.is_figure)
    for contents, place in zip((data.old, data.new), edit.places, strict=True):
        if place is None or edit.path not in contents or not names_cell:
            continue
        for reference in planned.cells:
            with suppress(OragentError):
                cell = locate_cell(contents[edit.path], reference)
                is_table = "" in (edit.table, cell.table) or edit.table == cell.table
                is_row, is_column = place == cell.row and is_table, edit.column == cell.heading
                # The plan of a figure covers its unit and meaning too.
                return is_row and (planned.has_value(edit) if is_column else planned.is_figure)
    return planned.matches(edit)


def _with_point(value: str) -> str:
    return value.replace(",", ".") if DECIMAL_COMMA.fullmatch(value) else value


def _of_change(change: CellChange) -> PlannedEdit:
    cell = change.cell
    return PlannedEdit(cell.path, ", ".join(cell.row), cell.column, change.value, cell.table)


def read_text_of(folder: Path, cell: CellReference) -> str | None:
    """Return the text of a cell of a folder's file; None if it does not exist."""
    try:
        return locate_cell(read_bytes(folder / cell.path), cell).text
    except OragentError:
        return None


def audit_edits(old: FolderState, new: FolderState, plan: EditPlan | None) -> AuditResult:
    """List the data cells that differ between two states. With a plan, state whether each change was planned.

    With a plan, the check holds if all edits are planned and all planned edits were made.
    """
    data = DataFiles.between(old, new)
    edits = data.list_edits()
    cells = [edit for edit in edits if edit.row]
    planned, unplanned = plan.split(edits, data) if plan else ([], edits)
    missing = tuple(map(str, plan.missing(edits, data))) if plan else ()
    return AuditResult(
        ok=plan is None or not (unplanned or missing),
        old=Revision(name=old.revision, commit=old.commit),
        new=Revision(name=new.revision, commit=new.commit),
        edits=tuple(edit.model_copy(update={"planned": edit in planned if plan else None}) for edit in cells),
        files=tuple(edit.path for edit in edits if not edit.row),
        missing=missing,
    )
