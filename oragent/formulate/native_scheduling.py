"""Solve a schedule, or the model of a checker's rows, with CP-SAT if all of its figures are whole.

Rows of a case are enforced by the literal of the case, and tasks that must not overlap are intervals of a machine. The
point is checked against the model.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from oragent.formulate.aims import staged_objectives
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.intervals import PlanInterval
from oragent.modelling.data.model_values import Relation, Sense
from oragent.modelling.data.solution import Solution, SolveStatus
from oragent.modelling.solving.array_solving import NOT_PROVEN, PROVEN
from oragent.modelling.solving.model_solving import evaluate_point

# Largest size of a value without a bound.
HORIZON = 10**7
# Largest factor that makes the figures of a row whole.
MAX_SCALE = 10**6
# Two rows of a case pair say that one task ends before the other begins: start, start and duration.
Order = tuple[str, str, int]


def solve_with_cp_sat(
    checks: IndexedModel,
    whole: Collection[str],
    limit_s: float,
    threads: int = 1,
    gap: float = 0.0,
    intervals: Sequence[PlanInterval] = (),
) -> Solution | None:
    """Solve a model; None if its figures are not whole, it has no cases or intervals, or OR-Tools is not installed.

    Args:
        checks: Rows, indicators, and objectives by priority.
        whole: Columns that the program's model declares as whole. They count as such if they are only in rows that
            add and subtract them: by each choice of cases, such rows have whole corners.
        limit_s: Seconds for all objectives together.
        threads: Number of threads.
        gap: Relative gap at which the search stops.
        intervals: Tasks of which no two of a machine overlap, as the rows say too.
    """
    features = checks.named_features
    if features.quadratic or features.parts != features.indicators or features.semi_continuous or features.soft_rows:
        return None
    if not features.indicators and not intervals:
        return None
    scaled: set[str] = set()
    for terms, _, rhs, _ in _linear_parts(checks):
        scaled |= {name for name, value in terms.items() if abs(value) != 1 or rhs != round(rhs)}
    # A column without a lower bound is a maximum or a piecewise linear function.
    fitting = {*whole, *(variable.name for variable in checks.variable_records if math.isinf(variable.low))} - scaled
    if not all(variable.is_integer or variable.name in fitting for variable in checks.variable_records):
        return None
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        return None
    model = cp_model.CpModel()
    columns = {
        variable.name: model.new_int_var(
            -HORIZON if math.isinf(variable.low) else math.ceil(variable.low),
            HORIZON if math.isinf(variable.high) else math.floor(variable.high),
            variable.name,
        )
        for variable in checks.variable_records
    }
    if not _add_rows(model, checks, columns):
        return None
    _add_machines(model, checks, columns)
    _add_intervals(model, intervals, columns)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = threads
    solver.parameters.relative_gap_limit = gap
    return _solve_stages(solver, model, checks, columns, limit_s)


def _linear_parts(checks: IndexedModel) -> Iterator[tuple[Mapping[str, float], Relation, float, str | None]]:
    """Yield terms, relation, right-hand side and the column that activates it, of each row and indicator."""
    for row in checks.row_records:
        yield row.terms, row.relation, row.rhs, None
    for part in checks.named_features.indicators:
        yield part.terms, part.relation, part.rhs, part.binary


def _add_rows(model: Any, checks: IndexedModel, columns: Mapping[str, Any]) -> bool:
    """Add rows and indicators; return False if a figure cannot be made whole."""
    for terms, relation, rhs, switch in _linear_parts(checks):
        scale = _scale_of([*terms.values(), rhs])
        if scale is None:
            return False
        total = sum((round(value * scale) * columns[name] for name, value in terms.items()), model.new_constant(0))
        limit = round(rhs * scale)
        low = -HORIZON * HORIZON if relation is Relation.AT_MOST else limit
        high = HORIZON * HORIZON if relation is Relation.AT_LEAST else limit
        added = model.add_linear_constraint(total, low, high)
        if switch is not None:
            added.only_enforce_if(columns[switch])
    return True


def _scale_of(values: Sequence[float]) -> int | None:
    """Return the smallest power of ten that makes all values whole; None without one."""
    scale = 1
    while scale <= MAX_SCALE:
        if all(abs(value * scale - round(value * scale)) <= 1e-9 * max(1.0, abs(value * scale)) for value in values):
            return scale
        scale *= 10
    return None


def _add_machines(model: Any, checks: IndexedModel, columns: Mapping[str, Any]) -> None:
    """Add an interval for each task of a group in which no two tasks overlap.

    The rows say the same for each pair. A machine bounds the sum of durations.
    """
    by_switch: dict[str, list[Any]] = defaultdict(list)
    for part in checks.named_features.indicators:
        by_switch[part.binary].append(part)
    edges: dict[tuple[str, int], set[tuple[str, int]]] = defaultdict(set)
    for row in checks.row_records:
        if len(row.terms) == 2 and row.rhs == 1 and all(name in by_switch for name in row.terms):
            orders = [_read_order(by_switch[name]) for name in row.terms]
            if None not in orders:
                (first, second, size), (third, fourth, other) = orders  # type: ignore[misc]  # checked above
                if (first, second) == (fourth, third):
                    edges[first, size].add((third, other))
                    edges[third, other].add((first, size))
    remaining = {node: set(neighbours) for node, neighbours in edges.items()}
    while any(remaining.values()):
        start = max(remaining, key=lambda node: len(remaining[node]))
        clique = [start]
        for node in sorted(remaining[start], key=lambda node: -len(remaining[node])):
            if all(node in edges[member] for member in clique):
                clique.append(node)
        model.add_no_overlap(
            [model.new_fixed_size_interval_var(columns[name], size, f"{name} {size}") for name, size in clique]
        )
        for first_node, second_node in itertools.permutations(clique, 2):
            remaining[first_node].discard(second_node)


def _add_intervals(model: Any, intervals: Sequence[PlanInterval], columns: Mapping[str, Any]) -> None:
    """Add the tasks of each machine that have a fixed duration and at most one condition; the rows hold for others."""
    machines: dict[str, list[Any]] = defaultdict(list)
    for number, interval in enumerate(intervals):
        size = interval.end.constant - interval.start.constant
        figures = [*interval.start.terms.values(), interval.start.constant, size]
        is_fixed = interval.start.terms == interval.end.terms and len(interval.start.terms) == 1 and size >= 0
        is_whole = all(value == round(value) for value in figures)
        if not (interval.is_exclusive and is_fixed and is_whole and len(interval.conditions) <= 1):
            continue
        ((name, factor),) = interval.start.terms.items()
        start = round(factor) * columns[name] + round(interval.start.constant)
        label = f"task {number}"
        if not interval.conditions:
            task = model.new_fixed_size_interval_var(start, round(size), label)
        else:
            ((condition, value),) = interval.conditions.items()
            # Columns of checks have no upper bounds.
            present = model.new_bool_var("")
            model.add(columns[condition] >= 1).only_enforce_if(present)
            model.add(columns[condition] <= 0).only_enforce_if(present.negated())
            literal = present if value else present.negated()
            task = model.new_optional_fixed_size_interval_var(start, round(size), literal, label)
        machines[interval.lane].append(task)
    for tasks in machines.values():
        model.add_no_overlap(tasks)


def _read_order(parts: Sequence[Any]) -> Order | None:
    """Return both starts and the duration of a row ``start + duration <= other start``; None for another case."""
    if len(parts) != 1 or sorted(parts[0].terms.values()) != [-1.0, 1.0]:
        return None
    (part,) = parts
    sign = 1.0 if part.relation is Relation.AT_MOST else -1.0
    first = next(name for name, value in part.terms.items() if value == sign)
    second = next(name for name in part.terms if name != first)
    size = -sign * part.rhs
    if part.relation is Relation.EQUAL or size < 0 or size != round(size):
        return None
    return first, second, round(size)


def _solve_stages(
    solver: Any, model: Any, checks: IndexedModel, columns: Mapping[str, Any], limit_s: float
) -> Solution | None:
    """Optimise the objectives one after the other; each keeps its optimum, up to its room."""
    objectives, is_proven, values = staged_objectives(checks), True, {}
    bound: float | None = None
    for objective in objectives:
        scale = _scale_of([*objective.terms.values()])
        if scale is None or objective.quadratic:
            return None
        total = sum(round(value * scale) * columns[name] for name, value in objective.terms.items())
        if objective.terms:
            (model.minimize if objective.sense is Sense.MINIMIZE else model.maximize)(total)
        solver.parameters.max_time_in_seconds = limit_s / len(objectives)
        status = solver.status_name(solver.solve(model))
        if status == "INFEASIBLE":
            return Solution(SolveStatus.INFEASIBLE, solver="CP-SAT")
        if status not in ("OPTIMAL", "FEASIBLE"):
            return Solution(SolveStatus.UNKNOWN, solver="CP-SAT")
        values = {name: float(solver.value(column)) for name, column in columns.items()}
        if any(abs(value) >= HORIZON for value in values.values()):
            # A better point may lie beyond the bounds that were added.
            return None
        is_proven = is_proven and status == "OPTIMAL"
        bound = solver.best_objective_bound / scale + objective.constant if objective.terms else objective.constant
        reached = round(sum(round(value * scale) * values[name] for name, value in objective.terms.items()))
        if objective.terms:
            room = math.floor(scale * objective.room(reached / scale + objective.constant) + 1e-9)
            worst = reached + round(objective.sense.sign) * room
            model.add(total <= worst if objective.sense is Sense.MINIMIZE else total >= worst)
    solution = evaluate_point(checks, values, bound, duals=False)
    if solution is None:
        return None
    is_within = solution.gap is not None and solution.gap <= PROVEN
    is_proven = is_proven and (is_within or len(objectives) > 1 or objectives[0].is_empty)
    status_of_point = SolveStatus.OPTIMAL if is_proven else SolveStatus.FEASIBLE
    note = "" if is_proven else NOT_PROVEN
    return replace(solution, status=status_of_point, solver="CP-SAT", note=note)
