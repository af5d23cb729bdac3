"""Results of solving a model, and tolerances by which a result is compared with a reference."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from oragent._base.errors import MilpError
from oragent.milp.model import Row

# Slack, over the larger of 1 and the right-hand side's size, up to which a row binds.
TIGHT = 1e-6


class SolveStatus(StrEnum):
    """How far a model was solved."""

    # Proven: no feasible point is better.
    OPTIMAL = "optimal"
    # Proven: there is no feasible point.
    INFEASIBLE = "infeasible"
    # Proven: there is a feasible point, and a direction that improves for ever.
    UNBOUNDED = "unbounded"
    # A point, and how far it may be from the best.
    FEASIBLE = "feasible"
    # A limit came first, or the solver's claim did not hold.
    UNKNOWN = "unknown"

    @property
    def has_point(self) -> bool:
        """Return True if there are values."""
        return self in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)


class Source(StrEnum):
    """The linear programme that duals come from."""

    LP = "the model"
    FIXED = "the model with its integers fixed"
    RELAXATION = "the model with its integers relaxed"


@dataclass(frozen=True)
class ValueRange:
    """From ``low`` to ``high``, both included; either may be infinite."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Sensitivity:
    """What a change is worth, at the optimal basis of a linear programme.

    All signs are those of the model's own sense: a dual is d objective / d right-hand side, for a maximisation too.
    """

    # which linear programme
    source: Source
    # its optimum
    objective: float
    # by row, objective units a unit of right-hand side
    duals: Mapping[str, float]
    # by variable, objective units a unit of the bound at which it stands; 0 between
    reduced_costs: Mapping[str, float]
    # by row, where its dual is known to hold, all else unchanged
    rhs_ranges: Mapping[str, ValueRange]
    # by variable, coefficients for which the values stay optimal
    cost_ranges: Mapping[str, ValueRange]
    # by variable at a bound, where its reduced cost holds
    bound_ranges: Mapping[str, ValueRange]


@dataclass(frozen=True)
class Solution:
    """What solving a model came to; every figure of the point is recomputed from its values."""

    status: SolveStatus
    # of the point, in the model's own sense; None without a point
    objective: float | None = None
    # What no feasible point can be better than; None where it is not known.
    bound: float | None = None
    # of objective and bound, over the larger of 1 and the objective's size
    gap: float | None = None
    # by variable
    values: Mapping[str, float] = field(default_factory=dict)
    # by row, the left side at the point
    activities: Mapping[str, float] = field(default_factory=dict)
    # by row, room to the right side, never below 0
    slacks: Mapping[str, float] = field(default_factory=dict)
    # for integer models with the integers fixed at their values
    sensitivity: Sensitivity | None = None
    # for integer models, that of the relaxation
    relaxation: Sensitivity | None = None
    # Wall clock, all solves together.
    seconds: float = 0.0
    # Name and version.
    solver: str = ""
    # One line where there is more to say, such as a claim that did not hold.
    note: str = ""
    # Values of further objectives by name.
    goals: Mapping[str, float] = field(default_factory=dict)
    # Limit that ended the search, such as ``time``; empty if none did.
    limit: str = ""
    # Counts of the solver, such as ``nodes`` and ``iterations``.
    work: Mapping[str, float] = field(default_factory=dict)
    # One line for each part that was written as linear rows.
    linearised: tuple[str, ...] = ()

    @property
    def standing(self) -> str:
        """Status in words, with the distance from the best bound for a point that is not proven optimal."""
        if self.status is not SolveStatus.FEASIBLE or self.objective is None:
            return str(self.status)
        if self.bound is None or self.gap is None or not math.isfinite(self.bound):
            return "feasible, with no bound on what is best"
        if abs(self.objective) < 1:
            return f"feasible, the best bound is {self.bound:.6g}"
        return f"feasible, within {_percent_text(self.gap)} % of the best bound"

    @property
    def optimum_span(self) -> tuple[float, float] | None:
        """The range in which the optimum is proven to lie; None without a point, or where no bound is known."""
        if self.objective is None or not self.status.has_point:
            return None
        bound = self.objective if self.status is SolveStatus.OPTIMAL else self.bound
        if bound is None or not math.isfinite(bound):
            return None
        return min(self.objective, bound), max(self.objective, bound)

    def is_tight(self, row: Row) -> bool:
        """Return True if a row binds at the point."""
        return self.slacks[row.name] <= TIGHT * max(1.0, abs(row.rhs))

    @property
    def duals(self) -> Mapping[str, float]:
        """The duals of ``sensitivity``; empty where there is none."""
        if self.sensitivity:
            return self.sensitivity.duals
        return {}

    @property
    def reduced_costs(self) -> Mapping[str, float]:
        """The reduced costs of ``sensitivity``; empty where there is none."""
        if self.sensitivity:
            return self.sensitivity.reduced_costs
        return {}

    @property
    def ranges(self) -> Mapping[str, ValueRange]:
        """The right-hand sides for which the duals hold; empty where there are none."""
        if self.sensitivity:
            return self.sensitivity.rhs_ranges
        return {}


def _percent_text(share: float) -> str:
    """A share in per cent with two digits, never less than it is."""
    if share <= 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    return f"{math.ceil(100 * share / step - 1e-9) * step:.10g}"


@dataclass(frozen=True)
class Tolerance:
    """When an objective counts as the reference's."""

    # Relative difference allowed.
    rel: float
    # Absolute difference allowed.
    abs: float = 0.0
    # Rel is of the larger of this and the reference; with 0 of both figures' larger.
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(figure) and figure >= 0 for figure in (self.rel, self.abs, self.floor)):
            raise MilpError(f"a tolerance of rel {self.rel}, abs {self.abs}, floor {self.floor}: expected none below 0")

    def accepts(self, value: float | None, reference: float) -> bool:
        """Return True if a figure is the reference's; never where either is missing or not finite."""
        if value is None or not math.isfinite(value) or not math.isfinite(reference):
            return False
        size = max(self.floor, abs(reference)) if self.floor else max(abs(value), abs(reference))
        return abs(value - reference) <= max(self.rel * size, self.abs)


TOLERANCES = {
    "strict": Tolerance(1e-6, floor=1.0),
    # Wang et al. 2025; 0.2 means nothing for objectives near 0
    "ormind": Tolerance(1e-3, abs=0.2),
    "orspace": Tolerance(0.01, floor=1.0),
}


class SolveVerdict(StrEnum):
    """What became of an attempt to formulate and solve a problem."""

    # The objective is the reference's.
    ACCEPT = "accept"
    # Solved to optimality, with another objective.
    WRONG_ANSWER = "wrong_answer"
    # it ran, but its model is infeasible, unbounded or without an objective
    MODEL_FAILURE = "model_failure"
    RUNTIME_ERROR = "runtime_error"
    COMPILE_ERROR = "compile_error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    # The problem is not linear, and was refused with the reason.
    UNSUPPORTED = "unsupported"
    # it ran, but no solver was called
    UNSOLVED = "unsolved"
