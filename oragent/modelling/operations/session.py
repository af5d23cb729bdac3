"""Session of operations on one model. It takes lines or typed requests and returns typed results.

    session = ModelSession.open(Path("transport.json"))
    result = session.ask("whatif demand[Paris, wk3..wk5] *= 1.1")
    print(result.objective.difference.value, result.model_dump_json())

A question never changes the state. ``keep`` makes the last trial the state.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import get_args

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel, ParameterFamily
from oragent.modelling.opening import open_model
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.changes import apply_change, figures_of
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.registry import run_query
from oragent.modelling.operations.rendering import render
from oragent.modelling.operations.results import AnyResult, StateResult, finite_or_none
from oragent.modelling.operations.rows import NAMES
from oragent.modelling.operations.slices import fold
from oragent.modelling.operations.state import BASE, Changes, ModelStudy, lines_of
from oragent.modelling.operations.syntax import is_comment, parse_line
from oragent.modelling.references.reference_text import name_text

CHANGES = get_args(ops.AnyChange)
# Name, figure before, figure after.
ChangedFigure = tuple[str, float | None, float | None]
# Maximum number of figures that the result of a change lists, beside their count.
SHOWN = 5


class ModelSession:
    """A model, its scenarios, and the results of all lines by id."""

    def __init__(
        self,
        model: IndexedModel,
        limits: SolveLimits | None = None,
        scenarios: Mapping[str, Iterable[str]] | None = None,
        folder: Path | None = None,
    ) -> None:
        named = {name: _parse_changes(lines) for name, lines in (scenarios or {}).items()}
        self.study = ModelStudy(model, limits, named, folder)
        self.results: dict[str, AnyResult] = {}

    @classmethod
    def open(cls, path: Path, limits: SolveLimits | None = None) -> "ModelSession":
        """Open the model of a file of any form, a program, or the folder of a run.

        Raises:
            ModellingError: The file contains no model.
        """
        return cls(open_model(path), limits, folder=path.parent)

    @property
    def model(self) -> IndexedModel:
        """Return the model of the present scenario."""
        return self.study.present.model

    def ask(self, line: str | ops.AnyRequest) -> AnyResult:
        """Execute a line or a typed request. The result is stored under its id.

        Raises:
            ModellingError: The line is malformed, or cannot be executed. Nothing was changed.
        """
        request = parse_line(line) if isinstance(line, str) else line
        if isinstance(request, CHANGES):
            result: AnyResult = self._change(request)
        elif isinstance(request, ops.KeepRequest):
            result = self._keep(request)
        elif isinstance(request, ops.UndoRequest):
            result = self._undo(request)
        elif isinstance(request, ops.ScenarioRequest):
            result = self._go(self.study.named(request.name))
        else:
            result = run_query(self.study, request)
        key = f"r{len(self.results) + 1}"
        result = result.model_copy(update={"id": key, "line": render(request), "request": request})
        self.results[key] = result
        return result

    def run(self, lines: Iterable[str]) -> list[AnyResult]:
        """Execute lines in order, without empty lines and comments."""
        return [self.ask(line) for line in lines if not is_comment(line)]

    def scenario_lines(self) -> dict[str, list[str]]:
        """Return the lines of all kept scenarios by name."""
        return {name: list(lines_of(changes)) for name, changes in self.study.scenarios.items()}

    def _change(self, change: ops.AnyChange) -> StateResult:
        study = self.study
        before = study.present.model
        after = apply_change(before, change, study.base)
        changed, count = _changed_figures(before, after)
        study.changes = (*study.changes, change)
        study.trial = None
        return self._state(changed, count)

    def _keep(self, request: ops.KeepRequest) -> StateResult:
        study = self.study
        if study.trial is None and not request.name:
            raise ModellingError("nothing to keep: use 'whatif' first, or name the present state with 'keep NAME'")
        if request.name and fold(request.name) == BASE:
            raise ModellingError(f"{quoted(request.name)} is the model without changes: choose another name")
        if study.trial is not None:
            study.changes, study.trial = study.trial, None
        if request.name:
            study.scenarios = {
                **{name: kept for name, kept in study.scenarios.items() if fold(name) != fold(request.name)},
                request.name: study.changes,
            }
        return self._state()

    def _undo(self, request: ops.UndoRequest) -> StateResult:
        study = self.study
        if request.count > len(study.changes):
            raise ModellingError(f"undo {request.count}: only {len(study.changes)} changes were made")
        return self._go(study.changes[: len(study.changes) - request.count])

    def _go(self, changes: Changes) -> StateResult:
        self.study.changes, self.study.trial = changes, None
        return self._state()

    def _state(self, changed: tuple[ChangedFigure, ...] = (), count: int = 0) -> StateResult:
        study = self.study
        return StateResult(
            scenario=study.label(study.changes), changes=lines_of(study.changes), changed=changed, count=count
        )


def _parse_changes(lines: Iterable[str]) -> Changes:
    changes: list[ops.AnyChange] = []
    for line in lines:
        request = parse_line(line)
        if not isinstance(request, CHANGES):
            raise ModellingError(f"a scenario contains only changes, not {quoted(line)}")
        changes.append(request)
    return tuple(changes)


def _changed_figures(before: IndexedModel, after: IndexedModel) -> tuple[tuple[ChangedFigure, ...], int]:
    """Return names, old and new figures that a change sets directly: data, right-hand sides, bounds and costs."""
    if not np.array_equal(before.cells, after.cells):
        return _differences("{}", before.names_of(ParameterFamily), before.cells, after.cells)
    names = before.column_names
    parts = [
        _differences(form, names, figures_of(before, field), figures_of(after, field)) for field, form in NAMES.items()
    ]
    for goal in after.objectives:
        earlier = next((objective for objective in before.objectives if objective.name == goal.name), None)
        if earlier is not None and earlier.cost is not goal.cost:
            costs = earlier.cost.evaluate(before.cells), goal.cost.evaluate(after.cells)
            parts.append(_differences(f"{name_text(goal.name)}({{}})", names, *costs))
    if before.shape == after.shape:
        parts.append(_differences("{}", before.row_names, before.rhs_values, after.rhs_values))
        entries = int((before.matrix.values != after.matrix.values).sum())
    else:
        entries = abs(before.shape[0] - after.shape[0])
    shown = [figure for figures, _ in parts for figure in figures]
    return tuple(shown[:SHOWN]), sum(count for _, count in parts) + entries


def _differences(
    form: str, names: Sequence[str], before: Vector, after: Vector
) -> tuple[tuple[ChangedFigure, ...], int]:
    """Return the first figures that differ, with their names in a form such as ``lower({})``, and their number."""
    places = np.flatnonzero(before != after).tolist()
    figures = ((form.format(names[at]), finite_or_none(before[at]), finite_or_none(after[at])) for at in places[:SHOWN])
    return tuple(figures), len(places)
