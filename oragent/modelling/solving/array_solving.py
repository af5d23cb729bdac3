"""Solve a model given as arrays with any back end, and recompute the figures that it claims.

Names of variables and rows are not needed, so the overhead is small even for models with 10^6 coefficients.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Sparse, Vector
from oragent.modelling.data.features import ModelFeatures
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.back_ends.protocol import (
    Ability,
    Limit,
    Solver,
    SolverOptions,
    SolverResult,
    SolverStatus,
)
from oragent.modelling.solving.back_ends.registry import DEFAULT, find_solver, installed_solvers, solvers_able
from oragent.modelling.solving.certificate import with_whole_limits
from oragent.modelling.solving.highs import run_highs
from oragent.modelling.solving.linearise import Linearised, linearise

# Relative gap up to which a point counts as optimal. The denominator is max(1, |objective|).
PROVEN = 1e-6
# A dual or reduced cost counts as 0 if its ratio to its largest summand is at most this.
NOISE = 1e-9
# Tolerance for duals of HiGHS with the wrong sign, with a safety margin.
DUAL_FEASIBLE = 1e-6
# Half the width of a box around a solution, relative to its values.
BOX = 0.1
NOT_PROVEN = "stopped before it was proven that no point is better"
NO_OPTIMUM = (SolverStatus.INFEASIBLE, SolverStatus.UNBOUNDED, SolverStatus.INFEASIBLE_OR_UNBOUNDED)


@dataclass(frozen=True)
class ArraySolution:
    """A checked result. Figures have the sign of the model's own sense."""

    status: SolveStatus
    # ``(n,)``; None without a feasible point.
    values: Vector | None = None
    # Objective of the values, with the penalties of soft rows.
    objective: float | None = None
    # Proven bound, which no feasible point exceeds. Infinite or None if unknown.
    bound: float | None = None
    # Gap between objective and bound, relative to max(1, |objective|).
    gap: float | None = None
    # ``(m,)``. Only for linear and convex quadratic models.
    row_duals: Vector | None = None
    # Values of further objectives by name.
    goals: Mapping[str, float] = field(default_factory=dict)
    # Limit that ended the solve; None if no limit did.
    limit: Limit | None = None
    work: Mapping[str, float] = field(default_factory=dict)
    solver: str = ""
    # Wall-clock seconds of all solves.
    seconds: float = 0.0
    note: str = ""
    # One line for each part that was replaced by linear rows.
    linearised: tuple[str, ...] = ()
    # Native object of the solver after the last solve of a linear model. None if not available.
    engine: object = field(default=None, repr=False)


def solve_arrays(
    arrays: Arrays,
    options: SolverOptions | None = None,
    solver: str | Solver = "highs",
    start: Vector | None = None,
    names: Sequence[str] = (),
) -> ArraySolution:
    """Solve a model.

    Parts that the solver does not support are first written as linear rows; where this is not possible and the solver
    is the default, the first installed solver that has the part is taken. Objectives with the highest priority are
    optimised first. Values of integer variables are rounded, and then the linear programme of the other variables is
    solved. Objective and feasibility are computed from the values, and the bound of a linear programme from duals.

    Args:
        arrays: The model.
        options: Limits; none by default.
        solver: Name of a back end, or the back end.
        start: ``(n,)`` start point, feasible or not.
        names: Names of the columns for messages; numbers by default.

    Raises:
        ModellingError: The back end is unknown, not installed, or cannot solve such a model.
    """
    started = time.perf_counter()
    back_end = find_solver(solver) if isinstance(solver, str) else solver
    limits = options or SolverOptions()
    arrays = with_whole_limits(arrays)
    back_end, linear = _with_linear_parts(arrays, back_end, names)
    if any(goal.weight for goal in arrays.features.goals):
        solution = _solve_goals(arrays, linear, limits, back_end, start)
    else:
        solution = _solve_once(arrays, linear, limits, back_end, start)
        if solution.values is not None and arrays.features.goals:
            goals = {goal.name: goal.at(solution.values.__getitem__) for goal in arrays.features.goals}
            solution = replace(solution, goals=goals)
    return replace(solution, seconds=time.perf_counter() - started, linearised=linear.notes)


def _with_linear_parts(arrays: Arrays, back_end: Solver, names: Sequence[str]) -> tuple[Solver, Linearised]:
    """Return the back end and the model that it takes.

    If the default back end cannot take a part, it is replaced by the first installed one that can.
    """
    try:
        return back_end, _linear_parts(arrays, back_end, names)
    except ModellingError:
        for name in installed_solvers() if back_end.name == DEFAULT else ():
            able = find_solver(name)
            with suppress(ModellingError):
                return able, _linear_parts(arrays, able, names)
        raise


def _linear_parts(arrays: Arrays, back_end: Solver, names: Sequence[str]) -> Linearised:
    linear = linearise(arrays, back_end.abilities, names)
    check_abilities(linear.arrays, back_end)
    return linear


def check_abilities(arrays: Arrays, back_end: Solver) -> None:
    """Raise an error that lists the able back ends if this one does not support the kinds of variables."""
    kinds = ((Ability.INTEGER, arrays.integer.any()), (Ability.CONTINUOUS, not arrays.integer.all()))
    needed = frozenset(ability for ability, is_used in kinds if is_used)
    for ability in sorted(needed - back_end.abilities):
        able = ", ".join(solvers_able(needed))
        raise ModellingError(f"{back_end.name} does not support {ability}: choose one of {able}")


def _solve_once(
    arrays: Arrays, linear: Linearised, options: SolverOptions, back_end: Solver, start: Vector | None
) -> ArraySolution:
    result = back_end.solve(linear.arrays, options, start)
    if result.values is not None and result.status not in NO_OPTIMUM:
        solution = _checked_point(arrays, linear.arrays, result, options)
        if solution.status is SolveStatus.FEASIBLE and arrays.features.quadratic and not linear.arrays.integer.any():
            solution = _prove_convex(arrays, linear.arrays, solution, options, back_end)
    elif result.status in NO_OPTIMUM:
        solution = _without_optimum(linear.arrays, result, options, back_end)
    else:
        note = "the solver stopped without a feasible point: allow it more time"
        solution = ArraySolution(SolveStatus.UNKNOWN, bound=result.bound, note=note)
    return replace(
        solution,
        limit=result.limit,
        work=result.work,
        solver=result.solver,
    )


def _prove_convex(
    arrays: Arrays, linear: Arrays, solution: ArraySolution, options: SolverOptions, back_end: Solver
) -> ArraySolution:
    """Return the optimum in a box around a solution, if it is strictly inside the box.

    Back ends solve only convex quadratic models, so an optimum inside the box is the optimum of the model. The bound is
    infinite if a variable has no bound and its reduced cost is not exactly zero.
    """
    assert solution.values is not None
    center, count = solution.values, len(solution.values)
    side = BOX * (1.0 + np.abs(center))
    low, high = linear.low.copy(), linear.high.copy()
    low[:count], high[:count] = np.maximum(low[:count], center - side), np.minimum(high[:count], center + side)
    boxed = replace(linear, low=low, high=high)
    result = back_end.solve(boxed, options)
    if result.values is None or result.status in NO_OPTIMUM:
        return solution
    again = _checked_point(arrays, boxed, result, options)
    if again.values is None or again.status is not SolveStatus.OPTIMAL:
        return solution
    return again if (np.abs(again.values - center) < side / 2).all() else solution


def _checked_point(arrays: Arrays, linear: Arrays, result: SolverResult, options: SolverOptions) -> ArraySolution:
    assert result.values is not None
    count, first = len(arrays.cost), result.values
    values, remainder = first, None
    if linear.integer.any() and not linear.features:
        remainder = linear.with_integers_at(first)
        again = remainder.low if linear.integer.all() else run_highs(remainder, SolverOptions(options.seconds)).values
        values = polish(linear, first, again)[:count]
    elif linear.integer.any():
        values = _rounded_if_feasible(arrays, first[:count])
    else:
        values = polish(linear, first, None)[:count]
    worst = arrays.largest_violation(values)
    if worst > FEASIBLE:
        note = f"the solver's point breaks the model by {worst:.2g}: rescale the figures"
        return ArraySolution(SolveStatus.UNKNOWN, note=note)
    objective = arrays.worth_at(values)
    bound = proven_bound(linear, result)
    gap = abs(objective - bound) / max(1.0, abs(objective))
    # If the bound is on the wrong side of the point, the cause is the solver's tolerances.
    proven = result.status is SolverStatus.OPTIMAL and gap <= PROVEN
    duals = None
    if result.row_duals is not None and not linear.integer.any() and len(linear.cost) == count:
        duals, _ = clean_duals(gradient_arrays(linear, values), result.row_duals)
    return ArraySolution(
        SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE,
        values,
        objective,
        objective if proven and gap < 1e-12 else bound,
        gap,
        duals,
        note="" if proven else NOT_PROVEN,
        engine=result.engine if not linear.integer.any() and not linear.features else None,
    )


def _rounded_if_feasible(arrays: Arrays, values: Vector) -> Vector:
    rounded = np.where(arrays.integer, np.round(values), values)
    if arrays.largest_violation(rounded) <= FEASIBLE:
        return rounded + 0.0
    return values


def polish(arrays: Arrays, values: Vector, again: Vector | None) -> Vector:
    """Return the point with exact integers, and without rounding noise at bounds, unless that is worse."""
    sign = arrays.sense.sign
    if again is not None and arrays.largest_violation(again) <= FEASIBLE:
        loss = sign * (arrays.objective_at(again) - arrays.objective_at(values))
        if loss <= PROVEN * max(1.0, abs(arrays.objective_at(values))):
            values = again
    values = np.where(arrays.integer, np.round(values), values)
    if arrays.features.semi_continuous:
        return values + 0.0
    return np.asarray(np.clip(values, arrays.low, arrays.high)) + 0.0


def proven_bound(arrays: Arrays, result: SolverResult) -> float:
    """Return the bound that the duals prove, or the solver's own bound without duals."""
    none = -arrays.sense.sign * np.inf
    if result.row_duals is not None and result.values is not None and not arrays.integer.any():
        if not arrays.features.quadratic:
            return dual_bound(arrays, result.row_duals)
        # A convex function lies above its tangent, whose optimum the duals bound.
        tangent = gradient_arrays(arrays, result.values)
        return dual_bound(tangent, result.row_duals)
    return none if result.bound is None else result.bound


def gradient_arrays(arrays: Arrays, values: Vector) -> Arrays:
    """Return the model with the tangent of the quadratic objective at a point; a linear model stays as it is."""
    if not arrays.features.quadratic:
        return arrays
    gradient = arrays.cost.copy()
    for term in arrays.features.quadratic:
        gradient[term.first] += term.value * values[term.second]
        gradient[term.second] += term.value * values[term.first]
    constant = arrays.objective_at(values) - float(gradient @ values)
    return replace(arrays, cost=gradient, constant=constant, features=ModelFeatures())


def _without_optimum(linear: Arrays, result: SolverResult, options: SolverOptions, back_end: Solver) -> ArraySolution:
    """Decide whether a model without an optimum is infeasible or unbounded, by solving it without its objective."""
    settled = back_end.solve(_without_objective(linear), options)
    if settled.status in NO_OPTIMUM:
        return ArraySolution(SolveStatus.INFEASIBLE)
    is_feasible = settled.values is not None and linear.largest_violation(settled.values) <= FEASIBLE
    if is_feasible and ray_of(linear) is not None:
        return ArraySolution(SolveStatus.UNBOUNDED)
    return ArraySolution(SolveStatus.UNKNOWN, note="the solver found no optimum, and the reason is unknown")


def _without_objective(arrays: Arrays) -> Arrays:
    return replace(arrays.without_objective(), features=replace(arrays.features, quadratic=()))


def _solve_goals(
    arrays: Arrays, linear: Linearised, options: SolverOptions, back_end: Solver, start: Vector | None
) -> ArraySolution:
    """Optimise the objectives of each priority in turn. Earlier ones are fixed at their optima.

    The gap is the largest one of all stages, each relative to its own objective. All stages share the time limit; the
    point of an earlier stage is returned if a later one has no time.
    """
    begin = time.perf_counter()
    goals, current = arrays.features.goals, linear.arrays
    stages = sorted({0, *(goal.priority for goal in goals if goal.weight)}, reverse=True)
    if arrays.features.quadratic and stages[-1] != 0:
        raise ModellingError(
            "a goal has a lower priority than the quadratic objective, which has 0: give it a higher priority"
        )
    solution, all_proven, gaps = ArraySolution(SolveStatus.UNKNOWN), True, [0.0]
    for stage in stages:
        staged, limits = _stage_arrays(current, linear.arrays, stage), options
        if options.seconds is not None:
            limits = replace(options, seconds=max(0.0, options.seconds - (time.perf_counter() - begin)))
        if limits.seconds == 0 and solution.values is not None:
            latest = ArraySolution(SolveStatus.UNKNOWN, limit=Limit.TIME)
        else:
            latest = _solve_once(staged, Linearised(staged), limits, back_end, start)
        if latest.status is SolveStatus.UNKNOWN and latest.limit is not None and solution.values is not None:
            all_proven, solution = False, replace(solution, limit=latest.limit)
            gaps.append(np.inf)
            break
        solution = latest
        if solution.values is None or solution.objective is None:
            return replace(solution, bound=None, gap=None)
        all_proven = all_proven and solution.status is SolveStatus.OPTIMAL
        gaps.append(np.inf if solution.gap is None else solution.gap)
        start = solution.values
        members = [goal for goal in goals if goal.priority == stage and goal.weight]
        share = max((goal.slack for goal in members), default=0.0)
        amount = max((goal.slack_amount for goal in members), default=0.0)
        allowance = max(share * abs(solution.objective), amount)
        current = _with_stage_kept(current, staged, solution.objective + allowance)
    assert solution.values is not None
    values = solution.values[: len(arrays.cost)]
    if arrays.largest_violation(values) > FEASIBLE:
        return ArraySolution(SolveStatus.UNKNOWN, note="the solver's point breaks the model: rescale the figures")
    return replace(
        solution,
        status=SolveStatus.OPTIMAL if all_proven else SolveStatus.FEASIBLE,
        values=values,
        objective=arrays.worth_at(values),
        bound=None,
        gap=max(gaps),
        row_duals=None,
        engine=None,
        goals={goal.name: goal.at(values.__getitem__) for goal in goals},
        note="" if all_proven else NOT_PROVEN,
    )


def _stage_arrays(current: Arrays, linear: Arrays, stage: int) -> Arrays:
    """Return the model that minimises the weighted sum of the objectives of one priority."""
    cost, constant, quadratic = np.zeros(len(linear.cost)), 0.0, []
    if stage == 0:
        sign = linear.sense.sign
        cost, constant = sign * linear.cost, sign * linear.constant
        quadratic = [replace(term, value=sign * term.value) for term in linear.features.quadratic]
    for goal in linear.features.goals:
        if goal.priority == stage:
            factor = goal.sense.sign * goal.weight
            constant += factor * goal.constant
            for column, value in goal.terms.items():
                cost[column] += factor * value
    features = replace(linear.features, quadratic=tuple(quadratic), goals=())
    return replace(current, sense=Sense.MINIMIZE, cost=cost, constant=constant, features=features)


def _with_stage_kept(current: Arrays, staged: Arrays, limit: float) -> Arrays:
    used = np.flatnonzero(staged.cost)
    row = Sparse.from_entries(np.zeros(len(used)), used, staged.cost[used], (1, len(staged.cost)))
    return replace(
        current,
        matrix=current.matrix.stack_rows(row),
        row_low=np.append(current.row_low, -np.inf),
        row_high=np.append(current.row_high, limit - staged.constant),
    )


def dual_bound(arrays: Arrays, row_duals: Vector) -> float:
    """Return the bound that duals, ``(m,)``, prove for a linear programme by weak duality.

    Bound and duals are in the model's own sense. The bound is infinite if the duals prove none. If a side has no limit,
    its dual counts as 0 within the solver's tolerance.
    """
    sign = arrays.sense.sign
    tolerated = DUAL_FEASIBLE * max(1.0, float(np.abs(arrays.cost).max()))
    duals, reduced = (sign * part for part in clean_duals(arrays, row_duals))
    total = sign * arrays.constant
    for price, low, high in ((duals, arrays.row_low, arrays.row_high), (reduced, arrays.low, arrays.high)):
        least = np.where(price > 0, low, high)
        counts = (price != 0) & (np.isfinite(least) | (np.abs(price) > tolerated))
        total += float((price[counts] * least[counts]).sum())
    return sign * total


def clean_duals(arrays: Arrays, row_duals: Vector) -> tuple[Vector, Vector]:
    """Return duals without noise, and reduced costs recomputed from them."""
    size = np.abs(arrays.cost) + np.abs(row_duals) @ abs(arrays.matrix)
    reduced = arrays.cost - row_duals @ arrays.matrix
    reduced[np.abs(reduced) <= NOISE * np.maximum(size, 1e-3)] = 0.0
    scale = float(np.abs(arrays.cost).max())
    return np.where(np.abs(row_duals) <= NOISE * min(scale, 1.0), 0.0, row_duals), reduced


def ray_of(arrays: Arrays) -> Vector | None:
    """Return an improving direction of the recession cone, ``(n,)``, with largest step 1; None if there is none.

    If its figures are rational, as doubles are, an integer model with a feasible point is unbounded if and only if its
    relaxation has such a direction (Meyer 1974, doi:10.1007/BF01585523).
    """
    if arrays.features:
        return None
    cone = replace(
        arrays.without_integrality(),
        constant=0.0,
        low=np.where(np.isfinite(arrays.low), 0.0, -1.0),
        high=np.where(np.isfinite(arrays.high), 0.0, 1.0),
        row_low=np.where(np.isfinite(arrays.row_low), 0.0, -np.inf),
        row_high=np.where(np.isfinite(arrays.row_high), 0.0, np.inf),
    )
    solved = run_highs(cone)
    if solved.status is not SolverStatus.OPTIMAL or solved.values is None:
        return None
    direction = np.where(np.abs(solved.values) < 1e-9, 0.0, solved.values)
    gain = -arrays.sense.sign * float(arrays.cost @ direction)
    size = float(np.abs(arrays.cost) @ np.abs(direction))
    if gain <= FEASIBLE * size or cone.largest_violation(direction) > FEASIBLE:
        return None
    return np.asarray(direction / np.abs(direction).max())
