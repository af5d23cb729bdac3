"""Tune constants by a real optimiser: the tree-structured Parzen estimator of optuna.

Akiba et al. 2019 (doi:10.1145/3292500.3330701).
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from oragent.errors import BudgetExhausted
from oragent.search.candidate import Candidate, Elite
from oragent.search.run import Run
from oragent.search.strategies.or_agent.constants import Range, with_values

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

__all__ = ["tune"]

BATCH = 4  # evaluations at once; fixed, so that the number of workers changes nothing


async def tune(run: Run, solution: Elite, ranges: Sequence[Range], evaluations: int) -> list[Candidate]:
    """Evaluate programs with other constants, each batch in the light of those before.

    Args:
        run: Branch that pays; its generator seeds the optimiser, and the evaluations count as its own.
        solution: Program whose constants are tuned; its score is what the optimiser knows at first.
        ranges: Ranges of the constants.
        evaluations: Number of evaluations that it takes.

    Returns:
        The candidates; fewer than wanted where the budget ends before.
    """
    optimiser = _Optimiser(ranges, run.archive.fitness(solution.score), seed=int(run.rng.integers(1 << 31)))
    tried: list[Candidate] = []
    while (count := min(BATCH, evaluations - len(tried))) > 0:
        asked = [optimiser.ask() for _ in range(count)]
        sources = [with_values(solution.source, run.problem.about.function, values) for _, values in asked]
        try:
            batch = await run.fork([partial(_evaluated, source=source, parent=solution) for source in sources])
        except BudgetExhausted:
            break
        for (number, _), candidate in zip(asked, batch, strict=True):
            score = candidate.evaluation.score
            optimiser.tell(number, None if score is None else run.archive.fitness(score))
        tried += batch
    return tried


async def _evaluated(run: Run, source: str, parent: Elite) -> Candidate:
    return await run.evaluate(source, [parent.id], "tune")


class _Optimiser:
    """Proposes values for constants, by their numbers, and is told what they were worth."""

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
            known = optuna.trial.create_trial(params=present, distributions=self._axes, value=fitness)
            self._study.add_trial(known)

    def ask(self) -> tuple[int, dict[int, float]]:
        """The number of a proposal, and its values."""
        draw = self._study.ask(self._axes)
        return draw.number, {int(name): float(value) for name, value in draw.params.items()}

    def tell(self, number: int, fitness: float | None) -> None:
        """Say what a proposal was worth; None: it failed."""
        if fitness is None:
            self._study.tell(number, state=self._failed)
        else:
            self._study.tell(number, fitness)
