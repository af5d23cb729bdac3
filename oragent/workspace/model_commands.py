"""Commands of the verbs on revisions: open the states, run the verb, print its result, and return the exit code.

Exit codes: 0 if the check holds or the model has a solution; 1 for an error or a failed check; 3 without a solution.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

from rich.console import Console

from oragent._base.publishing import publish_result
from oragent._base.terminal import print_line
from oragent.modelling.data.display import plain
from oragent.modelling.opening import print_note
from oragent.modelling.operations.printing import print_fields, print_result
from oragent.modelling.references.figures import format_figure
from oragent.workspace.adopting import adopt_folder
from oragent.workspace.cells import read_change
from oragent.workspace.citations import (
    Citation,
    check_figures,
    find_citations,
    read_citation_list,
    resolve_citation,
)
from oragent.workspace.data_changes import EditPlan, audit_edits
from oragent.workspace.model_results import CitationResult, CiteResult, LinesResult, Revision, VerbResult
from oragent.workspace.model_tasks import ask_lines, compare_models, run_model, try_changes, verify_revision
from oragent.workspace.reading import parse_json, read_text
from oragent.workspace.settings import FILE, EffortOptions
from oragent.workspace.sources import WORKING, FolderState, open_state

HOLDS, FAILS, UNSOLVED = 0, 1, 3
HIDDEN = {"verb", "ok", "warnings", "results", "limits"}

# Maximum number of characters of a text with citations.
MAX_CITING_CHARACTERS = 4 << 20
# Fields of a citation that name a place.
PLACE = ("path", "table", "line", "row", "column", "keys")


def check_file(state: FolderState, path: Path) -> CiteResult:
    """Look up each citation of a text file, or of a JSON list of objects."""
    text = read_text(path, MAX_CITING_CHARACTERS)
    if path.suffix.casefold() == ".json":
        return _check_citations(state, read_citation_list(parse_json(text, path)), "")
    return check_text(state, text)


def check_text(state: FolderState, text: str) -> CiteResult:
    """Look up each citation of a text. A line that is cited without a quote must state a figure of the sentence."""
    return _check_citations(state, find_citations(text), text)


def _check_citations(state: FolderState, citations: Sequence[Citation], text: str) -> CiteResult:
    files = state.list_files()
    results = []
    for citation in dict.fromkeys(citations):
        resolved = check_figures(resolve_citation(citation, files), text)
        location = {name: value for name, value in vars(citation).items() if name in PLACE}
        verdict = {"value": resolved.value, "holds": not resolved.reason, "reason": resolved.reason}
        results.append(CitationResult.model_validate({"text": str(citation), **location, **verdict}))
    return CiteResult(
        ok=all(result.holds for result in results),
        revision=Revision(name=state.revision, commit=state.commit),
        citations=tuple(results),
        warnings=() if results else ("the text has no citations",),
    )


class VerbCommands:
    """Commands that work in one folder and print to one console."""

    def __init__(self, folder: Path, console: Console, options: EffortOptions, as_json: bool = False) -> None:
        self.folder = folder
        self.console = console
        self.options = options
        self.as_json = as_json

    def run(self, revision: str = WORKING) -> int:
        """Run the program of a revision and print the result of its model."""
        return self._on_state(revision, lambda state: run_model(state, print_note), UNSOLVED)

    def ask(self, verb: str, lines: Sequence[str], revision: str = WORKING) -> int:
        """Run operations, one per line, on the model of a revision."""
        return self._on_state(revision, lambda state: ask_lines(state, verb, lines, print_note), UNSOLVED)

    def try_changes(self, changes: Sequence[str], revision: str = WORKING) -> int:
        """Show the effect of changes of data cells or of the model."""
        return self._on_state(revision, lambda state: try_changes(state, changes, print_note), UNSOLVED)

    def compare(self, old: str, new: str) -> int:
        """Compare the models of two revisions."""
        return self._on_states(old, new, lambda first, second: compare_models(first, second, print_note))

    def verify(self, old: str, new: str, neutral: Sequence[str]) -> int:
        """Compare two revisions and test whether the former rules are preserved."""
        changes = [read_change(text) for text in neutral]
        return self._on_states(old, new, lambda first, second: verify_revision(first, second, changes, print_note))

    def audit(self, old: str, new: str, plan: Path | None) -> int:
        """List the cells that differ between two revisions; compare them with a plan if given."""
        planned = EditPlan.read(plan) if plan else None
        return self._on_states(old, new, lambda first, second: audit_edits(first, second, planned))

    def cite(self, text: Path, revision: str = WORKING) -> int:
        """Check the citations of a text against the files of a revision."""
        return self._on_state(revision, lambda state: check_file(state, text), FAILS)

    def _on_state(self, revision: str, perform: Callable[[FolderState], VerbResult], code: int) -> int:
        with open_state(self.folder, revision, self.options) as state:
            return self._print(perform(state), code)

    def _on_states(self, old: str, new: str, perform: Callable[[FolderState, FolderState], VerbResult]) -> int:
        with (
            open_state(self.folder, old, self.options) as first,
            open_state(self.folder, new, self.options) as second,
        ):
            return self._print(perform(first, second), FAILS)

    def _print(self, result: VerbResult, code: int) -> int:
        publish_result(result)
        if self.as_json:
            self.console.file.write(result.model_dump_json() + "\n")
        else:
            print_verb_result(result, self.console)
        return HOLDS if result.ok else code


def print_verb_result(result: VerbResult, console: Console) -> None:
    """Print the fields of a result, and each list of parts as a table."""
    if isinstance(result, LinesResult):
        for entry in result.results:
            print_result(entry, console)
    else:
        print_fields(result, console, HIDDEN)
        print_line(console, f"  {'holds' if result.ok else 'does not hold'}", style="bold" if result.ok else "bold red")
    for warning in result.warnings:
        print_line(console, f"  note: {warning}", style="yellow")


def adopt_command(folder: Path, write: bool, console: Console) -> int:
    """Print the proposed settings of a folder and the runs that chose them; write the settings if ``write`` is True."""
    adoption = adopt_folder(folder, write)
    lists = {"trials": adoption.trials, "untried": adoption.untried, "variables": adoption.variables}
    publish_result({"settings": adoption.proposal, "file": folder / FILE if write else None, **lists})
    console.file.write(adoption.text)
    for trial in adoption.trials:
        objective = f", objective {format_figure(trial.objective)}" if trial.is_solved else ""
        print_note(f"tried {plain(trial.entry, 160)}: {trial.status}{objective}{trial.reason}")
    if adoption.untried:
        print_note(f"other programs: {'; '.join(plain(entry, 160) for entry in adoption.untried)}")
    if adoption.variables and not adoption.is_solved:
        print_note(f"the program reads the variables {', '.join(adoption.variables)}: set them under environment")
    print_note(f"written: {folder / FILE}" if write else "nothing was written; --write writes it as workspace.yaml")
    return HOLDS if adoption.is_solved else UNSOLVED
