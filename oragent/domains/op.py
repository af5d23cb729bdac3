"""The orienteering problem: collect as much prize as a tour of bounded length can, from a depot and back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.domains import streams, tsp

# sums of the same lengths in another order
TOLERANCE = 1e-9


_SIZES = (50, 100, 200)
# (mode, nodes, instances), in the order in which each mode's own generator draws them
ACO_STREAM = (
    ("train", 50, 5),
    *(("val", size, 64) for size in _SIZES),
    *(("test", size, 64) for size in _SIZES),
)
SEEDS = {"train": 1234, "val": 3456, "test": 4567}


@dataclass(frozen=True, eq=False)
class OpInstance(tsp.Nodes):
    """A depot, node 0, and nodes with prizes in the plane; raises `ValueError` unless they are such numbers."""

    # ``(n,)`` float array, not negative
    prizes: NDArray[np.float64]
    # most length of a tour, the way back included; in the unit of the coordinates
    maxlen: float

    def __post_init__(self) -> None:
        if self.prizes.shape != (len(self.nodes),):
            raise ValueError(f"prizes must have shape ({len(self.nodes)},), not {self.prizes.shape}")
        if not (np.isfinite(self.prizes).all() and self.prizes.min() >= 0):
            raise ValueError("prizes must be finite and not negative")
        if not 0 <= self.maxlen < np.inf:
            raise ValueError(f"maxlen must be finite and not negative, not {self.maxlen}")


def distant_prizes(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Prizes that grow with the distance from the depot, in hundredths: 0.01 at the depot, 1 at the farthest node.

    Source: Fischetti, Salazar Gonzalez and Toth 1998, Solving the orienteering problem through branch-and-cut,
    DOI 10.1287/ijoc.10.2.133, its third generation; as in ReEvo.
    """
    # In this order, as in ReEvo, rounding makes 98 of some 99s: the farthest node then has 99 parts, and still prize 1.
    away = np.sqrt(((coordinates - coordinates[0]) ** 2).sum(axis=1))
    prizes = 1 + np.floor(99 * away / (away.max() or 1.0))
    return np.asarray(prizes / prizes.max())


def usual_bound(size: int) -> float:
    """Tell how long a tour of the unit square may usually be: 3 up to 50 nodes, 4 to 100, 5 to 200, 6 to 300, 7."""
    return float(3 + np.searchsorted((50, 100, 200, 300), size))


def generate(rng: np.random.Generator, size: int) -> OpInstance:
    """Draw ``size`` nodes uniformly in the unit square, depot first, with distant prizes and the usual bound."""
    return _draw_instance(rng.random((size, 2)))


def stream(mode: str, size: int, fresh_seed: int | None = None) -> list[OpInstance]:
    """Draw one part of the reference streams of ReEvo (Ye et al. 2024, arXiv:2402.01145), bit for bit.

    Every mode has a generator of its own; the sizes before the wanted one are drawn and dropped.

    Arguments and errors are those of `tsp.stream`; ``size`` is the number of nodes, the depot included.
    """
    return streams.draw_part(
        ACO_STREAM, mode, size, fresh_seed, "op", lambda rng, *shape: map(_draw_instance, rng.rand(*shape, 2)), SEEDS
    )


def check(instance: OpInstance, path: Any) -> NDArray[np.int64]:
    """Make sure that a claimed path starts at the depot, visits no node twice, and gets home in time.

    Args:
        instance: Depot, prizes and bound.
        path: Anything; a path is a sequence of nodes that starts with 0. The way back from its last node is understood.

    Returns:
        The path as a ``(k,)`` array.

    Raises:
        CandidateError: ``invalid``, saying what is wrong.
    """
    nodes = streams.whole_numbers(path, "a path", "node", len(instance))
    if not nodes.size:
        raise CandidateError("the path is empty; expected the depot, node 0, first")
    if nodes[0] != 0:
        raise CandidateError(f"the path starts at node {nodes[0]}; expected the depot, node 0, first")
    visits = np.bincount(nodes)
    if (repeated := np.flatnonzero(visits > 1)).size:
        raise CandidateError(f"the path visits node {repeated[0]} {visits[repeated[0]]} times; expected at most once")
    distances = instance.distances
    travelled = np.append(0.0, np.cumsum(distances[nodes[:-1], nodes[1:]]))
    if (late := np.flatnonzero(travelled + distances[nodes, 0] > instance.maxlen + TOLERANCE)).size:
        length = f"{travelled[-1] + distances[nodes[-1], 0]:.6g}, the way back included; at most {instance.maxlen:.6g}"
        raise CandidateError(
            f"the path has length {length} is allowed; from node {nodes[late[0]]} it gets home too late"
        )
    return nodes


def objective(instance: OpInstance, path: NDArray[np.int64]) -> float:
    """Total prize of a path that `check` returned, the depot's own included; to be maximised."""
    return float(instance.prizes[path].sum())


def _draw_instance(coordinates: NDArray[np.float64]) -> OpInstance:
    return OpInstance(coordinates, distant_prizes(coordinates), usual_bound(len(coordinates)))
