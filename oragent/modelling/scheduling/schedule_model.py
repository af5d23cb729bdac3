"""Schedules as data: intervals on machines and shared resources, and the check of a solution."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted, validation_line
from oragent.modelling.data.model_values import check_unique
from oragent.modelling.files.json_text import load_json

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
        times = (self.duration, self.release, self.deadline, self.due)
        if any(value is not None and not 0 <= value <= MAX_TIME for value in times):
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
    def durations(self) -> dict[str, int]:
        """Durations by interval."""
        return {interval.name: interval.duration for interval in self.intervals}

    def ends(self, starts: Mapping[str, int]) -> dict[str, int]:
        """Return the end of each interval of a schedule."""
        return {name: starts[name] + duration for name, duration in self.durations.items()}

    @property
    def horizon(self) -> int:
        """Time by which an optimal schedule has ended, if one exists and no deadline prevents waiting."""
        latest = max(interval.release for interval in self.intervals)
        work = sum(interval.duration for interval in self.intervals)
        return latest + work + sum(max(0, pair.delay) for pair in self.precedences)


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


def schedule_objective(schedule: SchedulingModel, starts: Mapping[str, int]) -> float:
    """Return the objective of a schedule."""
    ends = schedule.ends(starts)
    if schedule.goal is ScheduleGoal.MAKESPAN:
        return float(max(ends.values()))
    return float(sum(i.weight * max(0, ends[i.name] - i.due) for i in schedule.intervals if i.due is not None))


def schedule_breaches(schedule: SchedulingModel, starts: Mapping[str, int]) -> tuple[str, ...]:
    """Return one line for each rule that a schedule violates, independently of the solvers' models."""
    missing = [interval.name for interval in schedule.intervals if interval.name not in starts]
    if missing:
        return (f"interval {quoted(missing[0])} has no start",)
    interval_of = {interval.name: interval for interval in schedule.intervals}
    ends = schedule.ends(starts)
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
