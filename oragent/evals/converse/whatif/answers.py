"""Answers to what-if questions, and when one is right."""

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

TOLERANCE = 1e-6  # of objectives, relative where they are larger than 1


class AnswerStatus(StrEnum):
    """How the changed model was solved."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True)
class WhatIfAnswer:
    """What the changed model gives.

    Attributes:
        status: Status with which it was solved.
        objective: Optimal value of the changed model; None unless there is one.
    """

    status: AnswerStatus
    objective: float | None = None


def agrees_with_gold(answer: WhatIfAnswer | None, gold: WhatIfAnswer) -> bool:
    """Return whether an answer has the status of the gold answer and, where that is optimal, its objective to 1e-6."""
    if answer is None or answer.status is not gold.status:
        return False
    if gold.objective is None:
        return True
    if answer.objective is None or not isfinite(answer.objective):
        return False
    return abs(answer.objective - gold.objective) <= TOLERANCE * max(1.0, abs(gold.objective))
