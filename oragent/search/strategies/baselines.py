"""Baselines of every comparison: independent samples, hill climbing, and genetic programming without a model.

``random``: a model writes programs from the problem description alone, and the best program counts. Every search with a
model must beat this "best of N" baseline (Zhang et al. 2024, "Understanding the importance of evolutionary search in
automated heuristic design with large language models", arXiv:2407.10873). Prompts show no earlier program, not even the
seed. As in all strategies, a reply without a usable program is sent back once.

``hill_climb``: the prompt shows the best program so far, and the model, whose weights stay fixed, writes a better one.
A published ablation found this baseline as good as searches that train their model (Hill Sampling, arXiv:2609.25510).
There is no population, and prompts show no other program.

``one_shot`` is in ``one_shot.py``.

``gp``: genetic programming over syntax trees (Koza 1992, "Genetic Programming"); parents come from a MAP-Elites archive
instead of a generation.
"""

from oragent.search.config import Blocks
from oragent.search.genetics.variation import vary_unit
from oragent.search.prompting.prompt_templates import task_messages
from oragent.search.round_context import RoundContext
from oragent.search.selection import draw_parents
from oragent.search.strategies.asking import ask_for_program
from oragent.search.strategies.operators import apply_operator, write_prompt
from oragent.search.strategy import Strategy

# Number of attempts to breed a new program before the round ends without one.
TRIES = 20


async def draw_sample(run: RoundContext) -> None:
    """Draw one independent sample."""
    await apply_operator(run, "i1", [])


async def improve_best(run: RoundContext) -> None:
    """Ask for a better version of the best program so far, and score it."""
    best = run.archive.best
    shown = [best] if best is not None else []
    prompt = write_prompt(run, run.fill_template("hill_climb", run.style), shown, "answer_code")
    await ask_for_program(run, "code", task_messages(run, prompt), shown)


async def breed_program(run: RoundContext) -> None:
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


RANDOM = Strategy(name="random", round=draw_sample, blocks=Blocks.NONE, tuning=0.0)
HILL_CLIMB = Strategy(name="hill_climb", round=improve_best, islands=1, blocks=Blocks.NONE, tuning=0.0)
GP = Strategy(name="gp", round=breed_program, asks_model=False, languages=("python",))
