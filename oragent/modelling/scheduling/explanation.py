"""Explanation of a schedule: bounds without a solver, critical path, idle machines, and conflicting deadlines."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from oragent.modelling.data.display import quoted, rounded
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.scheduling.schedule_model import ScheduleGoal, SchedulingModel
from oragent.modelling.scheduling.schedule_solving import SchedulingSolution, solve_schedule
from oragent.modelling.solving.back_ends.protocol import SolverOptions

# Maximum number of solves to find conflicting deadlines.
MAX_SOLVES = 60


def explain_schedule(
    schedule: SchedulingModel, solution: SchedulingSolution, options: SolverOptions | None = None
) -> tuple[str, ...]:
    """Return sentences about a solution. For an infeasible schedule, they name conflicting deadlines."""
    if solution.status is SolveStatus.INFEASIBLE:
        return tuple(_explain_conflict(schedule, options))
    if not solution.starts:
        return ()
    lines = [*_explain_bounds(schedule)]
    if schedule.goal is ScheduleGoal.MAKESPAN:
        path, ends = critical_path(schedule, solution.starts), schedule.ends(solution.starts)
        shown = ", then ".join(f"{quoted(name)} ({solution.starts[name]} to {ends[name]})" for name in path[:20])
        rest = f", and {len(path) - 20} more" if len(path) > 20 else ""
        lines.append(f"Critical path, {len(path)} intervals without a gap: {shown}{rest}.")
        lines.append("A later start of any of them makes this schedule longer.")
    else:
        lines += _explain_lateness(schedule, solution.starts)
    lines += _explain_machines(schedule, solution.starts)
    return tuple(lines)


def _longest_paths(schedule: SchedulingModel, is_forward: bool) -> dict[str, int]:
    """Return the least start of each interval by releases and precedences, or the least time after its end."""
    duration = schedule.durations
    least = {interval.name: interval.release if is_forward else 0 for interval in schedule.intervals}
    pairs = [(p.before, p.after, p.delay) if is_forward else (p.after, p.before, p.delay) for p in schedule.precedences]
    # Each round fixes at least one more interval of an acyclic graph.
    for _ in schedule.intervals:
        before = dict(least)
        for first, second, delay in pairs:
            least[second] = max(least[second], least[first] + duration[first] + delay)
        if least == before:
            break
    return least


def lower_bounds(schedule: SchedulingModel) -> tuple[tuple[str, int], ...]:
    """Return lower bounds on the makespan, largest first: the longest chain, and the load of each machine.

    The load of a machine counts the least time before its first and after its last interval (Carlier 1982,
    doi:10.1016/S0377-2217(82)80007-6).
    """
    heads, tails = _longest_paths(schedule, is_forward=True), _longest_paths(schedule, is_forward=False)
    duration = schedule.durations
    bounds = [("the longest chain of precedences", max(heads[n] + duration[n] for n in duration))]
    for machine in schedule.machines:
        working = [name for name in machine.intervals if duration[name]]
        if working:
            load = sum(duration[name] for name in working)
            total = min(heads[n] for n in working) + load + min(tails[n] for n in working)
            bounds.append((f"machine {quoted(machine.name)}", total))
    return tuple(sorted(bounds, key=lambda bound: -bound[1]))


def critical_path(schedule: SchedulingModel, starts: Mapping[str, int]) -> tuple[str, ...]:
    """Return intervals that follow each other without a gap and end with the schedule, in order of time."""
    ends = schedule.ends(starts)
    # Intervals that may determine the start of others, with the delay after them.
    causes: dict[str, list[tuple[str, int]]] = {name: [] for name in ends}
    for pair in schedule.precedences:
        causes[pair.after].append((pair.before, pair.delay))
    for names in (*(part.intervals for part in schedule.machines), *(part.demands for part in schedule.resources)):
        for name in names:
            causes[name] += [(other, 0) for other in names if starts[other] < starts[name]]
    steps: list[str] = []
    current: str | None = max(ends, key=lambda name: ends[name])
    while current is not None and len(steps) < len(starts):
        steps.append(current)
        start = starts[current]
        current = next((name for name, delay in causes[current] if ends[name] + delay == start), None)
    return tuple(reversed(steps))


def _explain_bounds(schedule: SchedulingModel) -> Iterator[str]:
    if schedule.goal is not ScheduleGoal.MAKESPAN:
        return
    for what, least in lower_bounds(schedule)[:3]:
        yield f"No schedule is shorter than {least}, by {what} alone."


def _explain_lateness(schedule: SchedulingModel, starts: Mapping[str, int]) -> Iterator[str]:
    ends = schedule.ends(starts)
    late = [
        (interval.weight * (ends[interval.name] - interval.due), interval.name, ends[interval.name] - interval.due)
        for interval in schedule.intervals
        if interval.due is not None and ends[interval.name] > interval.due and interval.weight
    ]
    for cost, name, delay in sorted(late, key=lambda entry: -entry[0]):
        yield f"{quoted(name)} ends at {ends[name]}, {delay} late: {rounded(cost)}."
    if not late:
        yield "No interval is late."


def _explain_machines(schedule: SchedulingModel, starts: Mapping[str, int]) -> Iterator[str]:
    duration = schedule.durations
    for machine in schedule.machines:
        working = [name for name in machine.intervals if duration[name]]
        if working:
            first, last = min(starts[n] for n in working), max(starts[n] + duration[n] for n in working)
            load = sum(duration[name] for name in working)
            yield f"Machine {quoted(machine.name)} works {load} from {first} to {last}, idle {last - first - load}."


def _explain_conflict(schedule: SchedulingModel, options: SolverOptions | None) -> Iterator[str]:
    """Find an irreducible set of conflicting deadlines."""
    timed = [interval.name for interval in schedule.intervals if interval.deadline is not None]
    without = _without_deadlines(schedule, timed)
    free = solve_schedule(without, options)
    if free.status is SolveStatus.INFEASIBLE:
        yield "There is no schedule even without deadlines: a precedence leads back to its own start, or a demand is"
        yield "above its resource's capacity."
        return
    if len(timed) > MAX_SOLVES:
        yield f"Some of the {len(timed)} deadlines contradict each other; too many to reduce to a smallest set."
        return
    remaining = list(timed)
    for name in timed:
        rest = [timed_name for timed_name in remaining if timed_name != name]
        dropped = [timed_name for timed_name in timed if timed_name not in rest]
        if solve_schedule(_without_deadlines(schedule, dropped), options).status is SolveStatus.INFEASIBLE:
            remaining = rest
    deadline = {interval.name: interval.deadline for interval in schedule.intervals}
    shown = ", ".join(f"{quoted(name)} by {deadline[name]}" for name in remaining)
    yield f"These deadlines contradict each other, and without any one of them there is a schedule: {shown}."
    if free.objective is not None and schedule.goal is ScheduleGoal.MAKESPAN:
        yield f"Without deadlines the schedule ends at {rounded(free.objective)}."


def _without_deadlines(schedule: SchedulingModel, names: Sequence[str]) -> SchedulingModel:
    dropped = set(names)
    intervals = tuple(
        replace(interval, deadline=None) if interval.name in dropped else interval for interval in schedule.intervals
    )
    return replace(schedule, intervals=intervals)
