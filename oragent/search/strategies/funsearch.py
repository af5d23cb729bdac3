"""FunSearch: the prompt shows good programs from worse to better, and the model writes the next program.

Romera-Paredes et al. 2024 (doi:10.1038/s41586-023-06924-6; official code: google-deepmind/funsearch). On an island,
programs of equal score form a cluster. A softmax over scores draws two clusters; it becomes greedier as the number of
programs grows. One program is drawn from each cluster, preferably a short one. Islands exchange no programs. At
intervals, the worse half of the islands is emptied; each of them restarts from the best program of another island.

Differences by default (the setting in brackets gives the published value): one sample per prompt
(``strategy.options.samples=4``); two islands (``archive.islands=10``); two different clusters (``replacement=true``:
the same cluster may be drawn twice); scores are normalised before the softmax, so that one temperature fits every
problem (``scores=raw``); no resets (``archive.reset_s=14400``: by time); prompts show scores and metrics
(``strategy.show=paper``: programs only) and some of the problem's building blocks (``strategy.blocks=none``). A
normalised score is 1 for the island's best program and 0 for its median and below. Two differences have no setting: a
cluster has one score, not one per test, and the model answers a chat message instead of completing a text.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT
from oragent.search.archive import reset_generator, restarts
from oragent.search.candidate import Committed, Elite
from oragent.search.config import Blocks
from oragent.search.prompting.programs import Told, as_published, show_program, shown_figures
from oragent.search.prompting.prompt_templates import (
    bin_meanings,
    bin_names,
    blocks_hint,
    edits_request,
    program_request,
    task_messages,
)
from oragent.search.round_context import RoundContext
from oragent.search.selection import normalise_fitness
from oragent.search.strategies.asking import ask_for_program, raised_temperature
from oragent.search.strategies.operators import compose_prompt
from oragent.search.strategy import Strategy


@dataclass(frozen=True, config=STRICT)
class FunSearchSettings:
    """Settings under ``strategy.options``.

    Attributes:
        functions: Number of programs in a prompt (the paper's k).
        samples: Number of replies to each prompt; the paper has 4.
        replacement: Whether one cluster may be drawn twice, as in the paper.
        scores: Scores in the softmax: ``normalised``, or ``raw`` as in the paper.
        temperature: Temperature of the draw of clusters on an empty island.
        period: Number of programs on an island after which the temperature, which falls to zero until then, starts
            anew.
        first: Number of programs at the beginning for which the model is asked at a higher temperature.
        bolder: Amount added to the model's temperature for the first programs.
    """

    functions: Annotated[int, Ge(1)] = 2
    samples: Annotated[int, Ge(1)] = 1
    replacement: bool = False
    scores: Literal["normalised", "raw"] = "normalised"
    temperature: Annotated[float, Gt(0)] = 0.1
    period: Annotated[int, Ge(1)] = 30_000
    first: Annotated[int, Ge(0)] = 0
    bolder: Annotated[float, Ge(0)] = 0.3


async def play_round(run: RoundContext) -> None:
    """Show the model two programs of an island, worse first, and score each program that it writes."""
    options: FunSearchSettings = run.own
    drawn = draw_programs(run, living_programs(run)[run.island])
    shown = [Elite.of(record) for record in sorted(drawn, key=run.fitness)]
    messages = task_messages(run, write_prompt(run, shown))
    temperature = raised_temperature(run, options.bolder) if run.turn <= options.first else None
    if options.samples == 1:
        await ask_for_program(run, "code", messages, shown, temperature)
        return
    sample = partial(ask_for_program, role="code", messages=messages, parents=shown, temperature=temperature)
    await run.fork([sample] * options.samples)


def living_programs(run: RoundContext) -> list[list[Committed]]:
    """Return the programs of each island: its founder and all programs since its last reset."""
    period, seed, timed = run.settings.archive.reset_period, run.settings.seed, run.context.resets
    living: list[dict[str, Committed]] = [{} for _ in range(run.archive.islands)]
    for number, candidates in enumerate(run.rounds):
        for record in candidates:
            # A program that another strategy withholds belongs to no island.
            at = record.candidate.island
            homes = living if number == 0 else living[at : at + 1]
            for home in homes if record.placed else []:
                home.setdefault(record.candidate.fingerprint, record)
        if rng := reset_generator(number, 1 if number in timed else period, seed):
            _reset_islands(run, living, rng)
    return [list(home.values()) for home in living]


def draw_programs(run: RoundContext, living: Sequence[Committed]) -> list[Committed]:
    """Draw clusters of an island, and a program from each."""
    options: FunSearchSettings = run.own
    clusters: dict[float, list[Committed]] = {}
    for record in living:
        clusters.setdefault(run.fitness(record), []).append(record)
    values = np.array(list(clusters))
    temperature = options.temperature * (1 - (len(living) % options.period) / options.period)
    heights = values - np.max(values) if options.scores == "raw" else normalise_fitness(values) - 1
    weights = np.exp(heights / temperature)
    limit = len(values) if options.replacement else int(np.count_nonzero(weights))
    count, chances = min(options.functions, limit), weights / weights.sum()
    places = run.rng.choice(len(values), size=count, replace=options.replacement, p=chances)
    return [_short_one(clusters[values[index]], run.rng) for index in places]


def write_prompt(run: RoundContext, shown: Sequence[Elite]) -> str:
    """Write the prompt with the drawn programs."""
    figures, changed = shown_figures(run, Told.NONE), shown[-1]
    hint, telling = blocks_hint(run, changed), bin_meanings(run) if figures is Told.ALL else ""
    programs = [
        show_program(f"Version {number}", elite, bins=bin_names(run), detail=figures)
        for number, elite in enumerate(shown)
    ]
    better = run.problem.about.direction.comparative
    scores = f", with their scores. A {better} score is better, and" if figures is Told.ALL else ", worse first:"
    changes = "" if as_published(run) else edits_request(run, changed.source)
    request = program_request(run)
    return compose_prompt(
        run,
        "",
        programs,
        run.fill_template("answer_code", run.style, **request, edits=changes),
        changed=changed,
        shown=shown,
        telling=telling,
        hint=hint,
        fill=partial(run.fill_template, "funsearch", run.style, scores=scores, **request, edits=changes),
    )


def _short_one(cluster: Sequence[Committed], rng: np.random.Generator) -> Committed:
    """Draw a program of a cluster by a softmax over the negative length of its text, relative to their range."""
    lengths = np.array([len(record.candidate.source) for record in cluster], dtype=float)
    weights = np.exp(-(lengths - lengths.min()) / (lengths.max() + 1e-6))
    return cluster[int(rng.choice(len(cluster), p=weights / weights.sum()))]


def _reset_islands(run: RoundContext, living: list[dict[str, Committed]], rng: np.random.Generator) -> None:
    tops = [max(home.values(), key=run.fitness) for home in living]
    for island, survivor in restarts([run.fitness(top) for top in tops], rng):
        founder = tops[survivor]
        living[island] = {founder.candidate.fingerprint: founder}


STRATEGY = Strategy(name="funsearch", round=play_round, remembers=True, blocks=Blocks.SOME, settings=FunSearchSettings)
