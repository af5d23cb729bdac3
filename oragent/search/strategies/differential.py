"""Tune the constants of a program by differential evolution, a batch of trials at a time.

Storn & Price 1997 (doi:10.1023/A:1008202821328), as TIDE (arXiv:2601.21239) has it: a small population of Gaussian
neighbours of the constants as they stand, in a box in proportion to them; for each member some trials are made of three
others by difference and binomial crossover, scored at once, and the best of them takes its place if it is better.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from oragent._base.errors import BudgetExhausted
from oragent.search.candidate import Candidate, Elite
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.constants import Constant, find_constants, with_values

TUNED = "tide_tuned"  # origin of the programs
MOST = 8  # constants that are tuned at once, those that weigh most
FACTOR, CROSSOVER = 0.5, 0.9  # F and CR, which the paper does not say
WIDTH, SIGMA = 0.5, 0.1  # of the box, and of the noise, as shares of a constant
NEAR_ZERO, AROUND_ZERO = 1e-3, 0.5  # constants below the one have a box of plus and minus the other
LEAST = 4  # members: a target, and three others
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Box:
    """Where constants are looked for."""

    centre: Vector  # ``(d,)`` constants as they stand
    reach: Vector  # ``(d,)`` how far each may go, up and down

    @classmethod
    def around(cls, constants_found: Sequence[Constant]) -> "Box":
        """The box in proportion to constants."""
        centre = np.array([constant.value for constant in constants_found])
        return cls(centre, np.where(np.abs(centre) < NEAR_ZERO, AROUND_ZERO, WIDTH * np.abs(centre)))

    def clipped(self, point: Vector) -> Vector:
        """The nearest point in the box."""
        return np.clip(point, self.centre - self.reach, self.centre + self.reach)

    def neighbour(self, rng: np.random.Generator) -> Vector:
        """A point near the centre."""
        return self.clipped(rng.normal(self.centre, self.reach * SIGMA / WIDTH))


def make_trial(target: Vector, others: tuple[Vector, Vector, Vector], box: Box, rng: np.random.Generator) -> Vector:
    """A trial for a member: x1 + F (x2 - x3) in some dimensions, one at least, and the member's own in the others."""
    first, second, third = others
    mutant = box.clipped(first + FACTOR * (second - third))
    taken = rng.random(len(target)) < CROSSOVER
    taken[int(rng.integers(len(target)))] = True
    return np.where(taken, mutant, target)


async def evolve_constants(run: RoundContext, solution: Elite, evaluations: int, batch: int) -> list[Candidate]:
    """Evaluate a program with other constants, ``batch`` trials of a member at once, as the budget allows."""
    numbers = find_constants(solution.source, run.problem.about.function)[:MOST]
    if not numbers or evaluations < LEAST - 1 + batch:
        return []
    box, tried = Box.around(numbers), list[Candidate]()
    points = [box.centre, *(box.neighbour(run.rng) for _ in range(LEAST - 1))]
    try:
        tried += await _score_points(run, solution, numbers, points[1:])
        fitness = [run.archive.fitness(solution.score), *(_candidate_fitness(run, candidate) for candidate in tried)]
        target = 0
        while len(tried) + batch <= evaluations:
            trials = [_draw_trial(points, target, box, run.rng) for _ in range(batch)]
            scored = await _score_points(run, solution, numbers, trials)
            tried += scored
            best = max(range(batch), key=lambda index: _candidate_fitness(run, scored[index]))
            if _candidate_fitness(run, scored[best]) > fitness[target]:
                points[target], fitness[target] = trials[best], _candidate_fitness(run, scored[best])
            target = (target + 1) % LEAST
    except BudgetExhausted:
        pass
    return tried


def _draw_trial(points: Sequence[Vector], target: int, box: Box, rng: np.random.Generator) -> Vector:
    others = [index for index in rng.permutation(len(points)) if index != target][:3]
    first, second, third = (points[int(index)] for index in others)
    return make_trial(points[target], (first, second, third), box, rng)


async def _score_points(
    run: RoundContext, solution: Elite, numbers: Sequence[Constant], points: Sequence[Vector]
) -> list[Candidate]:
    function = run.problem.about.function
    sources = [
        with_values(
            solution.source,
            function,
            dict(zip((constant.number for constant in numbers), map(float, point), strict=True)),
        )
        for point in points
    ]
    return await run.fork([partial(_evaluate_variant, source=source, parent=solution) for source in sources])


async def _evaluate_variant(run: RoundContext, source: str, parent: Elite) -> Candidate:
    return await run.evaluate(source, [parent.id], TUNED)


def _candidate_fitness(run: RoundContext, candidate: Candidate) -> float:
    return -np.inf if candidate.score is None else run.archive.fitness(candidate.score)
