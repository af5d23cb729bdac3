"""What problems share: reference streams and fresh instances, checked lists of indices, cells of the archive.

A fresh set is of the same law, from a seed that no candidate knows. Its generators are seeded with the bytes of a name
and the seed, so that two problems or sizes share nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError

# (mode, size, instances), in the order in which they are drawn
Stream = tuple[tuple[str, int, int], ...]
T = TypeVar("T")


def draw_part(
    stream: Stream,
    mode: str,
    size: int,
    fresh_seed: int | None,
    name: str,
    draw: Callable[[np.random.RandomState, int, int], Iterable[T]],
    seeds: Mapping[str, int] | None = None,
) -> list[T]:
    """Draw one part of a reference stream, or a fresh one in its place.

    Args:
        stream: All parts; those before the wanted one are drawn and dropped.
        mode: ``train``, ``val`` or ``test``.
        size: Problem size.
        fresh_seed: Seed of a fresh set, with as many instances as ``test`` has of the size; None for a part of the
            stream.
        name: Name of the fresh set.
        draw: Makes ``count`` instances of a size from a generator, whose numbers it takes at once.
        seeds: Seed of each mode's own generator; None if all parts come from one, seeded with 1234.

    Raises:
        ValueError: if the stream has no such part.
    """
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
    """Entropy of one part of a fresh set.

    Args:
        seed: Seed of the set, 0 or more, of any length.
        name: Name of what is drawn.
        size: Problem size, where there are several.
    """
    return np.random.SeedSequence([*f"fresh {name} {size}".encode(), seed])


def generator(seed: int, name: str, size: int = 0) -> np.random.Generator:
    """A generator of one part of a fresh set."""
    return np.random.default_rng(sequence(seed, name, size))


def legacy(seed: int, name: str, size: int = 0) -> np.random.RandomState:
    """The same for streams that are drawn by numpy's legacy generator, whose draws they are made of."""
    return np.random.RandomState(np.random.MT19937(sequence(seed, name, size)))


def numbers(seed: int, name: str, size: int, count: int) -> list[int]:
    """Seeds of 32 bits for what takes nothing longer, such as demands."""
    return [int(word) for word in sequence(seed, name, size).generate_state(count)]


def whole_numbers(claim: Any, what: str, item: str, limit: int) -> NDArray[np.int64]:
    """Turn what claims to be a list of indices into an array.

    Args:
        claim: Anything that claims to be such a list.
        what: Name of what it claims to be, such as ``a tour``.
        item: Name of what one index stands for, such as ``city``.
        limit: Number of indices: they go from 0 to ``limit - 1``.

    Returns:
        ``(k,)`` int64 array with values in that range.

    Raises:
        CandidateError: ``invalid``, if it is anything else.
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
    """Tell in which bin of each axis a heuristic falls: 0 to the number of edges; on an edge it is the upper bin.

    An axis is a pair: the measured value of a feature, and the rising edges between its bins.
    """
    return tuple(int(np.searchsorted(edges, value, side="right")) for value, edges in axes)


def geometric_mean(values: Mapping[int, Sequence[float]]) -> float:
    """The geometric mean of positive figures over instances, all sizes counting alike."""
    return float(np.exp(np.mean([np.mean(np.log(measured)) for measured in values.values()])))
