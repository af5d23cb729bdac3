"""A run's archive over its rounds: what is placed where, who migrates, which islands start anew.

The engine tends an archive by these rules while it searches, and reports replay them over what was committed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from oragent._base.direction import Direction
from oragent.search.archive import AddStatus, Archive
from oragent.search.candidate import NOWHERE, Candidate, Committed, Elite
from oragent.search.grid import Grid


@dataclass(frozen=True, kw_only=True)
class ArchivePolicy:
    """Rules by which a run keeps its archive."""

    direction: Direction  # direction of the scores
    islands: int = 1  # number of populations that evolve side by side
    population: int = 20  # size of an island where the problem has no features
    migration_period: int = 0  # number of rounds after which each island's best goes to the next one; 0: never
    reset_period: int = 0  # number of rounds after which the worse half of the islands starts anew; 0: never
    resets: frozenset[int] = frozenset()  # numbers of the rounds after which they did so by the clock
    everywhere: bool = True  # whether the seed heuristic begins on every island; otherwise on the first alone
    seed: int = 0  # seed of the run
    # bins of measured features, as the problem declares them; None where evaluators print bins
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
        """Do what is due after a round."""
        if number and self.migration_period and number % self.migration_period == 0:
            archive.migrate()
        rng = reset_generator(number, 1 if number in self.resets else self.reset_period, self.seed)
        if rng is not None:
            archive.reset(rng)


def reset_generator(number: int, period: int, seed: int) -> np.random.Generator | None:
    """The generator by which islands start anew after a round; None where none does. Period 0: never."""
    return np.random.default_rng([seed, number, 1]) if number and period and number % period == 0 else None


def replay_archive(tending: ArchivePolicy, records: Iterable[Committed], rounds: int) -> Archive:
    """The archive as a run held it, by all committed candidates in order and the number of committed rounds.

    The seed's is one of them; the latest may have no candidates.
    """
    archive, latest = tending.opened(), 0
    for number, group in groupby(records, key=lambda record: record.round):
        for empty in range(latest + 1, number):
            tending.tend(archive, empty)
        for record in group:
            tending.place(archive, record.id, record.candidate)
        tending.tend(archive, number)
        latest = number
    for empty in range(latest + 1, rounds):
        tending.tend(archive, empty)
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
        scores = [
            fitness(parent.candidate.evaluation.score)
            for parent in parents
            if parent and parent.candidate.evaluation.score is not None
        ]
        score_of_child = record.candidate.evaluation.score
        gained += score_of_child is not None and number > 0 and all(fitness(score_of_child) > score for score in scores)
    return gained / len(latest) if latest else 0.0


def _find_record(history: Sequence[Sequence[Committed]], name: str) -> Committed | None:
    number, dot, position = name.partition(".")
    if not (dot and number.isdigit() and position.isdigit()):  # a fingerprint: of the same round, and never an elite
        return None
    return history[int(number)][int(position)]
