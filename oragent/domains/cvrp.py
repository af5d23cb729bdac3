"""Capacitated vehicle routing: find the shortest routes from one depot that serve every customer."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.domains import streams, tsp

CAPACITY, MAX_DEMAND = 50, 9
# Capacities of sets with other vehicles.
CAPACITIES = {"small_vehicles": 15, "large_vehicles": 250}
CENTRE = (0.5, 0.5)


_SIZES = (20, 50, 100)
# Rows (mode, customers, instances), in the order in which they are drawn.
ACO_STREAM = (
    ("train", 50, 10),
    *(("val", size, 64) for size in _SIZES),
    *(("test", size, 64) for size in _SIZES),
)


@dataclass(frozen=True, eq=False)
class CvrpInstance(tsp.Nodes):
    """Depot, which is node 0, and customers in the plane; raises `ValueError` if the values are out of range."""

    # Demands, ``(n,)`` int64 array: 0 at the depot, 0 to ``capacity`` at customers.
    demands: NDArray[np.int64]
    # Capacity of a vehicle, positive.
    capacity: int

    def __post_init__(self) -> None:
        if self.demands.shape != (len(self.nodes),) or self.demands.dtype != np.int64:
            expected = f"an int64 array of shape ({len(self.nodes)},)"
            raise ValueError(f"demands must be {expected}, not {self.demands.dtype} of shape {self.demands.shape}")
        if self.capacity <= 0:
            raise ValueError(f"capacity must be positive, not {self.capacity}")
        if self.demands[0] != 0:
            raise ValueError(f"the depot must have demand 0, not {self.demands[0]}")
        if self.demands.min() < 0 or self.demands.max() > self.capacity:
            raise ValueError(f"demands must be 0 to {self.capacity}, not {self.demands.min()} to {self.demands.max()}")


def generate(rng: np.random.Generator, size: int, capacity: int = CAPACITY) -> CvrpInstance:
    """Draw ``size`` customers in the unit square around a depot at its centre, with demands from 1 to 9."""
    return _draw_instance(rng.random((size, 2)), rng.integers(1, MAX_DEMAND + 1, size), capacity)


def stream(mode: str, size: int, fresh_seed: int | None = None) -> list[CvrpInstance]:
    """Draw one part of the reference stream of ReEvo (Ye et al. 2024, arXiv:2402.01145), bit for bit.

    All parts come from one generator seeded with 1234, so earlier parts are drawn and discarded.

    Arguments and errors are those of `tsp.stream`; ``size`` is the number of customers.
    """

    def draw(rng: np.random.RandomState, count: int, size: int) -> Iterable[CvrpInstance]:
        drawn = [(rng.rand(size, 2), rng.randint(1, MAX_DEMAND + 1, size)) for _ in range(count)]
        capacity = CAPACITIES.get(mode, CAPACITY)
        return (_draw_instance(tsp.lay_out(mode, points, rng), demands, capacity) for points, demands in drawn)

    others = streams.LARGER | tsp.LAYOUTS | dict.fromkeys(CAPACITIES, streams.OTHERS)
    return streams.draw_part(ACO_STREAM, mode, size, fresh_seed, "cvrp", draw, others=others)


def check(instance: CvrpInstance, path: Any) -> NDArray[np.int64]:
    """Check that routes serve every customer once and overload no vehicle.

    Args:
        instance: Depot and customers.
        path: Untrusted value. Valid routes are one sequence of nodes that starts and ends at the depot, 0, and
            returns to the depot between two routes.

    Returns:
        The path as a ``(k,)`` array.

    Raises:
        CandidateError: ``invalid``, with the reason, if the routes are not valid.
    """
    nodes = streams.whole_numbers(path, "a set of routes", "node", len(instance))
    if not nodes.size or nodes[0] or nodes[-1]:
        ends = f"not at {nodes[0]} and {nodes[-1]}" if nodes.size else "but are empty"
        raise CandidateError(f"the routes must start and end at the depot, node 0, {ends}")
    visits = np.bincount(nodes, minlength=len(instance))
    # The depot may be visited any number of times.
    visits[0] = 1
    if (repeated := np.flatnonzero(visits > 1)).size:
        raise CandidateError(f"the routes visit customer {repeated[0]} {visits[repeated[0]]} times; expected once")
    if (missing := np.flatnonzero(visits == 0)).size:
        raise CandidateError(
            f"the routes leave out {missing.size} of {len(instance) - 1} customers, such as {missing[0]}"
        )
    for number, route in enumerate(split(nodes)):
        if (load := int(instance.demands[route].sum())) > instance.capacity:
            customers = ", ".join(map(str, route.tolist()))
            raise CandidateError(f"route {number} ({customers}) carries {load}; the capacity is {instance.capacity}")
    return nodes


def estimate_length(instance: CvrpInstance) -> float:
    """Estimate the length of good routes: radial trips of full vehicles, and local detours (Daganzo 1984)."""
    radial = float(instance.demands @ instance.distances[0]) / instance.capacity
    return float(2 * radial + 0.57 * len(instance) ** 0.5)


def objective(instance: CvrpInstance, path: NDArray[np.int64]) -> float:
    """Return the total length of routes that `check` returned; to be minimised."""
    return tsp.objective(instance.nodes, path)


def split(path: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the customers of each route of a path, in order, without the depot and without empty routes."""
    return [route[route > 0] for route in np.split(path, np.flatnonzero(path == 0)) if (route > 0).any()]


def least_routes(instance: CvrpInstance) -> int:
    """Return a lower bound on the number of routes: total demand over capacity, rounded up."""
    return -(-int(instance.demands.sum()) // instance.capacity)


def spread(instance: CvrpInstance, path: NDArray[np.int64]) -> float:
    """Return the mean angle between consecutive customers of a route, seen from the depot, in radians.

    The value is 0 if every route lies in one direction or serves one customer. It is about pi/2 if the order of the
    customers does not depend on their direction.
    """
    east, north = (instance.coordinates - instance.coordinates[0]).T
    headings = np.arctan2(north, east)
    steps = (path[:-1] > 0) & (path[1:] > 0)
    turns = np.abs(headings[path[1:]] - headings[path[:-1]])[steps]
    if turns.size:
        return float(np.minimum(turns, 2 * np.pi - turns).mean())
    return 0.0


def _draw_instance(customers: NDArray[np.float64], demands: NDArray[np.integer[Any]], capacity: int) -> CvrpInstance:
    return CvrpInstance(np.vstack((CENTRE, customers)), np.append(0, demands).astype(np.int64), capacity)
