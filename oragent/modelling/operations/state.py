"""State of a study: the base model, the changes made, kept scenarios, and all results so far."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.data.tolerances import scale_of, scales_of
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.changes import apply_change
from oragent.modelling.operations.outcomes import Outcome, OutcomePool, ScenarioModel, SolveLimits, difference_span
from oragent.modelling.operations.rendering import render
from oragent.modelling.operations.results import Figure, Moved, ObjectiveChange, OperationResult
from oragent.modelling.operations.slices import fold, nearest_names
from oragent.modelling.operations.stages import StageOutcome, objective_values, solve_stages

BASE = "base"
# Maximum number of models of a study in memory, and maximum number of their nonzero coefficients together.
KEPT_MODELS = 200
KEPT_NONZEROS = 20_000_000
# Maximum number of changed members per family.
SHOWN_MOVES = 5
# Values with a smaller relative change count as equal.
SAME = 1e-7

Changes = tuple[ops.AnyChange, ...]
AnyKind = TypeVar("AnyKind", bound=OperationResult)


@dataclass(frozen=True, eq=False)
class ModelScenario:
    """A model after changes, and the knowledge about its optimum."""

    changes: Changes
    model: IndexedModel
    # The model with the objective that is optimised first.
    known: ScenarioModel
    # Models of later stages, by the limits on the objectives before them.
    later: dict[tuple[float, ...], ScenarioModel] = field(default_factory=dict)


class ModelStudy:
    """State that all operations read and change."""

    def __init__(
        self,
        base: IndexedModel,
        limits: SolveLimits | None = None,
        scenarios: Mapping[str, Changes] | None = None,
        folder: Path | None = None,
    ) -> None:
        self.base = base
        self.limits = limits or SolveLimits()
        self.scenarios: dict[str, Changes] = dict(scenarios or {})
        # Folder of files that are named in lines.
        self.folder = folder or Path()
        self.changes: Changes = ()
        # Changes of the last question that solved with changes.
        self.trial: Changes | None = None
        self.pool = OutcomePool()
        self._models: OrderedDict[tuple[str, ...], ModelScenario] = OrderedDict()

    @property
    def present(self) -> ModelScenario:
        """Return the present scenario."""
        return self.scenario(self.changes)

    def scenario(self, changes: Changes) -> ModelScenario:
        """Return the scenario after some changes of the base model."""
        key = lines_of(changes)
        if key not in self._models:
            before = self._models.get(key[:-1]) if changes else None
            model, remaining = (self.base, changes) if before is None else (before.model, changes[-1:])
            for change in remaining:
                model = apply_change(model, change, self.base)
            self._models[key] = ModelScenario(changes, model, ScenarioModel(model.to_arrays()))
            while len(self._models) > 2 and self._is_full(len(model.columns)):
                self._models.popitem(last=False)
        self._models.move_to_end(key)
        return self._models[key]

    def _is_full(self, nonzeros: int) -> bool:
        """Return True if more models are in memory than may be, each with as many nonzero coefficients."""
        count = len(self._models)
        return count > KEPT_MODELS or count * nonzeros > KEPT_NONZEROS

    def named(self, name: str) -> Changes:
        """Return the changes of a kept scenario. ``base`` is the model without changes."""
        if fold(name) == BASE:
            return ()
        for saved, changes in self.scenarios.items():
            if fold(saved) == fold(name):
                return changes
        raise ModellingError(f"unknown scenario {quoted(name)}: {nearest_names(name, [BASE, *self.scenarios])}")

    def label(self, changes: Changes) -> str:
        """Return the name of a scenario, or the number of its changes."""
        if not changes:
            return BASE
        for name, kept in self.scenarios.items():
            if lines_of(kept) == lines_of(changes):
                return name
        return f"{BASE} + {len(changes)}"

    def solve(self, scenario: ModelScenario, basis: object = None) -> Outcome:
        """Solve a scenario within the limits of the study, or return the known outcome.

        A basis of HiGHS is used as in ``SolverOptions``.
        """
        return self.pool.solve(scenario.known, self.limits, basis)

    def basis_near(self, scenario: ModelScenario, other: ModelScenario) -> object:
        """Solve a scenario, and return its basis if another one differs in right-hand sides alone; None otherwise.

        After other changes, such as of many costs, HiGHS is often faster without a basis.
        """
        basis, (first, second) = self.solve(scenario).basis, (scenario.known.arrays, other.known.arrays)
        if basis is None or first.matrix.shape != second.matrix.shape:
            return None
        same = [(first.cost, second.cost), (first.low, second.low), (first.high, second.high)]
        same += [
            (getattr(first.matrix, name), getattr(second.matrix, name)) for name in ("starts", "columns", "values")
        ]
        return basis if all(a is b or np.array_equal(a, b) for a, b in same) else None

    def point(self, scenario: ModelScenario) -> Vector:
        """Return the best point of a scenario. Without a point, raise ``ModellingError``."""
        outcome = self.solve(scenario)
        if outcome.point is None:
            if outcome.status is SolveStatus.UNKNOWN:
                ended = f" (limit: {outcome.ended_by})" if outcome.ended_by else ""
                raise ModellingError(
                    f"no feasible point was found{ended}, so there are no values: try {continue_options(self.limits)}, "
                    "or another --solver"
                )
            hint = "ask 'conflict' or 'repair'" if outcome.status is SolveStatus.INFEASIBLE else "add a bound or a row"
            raise ModellingError(f"the model is {outcome.status}, so there are no values: {hint}")
        point = self.last_point(scenario)
        assert point is not None
        return point

    def stages(self, scenario: ModelScenario) -> tuple[StageOutcome, ...]:
        """Solve the objectives of a scenario in order of priority."""
        return solve_stages(self.pool, scenario.model, scenario.known, self.limits, scenario.later)

    def last_point(self, scenario: ModelScenario) -> Vector | None:
        """Return the best point of the last stage that has one, or None."""
        points = [stage.point for stage in self.stages(scenario) if stage.point is not None]
        return points[-1] if points else None

    def optimum(self, scenario: ModelScenario) -> Figure:
        """Return what is known about the optimum of a solved scenario."""
        outcome = scenario.known.outcome
        return Figure.between(outcome.objective, *outcome.span(), unit=scenario.model.objective.unit)

    def warn(self, scenario: ModelScenario) -> tuple[str, ...]:
        """Return warnings for readers of the values of a scenario."""
        warnings = []
        if scenario.known.outcome.status is SolveStatus.FEASIBLE:
            goes_on = continue_options(self.limits)
            warnings.append(f"values of the best point known, not proven optimal; {goes_on} goes on")
        first, *later = [quoted(stage.name) for stage in scenario.model.stages]
        if later:
            goal = scenario.model.objective
            plans = "plans within its tolerance" if goal.slack or goal.slack_amount else "its optima"
            warnings.append(
                f"prices and differences are those of the optimum of {first}, which is optimised first; "
                f"{' and then '.join(later)} {'follow' if len(later) > 1 else 'follows'} among {plans}"
            )
        return tuple(warnings)


def continue_options(limits: SolveLimits) -> str:
    """Return options with which a solve that a limit ended can continue."""
    if limits.gap > 0:
        return f"--gap {limits.gap / 10:g}"
    if limits.nodes is not None:
        return f"--nodes {max(10, 10 * limits.nodes)}"
    if limits.iterations is not None:
        return f"--iterations {max(1000, 10 * limits.iterations)}"
    if limits.seconds is not None:
        return f"--time {10 * limits.seconds:g}"
    return "--gap 0"


def objective_change(study: ModelStudy, before: ModelScenario, after: ModelScenario) -> ObjectiveChange:
    """Return the optima of two solved scenarios, and their difference as an interval."""
    study.pool.refresh(before.known)
    study.pool.refresh(after.known)
    goal = after.model.objective
    return ObjectiveChange(
        name=goal.name,
        sense=str(goal.sense),
        before=study.optimum(before),
        after=study.optimum(after),
        difference=difference(before, after),
    )


def stage_changes(study: ModelStudy, before: ModelScenario, after: ModelScenario) -> tuple[ObjectiveChange, ...]:
    """Return the optima of all stages of two scenarios; empty for a single one, or if their objectives differ."""
    names, new_names = ([goal.name for goal in scenario.model.stages] for scenario in (before, after))
    if len(names) == 1 or names != new_names:
        return ()
    pairs = zip(study.stages(before), study.stages(after), strict=False)
    return tuple(
        ObjectiveChange(
            name=second.objective.name,
            sense=str(second.objective.sense),
            before=first.optimum,
            after=second.optimum,
            difference=difference(before, after) if position == 0 else figure_difference(first.optimum, second.optimum),
        )
        for position, (first, second) in enumerate(pairs)
    )


def part_changes(
    before: IndexedModel, first: Vector | None, after: IndexedModel, second: Vector | None
) -> tuple[ObjectiveChange, ...]:
    """Return the objectives of both models at a point of each; empty for a single one."""
    old = {part.name: part for part in objective_values(before, first)}
    changes = []
    for part in objective_values(after, second):
        if part.name in old:
            step = figure_difference(old[part.name].value, part.value)
            changes.append(
                ObjectiveChange(
                    name=part.name, sense=part.sense, before=old[part.name].value, after=part.value, difference=step
                )
            )
    return tuple(changes)


def figure_difference(before: Figure, after: Figure) -> Figure:
    """Return the second figure minus the first, as an interval."""

    def minus(second: float | None, first: float | None) -> float | None:
        if first is None or second is None:
            return None
        return second - first

    low, high = minus(after.low, before.high), minus(after.high, before.low)
    return Figure(value=minus(after.value, before.value), low=low, high=high, unit=after.unit)


def difference(before: ModelScenario, after: ModelScenario) -> Figure:
    """Return the optimum of the second scenario minus that of the first, as an interval."""
    first, second = before.known.outcome, after.known.outcome
    unit = after.model.objective.unit
    if first.objective is None or second.objective is None:
        return Figure(unit=unit)
    value = second.objective - first.objective
    if first.status is SolveStatus.OPTIMAL and second.status is SolveStatus.OPTIMAL:
        size = scale_of(first.objective, second.objective)
        return Figure.exact(0.0 if abs(value) <= 1e-9 * size else value, unit)
    low, high = difference_span(before.known, after.known)
    return Figure.between(min(max(value, low), high), low, high, unit)


def is_decided(figure: Figure) -> bool:
    """Return True if the sign of a difference is proven."""
    if figure.low is not None and figure.low >= 0:
        return True
    return figure.high is not None and figure.high <= 0


def moved(model: IndexedModel, before: Vector, after: Vector) -> tuple[Moved, ...]:
    """Return the families of variables whose values differ between two points, the largest differences first."""
    steps = after - before
    is_moved = np.abs(steps) > SAME * scales_of(before)
    entries = []
    for family in model.variables:
        members = np.flatnonzero(is_moved[family.positions])
        if not len(members):
            continue
        places = family.positions[members]
        order = members[np.argsort(-np.abs(steps[places]), kind="stable")][:SHOWN_MOVES].tolist()
        largest = tuple(
            (
                model.member_name(family, member),
                float(before[family.positions[member]]),
                float(after[family.positions[member]]),
            )
            for member in order
        )
        entry = Moved(
            family=family.name,
            members=len(members),
            total_before=Figure.exact(float(before[family.positions].sum()), family.unit),
            total_after=Figure.exact(float(after[family.positions].sum()), family.unit),
            largest=largest,
        )
        entries.append((float(np.abs(steps[places]).sum()), entry))
    return tuple(entry for _, entry in sorted(entries, key=lambda pair: -pair[0]))


def solved(study: ModelStudy, scenario: ModelScenario, result: AnyKind) -> AnyKind:
    """Return the result with the fields that describe how a scenario was solved."""
    outcome = scenario.known.outcome
    fields = {
        "scenario": study.label(scenario.changes),
        "status": str(outcome.status),
        "solver": outcome.solver,
        "limits": study.limits,
        "ended_by": outcome.ended_by if outcome.status is not SolveStatus.OPTIMAL else "",
        "confirmed": scenario.known.confirmation,
    }
    return result.model_copy(update=fields)


def lines_of(changes: Sequence[ops.AnyChange]) -> tuple[str, ...]:
    """Return the lines of changes."""
    return tuple(render(change) for change in changes)
