"""What a simulation is judged by, from its trajectory and from SUMO's files."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np

from oragent.domains.driving import outputs
from oragent.domains.driving.metrics import Figures
from oragent.domains.driving.network import Road
from oragent.domains.driving.rules import TTC_THRESHOLD, SumoRules
from oragent.domains.driving.scenario import SSM_FILE, STATISTICS_FILE
from oragent.domains.driving.simulation import Second


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
    statistics = outputs.read_statistics(work / STATISTICS_FILE)
    critical = outputs.critical_entries(work / SSM_FILE, road, TTC_THRESHOLD)
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
