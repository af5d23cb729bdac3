"""Functions shared by problems: reference streams, fresh instances, checks of index lists, archive cells.

A fresh set has the same distribution, from a seed that no candidate knows. Its generators are seeded with the bytes of
a name and the seed, so that two problems or sizes share no random numbers.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError

# Rows (mode, size, instances), in the order in which they are drawn.
Stream = tuple[tuple[str, int, int], ...]
T = TypeVar("T")
# Instances in the sets of larger sizes and of other distributions, which no search uses.
OTHERS = 8
LARGER = {"twice": OTHERS, "five_times": 4}


def draw_part(
    stream: Stream,
    mode: str,
    size: int,
    fresh_seed: int | None,
    name: str,
    draw: Callable[[np.random.RandomState, int, int], Iterable[T]],
    seeds: Mapping[str, int] | None = None,
    others: Mapping[str, int] = LARGER,
) -> list[T]:
    """Draw one part of a reference stream, or a fresh set instead.

    Args:
        stream: All parts; earlier parts are drawn and discarded.
        mode: ``train``, ``val`` or ``test``.
        size: Problem size.
        fresh_seed: Seed of a fresh set, with as many instances as ``test`` has of the size; None for a part of the
            stream.
        name: Name of the fresh set.
        draw: Function that draws ``count`` instances of a size from a generator, in one pass.
        seeds: Seed of the generator of each mode; None if all parts come from one generator, seeded with 1234.
        others: Instances in each set of another distribution, of any size; each set and size has a generator.

    Raises:
        ValueError: if the stream has no such part.
    """
    if mode in others:
        return list(draw(legacy(0, f"{name} {mode}", size), others[mode], size))
    if fresh_seed is not None:
        mode, rng = "test", legacy(fresh_seed, name, size)
        parts = [part for part in stream if part[:2] == (mode, size)]
    elif seeds is not None:
        rng = np.random.RandomState(seeds.get(mode))
        parts = [part for part in stream if part[0] == mode]
    else:
        rng, parts = np.random.RandomState(1234), list(stream)
    for part_mode, part_size, count in parts:
        drawn = draw(rng, count, part_size)
        if (part_mode, part_size) == (mode, size):
            return list(drawn)
    offered = ", ".join(f"{part_mode} {part_size}" for part_mode, part_size, _ in stream)
    raise ValueError(f"the stream has no {mode} instances of size {size}; it has {offered}")


def sequence(seed: int, name: str, size: int = 0) -> np.random.SeedSequence:
    """Return the entropy of one part of a fresh set.

    Args:
        seed: Seed of the set, 0 or more, of any length.
        name: Name of the drawn values.
        size: Problem size, if the problem has several.
    """
    return np.random.SeedSequence([*f"fresh {name} {size}".encode(), seed])


def generator(seed: int, name: str, size: int = 0) -> np.random.Generator:
    """Return a generator of one part of a fresh set."""
    return np.random.default_rng(sequence(seed, name, size))


def legacy(seed: int, name: str, size: int = 0) -> np.random.RandomState:
    """Return a legacy generator of one part of a fresh set, for streams that need numpy's ``RandomState``."""
    return np.random.RandomState(np.random.MT19937(sequence(seed, name, size)))


def numbers(seed: int, name: str, size: int, count: int) -> list[int]:
    """Return 32-bit seeds, for generators that do not take longer ones."""
    return [int(word) for word in sequence(seed, name, size).generate_state(count)]


def whole_numbers(claim: Any, what: str, item: str, limit: int) -> NDArray[np.int64]:
    """Convert an untrusted list of indices to an array.

    Args:
        claim: Untrusted value.
        what: Name of the list in error messages, such as ``a tour``.
        item: Name of the object of one index, such as ``city``.
        limit: Number of valid indices, 0 to ``limit - 1``.

    Returns:
        ``(k,)`` int64 array with values in that range.

    Raises:
        CandidateError: ``invalid``, if the value is anything else.
    """
    try:
        values = np.asarray(claim)
    except ValueError:
        values = np.empty((0, 0))
    if values.ndim != 1 or (values.size and values.dtype.kind not in "iu"):
        shown = f"a {type(claim).__name__}"
        if isinstance(claim, np.ndarray):
            shown = f"an array of dtype {claim.dtype} and shape {claim.shape}"
        raise CandidateError(f"{what} must be a flat list of whole numbers, not {shown}")
    if (strange := values[(values < 0) | (values >= limit)]).size:
        raise CandidateError(f"{what} names {item} {strange[0]}; expected 0 to {limit - 1}")
    return values.astype(np.int64)


def cell(*axes: tuple[float, Sequence[float]]) -> tuple[int, ...]:
    """Return the bin of each axis, from 0 to the number of edges. A value on an edge belongs to the upper bin.

    An axis is a pair: the measured value of a feature, and the ascending edges between its bins.
    """
    return tuple(int(np.searchsorted(edges, value, side="right")) for value, edges in axes)


def geometric_mean(values: Mapping[int, Sequence[float]]) -> float:
    """Return the geometric mean of positive values over instances, with equal weight for every size."""
    return float(np.exp(np.mean([np.mean(np.log(measured)) for measured in values.values()])))
