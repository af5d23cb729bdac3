"""Bin packing: put all items into as few bins of equal capacity as possible."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.domains import streams

WEIBULL_CAPACITY, WEIBULL_SCALE, WEIBULL_SHAPE = 100, 45.0, 3.0
UNIFORM_CAPACITY, UNIFORM_LEAST, UNIFORM_MOST = 150, 20, 100
# Scale of a set of smaller items.
SMALL_SCALE = 30.0
LARGE_CAPACITIES = {"weibull": 150, "uniform": 500}
TRIPLET_CAPACITY = 1000
WEIBULL_STREAM = (("train", 5000, 5), ("val", 5000, 5), ("test", 5000, 5), ("test", 10000, 5))
# Rows (mode, items, instances), in the order in which the generator of each mode draws them.
UNIFORM_STREAM = (
    ("train", 500, 5),
    *(("val", size, 64) for size in (120, 500, 1000)),
    *(("test", size, 64) for size in (120, 500, 1000)),
)
UNIFORM_SEEDS = {"train": 5, "val": 3, "test": 4}


@dataclass(frozen=True, eq=False)
class BppInstance:
    """Items to pack, in order of arrival; raises `ValueError` if the values are out of range."""

    # Sizes of the items, ``(n,)`` int64 array, 0 to ``capacity``.
    items: NDArray[np.int64]
    # Capacity of every bin, positive.
    capacity: int

    def __post_init__(self) -> None:
        if self.items.ndim != 1 or self.items.dtype != np.int64 or self.items.size == 0:
            raise ValueError(f"items must be a flat int64 array, not {self.items.dtype} of shape {self.items.shape}")
        if self.capacity <= 0:
            raise ValueError(f"capacity must be positive, not {self.capacity}")
        if self.items.min() < 0 or self.items.max() > self.capacity:
            raise ValueError(f"items must be 0 to {self.capacity}, not {self.items.min()} to {self.items.max()}")

    def __len__(self) -> int:
        return len(self.items)


def generate_weibull(rng: np.random.Generator, size: int) -> BppInstance:
    """Draw ``size`` items of the Weibull benchmark: capacity 100, sizes min(45 w, 100) rounded, w of shape 3.

    Source: Castineiras, De Cauwer and O'Sullivan 2012, Weibull-based benchmarks for bin packing,
    DOI 10.1007/978-3-642-33558-7_18.
    """
    return BppInstance(_draw_sizes(rng.weibull(WEIBULL_SHAPE, size)), WEIBULL_CAPACITY)


def weibull_stream(mode: str, size: int, fresh_seed: int | None = None) -> list[BppInstance]:
    """Draw one part of the online benchmark: train, then val, then test, from one generator seeded with 1234.

    The settings are those of ReEvo (Ye et al. 2024, arXiv:2402.01145). ReEvo sets no seed, so the seed was chosen here.

    Arguments and errors are those of `tsp.stream`; ``size`` is the number of items: 5000, and in ``test`` 10000 too.
    """

    def draw(rng: np.random.RandomState, *shape: int) -> Iterable[BppInstance]:
        if mode == "uniform_items":
            items = rng.randint(UNIFORM_LEAST, UNIFORM_MOST + 1, shape, np.int64)
            return (BppInstance(row, UNIFORM_CAPACITY) for row in items)
        if mode == "all_sizes":
            items = rng.randint(1, WEIBULL_CAPACITY + 1, shape, np.int64)
            return (BppInstance(row, WEIBULL_CAPACITY) for row in items)
        if mode == "adversarial":
            return (BppInstance(_breed_sizes(row), WEIBULL_CAPACITY) for row in rng.rand(*shape))
        capacity = LARGE_CAPACITIES["weibull"] if mode == "large_bins" else WEIBULL_CAPACITY
        scale = SMALL_SCALE if mode == "small_items" else WEIBULL_SCALE
        return (BppInstance(_draw_sizes(row, scale), capacity) for row in rng.weibull(WEIBULL_SHAPE, shape))

    names = "large_bins", "uniform_items", "small_items", "all_sizes", "adversarial"
    others = streams.LARGER | dict.fromkeys(names, streams.OTHERS)
    return streams.draw_part(WEIBULL_STREAM, mode, size, fresh_seed, "bpp weibull", draw, others=others)


def generate_uniform(rng: np.random.Generator, size: int) -> BppInstance:
    """Draw ``size`` items of Falkenauer's uniform class: capacity 150, integer sizes uniform in 20 to 100.

    Source: Falkenauer 1996, A hybrid grouping genetic algorithm for bin packing, DOI 10.1007/BF00226291.
    """
    return BppInstance(rng.integers(UNIFORM_LEAST, UNIFORM_MOST + 1, size), UNIFORM_CAPACITY)


def uniform_stream(mode: str, size: int, fresh_seed: int | None = None) -> list[BppInstance]:
    """Draw one part of the offline stream of ReEvo (Ye et al. 2024, arXiv:2402.01145), bit for bit.

    Each mode has its own generator. Earlier parts of the same mode are drawn and discarded.

    Arguments and errors are those of `tsp.stream`; ``size`` is the number of items.
    """

    def draw(rng: np.random.RandomState, *shape: int) -> Iterable[BppInstance]:
        if mode == "triplets":
            return (_draw_triplets(rng, shape[1]) for _ in range(shape[0]))
        drawn = rng.randint(UNIFORM_LEAST, UNIFORM_MOST + 1, shape, np.int64)
        capacity = LARGE_CAPACITIES["uniform"] if mode == "large_bins" else UNIFORM_CAPACITY
        return (BppInstance(row, capacity) for row in drawn)

    others = streams.LARGER | dict.fromkeys(("large_bins", "triplets"), streams.OTHERS)
    return streams.draw_part(UNIFORM_STREAM, mode, size, fresh_seed, "bpp uniform", draw, UNIFORM_SEEDS, others)


def check(instance: BppInstance, assignment: Any) -> NDArray[np.int64]:
    """Check that a packing contains every item and overfills no bin.

    Args:
        instance: Items to pack.
        assignment: Untrusted value. A valid packing is a sequence of ``n`` bin numbers, 0 to ``n - 1``, one per item.

    Returns:
        The packing as an ``(n,)`` array.

    Raises:
        CandidateError: ``invalid``, with the reason, if the packing is not valid.
    """
    bins = streams.whole_numbers(assignment, "a packing", "bin", len(instance))
    if len(bins) != len(instance):
        raise CandidateError(f"the packing places {len(bins)} items; expected {len(instance)}")
    loads = fills(instance, bins)
    if loads.max() > instance.capacity:
        fullest = int(loads.argmax())
        raise CandidateError(f"bin {fullest} holds {loads[fullest]}; its capacity is {instance.capacity}")
    return bins


def objective(instance: BppInstance, assignment: NDArray[np.int64]) -> int:
    """Return the number of bins used by a packing that `check` returned; to be minimised."""
    return len(np.unique(assignment))


def fills(instance: BppInstance, assignment: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the total size in each bin, from bin 0 to the last used bin; an empty bin has total 0."""
    loads = np.zeros(int(assignment.max()) + 1, np.int64)
    np.add.at(loads, assignment, instance.items)
    return loads


def wait(assignment: NDArray[np.int64]) -> float:
    """Return the mean number of arrivals between consecutive items of a bin; 0 if no bin has two items."""
    order = np.argsort(assignment, kind="stable")
    together = np.diff(assignment[order]) == 0
    if together.any():
        return float(np.diff(order)[together].mean())
    return 0.0


def lower_bound(instance: BppInstance) -> int:
    """Return the L1 lower bound on the number of bins: total size over capacity, rounded up.

    Source: Martello and Toth 1990, Lower bounds and reduction procedures for the bin packing problem,
    DOI 10.1016/0166-218X(90)90094-S.
    """
    return -(-int(instance.items.sum()) // instance.capacity)


def _draw_sizes(weibull: NDArray[np.float64], scale: float = WEIBULL_SCALE) -> NDArray[np.int64]:
    return np.rint(np.minimum(scale * weibull, WEIBULL_CAPACITY)).astype(np.int64)


def _breed_sizes(draws: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return sizes around 42, which the example ``hard_items`` bred against FunSearch's rule, from uniform draws."""
    sizes = 46 * (-np.log1p(-draws)) ** 0.25 + 0.493 - (0.503 * np.round(4 * draws)) ** 4
    return np.rint(np.clip(sizes, 1, WEIBULL_CAPACITY)).astype(np.int64)


def _draw_triplets(rng: np.random.RandomState, size: int) -> BppInstance:
    """Draw items of Falkenauer's triplet class, of which three fill each bin; source as for `generate_uniform`."""
    first = rng.randint(380, 491, size // 3)
    second = rng.randint(250, (TRIPLET_CAPACITY - first) // 2 + 1)
    items = np.concatenate((first, second, TRIPLET_CAPACITY - first - second))
    return BppInstance(rng.permutation(items).astype(np.int64), TRIPLET_CAPACITY)
