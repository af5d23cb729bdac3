"""The MAP-Elites archive: the best program of every cell on every island, and its changes over a run's rounds.

Mouret & Clune 2015 (arXiv:1504.04909); islands as in FunSearch (Romera-Paredes et al. 2024,
doi:10.1038/s41586-023-06924-6). The engine updates an archive by the rules of its policy, and reports replay these
rules over the committed candidates.

Measured features have bins with declared bounds, or with bounds from the first candidates if none are declared. Until
enough candidates have a score, the archive is a plain ranking. Then bounds are set from their features, with a margin
on both sides, and the archive is rebuilt from all committed candidates. The bounds depend only on the committed
candidates in round order, so a resumed run gets the same bounds.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import groupby
from typing import Any, Self

import numpy as np

from oragent._base.direction import Direction
from oragent.evaluation.problem import Feature
from oragent.search.candidate import NOWHERE, Candidate, Committed, Elite

# Number of scored candidates, including the seed, from which bounds are set.
FIRST = 20
# Margin on both sides as a share of the width, for features of later programs.
ROOM = 0.5
# Share of candidates at either end that is ignored for the bounds.
TAIL = 0.05
# Largest change of an end by rounding to six digits, as a share of the width.
ROUNDING = 0.01
# Largest magnitude of a feature, so that differences are finite.
MAX_FEATURE = 1e300
Features = tuple[float, ...]


@dataclass(frozen=True)
class Grid:
    """Mapping from features to cells."""

    # Number of bins of each axis.
    bins: tuple[int, ...] = ()
    # Lower and upper end of each axis; None if the evaluator prints bins, or the ends are not known yet.
    bounds: tuple[tuple[float, float] | None, ...] = ()
    # True for each axis that is a measured number; False for bins that the evaluator prints.
    measured: tuple[bool, ...] = ()

    @classmethod
    def declared(cls, features: Sequence[Feature]) -> Self:
        """Return the grid that a problem declares."""
        bins, bounds = tuple(feature.bins for feature in features), tuple(feature.bounds for feature in features)
        return cls(bins, bounds, tuple(feature.kind == "number" for feature in features))

    @property
    def is_known(self) -> bool:
        """True if all bounds are known."""
        return (True, None) not in zip(self.measured, self.bounds, strict=True)

    def cell(self, features: Features | None) -> tuple[int, ...] | None:
        """Return the cell of features; None without features, or before the bounds are known."""
        if features is None or not self.is_known:
            return None
        if not any(self.measured):
            return tuple(int(value) for value in features)
        axes = list(zip(self.bins, self.bounds, strict=True)) + [(0, None)] * len(features)
        return tuple(_bin_of(value, *axis) for value, axis in zip(features, axes, strict=False))

    def chosen(self, first: Sequence[Features]) -> "Grid":
        """Return the grid with bounds from the first candidates, unless they are declared."""
        bounds = list(self.bounds)
        for axis, (is_measured, axis_bounds) in enumerate(zip(self.measured, self.bounds, strict=True)):
            values = [features[axis] for features in first if len(features) > axis]
            if is_measured and axis_bounds is None and values:
                bounds[axis] = _choose_bounds(values)
        return replace(self, bounds=tuple(bounds))

    def dumps(self) -> str:
        """Return the grid as JSON."""
        return json.dumps({"bins": self.bins, "bounds": self.bounds, "measured": self.measured})

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read a grid from JSON."""
        plain: dict[str, Any] = json.loads(text)
        bounds = tuple(None if ends is None else (float(ends[0]), float(ends[1])) for ends in plain["bounds"])
        return cls(tuple(plain["bins"]), bounds, tuple(plain["measured"]))


def _bin_of(value: float, bins: int, bounds: tuple[float, float] | None) -> int:
    if bounds is None:
        return int(value)
    low, high = bounds
    # A value far outside the range can give an infinite quotient.
    return int(min(max((value - low) / (high - low) * bins, 0), bins - 1))


def _choose_bounds(values: Sequence[float]) -> tuple[float, float]:
    """Choose the ends of an axis: the range of most of the values, and a margin on both sides.

    The ends are rounded to six digits, unless rounding moves an end by more than `ROUNDING` of the width.
    """
    finite = np.clip(np.asarray(values, dtype=float), -MAX_FEATURE, MAX_FEATURE)
    low, high = (float(end) for end in np.quantile(finite, (TAIL, 1 - TAIL)))
    margin = ROOM * (high - low) or max(ROOM * abs(low), 1e-6)
    exact = (low - margin, high + margin)
    rounded = (float(f"{exact[0]:.6g}"), float(f"{exact[1]:.6g}"))
    tolerance = ROUNDING * (exact[1] - exact[0])
    if max(abs(rounded[0] - exact[0]), abs(rounded[1] - exact[1])) > tolerance:
        return exact
    return rounded


class AddStatus(IntEnum):
    """Result of adding a candidate, from worst to best. It is true if the archive changed."""

    NOT_ADDED = 0
    # It replaced a worse program in its cell.
    IMPROVED = 1
    # It entered an empty cell.
    NEW = 2


class Archive:
    """Cells of all islands. Without features, an island is a plain population of its best programs."""

    def __init__(self, direction: Direction, islands: int = 1, population: int = 20, grid: Grid | None = None) -> None:
        self.direction = Direction(direction)
        self.grid = grid
        self._population = population
        self._islands: list[dict[Hashable, Elite]] = [{} for _ in range(islands)]
        # Ranking of each island, empty until it is needed. Snapshots share it until the island changes.
        self._rankings: list[list[list[Elite]]] = [[] for _ in range(islands)]
        self._added = [0] * islands
        self._best: Elite | None = None

    @property
    def islands(self) -> int:
        """Number of islands."""
        return len(self._islands)

    @property
    def best(self) -> Elite | None:
        """The best program ever added to any island; a reset does not remove it."""
        return self._best

    def fitness(self, score: float) -> float:
        """Return the score, with its sign changed for minimisation, so that larger is better."""
        return self.direction.fitness(score)

    def beats(self, challenger: Elite, holder: Elite) -> bool:
        """Return whether a program is better: by score, or by length if the scores are equal."""
        if challenger.score == holder.score:
            return challenger.length < holder.length
        return self.direction.better(challenger.score, holder.score)

    def consider(self, elite: Elite) -> AddStatus:
        """Update the best program without placing it on an island."""
        if self._best is None or self.beats(elite, self._best):
            self._best = elite
        return AddStatus.NOT_ADDED

    def add(self, elite: Elite, island: int) -> AddStatus:
        """Place a program on an island if it is the best of its cell there."""
        self.consider(elite)
        self._added[island] += 1
        cells = self._islands[island]
        cell = elite.id if elite.features is None else elite.features
        holder = cells.get(cell)
        if holder is not None and not self.beats(elite, holder):
            return AddStatus.NOT_ADDED
        cells[cell] = elite
        self._rankings[island] = []
        if holder is not None:
            return AddStatus.IMPROVED
        if elite.features is None and len(cells) > self._population:
            worst = self.ranked(island)[-1]
            del cells[worst.id]
            self._rankings[island] = []
            if worst is elite:
                return AddStatus.NOT_ADDED
            return AddStatus.IMPROVED
        return AddStatus.NEW

    def added(self, island: int) -> int:
        """Return the number of programs ever offered to an island, accepted or not."""
        return self._added[island]

    def ranked(self, island: int) -> list[Elite]:
        """Return the elites of an island, best first.

        If scores are equal, shorter programs come first, then older ones.
        """
        ranking = self._rankings[island]
        if not ranking:
            ranking.append(self._sorted(self._islands[island].values()))
        return [*ranking[0]]

    def elites(self) -> list[Elite]:
        """Return the elites of all islands, each once, best first."""
        return self._sorted({elite.id: elite for cells in self._islands for elite in cells.values()}.values())

    def migrate(self) -> None:
        """Copy each island's best program to the next island in a ring, all at the same time."""
        travellers = [self.ranked(island)[0] if cells else None for island, cells in enumerate(self._islands)]
        for island, traveller in enumerate(travellers):
            if traveller is not None:
                self.add(traveller, (island + 1) % self.islands)

    def reset(self, rng: np.random.Generator) -> None:
        """Empty the worse half of the islands. Each restarts from the best program of a random other island."""
        tops = [self.fitness(self.ranked(island)[0].score) for island in range(self.islands) if self._islands[island]]
        if len(tops) < self.islands:
            # One island is still empty, so islands cannot be compared.
            return
        for island, survivor in restarts(tops, rng):
            founder = self.ranked(survivor)[0]
            self._islands[island] = {}
            self.add(founder, island)

    def snapshot(self) -> "Archive":
        """Return a copy that later additions do not change; elites are shared, because they are immutable."""
        twin = Archive.__new__(Archive)
        twin.direction, twin._population, twin._best = self.direction, self._population, self._best
        twin.grid, twin._added = self.grid, [*self._added]
        twin._islands = [dict(cells) for cells in self._islands]
        twin._rankings = [*self._rankings]
        return twin

    def keep_only(self, is_kept: Callable[[str], bool]) -> None:
        """Remove the elites whose id is not kept; the best program stays recorded."""
        self._islands = [{cell: elite for cell, elite in cells.items() if is_kept(elite.id)} for cells in self._islands]
        self._rankings = [[] for _ in self._islands]

    def _sorted(self, elites: Collection[Elite]) -> list[Elite]:
        alike = Counter(elite.score for elite in elites)
        return sorted(
            elites, key=lambda elite: (-self.fitness(elite.score), elite.length if alike[elite.score] > 1 else 0)
        )


def restarts(tops: Sequence[float], rng: np.random.Generator) -> list[tuple[int, int]]:
    """Choose the islands that restart, the worse half by fitness, and a source island for each from the better half."""
    order = sorted(range(len(tops)), key=lambda island: -tops[island])
    survivors = order[: (len(tops) + 1) // 2]
    return [(island, survivors[int(rng.integers(len(survivors)))]) for island in order[len(survivors) :]]


@dataclass(frozen=True, kw_only=True)
class ArchivePolicy:
    """Rules for the archive of a run."""

    # Direction of the scores.
    direction: Direction
    # Number of separate populations.
    islands: int = 1
    # Size of an island if the problem has no features.
    population: int = 20
    # Rounds between migrations of each island's best program to the next island; 0 means never.
    migration_period: int = 0
    # Rounds between resets of the worse half of the islands; 0 means never.
    reset_period: int = 0
    # Numbers of the rounds after which a reset was due by time (``reset_s``).
    resets: frozenset[int] = frozenset()
    # True if the seed heuristic is added to every island, not only to the first.
    everywhere: bool = True
    # Seed of the run.
    seed: int = 0
    # Grid of the problem's measured features; None if evaluators print bins.
    grid: Grid | None = None

    def opened(self) -> Archive:
        """Return the archive before the first round."""
        return Archive(self.direction, self.islands, self.population, self.grid)

    def place(self, archive: Archive, name: str, candidate: Candidate) -> AddStatus | None:
        """Place a candidate on its island; the first with a score is the seed; return None for a failure or probe."""
        if candidate.score is None or candidate.is_probe:
            return None
        elite = Elite.of(candidate, id=name)
        if archive.grid is not None:
            elite = replace(elite, features=archive.grid.cell(elite.features))
        if archive.best is None:
            return max(archive.add(elite, island) for island in range(archive.islands if self.everywhere else 1))
        if candidate.island == NOWHERE:
            return archive.consider(elite)
        return archive.add(elite, candidate.island)

    def tend(self, archive: Archive, number: int) -> None:
        """Apply the migration and the reset that are due after a round."""
        if number and self.migration_period and number % self.migration_period == 0:
            archive.migrate()
        rng = reset_generator(number, 1 if number in self.resets else self.reset_period, self.seed)
        if rng is not None:
            archive.reset(rng)


def reset_generator(number: int, period: int, seed: int) -> np.random.Generator | None:
    """Return the random generator for the reset after a round; None if no reset is due. Period 0 means never."""
    if number and period and number % period == 0:
        return np.random.default_rng([seed, number, 1])
    return None


def replay_archive(policy: ArchivePolicy, records: Iterable[Committed], rounds: int) -> Archive:
    """Rebuild the archive of a run from all committed candidates in order and the number of committed rounds."""
    archive, latest = policy.opened(), 0
    for number, group in groupby(records, key=lambda record: record.round):
        for empty in range(latest + 1, number):
            policy.tend(archive, empty)
        for record in group:
            policy.place(archive, record.id, record.candidate)
        policy.tend(archive, number)
        latest = number
    for empty in range(latest + 1, rounds):
        policy.tend(archive, empty)
    return archive


def success_rate(history: Sequence[Sequence[Committed]], fitness: Callable[[float], float]) -> float:
    """Return the share of solutions of the latest round that beat all their parents.

    A solution without parents must beat the seed.

    The size of a gain does not matter, so the share does not depend on the scale of the scores. ``history`` has the
    candidates of every round by its number; the seed is the first.
    """
    number, latest = len(history) - 1, [record for record in history[-1] if not record.candidate.is_probe]
    gained = 0
    for record in latest:
        parents = [_find_record(history, name) for name in record.candidate.parents] or [history[0][0]]
        scores = [fitness(parent.score) for parent in parents if parent and parent.score is not None]
        gained += record.score is not None and number > 0 and all(fitness(record.score) > score for score in scores)
    if latest:
        return gained / len(latest)
    return 0.0


def _find_record(history: Sequence[Sequence[Committed]], name: str) -> Committed | None:
    number, dot, position = name.partition(".")
    # The id is a fingerprint of the same round, which is never an elite.
    if not (dot and number.isdigit() and position.isdigit()):
        return None
    return history[int(number)][int(position)]
