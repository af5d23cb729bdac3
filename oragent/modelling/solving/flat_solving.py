"""Solve a model with duals and ranges, and recompute every figure of the solver's answer.

The module also finds violations of a point, and directions of unlimited improvement.
"""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Vector
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.flat_model import Milp, Objective, Relation, Row, Sense, Variable, VariableKind
from oragent.modelling.data.solution import Sensitivity, Solution, SolveStatus, Source, ValueRange
from oragent.modelling.solving.array_solving import NOT_PROVEN, ArraySolution, clean_duals, solve_arrays
from oragent.modelling.solving.array_solving import PROVEN as PROVEN
from oragent.modelling.solving.array_solving import dual_bound as dual_bound
from oragent.modelling.solving.array_solving import ray_of as ray_of
from oragent.modelling.solving.back_ends.protocol import Solver, SolverOptions, SolverResult, SolverStatus
from oragent.modelling.solving.highs import SOLVER, run_highs

BASIC = highspy.HighsBasisStatus.kBasic
# Model that warm interpreters solve in advance.
WARM_UP = Milp(
    (Variable("x", 0, 5, VariableKind.INTEGER), Variable("y", 0, 5)),
    (Row("limit", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 7.5),),
    Objective({"x": 1.0, "y": 1.0}),
    Sense.MAXIMIZE,
)


def solve(
    milp: Milp,
    limit_s: float | None = None,
    gap: float = 0.0,
    *,
    duals: bool = True,
    solver: str | Solver = "highs",
    options: SolverOptions | None = None,
    start: Mapping[str, float] | None = None,
) -> Solution:
    """Solve a model.

    Values of integer variables are rounded, and then the linear programme of the other variables is solved. Objective,
    activities and feasibility are computed from the values, and the bound of a linear programme from its duals. An
    unbounded model is proven by a feasible point and a direction, because the solver may report it as infeasible. Parts
    that the solver does not support, such as indicators, are written as linear rows.

    Args:
        milp: The model.
        limit_s: Wall-clock seconds of the search. None means no limit.
        gap: Relative gap at which the integer search stops. A gap wider than ``PROVEN`` gives the status ``feasible``.
        duals: Whether to compute duals and ranges with HiGHS. Without them the function is faster.
        solver: Name of a back end (``oragent.modelling.solving.back_ends``), or the back end.
        options: Further limits. Its ``seconds`` and ``gap`` replace the two arguments above.
        start: Start point by variable, feasible or not. Missing values are 0.

    Raises:
        ModellingError: The back end is unknown, not installed, or cannot solve such a model.
    """
    started = time.perf_counter()
    arrays = Arrays.from_milp(milp)
    point = None if start is None else point_vector(milp, start)
    names = [variable.name for variable in milp.variables]
    solved = solve_arrays(arrays, options or SolverOptions(limit_s, gap), solver, point, names)
    solution = _solution_of_arrays(milp, arrays, solved)
    if duals and milp.is_linear and solution.status.has_point:
        solution = _with_sensitivity(milp, arrays, solution, solved)
    return replace(solution, seconds=time.perf_counter() - started)


def _solution_of_arrays(milp: Milp, arrays: Arrays, solved: ArraySolution) -> Solution:
    result = Solution(solved.status)
    if solved.values is not None:
        result = replace(_solution_at(milp, arrays, solved.values), status=solved.status)
    return replace(
        result,
        objective=solved.objective,
        bound=solved.bound,
        gap=solved.gap,
        goals=solved.goals,
        limit="" if solved.limit is None else str(solved.limit),
        work=solved.work,
        solver=solved.solver,
        note=solved.note,
        linearised=solved.linearised,
    )


def _with_sensitivity(milp: Milp, arrays: Arrays, solution: Solution, solved: ArraySolution) -> Solution:
    assert solved.values is not None
    if not milp.has_integers:
        run = _run_of_engine(arrays, solved) or run_highs(arrays)
        return replace(solution, sensitivity=compute_sensitivity(milp, arrays, run, Source.LP))
    fixed, relaxed = arrays.with_integers_at(solved.values), arrays.without_integrality()
    return replace(
        solution,
        sensitivity=compute_sensitivity(milp, fixed, run_highs(fixed), Source.FIXED),
        relaxation=compute_sensitivity(milp, relaxed, run_highs(relaxed), Source.RELAXATION),
    )


def _run_of_engine(arrays: Arrays, solved: ArraySolution) -> SolverResult | None:
    """Return HiGHS's result for a linear model, or None if another solver solved it."""
    if not isinstance(solved.engine, highspy.Highs) or solved.status is not SolveStatus.OPTIMAL:
        return None
    return SolverResult(SolverStatus.OPTIMAL, SOLVER, solved.values, row_duals=solved.row_duals, engine=solved.engine)


def add_duals(milp: Milp, solution: Solution) -> Solution:
    """Return the same solution with its duals and ranges.

    A solution without a point stays as it is.
    """
    if not solution.status.has_point:
        return solution
    solution = replace(
        solution,
        bound=-milp.sense.sign * np.inf if solution.bound is None else solution.bound,
        gap=np.inf if solution.gap is None else solution.gap,
    )
    solved = ArraySolution(solution.status, point_vector(milp, solution.values))
    return _with_sensitivity(milp, Arrays.from_milp(milp), solution, solved)


def evaluate_point(
    milp: Milp, values: Mapping[str, float], bound: float | None, *, duals: bool = True
) -> Solution | None:
    """Recompute the objective of a claimed point. Return None if the point is not feasible.

    Integers are rounded, and a variable without a value is 0. ``bound`` is a proven bound, or None. Duals are computed
    with the integers fixed at the point.
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
        sensitivity=compute_sensitivity(milp, remainder, run_highs(remainder), Source.FIXED) if fixed else None,
        solver=SOLVER,
        note=NOT_PROVEN,
    )


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


def compute_sensitivity(milp: Milp, arrays: Arrays, solved: SolverResult, source: Source) -> Sensitivity | None:
    """Compute duals, reduced costs and ranges at the optimum of a linear programme, or None without an optimal basis.

    The linear programme is the model, its relaxation, or the model with fixed integers. The model gives the names.
    """
    if solved.status is not SolverStatus.OPTIMAL or solved.values is None or solved.row_duals is None:
        return None
    assert isinstance(solved.engine, highspy.Highs)
    status, ranging = solved.engine.getRanging()
    if status == highspy.HighsStatus.kError:
        return None
    basis = solved.engine.getBasis()
    duals, reduced = clean_duals(arrays, solved.row_duals)
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


def _row_ranges(arrays: Arrays, values: Vector, ranging: Any, basis: Any) -> tuple[Vector, Vector]:
    """Return right-hand sides for which each dual holds.

    For a basic row, they extend to the activity; for others, HiGHS computes them.
    """
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
    """Violation of a part of a model."""

    # ``row``, ``bound``, ``integrality``, or ``feature`` such as an indicator.
    part: str
    # Name of the row, variable or feature.
    name: str
    # The row's left side, the variable's value, or the violation of a feature.
    value: float
    # ``<=``, ``>=`` or ``=``.
    relation: str
    # Right-hand side or bound. For integrality, it is the nearest whole number.
    limit: float

    @property
    def violation(self) -> float:
        """Size of the violation, at least 0."""
        return abs(self.value - self.limit)

    @property
    def sentence(self) -> str:
        """Violation in words, with an escaped name."""
        return f"{self.part} {quoted(self.name)}: {number(self.value)} is not {self.relation} {number(self.limit)}"


def breaches(milp: Milp, values: Mapping[str, float], tolerance: float = FEASIBLE) -> tuple[Breach, ...]:
    """List the violations of a point, rows first.

    Args:
        milp: The model.
        values: The point. Missing values are 0.
        tolerance: Tolerance relative to the size of the summands, at least 1.

    Raises:
        ModellingError: The point names an unknown variable.
    """
    point = point_vector(milp, values)
    arrays = Arrays.from_milp(milp)
    activities = arrays.activities_at(point)
    sizes = abs(arrays.matrix) @ np.abs(point)
    broken = []
    soft = {part.row: part for part in milp.features.soft_rows}
    for row, activity, size in zip(milp.rows, activities.tolist(), sizes.tolist(), strict=True):
        low, high = row.limits
        if row.name in soft:
            low = low if soft[row.name].below is None else -np.inf
            high = high if soft[row.name].above is None else np.inf
        if not low - tolerance * max(1.0, size) <= activity <= high + tolerance * max(1.0, size):
            broken.append(Breach("row", row.name, activity, str(row.relation), row.rhs))
    may_be_zero = {part.variable for part in milp.features.semi_continuous}
    for variable, value in zip(milp.variables, point.tolist(), strict=True):
        if variable.name in may_be_zero and abs(value) <= tolerance:
            continue
        allowed = tolerance * max(1.0, abs(value))
        if not value >= variable.low - allowed:
            broken.append(Breach("bound", variable.name, value, ">=", variable.low))
        if not value <= variable.high + allowed:
            broken.append(Breach("bound", variable.name, value, "<=", variable.high))
        if variable.is_integer and np.isfinite(value) and abs(value - round(value)) > tolerance:
            broken.append(Breach("integrality", variable.name, value, "=", round(value)))
    places = {variable.name: value for variable, value in zip(milp.variables, point.tolist(), strict=True)}
    for part in milp.features.parts:
        violation = part.violation(places.__getitem__)
        if not violation <= tolerance:
            broken.append(Breach("feature", part.name, violation, "=", 0.0))
    return tuple(broken)


def point_vector(milp: Milp, values: Mapping[str, float]) -> Vector:
    """Return a point in the order of the model's variables, ``(n,)``. An unknown variable raises ``ModellingError``."""
    names = {variable.name for variable in milp.variables}
    for name in values:
        if name not in names:
            raise ModellingError(
                f"the point has a value for {quoted(name)}, which is not a variable of the model: remove or rename it"
            )
    return np.array([float(values.get(variable.name, 0.0)) for variable in milp.variables])


def ray(milp: Milp) -> Mapping[str, float] | None:
    """Return the direction of unlimited improvement of an unbounded model.

    Returns:
        Step by variable, without zeros, with largest step 1. None without such a direction.
    """
    direction = ray_of(Arrays.from_milp(milp))
    if direction is None:
        return None
    return {variable.name: float(step) for variable, step in zip(milp.variables, direction, strict=True) if step != 0.0}
