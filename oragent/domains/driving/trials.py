"""Drive scenarios from their first second to their last: in blocks that end early for who cannot win, and summed up."""

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

# of SUMO's arguments, whether to record and to release
Backend = Callable[..., Hosted | Connected]


# demands a case that are simulated before one looks whether the rest is worth its time
BLOCK = 4
# points; the seed has 85: whose mean is two standard errors below that cannot win any more
HOPELESS = 60.0


@dataclass(frozen=True)
class Drive:
    """A simulation that has ended."""

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
    """Simulate a scenario, and let a controller decide for all vehicles on E0 in every second.

    Args:
        scenario: the demand.
        road: what `network.build` returned.
        controller: not called where E0 is empty; None: SUMO's own drivers decide everywhere.
        folder: writable; nothing is left in it.
        backend: how SUMO is spoken to.
        record: also tell the places of all vehicles, for drawing.
        announce: told each second before it is simulated.
        watch: called after each second with ``second`` (from 0), ``vehicles`` (on E0 at its end, as `vehicles_info` has
            them, with ``acceleration``, the change of speed within the second in m/s², None for one that was not on E0
            before), ``departed``, ``arrived`` (names of those that entered and left the network) and ``collisions``
            (pairs of names); None: nobody watches.

    Raises:
        CandidateError: if the controller answers with anything but one valid action a vehicle.
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
                if seconds:
                    states = seconds[-1].states
                else:
                    states = []
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
        if vehicle["veh_id"] in had:
            vehicle["acceleration"] = vehicle["speed"] - had[vehicle["veh_id"]]
        else:
            vehicle["acceleration"] = None
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
    """A simulation and what it is compared with."""

    # the simulation
    ended: Drive
    # throughput of SUMO's own drivers on the same demand
    reference: int

    @property
    def score(self) -> float:
        """The true score."""
        return metrics.score(self.ended.figures, self.reference)

    @property
    def selected(self) -> float:
        """The score as a search counts it."""
        return metrics.selected(self.ended.figures, self.reference)


def blocks(demands: Mapping[int, Sequence[Scenario]], size: int = BLOCK) -> Iterator[list[tuple[int, Scenario]]]:
    """Cut the demands of all cases into blocks in which every case has the same number of them.

    Yields:
        Demands, each after its case.
    """
    count = min(map(len, demands.values()))
    for begin in range(0, count, size):
        yield [(case, scenario) for case, of_case in demands.items() for scenario in of_case[begin : begin + size]]


def run(
    demands: Mapping[int, Sequence[Scenario]], simulate: Callable[[Scenario], Trial], *, floor: float | None
) -> dict[int, list[Trial]]:
    """Simulate demands block by block.

    Args:
        demands: for each case equally many.
        simulate: does one.
        floor: end after a block if the mean so far is two standard errors below it; None: never.

    Returns:
        For each case its trials, equally many.
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
    """Sum up what a person or a model should see, beside the score itself.

    Args:
        seen: for each case its trials.
        names: of the cases.
        planned: how many simulations there would have been.
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
    """The cell of the archive."""
    return metrics.features([(trial.ended.figures, trial.reference) for of_case in seen.values() for trial in of_case])


def _standard_error(seen: Mapping[int, Sequence[Trial]]) -> float | None:
    """Of the mean over cases of the mean over demands; None where a case has a single demand."""
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
    """Yield second, former and present position and speed of each vehicle that stays on a lane for some seconds."""
    positions: Mapping[str, float] = {}
    for time, second in enumerate(ended.seconds):
        if time % step:
            continue
        now = {state.vehicle: state for state in second.states if state.lane == lane}
        for name in now.keys() & positions.keys():
            yield time, positions[name], now[name].position, now[name].speed
        positions = {name: state.position for name, state in now.items()}
