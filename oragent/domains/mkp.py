"""The multidimensional knapsack problem: choose items of maximum prize that fit in every dimension."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.domains import streams

SEEDS = {"train": 1234, "val": 3456, "test": 4567}
# Rows (mode, items, instances), in the order in which the generator of each mode draws them.
STREAM = (
    ("train", 100, 5),
    *(("val", size, 5) for size in (100, 300, 500)),
    *(("test", size, 64) for size in (100, 200, 300, 500, 1000)),
)
DIMENSIONS = 5
# Capacity over the sum of all weights, in sets with other capacities and with prizes that correlate with weights. The
# latter are those of Chu and Beasley 1998, DOI 10.1023/A:1009642405419.
TIGHTNESS = {"tight": 0.1, "loose": 0.9, "correlated": 0.5}
# Tolerance: sums of weights are exact only up to rounding.
SLACK = 1e-9


@dataclass(frozen=True, eq=False)
class MkpInstance:
    """Items to choose from, at least one, with finite values; every dimension of the knapsack has capacity 1."""

    # Prizes of the items, ``(n,)`` float array, at least 0.
    prizes: NDArray[np.float64]
    # Weights of the items in every dimension, ``(n, m)`` float array, 0 to 1.
    weights: NDArray[np.float64]

    def __post_init__(self) -> None:
        if self.prizes.ndim != 1 or self.prizes.size == 0:
            raise ValueError(f"prizes must have shape (n,) with n > 0, not {self.prizes.shape}")
        if self.weights.ndim != 2 or len(self.weights) != len(self.prizes) or self.weights.shape[1] == 0:
            raise ValueError(f"weights must have shape ({len(self.prizes)}, m) with m > 0, not {self.weights.shape}")
        if not (np.isfinite(self.prizes).all() and self.prizes.min() >= 0):
            raise ValueError("prizes must be finite and not negative")
        if not (self.weights.min() >= 0 and self.weights.max() <= 1):
            raise ValueError("weights must be 0 to 1: every item alone must fit")

    def __len__(self) -> int:
        return len(self.prizes)


def generate(rng: np.random.Generator | np.random.RandomState, size: int, dimensions: int = DIMENSIONS) -> MkpInstance:
    """Draw ``size`` items: prizes and weights uniform in [0, 1), weights then divided by their dimension's capacity.

    The capacity is uniform between the largest weight in the dimension and the sum of all weights.
    """
    prizes = rng.random(size)
    weights = rng.random((size, dimensions))
    return MkpInstance(prizes, weights / rng.uniform(weights.max(axis=0), weights.sum(axis=0)))


def stream(mode: str, size: int, fresh_seed: int | None = None) -> list[MkpInstance]:
    """Draw one part of the reference stream of ReEvo (Ye et al. 2024, arXiv:2402.01145), bit for bit.

    Each mode has its own generator. Earlier parts of the same mode are drawn and discarded.

    Arguments and errors are those of `tsp.stream`; ``size`` is the number of items.
    """

    def draw(rng: np.random.RandomState, count: int, size: int) -> list[MkpInstance]:
        if mode not in TIGHTNESS:
            return [generate(rng, size) for _ in range(count)]
        drawn = [(rng.random(size), rng.random((size, DIMENSIONS))) for _ in range(count)]
        return [
            MkpInstance(
                prizes / 2 + weights.mean(axis=1) if mode == "correlated" else prizes,
                weights / (TIGHTNESS[mode] * weights.sum(axis=0)),
            )
            for prizes, weights in drawn
        ]

    others = streams.LARGER | dict.fromkeys(TIGHTNESS, streams.OTHERS)
    return streams.draw_part(STREAM, mode, size, fresh_seed, "mkp", draw, SEEDS, others)


def check(instance: MkpInstance, choice: Any) -> NDArray[np.int64]:
    """Check that a choice names every item at most once and fits in every dimension.

    Args:
        instance: Items with their prizes and weights.
        choice: Untrusted value. A valid choice is a sequence of item numbers, 0 to ``n - 1``, in any order, and may be
            empty.

    Returns:
        The choice as a flat array.

    Raises:
        CandidateError: ``invalid``, with the reason, if the choice is not valid.
    """
    items = streams.whole_numbers(choice, "a choice", "item", len(instance))
    if (repeated := np.flatnonzero(np.bincount(items, minlength=len(instance)) > 1)).size:
        raise CandidateError(f"the choice names item {repeated[0]} more than once")
    taken = loads(instance, items)
    if (overfull := np.flatnonzero(taken > 1 + SLACK)).size:
        raise CandidateError(f"dimension {overfull[0]} holds {taken[overfull[0]]:.6g}; its capacity is 1")
    return items


def objective(instance: MkpInstance, choice: NDArray[np.int64]) -> float:
    """Return the total prize of a choice that `check` returned; to be maximised."""
    return float(instance.prizes[choice].sum())


def loads(instance: MkpInstance, choice: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the ``(m,)`` total weights of a choice in every dimension, whose capacity is 1."""
    taken: NDArray[np.float64] = instance.weights[choice].sum(axis=0)
    return taken
