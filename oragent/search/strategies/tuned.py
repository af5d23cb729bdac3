"""Tuning between rounds: the constants of good programs are tuned for every strategy, within a share of the budget.

TIDE (arXiv:2601.21239) tunes the constants of every candidate; here the best elite that was not tuned yet has its turn
every so many rounds, so that the rounds of a strategy stay as they are.
"""

import hashlib
import math
from collections.abc import Awaitable, Callable
from dataclasses import replace

from oragent.search.candidate import Elite
from oragent.search.run import Run
from oragent.search.strategies.or_agent.constants import Constant, Range, constants
from oragent.search.strategies.or_agent.tuning import tune

__all__ = ["TUNED", "period", "with_tuning"]

COST = 12  # evaluations of one tuning, at most
MOST = 5  # constants that are tuned at once
LOOKED_AT = 20  # elites, the best
TUNED = "tuned"  # kind of the notes that hold a mark of a program that had its turn

Round = Callable[[Run], Awaitable[None]]


def with_tuning(round: Round, share: float) -> Round:
    """A strategy's round, in whose place a tuning stands now and then.

    Args:
        round: Round of the strategy, which counts its own turns alone.
        share: Share of the budget's evaluations that tuning takes at most, in (0, 1).
    """
    every = period(share)

    async def either(run: Run) -> None:
        if run.number % every == 0:
            await _tuning(run, share)
            return
        numbers = [number for number in range(1, run.number + 1) if number % every]
        await round(replace(run, turns={number: turn for turn, number in enumerate(numbers, 1)}))

    return either


def period(share: float) -> int:
    """Every how many rounds a tuning has its turn, if a round takes one evaluation."""
    return 2 + math.floor(COST * (1 - share) / share)


async def _tuning(run: Run, share: float) -> None:
    """Tune the constants of the best elite that has not had its turn, where there is one and the share allows it."""
    done = {note.text for note in run.recall(TUNED)}
    left = share * (run.spent.evaluations + COST) - COST * len(done)
    chosen = _untuned(run, done)
    if chosen is None or left < 1:
        return
    elite, found = chosen
    run.note(TUNED, _mark(elite))
    await tune(run, elite, [Range.around(constant) for constant in found], min(COST, math.floor(left) or 1))


def _untuned(run: Run, done: set[str]) -> tuple[Elite, list[Constant]] | None:
    for elite in run.archive.elites()[:LOOKED_AT]:
        found = constants(elite.source, run.problem.about.function)[:MOST]
        if found and _mark(elite) not in done:
            return elite, found
    return None


def _mark(elite: Elite) -> str:
    return hashlib.sha256(elite.source.encode(errors="replace")).hexdigest()[:16]
