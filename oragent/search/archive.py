"""The MAP-Elites archive: on every island, the best program of every behaviour; and its history over a run's rounds.

Mouret & Clune 2015 (arXiv:1504.04909); islands as in FunSearch (Romera-Paredes et al. 2024,
doi:10.1038/s41586-023-06924-6). The engine tends an archive by the rules of its policy while it searches, and reports
replay them over what was committed.

Features that are measured numbers have bins from declared bounds, or from what the first candidates show: nobody knows
beforehand where programs will lie. Until enough of them have a score the archive is a plain ranking; then bounds are
taken from them, with room on both sides, and the archive is built anew of everything that was committed. All of that
follows from the committed candidates alone, in round order: a run that goes on finds the same bounds.
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

# candidates with a score, the seed among them, from which bounds are taken
FIRST = 20
# of the width, added on both sides: later programs lie beyond the first ones
ROOM = 0.5
# of the candidates, on either side, that do not stretch the bounds
TAIL = 0.05
# of the width, by which six digits may move an end
ROUNDING = 0.01
# magnitude of a feature, so that a difference of two is finite
LARGEST = 1e300
Features = tuple[float, ...]


@dataclass(frozen=True)
class Grid:
    """Mapping from features to cells."""

    # number of bins of each axis
    bins: tuple[int, ...] = ()
    # lower and upper end of each axis; None where the evaluator says the bins itself, or the ends are not known yet
    bounds: tuple[tuple[float, float] | None, ...] = ()
    # whether each axis is a measured number
    measured: tuple[bool, ...] = ()

    @classmethod
    def declared(cls, features: Sequence[Feature]) -> Self:
        """The grid that a problem declares."""
        bins, bounds = tuple(feature.bins for feature in features), tuple(feature.bounds for feature in features)
        return cls(bins, bounds, tuple(feature.kind == "number" for feature in features))

    @property
    def is_known(self) -> bool:
        """True if all bounds are known."""
        return (True, None) not in zip(self.measured, self.bounds, strict=True)

    def cell(self, features: Features | None) -> tuple[int, ...] | None:
        """The cell of some features; None without features, or before the bounds are known."""
        if features is None or not self.is_known:
            return None
        if not any(self.measured):
            return tuple(int(value) for value in features)
        axes = list(zip(self.bins, self.bounds, strict=True)) + [(0, None)] * len(features)
        return tuple(_bin_of(value, *axis) for value, axis in zip(features, axes, strict=False))

    def chosen(self, first: Sequence[Features]) -> "Grid":
        """The grid with bounds from the first candidates, unless they were declared."""
        bounds = list(self.bounds)
        for axis, (is_measured, known) in enumerate(zip(self.measured, self.bounds, strict=True)):
            values = [features[axis] for features in first if len(features) > axis]
            if is_measured and known is None and values:
                bounds[axis] = _choose_bounds(values)
        return replace(self, bounds=tuple(bounds))

    def dumps(self) -> str:
        """The grid as JSON."""
        return json.dumps({"bins": self.bins, "bounds": self.bounds, "measured": self.measured})

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read a grid back."""
        plain: dict[str, Any] = json.loads(text)
        bounds = tuple(None if ends is None else (float(ends[0]), float(ends[1])) for ends in plain["bounds"])
        return cls(tuple(plain["bins"]), bounds, tuple(plain["measured"]))


def _bin_of(value: float, bins: int, bounds: tuple[float, float] | None) -> int:
    if bounds is None:
        return int(value)
    low, high = bounds
    return min(bins - 1, max(0, int((value - low) / (high - low) * bins)))


def _choose_bounds(values: Sequence[float]) -> tuple[float, float]:
    """Choose the ends of an axis: the range of most of the values, and a margin on both sides.

    The ends have six digits, or all digits where six would move an end by more than `ROUNDING` of the width.
    """
    finite = np.clip(np.asarray(values, dtype=float), -LARGEST, LARGEST)
    low, high = (float(end) for end in np.quantile(finite, (TAIL, 1 - TAIL)))
    margin = ROOM * (high - low) or max(ROOM * abs(low), 1e-6)
    exact = (low - margin, high + margin)
    rounded = (float(f"{exact[0]:.6g}"), float(f"{exact[1]:.6g}"))
    tolerance = ROUNDING * (exact[1] - exact[0])
    if max(abs(rounded[0] - exact[0]), abs(rounded[1] - exact[1])) > tolerance:
        return exact
    return rounded


class AddStatus(IntEnum):
    """Result of adding a candidate, from worst to best; true if the archive changed."""

    NOT_ADDED = 0
    # it took the cell of a worse program
    IMPROVED = 1
    # it took an empty cell
    NEW = 2


class Archive:
    """Islands of cells; where a problem has no features, an island is a plain population of its best programs."""

    def __init__(self, direction: Direction, islands: int = 1, population: int = 20, grid: Grid | None = None) -> None:
        self.direction = Direction(direction)
        self.grid = grid
        self._population = population
        self._islands: list[dict[Hashable, Elite]] = [{} for _ in range(islands)]
        self._added = [0] * islands
        self._best: Elite | None = None

    @property
    def islands(self) -> int:
        """Number of islands."""
        return len(self._islands)

    @property
    def best(self) -> Elite | None:
        """The best program ever added, on any island; it outlives a reset of its island."""
        return self._best

    def fitness(self, score: float) -> float:
        """Turn a score so that more is better."""
        return self.direction.fitness(score)

    def beats(self, challenger: Elite, holder: Elite) -> bool:
        """Return whether a program is better: by score, and by the shorter text where scores are equal."""
        if challenger.score == holder.score:
            return challenger.length < holder.length
        return self.direction.better(challenger.score, holder.score)

    def consider(self, elite: Elite) -> AddStatus:
        """Let a program be the best ever if it is, and place it nowhere."""
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
        if holder is not None:
            if not self.beats(elite, holder):
                return AddStatus.NOT_ADDED
            cells[cell] = elite
            return AddStatus.IMPROVED
        cells[cell] = elite
        if elite.features is None and len(cells) > self._population:
            worst = self.ranked(island)[-1]
            del cells[worst.id]
            if worst is elite:
                return AddStatus.NOT_ADDED
            return AddStatus.IMPROVED
        return AddStatus.NEW

    def added(self, island: int) -> int:
        """Return the number of programs ever offered to an island, accepted or not."""
        return self._added[island]

    def ranked(self, island: int) -> list[Elite]:
        """An island's elites, best first; among equals the shorter, then the older."""
        return self._sorted(self._islands[island].values())

    def elites(self) -> list[Elite]:
        """The elites of all islands, each once, best first."""
        return self._sorted({elite.id: elite for cells in self._islands for elite in cells.values()}.values())

    def migrate(self) -> None:
        """Send each island's best to the next one, in a ring; all leave before any arrives."""
        travellers = [self.ranked(island)[0] if cells else None for island, cells in enumerate(self._islands)]
        for island, traveller in enumerate(travellers):
            if traveller is not None:
                self.add(traveller, (island + 1) % self.islands)

    def reset(self, rng: np.random.Generator) -> None:
        """Empty the worse half of the islands; each restarts from the best of a surviving one, drawn at random."""
        tops = [self.fitness(self.ranked(island)[0].score) for island in range(self.islands) if self._islands[island]]
        if len(tops) < self.islands:
            # an island without any program: too early to judge
            return
        for island, survivor in restarts(tops, rng):
            founder = self.ranked(survivor)[0]
            self._islands[island] = {}
            self.add(founder, island)

    def snapshot(self) -> "Archive":
        """A copy that later additions do not change; elites are shared, as they never change."""
        twin = Archive.__new__(Archive)
        twin.direction, twin._population, twin._best = self.direction, self._population, self._best
        twin.grid, twin._added = self.grid, [*self._added]
        twin._islands = [dict(cells) for cells in self._islands]
        return twin

    def keep_only(self, is_kept: Callable[[str], bool]) -> None:
        """Remove the elites whose id is not kept; the best ever stays known."""
        self._islands = [{cell: elite for cell, elite in cells.items() if is_kept(elite.id)} for cells in self._islands]

    def _sorted(self, elites: Collection[Elite]) -> list[Elite]:
        alike = Counter(elite.score for elite in elites)
        return sorted(
            elites, key=lambda elite: (-self.fitness(elite.score), elite.length if alike[elite.score] > 1 else 0)
        )


def restarts(tops: Sequence[float], rng: np.random.Generator) -> list[tuple[int, int]]:
    """Choose the islands that restart, the worse half by fitness, each with a survivor whose best it restarts from."""
    order = sorted(range(len(tops)), key=lambda island: -tops[island])
    survivors = order[: (len(tops) + 1) // 2]
    return [(island, survivors[int(rng.integers(len(survivors)))]) for island in order[len(survivors) :]]


@dataclass(frozen=True, kw_only=True)
class ArchivePolicy:
    """Rules by which a run keeps its archive."""

    # direction of the scores
    direction: Direction
    # number of populations that evolve side by side
    islands: int = 1
    # size of an island where the problem has no features
    population: int = 20
    # number of rounds after which each island's best goes to the next one; 0: never
    migration_period: int = 0
    # number of rounds after which the worse half of the islands starts anew; 0: never
    reset_period: int = 0
    # numbers of the rounds after which they did so by the clock
    resets: frozenset[int] = frozenset()
    # whether the seed heuristic begins on every island; otherwise on the first alone
    everywhere: bool = True
    # seed of the run
    seed: int = 0
    # as the problem declares its measured features; None where evaluators print bins
    grid: Grid | None = None

    def opened(self) -> Archive:
        """The archive before the first round."""
        return Archive(self.direction, self.islands, self.population, self.grid)

    def place(self, archive: Archive, name: str, candidate: Candidate) -> AddStatus | None:
        """Place a candidate where it belongs; the first with a score is the seed heuristic; a failure or probe none."""
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
        """Migrate and reset islands that are due after a round."""
        if number and self.migration_period and number % self.migration_period == 0:
            archive.migrate()
        rng = reset_generator(number, 1 if number in self.resets else self.reset_period, self.seed)
        if rng is not None:
            archive.reset(rng)


def reset_generator(number: int, period: int, seed: int) -> np.random.Generator | None:
    """The generator by which islands start anew after a round; None if they do not. Period 0: never."""
    if number and period and number % period == 0:
        return np.random.default_rng([seed, number, 1])
    return None


def replay_archive(policy: ArchivePolicy, records: Iterable[Committed], rounds: int) -> Archive:
    """The archive as a run held it, by all committed candidates in order and the number of committed rounds."""
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
    """The share, in [0, 1], of the latest round's solutions that beat all of their parents; without any, the seed.

    A step counts whatever its size, so that neither the scale of a problem's scores nor how far a run has come matters.
    ``history`` has the candidates of every round, by its number; the seed is the first.
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
    # a fingerprint: of the same round, and never an elite
    if not (dot and number.isdigit() and position.isdigit()):
        return None
    return history[int(number)][int(position)]
