"""Explanation of a solved model: what binds and how far prices hold, or why there is no optimum."""

import time
from pathlib import Path

import numpy as np
from rich.console import Console

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.names import read_corrections, with_families
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.checking import inverse
from oragent.modelling.operations.conflicting import MAX_SECONDS, conflict, repair
from oragent.modelling.operations.explaining import binding_ranges, bound_ranges
from oragent.modelling.operations.outcomes import Outcome, SolveLimits, solution_outcome
from oragent.modelling.operations.printing import print_fields
from oragent.modelling.operations.reading import binding
from oragent.modelling.operations.result_tables import HEADER, HIDDEN
from oragent.modelling.operations.results import (
    ConflictFamily,
    ConflictShortage,
    Figure,
    InverseResult,
    MemberFigures,
    RangeEntry,
    RepairChange,
    ResultPart,
)
from oragent.modelling.operations.state import ModelStudy
from oragent.modelling.operations.syntax import parse_line
from oragent.modelling.solving.array_solving import ray_of

# Maximum number of rows of a conflict for which the repair of a single row is computed.
MAX_ALONE = 20


class Explanation(ResultPart):
    """What binds at the best point of a model, or why it has no optimum. Fields that do not apply are empty."""

    binding: tuple[MemberFigures, ...] = ()
    # True if ranges are those of the model with integers fixed; None for a model without integers or ranges.
    with_integers_fixed: bool | None = None
    # Right-hand sides of binding rows, and bounds of variables, with the price of one unit more where it holds.
    ranges: tuple[RangeEntry, ...] = ()
    conflict: tuple[ConflictFamily, ...] = ()
    # False if a part may be removed from the conflict without resolving it.
    irreducible: bool | None = None
    aggregate: ConflictShortage | None = None
    # Least total change of right-hand sides that makes the model feasible.
    least_total_change: Figure | None = None
    proven: bool | None = None
    changes: tuple[RepairChange, ...] = ()
    # Changes of which each makes the model feasible alone.
    each_alone: tuple[RepairChange, ...] = ()
    # Step of each variable in a direction in which the objective improves without end, and its change.
    direction: tuple[tuple[str, float], ...] = ()
    change: Figure | None = None
    # What prices and values mean, and why a part of the explanation is missing.
    notes: tuple[str, ...] = ()


def explain(model: IndexedModel, limits: SolveLimits | None = None, outcome: Outcome | None = None) -> Explanation:
    """Explain the optimum of a model, or why it has none.

    Args:
        model: The model.
        limits: Limits of each solve.
        outcome: Outcome of a solve of the model. Without it, the model is solved.
    """
    study = ModelStudy(model, limits)
    known = study.present.known
    if outcome is not None:
        study.pool.learn(known, outcome)
        known.is_solved_with = study.limits
    outcome = study.solve(study.present)
    if outcome.status is SolveStatus.INFEASIBLE:
        return _explain_infeasible(study)
    if outcome.status is SolveStatus.UNBOUNDED:
        return _explain_unbounded(model)
    if outcome.point is None:
        return Explanation()
    rows = binding(study, ops.BindingRequest())
    try:
        ranges = (*binding_ranges(study), *bound_ranges(study))
    except ModellingError as problem:
        return Explanation(binding=rows.members, notes=(*rows.warnings, str(problem)))
    is_fixed = True if ranges and model.integer.any() else None
    return Explanation(binding=rows.members, with_integers_fixed=is_fixed, ranges=ranges, notes=rows.warnings)


def _explain_unbounded(model: IndexedModel) -> Explanation:
    """Explain in which direction the objective of an unbounded model improves without end."""
    arrays = model.to_arrays()
    direction: Vector | None = ray_of(arrays)
    if direction is None:
        return Explanation(notes=("no direction in which the objective improves without end was computed",))
    steps = tuple((model.column_names[column], float(direction[column])) for column in np.flatnonzero(direction))
    return Explanation(direction=steps, change=Figure.exact(float(arrays.cost @ direction), model.objective.unit))


def _explain_infeasible(study: ModelStudy) -> Explanation:
    fields: dict[str, object] = {}
    notes = []
    rows: list[str] = []
    try:
        subset = conflict(study, ops.ConflictRequest())
        fields = {"conflict": subset.families, "irreducible": subset.irreducible, "aggregate": subset.aggregate}
        rows = [name for family in subset.families if family.part == "rows" for name in family.names]
    except ModellingError as problem:
        notes.append(str(problem))
    try:
        least = repair(study, ops.RepairRequest())
        fields |= {"least_total_change": least.total, "proven": least.proven, "changes": least.changes}
    except ModellingError as problem:
        return Explanation(**fields, notes=(*notes, str(problem)))  # type: ignore[arg-type]  # fields of the class
    until = time.monotonic() + MAX_SECONDS
    alone: list[RepairChange] = []
    for row in rows[:MAX_ALONE] if len(rows) > 1 else ():
        if time.monotonic() < until:
            alone += _repair_alone(study, row)
    return Explanation(**fields, each_alone=tuple(alone), notes=tuple(notes))  # type: ignore[arg-type]


def _repair_alone(study: ModelStudy, row: str) -> tuple[RepairChange, ...]:
    """Return the change of a row that makes the model feasible; empty if no change of this row does."""
    request = parse_line(f"repair rows.{row}")
    assert isinstance(request, ops.RepairRequest)
    try:
        return repair(study, request).changes
    except ModellingError:
        return ()


def find_inverse(model: IndexedModel, path: Path, point: Path, limits: SolveLimits) -> InverseResult:
    """Return what would make the point of a file optimal in the model of another file."""
    study = ModelStudy(with_families(model, read_corrections(path)), limits)
    return inverse(study, ops.InverseRequest(file=str(point)))


def print_inverse(change: InverseResult, console: Console) -> None:
    """Print what would make a point optimal."""
    print_fields(change, console, (HEADER - {"warnings"}) | HIDDEN)


def print_explanation(
    model: IndexedModel, path: Path, solution: Solution, limits: SolveLimits, console: Console
) -> None:
    """Print what explains the solution of a file."""
    model = with_families(model, read_corrections(path))
    # The solution of several objectives is not that of the first one alone.
    outcome = None if model.staged_features.goals else solution_outcome(solution)
    print_fields(explain(model, limits, outcome), console)
