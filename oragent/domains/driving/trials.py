"""Simulate scenarios, in blocks with early stopping of weak candidates, and summarise the results."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from tempfile import TemporaryDirectory
from typing import Any

from oragent.domains.driving import control, metrics
from oragent.domains.driving.control import Controller
from oragent.domains.driving.metrics import Figures
from oragent.domains.driving.network import Road
from oragent.domains.driving.scenario import Departure, Scenario
from oragent.domains.driving.simulation import Connected, Hosted, Second, VehicleState

# Function of SUMO's arguments, whether to record, and whether to release vehicles.
Backend = Callable[..., Hosted | Connected]


# Demands per case in one block; the early-stopping test runs after each block.
BLOCK = 4
# Score below which, by two standard errors, a simulation stops. The seed has 85 points.
HOPELESS = 60.0


@dataclass(frozen=True)
class Drive:
    """Completed simulation."""

    scenario: Scenario
    seconds: tuple[Second, ...]
    figures: Figures


def drive(
    scenario: Scenario,
    road: Road,
    controller: Controller | None,
    folder: Path,
    *,
    backend: Backend = Hosted,
    record: bool = False,
    announce: Callable[[int], None] = lambda second: None,
    watch: Callable[..., None] | None = None,
) -> Drive:
    """Simulate a scenario, and with a controller that decides for all vehicles on E0 in every second.

    Args:
        scenario: Scenario with the demand.
        road: Road from `network.build`.
        controller: Controller, not called if E0 is empty; with None, SUMO's own drivers decide everywhere.
        folder: Writable folder for temporary files.
        backend: Interface to SUMO.
        record: Whether to record the positions of all vehicles, for drawing.
        announce: Function called with each second before its simulation.
        watch: Function called after each second with ``second`` (from 0), ``vehicles`` (on E0 at its end, as in
            `vehicles_info`, with ``acceleration``: the change of speed within the second in m/s², or None for a vehicle
            that was not on E0 before), ``departed``, ``arrived`` (names of the vehicles that entered and left the
            network) and ``collisions`` (pairs of names); None means no observer.

    Raises:
        CandidateError: if the controller returns anything but one valid action per vehicle.
        ProblemError: if SUMO is not installed, or fails.
    """
    departures = {departure.vehicle: departure for departure in scenario.departures}
    edge = control.edge_info(road)
    published, awaited = scenario.rules.published, len(departures)
    with TemporaryDirectory(prefix="driving-", dir=folder) as work:
        seconds: list[Second] = []
        with backend(scenario.write(Path(work), road), record=record, release=not published) as simulation:
            for second in range(scenario.horizon):
                announce(second)
                states = seconds[-1].states if seconds else []
                commands = None
                if controller is not None and states:
                    actions = controller(edge, control.vehicles_info(road, states, departures))
                    commands = control.check(actions, road, states, departures)
                seconds.append(simulation.step(commands))
                if watch is not None:
                    watch(second=second, **_watch_record(seconds[-1], states, road, departures))
                awaited -= len(seconds[-1].arrived)
                if published and not awaited:
                    break
            simulation.finish()
        return Drive(scenario, tuple(seconds), metrics.count(seconds, Path(work), road, scenario.rules))


def _watch_record(
    now: Second, former_states: Sequence[VehicleState], road: Road, departures: Mapping[str, Departure]
) -> dict[str, Any]:
    had = {state.vehicle: state.speed for state in former_states}
    vehicles = control.vehicles_info(road, now.states, departures)
    for vehicle in vehicles:
        vehicle["acceleration"] = vehicle["speed"] - had[vehicle["veh_id"]] if vehicle["veh_id"] in had else None
    pairs = [list(pair) for pair in now.collisions]
    return {"vehicles": vehicles, "departed": now.departed, "arrived": now.arrived, "collisions": pairs}


def throughput(scenario: Scenario, road: Road, folder: Path) -> int:
    """Count the vehicles that SUMO's own drivers bring to their destinations.

    Raises:
        ProblemError: if SUMO is not installed, or fails.
    """
    with TemporaryDirectory(prefix="driving-", dir=folder) as work:
        arguments = scenario.write(Path(work), road, ssm=False)
        with Hosted(arguments) as simulation:
            return sum(len(simulation.step(None).arrived) for _ in range(scenario.horizon))


@dataclass(frozen=True)
class Trial:
    """Simulation with its reference throughput."""

    # Completed simulation.
    ended: Drive
    # Throughput of SUMO's own drivers on the same demand.
    reference: int

    @property
    def score(self) -> float:
        """Score without a lower limit."""
        return metrics.score(self.ended.figures, self.reference)

    @property
    def selected(self) -> float:
        """Score used in a search, with a lower limit."""
        return metrics.selected(self.ended.figures, self.reference)


def blocks(demands: Mapping[int, Sequence[Scenario]], size: int = BLOCK) -> Iterator[list[tuple[int, Scenario]]]:
    """Split the demands of all cases into blocks in which every case has equally many demands.

    Yields:
        Pairs of case and demand.
    """
    count = min(map(len, demands.values()))
    for begin in range(0, count, size):
        yield [(case, scenario) for case, of_case in demands.items() for scenario in of_case[begin : begin + size]]


def run(
    demands: Mapping[int, Sequence[Scenario]], simulate: Callable[[Scenario], Trial], *, floor: float | None
) -> dict[int, list[Trial]]:
    """Simulate demands block by block.

    Args:
        demands: Demands of each case, equally many.
        simulate: Function that simulates one demand.
        floor: Stop after a block if the mean so far is two standard errors below this score; None means never.

    Returns:
        The trials of each case, equally many.
    """
    seen: dict[int, list[Trial]] = {case: [] for case in demands}
    for block in blocks(demands):
        for case, scenario in block:
            seen[case].append(simulate(scenario))
        if floor is not None and is_below(seen, floor):
            break
    return seen


def is_below(seen: Mapping[int, Sequence[Trial]], floor: float) -> bool:
    """Return True if the mean so far is two standard errors below a floor."""
    scores = [trial.selected for of_case in seen.values() for trial in of_case]
    return len(scores) > 1 and fmean(scores) + 2.0 * stdev(scores) / math.sqrt(len(scores)) < floor


def summary(seen: Mapping[int, Sequence[Trial]], names: Mapping[int, str], planned: int) -> dict[str, Any]:
    """Return a summary of trials for people and models, in addition to the score.

    Args:
        seen: Trials of each case.
        names: Names of the cases.
        planned: Number of planned simulations.
    """
    every = [trial for of_case in seen.values() for trial in of_case]
    worst = min(every, key=lambda trial: trial.score)
    summary_metrics: dict[str, Any] = {
        "standard_error": _standard_error(seen),
        "true_score": _mean_of_means(seen, lambda trial: trial.score),
        "simulations": {"done": len(every), "planned": planned},
        "worst": {
            "demand": worst.ended.scenario.name,
            "score": round(worst.score, 3),
            "paper_score": round(metrics.paper_score(worst.ended.figures), 3),
        },
        "paper_score": _mean_of_means(seen, lambda trial: metrics.paper_score(trial.ended.figures)),
        "lost_by": _mean_losses(every),
    }
    return summary_metrics | {names[case]: _case_metrics(of_case) for case, of_case in seen.items()}


def cell(seen: Mapping[int, Sequence[Trial]]) -> tuple[int, int, int]:
    """Return the archive cell of a controller."""
    return metrics.features([(trial.ended.figures, trial.reference) for of_case in seen.values() for trial in of_case])


def _standard_error(seen: Mapping[int, Sequence[Trial]]) -> float | None:
    """Return the standard error of the mean over cases of means over demands; None if a case has a single demand."""
    if any(len(of_case) < 2 for of_case in seen.values()):
        return None
    variances = [stdev(trial.selected for trial in of_case) ** 2 / len(of_case) for of_case in seen.values()]
    return round(math.sqrt(sum(variances)) / len(variances), 3)


def _mean_of_means(seen: Mapping[int, Sequence[Trial]], figure: Callable[[Trial], float]) -> float:
    return round(fmean(fmean(map(figure, of_case)) for of_case in seen.values()), 3)


def _mean_losses(every: Sequence[Trial]) -> dict[str, float]:
    losses = [vars(metrics.loss(trial.ended.figures, trial.reference)) for trial in every]
    return {name: round(fmean(loss[name] for loss in losses), 3) for name in losses[0]}


def _case_metrics(of_case: Sequence[Trial]) -> dict[str, float]:
    measured = [vars(trial.ended.figures) for trial in of_case]
    papers = [metrics.paper_score(trial.ended.figures) for trial in of_case]
    return {
        "paper_score": round(fmean(papers), 3),
        "paper_score_worst": round(min(papers), 3),
        **{name: round(fmean(row[name] for row in measured), 3) for name in measured[0]},
        "throughput_of_sumo": round(fmean(trial.reference for trial in of_case), 3),
    }


def iterate_moves(ended: Drive, lane: int, step: int = 1) -> Iterator[tuple[int, float, float, float]]:
    """Yield second, previous and current position, and speed of vehicles that stay on a lane for ``step`` s."""
    positions: Mapping[str, float] = {}
    for time, second in enumerate(ended.seconds):
        if time % step:
            continue
        now = {state.vehicle: state for state in second.states if state.lane == lane}
        for name in now.keys() & positions.keys():
            yield time, positions[name], now[name].position, now[name].speed
        positions = {name: state.position for name, state in now.items()}
