"""What an evaluation may ask the process that holds the networks, checked as data from a stranger.

Evaluations are ours, and the candidate is not: one that had broken out of its guest could send anything. So a frame is
bounded before it is read, every word of it is one of a list, and every array has the type, shape and range of an
instance.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent.harness.frames import FrameError, decode_frame, frame_length
from oragent.solvers.neural.solve import ALL
from oragent.solvers.neural.weights import NETWORKS

MOST_HEADER, MOST_BYTES = 1 << 12, 96 << 20
MOST_INSTANCES, MOST_NODES, MOST_ENTRIES = 64, 2048, 1 << 24
MOST_REBUILDS = 1000
LIMIT = 1e30  # of a bias: sums stay finite in single precision
STARTS = frozenset((1, 8, ALL))
WORDS = frozenset(("network", "points", "demands", "bias", "starts", "augment", "bfloat16", "rebuilds"))
Floats = NDArray[np.float32]


class Refused(ValueError):
    """A request that no evaluation of ours makes."""


@dataclass(frozen=True, eq=False)
class NetworkRequest:
    """Instances to be solved, or scores to be measured."""

    network: str  # name of the problem whose network is asked
    points: Floats  # ``(batch, n, 2)`` float32
    demands: Floats | None  # ``(batch, n)`` float32 shares of a capacity; None for tours
    bias: Floats | None  # ``(batch, n, n)`` float32; None: only the spread of the network's scores is wanted
    starts: int  # number of first nodes
    augment: bool  # whether all symmetries are tried
    bfloat16: bool  # whether products are computed in bfloat16
    rebuilds: int  # number of parts that are rebuilt

    @property
    def batch_key(self) -> tuple[Any, ...]:
        """Key that requests share if they can be computed in one batch."""
        how = self.starts, self.augment, self.bfloat16, self.rebuilds
        return self.network, self.points.shape, self.bias is None, *how


def frame_bytes(buffer: bytes | bytearray) -> int:
    """Length of the frame that begins so; 0 where its beginning is not there yet.

    Raises:
        Refused: if it is longer than any that we send.
    """
    try:
        return frame_length(buffer, MOST_HEADER, MOST_BYTES)
    except FrameError as problem:
        raise Refused(str(problem)) from None


def read(frame: bytes | bytearray) -> NetworkRequest:
    """Take a request out of a whole frame.

    Raises:
        Refused: if it is none.
    """
    try:
        fields = decode_frame(frame)
    except (FrameError, MemoryError) as problem:
        raise Refused(str(problem)) from None
    if not isinstance(fields, dict) or set(fields) != WORDS:
        raise Refused("other words than those of a request")
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
        raise Refused("an odd number of starts")
    if type(fields["augment"]) is not bool or type(fields["bfloat16"]) is not bool:
        raise Refused("a flag that is none")
    most_rebuilds = MOST_REBUILDS if network.endswith("lehd") else 0
    if type(fields["rebuilds"]) is not int or not 0 <= fields["rebuilds"] <= most_rebuilds:
        raise Refused("an odd number of rebuilds")
    return NetworkRequest(**fields)


def _check_points(points: Any) -> tuple[int, int]:
    if not isinstance(points, np.ndarray) or points.ndim != 3:
        raise Refused("points that are none")
    batch, size, _ = points.shape
    if not (1 <= batch <= MOST_INSTANCES and 2 <= size <= MOST_NODES and batch * size * size <= MOST_ENTRIES):
        raise Refused(f"{batch} instances of {size} nodes")
    return batch, size


def _expect_array(values: Any, shape: tuple[int, ...], least: float, maximum: float) -> None:
    if not isinstance(values, np.ndarray) or values.dtype != np.float32 or values.shape != shape:
        raise Refused("an array of another type or shape")
    low, high = float(values.min()), float(values.max())  # NaN if one is
    slack = 1e-6 * max(abs(least), abs(maximum))  # a bound is no number of single precision
    if not (math.isfinite(low) and math.isfinite(high) and least - slack <= low and high <= maximum + slack):
        raise Refused("numbers out of range")
