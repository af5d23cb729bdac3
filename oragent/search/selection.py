"""Who becomes a parent."""

import numpy as np

from oragent.search.archive import Archive, Elite

__all__ = ["parents"]


def parents(
    archive: Archive, island: int, count: int, rng: np.random.Generator, temperature: float = 0.2
) -> list[Elite]:
    """Draw different elites of an island, better ones more often.

    The weight of an elite falls exponentially with its rank, not with its score: one hopeless program in a far cell
    would otherwise make all good ones look alike.

    Args:
        archive: where they live.
        island: which population.
        count: how many; fewer where the island has fewer.
        rng: the round's generator.
        temperature: share of the ranking over which the weight falls by a factor e; small is greedy.

    Returns:
        The drawn elites, in the order of the draw.
    """
    ranked = archive.ranked(island)
    weights = np.exp(-np.arange(len(ranked)) / (temperature * max(len(ranked), 1)))
    drawn = rng.choice(len(ranked), size=min(count, len(ranked)), replace=False, p=weights / weights.sum())
    return [ranked[position] for position in drawn]
