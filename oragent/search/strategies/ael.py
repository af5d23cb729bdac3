"""Algorithm evolution by a large language model (AEL): crossover of two programs, with occasional mutation.

Liu et al. 2023 (arXiv:2311.15249). Their code is not public. This implementation follows the descriptions of two
re-implementations that agree (ai4co/reevo, qiliuchn/OR-Agent). The model first creates N individuals without parents;
an individual is a description and its program. A generation makes N children of the population at its beginning. For
each child, two uniformly drawn parents are crossed, and with probability 0.2 the child is mutated before it is scored.
The best N of parents and children survive. N is 10.

Differences from the paper: rounds overlap, so a generation may begin before the last children of the previous one are
known. The first population contains the problem's seed heuristic; the paper has no seed. Prompts show scores and
metrics (with ``strategy.show=paper``, description and program only). Settings select the variant of the OR-Agent study:
parents by rank, every crossed child scored, mutation 0.5.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Le
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT
from oragent.programs.blocks import fence_text, language_tag
from oragent.search.candidate import Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting.programs import as_published
from oragent.search.prompting.prompt_templates import edits_request, program_request, task_messages
from oragent.search.round_context import RoundContext
from oragent.search.selection import best_records
from oragent.search.strategies.asking import (
    ask_and_read,
    ask_for_program,
    first_population,
    raised_temperature,
    read_program,
    repair_request,
)
from oragent.search.strategies.operators import (
    apply_operator,
    compose_prompt,
    read_thought,
    recall_thoughts,
    remember_thought,
    write_prompt,
)
from oragent.search.strategy import Strategy

# Kind of notes that hold the fingerprint of a scored child whose mutated version replaces it.
REPLACED = "child replaced"
Share = Annotated[float, Ge(0), Le(1)]


@dataclass(frozen=True, config=STRICT)
class AELSettings:
    """Settings under ``strategy.options``.

    Attributes:
        population: Number of survivors, and of children in a generation (the paper's N).
        first: Number of programs that are written without parents; None: N, or a fifth of a smaller budget.
        bolder: Amount added to the model's temperature for the first programs.
        parents: Number of parents of a child.
        mutation: Probability that a child is mutated.
        selection: Choice of parents: ``uniform``, or by ``rank`` with weights 1, 1/2, 1/3 and so on.
        score_crossed: Whether a child is also scored before its mutation.
    """

    population: Annotated[int, Ge(1)] = 10
    first: Annotated[int, Ge(1)] | None = None
    bolder: Annotated[float, Ge(0)] = 0.0
    parents: Annotated[int, Ge(1)] = 2
    mutation: Share = 0.2
    selection: Literal["uniform", "rank"] = "uniform"
    score_crossed: bool = False


async def play_round(run: RoundContext) -> None:
    """Make one individual without parents, or by crossover with optional mutation."""
    options: AELSettings = run.own
    first = first_population(run, options.first, options.population)
    if run.turn <= first:
        await apply_operator(run, "ael_creation", [], temperature=raised_temperature(run, options.bolder))
        return
    parents = _draw_parents(run, _parent_population(run, first))
    mutates = bool(run.rng.random() < options.mutation)
    if options.score_crossed or not mutates:
        child = await apply_operator(run, "ael_crossover", parents)
        if not mutates or child.score is None:
            return
        run.note(REPLACED, child.fingerprint)
        thoughts = map(read_thought, (reply.text for reply in reversed(run.replies)))
        await _mutate_program(run, child.source, next(filter(None, thoughts), ""), [Elite.of(child)])
        return
    draft, words = await _write_draft(run, parents)
    if draft is not None:
        await _mutate_program(run, draft, words, [Elite.of(parent) for parent in parents])


def _parent_population(run: RoundContext, first: int) -> list[Committed]:
    size = run.own.population
    begun = first + (run.turn - first - 1) // size * size
    replaced = {note.text for note in run.recall(REPLACED)}
    living = [record for record in run.scored if record.candidate.fingerprint not in replaced]
    return best_records([record for record in living if run.turn_of(record.round) <= begun], run.fitness, size)


def _draw_parents(run: RoundContext, population: Sequence[Committed]) -> list[Committed]:
    ranks = np.arange(1, len(population) + 1)
    weights = 1.0 / ranks if run.own.selection == "rank" else np.ones(len(population))
    count = min(run.own.parents, len(population))
    places = run.rng.choice(len(population), size=count, replace=False, p=weights / weights.sum())
    return [population[int(index)] for index in sorted(places, reverse=True)]


async def _write_draft(run: RoundContext, parents: Sequence[Committed]) -> tuple[str | None, str]:
    """Return a crossed child before it is scored, and its description.

    The child is None if the reply has no program.
    """
    shown = [Elite.of(parent) for parent in parents]
    prompt = write_prompt(
        run, run.fill_template("ael_crossover", run.style), shown, "answer_thought", recall_thoughts(run, parents)
    )
    read, complain = partial(read_program, run, base=shown[-1].source), partial(repair_request, run)
    answer = await ask_and_read(run, "ael_crossover", task_messages(run, prompt), read, complain)
    if answer.value is None:
        reply, ids = answer.reply, [elite.id for elite in shown]
        run.reject(reply.text, answer.problem, ids, reply.role, reply.call)
    return answer.value, read_thought(answer.reply.text)


async def _mutate_program(run: RoundContext, source: str, words: str, ancestors: Sequence[Elite]) -> None:
    description = f"Idea: {words}\n" if words else ""
    shown = f"The program:\n{description}{fence_text(source.strip(), language_tag(source))}"
    changes = "" if as_published(run) else edits_request(run, source)
    answer = run.fill_template("answer_thought", run.style, **program_request(run), edits=changes)
    prompt = compose_prompt(run, run.fill_template("ael_mutation", run.style), [shown], answer)
    candidate = await ask_for_program(run, "ael_mutation", task_messages(run, prompt), ancestors, base=source)
    thoughts = map(read_thought, (reply.text for reply in reversed(run.replies)))
    remember_thought(run, candidate, next(filter(None, thoughts), ""))


STRATEGY = Strategy(name="ael", round=play_round, remembers=True, blocks=Blocks.NONE, settings=AELSettings)
