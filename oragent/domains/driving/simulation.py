"""Step-by-step interface to SUMO: commands, states, and sessions over libsumo or TraCI.

By default libsumo runs in its own process, so that the scorer survives a crash of it. A SUMO process over TraCI is
slower, but can show a window.
"""

import mmap
import multiprocessing
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any, NamedTuple, Self

from oragent._base.errors import ProblemError
from oragent.domains.driving import network
from oragent.domains.driving.network import EDGE
from oragent.sandbox.confined_command import wrap_command
from oragent.sandbox.isolation.environment import environment_by_hand

# Modes of SUMO's defaults: its own drivers decide.
UNCONTROLLED_SPEED, UNCONTROLLED_CHANGES = -1.0, 1621
# Lane-change mode in which SUMO makes only requested changes, without regard for other vehicles.
NO_CHANGES = 0
CHANGE_SECONDS = 5.0
BOARD_BYTES = 64
# Time in s to wait until SUMO listens.
PATIENCE_S = 30.0
ASK_AGAIN_S = 0.01
WINDOW = ("--start", "--quit-on-end", "--delay", "100")


class VehicleCommand(NamedTuple):
    """Command to a vehicle on E0 for the next second: reach ``speed`` (m/s) and move ``change`` lanes left."""

    vehicle: str
    speed: float
    change: int


class VehicleState(NamedTuple):
    """Vehicle on E0.

    Lane 0 is rightmost, ``position`` is its front in metres from the beginning of E0, and speed is in m/s.
    """

    vehicle: str
    lane: int
    position: float
    speed: float


class VehiclePosition(NamedTuple):
    """Vehicle anywhere, for drawing: its front in metres, and its heading in degrees clockwise from north."""

    vehicle: str
    x: float
    y: float
    heading: float


class Second(NamedTuple):
    """Result of one simulated second."""

    # All vehicles on E0 at the end of the second.
    states: list[VehicleState]
    # departed, arrived: names of the vehicles that entered and left the network.
    departed: list[str]
    arrived: list[str]
    # Pairs of vehicles that touch at this moment.
    collisions: list[tuple[str, str]]
    # Positions of all vehicles if they are recorded, else empty.
    places: list[VehiclePosition]


class SumoSession:
    """Session over ``libsumo`` or a TraCI connection, which have the same calls. The simulation is already started.

    Vehicles are released to SUMO's drivers behind E0. Otherwise they keep their last command and receive, in every
    second on E0, a command to stay on their lane or to leave it, as in the published code. ``note`` is called with the
    vehicle to which the following calls belong, or with empty text.
    """

    def __init__(self, api: Any, record: bool, release: bool, note: Callable[[str], None]) -> None:
        self._api, self._record, self._release_behind, self._note = api, record, release, note
        self._held: set[str] = set()

    def step(self, commands: Sequence[VehicleCommand] | None) -> Second:
        """Apply the commands, simulate one second, and return its result."""
        if self._release_behind:
            self._release_vehicles({command.vehicle for command in commands or ()})
        for command in commands or ():
            self._note(command.vehicle)
            self._apply_command(command)
        self._note("")
        self._api.simulationStep()
        return self._read_state()

    def _release_vehicles(self, commanded: set[str]) -> None:
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
    """Return an error with the second, the vehicle if known, and the reason."""
    detail = " ".join(str(reason).split()) or type(reason).__name__
    return ProblemError(f"SUMO failed at second {second}{f', vehicle {vehicle}' if vehicle else ''}: {detail}")


class Hosted:
    """Simulation by libsumo in a forked child. Its arguments are those of SUMO and of `SumoSession`.

    Leaving the ``with`` block ends the child in any state.

    Raises:
        ProblemError: if libsumo is not installed.
    """

    def __init__(self, arguments: Sequence[str], *, record: bool = False, release: bool = True) -> None:
        # Imported in the parent, so that only the first of several simulations waits for it.
        library = network.load("libsumo")
        context = multiprocessing.get_context("fork")
        self._second = 0
        # Shared memory with the name of the current vehicle, readable after the child has died.
        self._board = mmap.mmap(-1, BOARD_BYTES)
        self._wire, theirs = context.Pipe()
        job = (library, [*arguments], (record, release), self._wire, theirs, self._board)
        self._child = context.Process(target=_host_simulation, args=job, daemon=True)
        self._child.start()
        theirs.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._child.kill()
        self._child.join()
        self._child.close()
        self._wire.close()
        self._board.close()

    @property
    def pid(self) -> int:
        """Process id of the child."""
        return self._child.pid or 0

    def step(self, commands: Sequence[VehicleCommand] | None) -> Second:
        """Simulate a second. SUMO drives vehicles without a command. A `ProblemError` names the second of a failure."""
        second: Second = self._send_request(list(commands or ()))
        self._second += 1
        return second

    def finish(self) -> None:
        """End the simulation regularly, so that its output files are complete; `ProblemError` if SUMO fails."""
        self._send_request(None)
        self._child.join()

    def _send_request(self, request: list[VehicleCommand] | None) -> Any:
        try:
            self._wire.send(request)
            answer, reason = self._wire.recv()
        except (EOFError, OSError):
            self._child.join()
            answer, reason = None, _describe_ending(self._child.exitcode or 0)
        if reason:
            vehicle = self._board[:].rstrip(b"\0").decode(errors="replace")
            raise failure(self._second, vehicle, reason)
        return answer


def _host_simulation(
    library: Any, arguments: list[str], ways: tuple[bool, bool], scorer: Connection, wire: Connection, board: mmap.mmap
) -> None:
    """Run the child: reply to each request with its result or with the reason of its failure."""
    # Close the scorer's end, so that the child ends when the scorer ends.
    scorer.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    session: SumoSession | None = None
    while True:
        try:
            request: list[VehicleCommand] | None = wire.recv()
        except EOFError:
            return
        try:
            if session is None:
                library.start(["sumo", *arguments])
                session = SumoSession(library, *ways, lambda vehicle: _write_message(board, vehicle))
            if request is None:
                library.close()
            wire.send((None if request is None else session.step(request), ""))
        except Exception as problem:
            # libsumo raises its own exceptions, and those of C++ as RuntimeError.
            wire.send((None, str(problem) or type(problem).__name__))
            return
        if request is None:
            return


def _describe_ending(code: int) -> str:
    if code < 0:
        return f"its process was ended by {signal.Signals(-code).name}"
    return f"its process ended with exit code {code}"


def _write_message(board: mmap.mmap, vehicle: str) -> None:
    board[:] = vehicle.encode()[:BOARD_BYTES].ljust(BOARD_BYTES, b"\0")


class Connected:
    """SUMO process over a local socket, in ``sumo-gui`` if requested; `ProblemError` if it cannot start."""

    def __init__(
        self, arguments: Sequence[str], *, record: bool = False, release: bool = True, window: bool = False
    ) -> None:
        if window and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise ProblemError("sumo-gui needs a screen (DISPLAY is not set); --record draws without one")
        traci = network.load("traci")
        program = str(network.binary("sumo-gui" if window else "sumo"))
        self._second, self._vehicle = 0, ""
        self._connection: Any = None
        port = _free_port()
        command = [program, *arguments, *(WINDOW if window else ()), "--remote-port", str(port)]
        # It shares the network and the files of this process, which are those of an evaluation, or shows a window.
        self._process = subprocess.Popen(
            wrap_command(command, None),
            env=environment_by_hand(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            self._connection = self._open_connection(traci, port)
        except BaseException:
            self.__exit__()
            raise
        self._session = SumoSession(self._connection, record, release, self._record_step)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._connection is not None and getattr(self._connection, "_socket", None) is not None:
            # The connection's own close() would wait for a reply of the dead process.
            self._connection._socket.close()

    @property
    def pid(self) -> int:
        """Process id of the supervisor of SUMO, which ends with it."""
        return self._process.pid

    def step(self, commands: Sequence[VehicleCommand] | None) -> Second:
        """Simulate a second; see `Hosted`."""
        try:
            second = self._session.step(commands)
        except Exception as problem:
            # TraCI raises its own exceptions and those of the socket.
            raise failure(self._second, self._vehicle, problem) from None
        self._second += 1
        return second

    def finish(self) -> None:
        """End the simulation regularly; see `Hosted`."""
        try:
            # This call waits for the end of the process.
            self._connection.close()
        except Exception as problem:
            raise failure(self._second, "", problem) from None

    def _record_step(self, vehicle: str) -> None:
        self._vehicle = vehicle

    def _open_connection(self, traci: Any, port: int) -> Any:
        """Connect repeatedly until SUMO listens; TraCI's own retries wait a second each, and print."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                raise ProblemError(f"SUMO did not start: it ended with exit code {self._process.returncode}")
            try:
                return traci.connect(port, numRetries=0, proc=self._process)
            except traci.exceptions.FatalTraCIError:
                time.sleep(ASK_AGAIN_S)
        raise ProblemError(f"SUMO did not listen within {PATIENCE_S:g} s")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("localhost", 0))
        return int(probe.getsockname()[1])
