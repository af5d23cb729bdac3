"""How an answer is judged: when two figures are the same, and what became of an attempt."""

import math
from dataclasses import dataclass
from enum import StrEnum

from oragent._base.errors import MilpError


@dataclass(frozen=True)
class Tolerance:
    """When an objective counts as the reference's.

    Attributes:
        rel: Relative difference allowed.
        abs: Absolute difference allowed.
        floor: The relative difference is taken over the larger of this and the reference's size; with 0, over the
            larger of both figures, as by ``math.isclose``.
    """

    rel: float
    abs: float = 0.0
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(figure) and figure >= 0 for figure in (self.rel, self.abs, self.floor)):
            raise MilpError(f"a tolerance of rel {self.rel}, abs {self.abs}, floor {self.floor}: expected none below 0")

    def accepts(self, value: float | None, reference: float) -> bool:
        """Whether a figure is the reference's; never where either is missing or not finite."""
        if value is None or not math.isfinite(value) or not math.isfinite(reference):
            return False
        size = max(self.floor, abs(reference)) if self.floor else max(abs(value), abs(reference))
        return abs(value - reference) <= max(self.rel * size, self.abs)


TOLERANCES = {
    "strict": Tolerance(1e-6, floor=1.0),
    "ormind": Tolerance(1e-3, abs=0.2),  # Wang et al. 2025; 0.2 means nothing for objectives near 0
    "orspace": Tolerance(0.01, floor=1.0),
}


class SolveVerdict(StrEnum):
    """What became of an attempt to formulate and solve a problem."""

    ACCEPT = "accept"  # the objective is the reference's
    WRONG_ANSWER = "wrong_answer"  # solved to optimality, with another objective
    MODEL_FAILURE = "model_failure"  # it ran, but its model is infeasible, unbounded or without an objective
    RUNTIME_ERROR = "runtime_error"
    COMPILE_ERROR = "compile_error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    UNSOLVED = "unsolved"  # it ran, but no solver was called
