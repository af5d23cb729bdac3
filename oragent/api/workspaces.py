"""Workspaces from Python: the verbs on models of git revisions; no language model is asked."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from oragent.modelling.operations.results import AnyResult
from oragent.workspace.adopting import Adoption, adopt_folder
from oragent.workspace.cells import read_change
from oragent.workspace.data_changes import EditPlan, audit_edits
from oragent.workspace.model_commands import check_file, check_text
from oragent.workspace.model_results import (
    AuditResult,
    CiteResult,
    ComparisonResult,
    LinesResult,
    RunResult,
    WhatifResult,
)
from oragent.workspace.model_tasks import ask_lines, compare_models, run_model, try_changes, verify_revision
from oragent.workspace.settings import EffortOptions
from oragent.workspace.sources import WORKING, FolderState, open_state


class Workspace:
    """A folder with a model, its data and its documents.

    A revision is one of git, ``REVISION:FILE``, a model file, or ``.`` for the files as they are now. Programs run in
    the sandbox, and nothing in the folder is changed.

    Args:
        folder: Folder of the workspace, adopted or not.
        seconds: CPU seconds of a program and seconds of a solve; None: those of ``workspace.yaml``, or 120.
        gap: Relative gap at which a solve may end; None: that of ``workspace.yaml``, or 0.
        memory: MiB of memory of a program; None: those of ``workspace.yaml``, or 4096.
    """

    def __init__(
        self, folder: str | Path, *, seconds: float | None = None, gap: float | None = None, memory: int | None = None
    ) -> None:
        self.folder = Path(folder)
        self._options = EffortOptions(seconds, gap, memory)

    def settings(self) -> str:
        """Return the ``workspace.yaml`` that fits the folder, as text; programs run, and nothing is written."""
        return self.adopt().text

    def adopt(self) -> Adoption:
        """Propose a ``workspace.yaml`` by running the programs of the folder; nothing is written."""
        return adopt_folder(self.folder)

    def run(self, at: str = WORKING) -> RunResult:
        """Run the program of a revision, and solve its model again.

        Raises:
            OragentError: The program fails, or none of its models can be captured; likewise for all methods.
        """
        with self._open(at) as state:
            return run_model(state)

    def ask(self, *lines: str, at: str = WORKING) -> tuple[AnyResult, ...]:
        """Run lines of operations on the model of a revision, such as ``price capacity[Lyon, *]``."""
        return self._ask("ask", lines, at).results

    def whatif(self, *changes: str, at: str = WORKING) -> LinesResult | WhatifResult:
        """Show the effect of changes, such as ``data/demand.csv[Paris, wk3]=120`` or ``demand[Paris, *] *= 1.1``."""
        with self._open(at) as state:
            return try_changes(state, changes)

    def price(self, row: str, step: str = "", at: str = WORKING) -> LinesResult:
        """Show the optimum with a step more and a step less of rows or data."""
        return self._ask("price", [f"price {row}{f' by {step}' if step else ''}"], at)

    def why_infeasible(self, at: str = WORKING) -> LinesResult:
        """Show rows and bounds that cannot hold together."""
        return self._ask("why-infeasible", ["conflict"], at)

    def repair(self, *rows: str, at: str = WORKING) -> LinesResult:
        """Show the least total change of right-hand sides that makes the model feasible."""
        return self._ask("repair", [" ".join(["repair", *rows])], at)

    def compare(self, old: str, new: str = WORKING) -> ComparisonResult:
        """Show rows, variables and data that differ between two models, each with its effect."""
        with (
            open_state(self.folder, old, self._options) as first,
            open_state(self.folder, new, self._options) as second,
        ):
            return compare_models(first, second)

    def verify(self, old: str, new: str = WORKING, neutral: Sequence[str] = ()) -> ComparisonResult:
        """Test that the new program has the former optimum at former values, and at neutral values of new cells.

        Args:
            old: Former revision.
            new: New revision.
            neutral: ``CELL=VALUE`` of new cells, at which they have no effect.
        """
        changes = [read_change(text) for text in neutral]
        with (
            open_state(self.folder, old, self._options) as first,
            open_state(self.folder, new, self._options) as second,
        ):
            return verify_revision(first, second, changes)

    def audit(self, old: str, new: str = WORKING, plan: str | Path | None = None) -> AuditResult:
        """List each cell of data that differs between two revisions, and compare them with a plan."""
        planned = EditPlan.read(Path(plan)) if plan else None
        with (
            open_state(self.folder, old, self._options) as first,
            open_state(self.folder, new, self._options) as second,
        ):
            return audit_edits(first, second, planned)

    def cite(self, text: str | Path, at: str = WORKING) -> CiteResult:
        """Look up each citation of a text: file, line or row and column, and value.

        Args:
            text: A file, or a text with citations.
            at: Revision whose files are cited.
        """
        is_text = isinstance(text, str) and ("[" in text or "\n" in text)
        with self._open(at) as state:
            return check_text(state, str(text)) if is_text else check_file(state, Path(text))

    def _open(self, revision: str) -> AbstractContextManager[FolderState]:
        return open_state(self.folder, revision, self._options)

    def _ask(self, verb: str, lines: Sequence[str], at: str) -> LinesResult:
        with self._open(at) as state:
            return ask_lines(state, verb, lines)
