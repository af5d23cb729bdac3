"""Drive a scenario from its first second to its last."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from oragent.domains.driving import control, metrics
from oragent.domains.driving.control import Controller
from oragent.domains.driving.metrics import Figures
from oragent.domains.driving.network import Road
from oragent.domains.driving.scenario import Departure, Scenario
from oragent.domains.driving.simulation import Hosted, Second, Simulation, VehicleState

Backend = Callable[..., Simulation]  # of SUMO's arguments, whether to record and to release: `Hosted`, `Connected`


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
    """What a second brought, as plain data."""
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
