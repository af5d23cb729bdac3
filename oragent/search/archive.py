"""The MAP-Elites archive: on every island, the best program of every behaviour.

Mouret & Clune 2015 (arXiv:1504.04909); islands as in FunSearch (Romera-Paredes et al. 2024,
doi:10.1038/s41586-023-06924-6).
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from enum import IntEnum

import numpy as np

from oragent._base.direction import Direction
from oragent.search.candidate import Elite
from oragent.search.grid import Grid


class AddStatus(IntEnum):
    """Result of adding a candidate, from worst to best; true if the archive changed."""

    NOT_ADDED = 0
    IMPROVED = 1  # it took the cell of a worse program
    NEW = 2  # it took an empty cell


class Archive:
    """Islands of cells; where a problem has no features, an island is a plain population of its best programs.

    ``grid`` are the bins of features that are measured; None where evaluators print bins.
    """

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
            return AddStatus.NOT_ADDED if worst is elite else AddStatus.IMPROVED
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
            return  # an island without any program: too early to judge
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
    """Choose the islands that restart, the worse half by the fitness of each one's best, and a survivor for each.

    Pairs of islands: one that starts anew, and the one whose best it restarts from, drawn by ``rng``.
    """
    order = sorted(range(len(tops)), key=lambda island: -tops[island])
    survivors = order[: (len(tops) + 1) // 2]
    return [(island, survivors[int(rng.integers(len(survivors)))]) for island in order[len(survivors) :]]
