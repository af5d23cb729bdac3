"""Optima of arrays as proven intervals.

One solve with any back end is checked; related models share points and bounds.
"""

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Sparse, Vector
from oragent.modelling.data.display import number, rounded
from oragent.modelling.data.features import STRICT
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import Solution, SolveStatus, Source
from oragent.modelling.data.tolerances import scale_of
from oragent.modelling.solving import array_solving
from oragent.modelling.solving.array_solving import PROVEN
from oragent.modelling.solving.back_ends import SolverOptions
from oragent.modelling.solving.highs import basis_of

if TYPE_CHECKING:
    from pydantic import ConfigDict

    from oragent.modelling.solving.optimal_face import OptimalFace

# Relative difference up to which two optima agree, each of which may be wrong by the tolerance of its solver.
CONFIRMED = 2e-6
# Maximum number of points in a pool. The oldest are removed first.
POOL = 100


@dataclass(frozen=True)
class SolveLimits:
    """Limits of one solve. Nodes, iterations and gap give the same result every time; seconds are a maximum."""

    __pydantic_config__: ClassVar["ConfigDict"] = STRICT
    solver: str = "highs"
    nodes: int | None = None
    iterations: int | None = None
    gap: float = 0.0
    seed: int = 0
    seconds: float | None = None
    threads: int = 1
    # Second back end that confirms the result. Empty for none.
    confirm: str = ""

    def __post_init__(self) -> None:
        # They check the figures.
        self.options()

    def options(self) -> SolverOptions:
        """Return the options of a back end."""
        return SolverOptions(self.seconds, self.gap, self.threads, self.nodes, self.iterations, self.seed)


@dataclass(frozen=True, eq=False)
class Outcome:
    """Knowledge about the optimum of a model."""

    status: SolveStatus
    # ``(n,)`` best known point, or None.
    point: Vector | None = None
    # Objective of the point, in the model's own sense.
    objective: float | None = None
    # Proven bound, which no feasible point exceeds. None without a proof.
    bound: float | None = None
    # Name and version of the solver. Empty if nothing was solved.
    solver: str = ""
    # Limit that ended the solve: ``time``, ``nodes``, ``iterations`` or ``gap``. Empty without one.
    ended_by: str = ""
    # ``(m,)`` changes of the objective per unit of right-hand side, for a linear model at its optimum.
    row_duals: Vector | None = None
    # Basis of HiGHS whose point and duals these are, or None.
    basis: object = None

    def span(self) -> tuple[float, float]:
        """Return the interval that contains the optimum. Its ends are infinite if nothing is proven."""
        if self.objective is None:
            return -math.inf, math.inf
        bound = self.objective if self.status is SolveStatus.OPTIMAL else self.bound
        if bound is None:
            return -math.inf, math.inf
        return min(self.objective, bound), max(self.objective, bound)


def solve_arrays(arrays: Arrays, limits: SolveLimits, start: Vector | None = None, basis: object = None) -> Outcome:
    """Solve once and check the claim. A basis of HiGHS is used as in ``SolverOptions``."""
    options = replace(limits.options(), basis=basis)
    solution = array_solving.solve_arrays(arrays, options, limits.solver, start)
    ended_by = str(solution.limit or "")
    if solution.status is SolveStatus.FEASIBLE and not ended_by and limits.gap > 0:
        ended_by = "gap"
    bound = solution.bound if solution.bound is not None and math.isfinite(solution.bound) else None
    duals = None if arrays.features else solution.row_duals
    return Outcome(
        solution.status,
        solution.values,
        solution.objective,
        bound,
        solution.solver,
        ended_by,
        duals,
        basis=None if duals is None else basis_of(solution.engine),
    )


def solution_outcome(solution: Solution) -> Outcome:
    """Return the outcome of a solved model with one objective."""
    has_point, prices = solution.status.has_point, solution.sensitivity
    bound = solution.bound if solution.bound is not None and math.isfinite(solution.bound) else None
    return Outcome(
        solution.status,
        np.array(list(solution.values.values())) if has_point else None,
        solution.objective,
        bound,
        solution.solver,
        solution.limit,
        np.array(list(prices.duals.values())) if prices is not None and prices.source is Source.LP else None,
    )


def compare_outcomes(first: Outcome, second: Outcome) -> str:
    """Return one line about the agreement of two solvers on one model.

    Raises:
        ModellingError: They contradict each other: one proves a fact that excludes the other's point or proof.
    """
    names = f"{first.solver} and {second.solver}"
    agreement = compare_optima(first, second)
    if agreement == "no":
        figures = " and ".join(
            str(outcome.status) if outcome.objective is None else f"{number(outcome.objective)} ({outcome.status})"
            for outcome in (first, second)
        )
        raise ModellingError(f"{names} disagree: {figures}; check the figures of the model")
    if agreement == "open":
        return f"undecided: {names} do not contradict each other ({first.status} and {second.status})"
    if first.objective is None:
        return f"{names} both say {first.status}"
    return f"{names} have the same optimum, {rounded(first.objective)}"


def compare_optima(first: Outcome, second: Outcome) -> str:
    """Return ``yes`` if two optima are proven and equal, ``no`` if they differ, and ``open`` if a proof is missing."""
    statuses = {first.status, second.status}
    if SolveStatus.UNKNOWN in statuses:
        return "open"
    if statuses & {SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED}:
        return "yes" if len(statuses) == 1 else "no"
    (low1, high1), (low2, high2) = first.span(), second.span()
    size = scale_of(*(outcome.objective for outcome in (first, second) if outcome.objective is not None))
    if max(low1, low2) > min(high1, high2) + CONFIRMED * size:
        return "no"
    return "yes" if statuses == {SolveStatus.OPTIMAL} else "open"


def close_gap(outcome: Outcome) -> Outcome:
    """Return the outcome as optimal if its point meets its bound."""
    if outcome.objective is None or outcome.bound is None or outcome.status is SolveStatus.OPTIMAL:
        return outcome
    if abs(outcome.objective - outcome.bound) <= PROVEN * scale_of(outcome.objective):
        return replace(outcome, status=SolveStatus.OPTIMAL, ended_by="")
    return outcome


def is_tighter(first: Arrays, second: Arrays) -> bool:
    """Return True if every point of the second model is a point of the first.

    The second one has tighter limits, or more rows at the end.
    """
    count = len(first.row_low)
    if len(first.cost) != len(second.cost) or len(second.row_low) < count or first.features != second.features:
        return False
    if not np.array_equal(first.integer & second.integer, first.integer):
        return False
    limits = (second.low >= first.low).all() and (second.high <= first.high).all()
    rows = (second.row_low[:count] >= first.row_low).all() and (second.row_high[:count] <= first.row_high).all()
    return bool(limits and rows) and _has_prefix(first.matrix, second.matrix)


def _has_prefix(first: Sparse, second: Sparse) -> bool:
    """Return True if the second matrix begins with the rows of the first."""
    if first is second:
        return True
    size, count = len(first.values), len(first.starts)
    return (
        np.array_equal(first.starts, second.starts[:count])
        and np.array_equal(first.columns, second.columns[:size])
        and np.array_equal(first.values, second.values[:size])
    )


def bounds_hold(first: Arrays, second: Arrays) -> bool:
    """Return True if no feasible point of the second model can be better than the bound of the first.

    The second model is tighter, and its objective is nowhere better: each differing cost is worse for all allowed
    values.
    """
    if first.sense is not second.sense or not is_tighter(first, second):
        return False
    sign = first.sense.sign
    worse = sign * (second.cost - first.cost)
    harmless = ((worse <= 0) | (second.low >= 0)) & ((worse >= 0) | (second.high <= 0))
    return bool(harmless.all()) and sign * (second.constant - first.constant) >= 0


class ScenarioModel:
    """A state of the model, and the knowledge about its optimum."""

    def __init__(self, arrays: Arrays) -> None:
        self.arrays = arrays
        self.outcome = Outcome(SolveStatus.UNKNOWN)
        self.is_solved_with: SolveLimits | None = None
        # One line about the agreement with the second back end. Empty without one.
        self.confirmation = ""
        # The last outcome whose optimal points and duals were asked for, with these.
        self.last_face: tuple[Outcome, OptimalFace] | None = None


class OutcomePool:
    """Points found and models solved so far. Points and bounds narrow each other's intervals."""

    def __init__(self) -> None:
        self._points: list[Vector] = []
        self._models: list[ScenarioModel] = []

    def solve(self, model: ScenarioModel, limits: SolveLimits, basis: object = None) -> Outcome:
        """Solve a model unless its optimum is already proven, and share the point and the bound.

        A basis of HiGHS is used as in ``SolverOptions``.
        """
        if model not in self._models:
            self._models.append(model)
            del self._models[:-POOL]
        self.refresh(model)
        is_settled = model.outcome.status in (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED, SolveStatus.OPTIMAL)
        if not is_settled and model.is_solved_with != limits:
            outcome = solve_arrays(model.arrays, limits, model.outcome.point, basis)
            model.is_solved_with = limits
            if limits.confirm:
                second = solve_arrays(model.arrays, replace(limits, solver=limits.confirm))
                model.confirmation = compare_outcomes(outcome, second)
                self.learn(model, second)
            self.learn(model, outcome)
        self.refresh(model)
        return model.outcome

    def learn(self, model: ScenarioModel, outcome: Outcome) -> None:
        """Add the point and the bound of a solve."""
        if outcome.point is not None:
            self.add_point(outcome.point)
        model.outcome = _merge(model.arrays.sense, model.outcome, outcome)

    def add_point(self, point: Vector) -> None:
        """Keep a point. Its objective is recomputed for each model that uses it."""
        if not any(np.array_equal(point, stored) for stored in self._points):
            self._points.append(point)
            del self._points[:-POOL]

    def refresh(self, model: ScenarioModel) -> None:
        """Test every point on a model, and use bounds of models that it restricts. Nothing is solved."""
        arrays = model.arrays
        for point in self._points:
            self._test(model, point)
        for related in self._models:
            if related is model:
                continue
            outcome = related.outcome
            if outcome.status is SolveStatus.INFEASIBLE and is_tighter(related.arrays, arrays):
                model.outcome = Outcome(SolveStatus.INFEASIBLE, solver=outcome.solver)
                return
            if outcome.bound is not None and bounds_hold(related.arrays, arrays):
                bound_only = Outcome(SolveStatus.UNKNOWN, bound=outcome.bound, solver=outcome.solver)
                model.outcome = _merge(arrays.sense, model.outcome, bound_only)

    def _test(self, model: ScenarioModel, point: Vector) -> None:
        arrays, outcome = model.arrays, model.outcome
        if len(point) != len(arrays.cost) or outcome.status in (SolveStatus.OPTIMAL, SolveStatus.INFEASIBLE):
            return
        value = arrays.worth_at(point)
        sign = arrays.sense.sign
        if outcome.objective is not None and sign * value >= sign * outcome.objective:
            return
        if arrays.largest_violation(point) <= FEASIBLE:
            candidate = Outcome(SolveStatus.FEASIBLE, point, value)
            model.outcome = _merge(arrays.sense, outcome, candidate)


def _merge(sense: Sense, first: Outcome, second: Outcome) -> Outcome:
    """Return the better point and the better bound of two outcomes of one model."""
    settled = (SolveStatus.INFEASIBLE, SolveStatus.UNBOUNDED)
    for outcome in (second, first):
        if outcome.status in settled:
            return outcome
    sign = sense.sign
    points = [outcome for outcome in (second, first) if outcome.objective is not None]
    best = min(points, key=lambda outcome: sign * (outcome.objective or 0.0), default=second)
    bounds = [outcome.bound for outcome in (first, second) if outcome.bound is not None]
    bound = sign * max(sign * value for value in bounds) if bounds else None
    if best.objective is not None and bound is not None:
        # A bound beyond the point is so by rounding of the last digits.
        bound = sign * min(sign * bound, sign * best.objective)
    status = SolveStatus.OPTIMAL if best.status is SolveStatus.OPTIMAL else SolveStatus.FEASIBLE
    if best.objective is None:
        status = SolveStatus.UNKNOWN
    merged = replace(
        best,
        status=status,
        bound=bound,
        solver=second.solver or first.solver,
        ended_by=second.ended_by or first.ended_by,
    )
    return close_gap(merged)


def difference_span(first: ScenarioModel, second: ScenarioModel) -> tuple[float, float]:
    """Return the interval that contains the optimum of the second model minus that of the first."""
    low1, high1 = first.outcome.span()
    low2, high2 = second.outcome.span()
    smallest, largest = low2 - high1, high2 - low1
    is_worse, is_better = bounds_hold(first.arrays, second.arrays), bounds_hold(second.arrays, first.arrays)
    grows, falls = (is_worse, is_better) if first.arrays.sense is Sense.MINIMIZE else (is_better, is_worse)
    if grows:
        smallest = max(smallest, 0.0)
    if falls:
        largest = min(largest, 0.0)
    return smallest, max(smallest, largest)


def with_row(arrays: Arrays, coefficients: Vector, low: float, high: float) -> Arrays:
    """Return the model with an additional row."""
    columns = np.flatnonzero(coefficients)
    if not len(columns):
        return arrays
    zeros = np.zeros(len(columns), dtype=np.int32)
    row = Sparse.from_entries(zeros, columns, coefficients[columns], (1, len(arrays.cost)))
    return replace(
        arrays,
        matrix=arrays.matrix.stack_rows(row),
        row_low=np.append(arrays.row_low, low),
        row_high=np.append(arrays.row_high, high),
    )
