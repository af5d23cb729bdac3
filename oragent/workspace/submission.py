"""Checks of a program that an agent submits: it runs, planned edits were made, and former rules are kept."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ModellingError, WorkspaceError
from oragent._base.text_format import one_line
from oragent.modelling.data.display import number, plain
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations.results import DiffEntry
from oragent.modelling.references.figures import format_figure
from oragent.workspace.data_changes import DataFiles, EditPlan, PlannedEdit, read_text_of
from oragent.workspace.data_edits import is_same_text
from oragent.workspace.model_results import CellEdit, ComparisonResult
from oragent.workspace.model_tasks import verify_revision
from oragent.workspace.reading import read_bytes
from oragent.workspace.records import describe_conflict
from oragent.workspace.runner import ProgramRun, ProgramRunner
from oragent.workspace.sources import FolderState, OpenedModel
from oragent.workspace.tools import SubmissionFindings, describe_run

# Maximum number of findings of one kind.
MAX_FINDINGS = 40


@dataclass
class BuildCheck:
    """Check of a new program in a draft, with the result of the last one."""

    runner: ProgramRunner
    # Draft in which the agent works.
    state: FolderState
    # Contents of the draft at the beginning, by path.
    base: Mapping[str, str]
    # Last run of the submitted program.
    run: ProgramRun | None = None

    def __call__(self, path: str) -> SubmissionFindings:
        """Run the submitted program and return the failed checks."""
        self.run = self.runner.run(self.state.folder, path)
        helpers = tuple(list_unused_helpers(self.state.list_files(), self.base, path))
        return SubmissionFindings(tuple(self._describe_failure()), helpers)

    def _describe_failure(self) -> Iterator[str]:
        assert self.run is not None
        if self.run.has_solution:
            return
        last = self.run.last_model
        if last is None or last.solution is None or last.has_point:
            yield describe_run(self.run)
            return
        yield f"the model of the program is {last.solution.standing}"
        if last.milp is not None and last.solution.status is SolveStatus.INFEASIBLE:
            yield from describe_conflict(last.milp)


@dataclass
class RevisionCheck(BuildCheck):
    """Check of a revised program in a draft."""

    # Files before the revision, with the program as it was.
    old: FolderState | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    # Whether the requirement must describe the change.
    edits_documents: bool = True
    comparison: ComparisonResult | None = None
    # Planned edits that were not made.
    missing: tuple[str, ...] = ()
    # Planned and other edits of data.
    edits: tuple[Sequence[CellEdit], Sequence[CellEdit]] = ((), ())
    old_run: ProgramRun | None = None

    def __call__(self, path: str) -> SubmissionFindings:
        """Run the program, compare it with the former one, and compare the edits of data with the plan."""
        findings = super().__call__(path)
        assert self.old is not None
        self.state = FolderState(self.state.revision, "", self.state.folder, self.state.settings, path)
        self._audit_data(self.old)
        errors = [*findings.errors, *(f"a planned edit was not made: {text}" for text in self.missing[:MAX_FINDINGS])]
        warnings = [*findings.warnings, *self._list_warnings(self.old)]
        return SubmissionFindings(tuple(errors), tuple(warnings))

    @property
    def preserved(self) -> bool | None:
        """Return True if the former optimum is preserved; None if not tested, or if neutral values are missing."""
        if self.comparison is None or self.comparison.preservation is None:
            return None
        holds = self.comparison.preservation.holds
        former = self.comparison.preservation.former.value
        if former is None or (holds is False and not self._edit_plan.neutral_cells(self.state.folder)):
            return None
        return holds

    def run_old(self) -> ProgramRun:
        """Run the former program once."""
        assert self.old is not None
        if self.old_run is None:
            self.old_run = self.runner.run(self.old.folder, self.old.program)
        return self.old_run

    def _list_warnings(self, old: FolderState) -> Iterator[str]:
        assert self.run is not None
        self.comparison = None
        if self.run.has_solution:
            try:
                neutral = self._edit_plan.neutral_cells(self.state.folder)
                self.comparison = verify_revision(old, self.state, neutral, open_model=self._open)
            except (ModellingError, WorkspaceError) as problem:
                yield f"the versions cannot be compared: {problem}"
        if self.preserved is False and self.comparison and self.comparison.preservation:
            preservation = self.comparison.preservation
            yield (
                f"at former and neutral values the optimum is {format_figure(preservation.objective)}, and it was "
                f"{format_figure(preservation.former)}: a former rule or figure was changed"
            )
        yield from (f"an edit of data is not in the plan: {edit}" for edit in self.edits[1][:MAX_FINDINGS])
        yield from self.missing_rows()
        paths = [path for path in self.base if path.startswith("docs/")]
        if self.edits_documents and paths and not self._has_edited(paths, old):
            yield "no document in docs/ says what the request changes: edit the requirement"

    def _has_edited(self, paths: Sequence[str], old: FolderState) -> bool:
        files = {path: file for path, file in self.state.list_files().items() if path.startswith("docs/")}
        if set(files) != set(paths):
            return True
        return any(read_bytes(files[path]) != read_bytes(old.folder / path) for path in paths)

    def _audit_data(self, old: FolderState) -> None:
        data = DataFiles.between(old, self.state)
        edits = data.list_edits()
        self.edits = self._edit_plan.split(edits, data)
        missing = self._edit_plan.missing(edits, data)
        self.missing = tuple(str(planned) for planned in missing if not self._stands_already(planned))

    @property
    def _edit_plan(self) -> EditPlan:
        return EditPlan.of_tree(self.plan)

    def _stands_already(self, planned: PlannedEdit) -> bool:
        """Return True if a planned value was there before, so that no edit was needed."""
        texts = (read_text_of(self.state.folder, cell) for cell in planned.cells)
        return any(text is not None and is_same_text(text, planned.value) for text in texts)

    def _open(self, state: FolderState) -> OpenedModel:
        """Open the model of a state by a run in the shared sandbox; results for both versions are reused."""
        if state is self.old:
            run = self.run_old()
        elif state is self.state and self.run is not None:
            run = self.run
        else:
            run = self.runner.run(state.folder, state.program)
        last = run.last_model
        if last is None or last.milp is None:
            raise ModellingError(f"{plain(state.program, 160)}: {describe_run(run).splitlines()[0]}")
        return OpenedModel(state, last.milp, last.framework)

    def missing_rows(self) -> Iterator[str]:
        """Describe the rows that the plan adds but the revised program does not contain under that name."""
        last = self.run.last_model if self.run else None
        if last is None or last.milp is None:
            return
        names = [_comparable_name(row.name) for row in last.milp.row_records]
        rows = (row for row in self.plan.get("rows", ()) if isinstance(row, dict) and row.get("change") == "add")
        for name in [str(row.get("name", "")) for row in rows][:MAX_FINDINGS]:
            if not any(f"{row}_".startswith(f"{_comparable_name(name)}_") for row in names):
                yield f"the plan adds {one_line(name, 60)!r}, and no row of the program has this name"


def list_unused_helpers(files: Mapping[str, Path], base: Mapping[str, str], program: str) -> Iterator[str]:
    """Describe new Python files that no other file imports."""
    texts = {path: read_bytes(file).decode("utf-8", "replace") for path, file in files.items() if path.endswith(".py")}
    for path in texts:
        if path in base or path == program:
            continue
        pattern = re.compile(rf"\b(?:import|from)\b[^\n]*\b{re.escape(Path(path).stem)}\b")
        if not any(pattern.search(text) for importing_path, text in texts.items() if importing_path != path):
            yield f"{path} is used by no program: delete it"


def describe_entry(entry: DiffEntry) -> str:
    """Describe a difference of two models in one line."""
    form = {"added": "new {}: {}", "removed": "{} {} is gone"}.get(entry.change, "{} {} changed")
    text = form.format(entry.of, plain(entry.name, 60))
    if entry.members > 1:
        text += f" ({entry.members} members)"
    moves = [
        f"{plain(name, 60)} {'none' if old is None else number(old)} → {'none' if new is None else number(new)}"
        if (old, new) != (None, None)
        else plain(name, 60)
        for name, old, new in entry.largest[:3]
        if entry.change == "changed"
    ]
    text += f": {'; '.join(moves)}" if moves else ""
    if entry.effect is not None and entry.effect.value is not None:
        text += f"; alone it changes the optimum by {format_figure(entry.effect)}"
    return text


def _comparable_name(name: str) -> str:
    return re.sub(r"\W+", "_", name).strip("_").lower()
