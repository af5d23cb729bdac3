"""Solve a model with duals and ranges, and recompute every figure of the solver's answer.

The module also finds violations of a point, and directions of unlimited improvement.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import highspy
import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Vector
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.features import ModelFeatures
from oragent.modelling.data.indexed import RELATION_CODES, RELATIONS, IndexedModel
from oragent.modelling.data.model_records import Objective, Row, Variable
from oragent.modelling.data.model_values import Relation, Sense, VariableKind
from oragent.modelling.data.solution import Sensitivity, Solution, SolveStatus, Source, ValueRange
from oragent.modelling.solving.array_solving import NOT_PROVEN, ArraySolution, clean_duals, ray_of, solve_arrays
from oragent.modelling.solving.back_ends.protocol import Solver, SolverOptions, SolverResult, SolverStatus
from oragent.modelling.solving.highs import SOLVER, basis_of, run_highs
from oragent.modelling.solving.optimal_face import OptimalFace

# Maximum number of nonzero coefficients at which duals of a degenerate optimum are checked to be unique, and maximum
# product of it and the number of rows and variables at which all ranges are computed.
MAX_CHECKED, MAX_RANGED = 20_000, 400_000
# Model that warm interpreters solve in advance.
WARM_UP = IndexedModel.from_records(
    (Variable("x", 0, 5, VariableKind.INTEGER), Variable("y", 0, 5)),
    (Row("limit", {"x": 1.0, "y": 2.0}, Relation.AT_MOST, 7.5),),
    Objective({"x": 1.0, "y": 1.0}),
    Sense.MAXIMIZE,
)


def solve(
    model: IndexedModel,
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
        model: The model.
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
    arrays = model.to_staged_arrays()
    point = None if start is None else point_vector(model, start)
    limits = options or SolverOptions(limit_s, gap)
    solved = solve_arrays(arrays, limits, solver, point, model.flat_variable_names)
    solution = _solution_of_arrays(model, arrays, solved)
    if duals and model.is_purely_linear and solution.status.has_point:
        solution = _with_sensitivity(model, arrays, solution, solved)
    return replace(solution, seconds=time.perf_counter() - started)


def _solution_of_arrays(model: IndexedModel, arrays: Arrays, solved: ArraySolution) -> Solution:
    result = Solution(solved.status)
    if solved.values is not None:
        result = replace(_solution_at(model, arrays, solved.values), status=solved.status)
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


def _with_sensitivity(model: IndexedModel, arrays: Arrays, solution: Solution, solved: ArraySolution) -> Solution:
    assert solved.values is not None
    if not model.has_integers:
        run = _run_of_engine(arrays, solved) or run_highs(arrays)
        return replace(solution, sensitivity=compute_sensitivity(model, arrays, run, Source.LP))
    fixed, relaxed = arrays.with_integers_at(solved.values), arrays.without_integrality()
    return replace(
        solution,
        sensitivity=compute_sensitivity(model, fixed, run_highs(fixed), Source.FIXED),
        relaxation=compute_sensitivity(model, relaxed, run_highs(relaxed), Source.RELAXATION),
    )


def _run_of_engine(arrays: Arrays, solved: ArraySolution) -> SolverResult | None:
    """Return HiGHS's result for a linear model, or None if another solver solved it."""
    if not isinstance(solved.engine, highspy.Highs) or solved.status is not SolveStatus.OPTIMAL:
        return None
    return SolverResult(SolverStatus.OPTIMAL, SOLVER, solved.values, row_duals=solved.row_duals, engine=solved.engine)


def add_duals(model: IndexedModel, solution: Solution) -> Solution:
    """Return the same solution with its duals and ranges.

    A solution without a point stays as it is.
    """
    if not solution.status.has_point:
        return solution
    solution = replace(
        solution,
        bound=-model.sense.sign * np.inf if solution.bound is None else solution.bound,
        gap=np.inf if solution.gap is None else solution.gap,
    )
    solved = ArraySolution(solution.status, point_vector(model, solution.values))
    return _with_sensitivity(model, model.to_staged_arrays(), solution, solved)


def evaluate_point(
    model: IndexedModel, values: Mapping[str, float], bound: float | None, *, duals: bool = True
) -> Solution | None:
    """Recompute the objective of a claimed point. Return None if the point is not feasible.

    Integers are rounded, and a variable without a value is 0. ``bound`` is a proven bound, or None. Duals are computed
    with the integers fixed at the point.
    """
    arrays = model.to_staged_arrays()
    point = point_vector(model, values)
    point = np.clip(np.where(arrays.integer, np.round(point), point), arrays.low, arrays.high) + 0.0
    if not np.isfinite(point).all() or arrays.largest_violation(point) > FEASIBLE:
        return None
    objective = arrays.objective_at(point)
    fixed = duals and arrays.integer.any()
    remainder = arrays.with_integers_at(point) if fixed else arrays
    return replace(
        _solution_at(model, arrays, point),
        bound=bound,
        gap=None if bound is None else abs(objective - bound) / max(1.0, abs(objective)),
        sensitivity=compute_sensitivity(model, remainder, run_highs(remainder), Source.FIXED) if fixed else None,
        solver=SOLVER,
        note=NOT_PROVEN,
    )


def _solution_at(model: IndexedModel, arrays: Arrays, values: Vector) -> Solution:
    names, rows, activities = model.flat_variable_names, model.flat_row_names, arrays.activities_at(values)
    room = activities - model.rhs_values
    # The left side of an equation has a distance on either side.
    slacks = np.where(model.relations == RELATION_CODES[Relation.EQUAL], np.abs(room), model.relations * room)
    return Solution(
        SolveStatus.FEASIBLE,
        objective=arrays.objective_at(values),
        values=dict(zip(names, values.tolist(), strict=True)),
        activities=dict(zip(rows, activities.tolist(), strict=True)),
        slacks=dict(zip(rows, slacks.tolist(), strict=True)),
    )


def compute_sensitivity(
    model: IndexedModel, arrays: Arrays, solved: SolverResult, source: Source
) -> Sensitivity | None:
    """Compute duals, reduced costs and ranges at the optimum of a linear programme, or None without an optimum.

    The linear programme is the model, its relaxation, or the model with fixed integers. The model gives the names.
    """
    if solved.status is not SolverStatus.OPTIMAL or solved.values is None or solved.row_duals is None:
        return None
    basic_duals, work = solved.row_duals, len(arrays.matrix.values)
    duals, reduced = clean_duals(arrays, basic_duals)
    rows, columns = model.flat_row_names, model.flat_variable_names
    face = OptimalFace(arrays, solved.values, basic_duals)
    result = Sensitivity(
        source=source,
        objective=arrays.objective_at(solved.values),
        duals=dict(zip(rows, duals.tolist(), strict=True)),
        reduced_costs=dict(zip(columns, reduced.tolist(), strict=True)),
    )
    differing = None
    if basis_of(solved.engine) is not None and face.is_nondegenerate:
        differing = np.zeros(len(rows), dtype=bool), np.zeros(len(columns), dtype=bool)
    elif work <= MAX_CHECKED:
        differing = face.differing
    if differing is None:
        return result
    several = [tuple(compress(names, mask)) for names, mask in zip((rows, columns), differing, strict=True)]
    result = replace(result, several_duals=several[0], several_reduced_costs=several[1])
    if work * (len(rows) + len(columns)) > MAX_RANGED:
        return result
    bounded = ~differing[1] & (face.at_low != face.at_high)
    return replace(
        result,
        rhs_ranges=_make_ranges(rows, ~differing[0], lambda row: face.rhs_interval(row, basic_duals)),
        cost_ranges=_make_ranges(columns, np.ones(len(columns)), face.cost_interval),
        bound_ranges=_make_ranges(columns, bounded, lambda column: face.bound_interval(column, basic_duals)),
    )


def _make_ranges(
    names: Sequence[str], mask: np.ndarray, interval_of: Callable[[int], tuple[float, float] | None]
) -> dict[str, ValueRange]:
    intervals = ((names[place], interval_of(place)) for place in np.flatnonzero(mask).tolist())
    return {name: ValueRange(*interval) for name, interval in intervals if interval is not None}


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


def breaches(model: IndexedModel, values: Mapping[str, float], tolerance: float = FEASIBLE) -> tuple[Breach, ...]:
    """List the violations of a point, rows first.

    Args:
        model: The model.
        values: The point. Missing values are 0.
        tolerance: Tolerance relative to the size of the summands, at least 1.

    Raises:
        ModellingError: The point names an unknown variable.
    """
    point, arrays = point_vector(model, values), model.to_staged_arrays()
    return (
        *_broken_rows(model, arrays, point, tolerance),
        *_broken_bounds(model, arrays, point, tolerance),
        *_broken_parts(arrays.features, point, tolerance),
    )


def _broken_rows(model: IndexedModel, arrays: Arrays, point: Vector, tolerance: float) -> Iterator[Breach]:
    activities = arrays.activities_at(point)
    allowed = tolerance * np.maximum(1.0, abs(arrays.matrix) @ np.abs(point))
    low, high = arrays.hard_limits()
    is_met = (low - allowed <= activities) & (activities <= high + allowed)
    for row in np.flatnonzero(~is_met).tolist():
        relation = RELATIONS[int(model.relations[row])]
        yield Breach(
            "row", model.flat_row_names[row], float(activities[row]), str(relation), float(model.rhs_values[row])
        )


def _broken_bounds(model: IndexedModel, arrays: Arrays, point: Vector, tolerance: float) -> Iterator[Breach]:
    allowed = tolerance * np.maximum(1.0, np.abs(point))
    is_below, is_above = ~(point >= arrays.low - allowed), ~(point <= arrays.high + allowed)
    finite = np.where(np.isfinite(point), point, 0.0)
    is_fraction = arrays.integer & (np.abs(finite - np.round(finite)) > tolerance)
    may_be_zero = np.zeros(len(point), dtype=bool)
    may_be_zero[[part.variable for part in arrays.features.semi_continuous]] = True
    broken = (is_below | is_above | is_fraction) & ~(may_be_zero & (np.abs(point) <= tolerance))
    for column in np.flatnonzero(broken).tolist():
        name, value = model.flat_variable_names[column], float(point[column])
        if is_below[column]:
            yield Breach("bound", name, value, ">=", float(arrays.low[column]))
        if is_above[column]:
            yield Breach("bound", name, value, "<=", float(arrays.high[column]))
        if is_fraction[column]:
            yield Breach("integrality", name, value, "=", round(value))


def _broken_parts(features: ModelFeatures[int], point: Vector, tolerance: float) -> Iterator[Breach]:
    for part in features.parts:
        violation = float(part.violation(point.__getitem__))
        if not violation <= tolerance:
            yield Breach("feature", part.name, violation, "=", 0.0)


def point_vector(model: IndexedModel, values: Mapping[str, float]) -> Vector:
    """Return a point in the order of the model's variables, ``(n,)``. An unknown variable raises ``ModellingError``."""
    names = set(model.flat_variable_names)
    for name in values:
        if name not in names:
            raise ModellingError(
                f"the point has a value for {quoted(name)}, which is not a variable of the model: remove or rename it"
            )
    return np.array([float(values.get(name, 0.0)) for name in model.flat_variable_names])


def ray(model: IndexedModel) -> Mapping[str, float] | None:
    """Return the direction of unlimited improvement of an unbounded model.

    Returns:
        Step by variable, without zeros, with largest step 1. None without such a direction.
    """
    direction = ray_of(model.to_staged_arrays())
    if direction is None:
        return None
    steps = zip(model.flat_variable_names, direction.tolist(), strict=True)
    return {name: step for name, step in steps if step != 0.0}
