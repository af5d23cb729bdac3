"""Scheduling: intervals on machines and shared resources, solved by CP-SAT, or by HiGHS as a mixed-integer model."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.util import find_spec
from itertools import combinations, pairwise
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.flat_model import (
    Milp,
    Objective,
    Relation,
    Row,
    Sense,
    Variable,
    VariableKind,
    check_unique,
)
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.files.flat_json import load_json, validation_line
from oragent.modelling.solving.back_ends.protocol import Limit, SolverOptions, not_installed
from oragent.modelling.solving.flat_solving import solve

INSTALL = 'pip install "operations-research-agents[solvers]"'
STRICT = ConfigDict(extra="forbid", strict=False)
# Largest time in time units. CP-SAT adds such figures without overflow.
MAX_TIME = 1_000_000_000
# Scale of weights, because CP-SAT's objective has integer coefficients.
WEIGHT_SCALE = 1_000


class ScheduleGoal(StrEnum):
    """Objective of a schedule, to be minimised."""

    # End of the last interval.
    MAKESPAN = "makespan"
    # Sum of weight times time after the due date.
    WEIGHTED_TARDINESS = "weighted tardiness"


@dataclass(frozen=True)
class Interval:
    """A task of fixed duration without interruption. Times are whole numbers of one unit."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    name: str
    duration: int
    # Earliest start.
    release: int = 0
    # Latest end. None for none.
    deadline: int | None = None
    # Due date for tardiness. None for none.
    due: int | None = None
    weight: float = 1.0

    def __post_init__(self) -> None:
        times = (self.duration, self.release, self.deadline or 0, self.due or 0)
        if any(not 0 <= value <= MAX_TIME for value in times):
            raise ModellingError(f"interval {quoted(self.name)}: expected times from 0 to {MAX_TIME:,}")
        if not 0 <= self.weight < 1e6 or round(self.weight * WEIGHT_SCALE) != self.weight * WEIGHT_SCALE:
            raise ModellingError(f"interval {quoted(self.name)}: expected a weight from 0 to 1e6 with three decimals")


@dataclass(frozen=True)
class NoOverlap:
    """A machine that processes one interval at a time."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    name: str
    intervals: tuple[str, ...]


@dataclass(frozen=True)
class Cumulative:
    """A shared resource. At any time, the sum of demands is at most the capacity."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    name: str
    capacity: int
    # Demands by interval.
    demands: Mapping[str, int] = field(hash=False)

    def __post_init__(self) -> None:
        if self.capacity < 0 or any(demand < 0 for demand in self.demands.values()):
            raise ModellingError(f"resource {quoted(self.name)}: expected capacity and demands of at least 0")


@dataclass(frozen=True)
class Precedence:
    """An interval that starts after the end of another one."""

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    before: str
    after: str
    # Minimum time between end and start.
    delay: int = 0


@dataclass(frozen=True)
class SchedulingModel:
    """A scheduling problem.

    Raises:
        ModellingError: A name occurs twice, or is unknown.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STRICT

    intervals: tuple[Interval, ...]
    machines: tuple[NoOverlap, ...] = ()
    resources: tuple[Cumulative, ...] = ()
    precedences: tuple[Precedence, ...] = ()
    goal: ScheduleGoal = ScheduleGoal.MAKESPAN
    name: str = ""

    def __post_init__(self) -> None:
        if not self.intervals:
            raise ModellingError("the schedule has no interval: expected at least one")
        check_unique((interval.name for interval in self.intervals), "intervals")
        names = {interval.name for interval in self.intervals}
        used = [name for machine in self.machines for name in machine.intervals]
        used += [name for resource in self.resources for name in resource.demands]
        used += [name for pair in self.precedences for name in (pair.before, pair.after)]
        for name in used:
            if name not in names:
                raise ModellingError(
                    f"the schedule uses {quoted(name)}, which is not an interval of it: declare or rename it"
                )
        for machine in self.machines:
            check_unique(machine.intervals, f"intervals of machine {quoted(machine.name)}")

    @property
    def horizon(self) -> int:
        """Time by which an optimal schedule has ended, if one exists and no deadline prevents waiting."""
        latest = max(interval.release for interval in self.intervals)
        work = sum(interval.duration for interval in self.intervals)
        return latest + work + sum(max(0, pair.delay) for pair in self.precedences)


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


SCHEDULE: TypeAdapter[SchedulingModel] = TypeAdapter(SchedulingModel)


def schedule_from_json(text: str | bytes) -> SchedulingModel:
    """Read a schedule. ``ModellingError`` names the first wrong part."""
    try:
        return SCHEDULE.validate_python(load_json(text, "a schedule"))
    except ValidationError as problem:
        raise ModellingError(validation_line(problem, "schedule")) from None


def schedule_to_json(schedule: SchedulingModel) -> str:
    """Write a schedule as JSON text. Reading the text gives an equal schedule."""
    return SCHEDULE.dump_json(schedule, indent=1, exclude_defaults=True).decode() + "\n"


def solve_schedule(
    schedule: SchedulingModel, options: SolverOptions | None = None, solver: str = ""
) -> SchedulingSolution:
    """Find the best schedule.

    Args:
        schedule: The problem.
        options: Limits; none by default.
        solver: ``cp-sat`` or a back end for mixed-integer models; by default CP-SAT if OR-Tools is installed, and
            HiGHS otherwise.

    Raises:
        ModellingError: The solver is unknown or not installed.
    """
    limits = options or SolverOptions()
    chosen = solver or ("cp-sat" if find_spec("ortools") else "highs")
    started = time.perf_counter()
    solution = _solve_with_cp_sat(schedule, limits) if chosen == "cp-sat" else _solve_as_milp(schedule, limits, chosen)
    seconds = time.perf_counter() - started
    if not solution.starts:
        return SchedulingSolution(
            solution.status,
            bound=solution.bound,
            limit=solution.limit,
            solver=solution.solver,
            seconds=seconds,
            note=solution.note,
        )
    wrong = schedule_breaches(schedule, solution.starts)
    if wrong:
        return SchedulingSolution(SolveStatus.UNKNOWN, solver=solution.solver, seconds=seconds, note=wrong[0])
    objective = schedule_objective(schedule, solution.starts)
    proven = solution.bound is not None and objective <= solution.bound + 1e-6 * max(1.0, abs(objective))
    return SchedulingSolution(
        SolveStatus.OPTIMAL if proven else SolveStatus.FEASIBLE,
        solution.starts,
        objective,
        solution.bound,
        solution.limit,
        solution.solver,
        seconds,
        "" if proven else "stopped before it was proven that no schedule is better",
    )


def schedule_objective(schedule: SchedulingModel, starts: Mapping[str, int]) -> float:
    """Return the objective of a schedule."""
    ends = {interval.name: starts[interval.name] + interval.duration for interval in schedule.intervals}
    if schedule.goal is ScheduleGoal.MAKESPAN:
        return float(max(ends.values()))
    return float(sum(i.weight * max(0, ends[i.name] - i.due) for i in schedule.intervals if i.due is not None))


def schedule_breaches(schedule: SchedulingModel, starts: Mapping[str, int]) -> tuple[str, ...]:
    """Return one line for each rule that a schedule violates, independently of the solvers' models."""
    missing = [interval.name for interval in schedule.intervals if interval.name not in starts]
    if missing:
        return (f"interval {quoted(missing[0])} has no start",)
    interval_of = {interval.name: interval for interval in schedule.intervals}
    ends = {name: starts[name] + interval.duration for name, interval in interval_of.items()}
    wrong = []
    for name, interval in interval_of.items():
        if starts[name] < interval.release:
            wrong.append(f"{quoted(name)} starts at {starts[name]}, before {interval.release}")
        if interval.deadline is not None and ends[name] > interval.deadline:
            wrong.append(f"{quoted(name)} ends at {ends[name]}, after {interval.deadline}")
    wrong += [
        f"{quoted(pair.after)} starts before {quoted(pair.before)} has ended"
        for pair in schedule.precedences
        if starts[pair.after] < ends[pair.before] + pair.delay
    ]
    for machine in schedule.machines:
        order = sorted(
            (name for name in machine.intervals if interval_of[name].duration), key=lambda name: starts[name]
        )
        for first, second in pairwise(order):
            if ends[first] > starts[second]:
                wrong.append(f"{quoted(first)} and {quoted(second)} overlap on {quoted(machine.name)}")
    for resource in schedule.resources:
        for moment in {starts[name] for name in resource.demands}:
            load = sum(demand for name, demand in resource.demands.items() if starts[name] <= moment < ends[name])
            if load > resource.capacity:
                wrong.append(f"{quoted(resource.name)} is used {load} at {moment}: its capacity is {resource.capacity}")
    return tuple(wrong)


def _latest_end(schedule: SchedulingModel, interval: Interval) -> int:
    return schedule.horizon if interval.deadline is None else min(interval.deadline, schedule.horizon)


def _solve_with_cp_sat(schedule: SchedulingModel, options: SolverOptions) -> SchedulingSolution:
    try:
        import ortools
        from ortools.sat.python import cp_model
    except ImportError:
        raise not_installed("cp-sat", INSTALL) from None
    model = cp_model.CpModel()
    starts, spans = {}, {}
    for interval in schedule.intervals:
        latest = _latest_end(schedule, interval) - interval.duration
        if latest < interval.release:
            return SchedulingSolution(SolveStatus.INFEASIBLE, solver="bounds")
        starts[interval.name] = model.new_int_var(interval.release, latest, "")
        spans[interval.name] = model.new_fixed_size_interval_var(starts[interval.name], interval.duration, "")
    ends = {interval.name: starts[interval.name] + interval.duration for interval in schedule.intervals}
    for pair in schedule.precedences:
        model.add(starts[pair.after] >= ends[pair.before] + pair.delay)
    for machine in schedule.machines:
        model.add_no_overlap([spans[name] for name in machine.intervals if spans[name].size_expr() != 0])
    for resource in schedule.resources:
        names = list(resource.demands)
        model.add_cumulative([spans[n] for n in names], [resource.demands[n] for n in names], resource.capacity)
    scale = _add_cp_objective(model, schedule, ends)
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
    values = {name: int(solver.value(start)) for name, start in starts.items()}
    return SchedulingSolution(SolveStatus.FEASIBLE, values, bound=bound, limit=limit, solver=version)


def _add_cp_objective(model: Any, schedule: SchedulingModel, ends: Mapping[str, Any]) -> int:
    """Add the objective, and return the factor by which it is scaled."""
    if schedule.goal is ScheduleGoal.MAKESPAN:
        last = model.new_int_var(0, schedule.horizon, "")
        model.add_max_equality(last, list(ends.values()))
        model.minimize(last)
        return 1
    late = []
    for interval in schedule.intervals:
        if interval.due is not None and interval.weight:
            amount = model.new_int_var(0, schedule.horizon, "")
            model.add(amount >= ends[interval.name] - interval.due)
            late.append(round(interval.weight * WEIGHT_SCALE) * amount)
    model.minimize(sum(late))
    return WEIGHT_SCALE


def schedule_to_milp(schedule: SchedulingModel) -> Milp:
    """Return a mixed-integer model of a schedule.

    Each pair of intervals on a machine has a binary variable for its order (Manne 1960, doi:10.1287/opre.8.2.219). The
    load of a resource is checked at the start of each interval, because it increases only there. Two binary variables
    express whether another interval runs at that time.
    """
    build = _MilpBuilder(schedule)
    for pair in schedule.precedences:
        gap = build.duration[pair.before] + pair.delay
        build.add(f"{pair.after} after {pair.before}", {pair.after: 1.0, pair.before: -1.0}, Relation.AT_LEAST, gap)
    for machine in schedule.machines:
        working = [name for name in machine.intervals if build.duration[name]]
        for first, second in combinations(working, 2):
            build.add_order(machine.name, first, second)
    for resource in schedule.resources:
        build.add_resource(resource)
    return build.milp()


class _MilpBuilder:
    """Variables and rows of the mixed-integer model. The variable of an interval is its start."""

    def __init__(self, schedule: SchedulingModel) -> None:
        self.schedule = schedule
        self.duration = {interval.name: interval.duration for interval in schedule.intervals}
        self.latest = {i.name: _latest_end(schedule, i) - i.duration for i in schedule.intervals}
        self.release = {interval.name: interval.release for interval in schedule.intervals}
        self.variables: dict[str, Variable] = {}
        self.rows: list[Row] = []
        for name, latest in self.latest.items():
            self.variables[name] = Variable(name, self.release[name], max(latest, self.release[name]))
            if latest < self.release[name]:
                self.add(f"{name} in time", {name: 1.0}, Relation.AT_MOST, latest)

    def add(self, name: str, terms: Mapping[str, float], relation: Relation, rhs: float) -> None:
        """Add a row."""
        self.rows.append(Row(f"{name} ({len(self.rows)})", terms, relation, rhs))

    def add_binary(self, name: str) -> str:
        """Add a binary variable and return its name."""
        unique = f"{name} ({len(self.variables)})"
        self.variables[unique] = Variable(unique, 0, 1, VariableKind.INTEGER)
        return unique

    def add_not_before(self, later: str, earlier: str, gap: float, binary: str, active: bool) -> None:
        """Add a row: later - earlier >= gap if the binary variable has the given value."""
        constant = gap + self.latest[earlier] - self.release[later]
        if constant <= 0:
            return
        terms, rhs = {later: 1.0, earlier: -1.0}, gap
        if active:
            terms[binary], rhs = -constant, gap - constant
        else:
            terms[binary] = constant
        self.add(f"{later} from {earlier}", terms, Relation.AT_LEAST, rhs)

    def add_order(self, machine: str, first: str, second: str) -> None:
        """Add the choice of the order of two intervals."""
        order = self.add_binary(f"{machine}: {first} before {second}")
        self.add_not_before(second, first, self.duration[first], order, True)
        self.add_not_before(first, second, self.duration[second], order, False)

    def add_resource(self, resource: Cumulative) -> None:
        """Add the load of a resource at the start of each interval."""
        names = [name for name, demand in resource.demands.items() if demand and self.duration[name]]
        for name in names:
            load: dict[str, float] = {}
            rest = float(resource.capacity - resource.demands[name])
            for other in names:
                if other == name:
                    continue
                # "not started" means that the interval starts after ``name``.
                not_started = self.add_binary(f"{resource.name}: {other} after the start of {name}")
                ended = self.add_binary(f"{resource.name}: {other} ends before {name}")
                self.add_not_before(other, name, 1.0, not_started, True)
                self.add_not_before(name, other, float(self.duration[other]), ended, True)
                load[not_started] = load[ended] = -float(resource.demands[other])
                rest -= resource.demands[other]
            self.add(f"{resource.name} at the start of {name}", load, Relation.AT_MOST, rest)

    def milp(self) -> Milp:
        """Return the model with its objective."""
        schedule, terms = self.schedule, {}
        if schedule.goal is ScheduleGoal.MAKESPAN:
            last = self._free_variable("makespan")
            terms[last] = 1.0
            for name, duration in self.duration.items():
                self.add(f"{name} ends", {last: 1.0, name: -1.0}, Relation.AT_LEAST, duration)
        else:
            for interval in schedule.intervals:
                if interval.due is not None and interval.weight:
                    late = self._free_variable(f"{interval.name} late")
                    terms[late] = interval.weight
                    rest = interval.duration - interval.due
                    self.add(late, {late: 1.0, interval.name: -1.0}, Relation.AT_LEAST, rest)
        # If all starts are whole numbers, a later start is later by at least one unit.
        kinds = tuple(
            Variable(v.name, v.low, v.high, VariableKind.INTEGER) if v.name in self.duration else v
            for v in self.variables.values()
        )
        return Milp(kinds, tuple(self.rows), Objective(terms), Sense.MINIMIZE, schedule.name)

    def _free_variable(self, name: str) -> str:
        unique = f"{name} ({len(self.variables)})"
        self.variables[unique] = Variable(unique)
        return unique


def _solve_as_milp(schedule: SchedulingModel, options: SolverOptions, solver: str) -> SchedulingSolution:
    solution = solve(schedule_to_milp(schedule), solver=solver, options=options, duals=False)
    if not solution.status.has_point:
        bound = solution.bound if solution.bound is not None and math.isfinite(solution.bound) else None
        return SchedulingSolution(
            solution.status, bound=bound, limit=solution.limit, solver=solution.solver, note=solution.note
        )
    starts = {interval.name: round(solution.values[interval.name]) for interval in schedule.intervals}
    bound = solution.objective if solution.status is SolveStatus.OPTIMAL else solution.bound
    return SchedulingSolution(SolveStatus.FEASIBLE, starts, bound=bound, limit=solution.limit, solver=solution.solver)
