"""Score attention biases of a neural solver, by greedy solutions of instances far larger than in its training.

The network runs in the evaluation's own process, or in another process that keeps it on a device and receives biases.
In a search the limits of an evaluation are too small for a GPU driver, and the candidate must not access a GPU. The
engine then gives the evaluation a connected socket to a process outside the sandbox: see ``serving``.
"""

import os
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oragent.harness import Arguments, Guest, Result, figures, gaps, seconds
from oragent._base.errors import CandidateError, ProblemError
from oragent._base.frames import ConnectionClosed, receive_bytes
from oragent._base.protocol import Status
from oragent.domains import cvrp, network_instances, tsp
from oragent.domains.streams import cell
from oragent.harness.drawing import draw_routes
from oragent.harness.neural import bias, device
from oragent.harness.solutions import Draw
from oragent.harness.wire_format import HEAD, FrameError, decode_frame, encode, frame_length
from oragent.sandbox.isolation.environment import LINE
from oragent.solvers.neural.solve import ALL, routes, solve, spread
from oragent.solvers.neural.weights import describe_weights, find, load

# Wall-clock limit in s of one call of the candidate. The sandbox extends it for evaluations that wait for a device.
CALL_S = 120.0


NEAREST = 20
SIZES = {"train": (200,), "val": (200, 500, 1000), "test": (200, 500, 1000), "fresh": (200, 500, 1000)}
# Number of instances of a size in the stream.
WHOLE = 64
# Bin edges: share of the bias beyond the 20 nearest nodes.
REACH_EDGES = (0.001, 0.2, 0.4, 0.6, 0.75, 0.9)
# Bin edges: standard deviation of the bias over that of the scores.
STRENGTH_EDGES = (0.01, 0.1, 0.3, 1.0, 3.0, 10.0)
# Bin edges: length over the usual length, ratio of largest to smallest size.
GROWTH_EDGES = (0.97, 1.0, 1.03, 1.1, 1.25)


class How(NamedTuple):
    """Settings of a solve: the keywords of ``solve``."""

    starts: int = 1
    augment: bool = False
    bfloat16: bool = False
    rebuilds: int = 0


class Here:
    """Network in this process."""

    # Seconds of a device process for this evaluation; None, because the CPU time of this process includes them.
    seconds = None

    def __init__(self, problem: str, root: Path, device: torch.device) -> None:
        self._weights, self._device = load(problem, root, device), device
        self.source = self._weights.source

    def spread(self, points: Tensor, demands: Tensor | None) -> float:
        """Return the standard deviation of the scores to which a bias is added."""
        return spread(self._weights.model, *self._move_to_device(points, demands))

    def solve(self, points: Tensor, demands: Tensor | None, bias: Tensor, how: How) -> Tensor:
        """Return paths ``(batch, k)``, in main memory."""
        moved = self._move_to_device(points, demands)
        return solve(self._weights.model, *moved, bias.to(self._device), **how._asdict()).cpu()

    def _move_to_device(self, points: Tensor, demands: Tensor | None) -> tuple[Tensor, Tensor | None]:
        return points.to(self._device), None if demands is None else demands.to(self._device)


class RemoteNetwork:
    """Network in another process, queried over a socket."""

    def __init__(self, problem: str, root: Path, descriptor: int) -> None:
        self._problem, self._wire = problem, socket.socket(fileno=descriptor)
        self.source, self.seconds = describe_weights(find(problem, root), root, problem), 0.0

    def spread(self, points: Tensor, demands: Tensor | None) -> float:
        """See `Here`."""
        return float(self._send_request(points, demands, None, How())["spread"])

    def solve(self, points: Tensor, demands: Tensor | None, bias: Tensor, how: How) -> Tensor:
        """See `Here`."""
        return torch.from_numpy(self._send_request(points, demands, bias, how)["paths"])

    def _send_request(self, points: Tensor, demands: Tensor | None, bias: Tensor | None, how: How) -> dict[str, Any]:
        """Send a request and return the reply.

        Raises:
            CandidateError: ``timeout``, if the device has used up the time of the evaluation.
            ProblemError: if the request fails otherwise.
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


class NetworkTask(NamedTuple):
    """Task of a network: tours or routes."""

    # Function that returns at most a given number of instances of a mode and size, or of a fresh set with a seed.
    stream: Callable[[str, int, int | None, int], Sequence[Any]]
    # Function that reads the instances of a mode and size from LEHD's own test file in a folder.
    files: Callable[[Path, str, int], Sequence[Any]]
    # Function that returns a network's inputs for an instance: ``(n, 2)`` coordinates, and for routes ``(n,)`` demands
    # as shares of the capacity.
    inputs: Callable[[Any], tuple[NDArray[np.float64], ...]]
    # Function that checks a network's path and returns the solution.
    check: Callable[[Any, Tensor], NDArray[np.int64]]
    # Function that returns the length of a solution.
    objective: Callable[[Any, NDArray[np.int64]], float]
    # Function that returns an estimate proportional to the length of good solutions, at any size.
    usual: Callable[[Any], float]
    # Function that draws a solution as SVG.
    draw: Draw


TOURS = NetworkTask(
    stream=network_instances.tsp_stream,
    files=network_instances.tours,
    inputs=lambda instance: (instance.coordinates,),
    check=lambda instance, path: tsp.check(instance, path.cpu().numpy()),
    objective=tsp.objective,
    usual=lambda instance: float(len(instance) ** 0.5),
    draw=lambda instance, tour: draw_routes(instance.coordinates, [tour.tolist()]),
)
ROUTES = NetworkTask(
    stream=network_instances.cvrp_stream,
    files=network_instances.routes,
    inputs=lambda instance: (instance.coordinates, instance.demands / instance.capacity),
    check=lambda instance, path: cvrp.check(instance, routes(path)),
    objective=cvrp.objective,
    usual=cvrp.estimate_length,
    draw=lambda instance, path: draw_routes(instance.coordinates, [[0, *route] for route in cvrp.split(path)]),
)


def decider(problem: str, root: Path, device: torch.device | None) -> Here | RemoteNetwork:
    """Return the network of a problem: the remote one if a socket is given, else a local one."""
    if LINE in os.environ:
        return RemoteNetwork(problem, root, int(os.environ[LINE]))
    assert device is not None
    return Here(problem, root, device)


def reach(bias: Tensor, distances: Tensor, nearest: int = NEAREST) -> float:
    """Return the share of a bias that lies outside the nearest nodes of each row, in [0, 1].

    Entries count by their difference from the median of their row, because a constant in a row affects no decision.

    Returns:
        The share; 0 if the bias is constant in every row.
    """
    mass = (bias - bias.median(dim=1, keepdim=True).values).abs().fill_diagonal_(0)
    near = distances.clone().fill_diagonal_(torch.inf).topk(min(nearest, len(bias) - 1), dim=1, largest=False).indices
    total = mass.sum(dtype=torch.float64)
    if total > 0:
        return float(1 - mass.gather(1, near).sum(dtype=torch.float64) / total)
    return 0.0


def strength(bias: Tensor, scores: float) -> float:
    """Return the standard deviation of a bias within its rows, relative to that of the scores."""
    others = ~torch.eye(len(bias), dtype=torch.bool)
    rows = bias[others].reshape(len(bias), -1)
    return float(rows.std(dim=1).mean()) / max(scores, 1e-9)


def _make_instances(
    arguments: Arguments, kind: NetworkTask, problem: str, counts: Mapping[str, int]
) -> Iterator[tuple[int, Sequence[Any]]]:
    """Yield the instances of each size.

    With ``--protocol=oragent``, the study of OR-Agent, LEHD uses its own test file at the sizes that it contains, and
    POMO uses all 64 instances of the stream.
    """
    own_sizes, mode = arguments.protocol == "oragent" and arguments.mode != "fresh", arguments.mode
    from_file = own_sizes and problem.endswith("_lehd")
    for size in arguments.sizes:
        if from_file and size not in network_instances.LEHD_SIZES and len(arguments.sizes) > 1:
            continue
        if from_file:
            yield size, kind.files(arguments.place(Path("problems") / problem / "data"), mode, size)
        else:
            stream = "test" if mode == "fresh" else mode
            count = WHOLE if own_sizes else counts.get(stream, network_instances.COUNT)
            yield size, kind.stream(mode, size, arguments.fresh_seed, count)


def evaluate(
    arguments: Arguments, heuristics: Guest, *, kind: NetworkTask, problem: str, counts: Mapping[str, int]
) -> Result:
    """Solve every instance of the requested sizes with the network."""
    apart = LINE in os.environ
    where = arguments.choices["device"] if apart else str(device(arguments))
    network = decider(problem, arguments.root_dir, None if apart else torch.device(where))
    heuristics.limit_s = CALL_S if apart else None
    starts = 8 if "multi_start" in arguments.flags else 1
    how = How(
        starts=ALL if "all_starts" in arguments.flags else starts,
        augment="augment" in arguments.flags,
        bfloat16="bfloat16" in arguments.flags,
        rebuilds=int(arguments.choices.get("rrc", 0)),
    )
    lengths: dict[int, list[float]] = {}
    traits: list[tuple[float, float]] = []
    normal: list[float] = []
    begun = perf_counter()
    for size, instances in _make_instances(arguments, kind, problem, counts):
        columns = zip(*map(kind.inputs, instances), strict=True)
        inputs = [torch.tensor(np.array(column), dtype=torch.float32) for column in columns]
        points, loads = inputs[0], inputs[1] if len(inputs) > 1 else None
        scores = network.spread(points, loads)
        biases = []
        for index, instance in enumerate(instances):
            heuristics.where = f"size {size}, instance {index}"
            distances = torch.tensor(instance.distances, dtype=torch.float32)
            biases.append(bias(heuristics(distances, *(column[index] for column in inputs[1:])), len(instance)))
            traits.append((reach(biases[-1], distances), strength(biases[-1], scores)))
        paths = network.solve(points, loads, torch.stack(biases), how)
        lengths[size] = []
        for index, (instance, path) in enumerate(zip(instances, paths, strict=True)):
            heuristics.where = f"size {size}, instance {index}"
            solution = kind.check(instance, path)
            lengths[size].append(kind.objective(instance, solution))
            heuristics.show(instance, solution, lengths[size][-1])
        normal.append(float(np.mean(lengths[size]) / np.mean([kind.usual(drawn) for drawn in instances])))
    metrics, score = figures("length", lengths)
    reached, strong = np.mean(traits, axis=0).tolist()
    metrics |= {"reach": round(reached, 4), "strength": round(strong, 4), "growth": round(normal[-1] / normal[0], 4)}
    metrics |= {"weights": network.source, "device": where}
    if network.seconds is None:
        metrics |= {}
    else:
        metrics |= {"device_seconds": round(network.seconds, 3)}
    metrics |= gaps(arguments, problem, lengths) | seconds(begun, heuristics.seconds)
    axes = (reached, REACH_EDGES), (strong, STRENGTH_EDGES), (normal[-1] / normal[0], GROWTH_EDGES)
    return Result(metrics, cell(*axes), score)
