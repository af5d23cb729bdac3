"""Process that keeps networks and instances on a device: ``python -m oragent.solvers.attention_bias.serving``.

The engine starts it outside the limits of any evaluation, and passes it one socket per evaluation. It runs no untrusted
code and reads no files except weights. Requests are data, limited in size and checked. A socket that sends other data
is closed, and so is the socket of an evaluation that has ended. A slow reader delays only its own reply.

Evaluations are trusted, but candidates are not: a candidate that has escaped from its guest process could send any
bytes. So the size of a frame is limited before it is read, every word in it is from a fixed list, and every array has
the type, shape and range of an instance.
"""

import argparse
import hashlib
import math
import resource
import selectors
import signal
import socket
import sys
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from oragent._base.errors import OragentError
from oragent._base.protocol import Status
from oragent.harness.wire_format import FrameError, decode_frame, encode, frame_length
from oragent.sandbox.isolation import kernel, process_usage
from oragent.solvers.neural.solve import ALL, solve, spread
from oragent.solvers.neural.weights import NETWORKS, NetworkWeights, load

MAX_HEADER, MAX_BYTES = 1 << 12, 96 << 20
MAX_INSTANCES, MAX_NODES, MAX_ENTRIES = 64, 2048, 1 << 24
MAX_REBUILDS = 1000
# Limit of a bias: sums stay finite in single precision.
LIMIT = 1e30
STARTS = frozenset((1, 8, ALL))
WORDS = frozenset(("network", "points", "demands", "bias", "starts", "augment", "bfloat16", "rebuilds"))
Floats = NDArray[np.float32]
MAX_LINES = 256
CHUNK = 1 << 20
# Limit of the instances kept on the device, in bytes.
KEPT_BYTES = 256 << 20
# Number of evaluations served at once, by type of device; processors gain nothing from sharing.
SHARED = {"cuda": 4}
# Maximum number of nodes in all instances of a request that is computed with others; a larger one fills the device.
MAX_SHARED = 5_000
HELLO = b"ready"
# Message prefix on the control socket, before the number of seconds; the new socket is attached to it.
NEW = b"line "


class Refused(ValueError):
    """Request that no evaluation of oragent sends."""


@dataclass(frozen=True, eq=False)
class NetworkRequest:
    """Instances to be solved, or scores to be measured."""

    # Name of the problem of the network.
    network: str
    # Coordinates, ``(batch, n, 2)`` float32.
    points: Floats
    # Demands as shares of a capacity, ``(batch, n)`` float32; None for tours.
    demands: Floats | None
    # Bias, ``(batch, n, n)`` float32; None requests only the spread of the network's scores.
    bias: Floats | None
    # Number of first nodes.
    starts: int
    # Whether all symmetries are tried.
    augment: bool
    # Whether products are computed in bfloat16.
    bfloat16: bool
    # Number of parts that are rebuilt.
    rebuilds: int

    @property
    def how(self) -> dict[str, Any]:
        """Keywords of `solve`."""
        return {name: getattr(self, name) for name in ("starts", "augment", "bfloat16", "rebuilds")}

    @property
    def batch_key(self) -> tuple[Any, ...]:
        """Key that is equal for requests that can be computed in one batch."""
        return self.network, self.points.shape, self.bias is None, *self.how.values()


def frame_bytes(buffer: bytes | bytearray) -> int:
    """Return the length of the frame that begins with these bytes; 0 if its header is incomplete.

    Raises:
        Refused: if the frame is longer than any that oragent sends.
    """
    try:
        return frame_length(buffer, MAX_HEADER, MAX_BYTES)
    except FrameError as problem:
        raise Refused(str(problem)) from None


def read(frame: bytes | bytearray) -> NetworkRequest:
    """Parse a request from a complete frame; raises `Refused` if it is invalid."""
    try:
        fields = decode_frame(frame)
    except (FrameError, MemoryError) as problem:
        raise Refused(str(problem)) from None
    if not isinstance(fields, dict) or set(fields) != WORDS:
        raise Refused("fields other than those of a request")
    network, points = fields["network"], fields["points"]
    if not isinstance(network, str) or network not in NETWORKS:
        raise Refused("an unknown network")
    batch, size = _check_points(points)
    _expect_array(points, (batch, size, 2), -1.0, 2.0)
    if network.startswith("tsp") != (fields["demands"] is None):
        raise Refused("demands that do not fit the network")
    if fields["demands"] is not None:
        _expect_array(fields["demands"], (batch, size), 0.0, 1.0)
    if fields["bias"] is not None:
        _expect_array(fields["bias"], (batch, size, size), -LIMIT, LIMIT)
    if type(fields["starts"]) is not int or fields["starts"] not in STARTS:
        raise Refused("an invalid number of starts")
    if type(fields["augment"]) is not bool or type(fields["bfloat16"]) is not bool:
        raise Refused("a flag that is not a boolean")
    most_rebuilds = MAX_REBUILDS if network.endswith("lehd") else 0
    if type(fields["rebuilds"]) is not int or not 0 <= fields["rebuilds"] <= most_rebuilds:
        raise Refused("an invalid number of rebuilds")
    return NetworkRequest(**fields)


def _check_points(points: Any) -> tuple[int, int]:
    if not isinstance(points, np.ndarray) or points.ndim != 3:
        raise Refused("invalid points")
    batch, size, _ = points.shape
    if not (1 <= batch <= MAX_INSTANCES and 2 <= size <= MAX_NODES and batch * size * size <= MAX_ENTRIES):
        raise Refused(f"{batch} instances of {size} nodes")
    return batch, size


def _expect_array(values: Any, shape: tuple[int, ...], least: float, maximum: float) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != np.float32 or values.shape != shape:
        raise Refused("an array of another type or shape")
    # These are NaN if any value is NaN.
    low, high = float(values.min()), float(values.max())
    # Slack, because a bound may not be representable in single precision.
    slack = 1e-6 * max(abs(least), abs(maximum))
    if not (math.isfinite(low) and math.isfinite(high) and least - slack <= low and high <= maximum + slack):
        raise Refused("numbers out of range")


@dataclass(eq=False)
class _Client:
    """Connection of one evaluation."""

    # Non-blocking socket.
    wire: socket.socket
    # Seconds that the device may compute for it.
    allowed_s: float
    # Seconds that the device has computed for it.
    used_s: float = 0.0
    # Received bytes of its next request.
    incoming: bytearray = field(default_factory=bytearray)
    # Unsent bytes of its last reply.
    outgoing: bytearray = field(default_factory=bytearray)
    # Waiting request.
    request: NetworkRequest | None = None


class _Late(Exception):
    """The device has used up the time of the evaluation."""


class Server:
    """Server of the sockets from the engine; it computes requests one by one, or several similar ones at once."""

    def __init__(self, control: socket.socket, root: Path, device: torch.device) -> None:
        self._control, self._root, self._device = control, root, device
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ)
        self._lines: OrderedDict[socket.socket, _Client] = OrderedDict()
        self._networks: dict[str, NetworkWeights] = {}
        self._instances: OrderedDict[bytes, Tensor] = OrderedDict()
        self._same: dict[tuple[Any, ...], bool] = {}

    def run(self) -> None:
        """Serve until the engine closes the control socket."""
        while True:
            waits = any(client.request for client in self._lines.values())
            for key, events in self._selector.select(0 if waits else None):
                if key.fileobj is self._control:
                    if not self._accept_client():
                        return
                    continue
                client = self._lines.get(key.fileobj)  # type: ignore[call-overload]
                if client is not None:
                    self._transfer(client, events)
            self._answer_next()

    def _accept_client(self) -> bool:
        """Accept a new client; return False if the engine has ended."""
        message, files, _, _ = socket.recv_fds(self._control, 64, 1)
        if message and files:
            client = _Client(socket.socket(fileno=files[0]), float(message.removeprefix(NEW)))
            if len(self._lines) >= MAX_LINES:
                client.wire.close()
                return True
            client.wire.setblocking(False)
            self._lines[client.wire] = client
            self._selector.register(client.wire, selectors.EVENT_READ)
        return bool(message)

    def _transfer(self, client: _Client, events: int) -> None:
        """Receive bytes of at most one request, or send waiting bytes."""
        try:
            if events & selectors.EVENT_WRITE:
                del client.outgoing[: client.wire.send(client.outgoing[:CHUNK])]
            elif client.request or client.outgoing:
                raise Refused("a second request before the answer to the first")
            else:
                part = client.wire.recv(CHUNK)
                client.incoming += part
                length = frame_bytes(client.incoming)
                if not part or (length and len(client.incoming) > length):
                    raise Refused("the connection was closed, or sent more than one request")
                if length and len(client.incoming) == length:
                    client.request, client.incoming = read(client.incoming), bytearray()
            self._selector.modify(client.wire, self._wanted_events(client))
        except BlockingIOError:
            pass
        except (OSError, Refused):
            self._close_client(client)

    def _wanted_events(self, client: _Client) -> int:
        if client.outgoing:
            return selectors.EVENT_WRITE
        return selectors.EVENT_READ

    def _close_client(self, client: _Client) -> None:
        with suppress(KeyError):
            self._selector.unregister(client.wire)
        self._lines.pop(client.wire, None)
        client.wire.close()

    def _answer_next(self) -> None:
        """Reply to the oldest request, and to those that can be computed with it."""
        first = next((client for client in self._lines.values() if client.request), None)
        if first is None or first.request is None:
            return
        lines = [first, *self._batch_with(first)]
        begun = self._device_seconds()
        try:
            with _time_limit(max(0.05, min(client.allowed_s - client.used_s for client in lines)), self._device):
                answers = self._compute_answers([client.request for client in lines if client.request])
        except _Late:
            # The requests of the other clients are computed later.
            lines = [min(lines, key=lambda client: client.allowed_s - client.used_s)]
            first = lines[0]
            reason = f"the device computed for {first.allowed_s:g} s, and that is the limit"
            answers = [{"trouble": (str(Status.TIMEOUT), reason)} for _ in lines]
        except torch.OutOfMemoryError:
            answers = [{"trouble": (str(Status.CRASHED), "the device has no room for these instances")} for _ in lines]
            self._instances.clear()
            if self._device.type == "cuda":
                torch.cuda.empty_cache()
        except (OragentError, MemoryError, RuntimeError) as problem:
            if self._device.type != "cpu" and not isinstance(problem, OragentError):
                # After one failure a GPU fails at all following requests, so this process ends and the engine restarts
                # it.
                raise
            reason = (str(problem).splitlines() or [type(problem).__name__])[0][:300]
            answers = [{"trouble": (str(Status.CRASHED), f"on the device: {reason}")} for _ in lines]
        spent = (self._device_seconds() - begun) / len(lines)
        for client, answer in zip(lines, answers, strict=True):
            client.request, client.used_s = None, client.used_s + spent
            client.outgoing += encode(answer | {"seconds": client.used_s})
            self._lines.move_to_end(client.wire)
            with suppress(KeyError, ValueError):
                self._selector.modify(client.wire, self._wanted_events(client))

    def _device_seconds(self) -> float:
        """Return the seconds that the device has used; for a processor, its processor time."""
        if self._device.type == "cpu":
            return time.process_time()
        return time.monotonic()

    def _batch_with(self, first: _Client) -> list[_Client]:
        """Return the other clients whose requests are computed with the first one's, in one batch of fixed shape."""
        request = first.request
        if request is None or not self._can_share(request) or not self._same.get(request.batch_key, False):
            return []
        others = [client for client in self._lines.values() if client is not first and client.request]
        return [client for client in others if client.request and client.request.batch_key == request.batch_key][
            : self._slots - 1
        ]

    @property
    def _slots(self) -> int:
        return SHARED.get(self._device.type, 1)

    def _can_share(self, request: NetworkRequest) -> bool:
        batch, size = request.points.shape[:2]
        return self._slots > 1 and request.bias is not None and not request.rebuilds and batch * size <= MAX_SHARED

    def _compute_answers(self, requests: list[NetworkRequest]) -> list[dict[str, Any]]:
        """Return replies to similar requests.

        Kernels are chosen by shape, and sums can round differently in another shape. So a batch that can be shared
        always has the same number of places, filled or not, and a test first verifies that all places give equal
        results.
        """
        first = requests[0]
        model = self._get_network(first.network)
        if first.bias is None:
            return [{"spread": spread(model, *self._device_inputs(first))}]
        if not self._can_share(first):
            return [{"paths": self._compute_paths(requests)}]
        if first.batch_key not in self._same:
            tried = np.split(self._compute_paths([first] * self._slots), self._slots)
            self._same[first.batch_key] = all(np.array_equal(part, tried[0]) for part in tried)
        if not self._same[first.batch_key]:
            return [{"paths": self._compute_paths(requests)}]
        places = [*requests, *[first] * (self._slots - len(requests))]
        return [{"paths": part} for part in np.split(self._compute_paths(places), self._slots)[: len(requests)]]

    def _compute_paths(self, requests: list[NetworkRequest]) -> np.ndarray[Any, np.dtype[np.int64]]:
        first, model = requests[0], self._get_network(requests[0].network)
        points = torch.cat([self._device_inputs(request)[0] for request in requests])
        loads = [demands for request in requests if (demands := self._device_inputs(request)[1]) is not None]
        biases = [torch.from_numpy(request.bias) for request in requests if request.bias is not None]
        bias = torch.cat(biases).to(self._device)
        demands = torch.cat(loads) if loads else None
        paths: np.ndarray[Any, np.dtype[np.int64]] = solve(model, points, demands, bias, **first.how).cpu().numpy()
        return paths

    def _get_network(self, name: str) -> torch.nn.Module:
        if name not in self._networks:
            self._networks[name] = load(name, self._root, self._device)
        return self._networks[name].model

    def _device_inputs(self, request: NetworkRequest) -> tuple[Tensor, Tensor | None]:
        demands = None if request.demands is None else self._cache_array(request.demands)
        return self._cache_array(request.points), demands

    def _cache_array(self, values: np.ndarray[Any, np.dtype[np.float32]]) -> Tensor:
        """Return an array on the device; the most recently used arrays are cached there."""
        key = hashlib.sha256(str(values.shape).encode() + values.tobytes()).digest()
        if key not in self._instances:
            self._instances[key] = torch.from_numpy(values).to(self._device)
        self._instances.move_to_end(key)
        while sum(array.nbytes for array in self._instances.values()) > KEPT_BYTES and len(self._instances) > 1:
            self._instances.popitem(last=False)
        return self._instances[key]


@contextmanager
def _time_limit(seconds: float, device: torch.device) -> Iterator[None]:
    """Raise ``_Late`` in longer computations; device operations already started run to their end, which is soon."""
    if device.type == "cpu":
        clock, number = (signal.ITIMER_PROF, signal.SIGPROF)
    else:
        clock, number = (signal.ITIMER_REAL, signal.SIGALRM)

    def ring(*_: object) -> None:
        raise _Late

    former = signal.signal(number, ring)
    # The timer repeats, because an exception raised in a destructor is lost.
    signal.setitimer(clock, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(number, former)


def _limit_memory(device: torch.device, memory_mb: int) -> None:
    """Limit the memory of this process, and its memory on the device."""
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if device.type == "cuda":
        share = (memory_mb << 20) / torch.cuda.get_device_properties(device).total_memory
        torch.cuda.set_per_process_memory_fraction(min(share, 0.95), device)
    elif device.type == "cpu":
        kernel.lower_limits({resource.RLIMIT_DATA: process_usage.read_memory("self").private + (memory_mb << 20)})


def main() -> None:
    """Serve on the socket inherited from the engine."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--socket", type=int, required=True)
    parser.add_argument("--root-dir", type=Path, required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--memory-mb", type=int, required=True)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.hide_memory()
    control = socket.socket(fileno=options.socket)
    torch.set_num_threads(1)
    device = torch.device(options.device)
    try:
        torch.zeros(1, device=device)
        _limit_memory(device, options.memory_mb)
    except (RuntimeError, AssertionError, OSError) as problem:
        sys.exit(f"{type(problem).__name__}: {str(problem).splitlines()[0][:300]}")
    control.sendall(HELLO)
    Server(control, options.root_dir, device).run()


if __name__ == "__main__":
    main()
