"""Exact optima of a small district, by looking at every schedule."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ProblemError
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
from oragent.converse.problems.district import District, Features

TOLERANCE = 1e-9  # of sums of a few floats; true differences are far larger


@dataclass(frozen=True, eq=False)
class Exact:
    """An oracle that has seen all schedules; among equals the first in the order AA...A, AA...B, ... wins.

    Attributes:
        schedules: All schedules of the district, N of them.
    """

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
