"""Genetic programming over syntax trees: the search that needs no model, and the control in every comparison.

Koza 1992, "Genetic Programming"; parents come from a MAP-Elites archive instead of a generation.
"""

from oragent.search.genetics.variation import vary_unit
from oragent.search.round_context import RoundContext
from oragent.search.selection import draw_parents
from oragent.search.strategy import Strategy

TRIES = 20  # draws of an offspring that nobody has tried yet, before the round is given up


async def play_round(run: RoundContext) -> None:
    """Breed one new program and score it."""
    problem, settings, blocks = run.problem, run.settings.strategy, run.blocks()
    best = run.archive.best.source if run.archive.best else None
    for _ in range(TRIES):
        parent, *mates = draw_parents(run.archive, run.island, 2, run.rng, settings.temperature)
        mate = mates[0].source if mates else None
        child = vary_unit(
            parent.source, mate, problem.signature, problem.seed, primitives=blocks, rng=run.rng, best=best
        )
        if not run.seen(child.source):
            parent_ids = [parent.id, *(elite.id for elite in mates if "graft" in child.operator)]
            await run.evaluate(child.source, parent_ids, child.operator)
            return


STRATEGY = Strategy(name="gp", round=play_round, asks_model=False, languages=("python",))
