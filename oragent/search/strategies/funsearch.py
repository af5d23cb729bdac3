"""FunSearch: a model is shown good programs, worse to better, and writes the next one.

Romera-Paredes et al. 2024 (doi:10.1038/s41586-023-06924-6; official code: google-deepmind/funsearch). On an island,
programs of equal score form a cluster. Two clusters are drawn by a softmax over their scores, which grows greedier with
the number of programs, and from each a program, shorter ones more often. Islands exchange nothing; the worse half of
them is emptied now and then, and each restarts from the best program of a surviving one.

Where we differ by default, with the published value in brackets: one sample a prompt (``strategy.options.samples=4``),
two islands (``archive.islands=10``), two different clusters (``replacement=true``: perhaps one of them twice); scores
are normalised before the softmax, 1 is the island's best, 0 its median and what is worse, so that its temperature fits
any problem (``scores=raw``); no resets (``archive.reset_s=14400``: by the clock); prompts
tell scores and metrics (``strategy.show=paper``: programs alone) and name some of the problem's building blocks
(``strategy.blocks=none``). Always: a cluster is one score, and not one for each test; the model is asked in a chat, and
not to complete a text.
"""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt
from pydantic.dataclasses import dataclass

from oragent._base.settings import STRICT
from oragent.llm.context import PromptPart, fit
from oragent.search.archive import restarts
from oragent.search.candidate import Committed, Elite
from oragent.search.config import Blocks
from oragent.search.history import resetting
from oragent.search.prompting import (
    Told,
    as_published,
    asked,
    bins,
    blocks,
    edits,
    fill,
    history,
    meanings,
    room,
    show,
    standing,
    told,
    wanted,
)
from oragent.search.round_context import RoundContext
from oragent.search.strategies.asking import ask_for_program, bolder
from oragent.search.strategy import Strategy


@dataclass(frozen=True, config=STRICT)
class FunSearchSettings:
    """What ``strategy.options`` may say.

    Attributes:
        functions: Number of programs in a prompt (the paper's k).
        samples: Number of replies to each prompt; the paper has 4.
        replacement: Whether one cluster may be drawn twice, as in the paper.
        scores: Scores in the softmax: ``normalised``, or ``raw`` as in the paper.
        temperature: Temperature of the draw of clusters, on an empty island.
        period: Number of programs on an island after which the temperature, which falls to zero until then, starts
            anew.
        first: Number of programs at the beginning for which the model is asked at a higher temperature.
        bolder: What is added to the model's temperature for these.
    """

    functions: Annotated[int, Ge(1)] = 2
    samples: Annotated[int, Ge(1)] = 1
    replacement: bool = False
    scores: Literal["normalised", "raw"] = "normalised"
    temperature: Annotated[float, Gt(0)] = 0.1
    period: Annotated[int, Ge(1)] = 30_000
    first: Annotated[int, Ge(0)] = 0
    bolder: Annotated[float, Ge(0)] = 0.3


async def round(run: RoundContext) -> None:
    """Show the model two programs of an island, worse first, and score what it writes, once or several times."""
    own: FunSearchSettings = run.own
    drawn = draw(run, islands(run)[run.island])
    shown = [Elite.of(one) for one in sorted(drawn, key=run.fitness)]
    messages = asked(run, prompt(run, shown))
    temperature = bolder(run, own.bolder) if run.turn <= own.first else None
    if own.samples == 1:
        await ask_for_program(run, "code", messages, shown, temperature)
        return
    sample = partial(ask_for_program, role="code", messages=messages, parents=shown, temperature=temperature)
    await run.fork([sample] * own.samples)


def islands(run: RoundContext) -> list[list[Committed]]:
    """What lives on each island: what was made there since its last reset, and its founder."""
    period, seed, timed = run.settings.archive.reset_period, run.settings.seed, run.desk.resets
    living: list[dict[str, Committed]] = [{} for _ in range(run.archive.islands)]
    for number, candidates in enumerate(run.rounds):
        for record in candidates:
            at = record.candidate.island  # nowhere, where another strategy withholds it
            homes = living if number == 0 else living[at : at + 1]
            for home in homes if record.placed else []:
                home.setdefault(record.candidate.fingerprint, record)
        if rng := resetting(number, 1 if number in timed else period, seed):
            _reset(run, living, rng)
    return [list(home.values()) for home in living]


def draw(run: RoundContext, living: Sequence[Committed]) -> list[Committed]:
    """Draw a program from each of some clusters of an island."""
    own: FunSearchSettings = run.own
    clusters: dict[float, list[Committed]] = {}
    for record in living:
        clusters.setdefault(run.fitness(record), []).append(record)
    values = np.array(list(clusters))
    temperature = own.temperature * (1 - (len(living) % own.period) / own.period)
    heights = values - np.max(values) if own.scores == "raw" else _normalised(values) - 1
    weights = np.exp(heights / temperature)
    most = len(values) if own.replacement else int(np.count_nonzero(weights))
    count, chances = min(own.functions, most), weights / weights.sum()
    places = run.rng.choice(len(values), size=count, replace=own.replacement, p=chances)
    return [_short_one(clusters[values[place]], run.rng) for place in places]


def prompt(run: RoundContext, shown: Sequence[Elite]) -> str:
    """Write the best-shot prompt."""
    known, figures, changed = run.problem.knowledge.strip(), told(run, Told.NONE), shown[-1]
    hint, telling = blocks(run, changed), meanings(run) if figures is Told.ALL else ""
    programs = [show(f"Version {number}", one, bins=bins(run), told=figures) for number, one in enumerate(shown)]
    better = run.problem.about.direction.comparative
    scores = f", with their scores. A {better} score is better, and" if figures is Told.ALL else ", worse first:"
    changes = "" if as_published(run) else edits(run, changed.source)
    return fit(
        lambda left: fill(
            "funsearch",
            run.style,
            scores=scores,
            programs="\n\n".join(left["programs"]) + telling,
            **wanted(run),
            answer=fill("answer_code", run.style, **wanted(run), edits=changes),
            edits=changes,
            hint="".join(left["a hint"]),
            standing="".join(left["where the search stands"]),
            history="".join(left["how the program came about"]),
            knowledge="".join(left["what is known about the problem"]),
        ),
        [
            PromptPart("a hint", [hint]),
            PromptPart("how the program came about", [history(run, changed)]),
            PromptPart("where the search stands", [standing(run, changed)]),
            PromptPart("what is known about the problem", [known]),
            PromptPart("programs", programs, keep=1),
        ],
        room(run),
    )


def _normalised(values: np.ndarray) -> np.ndarray:
    """Fitness of clusters, 1 for the best, 0 for the median and what is worse."""
    median, top = np.median(values), np.max(values)
    found: np.ndarray = np.clip((values - median) / (top - median), 0.0, 1.0) if top > median else np.ones(len(values))
    return found


def _short_one(cluster: Sequence[Committed], rng: np.random.Generator) -> Committed:
    """Draw from a cluster by a softmax over the negative length of the text, as a share of its range."""
    lengths = np.array([len(record.candidate.source) for record in cluster], dtype=float)
    weights = np.exp(-(lengths - lengths.min()) / (lengths.max() + 1e-6))
    return cluster[int(rng.choice(len(cluster), p=weights / weights.sum()))]


def _reset(run: RoundContext, living: list[dict[str, Committed]], rng: np.random.Generator) -> None:
    """Empty the worse half of the islands; each restarts from the best of a surviving one, drawn at random."""
    tops = [max(home.values(), key=run.fitness) for home in living]
    for island, survivor in restarts([run.fitness(top) for top in tops], rng):
        founder = tops[survivor]
        living[island] = {founder.candidate.fingerprint: founder}


STRATEGY = Strategy(name="funsearch", round=round, remembers=True, blocks=Blocks.SOME, settings=FunSearchSettings)
