"""The orienteering problem: collect maximum prize on a tour of bounded length from a depot and back."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.domains import streams, tsp

# Tolerance for sums of the same lengths in another order.
TOLERANCE = 1e-9


_SIZES = (50, 100, 200)
# Rows (mode, nodes, instances), in the order in which the generator of each mode draws them.
ACO_STREAM = (
    ("train", 50, 5),
    *(("val", size, 64) for size in _SIZES),
    *(("test", size, 64) for size in _SIZES),
)
SEEDS = {"train": 1234, "val": 3456, "test": 4567}


@dataclass(frozen=True, eq=False)
class OpInstance(tsp.Nodes):
    """Depot, which is node 0, and nodes with prizes in the plane; raises `ValueError` for invalid values."""

    # Prizes of the nodes, ``(n,)`` float array, not negative.
    prizes: NDArray[np.float64]
    # Maximum length of a tour, including the return to the depot, in the unit of the coordinates.
    maxlen: float

    def __post_init__(self) -> None:
        if self.prizes.shape != (len(self.nodes),):
            raise ValueError(f"prizes must have shape ({len(self.nodes)},), not {self.prizes.shape}")
        if not (np.isfinite(self.prizes).all() and self.prizes.min() >= 0):
            raise ValueError("prizes must be finite and not negative")
        if not 0 <= self.maxlen < np.inf:
            raise ValueError(f"maxlen must be finite and not negative, not {self.maxlen}")


def distant_prizes(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return prizes that grow with distance from the depot, in hundredths: 0.01 at the depot, 1 at the farthest node.

    Source: Fischetti, Salazar Gonzalez and Toth 1998, Solving the orienteering problem through branch-and-cut,
    DOI 10.1287/ijoc.10.2.133, third type of prizes; as in ReEvo.
    """
    # This order of operations is that of ReEvo, where rounding can turn 99 into 98. The farthest node then has 99 parts
    # and still prize 1.
    away = np.sqrt(((coordinates - coordinates[0]) ** 2).sum(axis=1))
    prizes = 1 + np.floor(99 * away / (away.max() or 1.0))
    return np.asarray(prizes / prizes.max())


def usual_bound(size: int) -> float:
    """Return the usual bound on a tour in the unit square.

    It is 3 for up to 50 nodes, 4 for up to 100, 5 for up to 200, 6 for up to 300, and otherwise 7.
    """
    return float(3 + np.searchsorted((50, 100, 200, 300), size))


def generate(rng: np.random.Generator, size: int) -> OpInstance:
    """Draw ``size`` nodes uniformly in the unit square, depot first, with distant prizes and the usual bound."""
    return _draw_instance(rng.random((size, 2)))


def stream(mode: str, size: int, fresh_seed: int | None = None) -> list[OpInstance]:
    """Draw one part of the reference streams of ReEvo (Ye et al. 2024, arXiv:2402.01145), bit for bit.

    Each mode has its own generator. Earlier sizes are drawn and discarded.

    Arguments and errors are those of `tsp.stream`; ``size`` is the number of nodes, including the depot.
    """
    return streams.draw_part(
        ACO_STREAM,
        mode,
        size,
        fresh_seed,
        "op",
        lambda rng, *shape: (_draw_instance(tsp.lay_out(mode, points, rng)) for points in rng.rand(*shape, 2)),
        SEEDS,
        streams.LARGER | tsp.LAYOUTS,
    )


def check(instance: OpInstance, path: Any) -> NDArray[np.int64]:
    """Check that a path starts at the depot, visits no node twice, and respects the length bound.

    Args:
        instance: Depot, prizes and bound.
        path: Untrusted value. A valid path is a sequence of nodes that starts with 0; the return from its last node to
            the depot is implied.

    Returns:
        The path as a ``(k,)`` array.

    Raises:
        CandidateError: ``invalid``, with the reason, if the path is not valid.
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
            f"the path has length {length} is allowed; from node {nodes[late[0]]} the tour returns too late"
        )
    return nodes


def objective(instance: OpInstance, path: NDArray[np.int64]) -> float:
    """Return the total prize of a path that `check` returned, including the depot's; to be maximised."""
    return float(instance.prizes[path].sum())


def _draw_instance(coordinates: NDArray[np.float64]) -> OpInstance:
    return OpInstance(coordinates, distant_prizes(coordinates), usual_bound(len(coordinates)))
