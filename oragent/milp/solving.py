"""Solve a model, its duals and ranges too, and believe nothing of the answer that was not computed again.

Also violations of a point, and directions in which an unbounded model improves without end.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np

from oragent._base.errors import MilpError
from oragent.milp.arrays import FEASIBLE, Arrays, Vector
from oragent.milp.highs import SOLVER, HighsRun, SolverClaim, run_highs
from oragent.milp.model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.milp.plain import number, quoted
from oragent.milp.solution import Sensitivity, Solution, SolveStatus, Source, ValueRange

# gap, over the larger of 1 and the objective, up to which a point counts as optimal
PROVEN = 1e-6
# a dual or reduced cost as small as that, against the largest figures it is made of, is 0
NOISE = 1e-9
# by how much HiGHS may leave a dual on the wrong side of 0, with room
DUAL_FEASIBLE = 1e-6
BASIC = highspy.HighsBasisStatus.kBasic
# solved where interpreters are kept warm
WARM_UP = Milp(
    (Variable("x", 0, 5, VariableKind.INTEGER), Variable("y", 0, 5)),
    (Row("limit", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 7.5),),
    Objective({"x": 1.0, "y": 1.0}),
    Sense.MAXIMIZE,
)


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
        if np.isfinite(first.bound):
            bound = first.bound
        else:
            bound = None
        note = "the solver stopped without a feasible point: allow it more time"
        solution = Solution(SolveStatus.UNKNOWN, bound=bound, note=note)
    return replace(solution, seconds=time.perf_counter() - started, solver=SOLVER)


def add_duals(milp: Milp, solution: Solution) -> Solution:
    """The same solution, at the same point, with the duals and ranges that belong to it.

    A solution without a point comes back as it is.
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
        sensitivity=compute_sensitivity(milp, fixed, last, Source.FIXED if milp.has_integers else Source.LP),
        relaxation=_relaxation_sensitivity(milp, arrays) if milp.has_integers else None,
    )


def evaluate_point(
    milp: Milp, values: Mapping[str, float], bound: float | None, *, duals: bool = True
) -> Solution | None:
    """Compute what a point that somebody claims is worth; None where it is not feasible.

    Integers are rounded, a variable without a value is 0. ``bound`` is what no feasible point can be better than; None
    where nobody knows. Duals are computed with the integers fixed at the point.
    """
    arrays = Arrays.from_milp(milp)
    point = point_vector(milp, values)
    point = np.clip(np.where(arrays.integer, np.round(point), point), arrays.low, arrays.high) + 0.0
    if not np.isfinite(point).all() or arrays.largest_violation(point) > FEASIBLE:
        return None
    objective = arrays.objective_at(point)
    fixed = duals and arrays.integer.any()
    if fixed:
        remainder = arrays.with_integers_at(point)
    else:
        remainder = arrays
    return replace(
        _solution_at(milp, arrays, point),
        bound=bound,
        gap=None if bound is None else abs(objective - bound) / max(1.0, abs(objective)),
        sensitivity=compute_sensitivity(milp, remainder, run_highs(remainder), Source.FIXED) if fixed else None,
        solver=SOLVER,
        note="stopped before it was proven that no point is better",
    )


def _solution_with_point(milp: Milp, arrays: Arrays, first: HighsRun, duals: bool) -> Solution:
    assert first.values is not None
    if arrays.integer.any():
        remainder = arrays.with_integers_at(first.values)
    else:
        remainder = arrays
    if not arrays.integer.any():
        last = first
    elif duals or not arrays.integer.all():
        last = run_highs(remainder)
    else:
        # nothing is left to be decided: the point with its integers rounded is the only one
        last = replace(first, values=remainder.low)
    values = _polish(arrays, first.values, last.values)
    worst = arrays.largest_violation(values)
    if worst > FEASIBLE:
        note = f"the solver's point breaks the model by {worst:.2g}: rescale the figures"
        return Solution(SolveStatus.UNKNOWN, note=note)
    if arrays.integer.any():
        duals_of_lp = None
    else:
        duals_of_lp = first.row_duals
    if duals_of_lp is None:
        bound = first.bound
    else:
        bound = dual_bound(arrays, duals_of_lp)
    objective = arrays.objective_at(values)
    gap = abs(objective - bound) / max(1.0, abs(objective))
    proven = first.claim is SolverClaim.OPTIMAL and gap <= PROVEN
    if milp.has_integers:
        source = Source.FIXED
    else:
        source = Source.LP
    return replace(
        _solution_at(milp, arrays, values),
        status=SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE,
        bound=objective if proven and gap < 1e-12 else bound,
        gap=gap,
        sensitivity=compute_sensitivity(milp, remainder, last, source) if duals else None,
        relaxation=_relaxation_sensitivity(milp, arrays) if duals and milp.has_integers else None,
        note="" if proven else "stopped before it was proven that no point is better",
    )


def _polish(arrays: Arrays, values: Vector, again: Vector | None) -> Vector:
    """The point with exact integers where it is as good, without the noise at bounds."""
    sign = arrays.sense.sign
    if again is not None and arrays.largest_violation(again) <= FEASIBLE:
        loss = sign * (arrays.objective_at(again) - arrays.objective_at(values))
        if loss <= PROVEN * max(1.0, abs(arrays.objective_at(values))):
            values = again
        else:
            values = values
    values = np.where(arrays.integer, np.round(values), values)
    return np.asarray(np.clip(values, arrays.low, arrays.high)) + 0.0


def _solution_at(milp: Milp, arrays: Arrays, values: Vector) -> Solution:
    names = [variable.name for variable in milp.variables]
    activities = dict(zip((row.name for row in milp.rows), arrays.activities_at(values).tolist(), strict=True))
    room = {row.name: activities[row.name] - row.rhs for row in milp.rows}
    signs = {Relation.AT_MOST: -1.0, Relation.AT_LEAST: 1.0}
    return Solution(
        SolveStatus.FEASIBLE,
        objective=arrays.objective_at(values),
        values=dict(zip(names, values.tolist(), strict=True)),
        activities=activities,
        slacks={
            row.name: room[row.name] * signs.get(row.relation, math.copysign(1.0, room[row.name])) for row in milp.rows
        },
    )


def _relaxation_sensitivity(milp: Milp, arrays: Arrays) -> Sensitivity | None:
    relaxed = arrays.without_integrality()
    return compute_sensitivity(milp, relaxed, run_highs(relaxed), Source.RELAXATION)


def _without_optimum(arrays: Arrays, limit_s: float | None) -> Solution:
    """Settle whether a model without an optimum is infeasible or unbounded: by a solve without its objective."""
    settled = run_highs(arrays.without_objective(), limit_s)
    if settled.claim is SolverClaim.NO_OPTIMUM:
        return Solution(SolveStatus.INFEASIBLE)
    is_feasible = settled.values is not None and arrays.largest_violation(settled.values) <= FEASIBLE
    if is_feasible and ray_of(arrays) is not None:
        return Solution(SolveStatus.UNBOUNDED)
    return Solution(SolveStatus.UNKNOWN, note="the solver found no optimum, and why could not be settled")


def compute_sensitivity(milp: Milp, arrays: Arrays, solved: HighsRun, source: Source) -> Sensitivity | None:
    """Compute duals, reduced costs and ranges of a linear programme at its optimum; None without an optimal basis.

    The linear programme is the model itself, its relaxation, or it with fixed integers; the model gives the names.
    """
    if solved.claim is not SolverClaim.OPTIMAL or solved.values is None or solved.row_duals is None:
        return None
    status, ranging = solved.engine.getRanging()
    if status == highspy.HighsStatus.kError:
        return None
    basis = solved.engine.getBasis()
    duals, reduced = _clean_duals(arrays, solved.row_duals)
    rows = tuple(row.name for row in milp.rows)
    columns = tuple(variable.name for variable in milp.variables)
    fixed_low, fixed_high = _row_ranges(arrays, solved.values, ranging, basis)
    at_bound = np.array([index for index, stands in enumerate(basis.col_status) if stands != BASIC], dtype=int)
    lows, highs = np.array(ranging.col_bound_dn.value_), np.array(ranging.col_bound_up.value_)
    cost_low, cost_high = (np.array(end.value_)[: len(reduced)] for end in (ranging.col_cost_dn, ranging.col_cost_up))
    return Sensitivity(
        source=source,
        objective=arrays.objective_at(solved.values),
        duals=dict(zip(rows, duals.tolist(), strict=True)),
        reduced_costs=dict(zip(columns, reduced.tolist(), strict=True)),
        rhs_ranges=_make_ranges(rows, fixed_low, fixed_high),
        cost_ranges=_make_ranges(columns, np.minimum(cost_low, arrays.cost), np.maximum(cost_high, arrays.cost)),
        bound_ranges=_make_ranges(
            [columns[index] for index in at_bound],
            np.minimum(lows[at_bound], solved.values[at_bound]),
            np.maximum(highs[at_bound], solved.values[at_bound]),
        ),
    )


def dual_bound(arrays: Arrays, row_duals: Vector) -> float:
    """The bound that duals, ``(m,)``, prove: no feasible point of the linear programme is better (weak duality).

    Both are in the model's own sense. It is infinite where the duals prove nothing. A price whose side has no end
    counts as 0 when it is within the solver's own tolerance.
    """
    sign = arrays.sense.sign
    tolerated = DUAL_FEASIBLE * max(1.0, float(np.abs(arrays.cost).max(initial=0.0)))
    duals, reduced = (sign * part for part in _clean_duals(arrays, row_duals))
    total = arrays.constant * sign
    for price, low, high in ((duals, arrays.row_low, arrays.row_high), (reduced, arrays.low, arrays.high)):
        least = np.where(price > 0, low, high)
        counts = (price != 0) & (np.isfinite(least) | (np.abs(price) > tolerated))
        total += float((price[counts] * least[counts]).sum())
    return sign * total


def _clean_duals(arrays: Arrays, row_duals: Vector) -> tuple[Vector, Vector]:
    """Duals and reduced costs, recomputed from the duals, without the noise."""
    size = np.abs(arrays.cost) + np.abs(row_duals) @ abs(arrays.matrix)
    reduced = arrays.cost - row_duals @ arrays.matrix
    reduced[np.abs(reduced) <= NOISE * np.maximum(size, 1e-3)] = 0.0
    scale = float(np.abs(arrays.cost).max(initial=0.0))
    return np.where(np.abs(row_duals) <= NOISE * min(scale, 1.0), 0.0, row_duals) + 0.0, reduced + 0.0


def _row_ranges(arrays: Arrays, values: Vector, ranging: Any, basis: Any) -> tuple[Vector, Vector]:
    """Right-hand sides for which each dual holds: of a basic row up to its activity, of the others by ranging."""
    count = len(arrays.row_low)
    lows, highs = np.array(ranging.row_bound_dn.value_)[:count], np.array(ranging.row_bound_up.value_)[:count]
    basic = np.array([stands == BASIC for stands in basis.row_status[:count]], dtype=bool)
    activities = arrays.activities_at(values)
    rhs = np.where(np.isfinite(arrays.row_high), arrays.row_high, arrays.row_low)
    at_most, at_least = np.isinf(arrays.row_low), np.isinf(arrays.row_high)
    lows = np.where(basic, np.where(at_least, -np.inf, activities), lows)
    highs = np.where(basic, np.where(at_most, np.inf, activities), highs)
    return np.minimum(lows, rhs), np.maximum(highs, rhs)


def _make_ranges(names: Sequence[str], lows: Vector, highs: Vector) -> dict[str, ValueRange]:
    return {name: ValueRange(float(low), float(high)) for name, low, high in zip(names, lows, highs, strict=True)}


@dataclass(frozen=True)
class Breach:
    """Something that a point breaks."""

    # ``row``, ``bound`` or ``integrality``
    part: str
    # of the row or the variable
    name: str
    # the row's left side, or the variable's value
    value: float
    # ``<=``, ``>=`` or ``=``
    relation: str
    # for integrality the nearest whole number
    limit: float

    @property
    def violation(self) -> float:
        """By how much, at least 0."""
        return abs(self.value - self.limit)

    @property
    def sentence(self) -> str:
        """In words, the name made plain."""
        return f"{self.part} {quoted(self.name)}: {number(self.value)} is not {self.relation} {number(self.limit)}"


def breaches(milp: Milp, values: Mapping[str, float], tolerance: float = FEASIBLE) -> tuple[Breach, ...]:
    """List what a point breaks, rows first.

    Args:
        milp: The model.
        values: The point; a variable without a value is 0.
        tolerance: Relative to the size of what is added up, at least 1.

    Raises:
        MilpError: The point names an unknown variable.
    """
    point = point_vector(milp, values)
    arrays = Arrays.from_milp(milp)
    activities = arrays.activities_at(point)
    sizes = abs(arrays.matrix) @ np.abs(point)
    broken = []
    for row, activity, size in zip(milp.rows, activities.tolist(), sizes.tolist(), strict=True):
        low, high = row.limits
        if not low - tolerance * max(1.0, size) <= activity <= high + tolerance * max(1.0, size):
            broken.append(Breach("row", row.name, activity, str(row.relation), row.rhs))
    for variable, value in zip(milp.variables, point.tolist(), strict=True):
        allowed = tolerance * max(1.0, abs(value))
        if not value >= variable.low - allowed:
            broken.append(Breach("bound", variable.name, value, ">=", variable.low))
        if not value <= variable.high + allowed:
            broken.append(Breach("bound", variable.name, value, "<=", variable.high))
        if variable.is_integer and np.isfinite(value) and abs(value - round(value)) > tolerance:
            broken.append(Breach("integrality", variable.name, value, "=", round(value)))
    return tuple(broken)


def point_vector(milp: Milp, values: Mapping[str, float]) -> Vector:
    """A point in the order of the model's variables, ``(n,)``; ``MilpError`` where it names an unknown one."""
    names = {variable.name for variable in milp.variables}
    for name in values:
        if name not in names:
            raise MilpError(f"the point has a value for {quoted(name)}, no variable of the model: remove or rename it")
    return np.array([float(values.get(variable.name, 0.0)) for variable in milp.variables])


def ray(milp: Milp) -> Mapping[str, float] | None:
    """The variables that run off, and how fast against each other.

    Returns:
        By variable, only those that move, the fastest at 1 in size; None where no direction improves for ever.
    """
    direction = ray_of(Arrays.from_milp(milp))
    if direction is None:
        return None
    return {variable.name: float(step) for variable, step in zip(milp.variables, direction, strict=True) if step != 0.0}


def ray_of(arrays: Arrays) -> Vector | None:
    """An improving direction of the recession cone, ``(n,)``, largest step 1; None where there is none.

    With rational figures, as doubles are, an integer model with a feasible point is unbounded if and only if its
    relaxation has such a direction (Meyer 1974, doi:10.1007/BF01585523).
    """
    cone = replace(
        arrays.without_integrality(),
        constant=0.0,
        low=np.where(np.isfinite(arrays.low), 0.0, -1.0),
        high=np.where(np.isfinite(arrays.high), 0.0, 1.0),
        row_low=np.where(np.isfinite(arrays.row_low), 0.0, -np.inf),
        row_high=np.where(np.isfinite(arrays.row_high), 0.0, np.inf),
    )
    solved = run_highs(cone)
    if solved.claim is not SolverClaim.OPTIMAL or solved.values is None:
        return None
    direction = np.where(np.abs(solved.values) < 1e-9, 0.0, solved.values)
    gain = -arrays.sense.sign * float(arrays.cost @ direction)
    size = float(np.abs(arrays.cost) @ np.abs(direction))
    if gain <= FEASIBLE * size or cone.largest_violation(direction) > FEASIBLE:
        return None
    return np.asarray(direction / np.abs(direction).max())
