"""FunSearch: a model is shown good programs, worse to better, and writes the next one.

Romera-Paredes et al. 2024 (doi:10.1038/s41586-023-06924-6). On an island, programs of equal score form a cluster. Two
clusters are drawn by a softmax over their scores, which grows greedier with the number of programs, and from each a
program, shorter ones more often. Islands exchange nothing; with ``archive.reset_period`` the worse half of them is
emptied now and then, and each restarts from the best program of a surviving one.

Where we differ: scores are normalised before the softmax (1 is the island's best, 0 its median and what is worse), so
that its temperature fits any problem; a cluster is one score, and not one for each test; the model is asked in a chat
and not to complete a text; the prompt names some of the problem's building blocks (``strategy.blocks=none``: none);
resets come by rounds, not hours, and by default never.
"""

from collections.abc import Sequence

import numpy as np

from oragent.llm.context import Part, fit
from oragent.search.archive import restarts
from oragent.search.candidate import Committed, Elite
from oragent.search.config import Blocks
from oragent.search.history import resetting
from oragent.search.prompting import asked, bins, blocks, edits, fill, history, meanings, room, show, standing, wanted
from oragent.search.run import Run
from oragent.search.strategies.asking import ask_for_program
from oragent.search.strategy import Strategy

__all__ = ["STRATEGY", "islands", "prompt", "round"]

SHOTS = 2  # programs in a prompt (the paper's k)
TEMPERATURE = 0.1  # of the draw of clusters, on an empty island
PERIOD = 30_000  # programs on an island after which the temperature, which falls to zero until then, starts anew


async def round(run: Run) -> None:
    """Show the model two programs of an island, worse first, and score what it writes."""
    drawn = draw(run, islands(run)[run.island])
    shown = [Elite.of(one) for one in sorted(drawn, key=run.fitness)]
    await ask_for_program(run, "code", asked(run, prompt(run, shown)), shown)


def islands(run: Run) -> list[list[Committed]]:
    """What lives on each island: what was made there since its last reset, and its founder."""
    period, seed = run.settings.archive.reset_period, run.settings.seed
    living: list[dict[str, Committed]] = [{} for _ in range(run.archive.islands)]
    for number, candidates in enumerate(run.rounds):
        for record in candidates:
            homes = living if number == 0 else [living[record.candidate.island]]
            for home in homes if record.placed else []:
                home.setdefault(record.candidate.fingerprint, record)
        if rng := resetting(number, period, seed):
            _reset(run, living, rng)
    return [list(home.values()) for home in living]


def draw(run: Run, living: Sequence[Committed]) -> list[Committed]:
    """Draw a program from each of two clusters of an island."""
    clusters: dict[float, list[Committed]] = {}
    for record in living:
        clusters.setdefault(run.fitness(record), []).append(record)
    values = np.array(list(clusters))
    median, top = np.median(values), np.max(values)
    normalised = np.clip((values - median) / (top - median), 0.0, 1.0) if top > median else np.ones(len(values))
    temperature = TEMPERATURE * (1 - (len(living) % PERIOD) / PERIOD)
    weights = np.exp((normalised - 1) / temperature)
    count = min(SHOTS, int(np.count_nonzero(weights)))
    places = run.rng.choice(len(values), size=count, replace=False, p=weights / weights.sum())
    return [_short_one(clusters[values[place]], run.rng) for place in places]


def prompt(run: Run, shown: Sequence[Elite]) -> str:
    """Write the best-shot prompt."""
    about, known = run.problem.about, run.problem.knowledge.strip()
    hint, telling, changed = blocks(run, shown[-1]), meanings(run), shown[-1]
    programs = [show(f"Version {number}", one, bins=bins(run)) for number, one in enumerate(shown)]
    return fit(
        lambda left: fill(
            "funsearch",
            run.style,
            better=about.direction.comparative,
            programs="\n\n".join(left["programs"]) + telling,
            **wanted(run),
            answer=fill("answer_code", run.style, **wanted(run), edits=edits(run, shown)),
            hint="".join(left["a hint"]),
            standing="".join(left["where the search stands"]),
            history="".join(left["how the program came about"]),
            knowledge="".join(left["what is known about the problem"]),
        ),
        [
            Part("a hint", [hint]),
            Part("how the program came about", [history(run, changed)]),
            Part("where the search stands", [standing(run, changed)]),
            Part("what is known about the problem", [known]),
            Part("programs", programs, keep=1),
        ],
        room(run),
    )


def _short_one(cluster: Sequence[Committed], rng: np.random.Generator) -> Committed:
    """Draw from a cluster by a softmax over the negative length of the text, as a share of its range."""
    lengths = np.array([len(record.candidate.source) for record in cluster], dtype=float)
    weights = np.exp(-(lengths - lengths.min()) / (lengths.max() + 1e-6))
    return cluster[int(rng.choice(len(cluster), p=weights / weights.sum()))]


def _reset(run: Run, living: list[dict[str, Committed]], rng: np.random.Generator) -> None:
    """Empty the worse half of the islands; each restarts from the best of a surviving one, drawn at random."""
    tops = [max(home.values(), key=run.fitness) for home in living]
    for island, survivor in restarts([run.fitness(top) for top in tops], rng):
        founder = tops[survivor]
        living[island] = {founder.candidate.fingerprint: founder}


STRATEGY = Strategy(name="funsearch", round=round, remembers=True, blocks=Blocks.SOME)
