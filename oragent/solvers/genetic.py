"""Genetic algorithm over sets of a fixed size, with a given crossover.

Source: the algorithm of Ye et al. 2024, ReEvo, arXiv:2402.01145, for the placement of decoupling capacitors, after Kim
et al. 2023, DevFormer, arXiv:2205.13225; except that forbidden genes are repaired like repeated ones.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Genes = NDArray[np.int64]
Fitness = Callable[[Genes], NDArray[np.float64]]
Crossover = Callable[[Genes, int], Genes]


class GeneticSolution(NamedTuple):
    """Best individual of the last generation."""

    # Genes without repetition, ``(k,)`` int64 array.
    genes: Genes
    # Value of the given fitness function; scorers recompute it.
    fitness: float
    # Best fitness of the first population, then of every generation; it never falls.
    history: tuple[float, ...]


def evolve(
    fitness: Fitness,
    crossover: Crossover,
    allowed: Genes,
    length: int,
    rng: np.random.Generator,
    *,
    population: int = 20,
    generations: int = 10,
    elite_rate: float = 0.2,
) -> GeneticSolution:
    """Evolve sets of ``length`` different genes.

    The first population is drawn at random. In every generation the better half are parents, and the best survive as
    the elite. The crossover creates the others from the parents, and invalid genes of its children are repaired. This
    is the only mutation.

    Args:
        fitness: Function that returns the values of an ``(n, length)`` array of individuals, to be maximised.
        crossover: Function that creates ``n`` children, ``(n, length)`` whole numbers, from ``(population - population
            // 2, length)`` parents, the worst first.
        allowed: ``(m,)`` allowed genes without repetition, at least ``length``.
        length: Number of genes of an individual.
        rng: Only source of randomness.
        population: Number of individuals of a generation.
        generations: Number of generations of children.
        elite_rate: Share of the population that survives.
    """
    individuals = rng.permuted(np.tile(allowed, (population, 1)), axis=1)[:, :length]
    values = fitness(individuals)
    history = [float(values.max())]
    elite = int(population * elite_rate)
    for _ in range(generations):
        order = np.argsort(values, kind="stable")
        individuals, values = individuals[order], values[order]
        children = crossover(individuals[population // 2 :].copy(), population - elite)
        children = mend(children, allowed, rng)
        individuals = np.concatenate([individuals[population - elite :], children])
        values = np.concatenate([values[population - elite :], fitness(children)])
        history.append(float(values.max()))
    best = int(values.argmax())
    return GeneticSolution(individuals[best], float(values[best]), tuple(history))


def find_unusable(individuals: Genes, allowed: Genes) -> NDArray[np.bool_]:
    """Mark the genes that are not allowed or repeat an earlier gene of the individual.

    Args:
        individuals: ``(n, k)`` array, any integers.
        allowed: ``(m,)`` array of different genes.

    Returns:
        ``(n, k)`` array.
    """
    unusable = ~np.isin(individuals, allowed)
    for row, wrong in zip(individuals, unusable, strict=True):
        first = np.zeros(len(row), dtype=bool)
        first[np.unique(row, return_index=True)[1]] = True
        wrong |= ~first
    return unusable


def mend(individuals: Genes, allowed: Genes, rng: np.random.Generator) -> Genes:
    """Replace the genes that ``find_unusable`` marks by random allowed genes without repetition.

    Args:
        individuals: ``(n, k)`` array, any integers.
        allowed: ``(m,)`` array of at least ``k`` different genes.
        rng: Generator that draws the new genes; not used if all genes are valid.

    Returns:
        ``(n, k)`` array; every row has ``k`` different allowed genes.
    """
    mended = np.array(individuals, dtype=np.int64)
    for row, unusable in zip(mended, find_unusable(mended, allowed), strict=True):
        wrong = np.flatnonzero(unusable)
        if wrong.size:
            row[wrong] = rng.choice(np.setdiff1d(allowed, row), len(wrong), replace=False)
    return mended
