"""Instances of the neural solvers: ReEvo's stream, bit for bit and without PyTorch, and the test files of LEHD.

PyTorch's generator on CPUs is the same Mersenne Twister as numpy's legacy one. They differ only in the conversion of
its words.

The test files (Luo et al. 2023, arXiv:2310.07985; CIAM-Group/NCO_code; 200 and 500 nodes in the unit square) are for
non-commercial use. They do not ship with oragent; users provide them. The parts are those of ReEvo
(Ye et al. 2024, arXiv:2402.01145): lines 0 to 9 for ``train``, 10 to 41 for ``val``, 64 to 127 for ``test``.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import ProblemError
from oragent.domains import cvrp, streams, tsp

SIZES = (200, 500, 1000)
LEHD_SIZES = (200, 500)
PARTS = {"train": range(10), "val": range(10, 42), "test": range(64, 128)}
T = TypeVar("T")
# Number of instances of each size.
COUNT = 10
CAPACITIES = {200: 80, 500: 100, 1000: 250, 2000: 300}
# Capacities of sets with other vehicles, as multiples of the usual one.
FACTORS = {"small_vehicles": 0.25, "large_vehicles": 5}
# Sets of a larger size or another distribution, and the number of their instances: few, because networks are slow.
TOUR_SETS = dict.fromkeys(("twice", *tsp.LAYOUTS), 4)
ROUTE_SETS = TOUR_SETS | dict.fromkeys(FACTORS, 4)
_DRAWN = {"train": 10, "val": 64, "test": 64}


def tsp_stream(mode: str, size: int, fresh_seed: int | None = None, count: int = COUNT) -> list[tsp.TspInstance]:
    """Draw the first instances of one part of ReEvo's stream (Ye et al. 2024, arXiv:2402.01145).

    Args:
        mode: ``train``, ``val`` or ``test``; or a set of larger instances or of another layout, as in `tsp.stream`.
        size: 200, 500 or 1000; of a set, any size.
        fresh_seed: Seed of a fresh set, with as many instances as ``test`` has of the size; None for a part of the
            stream.
        count: Number of instances, at most; ``val`` and ``test`` have 64.

    Raises:
        ValueError: if the stream has no such part.
    """
    if mode in TOUR_SETS:
        return tsp.stream(tsp.ACO_STREAM, mode, size)[: min(count, TOUR_SETS[mode])]
    generator = _Generator(mode, size, fresh_seed)
    for cities, drawn in _stream_parts(mode, size, fresh_seed):
        coordinates = generator.uniform(drawn, cities, 2)
    return [tsp.TspInstance(points.astype(np.float64)) for points in coordinates[:count]]


def cvrp_stream(mode: str, size: int, fresh_seed: int | None = None, count: int = COUNT) -> list[cvrp.CvrpInstance]:
    """Draw the first instances of one part of the stream for routes; arguments as for `tsp_stream`.

    In a set, too, the depot is anywhere in the unit square. Its sizes are those of `CAPACITIES`.
    """
    if mode in ROUTE_SETS and size in CAPACITIES:
        return streams.draw_part(
            (), mode, size, None, "attention routes", partial(_lay_out_routes, mode), None, ROUTE_SETS
        )[:count]
    generator = _Generator(mode, size, fresh_seed)
    for customers, drawn in _stream_parts(mode, size, fresh_seed):
        depots, points = generator.uniform(drawn, 1, 2), generator.uniform(drawn, customers, 2)
        demands = generator.integers(1, 10, drawn, customers)
    coordinates = np.concatenate((depots, points), axis=1).astype(np.float64)
    loads = np.pad(demands, ((0, 0), (1, 0)))
    return [
        cvrp.CvrpInstance(where, load, CAPACITIES[size])
        for where, load in zip(coordinates[:count], loads[:count], strict=True)
    ]


def _lay_out_routes(mode: str, rng: np.random.RandomState, count: int, size: int) -> Iterable[cvrp.CvrpInstance]:
    """Draw instances of a set."""
    capacity = int(CAPACITIES[size] * FACTORS.get(mode, 1))
    for _ in range(count):
        depot, customers = rng.rand(1, 2), tsp.lay_out(mode, rng.rand(size, 2), rng)
        demands = np.append(0, rng.randint(1, cvrp.MAX_DEMAND + 1, size)).astype(np.int64)
        yield cvrp.CvrpInstance(np.concatenate((depot, customers)), demands, capacity)


def _stream_parts(mode: str, size: int, fresh_seed: int | None) -> Iterator[tuple[int, int]]:
    """Yield sizes and counts up to the requested part; the single generator draws and discards the earlier ones."""
    if fresh_seed is not None and size in SIZES:
        return iter([(size, COUNT)])
    if mode not in _DRAWN or size not in SIZES:
        offered = f"modes {', '.join(_DRAWN)} and sizes {', '.join(map(str, SIZES))}"
        raise ValueError(f"the stream has no {mode} instances of size {size}; it has {offered}")
    return ((part, _DRAWN[mode]) for part in SIZES[: SIZES.index(size) + 1])


class _Generator:
    """Generator equal to ``torch.manual_seed(len(mode))``; for a fresh set, the words of another generator."""

    def __init__(self, mode: str, size: int, fresh_seed: int | None) -> None:
        anew = None if fresh_seed is None else streams.legacy(fresh_seed, "attention", size)
        self._words = anew or np.random.RandomState(len(mode))

    def uniform(self, *shape: int) -> NDArray[np.float32]:
        """Draw as ``torch.rand``: the lower 24 bits of each word."""
        return ((self._next_words(shape) & 0xFFFFFF) * 2.0**-24).astype(np.float32)

    def integers(self, low: int, high: int, *shape: int) -> NDArray[np.int64]:
        """Draw as ``torch.randint``: the remainder of each word."""
        return (low + self._next_words(shape) % (high - low)).astype(np.int64)

    def _next_words(self, shape: tuple[int, ...]) -> NDArray[np.uint32]:
        return self._words.randint(0, 1 << 32, shape, dtype=np.uint32)


def tours(folder: Path, mode: str, size: int) -> list[tsp.TspInstance]:
    """Read cities of one part of ``test_TSP<size>_n128.txt``.

    Raises:
        ProblemError: with the name of the file, if it is missing or not as expected; or if the part or size does not
            exist.
    """
    return _read_part(folder / f"test_TSP{size}_n128.txt", mode, size, lambda row: _parse_tour(row, size))


def routes(folder: Path, mode: str, size: int) -> list[cvrp.CvrpInstance]:
    """Read customers of one part of ``vrp<size>_test_lkh.txt``; arguments and errors as for ``tours``."""
    return _read_part(folder / f"vrp{size}_test_lkh.txt", mode, size, lambda row: _parse_route(row, size))


def _read_part(path: Path, mode: str, size: int, read: Callable[[str], T]) -> list[T]:
    if size not in LEHD_SIZES or mode not in PARTS:
        offered = f"sizes {' and '.join(map(str, LEHD_SIZES))}, modes {', '.join(PARTS)}"
        raise ProblemError(f"LEHD's test files have no {mode} instances of size {size}: they have {offered}")
    if not path.is_file():
        raise ProblemError(
            f"{path} is missing: put LEHD's test file there (CIAM-Group/NCO_code, for non-commercial use), "
            "or leave --protocol=oragent away"
        )
    numbers = PARTS[mode]
    with path.open(encoding="utf-8") as lines:
        chosen = [row for number, row in enumerate(lines) if number in numbers]
    if len(chosen) < len(numbers):
        raise ProblemError(f"{path} has too few lines: expected {numbers.stop}, one per instance")
    try:
        return [read(row) for row in chosen]
    except (ValueError, IndexError, LookupError) as problem:
        raise ProblemError(f"{path} is not LEHD's test file of {size} nodes: {problem}") from None


def _parse_tour(row: str, size: int) -> tsp.TspInstance:
    words = row.split()
    end = words.index("output")
    return tsp.TspInstance(_parse_points(words[:end], size))


def _parse_route(row: str, size: int) -> cvrp.CvrpInstance:
    words = [word.strip() for word in row.split(",")]
    at = {name: words.index(name) for name in ("depot", "customer", "capacity", "demand", "cost")}
    points = _parse_points(
        words[at["depot"] + 1 : at["customer"]] + words[at["customer"] + 1 : at["capacity"]], size + 1
    )
    demands = [int(float(word)) for word in words[at["demand"] + 1 : at["cost"]]]
    # Some files omit the demand of the depot.
    if len(demands) == size:
        demands = [0, *demands]
    return cvrp.CvrpInstance(points, np.array(demands, dtype=np.int64), int(float(words[at["capacity"] + 1])))


def _parse_points(words: list[str], count: int) -> np.ndarray:
    points = np.array(words, dtype=float).reshape(-1, 2)
    if len(points) != count:
        raise ValueError(f"{len(points)} nodes in one line; expected {count}")
    return points
