"""Genetic programming over syntax trees: the search that needs no model, and the control in every comparison.

Koza 1992, "Genetic Programming"; parents come from a MAP-Elites archive instead of a generation.
"""

from oragent.search.genetics.variation import room, vary
from oragent.search.run import Run
from oragent.search.selection import parents
from oragent.search.strategy import Strategy

__all__ = ["STRATEGY", "round"]

TRIES = 20  # draws of an offspring that nobody has tried yet, before the round is given up


async def round(run: Run) -> None:
    """Breed one new program and score it."""
    about, settings, blocks = run.problem.about, run.settings.strategy, run.blocks()
    most = room(run.problem.seed)
    for _ in range(TRIES):
        parent, *mates = parents(run.archive, run.island, 2, run.rng, settings.temperature)
        mate = mates[0].source if mates else None
        child = vary(parent.source, mate, function=about.function, primitives=blocks, rng=run.rng, most=most)
        if not run.seen(child.source):
            line = [parent.id, *(elite.id for elite in mates if "graft" in child.operator)]
            await run.evaluate(child.source, line, child.operator)
            return


STRATEGY = Strategy(name="gp", round=round, asks_model=False)
