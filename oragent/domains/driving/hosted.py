"""libsumo in a process of its own: it holds one simulation at a time, and if it dies, the scorer lives to tell."""

import mmap
import multiprocessing
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import Any, Self

from oragent.domains.driving import network
from oragent.domains.driving.simulation import Second, SumoSession, VehicleCommand, failure

BOARD_BYTES = 64


class Hosted:
    """A simulation by libsumo, which runs inside a forked child.

    Args:
        arguments: of SUMO.
        record: whether to tell all vehicles' places.
        release: whether vehicles are given back to SUMO's drivers behind E0; see `Session`.

    Raises:
        ProblemError: if libsumo is not installed.
    """

    def __init__(self, arguments: Sequence[str], *, record: bool = False, release: bool = True) -> None:
        library = network.load("libsumo")  # here, so that only the first of several simulations waits for it
        context = multiprocessing.get_context("fork")
        self._second = 0
        self._board = mmap.mmap(-1, BOARD_BYTES)  # names the vehicle at hand, also after the child's death
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
        """The child's process id."""
        return self._child.pid or 0

    def step(self, commands: Sequence[VehicleCommand] | None) -> Second:
        """Simulate a second; see `Simulation`."""
        second: Second = self._send_request(list(commands or ()))
        self._second += 1
        return second

    def finish(self) -> None:
        """End the simulation in order; see `Simulation`."""
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
            raise failure(self._second, _read_message(self._board), reason)
        return answer


def _host_simulation(
    library: Any,
    arguments: list[str],
    ways: tuple[bool, bool],
    scorer: Connection,
    wire: Connection,
    board: mmap.mmap,
) -> None:
    """Be the child: answer each request with what came of it, or with the reason why nothing did."""
    scorer.close()  # so that the scorer's end ends us
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
        except Exception as problem:  # libsumo raises its own exceptions, and C++'s as RuntimeError
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


def _read_message(board: mmap.mmap) -> str:
    return board[:].rstrip(b"\0").decode(errors="replace")
