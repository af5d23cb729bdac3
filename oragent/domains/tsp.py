"""The travelling salesman problem: find the shortest closed tour through all cities."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import CandidateError
from oragent.domains import streams


@dataclass(frozen=True, eq=False)
class TspInstance:
    """Cities in the plane; raises `ValueError` unless ``coordinates`` is a finite, non-empty ``(n, 2)`` array."""

    # Coordinates, ``(n, 2)`` float array.
    coordinates: NDArray[np.float64]

    def __post_init__(self) -> None:
        shape = self.coordinates.shape
        if len(shape) != 2 or shape[0] == 0 or shape[1] != 2:
            raise ValueError(f"coordinates must have shape (n, 2) with n > 0, not {shape}")
        if not np.isfinite(self.coordinates).all():
            raise ValueError("coordinates must be finite")

    def __len__(self) -> int:
        return len(self.coordinates)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Return ``(n, n)`` symmetric lengths with a zero diagonal, in the unit of the coordinates; read-only."""
        x, y = self.coordinates.T
        lengths: NDArray[np.float64] = np.sqrt((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2)
        lengths.flags.writeable = False
        return lengths


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes in the plane, for problems whose instances have more data than coordinates."""

    # Coordinates, ``(n, 2)`` float array.
    coordinates: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.coordinates)

    @cached_property
    def nodes(self) -> TspInstance:
        """All nodes as cities, for computing lengths."""
        return TspInstance(self.coordinates)

    @property
    def distances(self) -> NDArray[np.float64]:
        """Return ``(n, n)`` symmetric Euclidean lengths with a zero diagonal; read-only."""
        return self.nodes.distances


_SIZES = (20, 50, 100)
ACO_STREAM: streams.Stream = (
    ("train", 50, 5),
    *(("val", size, 64) for size in _SIZES),
    *(("test", size, 64) for size in _SIZES),
)
CONSTRUCTIVE_STREAM: streams.Stream = (
    ("train", 50, 64),
    *(("val", size, 64) for size in (*_SIZES, 200)),
    *(("test", size, 64) for size in (*_SIZES, 200, 500, 1000)),
)
GLS_STREAM: streams.Stream = (("train", 200, 10), *CONSTRUCTIVE_STREAM[1:])
# Sets with other places of cities.
LAYOUTS = dict.fromkeys(("clustered", "exploded", "grid"), streams.OTHERS)
# A set of tours alone.
BRED = {"adversarial": streams.OTHERS}
CLUSTER_CITIES, CLUSTER_WIDTH = 20, 0.05
EXPLOSION_RADIUS, EXPLOSION_REACH = 0.3, 0.1
# Seeds of streams in which each mode has its own generator.
OWN_SEEDS = {GLS_STREAM: {"train": 5, "val": 3, "test": 4}}


def generate(rng: np.random.Generator, size: int) -> TspInstance:
    """Draw ``size`` cities uniformly in the unit square."""
    return TspInstance(rng.random((size, 2)))


def lay_out(layout: str, points: NDArray[np.float64], rng: np.random.RandomState) -> NDArray[np.float64]:
    """Move uniform points of the unit square to the places of a set; those of a set without a layout stay.

    - ``clustered``: Gaussian clusters of 20 points around the first points; a point beyond a side is mirrored at it.
    - ``exploded``: points within 0.3 of a centre move away from it, to an exponentially distributed distance beyond
      (Bossek et al. 2019, DOI 10.1145/3299904.3340307). All are then scaled to the square.
    - ``grid``: different places of a square lattice, of which at most half are taken, so that many distances are equal.
    - ``adversarial``: points in bands, dense towards two sides, with the scale of the first point. The program was bred
      against ReEvo's rule in the example ``hard_tours``. All are then scaled to the square.
    """
    if layout == "clustered":
        centres = points[np.arange(len(points)) % max(2, len(points) // CLUSTER_CITIES)]
        points = 1 - np.abs(1 - np.abs(rng.normal(centres, CLUSTER_WIDTH)))
    elif layout == "exploded":
        centre = rng.uniform(EXPLOSION_RADIUS, 1 - EXPLOSION_RADIUS, 2)
        away = points - centre
        lengths = np.sqrt((away**2).sum(axis=1))
        beyond = EXPLOSION_RADIUS + rng.exponential(EXPLOSION_REACH, len(points))
        points = centre + away * np.where(lengths > EXPLOSION_RADIUS, 1, beyond / lengths)[:, None]
        points = (points - points.min(axis=0)) / np.ptp(points, axis=0).max()
    elif layout == "grid":
        side = 2 * int(np.ceil(np.sqrt(len(points) / 2)))
        places = rng.permutation(side * side)[: len(points)]
        points = (np.stack(np.divmod(places, side), axis=1) + 0.5) / side
    elif layout == "adversarial":
        bands = np.round(6 / (1 + points)) / 7
        points = (points / points[0]) ** 0.772 / (bands + 0.001) + 0.166 * np.arange(len(points))[:, None] / len(points)
        points -= points.min(axis=0)
        points = np.round(points / points.max(), 4)
    return points


def stream(parts: streams.Stream, mode: str, size: int, fresh_seed: int | None = None) -> list[TspInstance]:
    """Draw one part of a reference stream of ReEvo (Ye et al. 2024, arXiv:2402.01145), bit for bit.

    All parts come from one generator seeded with 1234, so earlier parts are drawn and discarded. In `GLS_STREAM` each
    mode has its own generator.

    Args:
        parts: `ACO_STREAM`, `CONSTRUCTIVE_STREAM` or `GLS_STREAM`.
        mode: ``train``, ``val`` or ``test``; or a set of larger instances or of another layout.
        size: Number of cities.
        fresh_seed: Seed of a fresh set, which has as many instances of the size as ``test``. None draws a part of
            the stream.

    Raises:
        ValueError: if the stream has no such part.
    """
    return streams.draw_part(
        parts,
        mode,
        size,
        fresh_seed,
        "tsp",
        lambda rng, *shape: (TspInstance(lay_out(mode, points, rng)) for points in rng.rand(*shape, 2)),
        OWN_SEEDS.get(parts),
        streams.LARGER | LAYOUTS | BRED,
    )


def check(instance: TspInstance, tour: Any) -> NDArray[np.int64]:
    """Check that a tour visits every city once.

    Args:
        instance: Cities to visit.
        tour: Untrusted value. A valid tour is a sequence of ``n`` integers, the cities 0 to ``n - 1``, each once.

    Returns:
        The tour as an ``(n,)`` array.

    Raises:
        CandidateError: ``invalid``, with the reason, if the tour is not valid.
    """
    cities = streams.whole_numbers(tour, "a tour", "city", len(instance))
    visits = np.bincount(cities, minlength=len(instance))
    if (repeated := np.flatnonzero(visits > 1)).size:
        times = "twice" if visits[repeated[0]] == 2 else f"{visits[repeated[0]]} times"
        raise CandidateError(f"the tour visits city {repeated[0]} {times}; expected once")
    if (missing := np.flatnonzero(visits == 0)).size:
        raise CandidateError(f"the tour visits {len(cities)} of {len(instance)} cities; city {missing[0]} is missing")
    return cities


def objective(instance: TspInstance, tour: NDArray[np.int64]) -> float:
    """Return the length of a tour that `check` returned, including the closing edge; to be minimised."""
    steps = _step_lengths(instance, tour)
    return float(np.sqrt((steps**2).sum(axis=1)).sum())


def mean_turn(instance: TspInstance, tour: NDArray[np.int64]) -> float:
    """Return the mean change of heading at a city, in radians: 0 is straight on, pi is a reversal."""
    steps = _step_lengths(instance, tour)
    headings = np.arctan2(steps[:, 1], steps[:, 0])
    turns = np.abs(np.roll(headings, -1) - headings)
    return float(np.minimum(turns, 2 * np.pi - turns).mean())


def nearest_share(instance: TspInstance, tour: NDArray[np.int64]) -> float:
    """Return the share of a construction's free choices that go to the nearest unvisited city, in [0, 1].

    The last step is forced and does not count; the share is 1 if there are no free choices.
    """
    free = len(tour) - 2
    near = 0
    for step in range(free):
        to_left = instance.distances[tour[step], tour[step + 1 :]]
        near += bool(to_left[0] <= to_left.min())
    if free > 0:
        return near / free
    return 1.0


def late_share(instance: TspInstance, tour: NDArray[np.int64]) -> float:
    """Return the share of the length in the last quarter of the steps, including the closing edge.

    A uniform tour has 0.25.
    """
    lengths = np.sqrt((_step_lengths(instance, tour) ** 2).sum(axis=1))
    total = lengths.sum()
    if total > 0:
        return float(lengths[-max(1, len(lengths) // 4) :].sum() / total)
    return 0.25


def _step_lengths(instance: TspInstance, tour: NDArray[np.int64]) -> NDArray[np.float64]:
    points = instance.coordinates[tour]
    return np.roll(points, -1, axis=0) - points
