"""Metrics of a simulation: safety, speed, smoothness, and throughput.

They are computed from its trajectory and from the files that SUMO writes at the end.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from oragent._base.errors import ProblemError
from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import TTC_THRESHOLD, SumoRules
from oragent.domains.driving.scenario import SSM_FILE, STATISTICS_FILE
from oragent.domains.driving.simulation import Second
from oragent.domains.streams import cell

# Speed limit in m/s.
TARGET_SPEED = 13.89
# Minimum score of one simulation in points.
FLOOR = -100.0
# Edges of bins of a share of the loss.
SPEED_EDGES = (0.1, 0.3, 0.5, 0.7)
GAP_EDGES = (0.04, 0.1, 0.2, 0.3)
# Counts of SUMO, by our names.
COUNTED = {
    "collisions": "collisions",
    "emergency_stops": "emergencyStops",
    "emergency_braking": "emergencyBraking",
}
# Edges of bins, as shares of the length of E0.
PLACE_EDGES = (0.2, 0.3, 0.4, 0.55)


@dataclass(frozen=True)
class Figures:
    """Measurements of one simulation."""

    # Number of pairs of vehicles that touched.
    collisions: int
    # emergency_stops, emergency_braking, teleports: numbers as SUMO counts them.
    emergency_stops: int
    emergency_braking: int
    teleports: int
    # Number of pairs of vehicles with a time to collision of at most 1.5 s, on E0 or at its junctions.
    critical_ttc: int
    # Mean speed in m/s over all vehicles and seconds on E0; 0 without vehicles.
    mean_speed: float
    # Variance of these speeds in m²/s².
    speed_variance: float
    # Number of vehicles that reached their destination.
    throughput: int
    # Mean time of these vehicles in the network in s; 0 without vehicles.
    travel_time: float
    # Number of lane changes on E0.
    lane_changes: int = 0
    # Mean position of lane changes on E0, from 0 (its beginning) to 1 (its end); 0 without lane changes.
    change_place: float = 0.0


def safety(figures: Figures) -> float:
    """Return 100 minus penalties; may be negative."""
    penalties = (
        50.0 * figures.collisions
        + 5.0 * figures.emergency_stops
        + 30.0 * figures.teleports
        + 2.0 * figures.emergency_braking
        + 0.5 * figures.critical_ttc
    )
    return 100.0 - penalties


def speediness(figures: Figures) -> float:
    """Return 100 at the speed limit, and less for mean speeds that differ more from it."""
    distance = abs(figures.mean_speed - TARGET_SPEED)
    if distance <= 1.5:
        return 100.0
    if distance <= 3.5:
        return 100.0 - 5.0 * (distance - 1.5)
    return max(0.0, 90.0 - 8.662 * (distance - 3.5))


def smoothness(figures: Figures) -> float:
    """Return 100 if all speeds are equal, and less the more they vary."""
    variance = figures.speed_variance
    if variance <= 5.0:
        return 100.0
    if variance <= 10.0:
        return 100.0 - 4.0 * (variance - 5.0)
    return max(0.0, 80.0 - 8.0 * (variance - 10.0))


def paper_score(figures: Figures) -> float:
    """Return the published score of a case. It is at most 100, and about 70 if no vehicle moves."""
    return 0.5 * safety(figures) + 0.3 * speediness(figures) + 0.2 * smoothness(figures)


def score(figures: Figures, reference: int) -> float:
    """Return the score used for selection: the published one minus 100 times the share of missing throughput.

    Args:
        figures: Measurements of the simulation.
        reference: Throughput of SUMO's own drivers on the same demand, positive; a higher throughput earns nothing.
    """
    return paper_score(figures) - 100.0 * max(0.0, 1.0 - figures.throughput / reference)


def selected(figures: Figures, reference: int) -> float:
    """Return the score used in a search, at least -100, so that one pile-up does not dominate a mean."""
    return max(FLOOR, score(figures, reference))


@dataclass(frozen=True)
class Loss:
    """Points that a simulation lost, by cause; all are at least 0."""

    # Points lost by speeds that are too low or too high.
    speed: float
    # Points lost by small gaps without a collision: emergency stops and brakings, critically close pairs.
    gaps: float
    # Points lost by collisions and teleports.
    accidents: float
    # Points lost by variation of speeds.
    smoothness: float
    # Points lost by vehicles that did not arrive.
    traffic: float

    @property
    def total(self) -> float:
        """Sum of all losses: 100 minus the score."""
        return self.speed + self.gaps + self.accidents + self.smoothness + self.traffic


def loss(figures: Figures, reference: int) -> Loss:
    """Return the points that a simulation lost by cause; they add up to 100 minus the score."""
    accidents = 50.0 * figures.collisions + 30.0 * figures.teleports
    return Loss(
        speed=0.3 * (100.0 - speediness(figures)),
        gaps=0.5 * (100.0 - safety(figures) - accidents),
        accidents=0.5 * accidents,
        smoothness=0.2 * (100.0 - smoothness(figures)),
        traffic=paper_score(figures) - score(figures, reference),
    )


def features(cases: Sequence[tuple[Figures, int]]) -> tuple[int, int, int]:
    """Return the archive cell of a controller.

    Args:
        cases: Measurements of each simulation, and the throughput of SUMO's own drivers on its demand.

    Returns:
        The bins of three features: the share of speed in the total loss, the share of gaps in it, and the mean position
        of lane changes.
    """
    losses = [loss(figures, reference) for figures, reference in cases]
    total = sum(lost.total for lost in losses) or 1.0
    speed, gaps = sum(lost.speed for lost in losses) / total, sum(lost.gaps for lost in losses) / total
    changes = sum(figures.lane_changes for figures, _ in cases) or 1
    change_place = sum(figures.change_place * figures.lane_changes for figures, _ in cases) / changes
    first, second, third = cell((speed, SPEED_EDGES), (gaps, GAP_EDGES), (change_place, PLACE_EDGES))
    return first, second, third


def _read_statistics(file: Path) -> dict[str, int]:
    """Read the counts over the whole network and simulation that SUMO's ``--statistic-output`` defines."""
    root = _parse_root(file)
    safety, teleports = root.find("safety"), root.find("teleports")
    if safety is None or teleports is None:
        raise ProblemError(f"{file.name} has no <safety> or no <teleports>: this SUMO writes other statistics")
    counts = {name: int(safety.attrib[attribute]) for name, attribute in COUNTED.items()}
    return counts | {"teleports": int(teleports.attrib["total"])}


def _read_critical(root: ET.Element, road: Road) -> Iterator[tuple[frozenset[str], bool]]:
    """Yield the pairs of the surrogate safety device, and whether their worst moment was on or near E0.

    The file lists most conflicts twice, once for either vehicle. Nearly all other conflicts arise where vehicles enter
    the network, where the controller has no influence.
    """
    for conflict in root.iter("conflict"):
        least = conflict.find("minTTC")
        if least is None or least.attrib["value"] in ("", "NA") or float(least.attrib["value"]) > TTC_THRESHOLD:
            continue
        x, y, *_ = (float(part) for part in least.attrib["position"].split(","))
        yield frozenset((conflict.attrib["ego"], conflict.attrib["foe"])), road.within(x, y)


def _parse_root(file: Path) -> ET.Element:
    try:
        return ET.parse(file).getroot()
    except (OSError, ET.ParseError) as problem:
        raise ProblemError(f"SUMO left no complete {file.name}: {problem}") from None


def count(seconds: Sequence[Second], work: Path, road: Road, rules: SumoRules) -> Figures:
    """Count the events of a simulation, by our rules or by the published ones.

    Raises:
        ProblemError: if a file is missing or not complete.
    """
    counts = _read_statistics(work / STATISTICS_FILE)
    critical = list(_read_critical(_parse_root(work / SSM_FILE), road))
    # SUMO reports a collision in every second that it lasts.
    if not rules.published:
        counts["collisions"] = len({frozenset(pair) for second in seconds for pair in second.collisions})
    # The published rules read speeds before each second, so the speeds after the last second are not counted.
    seen = seconds[:-1] if rules.published else seconds
    speeds = [state.speed for second in seen for state in second.states]
    if speeds:
        mean, variance = (float(np.mean(speeds)), float(np.var(speeds)))
    else:
        mean, variance = (0.0, 0.0)
    entered = {name: time for time, second in enumerate(seconds) for name in second.departed}
    times = [time - entered[name] for time, second in enumerate(seconds) for name in second.arrived]
    places = _change_places(seconds)
    return Figures(
        **counts,
        critical_ttc=len(critical) if rules.published else len({pair for pair, within in critical if within}),
        mean_speed=round(mean, 2) if rules.published else mean,
        speed_variance=round(variance, 2) if rules.published else variance,
        throughput=len(times),
        travel_time=fmean(times) if times else 0.0,
        lane_changes=len(places),
        change_place=fmean(places) / road.length if places else 0.0,
    )


def _change_places(seconds: Sequence[Second]) -> list[float]:
    positions: list[float] = []
    lanes: dict[str, int] = {}
    for second in seconds:
        positions += [state.position for state in second.states if lanes.get(state.vehicle, state.lane) != state.lane]
        lanes = {state.vehicle: state.lane for state in second.states}
    return positions
