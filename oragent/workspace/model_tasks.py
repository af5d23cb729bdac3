"""Deterministic verbs on models of a workspace: run, ask, change cells, and compare two revisions.

oragent captures and solves the model itself, and all figures come from its solution. The verbs do not write into the
folder.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from oragent._base.errors import ConfigError, ModellingError, WorkspaceError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import ModelSession, SolveLimits
from oragent.modelling.operations.checking import diff_entries
from oragent.modelling.operations.outcomes import ScenarioModel
from oragent.modelling.operations.requests import DropChange, MemberReference
from oragent.modelling.operations.results import AnyResult, DiffEntry, Figure, Moved
from oragent.modelling.operations.stages import StageOutcome, stage_optima
from oragent.modelling.operations.state import ModelScenario, ModelStudy, moved, objective_change, stage_changes
from oragent.workspace.cells import CellChange, change_cells, is_cell_change, locate_cell, read_change
from oragent.workspace.data_changes import DataFiles
from oragent.workspace.model_results import (
    ComparisonResult,
    LinesResult,
    Preservation,
    Revision,
    RunResult,
    WhatifResult,
)
from oragent.workspace.reading import read_bytes, shorten_path
from oragent.workspace.runner import ProgramRun
from oragent.workspace.sources import FolderState, OpenedModel, Tell, ignore_note, open_state_model, replaced_files
from oragent.workspace.workbook_edits import refuse_linked

# Maximum relative difference of two optima that count as equal.
PRESERVED = 1e-6
# Maximum number of model differences shown after a change of cells.
SHOWN_ENTRIES = 40
HAS_POINT = (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)


def describe_revision(opened: OpenedModel) -> Revision:
    """Describe the files from which a model was made."""
    state = opened.state
    return Revision(name=state.revision, commit=state.commit, program=state.program, framework=opened.framework)


def run_model(state: FolderState, tell: Tell = ignore_note) -> RunResult:
    """Run the program of a state, solve its model independently, and compare the results.

    Raises:
        ModellingError: The program fails, or solves no model that can be captured.
    """
    opened = open_state_model(state, tell, check_claim=True)
    limits = state.solve_limits
    study = ModelStudy(opened.model, limits)
    outcome = study.solve(study.present)
    rows, variables = opened.model.shape
    captured = opened.captured
    return RunResult(
        ok=outcome.status in HAS_POINT,
        revision=describe_revision(opened),
        status=str(outcome.status),
        objective=study.optimum(study.present),
        sense=str(opened.model.objective.sense),
        stages=stage_optima(study.stages(study.present)),
        variables=variables,
        rows=rows,
        verdict=str(captured.verdict) if captured else "",
        reason=captured.reason if captured else "",
        limits=limits,
        warnings=captured.data_notes if captured else (),
    )


def describe_run_result(state: FolderState, ran: ProgramRun, warnings: Sequence[str] = ()) -> RunResult:
    """Return the result of a run whose model was solved independently."""
    last = ran.last_model
    solution = last.solution if last else None
    low, high = (solution.optimum_span if solution else None) or (-math.inf, math.inf)
    milp = last.milp if last else None
    return RunResult(
        ok=ran.has_solution or ran.is_cut_with_plan,
        revision=Revision(name=state.revision, program=state.program, framework=last.framework if last else ""),
        status=str(solution.status if solution else SolveStatus.UNKNOWN),
        objective=Figure.between(ran.objective, low, high, unit=milp.objective_record.unit if milp else ""),
        sense=str(milp.sense) if milp else "",
        variables=milp.shape[1] if milp else 0,
        rows=milp.shape[0] if milp else 0,
        reason=ran.reason or (last.note if last else ""),
        limits=state.solve_limits,
        warnings=tuple(warnings),
    )


def ask_lines(state: FolderState, verb: str, lines: Sequence[str], tell: Tell = ignore_note) -> LinesResult:
    """Run lines of operations on the model of a state.

    Raises:
        ModellingError: No model of the program can be captured, or a line cannot be executed.
    """
    opened = open_state_model(state, tell)
    results: list[AnyResult] = ModelSession(opened.model, state.solve_limits).run(lines)
    statuses = [result.status for result in results if result.status]
    return LinesResult(
        verb=verb,
        revision=describe_revision(opened),
        results=tuple(results),
        ok=not statuses or statuses[-1] in map(str, HAS_POINT),
    )


def try_changes(state: FolderState, changes: Sequence[str], tell: Tell = ignore_note) -> LinesResult | WhatifResult:
    """Show the effect of changes of cells of data files, or of changes of the model.

    Cells are changed in a copy of the folder, and the program runs again there. The effect is therefore exact, also for
    a program that computes with the data before it builds the model.

    Raises:
        WorkspaceError: A cell does not exist.
        ModellingError: No model of the program can be captured, or a change of the model is not possible.
    """
    are_cells = [is_cell_change(change) for change in changes]
    if not any(are_cells):
        return ask_lines(state, "whatif", [f"whatif {'; '.join(changes)}"], tell)
    if not all(are_cells):
        raise ConfigError("changes of cells and changes of the model cannot be mixed; give one kind")
    changes_read = [read_change(change) for change in changes]
    contents, cells = _changed_contents(state, changes_read)
    before = open_state_model(state, tell)
    after = _open_changed(state, contents, tell)
    study, first, second = _solve_both(before.model, after.model, state.solve_limits)
    entries = diff_entries(study, first, after.model, with_effects=False)
    outcome = second.known.outcome
    return WhatifResult(
        ok=outcome.status in HAS_POINT,
        revision=describe_revision(before),
        cells=cells,
        status=str(outcome.status),
        objective=objective_change(study, first, second),
        stages=stage_changes(study, first, second),
        moved=_moves(study, first, second),
        entries=tuple(entries[:SHOWN_ENTRIES]),
        warnings=() if entries else ("the model did not change",),
    )


def _open_changed(state: FolderState, contents: Mapping[str, bytes], tell: Tell) -> OpenedModel:
    """Open the model of a state in which some files have other contents.

    Only binary files need a copy of the folder.
    """
    try:
        texts = {path: content.decode() for path, content in contents.items()}
    except UnicodeDecodeError:
        with replaced_files(state, contents) as trial:
            return open_state_model(trial, tell)
    return open_state_model(state, tell, files=texts)


def _changed_contents(
    state: FolderState, changes: Sequence[CellChange]
) -> tuple[dict[str, bytes], tuple[tuple[str, str, str], ...]]:
    by_path: dict[str, list[CellChange]] = {}
    for change in changes:
        by_path.setdefault(change.cell.path, []).append(change)
    contents, cells = {}, []
    for path, of_file in by_path.items():
        if not (state.folder / path).is_file():
            raise WorkspaceError(f"no file {shorten_path(path)} in the workspace; expected a path below it")
        content = read_bytes(state.folder / path)
        refuse_linked(path, state.list_files())
        cells += [(str(change.cell), locate_cell(content, change.cell).text, change.value) for change in of_file]
        contents[path] = change_cells(content, path, of_file)
    return contents, tuple(cells)


def _solve_both(
    old: IndexedModel, new: IndexedModel, limits: SolveLimits
) -> tuple[ModelStudy, ModelScenario, ModelScenario]:
    study = ModelStudy(old, limits)
    before, after = study.present, ModelScenario((), new, ScenarioModel(new.to_arrays()))
    study.solve(before)
    study.solve(after)
    return study, before, after


def _moves(study: ModelStudy, before: ModelScenario, after: ModelScenario) -> tuple[Moved, ...]:
    """Return the families whose values differ. Both models must have the same variables and a solution."""
    first, second = study.last_point(before), study.last_point(after)
    if first is None or second is None or list(before.model.column_names) != list(after.model.column_names):
        return ()
    return moved(before.model, first, second)


def compare_models(old: FolderState, new: FolderState, tell: Tell = ignore_note) -> ComparisonResult:
    """Compare the models of two states by family, with the effect of each single difference on the optimum."""
    first, second = open_state_model(old, tell), open_state_model(new, tell)
    return _compare(first, second)[0]


def _compare(
    first: OpenedModel, second: OpenedModel
) -> tuple[ComparisonResult, ModelStudy, ModelScenario, ModelScenario]:
    limits = second.state.solve_limits
    study, before, after = _solve_both(first.model, second.model, limits)
    entries = [
        _with_rule_effect(entry, first.model, second.model, limits)
        for entry in diff_entries(study, before, second.model)
    ]
    result = ComparisonResult(
        verb="diff-model",
        old=describe_revision(first),
        new=describe_revision(second),
        objective=objective_change(study, before, after),
        stages=stage_changes(study, before, after),
        status=str(after.known.outcome.status),
        entries=tuple(entries),
        ok=not entries,
    )
    return result, study, before, after


def _with_rule_effect(entry: DiffEntry, old: IndexedModel, new: IndexedModel, limits: SolveLimits) -> DiffEntry:
    """Add the effect of added or removed rows: the optimum with them minus the optimum without them."""
    if entry.of != "rows" or entry.change == "changed":
        return entry
    model = new if entry.change == "added" else old
    family = next(family for family in model.rows if family.name == entry.name)
    if entry.members != len(family):
        return entry
    study = ModelStudy(model, limits)
    try:
        trial = study.scenario((DropChange(reference=MemberReference(name=entry.name)),))
    except ModellingError:
        return entry
    study.solve(study.present)
    study.solve(trial)
    change = objective_change(study, trial, study.present)
    effect = change.difference
    if entry.change == "removed":
        effect = objective_change(study, study.present, trial).difference
    return entry.model_copy(update={"effect": effect})


def verify_revision(
    old: FolderState,
    new: FolderState,
    neutral: Sequence[CellChange],
    tell: Tell = ignore_note,
    open_model: Callable[[FolderState], OpenedModel] | None = None,
) -> ComparisonResult:
    """Compare two states, and test whether the new program keeps the former rules.

    The new program runs on the new data, with the former value in each changed cell and the given neutral values in new
    cells. Its optima must equal the former ones. A revision without a solution is not verified if the former one had
    one. ``open_model`` replaces the function that runs a program.

    Raises:
        ModellingError: No model of a program can be captured.
        WorkspaceError: The cell of a neutral value does not exist.
    """
    opening = open_model or (lambda state: open_state_model(state, tell))
    first, second = opening(old), opening(new)
    result, study, before, after = _compare(first, second)
    data = DataFiles.between(old, new)
    preservation = _test_preservation(new, study, before, data, neutral, opening)
    return result.model_copy(
        update={
            "verb": "verify",
            "ok": preservation.holds is True and _keeps_solution(before, after),
            "edits": tuple(data.list_edits()),
            "preservation": preservation,
        }
    )


def _keeps_solution(before: ModelScenario, after: ModelScenario) -> bool:
    former, status = before.known.outcome.status, after.known.outcome.status
    return status in HAS_POINT or status is former is not SolveStatus.UNKNOWN


def _test_preservation(
    new: FolderState,
    old_study: ModelStudy,
    before: ModelScenario,
    data: DataFiles,
    neutral: Sequence[CellChange],
    opening: Callable[[FolderState], OpenedModel],
) -> Preservation:
    former, cells = old_study.optimum(before), tuple(map(str, neutral))
    try:
        contents = data.former_contents(neutral)
    except WorkspaceError as problem:
        return Preservation(holds=None, reason=str(problem), former=former, cells=cells)
    try:
        with replaced_files(new, contents) as trial:
            model = opening(trial).model
    except ModellingError as problem:
        reason = f"with the former values, no model of the new program can be captured: {problem}"
        return Preservation(holds=False, reason=reason, former=former, cells=cells)
    study = ModelStudy(model, new.solve_limits)
    stages, new_stages = old_study.stages(before), study.stages(study.present)
    holds, reason = _is_preserved(stages, new_stages)
    return Preservation(holds=holds, reason=reason, objective=new_stages[0].optimum, former=former, cells=cells)


def _is_preserved(former: Sequence[StageOutcome], now: Sequence[StageOutcome]) -> tuple[bool | None, str]:
    """Compare the optima of all objectives, each given as an interval, the most important first."""
    is_decided = True
    for stage, new_stage in zip(former, now, strict=False):
        if stage.optimum.value is None or new_stage.optimum.value is None:
            subject = "the model" if stage is former[0] else f"objective {quoted(new_stage.objective.name)}"
            return _compare_statuses(stage.status, new_stage.status, subject)
        if _differ(stage.optimum, new_stage.optimum):
            reason = "with the former values, the optimum differs: name neutral values of new cells (option neutral)"
            return False, reason
        is_decided &= stage.optimum.is_exact and new_stage.optimum.is_exact
    if len(now) < len(former):
        return False, f"the former program has {len(former)} objectives, and the new one {len(now)}"
    if is_decided:
        return True, ""
    return None, "not decided within the gap: allow a longer solve with --time or --gap 0"


def _compare_statuses(former: SolveStatus, now: SolveStatus, subject: str) -> tuple[bool | None, str]:
    """Compare the results of two solves of which one has no optimum."""
    if SolveStatus.UNKNOWN in (former, now):
        return None, f"{subject} is {former} before, and {now} now"
    if former is now:
        return True, f"{subject} is {now} in both programs"
    return False, f"{subject} is {former} before, and {now} now"


def _differ(former: Figure, now: Figure) -> bool:
    """Return True if no value lies in the intervals of both figures."""
    room = PRESERVED * max(1.0, abs(former.value or 0.0))
    low, new_low = (-math.inf if figure.low is None else figure.low for figure in (former, now))
    high, new_high = (math.inf if figure.high is None else figure.high for figure in (former, now))
    return new_low > high + room or new_high < low - room
