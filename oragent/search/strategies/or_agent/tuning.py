"""Tune constants by a real optimiser: few by optuna's tree-structured Parzen estimator, many by CMA-ES.

Akiba et al. 2019 (doi:10.1145/3292500.3330701); Hansen & Ostermeier 2001 (doi:10.1162/106365601750190398).
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import BudgetExhausted
from oragent._base.protocol import Status
from oragent._base.racing import read_race_estimate
from oragent.search.candidate import Candidate, Elite
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.constants import Range, with_values

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

FEW = 5  # constants up to which a tree of Parzen estimators looks at all of the ranges
SPREAD, GENERATION = 0.1, 6  # of CMA-ES: of its first generation, in widths of a range; programs in each, at least
BATCH = 4  # evaluations at once that a tree of Parzen estimators proposes


async def tune_constants(
    run: RoundContext, solution: Elite, ranges: Sequence[Range], evaluations: int, *, local: bool = False
) -> list[Candidate]:
    """Evaluate programs with other constants, each batch in the light of those before; fewer where the budget ends.

    The optimiser begins near the present values, by CMA-ES (``local``); otherwise few constants are sought in all of
    their ranges, which somebody has named. The generator of the run seeds it, and the score of ``solution`` is what it
    knows at first.
    """
    fitness, seed = run.archive.fitness(solution.score), int(run.rng.integers(1 << 31))
    optimiser = _make_optimiser(ranges, fitness, seed, local, _generation_size(run.window, evaluations))
    tried: list[Candidate] = []
    while (count := min(optimiser.at_once, evaluations - len(tried))) > 0:
        proposals = [optimiser.ask() for _ in range(count)]
        sources = [with_values(solution.source, run.problem.about.function, values) for _, values in proposals]
        try:
            batch = await run.fork([partial(_evaluate_variant, source=source, parent=solution) for source in sources])
        except BudgetExhausted:
            break
        for (number, _), candidate in zip(proposals, batch, strict=True):
            score = _reached_score(candidate)
            optimiser.tell(number, None if score is None else run.archive.fitness(score))
        tried += batch
    return tried


def _reached_score(candidate: Candidate) -> float | None:
    """Its score; of one that a race has ended, what that would about be; None for a failure."""
    evaluation = candidate.evaluation
    return read_race_estimate(evaluation.metrics) if evaluation.status is Status.SCREENED else evaluation.score


def _generation_size(window: int, evaluations: int) -> int:
    """Programs of a generation of CMA-ES: more where many rounds are in flight, which wait for this one in the end.

    By the window, not by the workers, whose number changes nothing; there are two at least.
    """
    return max(GENERATION, min(window // 2, evaluations // 2))


def _make_optimiser(
    ranges: Sequence[Range], fitness: float, seed: int, local: bool, generation: int
) -> "_Parzen | _Evolution":
    """Who proposes; CMA-ES needs two constants at least."""
    if len(ranges) > (1 if local else FEW):
        return _Evolution(ranges, seed, generation)
    return _Parzen(ranges, fitness, seed)


async def _evaluate_variant(run: RoundContext, source: str, parent: Elite) -> Candidate:
    return await run.evaluate(source, [parent.id], "tune")


class _Parzen:
    """Proposes values all over the ranges, by optuna."""

    at_once = BATCH

    def __init__(self, ranges: Sequence[Range], fitness: float, seed: int) -> None:
        # Only where it is needed: its import takes as long as that of half of oragent.
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        sampler = optuna.samplers.TPESampler(seed=seed)
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._failed = optuna.trial.TrialState.FAIL
        self._axes: dict[str, BaseDistribution] = {
            str(axis.constant.number): optuna.distributions.FloatDistribution(axis.low, axis.high, log=axis.logarithmic)
            for axis in ranges
        }
        present = {str(axis.constant.number): axis.constant.value for axis in ranges}
        if all(axis.low <= axis.constant.value <= axis.high for axis in ranges):
            start = optuna.trial.create_trial(params=present, distributions=self._axes, value=fitness)
            self._study.add_trial(start)

    def ask(self) -> tuple[int, dict[int, float]]:
        draw = self._study.ask(self._axes)
        return draw.number, {int(name): float(value) for name, value in draw.params.items()}

    def tell(self, number: int, fitness: float | None) -> None:
        if fitness is None:
            self._study.tell(number, state=self._failed)
        else:
            self._study.tell(number, fitness)


class _Evolution:
    """Proposes values near the present ones first, by CMA-ES; all ranges are as wide to it."""

    def __init__(self, ranges: Sequence[Range], seed: int, generation: int) -> None:
        from cmaes import CMA  # it imports scipy.stats, which takes a second

        begin = np.array([_position_in_range(axis, axis.constant.value) for axis in ranges])
        bounds = np.tile([0.0, 1.0], (len(ranges), 1))
        self._ranges = ranges
        self._search = CMA(begin, SPREAD, bounds=bounds, seed=seed, population_size=generation)
        self.at_once = generation
        self._asked: list[NDArray[np.float64]] = []
        self._told: list[tuple[NDArray[np.float64], float]] = []

    def ask(self) -> tuple[int, dict[int, float]]:
        """The number of a proposal, and its values."""
        self._asked.append(self._search.ask())
        pairs = zip(self._ranges, self._asked[-1].tolist(), strict=True)
        return len(self._asked) - 1, {axis.constant.number: _value_at(axis, position) for axis, position in pairs}

    def tell(self, number: int, fitness: float | None) -> None:
        """Say what a proposal was worth; None: it failed, and is the worst of its generation."""
        self._told.append((self._asked[number], math.inf if fitness is None else -fitness))
        if len(self._told) == self.at_once:
            self._search.tell(self._told)
            self._told = []


def _position_in_range(axis: Range, value: float) -> float:
    """Where a value lies in its range, from 0 to 1; in orders of magnitude where the range has some."""
    inside = min(max(value, axis.low), axis.high)
    if axis.logarithmic:
        return math.log(inside / axis.low) / math.log(axis.high / axis.low)
    return (inside - axis.low) / (axis.high - axis.low)


def _value_at(axis: Range, position: float) -> float:
    if axis.logarithmic:
        return float(axis.low * (axis.high / axis.low) ** position)
    return float(axis.low + position * (axis.high - axis.low))
