"""What load can be had for what deviation: Pareto frontiers of a small district."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from oragent.converse.problems.constraints import FREE, Constraints
from oragent.converse.problems.district import Features
from oragent.converse.problems.exact import Exact


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
