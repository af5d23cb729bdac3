"""Instances of capacitated routing as in set X: drawn as its authors describe, or read from their files.

Source: Uchoa, Pecin, Pessoa, Poggi, Vidal, Subramanian (2017), New benchmark instances for the capacitated vehicle
routing problem, European Journal of Operational Research 257(3), section 4.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

GRID = 1000  # coordinates are whole numbers from 0 to this
DECAY = 40  # of the density of customers around the seeds of clusters
# Sets of other instances: customers in clusters alone, and routes of so many customers, as a triangular distribution.
CLUSTERED, LONG_ROUTES = "clustered", "long_routes"
ROUTE_SIZES = {LONG_ROUTES: (25, 40, 60)}
DEMANDS = ((1, 1), (1, 10), (5, 10), (1, 100), (50, 100), "quadrants", "few large")


@dataclass(frozen=True, eq=False)
class Instance:
    """Depot, which is node 0, and customers on a grid."""

    # ``(n + 1, 2)`` whole numbers.
    coordinates: NDArray[np.int64]
    # ``(n + 1,)`` whole numbers, 0 at the depot.
    demands: NDArray[np.int64]
    capacity: int

    @property
    def size(self) -> int:
        """Number of customers."""
        return len(self.demands) - 1

    @property
    def distances(self) -> NDArray[np.int64]:
        """Euclidean distances, rounded to the nearest whole number, as the set X prescribes, ``(n + 1, n + 1)``."""
        offsets = self.coordinates[:, None] - self.coordinates[None]
        return np.floor(np.hypot(offsets[..., 0], offsets[..., 1]) + 0.5).astype(np.int64)

    def estimate_length(self) -> float:
        """Estimate the length of good routes, so that instances of different scales count alike.

        The way to the customers and back, plus a tour through all of them (Daganzo 1984).
        """
        radial = 2 * float(self.demands @ self.distances[0]) / self.capacity
        area = float(np.prod(np.ptp(self.coordinates, axis=0)))
        return radial + 0.7124 * math.sqrt(area * self.size)


def draw(rng: np.random.Generator, size: int, mode: str = "") -> Instance:
    """Draw an instance with ``size`` customers: place of the depot, clusters, demands and capacity are random.

    Those of ``clustered`` and ``long_routes`` differ as these names say.
    """
    depot = ((GRID // 2, GRID // 2), (0, 0), tuple(rng.integers(0, GRID + 1, 2).tolist()))[rng.integers(3)]
    scattered = (size, 0, size // 2)[rng.integers(3)] if mode != CLUSTERED else 0
    points = {depot: None}
    seeds = _draw_points(rng, points, min(int(rng.integers(3, 9)), size) if scattered < size else scattered)
    _draw_points(rng, points, max(scattered - len(points) + 1, 0))
    while len(points) <= size:
        point = rng.integers(0, GRID + 1, 2)
        if rng.random() < np.exp(-np.hypot(*(seeds - point).T) / DECAY).sum():
            points[tuple(point.tolist())] = None
    coordinates = np.array(list(points))
    demands = np.append(0, _draw_demands(rng, coordinates[1:]))
    route_size = rng.triangular(*ROUTE_SIZES.get(mode, (3, 6, 25)))
    capacity = max(math.ceil(route_size * demands.sum() / size), int(demands.max()))
    return Instance(coordinates, demands, capacity)


def _draw_points(rng: np.random.Generator, points: dict[tuple[int, int], None], count: int) -> NDArray[np.int64]:
    """Add ``count`` different points, and return them, ``(count, 2)``."""
    before = len(points)
    while len(points) < before + count:
        points[tuple(rng.integers(0, GRID + 1, 2).tolist())] = None
    return np.array(list(points)[before:]).reshape(-1, 2)


def _draw_demands(rng: np.random.Generator, customers: NDArray[np.int64]) -> NDArray[np.int64]:
    kind = DEMANDS[rng.integers(len(DEMANDS))]
    count = len(customers)
    if kind == "quadrants":  # large in two opposite quadrants
        large = (customers[:, 0] < GRID / 2) == (customers[:, 1] < GRID / 2)
        return np.where(large, rng.integers(51, 101, count), rng.integers(1, 51, count))
    if kind == "few large":
        large = rng.random(count) > rng.uniform(0.7, 0.95)
        return np.where(large, rng.integers(50, 101, count), rng.integers(1, 11, count))
    low, high = kind
    return rng.integers(low, high + 1, count)


def read(path: Path) -> Instance:
    """Read a file of the set X; raises `ValueError` if it is another kind of file."""
    text = path.read_text(encoding="utf-8")
    capacity = re.search(r"^CAPACITY\s*:\s*(\d+)", text, re.MULTILINE)
    depots = _read_section(text, "DEPOT_SECTION")
    if "EUC_2D" not in text or capacity is None or depots.flat[:1].tolist() != [1]:
        raise ValueError(f"{path.name}: expected a CVRP with EDGE_WEIGHT_TYPE EUC_2D, a CAPACITY, and node 1 as depot")
    coordinates, demands = _read_section(text, "NODE_COORD_SECTION"), _read_section(text, "DEMAND_SECTION")
    if coordinates.shape[1] != 3 or demands.shape != (len(coordinates), 2):
        raise ValueError(f"{path.name}: expected two whole coordinates and a demand for each node")
    return Instance(coordinates[:, 1:], demands[:, 1], int(capacity[1]))


def _read_section(text: str, name: str) -> NDArray[np.int64]:
    section = re.search(rf"^{name}\s*\n([-\d\s]+)", text, re.MULTILINE)
    rows = [row.split() for row in section[1].strip().splitlines()] if section else []
    if len({len(row) for row in rows}) != 1:
        return np.empty((0, 0), dtype=np.int64)
    return np.array(rows).astype(np.int64)


def read_folder(folder: Path) -> Mapping[int, list[Instance]]:
    """Read all files ``*.vrp`` of a folder, by number of customers; raises `ValueError` if there is none."""
    by_size: dict[int, list[Instance]] = {}
    for path in sorted(folder.glob("*.vrp")):
        instance = read(path)
        by_size.setdefault(instance.size, []).append(instance)
    if not by_size:
        raise ValueError(f"no file *.vrp in {folder}: put instances of the set X of CVRPLIB there")
    return by_size
