"""Parent selection."""

from collections.abc import Callable, Sequence

import numpy as np

from oragent.search.archive import Archive
from oragent.search.candidate import Committed, Elite


def draw_parents(
    archive: Archive, island: int, count: int, rng: np.random.Generator, temperature: float = 0.2
) -> list[Elite]:
    """Draw different elites of an island, better ones with higher probability; fewer if the island has fewer.

    The weight of an elite falls exponentially with its rank, not with its score. With scores, one very bad program
    would make the weights of all good ones nearly equal. ``temperature`` is the share of the ranking over which the
    weight falls by a factor e; small values are greedy.
    """
    # The island may be empty.
    ranked = archive.ranked(island) or archive.elites()
    weights = np.exp(-np.arange(len(ranked)) / (temperature * max(len(ranked), 1)))
    places = rng.choice(len(ranked), size=min(count, len(ranked)), replace=False, p=weights / weights.sum())
    return [ranked[position] for position in places]


def draw_by_softmax(
    archive: Archive,
    count: int,
    rng: np.random.Generator,
    temperature: Callable[[int], float],
    *,
    together: bool = False,
) -> tuple[list[Elite], int]:
    """Draw different elites, from islands drawn uniformly, by a softmax over their normalised scores.

    A score is normalised to 1 for the island's best and 0 for its median and below, so that very bad programs do not
    make the weights of good ones nearly equal. A cell holds one program, the shorter of two with equal scores.
    ``temperature`` returns the temperature of an island; small values are greedy. With ``together``, all elites come
    from one island.

    Returns the elites in the order of the draw, fewer if the islands have fewer, and the island of the first.
    """
    chosen: list[Elite] = []
    homes = [island for island in range(archive.islands) if archive.ranked(island)]
    islands = [homes[int(index)] for index in rng.integers(len(homes), size=1 if together else count)]
    for island in islands * count if together else islands:
        taken = {elite.id for elite in chosen}
        pool = [elite for elite in archive.ranked(island) if elite.id not in taken]
        if pool:
            fitness = np.array([archive.fitness(elite.score) for elite in pool])
            weights = np.exp((normalise_fitness(fitness) - 1) / temperature(island))
            chosen.append(pool[int(rng.choice(len(pool), p=weights / weights.sum()))])
    return chosen, islands[0]


def best_records(records: Sequence[Committed], fitness: Callable[[Committed], float], size: int) -> list[Committed]:
    """Return the best ``size`` programs, best first, one per score. Of several with equal scores, the oldest counts."""
    distinct: dict[float, Committed] = {}
    for record in records:
        distinct.setdefault(fitness(record), record)
    return [distinct[value] for value in sorted(distinct, reverse=True)[:size]]


def by_rank(ranked: Sequence[Committed], count: int, rng: np.random.Generator) -> list[Committed]:
    """Draw different members of a population. Rank r (from 1) of n has weight 1 / (r + n), as in EoH.

    The worst comes first, because a model builds on the last program. There are fewer if the population is smaller.
    """
    weights = 1.0 / (np.arange(1, len(ranked) + 1) + len(ranked))
    drawn = rng.choice(len(ranked), size=min(count, len(ranked)), replace=False, p=weights / weights.sum())
    return [ranked[position] for position in sorted(drawn, reverse=True)]


def normalise_fitness(fitness: np.ndarray) -> np.ndarray:
    """Return 1 for the best fitness, 0 for the median and below, and shares of the gap between them."""
    gap, scale = np.max(fitness) - fitness, np.max(fitness) - np.median(fitness)
    normalised: np.ndarray = np.clip(1 - gap / scale, 0, 1) if scale > 0 else (gap == 0).astype(float)
    return normalised


def cyclic_temperature(number: int, mean: float, cycle: int) -> float:
    """Return the temperature of a round, or of an island after a number of programs.

    It falls in equal steps from twice its mean to almost 0 in each cycle.

    This follows FunSearch (Romera-Paredes et al. 2024, doi:10.1038/s41586-023-06924-6).
    """
    return 2 * mean * (1 - number % cycle / cycle)
