"""Tuning between rounds: the constants of good programs are tuned for every strategy, within a share of the budget.

TIDE (arXiv:2601.21239) tunes the constants of every candidate; here the best elite that was not tuned yet has its turn
now and then, so that the rounds of a strategy stay as they are. It goes by CMA-ES from the present values on: with as
few evaluations that came nearer to the bottom of bowls than a tree of Parzen estimators did, from two constants on.
Every so many rounds one is kept free; where the share does not allow a tuning yet, or nothing is left to tune, that
round is empty. A run that time or money ends does not know how many evaluations it has: it tunes few constants at once.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import replace

from oragent._base.budget import Budget
from oragent.search.candidate import Elite
from oragent.search.round_context import RoundContext
from oragent.search.strategies.or_agent.constants import Constant, Range, find_constants
from oragent.search.strategies.or_agent.tuning import FEW, tune_constants

LEAST = 3  # rounds
COST = 12  # evaluations of one tuning of few constants
EACH = 6  # evaluations a constant, where there are many
MOST = 12  # constants that are tuned at once
LOOKED_AT = 20  # elites, the best
TUNED = "tuned"  # kind of the notes that hold a mark of a program that had its turn, and what that takes at most

Round = Callable[[RoundContext], Awaitable[None]]


def with_tuning(round: Round, share: float, every: int) -> Round:
    """A strategy's round, in whose place a tuning stands in every so many rounds, within a share of the evaluations.

    The round of the strategy counts its own turns alone.
    """

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
    return max(LEAST, 2 * window - 1)


def is_worth(share: float, budget: Budget) -> bool:
    """Return whether a share of a budget is enough for at least one tuning; otherwise no round is reserved.

    A call of a model makes about one program, so calls bound evaluations too; of other bounds nobody knows.
    """
    bounds = [bound for bound in (budget.evaluations, budget.model_calls) if bound is not None]
    return share > 0 and (not bounds or share * min(bounds) >= COST)


def tuning_cost(count: int) -> int:
    """Evaluations of the tuning of so many constants."""
    return COST if count <= FEW else EACH * count


async def _tune_best(run: RoundContext, share: float) -> None:
    """Tune the constants of the best elite that has not had its turn, where there is one and the share allows it."""
    had = [note.text.split() for note in run.recall(TUNED)]
    chosen = _find_untuned(run, {words[0] for words in had})
    if chosen is None:
        return
    elite, numbers = chosen
    limit = run.settings.budget.evaluations
    if limit is None:
        numbers = _next_constants(numbers, len(had))
    elif tuning_cost(len(numbers)) > share * limit:
        numbers = numbers[:FEW]
    evaluations = tuning_cost(len(numbers))
    taken = sum(int(words[1]) if len(words) > 1 else COST for words in had)
    if share * (run.spent.evaluations + evaluations) - taken < evaluations:
        return
    run.note(TUNED, f"{_elite_mark(elite)} {evaluations}")
    await tune_constants(run, elite, [Range.around(constant) for constant in numbers], evaluations, local=True)


def _next_constants(numbers: list[Constant], turn: int) -> list[Constant]:
    """A few constants, at each turn those after the ones before; at the first those that weigh most."""
    groups = [numbers[at : at + FEW] for at in range(0, len(numbers), FEW)]
    return groups[turn % len(groups)]


def _find_untuned(run: RoundContext, marks: set[str]) -> tuple[Elite, list[Constant]] | None:
    for elite in run.archive.elites()[:LOOKED_AT]:
        numbers = find_constants(elite.source, run.problem.about.function)[:MOST]
        if numbers and _elite_mark(elite) not in marks:
            return elite, numbers
    return None


def _elite_mark(elite: Elite) -> str:
    return hashlib.sha256(elite.source.encode(errors="replace")).hexdigest()[:16]
