"""What a simulation is worth: safety, speed, smoothness, and whether traffic got through."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from oragent.domains.cells import cell

__all__ = ["Figures", "features", "paper_score", "safety", "score", "smoothness", "speediness"]

TARGET_SPEED = 13.89  # m/s, the limit
SPEED_EDGES = (15.0, 30.0, 40.0)  # km/h
VARIANCE_EDGES = (-20.0, -10.0, -5.0)  # m²/s²: minus the variance, so that a calm road is in the upper bin


@dataclass(frozen=True)
class Figures:
    """What was measured in one simulation.

    Attributes:
        collisions: pairs of vehicles that touched.
        emergency_stops, emergency_braking, teleports: as SUMO counts them.
        critical_ttc: pairs of vehicles with a time to collision of at most 1.5 s, on E0 or at its junctions.
        mean_speed: over all vehicles and seconds on E0, m/s; 0 where nobody came.
        speed_variance: likewise, m²/s².
        throughput: vehicles that reached their destination.
        travel_time: their mean time in the network, s; 0 where there are none.
    """

    collisions: int
    emergency_stops: int
    emergency_braking: int
    teleports: int
    critical_ttc: int
    mean_speed: float
    speed_variance: float
    throughput: int
    travel_time: float


def safety(figures: Figures) -> float:
    """100 minus penalties; may be negative."""
    penalties = (
        50.0 * figures.collisions
        + 5.0 * figures.emergency_stops
        + 30.0 * figures.teleports
        + 2.0 * figures.emergency_braking
        + 0.5 * figures.critical_ttc
    )
    return 100.0 - penalties


def speediness(figures: Figures) -> float:
    """100 at the speed limit, 0 far from it."""
    distance = abs(figures.mean_speed - TARGET_SPEED)
    if distance <= 1.5:
        return 100.0
    if distance <= 3.5:
        return 100.0 - 5.0 * (distance - 1.5)
    return max(0.0, 90.0 - 8.662 * (distance - 3.5))


def smoothness(figures: Figures) -> float:
    """100 where all drive at about one speed, 0 far from that."""
    variance = figures.speed_variance
    if variance <= 5.0:
        return 100.0
    if variance <= 10.0:
        return 100.0 - 4.0 * (variance - 5.0)
    return max(0.0, 80.0 - 8.0 * (variance - 10.0))


def paper_score(figures: Figures) -> float:
    """The published score of a case: at most 100; a road on which nothing moves gets about 70."""
    return 0.5 * safety(figures) + 0.3 * speediness(figures) + 0.2 * smoothness(figures)


def score(figures: Figures, reference: int) -> float:
    """The score that selects: the published one, minus 100 times the share of traffic that did not get through.

    Args:
        figures: what was measured.
        reference: throughput of SUMO's own drivers on the same demand, positive; more than that earns nothing.
    """
    return paper_score(figures) - 100.0 * max(0.0, 1.0 - figures.throughput / reference)


def features(cases: Sequence[Figures]) -> tuple[int, int, int]:
    """Tell which cell of the archive a controller belongs to: safety, speed and smoothness, 0 to 3 each.

    Safety is the mean over cases of each case's class, rounded down; speed and smoothness go by means over cases.
    """
    swift = 3.6 * fmean(case.mean_speed for case in cases)
    calm = -math.nextafter(fmean(case.speed_variance for case in cases), 0.0)  # a value on an edge is in the calmer bin
    speed, smooth = cell((swift, SPEED_EDGES), (calm, VARIANCE_EDGES))
    if swift > 50.0:
        speed = 2 if swift <= 55.0 else 0
    return int(fmean(_safety_class(case) for case in cases)), speed, smooth


def _safety_class(case: Figures) -> int:
    if case.collisions or case.teleports:
        return 0
    if case.emergency_stops >= 3:
        return 1
    if case.emergency_braking >= 5 or case.critical_ttc >= 50:
        return 2
    return 3
