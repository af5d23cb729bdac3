"""Good solutions for training and for measuring: computed once by an external solver, stored on disk in blocks.

``elkai`` (LKH; its licence is for research) labels tours, ``pyvrp`` labels routes. Only labels need these packages.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from oragent._base.distribution import package_install_command
from oragent._base.errors import ProblemError
from oragent._base.files import open_replacement

MAX_DEMAND = 9
# Share of the instances whose capacity differs from the usual one for their size.
OTHER_SHARE = 0.25
OTHER_CAPACITIES = (30, 100)


CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
# Number of instances per file.
BLOCK = 200
# Scale of coordinates, because both solvers compute with integers.
SCALE = 1_000_000
# Iterations of PyVRP; the first number gives routes about 0.5 % longer than the second.
ITERATIONS, CAREFUL_ITERATIONS = 200, 1000


def tsp_batch(rng: np.random.Generator, count: int, size: int) -> NDArray[np.float32]:
    """Draw ``(count, size, 2)`` coordinates."""
    return rng.random((count, size, 2), dtype=np.float32)


def cvrp_batch(
    rng: np.random.Generator, count: int, size: int, *, usual: bool = False
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
    """Draw ``(count, size + 1, 2)`` coordinates, ``(count, size + 1)`` demands and ``(count,)`` capacities."""
    coordinates = rng.random((count, size + 1, 2), dtype=np.float32)
    demands = rng.integers(1, MAX_DEMAND + 1, (count, size + 1))
    demands[:, 0] = 0
    is_other = (rng.random(count) < OTHER_SHARE) & (not usual)
    return (
        coordinates,
        demands,
        np.where(is_other, rng.integers(*OTHER_CAPACITIES, count, endpoint=True), capacity(size)),
    )


def capacity(size: int) -> int:
    """Return the usual capacity for a number of customers: 30, 40, 50 for 20, 50, 100, interpolated linearly."""
    return round(float(np.interp(size, (20, 50, 100), (30, 40, 50))))


def symmetric(rng: np.random.Generator, coordinates: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rotate and mirror each instance of a batch by one of the eight symmetries of the square."""
    turned = coordinates.copy()
    for axis in (0, 1):
        flip = rng.random(len(turned)) < 0.5
        turned[flip, :, axis] = 1 - turned[flip, :, axis]
    swap = rng.random(len(turned)) < 0.5
    turned[swap] = turned[swap][..., ::-1]
    return turned


@dataclass(frozen=True, eq=False)
class TrainingLabels:
    """Instances of one size and a good solution of each."""

    # Coordinates, ``(k, n, 2)`` float32, depot first for routes.
    coordinates: NDArray[np.float32]
    # Demands as shares of the capacity, ``(k, n)`` float32; empty for tours.
    demands: NDArray[np.float32]
    # Tours ``(k, n)``, or for routes ``(k, n - 1, 2)``: customers in order and whether each is reached via the depot;
    # int16.
    solutions: NDArray[np.int16]

    def __len__(self) -> int:
        return len(self.coordinates)


# Function that creates a block from its seed.
Make = Callable[[list[int]], TrainingLabels]


def tsp_labels(folder: Path, size: int, count: int, seed: int) -> TrainingLabels:
    """Load or create optimal tours (LKH's first solution, which is optimal for nearly all instances of these sizes).

    Args:
        folder: Folder of the blocks.
        size: Number of cities.
        count: Number of instances, rounded up to whole blocks.
        seed: Seed of the instances.

    Raises:
        ProblemError: if ``elkai`` is needed and missing.
    """
    return _labels(folder, f"tsp_{size}_seed{seed}", count, [seed, size], lambda: partial(_tsp_block, size))


def cvrp_labels(folder: Path, size: int, count: int, seed: int, *, careful: bool = False) -> TrainingLabels:
    """Load or create good routes; arguments as for `tsp_labels`, the solver is ``pyvrp``.

    With ``careful`` the routes are for measuring: the solver searches longer, and all capacities are the usual one.
    """
    name = f"cvrp_{size}_seed{seed}{'_careful' if careful else ''}"
    return _labels(folder, name, count, [seed, size], lambda: partial(_cvrp_block, size, careful=careful))


def _labels(folder: Path, name: str, count: int, seed: list[int], make: Callable[[], Make]) -> TrainingLabels:
    blocks = range(-(-count // BLOCK))
    paths = [folder / f"{name}_{block}.npz" for block in blocks]
    missing = [block for block in blocks if not paths[block].is_file()]
    for _ in tqdm(
        _made(make, seed, {block: paths[block] for block in missing}),
        f"labels {name}",
        len(missing),
        unit=" block",
        disable=None if missing else True,
    ):
        pass
    loaded = [dict(np.load(path)) for path in paths]
    return TrainingLabels(**{key: np.concatenate([block[key] for block in loaded])[:count] for key in loaded[0]})


def _made(make: Callable[[], Make], seed: list[int], missing: dict[int, Path]) -> Iterator[int]:
    """Create blocks on all cores, and yield each when it is stored; Ctrl-C loses only unfinished blocks."""
    if len(missing) < 2 or CORES < 2:
        for block, path in missing.items():
            yield _keep(make(), seed, block, path)
        return
    # New processes are spawned, because this process may have PyTorch threads, which make a fork unsafe.
    with ProcessPoolExecutor(min(CORES, len(missing)), get_context("spawn")) as pool:
        futures = [pool.submit(_keep, make(), seed, block, path) for block, path in missing.items()]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _keep(make: Make, seed: list[int], block: int, path: Path) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    labels = make([*seed, block])
    with open_replacement(path) as draft:
        np.savez_compressed(draft, **vars(labels))
    return block


def _tsp_block(size: int, seed: list[int]) -> TrainingLabels:
    solver = _solver("elkai")
    coordinates = tsp_batch(np.random.default_rng(seed), BLOCK, size)
    tours = [solver.DistanceMatrix(_whole(points).tolist()).solve_tsp(runs=1)[:-1] for points in coordinates]
    return TrainingLabels(coordinates, np.empty((BLOCK, 0), np.float32), np.array(tours, np.int16))


def _cvrp_block(size: int, seed: list[int], careful: bool) -> TrainingLabels:
    solver = _solver("pyvrp")
    rng = np.random.default_rng(seed)
    coordinates, demands, capacities = cvrp_batch(rng, BLOCK, size, usual=careful)
    solutions = [
        _routed(solver, points, demand, int(capacity), CAREFUL_ITERATIONS if careful else ITERATIONS)
        for points, demand, capacity in zip(coordinates, demands, capacities, strict=True)
    ]
    shares = (demands / capacities[:, None]).astype(np.float32)
    return TrainingLabels(coordinates, shares, np.array(solutions, np.int16))


def _routed(
    solver: Any, points: NDArray[np.float32], demands: NDArray[np.int64], capacity: int, iterations: int
) -> list[list[int]]:
    model = solver.Model()
    places = [model.add_location(float(x), float(y)) for x, y in points]
    model.add_depot(places[0])
    model.add_vehicle_type(num_available=len(points), capacity=capacity)
    for location, demand in zip(places[1:], demands[1:], strict=True):
        model.add_client(location, delivery=int(demand))
    for start, row in zip(places, _whole(points).tolist(), strict=True):
        for end, length in zip(places, row, strict=True):
            model.add_edge(start, end, length)
    best = model.solve(solver.stop.MaxIterations(iterations), seed=0, display=False).best
    routes = [[stop.idx + 1 for stop in route if stop.is_client()] for route in best.routes()]
    return [[customer, int(location == 0)] for route in routes for location, customer in enumerate(route)]


def _whole(points: NDArray[np.float32]) -> NDArray[np.int64]:
    wide = points.astype(np.float64)
    lengths: NDArray[np.float64] = np.sqrt(((wide[:, None] - wide) ** 2).sum(-1))
    return np.rint(SCALE * lengths).astype(np.int64)


def _solver(name: str) -> Any:
    try:
        import_module(f"{name}.stop" if name == "pyvrp" else name)
        return import_module(name)
    except ModuleNotFoundError:
        raise ProblemError(f"labels need {name}, which is not installed: {package_install_command(name)}") from None
