"""Solve a model, and believe nothing of the answer that was not computed again."""

import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from oragent.milp.arrays import FEASIBLE, Arrays, Vector
from oragent.milp.highs import SOLVER, HighsRun, SolverClaim, run
from oragent.milp.model import Milp, Relation
from oragent.milp.points import vector
from oragent.milp.rays import ray_of
from oragent.milp.sensitivity import dual_bound, sensitivity
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
    arrays = Arrays.of(milp)
    first = run(arrays, limit_s, gap)
    if first.values is not None:
        solution = _with_point(milp, arrays, first, duals)
    elif first.claim is SolverClaim.NO_OPTIMUM:
        solution = _without_optimum(arrays, limit_s)
    else:
        bound = first.bound if np.isfinite(first.bound) else None
        note = "the solver stopped without a feasible point: allow it more time"
        solution = Solution(SolveStatus.UNKNOWN, bound=bound, note=note)
    return replace(solution, seconds=time.perf_counter() - started, solver=SOLVER)


def priced(milp: Milp, solution: Solution) -> Solution:
    """The same solution, at the same point, with the duals and ranges that belong to it.

    Args:
        milp: The model.
        solution: Of that model; one without a point comes back as it is.
    """
    if not solution.status.has_point:
        return solution
    arrays = Arrays.of(milp)
    left = arrays.with_integers_at(vector(milp, solution.values))
    last = run(left)
    return replace(
        solution,
        bound=-milp.sense.sign * np.inf if solution.bound is None else solution.bound,
        gap=np.inf if solution.gap is None else solution.gap,
        sensitivity=_sensitivity(milp, left, last, Source.FIXED if milp.has_integers else Source.LP),
        relaxation=_relaxation(milp, arrays) if milp.has_integers else None,
    )


def at_point(milp: Milp, values: Mapping[str, float], bound: float | None, *, duals: bool = True) -> Solution | None:
    """Compute what a point that somebody claims is worth; None where it is not feasible.

    Args:
        milp: The model.
        values: The point; integers are rounded, a variable without a value is 0.
        bound: What no feasible point can be better than; None where nobody knows.
        duals: Whether to compute duals with the integers fixed at the point.
    """
    arrays = Arrays.of(milp)
    point = vector(milp, values)
    point = np.clip(np.where(arrays.integer, np.round(point), point), arrays.low, arrays.high) + 0.0
    if not np.isfinite(point).all() or arrays.violation(point) > FEASIBLE:
        return None
    objective = arrays.objective(point)
    fixed = duals and arrays.integer.any()
    left = arrays.with_integers_at(point) if fixed else arrays
    return replace(
        _at(milp, arrays, point),
        bound=bound,
        gap=None if bound is None else abs(objective - bound) / max(1.0, abs(objective)),
        sensitivity=_sensitivity(milp, left, run(left), Source.FIXED) if fixed else None,
        solver=SOLVER,
        note="stopped before it was proven that no point is better",
    )


def _with_point(milp: Milp, arrays: Arrays, first: HighsRun, duals: bool) -> Solution:
    assert first.values is not None
    left = arrays.with_integers_at(first.values) if arrays.integer.any() else arrays
    if not arrays.integer.any():
        last = first
    elif duals or not arrays.integer.all():
        last = run(left)
    else:  # nothing is left to be decided: the point with its integers rounded is the only one
        last = replace(first, values=left.low)
    values = _polished(arrays, first.values, last.values)
    if arrays.violation(values) > FEASIBLE:
        worst = arrays.violation(values)
        return Solution(
            SolveStatus.UNKNOWN, note=f"the solver's point breaks the model by {worst:.2g}: rescale the figures"
        )
    bound = first.bound if arrays.integer.any() else _lp_bound(arrays, first)
    objective = arrays.objective(values)
    gap = abs(objective - bound) / max(1.0, abs(objective))
    proven = first.claim is SolverClaim.OPTIMAL and gap <= PROVEN
    return replace(
        _at(milp, arrays, values),
        status=SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE,
        bound=objective if proven and gap < 1e-12 else bound,
        gap=gap,
        sensitivity=_sensitivity(milp, left, last, Source.FIXED if milp.has_integers else Source.LP) if duals else None,
        relaxation=_relaxation(milp, arrays) if duals and milp.has_integers else None,
        note="" if proven else "stopped before it was proven that no point is better",
    )


def _polished(arrays: Arrays, found: Vector, again: Vector | None) -> Vector:
    """The point with exact integers where it is as good, without the noise at bounds."""
    sign = arrays.sense.sign
    if again is not None and arrays.violation(again) <= FEASIBLE:
        loss = sign * (arrays.objective(again) - arrays.objective(found))
        found = again if loss <= PROVEN * max(1.0, abs(arrays.objective(found))) else found
    found = np.where(arrays.integer, np.round(found), found)
    return np.asarray(np.clip(found, arrays.low, arrays.high)) + 0.0


def _lp_bound(arrays: Arrays, solved: HighsRun) -> float:
    return solved.bound if solved.row_duals is None else dual_bound(arrays, solved.row_duals)


def _at(milp: Milp, arrays: Arrays, values: Vector) -> Solution:
    activities = arrays.activities(values).tolist()
    slacks = {}
    for row, activity in zip(milp.rows, activities, strict=True):
        over = activity - row.rhs
        slacks[row.name] = abs(over) if row.relation is Relation.EQUAL else over * (
            -1.0 if row.relation is Relation.AT_MOST else 1.0
        )  # fmt: skip
    return Solution(
        SolveStatus.FEASIBLE,
        objective=arrays.objective(values),
        values=dict(zip((variable.name for variable in milp.variables), values.tolist(), strict=True)),
        activities=dict(zip((row.name for row in milp.rows), activities, strict=True)),
        slacks=slacks,
    )


def _sensitivity(milp: Milp, arrays: Arrays, solved: HighsRun, source: Source) -> Sensitivity | None:
    return sensitivity(milp, arrays, solved, source) if solved.claim is SolverClaim.OPTIMAL else None


def _relaxation(milp: Milp, arrays: Arrays) -> Sensitivity | None:
    relaxed = arrays.relaxed()
    return _sensitivity(milp, relaxed, run(relaxed), Source.RELAXATION)


def _without_optimum(arrays: Arrays, limit_s: float | None) -> Solution:
    """Settle whether a model without an optimum is infeasible or unbounded: by a solve without its objective."""
    settled = run(arrays.without_objective(), limit_s)
    if settled.claim is SolverClaim.NO_OPTIMUM:
        return Solution(SolveStatus.INFEASIBLE)
    if settled.values is not None and arrays.violation(settled.values) <= FEASIBLE and ray_of(arrays) is not None:
        return Solution(SolveStatus.UNBOUNDED)
    return Solution(SolveStatus.UNKNOWN, note="the solver found no optimum, and why could not be settled")
