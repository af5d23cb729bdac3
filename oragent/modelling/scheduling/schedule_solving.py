"""Solve schedules. CP-SAT states and solves them; its rows go to other solvers."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from oragent.modelling.capture.assembling import assemble
from oragent.modelling.capture.reading import read_model
from oragent.modelling.capture.recorders.from_cpsat import read_constraints
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.names import group_by_names
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.scheduling.schedule_model import (
    WEIGHT_SCALE,
    ScheduleGoal,
    SchedulingModel,
    schedule_breaches,
    schedule_objective,
)
from oragent.modelling.solving.array_solving import solve_arrays
from oragent.modelling.solving.back_ends.protocol import Limit, SolverOptions, not_installed

INSTALL = 'pip install "operations-research-agents[solvers]"'
CP_SAT = "cp-sat"


@dataclass(frozen=True)
class SchedulingSolution:
    """A checked schedule. ``starts`` is empty if no schedule was found."""

    status: SolveStatus
    # Start times by interval.
    starts: Mapping[str, int] = field(default_factory=dict)
    objective: float | None = None
    # Lower bound on the objective.
    bound: float | None = None
    limit: str = ""
    solver: str = ""
    # Wall-clock seconds.
    seconds: float = 0.0
    note: str = ""


def solve_schedule(
    schedule: SchedulingModel, options: SolverOptions | None = None, solver: str = CP_SAT
) -> SchedulingSolution:
    """Find the best schedule.

    Args:
        schedule: The problem.
        options: Limits; none by default.
        solver: ``cp-sat``, or a back end that solves ``schedule_rows``.

    Raises:
        ModellingError: The solver is unknown, or it or OR-Tools is not installed.
    """
    limits, started = options or SolverOptions(), time.perf_counter()
    solution = _solve_with_cp_sat(schedule, limits) if solver == CP_SAT else _solve_rows(schedule, limits, solver)
    solution = replace(solution, seconds=time.perf_counter() - started)
    if not solution.starts:
        return solution
    if wrong := schedule_breaches(schedule, solution.starts):
        return replace(solution, status=SolveStatus.UNKNOWN, starts={}, bound=None, note=wrong[0])
    objective = schedule_objective(schedule, solution.starts)
    proven = solution.bound is not None and objective <= solution.bound + 1e-6 * max(1.0, objective)
    return replace(
        solution,
        status=SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE,
        objective=objective,
        note="" if proven else "stopped before it was proven that no schedule is better",
    )


def _state(schedule: SchedulingModel) -> tuple[Any, int]:
    """Return the model of CP-SAT, whose first variables are the starts, and the factor of its objective."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise not_installed(CP_SAT, INSTALL) from None
    model = cp_model.CpModel()
    duration = schedule.durations
    horizon = schedule.horizon
    starts = {
        interval.name: model.new_int_var(interval.release, horizon, interval.name) for interval in schedule.intervals
    }
    ends = {name: start + duration[name] for name, start in starts.items()}
    spans = {name: model.new_fixed_size_interval_var(start, duration[name], name) for name, start in starts.items()}
    for interval in schedule.intervals:
        latest = horizon if interval.deadline is None else min(interval.deadline, horizon)
        model.add(ends[interval.name] <= latest).with_name(f"{interval.name} in time")
    for pair in schedule.precedences:
        later = model.add(starts[pair.after] >= ends[pair.before] + pair.delay)
        later.with_name(f"{pair.after} after {pair.before}")
    for machine in schedule.machines:
        model.add_no_overlap([spans[name] for name in machine.intervals if duration[name]]).with_name(machine.name)
    for resource in schedule.resources:
        tasks = [spans[name] for name in resource.demands]
        model.add_cumulative(tasks, list(resource.demands.values()), resource.capacity).with_name(resource.name)
    if schedule.goal is ScheduleGoal.MAKESPAN:
        last = model.new_int_var(0, horizon, "makespan")
        for name, end in ends.items():
            model.add(last >= end).with_name(f"{name} ends")
        model.minimize(last)
        return model, 1
    late = []
    for interval in schedule.intervals:
        if interval.due is not None and interval.weight:
            amount = model.new_int_var(0, horizon, f"{interval.name} late")
            model.add(amount >= ends[interval.name] - interval.due)
            late.append(round(interval.weight * WEIGHT_SCALE) * amount)
    model.minimize(sum(late))
    return model, WEIGHT_SCALE


def schedule_rows(schedule: SchedulingModel) -> IndexedModel:
    """Return the linear rows of a schedule, as ``capture`` writes those of CP-SAT. Its first columns are the starts.

    Raises:
        ModellingError: OR-Tools is not installed.
    """
    model, scale = _state(schedule)
    snapshot = read_constraints(model.proto, CP_SAT).snapshot
    snapshot.cost = [value / scale for value in snapshot.cost]
    rows = assemble(read_model(snapshot.to_text().encode())).model
    # The names of columns have families, such as ``op[J1, 2]``.
    unquoted = rows.rename({}, {name: name.replace('"', "") for name in rows.flat_row_names})
    return group_by_names(replace(unquoted, name=schedule.name))


def _solve_with_cp_sat(schedule: SchedulingModel, options: SolverOptions) -> SchedulingSolution:
    model, scale = _state(schedule)
    import ortools
    from ortools.sat.python import cp_model

    solver = cp_model.CpSolver()
    solver.parameters.num_workers = options.threads
    solver.parameters.random_seed = options.seed
    solver.parameters.relative_gap_limit = options.gap
    if options.seconds is not None:
        solver.parameters.max_time_in_seconds = options.seconds
    status = solver.solve(model)
    version = f"CP-SAT (OR-Tools {ortools.__version__})"
    if status == cp_model.INFEASIBLE:
        return SchedulingSolution(SolveStatus.INFEASIBLE, solver=version)
    bound = solver.best_objective_bound / scale
    limit = "" if status == cp_model.OPTIMAL else str(Limit.TIME)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        note = "the solver stopped without a schedule: allow it more time"
        return SchedulingSolution(SolveStatus.UNKNOWN, bound=bound, limit=limit, solver=version, note=note)
    starts = _read_starts(schedule, solver.response_proto.solution)
    return SchedulingSolution(SolveStatus.FEASIBLE, starts, bound=bound, limit=limit, solver=version)


def _solve_rows(schedule: SchedulingModel, options: SolverOptions, solver: str) -> SchedulingSolution:
    solved = solve_arrays(schedule_rows(schedule).to_arrays(), options, solver)
    starts = {} if solved.values is None else _read_starts(schedule, solved.values)
    bound = solved.objective if solved.status is SolveStatus.OPTIMAL else solved.bound
    if bound is not None and not math.isfinite(bound):
        bound = None
    return SchedulingSolution(
        solved.status, starts, bound=bound, limit=str(solved.limit or ""), solver=solved.solver, note=solved.note
    )


def _read_starts(schedule: SchedulingModel, values: Sequence[float] | Vector) -> dict[str, int]:
    """Return the starts from the values of the variables, the first of which are the starts."""
    return {interval.name: round(values[place]) for place, interval in enumerate(schedule.intervals)}
