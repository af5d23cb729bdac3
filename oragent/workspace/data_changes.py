"""Changed cells of data files between two states of a workspace: list, comparison with a plan, and former values."""

import fnmatch
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oragent._base.errors import WorkspaceError
from oragent.workspace.cells import CellChange, change_cells, change_places, read_change
from oragent.workspace.data_edits import DATABASES, CellEdit, fold_text, is_same_text, list_edits, split_edits
from oragent.workspace.layout import TABLES
from oragent.workspace.reading import parse_json, read_bytes, read_text, shorten, shorten_path
from oragent.workspace.sources import FolderState
from oragent.workspace.verb_results import AuditResult, CellEditInfo, Revision

DATA_ENDINGS = (*TABLES, *DATABASES, ".json", ".parquet")
LARGEST_PLAN = 4 << 20


def list_data(state: FolderState, patterns: Sequence[str] = ()) -> dict[str, Path]:
    """Return the data files of a state by path. Without patterns, these are the files in ``data``, else all tables."""
    files = state.list_files()
    if patterns:
        return {path: file for path, file in files.items() if any(fnmatch.fnmatch(path, one) for one in patterns)}
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
        first, second = list_data(old, patterns), list_data(new, patterns)
        differing = [path for path in dict.fromkeys([*first, *second]) if not _is_same_file(path, first, second)]
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
        edits_by_path: dict[str, list[CellEdit]] = {}
        for edit in self.list_edits():
            edits_by_path.setdefault(edit.place.path, []).append(edit)
        contents = {}
        for path, edits in edits_by_path.items():
            if path not in self.new:
                contents[path] = self.old[path]
                continue
            if all(edit.before is not None or not edit.place.row for edit in edits) and path in self.old:
                contents[path] = self.old[path]
                continue
            if any(edit.after is None and edit.place.row for edit in edits):
                raise WorkspaceError(
                    f"{shorten_path(path)} has new cells and lacks former ones: compare this file by hand"
                )
            former = {edit.place: edit.before for edit in edits if edit.before is not None}
            contents[path] = change_places(self.new[path], path, former)
        for path, changes in _by_path(neutral).items():
            content = contents.get(path, self.new.get(path))
            if content is None:
                raise WorkspaceError(
                    f"{shorten_path(path)}is not a changed data file; neutral values are for cells of changed files"
                )
            contents[path] = change_cells(content, path, changes)
        return contents


def _by_path(changes: Iterable[CellChange]) -> dict[str, list[CellChange]]:
    found: dict[str, list[CellChange]] = {}
    for change in changes:
        found.setdefault(change.cell.path, []).append(change)
    return found


def _is_same_file(path: str, first: Mapping[str, Path], second: Mapping[str, Path]) -> bool:
    if path not in first or path not in second:
        return False
    if first[path].stat().st_size != second[path].stat().st_size:
        return False
    return read_bytes(first[path]) == read_bytes(second[path])


@dataclass(frozen=True)
class EditPlan:
    """Planned edits of data: ``plan.json`` of ``revise``, or lines ``CELL = VALUE``."""

    # Object with the lists ``data`` and ``edits``.
    tree: Mapping[str, Any]
    changes: tuple[CellChange, ...]

    @classmethod
    def read(cls, path: Path) -> "EditPlan":
        """Read a plan: JSON with ``data`` and ``edits``, or text with one change per line; ``#`` begins a comment.

        Raises:
            WorkspaceError: The file is not a plan.
        """
        text = read_text(path, LARGEST_PLAN)
        if path.suffix != ".json":
            lines = (line.strip() for line in text.splitlines())
            return cls({}, tuple(read_change(line) for line in lines if line and not line.startswith("#")))
        tree = parse_json(text, path)
        if not isinstance(tree, dict) or not all(isinstance(tree.get(key, []), list) for key in ("data", "edits")):
            raise WorkspaceError(
                f"{shorten_path(path)} is not a plan; expected an object with the lists data and edits"
            )
        return cls.of_tree(tree)

    @classmethod
    def of_tree(cls, tree: Mapping[str, Any]) -> "EditPlan":
        """Return the plan in an object with the lists ``data`` and ``edits``."""
        texts = [entry for entry in tree.get("edits", ()) if isinstance(entry, str)]
        return cls(tree, tuple(map(read_change, texts)))

    def split(self, edits: Sequence[CellEdit]) -> tuple[list[CellEdit], list[CellEdit]]:
        """Split edits into planned and other edits."""
        named, others = split_edits(edits, self.tree)
        planned = [edit for edit in others if any(_is_planned(change, edit) for change in self.changes)]
        return named + planned, [edit for edit in others if edit not in planned]

    def missing(self, edits: Sequence[CellEdit]) -> Iterator[str]:
        """Yield the planned edits that were not made or were made with another value."""
        for change in self.changes:
            if not any(_is_planned(change, edit) for edit in edits):
                yield str(change)
        for key in ("data", "edits"):
            for entry in self.tree.get(key, ()):
                if isinstance(entry, dict) and not split_edits(edits, {key: [entry]})[0]:
                    yield entry_text(entry)


def entry_text(entry: Mapping[str, Any]) -> str:
    """Return an entry of a plan as one line."""
    return shorten(json.dumps(entry, ensure_ascii=False), 200)


def _is_planned(change: CellChange, edit: CellEdit) -> bool:
    place, cell = edit.place, change.cell
    if place.path != cell.path or (cell.table and fold_text(cell.table) != fold_text(place.sheet or cell.table)):
        return False
    keys = [fold_text(", ".join(cell.row[:count])) for count in range(1, len(cell.row) + 1)]
    if fold_text(place.row) not in keys and not fold_text(place.row).startswith(f"{keys[-1]}, "):
        return False
    return fold_text(place.column) == fold_text(cell.column) and is_same_text(change.value, edit.after)


def describe_edit(edit: CellEdit, planned: bool | None = None) -> CellEditInfo:
    """Describe an edit as an entry of a result."""
    place = edit.place
    return CellEditInfo(
        path=place.path,
        table=place.sheet,
        row=place.row,
        column=place.column,
        before=edit.before,
        after=edit.after,
        planned=planned,
    )


def audit_edits(old: FolderState, new: FolderState, plan: EditPlan | None) -> AuditResult:
    """List the data cells that differ between two states. With a plan, state whether each change was planned.

    With a plan, the check holds if all edits are planned and all planned edits were made.
    """
    edits = DataFiles.between(old, new).list_edits()
    cells = [edit for edit in edits if edit.place.row]
    planned, unplanned = plan.split(edits) if plan else ([], edits)
    missing = tuple(plan.missing(edits)) if plan else ()
    return AuditResult(
        ok=plan is None or not (unplanned or missing),
        old=Revision(name=old.revision, commit=old.commit),
        new=Revision(name=new.revision, commit=new.commit),
        edits=tuple(describe_edit(edit, edit in planned if plan else None) for edit in cells),
        files=tuple(edit.place.path for edit in edits if not edit.place.row),
        missing=missing,
    )
