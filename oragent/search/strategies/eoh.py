"""Evolution of heuristics: thoughts and programs evolve together, by five ways of asking a model.

Liu et al. 2024 (arXiv:2401.02051). A population of N individuals, each a thought in one sentence and the program that
does it, begins with N answers to ``i1``. Then ``e1`` and ``e2`` explore from five parents, ``m1``, ``m2`` and ``m3``
change one; parents are drawn by rank, and the best N of all survive.

Where we differ: an offspring may become a parent as soon as it is committed, where the paper makes 5 N of them, N by
each operator, before it selects; the operators take turns, so that each has the paper's share. The problem's seed
heuristic belongs to the first population. Parents of one offspring are all different. N is ``archive.population``.
"""

from oragent.search.config import Blocks
from oragent.search.run import Run
from oragent.search.selection import best, by_rank
from oragent.search.strategies.operators import apply
from oragent.search.strategy import Strategy

__all__ = ["STRATEGY", "round"]

OPERATORS = ("e1", "e2", "m1", "m2", "m3")
PARENTS = {"e1": 5, "e2": 5, "m1": 1, "m2": 1, "m3": 1}


async def round(run: Run) -> None:
    """Make one individual: of the first population, or by the operator whose turn it is."""
    size = run.settings.archive.population
    if run.turn <= size:
        await apply(run, "i1", [])
        return
    population = best(run.scored, run.fitness, size)
    operator = OPERATORS[(run.turn - size - 1) % len(OPERATORS)]
    await apply(run, operator, by_rank(population, PARENTS[operator], run.rng))


STRATEGY = Strategy(name="eoh", round=round, remembers=True, blocks=Blocks.NONE)
