"""Exact optima of a small district, by looking at every schedule."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf, isfinite
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ConfigError, ProblemError
from oragent.converse.decision import DecisionProblem, Solved
from oragent.converse.problems.constraints import (
    EVEN,
    FREE,
    STUDENTS_A_UNIT,
    Constraints,
    ObjectiveWeights,
    ScheduleObjective,
    Schedules,
    ScheduleSolution,
)
from oragent.converse.problems.district import District, Features, format_clock
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState

TOLERANCE = 1e-9  # of sums of a few floats; true differences are far larger


@dataclass(frozen=True, eq=False)
class Exact:
    """An oracle that has seen all schedules; among equals the first in the order AA...A, AA...B, ... wins."""

    schedules: Schedules

    @property
    def district(self) -> District:
        """The district whose schedules it knows."""
        return self.schedules.district

    def allowed(self, constraints: Constraints) -> NDArray[np.bool_]:
        """Return a mask of the schedules that respect the constraints: ``(N,)`` bool array.

        Raises:
            ProblemError: the constraints name a school or a time that the district has not.
        """
        schools, times = len(self.district.schools), len(self.district.times)
        for school, time in constraints.fixed | constraints.forbidden:
            if not (0 <= school < schools and 0 <= time < times):
                expected = f"schools 0 to {schools - 1} and times 0 to {times - 1}"
                raise ProblemError(f"{self.district.name} has {expected}, no school {school} with time {time}")
        table = self.schedules
        mask = (table.load <= constraints.load + TOLERANCE) & (table.deviation <= constraints.deviation + TOLERANCE)
        for school, time in constraints.fixed:
            mask &= table.times[:, school] == time
        for school, time in constraints.forbidden:
            mask &= table.times[:, school] != time
        return mask

    def optima(self, constraints: Constraints = FREE, weights: ObjectiveWeights = EVEN) -> list[ScheduleSolution]:
        """Every schedule of least cost, in order; none where the constraints clash."""
        return [self._make_solution(index) for index in self._find_optima(constraints, weights)]

    def least_cost(self, constraints: Constraints = FREE, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """The schedule of least cost; where an objective weighs nothing, it still decides among equals.

        Returns:
            None where the constraints clash.
        """
        optima = self._find_optima(constraints, weights)
        if weights.load == 0 < weights.deviation:
            optima = _least_cost_indices(optima, self.schedules.load)
        elif weights.deviation == 0 < weights.load:
            optima = _least_cost_indices(optima, self.schedules.deviation)
        return self._make_solution(optima[0]) if len(optima) else None

    def least(self, objective: ScheduleObjective, constraints: Constraints = FREE) -> ScheduleSolution | None:
        """The least that an objective can be; among equals the other objective decides, then the order."""
        alone = ObjectiveWeights(1, 0) if objective is ScheduleObjective.LOAD else ObjectiveWeights(0, 1)
        return self.least_cost(constraints, alone)

    def _find_optima(self, constraints: Constraints, weights: ObjectiveWeights) -> NDArray[np.intp]:
        table, total = self.schedules, (weights.load + weights.deviation) or 1.0
        load = weights.load / total * (table.load / STUDENTS_A_UNIT)
        return _least_cost_indices(
            np.flatnonzero(self.allowed(constraints)), load + weights.deviation / total * table.deviation
        )

    def _make_solution(self, index: np.intp | int) -> ScheduleSolution:
        return ScheduleSolution(self.schedules.letters(int(index)), self.schedules.features(int(index)))


def _least_cost_indices(indices: NDArray[np.intp], cost: NDArray[np.float64] | NDArray[np.int64]) -> NDArray[np.intp]:
    """Those of the indices where the cost is least."""
    if not len(indices):
        return indices
    costs = cost[indices]
    cheapest: NDArray[np.intp] = indices[costs <= costs.min() + TOLERANCE]
    return cheapest


@dataclass(frozen=True)
class FrontierPoint:
    """A point of a frontier.

    Attributes:
        features: Load and deviation, of which neither can fall unless the other rises.
        schedules: Schedules that reach it, all of them, in the order AA...A, AA...B, ...
    """

    features: Features
    schedules: tuple[str, ...]


def pareto_frontier(exact: Exact, constraints: Constraints = FREE) -> tuple[FrontierPoint, ...]:
    """The Pareto frontier of load against deviation among the schedules that respect the constraints.

    Returns:
        Points in order of rising load; none where the constraints clash.
    """
    table = exact.schedules
    allowed = np.flatnonzero(exact.allowed(constraints))
    allowed = allowed[np.lexsort((allowed, table.deviation[allowed], table.load[allowed]))]
    points: list[FrontierPoint] = []
    groups = np.flatnonzero(np.diff(table.load[allowed])) + 1
    for group in np.split(allowed, groups) if len(allowed) else []:
        features = table.features(int(group[0]))
        if not points or features.deviation < points[-1].features.deviation:
            equal = group[table.deviation[group] == features.deviation]
            points.append(FrontierPoint(features, tuple(table.letters(int(index)) for index in equal)))
    return tuple(points)


def conditional_points(exact: Exact, school: int) -> Iterator[tuple[int, FrontierPoint]]:
    """The conditional solutions of a school: each of its start times with every point of the frontier under it.

    Section 5 of Drossman et al. 2026, arXiv:2604.02666.
    """
    for time in range(len(exact.district.times)):
        for point in pareto_frontier(exact, Constraints(fixed=frozenset({(school, time)}))):
            yield time, point


class OfDistrict(DecisionProblem, Protocol):
    """The start times of a district."""

    @property
    def district(self) -> District:
        """District whose start times are decided."""

    def place(self, item: str, option: str) -> tuple[int, int]:
        """Positions of a school and of a start time."""


@dataclass(frozen=True, eq=False)
class Solving:
    """An oracle over a solver of states."""

    problem: OfDistrict
    solver: Callable[[RestrictionState], Solved]

    @property
    def district(self) -> District:
        """The district whose schedules it knows."""
        return self.problem.district

    def least_cost(self, constraints: Constraints, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """The schedule of least cost that respects the constraints; None where there is none."""
        solved = self.solver(
            RestrictionState((weights.load, weights.deviation), to_restrictions(self.district, constraints))
        )
        return ScheduleSolution(solved.decision, self.district.features(solved.decision)) if solved.decision else None


def to_restrictions(district: District, constraints: Constraints) -> tuple[Restriction, ...]:
    """Constraints of a district as restrictions of a state."""
    chosen = [(RestrictionKind.FIX, pair) for pair in sorted(constraints.fixed)]
    chosen += [(RestrictionKind.FORBID, pair) for pair in sorted(constraints.forbidden)]
    result = [Restriction(kind, district.schools[school].name, format_clock(district.times[time]))
             for kind, (school, time) in chosen]  # fmt: skip
    for name, bound in (
        (ScheduleObjective.LOAD, constraints.load),
        (ScheduleObjective.DEVIATION, constraints.deviation),
    ):
        if isfinite(bound):
            result.append(Restriction(RestrictionKind.BOUND, str(name), relation="<=", value=bound))
    return tuple(result)


def to_constraints(problem: OfDistrict, state: RestrictionState) -> Constraints:
    """A state as constraints of the district."""
    load, deviation = inf, inf
    chosen: dict[RestrictionKind, set[tuple[int, int]]] = {RestrictionKind.FIX: set(), RestrictionKind.FORBID: set()}
    for restriction in state.restrictions:
        if restriction.kind is not RestrictionKind.BOUND:
            chosen[restriction.kind].add(problem.place(restriction.subject, restriction.option))
        elif not restriction.upper:
            raise ConfigError(f"{restriction.subject} is minimised: bound it from above")
        elif restriction.subject == ScheduleObjective.LOAD:
            load = restriction.limit
        else:
            deviation = restriction.limit
    return Constraints(
        frozenset(chosen[RestrictionKind.FIX]), frozenset(chosen[RestrictionKind.FORBID]), load, deviation
    )
