"""Tuning of constants by CMA-ES, in reserved rounds of any strategy, or by differential evolution.

Reserved rounds: TIDE (arXiv:2601.21239) tunes the constants of every candidate. Here, one round in each period tunes
the best elite that is not tuned yet, within a share of the budget; the other rounds of the strategy do not change.
CMA-ES starts at the present values. If the share does not allow a tuning yet, or no elite is left to tune, the reserved
round is empty. If time or money limits a run, the number of evaluations is unknown, and few constants are tuned at
once.

Differential evolution (Storn & Price 1997, doi:10.1023/A:1008202821328) as in TIDE: the population holds Gaussian
neighbours of the present constants, in a box in proportion to them. For each member, several trials are made from three
other members by difference and binomial crossover, and scored at once. The best trial replaces the member if it is
better.
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
from oragent.search.experiments import Vector, find_position, start_cma_es, value_at
from oragent.search.round_context import RoundContext
from oragent.search.strategies.constants import Constant, Range, find_constants, with_values
from oragent.search.strategy import Round

# Number of constants of one tuning if evaluations are scarce.
MIN_TUNED = 5
# First step size as a share of a range: for ranges around present values, and for given ranges.
SPREAD, WIDE_SPREAD = 0.1, 0.3
# Minimum number of programs in a generation.
GENERATION = 6

# Smallest period of reserved rounds.
MIN_PERIOD = 3
# Evaluations of one tuning of MIN_TUNED constants.
COST = 12
# Evaluations per constant, if there are many.
EACH = 6
# Largest number of constants that are tuned at once.
MAX_TUNED = 12
# Number of best elites that are considered.
LOOKED_AT = 20
# Kind of notes that hold the mark of a tuned program and the maximum number of evaluations of its tuning.
TUNED = "tuned"
# Origin of the programs.
EVOLVED = "tide_tuned"
# Number of most influential constants that differential evolution tunes at once.
MAX_EVOLVED = 8
# F and CR; the paper gives no values.
FACTOR, CROSSOVER = 0.5, 0.9
# Half-width of the box and standard deviation of the noise, as shares of a constant.
BOX, SIGMA = 0.5, 0.1
# A constant of absolute value below NEAR_ZERO has a box of half-width AROUND_ZERO.
NEAR_ZERO, AROUND_ZERO = 1e-3, 0.5
# Smallest population: a target and three other members.
MEMBERS = 4


async def tune_constants(
    run: RoundContext, solution: Elite, ranges: Sequence[Range], evaluations: int, *, local: bool = False
) -> list[Candidate]:
    """Evaluate a program with other constants, in batches by CMA-ES; fewer if the budget ends.

    CMA-ES starts at the present values. The first step is small if ``local``; otherwise it covers the given ranges. The
    run's random generator gives the seed.
    """
    start = np.array([find_position(axis.constant.value, axis.low, axis.high, axis.logarithmic) for axis in ranges])
    size, seed = _generation_size(run.window, evaluations), int(run.rng.integers(1 << 31))
    search = start_cma_es(start, SPREAD if local else WIDE_SPREAD, size, seed)
    tried: list[Candidate] = []
    while (count := min(size, evaluations - len(tried))) > 0:
        points = [search.ask() for _ in range(count)]
        values = [
            {
                axis.constant.number: value_at(position, axis.low, axis.high, axis.logarithmic)
                for axis, position in zip(ranges, point.tolist(), strict=True)
            }
            for point in points
        ]
        try:
            batch = await _score_variants(run, solution, values, "tune")
        except BudgetExhausted:
            break
        tried += batch
        if count == size:
            scores = map(_reached_score, batch)
            losses = [math.inf if score is None else -run.archive.fitness(score) for score in scores]
            search.tell([*zip(points, losses, strict=True)])
    return tried


def _reached_score(candidate: Candidate) -> float | None:
    evaluation = candidate.evaluation
    if evaluation.status is Status.SCREENED:
        return read_race_estimate(evaluation.metrics)
    return evaluation.score


def _generation_size(window: int, evaluations: int) -> int:
    """Return the number of programs of a CMA-ES generation, at least ``GENERATION``.

    It grows with the window, because the running rounds wait for this one. It does not depend on the number of workers,
    so that results do not depend on it either.
    """
    return max(GENERATION, min(window // 2, evaluations // 2))


async def _score_variants(
    run: RoundContext, solution: Elite, points: Sequence[Mapping[int, float]], origin: str
) -> list[Candidate]:
    """Score a program with several sets of values of its constants in parallel."""
    sources = [with_values(solution.source, run.problem.about.function, values) for values in points]
    evaluate = partial(RoundContext.evaluate, parents=[solution.id], origin=origin)
    return await run.fork([partial(evaluate, source=source) for source in sources])


def with_tuning(round: Round, share: float, every: int) -> Round:
    """Return a round function that tunes in every ``every``-th round and runs ``round`` in the others."""

    async def tune_or_play(run: RoundContext) -> None:
        if run.number % every == 0:
            await _tune_best(run, share)
            return
        await round(replace(run, turns=lambda number: number - number // every if number % every else 0))

    return tune_or_play


def tuning_period(window: int) -> int:
    """Return the period of rounds that are reserved for tuning.

    The period exceeds the window, so that the previous tuning is committed. A strategy with long rounds has a small
    window, so that the time between tunings is similar. The period is odd, so that it takes rounds from each island in
    turn.
    """
    return max(MIN_PERIOD, 2 * window - 1)


def is_worth(share: float, budget: Budget) -> bool:
    """Return True if a share of a budget is enough for at least one tuning. Otherwise no round is reserved.

    A model call yields about one program, so a limit on calls bounds evaluations too. Other limits give no bound.
    """
    bounds = [bound for bound in (budget.evaluations, budget.model_calls) if bound is not None]
    return share > 0 and (not bounds or share * min(bounds) >= COST)


def tuning_cost(count: int) -> int:
    """Return the number of evaluations of a tuning of ``count`` constants."""
    if count <= MIN_TUNED:
        return COST
    return EACH * count


async def _tune_best(run: RoundContext, share: float) -> None:
    """Tune the constants of the best elite that is not tuned yet, if there is one and the share allows it."""
    had = [note.text.split() for note in run.recall(TUNED)]
    chosen = _find_untuned(run, {words[0] for words in had})
    if chosen is None:
        return
    elite, numbers = chosen
    limit = run.settings.budget.evaluations
    if limit is None:
        groups = [numbers[at : at + MIN_TUNED] for at in range(0, len(numbers), MIN_TUNED)]
        numbers = groups[len(had) % len(groups)]
    elif tuning_cost(len(numbers)) > share * limit:
        numbers = numbers[:MIN_TUNED]
    evaluations = tuning_cost(len(numbers))
    taken = sum(int(words[1]) if len(words) > 1 else COST for words in had)
    if share * (run.spent.evaluations + evaluations) - taken < evaluations:
        return
    run.note(TUNED, f"{_elite_mark(elite)} {evaluations}")
    await tune_constants(run, elite, [Range.around(constant) for constant in numbers], evaluations, local=True)


def _find_untuned(run: RoundContext, marks: set[str]) -> tuple[Elite, list[Constant]] | None:
    for elite in run.archive.elites()[:LOOKED_AT]:
        numbers = find_constants(elite.source, run.problem.about.function)[:MAX_TUNED]
        if numbers and _elite_mark(elite) not in marks:
            return elite, numbers
    return None


def _elite_mark(elite: Elite) -> str:
    return hashlib.sha256(elite.source.encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True, eq=False)
class Box:
    """Box of allowed values of constants."""

    # ``(d,)`` present constants.
    centre: Vector
    # ``(d,)`` half-widths of the box.
    reach: Vector

    @classmethod
    def around(cls, constants_found: Sequence[Constant]) -> "Box":
        """Return the box in proportion to constants."""
        centre = np.array([constant.value for constant in constants_found])
        return cls(centre, np.where(np.abs(centre) < NEAR_ZERO, AROUND_ZERO, BOX * np.abs(centre)))

    def clipped(self, point: Vector) -> Vector:
        """Return the nearest point in the box."""
        return np.clip(point, self.centre - self.reach, self.centre + self.reach)

    def neighbour(self, rng: np.random.Generator) -> Vector:
        """Return a random point near the centre."""
        return self.clipped(rng.normal(self.centre, self.reach * SIGMA / BOX))


def make_trial(target: Vector, others: tuple[Vector, Vector, Vector], box: Box, rng: np.random.Generator) -> Vector:
    """Return a trial: x1 + F (x2 - x3) in at least one random dimension, the target's values in the others."""
    first, second, third = others
    mutant = box.clipped(first + FACTOR * (second - third))
    taken = rng.random(len(target)) < CROSSOVER
    taken[int(rng.integers(len(target)))] = True
    return np.where(taken, mutant, target)


async def evolve_constants(run: RoundContext, solution: Elite, evaluations: int, batch: int) -> list[Candidate]:
    """Evaluate a program with other constants, with ``batch`` parallel trials of a member, as the budget allows."""
    numbers = find_constants(solution.source, run.problem.about.function)[:MAX_EVOLVED]
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
