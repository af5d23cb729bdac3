"""Evolution of heuristics (EoH): thoughts and programs evolve together by five prompt operators.

Liu et al. 2024 (arXiv:2401.02051; official code: FeiLiu36/EoH). An individual is a thought in one sentence and its
program. The first population is the best N of 2 N answers to ``i1``. Then ``e1`` and ``e2`` explore from five parents,
and ``m1``, ``m2`` and ``m3`` change one parent. Parents are drawn by rank, and the best N of all survive. If a program
equals an earlier one, the model is asked again, at most twice.

Differences from the paper: an offspring may become a parent as soon as it is committed, while the paper makes 5 N
offspring, N by each operator, and then selects. The operators take turns, so that each has the same share as in the
paper. The first population contains the problem's seed heuristic, and takes at most a fifth of the budget
(``strategy.options.first=40``: a fixed size). The parents of an offspring are all different. Prompts show scores and
metrics (with ``strategy.show=paper``, thought and program only).
"""

from typing import Annotated

from annotated_types import Ge, MinLen
from pydantic.dataclasses import dataclass

from oragent._base.errors import ConfigError
from oragent._base.settings import STRICT
from oragent.search.config import Blocks
from oragent.search.round_context import RoundContext
from oragent.search.selection import best_records, by_rank
from oragent.search.strategies.asking import first_population, raised_temperature
from oragent.search.strategies.operators import apply_anew
from oragent.search.strategy import Strategy

OPERATORS = ("e1", "e2", "m1", "m2", "m3")
EXPLORING = ("e1", "e2")


@dataclass(frozen=True, config=STRICT)
class EoHSettings:
    """Settings under ``strategy.options``.

    Attributes:
        population: Number of survivors (the paper's N); None: ``archive.population``.
        first: Number of programs from which the first population is chosen; None: 2 N, or a fifth of a smaller budget.
        bolder: Amount added to the model's temperature for the first programs.
        parents: Number of programs in prompts of ``e1`` and ``e2``.
        operators: Operators, which take turns.
        retries: Maximum number of further requests if a program equals an earlier one.
    """

    population: Annotated[int, Ge(1)] | None = None
    first: Annotated[int, Ge(1)] | None = None
    bolder: Annotated[float, Ge(0)] = 0.0
    parents: Annotated[int, Ge(1)] = 5
    operators: Annotated[tuple[str, ...], MinLen(1)] = OPERATORS
    retries: Annotated[int, Ge(0)] = 2

    def __post_init__(self) -> None:
        for name in self.operators:
            if name not in OPERATORS:
                raise ConfigError(
                    f"strategy.options.operators: unknown operator {name!r}; expected some of {', '.join(OPERATORS)}"
                )


async def play_round(run: RoundContext) -> None:
    """Make one individual, for the first population or by the next operator."""
    options: EoHSettings = run.own
    size = options.population or run.settings.archive.population
    first = first_population(run, options.first, 2 * size)
    if run.turn <= first:
        await apply_anew(run, "i1", [], options.retries, raised_temperature(run, options.bolder))
        return
    population = best_records(run.scored, run.fitness, size)
    operator = options.operators[(run.turn - first - 1) % len(options.operators)]
    count = options.parents if operator in EXPLORING else 1
    await apply_anew(run, operator, by_rank(population, count, run.rng), options.retries)


STRATEGY = Strategy(name="eoh", round=play_round, remembers=True, blocks=Blocks.NONE, settings=EoHSettings)
