"""Algorithm evolution by a large language model: two algorithms are crossed, now and then the child is changed.

Liu et al. 2023 (arXiv:2311.15249), whose code is not public; what we know are descriptions of two re-implementations
(ai4co/reevo, qiliuchn/OR-Agent), which agree. N individuals, each a description and the program that does it, are
created from nothing. A generation makes N children of the population as it was when it began: two parents, drawn
uniformly, are crossed, and with probability 0.2 the child is changed before it is scored. The best N of parents and
children survive. N is 10.

Where we differ: rounds overlap, so a generation may begin before the last children of the one before are known; the
problem's seed heuristic belongs to the first population, where the paper shows none; prompts tell scores and metrics
(``strategy.show=paper``: description and program alone). As settings, the variant of the study of OR-Agent: parents by
rank, every crossed child scored, mutation 0.5.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT
from oragent.ledger import RecordedReply
from oragent.programs.blocks import fence, tag
from oragent.search.candidate import Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting import as_published, asked, edits, fill, wanted
from oragent.search.round_context import RoundContext
from oragent.search.selection import best
from oragent.search.strategies.asking import ask_and_read, ask_for_program, bolder, complaint, program
from oragent.search.strategies.operators import apply, compose, remember, thought, thoughts, write
from oragent.search.strategies.sizes import first_population
from oragent.search.strategy import Strategy

REPLACED = "child replaced"  # kind of the notes that name, by fingerprint, scored children that a changed one replaces
Share = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True, config=STRICT)
class AELSettings:
    """What ``strategy.options`` may say.

    Attributes:
        population: Number of survivors, and of children in a generation (the paper's N).
        first: Number of programs that are created from nothing; None: N, or a fifth of a smaller budget.
        bolder: What is added to the model's temperature for these.
        parents: Number of parents of a child.
        mutation: Probability that a child is changed.
        selection: How parents are drawn: ``uniform``, or by ``rank`` with weights 1, 1/2, 1/3 and so on.
        score_crossed: Whether a child is scored before it is changed; else what was changed is scored alone.
    """

    population: Annotated[int, Ge(1)] = 10
    first: Annotated[int, Ge(1)] | None = None
    bolder: Annotated[float, Ge(0)] = 0.0
    parents: Annotated[int, Ge(1)] = 2
    mutation: Share = 0.2
    selection: Literal["uniform", "rank"] = "uniform"
    score_crossed: bool = False


async def round(run: RoundContext) -> None:
    """Make one individual: from nothing, or by crossover and perhaps mutation."""
    own: AELSettings = run.own
    first = first_population(run, own.first, own.population)
    if run.turn <= first:
        await apply(run, "ael_creation", [], temperature=bolder(run, own.bolder))
        return
    parents = _drawn(run, _population(run, first))
    mutates = bool(run.rng.random() < own.mutation)
    if own.score_crossed or not mutates:
        child = await apply(run, "ael_crossover", parents)
        if not mutates or child.score is None:
            return
        run.note(REPLACED, child.fingerprint)
        said = [thought(reply.text) for reply in run.replies]
        await _mutate(run, child.source, next((words for words in reversed(said) if words), ""), [Elite.of(child)])
        return
    draft, words = await _draft(run, parents)
    if draft is not None:
        await _mutate(run, draft, words, [Elite.of(one) for one in parents])


def _population(run: RoundContext, first: int) -> list[Committed]:
    """The best N of all that was made before the generation began, as far as it is committed."""
    size = run.own.population
    begun = first + (run.turn - first - 1) // size * size
    replaced = {note.text for note in run.recall(REPLACED)}
    living = [one for one in run.scored if one.candidate.fingerprint not in replaced]
    return best([one for one in living if run.turn_of(one.round) <= begun], run.fitness, size)


def _drawn(run: RoundContext, population: Sequence[Committed]) -> list[Committed]:
    """Different parents, worst first."""
    ranks = np.arange(1, len(population) + 1)
    weights = 1.0 / ranks if run.own.selection == "rank" else np.ones(len(population))
    count = min(run.own.parents, len(population))
    places = run.rng.choice(len(population), size=count, replace=False, p=weights / weights.sum())
    return [population[int(place)] for place in sorted(places, reverse=True)]


async def _draft(run: RoundContext, parents: Sequence[Committed]) -> tuple[str | None, str]:
    """A crossed child that is not scored, as it is changed first, and its description; None: there is none."""
    shown = [Elite.of(one) for one in parents]
    prompt = write(run, fill("ael_crossover", run.style), shown, "answer_thought", thoughts(run, parents))
    found = await ask_and_read(
        run,
        "ael_crossover",
        asked(run, prompt),
        lambda text: program(run, text, shown[-1].source),
        partial(complaint, run),
    )
    if found.value is None:
        _reject(run, found.reply, found.problem, shown)
    return found.value, thought(found.reply.text)


def _reject(run: RoundContext, reply: RecordedReply, problem: str, shown: Sequence[Elite]) -> None:
    run.reject(reply.text, problem, [one.id for one in shown], reply.role, reply.call)


async def _mutate(run: RoundContext, source: str, words: str, line: Sequence[Elite]) -> None:
    """Ask for a changed version of a program.

    Args:
        run: Round that asks.
        source: Text of the program.
        words: Description of it.
        line: Programs that the changed one descends from.
    """
    said = f"Idea: {words}\n" if words else ""
    shown = f"The program:\n{said}{fence(source.strip(), tag(source))}"
    changes = "" if as_published(run) else edits(run, source)
    answer = fill("answer_thought", run.style, **wanted(run), edits=changes)
    prompt = compose(run, fill("ael_mutation", run.style), [shown], answer)
    candidate = await ask_for_program(run, "ael_mutation", asked(run, prompt), line, base=source)
    remember(run, candidate, next((said for reply in reversed(run.replies) if (said := thought(reply.text))), ""))


STRATEGY = Strategy(name="ael", round=round, remembers=True, blocks=Blocks.NONE, settings=AELSettings)
