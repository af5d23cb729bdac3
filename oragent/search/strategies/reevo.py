"""Reflective evolution (ReEvo): one role writes programs, and another explains why one is better.

Ye et al. 2024 (arXiv:2402.01145). Each generation pairs parents of different scores at random. The reflector compares
the two (short-term reflection), and the generator combines them with that advice (crossover). At the end of a
generation the reflector merges the new advice with all earlier advice (long-term reflection). With it, the generator
changes the best program so far (elitist mutation). Sizes are the paper's: 30 programs at first, then 10 crossovers and
5 mutations (``strategy.options``: ``initial``, ``crossovers``, ``mutations``).

Differences from the paper: rounds overlap. The first pairs of a generation are therefore drawn before the last programs
of the previous one are known, and crossovers of the next generation begin before the long-term reflection ends. The
first population takes at most a fifth of the budget (``strategy.options.initial=30``: the paper's). Pairs are drawn by
rank among programs that differ in more than their numbers; the seed is paired only if there is no other pair
(``strategy.options.pairs=even``: uniformly among pairs of different scores; the paper redraws until two scores differ).
A generation without such a pair uses the best programs of the whole run. If a short-term reflection is too late for its
generation, the next long-term reflection includes it. Prompts show scores and metrics (``strategy.show=paper``:
programs only).
"""

import re
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT
from oragent.llm.dialogue import PromptPart
from oragent.search.candidate import Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting.programs import Told, show_program, shown_figures
from oragent.search.prompting.prompt_templates import task_messages
from oragent.search.round_context import RoundContext
from oragent.search.selection import best_records
from oragent.search.strategies.asking import ask_for_program, first_population, raised_temperature
from oragent.search.strategies.operators import ask_reflector, write_prompt
from oragent.search.strategy import Strategy

INITIAL, PAIRS, MUTATIONS = 30, 10, 5
# Amount added to the model's temperature for the first programs.
BOLDER = 0.3
# Kinds of notes.
HINT, ADVICE = "short-term reflection", "long-term reflection"
# Kind of notes that hold the last round whose hints a long-term reflection includes.
JOINED = "short-term reflections joined"


@dataclass(frozen=True, config=STRICT)
class ReEvoSettings:
    """Settings under ``strategy.options``.

    Attributes:
        initial: Number of programs of the first population; None: the paper's 30, or a fifth of a smaller budget.
        crossovers: Number of crossovers of a generation.
        mutations: Number of mutations of the best program at the end of a generation.
        pairs: Choice of the two programs to compare: by ``rank``, or ``even`` as in the paper.
    """

    initial: Annotated[int, Ge(1)] | None = None
    crossovers: Annotated[int, Ge(1)] = PAIRS
    mutations: Annotated[int, Ge(0)] = MUTATIONS
    pairs: Literal["rank", "even"] = "rank"

    @property
    def generation(self) -> int:
        """Number of rounds of a generation: one per crossover, then one for all mutations."""
        return self.crossovers + 1


async def play_round(run: RoundContext) -> None:
    """Make one of the first programs, a crossover, or all mutations of a generation."""
    generation, position = divmod(run.turn - 1 - initial_size(run), run.own.generation)
    if generation < 0:
        await write_initial(run)
    elif position < run.own.crossovers:
        await cross_programs(run, generation)
    else:
        await mutate_best(run)


async def write_initial(run: RoundContext) -> None:
    """Ask for a better program than the seed."""
    seed = Elite.of(run.history[0])
    await generate_program(
        run, "initial", run.fill_template("reevo_initial"), [seed], raised_temperature(run, BOLDER), anew=True
    )


async def cross_programs(run: RoundContext, generation: int) -> None:
    """Let the model compare two programs, then combine them."""
    pairs = _differing_pairs(run, _parent_generation(run, generation))
    pairs = pairs or _differing_pairs(run, best_records(run.scored, run.fitness, INITIAL))
    if not pairs:
        await write_initial(run)
        return
    worse, better = (Elite.of(record) for record in _draw_pair(run, pairs))
    figures = shown_figures(run, Told.NONE)
    programs = [show_program("First", worse, detail=figures) + "\n", show_program("Second", better, detail=figures)]
    hint = await _ask_advice(run, "reevo_short", [PromptPart("programs", programs, keep=2)])
    run.note(HINT, hint)
    await generate_program(run, "crossover", run.fill_template("reevo_crossover", reflection=hint), [worse, better])


async def mutate_best(run: RoundContext) -> None:
    """Merge the reflections, and mutate the best program with the result."""
    advice, hints = _latest_advice(run)
    parts = [PromptPart("hints", [f"- {hint}" for hint in hints if hint]), PromptPart("advice", [advice])]
    # Without an answer, the earlier advice stays, and the next long-term reflection merges the hints.
    if answer := await _ask_advice(run, "reevo_long", parts):
        advice = answer
        run.note(ADVICE, advice)
        run.note(JOINED, str(run.horizon))
    (champion,) = best_records(run.scored, run.fitness, 1)
    for _ in range(run.own.mutations):
        task = run.fill_template("reevo_mutation", reflection=advice)
        await generate_program(run, "mutation", task, [Elite.of(champion)])


def _latest_advice(run: RoundContext) -> tuple[str, list[str]]:
    """Return the latest advice, and the hints that it does not include. Some hints are late, because rounds overlap."""
    notes = run.recall(ADVICE)
    if not notes:
        return run.problem.knowledge.strip(), [note.text for note in run.recall(HINT)]
    latest = notes[-1]
    horizon = next(int(note.text) for note in run.recall(JOINED) if note.round == latest.round)
    return latest.text, [note.text for note in run.recall(HINT) if note.round > horizon]


async def generate_program(
    run: RoundContext,
    operator: str,
    task: str,
    parents: Sequence[Elite],
    temperature: float | None = None,
    *,
    anew: bool = False,
) -> None:
    """Ask the generator for a program and score it."""
    prompt = f"{run.fill_template('reevo_generator')}\n\n{write_prompt(run, task, parents, 'answer_code', anew=anew)}"
    await ask_for_program(run, operator, task_messages(run, prompt), parents, temperature=temperature)


async def _ask_advice(run: RoundContext, template: str, parts: Sequence[PromptPart]) -> str:
    return await ask_reflector(run, template, parts, f"{run.fill_template('reevo_reflector')}\n\n")


def _parent_generation(run: RoundContext, generation: int) -> list[Committed]:
    first = initial_size(run)
    begin = first + 1 + (generation - 1) * run.own.generation if generation else 0
    end = first + 1 + generation * run.own.generation
    scored = run.scored
    elitist = best_records(scored, run.fitness, 1)
    generation_records = [record for record in scored if begin <= run.turn_of(record.round) < end]
    if elitist[0] in generation_records:
        return generation_records
    return [*generation_records, *elitist]


def initial_size(run: RoundContext) -> int:
    """Return the size of the first population: the paper's, or a fifth of a smaller budget."""
    return first_population(run, run.own.initial, INITIAL)


def _draw_pair(run: RoundContext, pairs: Sequence[tuple[Committed, Committed]]) -> tuple[Committed, Committed]:
    """Draw a pair: uniformly, as in the paper, or by rank among pairs that differ in more than constants."""
    if run.own.pairs == "even":
        return pairs[int(run.rng.integers(len(pairs)))]
    apart = [
        pair for pair in pairs if _text_without_numbers(pair[0].source) != _text_without_numbers(pair[1].source)
    ] or list(pairs)
    ranked = sorted({first.id: first for pair in apart for first in pair}.values(), key=run.fitness, reverse=True)
    rank_of = {first.id: rank for rank, first in enumerate(ranked, 1)}
    weights = np.array([1.0 / (rank_of[first.id] + rank_of[second.id]) for first, second in apart])
    seed = [run.history[0].id in (first.id, second.id) for first, second in apart]
    # A comparison with the seed gives little advice.
    if not all(seed):
        weights[seed] = 0.0
    return apart[int(run.rng.choice(len(apart), p=weights / weights.sum()))]


def _text_without_numbers(source: str) -> str:
    return re.sub(r"\s+|\b\d[\d_.e+-]*", "", source)


def _differing_pairs(run: RoundContext, members: Sequence[Committed]) -> list[tuple[Committed, Committed]]:
    ordered = sorted(members, key=run.fitness)
    return [(worse, better) for worse, better in combinations(ordered, 2) if run.fitness(worse) < run.fitness(better)]


STRATEGY = Strategy(name="reevo", round=play_round, remembers=True, blocks=Blocks.NONE, settings=ReEvoSettings)
