"""Screening: a candidate that does badly on ``train`` is not scored on ``val``."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from oragent._base.direction import Direction
from oragent._base.protocol import Status
from oragent.evaluation import Evaluation

TRAIN = "score_on_train"  # the metric under which an elite keeps what it reached there

BELOW_FLOOR = "below_floor"  # the metric by which an evaluator says that it ended early, as its floor is out of reach


def floor_score(scores: Iterable[float], direction: Direction, quantile: float) -> float | None:
    """The score that a candidate must be able to reach on ``val``: a quantile of the elites'; None without any.

    Args:
        scores: Scores of the elites.
        direction: Direction of the scores.
        quantile: Quantile of the elites, in [0, 1]; 1 is the best of them.
    """
    reached = [direction.fitness(score) for score in scores]
    return direction.sign * float(np.quantile(reached, quantile)) if reached else None


def passes_screening(
    quick: Evaluation, elites: Iterable[Mapping[str, Any]], direction: Direction, quantile: float
) -> bool:
    """Return True if a candidate is better on ``train`` than a quantile of the elites; the first one always is.

    Args:
        quick: Evaluation of the candidate on ``train``.
        elites: Metrics of the elites.
        direction: Direction of the scores.
        quantile: Quantile of the elites that it must beat, in [0, 1].
    """
    reached = [direction.fitness(metrics[TRAIN]) for metrics in elites]
    assert quick.score is not None
    return not reached or direction.fitness(quick.score) > float(np.quantile(reached, quantile))


def screened_evaluation(quick: Evaluation, where: str = "on train") -> Evaluation:
    """Return the record of a candidate that does not pass; it does not depend on the bar."""
    why = f"not good enough to be scored on all of val: {quick.score:.6g} {where}"
    return replace(quick, status=Status.SCREENED, score=None, features=None, message=why)


def add_train_score(full: Evaluation, quick: Evaluation) -> Evaluation:
    """A full evaluation that remembers the score on ``train``."""
    return replace(full, metrics=full.metrics | {TRAIN: quick.score}) if full.status is Status.OK else full
