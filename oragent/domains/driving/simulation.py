"""SUMO by the second: what is asked of it, what it tells, and the one code that speaks to both of its interfaces."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self

from oragent._base.errors import ProblemError
from oragent.domains.driving.plans import EDGE

UNCONTROLLED_SPEED, UNCONTROLLED_CHANGES = -1.0, 1621  # SUMO's defaults: its own drivers decide
NO_CHANGES = 0  # lane-change mode: none but those that are asked for, and these without regard for others
CHANGE_SECONDS = 5.0


class VehicleCommand(NamedTuple):
    """What a vehicle on E0 is to do in the next second: reach ``speed`` (m/s), move ``change`` lanes to the left."""

    vehicle: str
    speed: float
    change: int


class VehicleState(NamedTuple):
    """A vehicle on E0: lane 0 is the rightmost, ``position`` is its front in metres from E0's begin, speed is m/s."""

    vehicle: str
    lane: int
    position: float
    speed: float


class VehiclePosition(NamedTuple):
    """A vehicle anywhere, for drawing: its front in metres, and its heading in degrees clockwise from north."""

    vehicle: str
    x: float
    y: float
    heading: float


class Second(NamedTuple):
    """What one simulated second brought.

    Attributes:
        states: all vehicles on E0, at its end.
        departed, arrived: names of the vehicles that entered and left the network.
        collisions: pairs that touch at this moment.
        places: all vehicles, where that is recorded; else empty.
    """

    states: list[VehicleState]
    departed: list[str]
    arrived: list[str]
    collisions: list[tuple[str, str]]
    places: list[VehiclePosition]


class Simulation(Protocol):
    """A running simulation; leaving its ``with`` block ends it, whatever state it is in."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...

    def step(self, commands: Sequence[VehicleCommand] | None) -> Second:
        """Simulate a second; vehicles that are not commanded are driven by SUMO.

        Raises:
            ProblemError: if SUMO fails, saying at which second and, where it is known, for which vehicle.
        """
        ...

    def finish(self) -> None:
        """End the simulation in order, so that its output files are complete.

        Raises:
            ProblemError: if SUMO fails.
        """
        ...


class SumoSession:
    """Speaks to ``libsumo`` or to a TraCI connection, which have the same calls.

    Args:
        api: the module, or the connection; its simulation has been started.
        record: whether to ask for all vehicles' places.
        release: whether to give vehicles back to SUMO's drivers behind E0; where not, they keep what was asked of them
            last, and are told every second on E0 to stay on their lane or to leave it: so it was published.
        note: told the vehicle that is spoken of from now on; empty: none.
    """

    def __init__(self, api: Any, record: bool, release: bool, note: Callable[[str], None]) -> None:
        self._api, self._record, self._release_behind, self._note = api, record, release, note
        self._held: set[str] = set()

    def step(self, commands: Sequence[VehicleCommand] | None) -> Second:
        """Carry out the commands, let a second pass, and look."""
        if self._release_behind:
            self._release_vehicles({command.vehicle for command in commands or ()})
        for command in commands or ():
            self._note(command.vehicle)
            self._apply_command(command)
        self._note("")
        self._api.simulationStep()
        return self._read_state()

    def _release_vehicles(self, commanded: set[str]) -> None:
        """Give vehicles that left E0 back to SUMO's drivers."""
        if released := self._held - commanded:
            present = set(self._api.vehicle.getIDList())
            for vehicle in sorted(released & present):
                self._note(vehicle)
                self._api.vehicle.setSpeed(vehicle, UNCONTROLLED_SPEED)
                self._api.vehicle.setLaneChangeMode(vehicle, UNCONTROLLED_CHANGES)
            self._held -= released

    def _apply_command(self, command: VehicleCommand) -> None:
        if command.vehicle not in self._held:
            self._api.vehicle.setLaneChangeMode(command.vehicle, NO_CHANGES)
            self._held.add(command.vehicle)
        self._api.vehicle.setSpeed(command.vehicle, command.speed)
        if command.change or not self._release_behind:
            self._api.vehicle.changeLaneRelative(command.vehicle, command.change, CHANGE_SECONDS)

    def _read_state(self) -> Second:
        vehicle, simulation = self._api.vehicle, self._api.simulation
        return Second(
            states=[
                VehicleState(name, vehicle.getLaneIndex(name), vehicle.getLanePosition(name), vehicle.getSpeed(name))
                for name in self._api.edge.getLastStepVehicleIDs(EDGE)
            ],
            departed=list(simulation.getDepartedIDList()),
            arrived=list(simulation.getArrivedIDList()),
            collisions=[(hit.collider, hit.victim) for hit in simulation.getCollisions()],
            places=[self._read_position(name) for name in vehicle.getIDList()] if self._record else [],
        )

    def _read_position(self, name: str) -> VehiclePosition:
        x, y = self._api.vehicle.getPosition(name)
        return VehiclePosition(name, x, y, self._api.vehicle.getAngle(name))


def failure(second: int, vehicle: str, reason: object) -> ProblemError:
    """Say when SUMO failed, for which vehicle where that is known, and why."""
    detail = " ".join(str(reason).split()) or type(reason).__name__
    return ProblemError(f"SUMO failed at second {second}{f', vehicle {vehicle}' if vehicle else ''}: {detail}")
