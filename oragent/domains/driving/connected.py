"""A SUMO process, driven over TraCI: slower than libsumo, but it can have a window."""

import os
import socket
import subprocess
import time
from collections.abc import Sequence
from typing import Any, Self

from oragent._base.errors import ProblemError
from oragent.domains.driving import network
from oragent.domains.driving.simulation import Second, SumoSession, VehicleCommand, failure

PATIENCE_S = 30.0  # for SUMO to listen
ASK_AGAIN_S = 0.01
WINDOW = ("--start", "--quit-on-end", "--delay", "100")


class Connected:
    """A simulation by a SUMO process of its own, over a local socket.

    Args:
        arguments: of SUMO.
        record: whether to tell all vehicles' places.
        release: whether vehicles are given back to SUMO's drivers behind E0; see `Session`.
        window: show it in ``sumo-gui``.

    Raises:
        ProblemError: if SUMO is not installed or does not start, or there is no screen for its window.
    """

    def __init__(
        self, arguments: Sequence[str], *, record: bool = False, release: bool = True, window: bool = False
    ) -> None:
        if window and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
            raise ProblemError("there is no screen for sumo-gui (DISPLAY is not set); --record draws without one")
        traci = network.load("traci")
        program = str(network.binary("sumo-gui" if window else "sumo"))
        self._second, self._vehicle = 0, ""
        self._connection: Any = None
        port = _free_port()
        command = [program, *arguments, *(WINDOW if window else ()), "--remote-port", str(port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self._connection = self._open_connection(traci, port)
        except BaseException:
            self.__exit__()
            raise
        self._session = SumoSession(self._connection, record, release, self._record_step)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        if self._connection is not None and getattr(self._connection, "_socket", None) is not None:
            self._connection._socket.close()  # its own close() would wait for an answer of the dead

    @property
    def pid(self) -> int:
        """The process id of SUMO."""
        return self._process.pid

    def step(self, commands: Sequence[VehicleCommand] | None) -> Second:
        """Simulate a second; see `Simulation`."""
        try:
            second = self._session.step(commands)
        except Exception as problem:  # TraCI raises exceptions of its own, and the socket's
            raise failure(self._second, self._vehicle, problem) from None
        self._second += 1
        return second

    def finish(self) -> None:
        """End the simulation in order; see `Simulation`."""
        try:
            self._connection.close()  # waits for the process
        except Exception as problem:
            raise failure(self._second, "", problem) from None

    def _record_step(self, vehicle: str) -> None:
        self._vehicle = vehicle

    def _open_connection(self, traci: Any, port: int) -> Any:
        """Try until SUMO listens; TraCI's own tries wait for a second each, and print."""
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
