"""Where the network of an evaluation is: in its own process, or in one that keeps it on a device and takes biases.

In a search the evaluation has bounds that no driver of a GPU fits into, and the candidate must never see a GPU. There
the engine hands it a line, a connected socket, to a process of the engine's side: see ``serving``.
"""

import os
import socket
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import torch
from torch import Tensor

from oragent._base.errors import CandidateError, ProblemError
from oragent._base.frames import ConnectionClosed, receive_bytes
from oragent._base.protocol import Status
from oragent.harness.frames import HEAD, FrameError, decode_frame, encode, frame_length
from oragent.sandbox.isolation.environment import LINE
from oragent.solvers.neural.solve import solve, spread
from oragent.solvers.neural.weights import describe_weights, find, load

CALL_S = 120.0  # by the clock, of one call of the candidate: the sandbox waits longer for who waits for a device


class How(NamedTuple):
    """How instances are to be solved: the keywords of ``solve``."""

    starts: int = 1
    augment: bool = False
    bfloat16: bool = False
    rebuilds: int = 0


class NetworkSolver(Protocol):
    """A network that solves instances."""

    @property
    def source(self) -> str:
        """Source of its weights."""

    @property
    def seconds(self) -> float | None:
        """Seconds that a device has computed for this evaluation alone; None: its own CPU time tells."""

    def spread(self, points: Tensor, demands: Tensor | None) -> float:
        """Standard deviation of the scores that a bias is added to."""

    def solve(self, points: Tensor, demands: Tensor | None, bias: Tensor, how: How) -> Tensor:
        """Paths ``(batch, k)``, in main memory."""


class Here:
    """The network in this process."""

    seconds = None

    def __init__(self, problem: str, root: Path, device: torch.device) -> None:
        self._weights, self._device = load(problem, root, device), device
        self.source = self._weights.source

    def spread(self, points: Tensor, demands: Tensor | None) -> float:
        """See ``Decider``."""
        return spread(self._weights.model, *self._move_to_device(points, demands))

    def solve(self, points: Tensor, demands: Tensor | None, bias: Tensor, how: How) -> Tensor:
        """See ``Decider``."""
        moved = self._move_to_device(points, demands)
        return solve(self._weights.model, *moved, bias.to(self._device), **how._asdict()).cpu()

    def _move_to_device(self, points: Tensor, demands: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return points.to(self._device), None if demands is None else demands.to(self._device)


class RemoteNetwork:
    """The network in another process, asked by a line."""

    def __init__(self, problem: str, root: Path, descriptor: int) -> None:
        self._problem, self._wire = problem, socket.socket(fileno=descriptor)
        self.source, self.seconds = describe_weights(find(problem, root), root, problem), 0.0

    def spread(self, points: Tensor, demands: Tensor | None) -> float:
        """See ``Decider``."""
        return float(self._send_request(points, demands, None, How())["spread"])

    def solve(self, points: Tensor, demands: Tensor | None, bias: Tensor, how: How) -> Tensor:
        """See ``Decider``."""
        return torch.from_numpy(self._send_request(points, demands, bias, how)["paths"])

    def _send_request(self, points: Tensor, demands: Tensor | None, bias: Tensor | None, how: How) -> dict[str, Any]:
        """Ask, and wait for the answer.

        Raises:
            CandidateError: ``timeout``, if the device has computed for as long as the evaluation may.
            ProblemError: if it fails otherwise.
        """
        arrays = {"points": points.numpy(), "demands": None if demands is None else demands.numpy()}
        request = {"network": self._problem, "bias": None if bias is None else bias.numpy()} | arrays | how._asdict()
        try:
            self._wire.sendall(encode(request))
            head = receive_bytes(self._wire, HEAD.size)
            answer: dict[str, Any] = decode_frame(head + receive_bytes(self._wire, frame_length(head) - HEAD.size))
        except (OSError, ConnectionClosed, FrameError) as problem:
            raise ProblemError(f"the process that computes on the device has gone ({problem})") from None
        self.seconds = float(answer["seconds"])
        if "trouble" in answer:
            status, message = answer["trouble"]
            if status == Status.TIMEOUT:
                raise CandidateError(str(message), Status.TIMEOUT)
            raise ProblemError(str(message))
        return answer


def decider(problem: str, root: Path, device: torch.device | None) -> NetworkSolver:
    """The network of a problem: behind the line where there is one, else here."""
    if LINE in os.environ:
        return RemoteNetwork(problem, root, int(os.environ[LINE]))
    assert device is not None
    return Here(problem, root, device)
