"""Random instances to train on: uniform in the unit square, demands from 1 to 9."""

import numpy as np
from numpy.typing import NDArray

LARGEST_DEMAND = 9
OTHER_SHARE = 0.25  # of the instances have another capacity than usual for their size
OTHER_CAPACITIES = (30, 100)


def tsp_batch(rng: np.random.Generator, count: int, size: int) -> NDArray[np.float32]:
    """Draw ``(count, size, 2)`` coordinates."""
    return rng.random((count, size, 2), dtype=np.float32)


def cvrp_batch(
    rng: np.random.Generator, count: int, size: int, *, usual: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Draw ``(count, size + 1, 2)`` coordinates, ``(count, size + 1)`` demands and ``(count,)`` capacities."""
    coordinates = rng.random((count, size + 1, 2), dtype=np.float32)
    demands = rng.integers(1, LARGEST_DEMAND + 1, (count, size + 1))
    demands[:, 0] = 0
    is_other = (rng.random(count) < OTHER_SHARE) & (not usual)
    return (
        coordinates,
        demands,
        np.where(is_other, rng.integers(*OTHER_CAPACITIES, count, endpoint=True), capacity(size)),
    )


def capacity(size: int) -> int:
    """The usual capacity for a number of customers: 30, 40 and 50 for 20, 50 and 100, on straight lines in between."""
    return round(float(np.interp(size, (20, 50, 100), (30, 40, 50))))


def symmetric(rng: np.random.Generator, coordinates: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn and mirror each instance of a batch by one of the eight symmetries of the square."""
    turned = coordinates.copy()
    for axis in (0, 1):
        flip = rng.random(len(turned)) < 0.5
        turned[flip, :, axis] = 1 - turned[flip, :, axis]
    swap = rng.random(len(turned)) < 0.5
    turned[swap] = turned[swap][..., ::-1]
    return turned
