"""Solve a model, and believe nothing of the answer that was not computed again."""

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from oragent.milp.arrays import FEASIBLE, Arrays, Vector
from oragent.milp.highs import SOLVER, HighsRun, SolverClaim, run_highs
from oragent.milp.model import Milp, Relation
from oragent.milp.points import point_vector, ray_of
from oragent.milp.sensitivity import compute_sensitivity, dual_bound
from oragent.milp.solution import Sensitivity, Solution, SolveStatus, Source

PROVEN = 1e-6  # gap, over the larger of 1 and the objective, up to which a point counts as optimal


def solve(milp: Milp, limit_s: float | None = None, gap: float = 0.0, *, duals: bool = True) -> Solution:
    """Solve a model with HiGHS on one thread.

    Values of integer variables are rounded, and the linear programme that is left is solved for the others. Objective,
    activities and feasibility are computed from the values; the bound of a linear programme from its duals. That a
    model is unbounded is shown by a feasible point and a direction, as the solver may call it infeasible.

    Args:
        milp: The model.
        limit_s: Seconds, wall clock, for the search; None for no limit.
        gap: Relative gap at which the search over integer points may stop; wider than ``PROVEN`` it ends ``feasible``.
        duals: Whether to compute duals and ranges; without them it is faster.
    """
    started = time.perf_counter()
    arrays = Arrays.from_milp(milp)
    first = run_highs(arrays, limit_s, gap)
    if first.values is not None:
        solution = _solution_with_point(milp, arrays, first, duals)
    elif first.claim is SolverClaim.NO_OPTIMUM:
        solution = _without_optimum(arrays, limit_s)
    else:
        bound = first.bound if np.isfinite(first.bound) else None
        note = "the solver stopped without a feasible point: allow it more time"
        solution = Solution(SolveStatus.UNKNOWN, bound=bound, note=note)
    return replace(solution, seconds=time.perf_counter() - started, solver=SOLVER)


def add_duals(milp: Milp, solution: Solution) -> Solution:
    """The same solution, at the same point, with the duals and ranges that belong to it.

    Args:
        milp: The model.
        solution: Of that model; one without a point comes back as it is.
    """
    if not solution.status.has_point:
        return solution
    arrays = Arrays.from_milp(milp)
    fixed = arrays.with_integers_at(point_vector(milp, solution.values))
    last = run_highs(fixed)
    return replace(
        solution,
        bound=-milp.sense.sign * np.inf if solution.bound is None else solution.bound,
        gap=np.inf if solution.gap is None else solution.gap,
        sensitivity=_sensitivity_if_optimal(milp, fixed, last, Source.FIXED if milp.has_integers else Source.LP),
        relaxation=_relaxation_sensitivity(milp, arrays) if milp.has_integers else None,
    )


def evaluate_point(
    milp: Milp, values: Mapping[str, float], bound: float | None, *, duals: bool = True
) -> Solution | None:
    """Compute what a point that somebody claims is worth; None where it is not feasible.

    Args:
        milp: The model.
        values: The point; integers are rounded, a variable without a value is 0.
        bound: What no feasible point can be better than; None where nobody knows.
        duals: Whether to compute duals with the integers fixed at the point.
    """
    arrays = Arrays.from_milp(milp)
    point = point_vector(milp, values)
    point = np.clip(np.where(arrays.integer, np.round(point), point), arrays.low, arrays.high) + 0.0
    if not np.isfinite(point).all() or arrays.largest_violation(point) > FEASIBLE:
        return None
    objective = arrays.objective_at(point)
    fixed = duals and arrays.integer.any()
    remainder = arrays.with_integers_at(point) if fixed else arrays
    return replace(
        _solution_at(milp, arrays, point),
        bound=bound,
        gap=None if bound is None else abs(objective - bound) / max(1.0, abs(objective)),
        sensitivity=_sensitivity_if_optimal(milp, remainder, run_highs(remainder), Source.FIXED) if fixed else None,
        solver=SOLVER,
        note="stopped before it was proven that no point is better",
    )


def _solution_with_point(milp: Milp, arrays: Arrays, first: HighsRun, duals: bool) -> Solution:
    assert first.values is not None
    remainder = arrays.with_integers_at(first.values) if arrays.integer.any() else arrays
    if not arrays.integer.any():
        last = first
    elif duals or not arrays.integer.all():
        last = run_highs(remainder)
    else:  # nothing is left to be decided: the point with its integers rounded is the only one
        last = replace(first, values=remainder.low)
    values = _polish(arrays, first.values, last.values)
    if arrays.largest_violation(values) > FEASIBLE:
        worst = arrays.largest_violation(values)
        return Solution(
            SolveStatus.UNKNOWN, note=f"the solver's point breaks the model by {worst:.2g}: rescale the figures"
        )
    bound = first.bound if arrays.integer.any() else _lp_bound(arrays, first)
    objective = arrays.objective_at(values)
    gap = abs(objective - bound) / max(1.0, abs(objective))
    proven = first.claim is SolverClaim.OPTIMAL and gap <= PROVEN
    return replace(
        _solution_at(milp, arrays, values),
        status=SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE,
        bound=objective if proven and gap < 1e-12 else bound,
        gap=gap,
        sensitivity=_sensitivity_if_optimal(milp, remainder, last, Source.FIXED if milp.has_integers else Source.LP)
        if duals
        else None,
        relaxation=_relaxation_sensitivity(milp, arrays) if duals and milp.has_integers else None,
        note="" if proven else "stopped before it was proven that no point is better",
    )


def _polish(arrays: Arrays, values: Vector, again: Vector | None) -> Vector:
    """The point with exact integers where it is as good, without the noise at bounds."""
    sign = arrays.sense.sign
    if again is not None and arrays.largest_violation(again) <= FEASIBLE:
        loss = sign * (arrays.objective_at(again) - arrays.objective_at(values))
        values = again if loss <= PROVEN * max(1.0, abs(arrays.objective_at(values))) else values
    values = np.where(arrays.integer, np.round(values), values)
    return np.asarray(np.clip(values, arrays.low, arrays.high)) + 0.0


def _lp_bound(arrays: Arrays, solved: HighsRun) -> float:
    return solved.bound if solved.row_duals is None else dual_bound(arrays, solved.row_duals)


def _solution_at(milp: Milp, arrays: Arrays, values: Vector) -> Solution:
    activities = arrays.activities_at(values).tolist()
    slacks = {}
    for row, activity in zip(milp.rows, activities, strict=True):
        over = activity - row.rhs
        slacks[row.name] = abs(over) if row.relation is Relation.EQUAL else over * (
            -1.0 if row.relation is Relation.AT_MOST else 1.0
        )  # fmt: skip
    return Solution(
        SolveStatus.FEASIBLE,
        objective=arrays.objective_at(values),
        values=dict(zip((variable.name for variable in milp.variables), values.tolist(), strict=True)),
        activities=dict(zip((row.name for row in milp.rows), activities, strict=True)),
        slacks=slacks,
    )


def _sensitivity_if_optimal(milp: Milp, arrays: Arrays, solved: HighsRun, source: Source) -> Sensitivity | None:
    return compute_sensitivity(milp, arrays, solved, source) if solved.claim is SolverClaim.OPTIMAL else None


def _relaxation_sensitivity(milp: Milp, arrays: Arrays) -> Sensitivity | None:
    relaxed = arrays.without_integrality()
    return _sensitivity_if_optimal(milp, relaxed, run_highs(relaxed), Source.RELAXATION)


def _without_optimum(arrays: Arrays, limit_s: float | None) -> Solution:
    """Settle whether a model without an optimum is infeasible or unbounded: by a solve without its objective."""
    settled = run_highs(arrays.without_objective(), limit_s)
    if settled.claim is SolverClaim.NO_OPTIMUM:
        return Solution(SolveStatus.INFEASIBLE)
    if (
        settled.values is not None
        and arrays.largest_violation(settled.values) <= FEASIBLE
        and ray_of(arrays) is not None
    ):
        return Solution(SolveStatus.UNBOUNDED)
    return Solution(SolveStatus.UNKNOWN, note="the solver found no optimum, and why could not be settled")
