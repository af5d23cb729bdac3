"""What a simulation is judged by: its trajectory, and the files that SUMO writes at its end."""

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from oragent._base.errors import ProblemError
from oragent.domains.driving.metrics import Figures
from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import TTC_THRESHOLD, SumoRules
from oragent.domains.driving.scenario import SSM_FILE, STATISTICS_FILE
from oragent.domains.driving.simulation import Second


@dataclass(frozen=True)
class Statistics:
    """Counts over the whole network and all of the simulation, as SUMO defines them."""

    collisions: int
    emergency_stops: int
    emergency_braking: int
    teleports: int


@dataclass(frozen=True)
class TrafficConflict:
    """An entry of the surrogate safety measures device, which lists most conflicts twice, once for either vehicle.

    Attributes:
        pair: names of the two vehicles.
        within: whether it came to its worst on E0 or at one of its two junctions. Nearly all others arise where
            vehicles enter the network, beyond any controller's reach.
    """

    pair: frozenset[str]
    within: bool


def read_statistics(file: Path) -> Statistics:
    """Read a file of ``--statistic-output``.

    Raises:
        ProblemError: if it is missing or not complete.
    """
    root = _parse_root(file)
    safety, teleports = root.find("safety"), root.find("teleports")
    if safety is None or teleports is None:
        raise ProblemError(f"{file.name} has no <safety> or no <teleports>: this SUMO writes other statistics")
    collisions, stops, braking = (
        int(safety.attrib[name]) for name in ("collisions", "emergencyStops", "emergencyBraking")
    )
    return Statistics(collisions, stops, braking, int(teleports.attrib["total"]))


def critical_entries(file: Path, road: Road, threshold: float) -> list[TrafficConflict]:
    """List the entries of vehicles that came critically close, in a file of ``--device.ssm.file``.

    Args:
        file: what the device wrote.
        road: for its bounds.
        threshold: seconds; a time to collision of at most that is critical.

    Raises:
        ProblemError: if it is missing or not complete.
    """
    return list(_read_critical(_parse_root(file), road, threshold))


def _read_critical(root: ET.Element, road: Road, threshold: float) -> Iterator[TrafficConflict]:
    for conflict in root.iter("conflict"):
        least = conflict.find("minTTC")
        if least is None or least.attrib["value"] in ("", "NA") or float(least.attrib["value"]) > threshold:
            continue
        x, y, *_ = (float(part) for part in least.attrib["position"].split(","))
        yield TrafficConflict(frozenset((conflict.attrib["ego"], conflict.attrib["foe"])), road.within(x, y))


def _parse_root(file: Path) -> ET.Element:
    try:
        return ET.parse(file).getroot()
    except (OSError, ET.ParseError) as problem:
        raise ProblemError(f"SUMO left no complete {file.name}: {problem}") from None


def count(seconds: Sequence[Second], work: Path, road: Road, rules: SumoRules) -> Figures:
    """Count what happened, by our rules or by the published ones.

    Args:
        seconds: what every simulated second brought.
        work: the folder with SUMO's files.
        road: for bounds and lengths.
        rules: by which it is counted.

    Raises:
        ProblemError: if a file is missing or not complete.
    """
    statistics = read_statistics(work / STATISTICS_FILE)
    critical = critical_entries(work / SSM_FILE, road, TTC_THRESHOLD)
    # Published speeds are looked at before each second, so that those after the last one are not seen.
    seen = seconds[:-1] if rules.published else seconds
    speeds = [state.speed for second in seen for state in second.states]
    mean, variance = (float(np.mean(speeds)), float(np.var(speeds))) if speeds else (0.0, 0.0)
    entered = {name: time for time, second in enumerate(seconds) for name in second.departed}
    times = [time - entered[name] for time, second in enumerate(seconds) for name in second.arrived]
    places = _change_places(seconds)
    return Figures(
        collisions=statistics.collisions if rules.published else len(_touching_pairs(seconds)),
        emergency_stops=statistics.emergency_stops,
        emergency_braking=statistics.emergency_braking,
        teleports=statistics.teleports,
        critical_ttc=len(critical)
        if rules.published
        else len({conflict.pair for conflict in critical if conflict.within}),
        mean_speed=round(mean, 2) if rules.published else mean,
        speed_variance=round(variance, 2) if rules.published else variance,
        throughput=len(times),
        travel_time=fmean(times) if times else 0.0,
        lane_changes=len(places),
        change_place=fmean(places) / road.length if places else 0.0,
    )


def _touching_pairs(seconds: Sequence[Second]) -> set[frozenset[str]]:
    """Pairs that collided: SUMO tells each at every second for which it lasts."""
    return {frozenset(pair) for second in seconds for pair in second.collisions}


def _change_places(seconds: Sequence[Second]) -> list[float]:
    """Where on E0 lanes were changed, metres from its begin."""
    positions: list[float] = []
    lanes: dict[str, int] = {}
    for second in seconds:
        positions += [state.position for state in second.states if lanes.get(state.vehicle, state.lane) != state.lane]
        lanes = {state.vehicle: state.lane for state in second.states}
    return positions
