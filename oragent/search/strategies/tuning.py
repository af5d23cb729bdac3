"""Tune the constants of programs: by real optimisers, between the rounds of any strategy, or by differential evolution.

The optimiser is CMA-ES (`oragent.search.cma_es`).

Between rounds, within a share of the budget: TIDE (arXiv:2601.21239) tunes the constants of every candidate; here the
best elite that was not tuned yet has its turn now and then, so that the rounds of a strategy stay as they are. CMA-ES
starts at the present values. Every so many rounds one is kept free; where the share does not allow a
tuning yet, or nothing is left to tune, that round is empty. A run that time or money ends does not know how many
evaluations it has: it tunes few constants at once.

Differential evolution (Storn & Price 1997, doi:10.1023/A:1008202821328) as TIDE has it: a small population of Gaussian
neighbours of the constants as they stand, in a box in proportion to them; for each member some trials are made of three
others by difference and binomial crossover, scored at once, and the best of them takes its place if it is better.
"""

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from oragent._base.budget import Budget
from oragent._base.errors import BudgetExhausted
from oragent._base.protocol import Status
from oragent._base.racing import read_race_estimate
from oragent.search.candidate import Candidate, Elite
from oragent.search.cma_es import CmaEs, Vector
from oragent.search.experiments import find_position, value_at
from oragent.search.round_context import RoundContext
from oragent.search.strategies.constants import Constant, Range, find_constants, with_values
from oragent.search.strategy import Round

# constants of one tuning where evaluations are scarce
FEW = 5
# First step size, in widths of a range: around present values, and in ranges that a model or person named.
SPREAD, WIDE_SPREAD = 0.1, 0.3
# Least number of programs in a generation.
GENERATION = 6

# rounds
LEAST_PERIOD = 3
# evaluations of one tuning of few constants
COST = 12
# evaluations a constant, where there are many
EACH = 6
# constants that are tuned at once
MOST = 12
# elites, the best
LOOKED_AT = 20
# kind of the notes that hold a mark of a program that had its turn, and what that takes at most
TUNED = "tuned"
# origin of the programs
EVOLVED = "tide_tuned"
# constants that are tuned at once, those that weigh most
MOST_EVOLVED = 8
# F and CR, which the paper does not say
FACTOR, CROSSOVER = 0.5, 0.9
# of the box, and of the noise, as shares of a constant
BOX, SIGMA = 0.5, 0.1
# constants below the one have a box of plus and minus the other
NEAR_ZERO, AROUND_ZERO = 1e-3, 0.5
# members: a target, and three others
MEMBERS = 4


async def tune_constants(
    run: RoundContext, solution: Elite, ranges: Sequence[Range], evaluations: int, *, local: bool = False
) -> list[Candidate]:
    """Evaluate programs with other constants, each batch in the light of those before; fewer where the budget ends.

    CMA-ES starts at the present values: with a small step where ``local``, otherwise with one that covers ranges that
    somebody has named. The generator of the run seeds it.
    """
    seed, spread = int(run.rng.integers(1 << 31)), SPREAD if local else WIDE_SPREAD
    optimiser = _Optimiser(ranges, seed, spread, _generation_size(run.window, evaluations))
    tried: list[Candidate] = []
    while (count := min(optimiser.at_once, evaluations - len(tried))) > 0:
        proposals = [optimiser.ask() for _ in range(count)]
        try:
            batch = await _score_variants(run, solution, [values for _, values in proposals], "tune")
        except BudgetExhausted:
            break
        for (number, _), candidate in zip(proposals, batch, strict=True):
            score = _reached_score(candidate)
            optimiser.tell(number, None if score is None else run.archive.fitness(score))
        tried += batch
    return tried


def _reached_score(candidate: Candidate) -> float | None:
    evaluation = candidate.evaluation
    if evaluation.status is Status.SCREENED:
        return read_race_estimate(evaluation.metrics)
    return evaluation.score


def _generation_size(window: int, evaluations: int) -> int:
    """Programs of a generation of CMA-ES: more where many rounds are in flight, which wait for this one in the end.

    By the window, not by the workers, whose number changes nothing; there are two at least.
    """
    return max(GENERATION, min(window // 2, evaluations // 2))


async def _score_variants(
    run: RoundContext, solution: Elite, points: Sequence[Mapping[int, float]], origin: str
) -> list[Candidate]:
    """Score a program with other values of its constants, by their numbers, side by side."""
    sources = [with_values(solution.source, run.problem.about.function, values) for values in points]
    evaluate = partial(RoundContext.evaluate, parents=[solution.id], origin=origin)
    return await run.fork([partial(evaluate, source=source) for source in sources])


class _Optimiser:
    """CMA-ES over the ranges of constants, all of the same width to it."""

    def __init__(self, ranges: Sequence[Range], seed: int, spread: float, generation: int) -> None:
        start = np.array([find_position(axis.constant.value, axis.low, axis.high, axis.logarithmic) for axis in ranges])
        self._ranges = ranges
        self._search = CmaEs(start, spread, generation, seed)
        self.at_once = generation
        self._asked: list[Vector] = []
        self._told: list[tuple[Vector, float]] = []

    def ask(self) -> tuple[int, dict[int, float]]:
        self._asked.append(self._search.ask())
        pairs = zip(self._ranges, self._asked[-1].tolist(), strict=True)
        return len(self._asked) - 1, {
            axis.constant.number: value_at(position, axis.low, axis.high, axis.logarithmic) for axis, position in pairs
        }

    def tell(self, number: int, fitness: float | None) -> None:
        """Record the fitness of a proposal, None for a failed program; a full generation moves the search."""
        self._told.append((self._asked[number], math.inf if fitness is None else -fitness))
        if len(self._told) == self.at_once:
            self._search.tell([point for point, _ in self._told], [loss for _, loss in self._told])
            self._told = []


def with_tuning(round: Round, share: float, every: int) -> Round:
    """A strategy's round, which counts its own turns alone, with a tuning in its place in every so many rounds."""

    async def tune_or_play(run: RoundContext) -> None:
        if run.number % every == 0:
            await _tune_best(run, share)
            return
        numbers = [number for number in range(1, run.number + 1) if number % every]
        await round(replace(run, turns={number: turn for turn, number in enumerate(numbers, 1)}))

    return tune_or_play


def tuning_period(window: int) -> int:
    """Every how many rounds one is kept free.

    The one before is committed by then, long rounds, of which few are in flight, have one as soon as others by time,
    and an odd number takes from each island in turn.
    """
    return max(LEAST_PERIOD, 2 * window - 1)


def is_worth(share: float, budget: Budget) -> bool:
    """Return whether a share of a budget is enough for at least one tuning; otherwise no round is reserved.

    A call of a model makes about one program, so calls bound evaluations too; of other bounds nobody knows.
    """
    bounds = [bound for bound in (budget.evaluations, budget.model_calls) if bound is not None]
    return share > 0 and (not bounds or share * min(bounds) >= COST)


def tuning_cost(count: int) -> int:
    """Evaluations of the tuning of so many constants."""
    if count <= FEW:
        return COST
    return EACH * count


async def _tune_best(run: RoundContext, share: float) -> None:
    """Tune the constants of the best elite that has not had its turn, where there is one and the share allows it."""
    had = [note.text.split() for note in run.recall(TUNED)]
    chosen = _find_untuned(run, {words[0] for words in had})
    if chosen is None:
        return
    elite, numbers = chosen
    limit = run.settings.budget.evaluations
    if limit is None:
        groups = [numbers[at : at + FEW] for at in range(0, len(numbers), FEW)]
        numbers = groups[len(had) % len(groups)]
    elif tuning_cost(len(numbers)) > share * limit:
        numbers = numbers[:FEW]
    evaluations = tuning_cost(len(numbers))
    taken = sum(int(words[1]) if len(words) > 1 else COST for words in had)
    if share * (run.spent.evaluations + evaluations) - taken < evaluations:
        return
    run.note(TUNED, f"{_elite_mark(elite)} {evaluations}")
    await tune_constants(run, elite, [Range.around(constant) for constant in numbers], evaluations, local=True)


def _find_untuned(run: RoundContext, marks: set[str]) -> tuple[Elite, list[Constant]] | None:
    for elite in run.archive.elites()[:LOOKED_AT]:
        numbers = find_constants(elite.source, run.problem.about.function)[:MOST]
        if numbers and _elite_mark(elite) not in marks:
            return elite, numbers
    return None


def _elite_mark(elite: Elite) -> str:
    return hashlib.sha256(elite.source.encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Box:
    """Where constants are looked for."""

    # ``(d,)`` constants as they stand
    centre: Vector
    # ``(d,)`` how far each may go, up and down
    reach: Vector

    @classmethod
    def around(cls, constants_found: Sequence[Constant]) -> "Box":
        """The box in proportion to constants."""
        centre = np.array([constant.value for constant in constants_found])
        return cls(centre, np.where(np.abs(centre) < NEAR_ZERO, AROUND_ZERO, BOX * np.abs(centre)))

    def clipped(self, point: Vector) -> Vector:
        """The nearest point in the box."""
        return np.clip(point, self.centre - self.reach, self.centre + self.reach)

    def neighbour(self, rng: np.random.Generator) -> Vector:
        """A point near the centre."""
        return self.clipped(rng.normal(self.centre, self.reach * SIGMA / BOX))


def make_trial(target: Vector, others: tuple[Vector, Vector, Vector], box: Box, rng: np.random.Generator) -> Vector:
    """A trial for a member: x1 + F (x2 - x3) in some dimensions, one at least, and the member's own in the others."""
    first, second, third = others
    mutant = box.clipped(first + FACTOR * (second - third))
    taken = rng.random(len(target)) < CROSSOVER
    taken[int(rng.integers(len(target)))] = True
    return np.where(taken, mutant, target)


async def evolve_constants(run: RoundContext, solution: Elite, evaluations: int, batch: int) -> list[Candidate]:
    """Evaluate a program with other constants, ``batch`` trials of a member at once, as the budget allows."""
    numbers = find_constants(solution.source, run.problem.about.function)[:MOST_EVOLVED]
    if not numbers or evaluations < MEMBERS - 1 + batch:
        return []
    box, tried = Box.around(numbers), list[Candidate]()
    points = [box.centre, *(box.neighbour(run.rng) for _ in range(MEMBERS - 1))]
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
            target = (target + 1) % MEMBERS
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
    places = [constant.number for constant in numbers]
    values = [dict(zip(places, map(float, point), strict=True)) for point in points]
    return await _score_variants(run, solution, values, EVOLVED)


def _candidate_fitness(run: RoundContext, candidate: Candidate) -> float:
    if candidate.score is None:
        return -np.inf
    return run.archive.fitness(candidate.score)
