"""How much of a budget an idea gets: how many are asked for, and how many experiments a solution is worth."""

from collections.abc import Sequence

from oragent.search.candidate import Elite
from oragent.search.run import Run

__all__ = ["affordable", "allotted"]

CALLS_AN_IDEA = 2  # model calls that it takes at least, now and then with a repair
OPENING_PART = 5  # one part in so many of the budget may go to the round that fills the archive


def affordable(run: Run, wanted: int, *, opening: bool = False) -> int:
    """Number of ideas to ask for: no more than what is left can code, so that none is dropped.

    Args:
        run: Round that asks.
        wanted: Number that the settings want.
        opening: Whether it is for the round that fills the archive, which leaves most of a small budget to rounds that
            learn from each other.
    """
    if run.own.idea_count == "settings":
        return wanted
    left, whole = run.case.allowance - run.used, run.settings.budget.room(run.spent)
    bounds = [left.evaluations, (left.model_calls - 1) // CALLS_AN_IDEA]
    if opening:
        bounds += [whole.evaluations // OPENING_PART, whole.model_calls // (CALLS_AN_IDEA * OPENING_PART)]
    return max(1, min(wanted, *bounds))


def allotted(run: Run, solution: Elite | None, parents: Sequence[Elite]) -> int:
    """Most experiments on a solution.

    With dynamic allocation by a rule of ours: ``elite_factor`` times as many where it gained ``gain_threshold`` of the
    score of its best parent, or is better than the best of all; so much fewer where it lost, or has no score; within
    ``experiments_least`` and ``experiments_most``. Liu et al. 2026 (arXiv:2602.13769) have the thought, without a
    formula; in their study it was off, or its bounds left it nothing to decide.

    Args:
        run: Round that asks.
        solution: Solution as it was coded; None where it has no score.
        parents: Programs that it was made from.
    """
    agent = run.own
    if agent.allocation == "even" or not agent.experiments:
        return int(agent.experiments)
    gain, factor = _gain(run, solution, parents), 1.0
    if gain is None or gain < 0:
        factor = 1 / agent.elite_factor
    elif gain >= agent.gain_threshold or _is_best(run, solution):
        factor = agent.elite_factor
    return int(max(agent.experiments_least, min(agent.experiments_most, agent.experiments * factor)))


def _gain(run: Run, solution: Elite | None, parents: Sequence[Elite]) -> float | None:
    """The signed gain over the best parent, as a share of that one's score; None without a score."""
    if solution is None:
        return None
    best = max(run.archive.fitness(parent.score) for parent in parents)
    return (run.archive.fitness(solution.score) - best) / max(abs(best), 1e-12)


def _is_best(run: Run, solution: Elite | None) -> bool:
    best = run.archive.best
    return solution is not None and best is not None and run.archive.direction.better(solution.score, best.score)
