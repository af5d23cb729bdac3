"""The instances on which ReEvo reshapes attention, bit for bit and without PyTorch.

PyTorch's generator on CPUs is the same Mersenne Twister as numpy's legacy one; only what is made of its words differs.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from oragent.domains import cvrp, fresh, tsp

SIZES = (200, 500, 1000)
COUNT = 10  # instances used of each size
CAPACITIES = {200: 80, 500: 100, 1000: 250}
_DRAWN = {"train": 10, "val": 64, "test": 64}


def tsp_stream(mode: str, size: int, fresh_seed: int | None = None, count: int = COUNT) -> list[tsp.TspInstance]:
    """Draw the first cities of one part of ReEvo's stream (Ye et al. 2024, arXiv:2402.01145).

    Args:
        mode: ``train``, ``val`` or ``test``.
        size: 200, 500 or 1000.
        fresh_seed: Seed of a fresh set, with as many instances as ``test`` has of the size; None for a part of the
            stream.
        count: Number of instances, at most; 64 is all of ``val`` and ``test``.

    Raises:
        ValueError: if the stream has no such part.
    """
    generator = _Generator(mode, size, fresh_seed)
    for cities, drawn in _stream_parts(mode, size, fresh_seed):
        coordinates = generator.uniform(drawn, cities, 2)
    return [tsp.TspInstance(points.astype(np.float64)) for points in coordinates[:count]]


def cvrp_stream(mode: str, size: int, fresh_seed: int | None = None, count: int = COUNT) -> list[cvrp.CvrpInstance]:
    """Draw the first depots, customers and demands of one part of the stream; arguments as for `tsp_stream`."""
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


def _stream_parts(mode: str, size: int, fresh_seed: int | None) -> Iterator[tuple[int, int]]:
    """Sizes and counts up to the wanted one: all come from one generator, so those before it are drawn and dropped."""
    if fresh_seed is not None and size in SIZES:
        return iter([(size, COUNT)])
    if mode not in _DRAWN or size not in SIZES:
        offered = f"modes {', '.join(_DRAWN)} and sizes {', '.join(map(str, SIZES))}"
        raise ValueError(f"the stream has no {mode} instances of size {size}; it has {offered}")
    return ((part, _DRAWN[mode]) for part in SIZES[: SIZES.index(size) + 1])


class _Generator:
    """``torch.manual_seed(len(mode))`` and what is drawn after it; for a fresh set, another generator's words."""

    def __init__(self, mode: str, size: int, fresh_seed: int | None) -> None:
        anew = None if fresh_seed is None else fresh.legacy(fresh_seed, "attention", size)
        self._words = anew or np.random.RandomState(len(mode))

    def uniform(self, *shape: int) -> NDArray[np.float32]:
        """``torch.rand``: the lower 24 bits of each word."""
        return ((self._next_words(shape) & 0xFFFFFF) * 2.0**-24).astype(np.float32)

    def integers(self, low: int, high: int, *shape: int) -> NDArray[np.int64]:
        """``torch.randint``: the remainder of each word."""
        return (low + self._next_words(shape) % (high - low)).astype(np.int64)

    def _next_words(self, shape: tuple[int, ...]) -> NDArray[np.uint32]:
        return self._words.randint(0, 1 << 32, shape, dtype=np.uint32)
