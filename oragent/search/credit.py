"""What a round gained, for whoever chooses between models."""

from collections.abc import Callable, Sequence

from oragent.search.store import Record

__all__ = ["credit"]


def credit(history: Sequence[Sequence[Record]], fitness: Callable[[float], float]) -> float:
    """The share of the latest round's candidates that beat all of their parents; those without any, the seed.

    A step counts whatever its size, so that neither the scale of a problem's scores nor how far a run has come matters.

    Args:
        history: the candidates of every round, by its number; the seed is the first.
        fitness: turns a score so that more is better.

    Returns:
        In [0, 1]; 0 for a round without a candidate.
    """
    number, latest = len(history) - 1, history[-1]
    gained = 0
    for record in latest:
        parents = [_found(history, name) for name in record.trial.parents] or [history[0][0]]
        scores = [
            fitness(one.trial.evaluation.score) for one in parents if one and one.trial.evaluation.score is not None
        ]
        own = record.trial.evaluation.score
        gained += own is not None and number > 0 and all(fitness(own) > score for score in scores)
    return gained / len(latest) if latest else 0.0


def _found(history: Sequence[Sequence[Record]], name: str) -> Record | None:
    number, dot, position = name.partition(".")
    if not (dot and number.isdigit() and position.isdigit()):  # a fingerprint: of the same round, and never an elite
        return None
    return history[int(number)][int(position)]
