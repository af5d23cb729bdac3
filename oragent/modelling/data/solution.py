"""Results of solving a model, and tolerances for comparing a result with a reference."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from oragent._base.errors import ModellingError
from oragent.modelling.data.model_records import Row

# Maximum slack of a binding row, relative to max(1, |right-hand side|).
TIGHT = 1e-6


class SolveStatus(StrEnum):
    """Result status of a solve."""

    # Proven optimal.
    OPTIMAL = "optimal"
    # Proven infeasible.
    INFEASIBLE = "infeasible"
    # Proven unbounded: the model has a feasible point and a direction of unlimited improvement.
    UNBOUNDED = "unbounded"
    # A feasible point with a gap to the bound.
    FEASIBLE = "feasible"
    # A limit was reached first, or the solver's claim was wrong.
    UNKNOWN = "unknown"

    @property
    def has_point(self) -> bool:
        """Return True if the solution has values."""
        return self in (SolveStatus.OPTIMAL, SolveStatus.FEASIBLE)


class Source(StrEnum):
    """Linear programme from which duals are computed."""

    LP = "the model"
    FIXED = "the model with its integers fixed"
    RELAXATION = "the model with its integers relaxed"


@dataclass(frozen=True)
class ValueRange:
    """Range from ``low`` to ``high``, both included. Either may be infinite."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Sensitivity:
    """Duals, reduced costs and ranges at the optimum of a linear programme.

    All signs follow the model's own sense. A dual is the derivative of the objective by the right-hand side, also for a
    maximisation. Ranges are those of the model, not of one basis; large models have none.
    """

    # Linear programme to which the figures belong.
    source: Source
    # Optimum of the linear programme.
    objective: float
    # Optimal duals by row, in objective units per unit of the right-hand side.
    duals: Mapping[str, float]
    # Reduced costs by variable, in objective units per unit of the active bound; 0 between bounds.
    reduced_costs: Mapping[str, float]
    # Rows and variables whose dual or reduced cost is not unique, so that an increase and a decrease differ. None if
    # this was not checked, because the model is large.
    several_duals: tuple[str, ...] | None = None
    several_reduced_costs: tuple[str, ...] | None = None
    # Right-hand sides by row for which a unique dual holds, if nothing else changes.
    rhs_ranges: Mapping[str, ValueRange] = field(default_factory=dict)
    # Coefficients by variable for which the values stay optimal.
    cost_ranges: Mapping[str, ValueRange] = field(default_factory=dict)
    # Bounds, by variable that is at one bound, for which a unique reduced cost holds.
    bound_ranges: Mapping[str, ValueRange] = field(default_factory=dict)


@dataclass(frozen=True)
class Solution:
    """Result of solving a model. Every figure of the point is recomputed from its values."""

    status: SolveStatus
    # Objective of the point, in the model's own sense. None without a point.
    objective: float | None = None
    # Proven bound, which no feasible point exceeds. None if unknown.
    bound: float | None = None
    # Gap between objective and bound, relative to max(1, |objective|).
    gap: float | None = None
    # Values by variable.
    values: Mapping[str, float] = field(default_factory=dict)
    # Left sides at the point, by row.
    activities: Mapping[str, float] = field(default_factory=dict)
    # Distances of the left sides to the right sides, by row, at least 0.
    slacks: Mapping[str, float] = field(default_factory=dict)
    # Sensitivity. For integer models, the integers are fixed at their values.
    sensitivity: Sensitivity | None = None
    # Sensitivity of the relaxation, for integer models.
    relaxation: Sensitivity | None = None
    # Wall-clock seconds of all solves.
    seconds: float = 0.0
    # Name and version of the solver.
    solver: str = ""
    # Additional note of one line, for example about a wrong claim of the solver.
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
        """Return the status in words, with the gap for a point that is not proven optimal."""
        if self.status is not SolveStatus.FEASIBLE or self.objective is None:
            return str(self.status)
        if self.bound is None or self.gap is None or not math.isfinite(self.bound):
            return "feasible, with no bound on what is best"
        if abs(self.objective) < 1:
            return f"feasible, the best bound is {self.bound:.6g}"
        return f"feasible, within {_percent_text(self.gap)} % of the best bound"

    @property
    def optimum_span(self) -> tuple[float, float] | None:
        """Return the range that is proven to contain the optimum. None without a point or a bound."""
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
        """Return the duals of ``sensitivity``; empty if it is missing."""
        if self.sensitivity:
            return self.sensitivity.duals
        return {}

    @property
    def reduced_costs(self) -> Mapping[str, float]:
        """Return the reduced costs of ``sensitivity``; empty if it is missing."""
        if self.sensitivity:
            return self.sensitivity.reduced_costs
        return {}

    @property
    def ranges(self) -> Mapping[str, ValueRange]:
        """Return the right-hand sides for which the duals hold; empty without ``sensitivity``."""
        if self.sensitivity:
            return self.sensitivity.rhs_ranges
        return {}


@dataclass(frozen=True)
class Tolerance:
    """Tolerance within which an objective counts as equal to a reference."""

    # Maximum relative difference.
    rel: float
    # Maximum absolute difference.
    abs: float = 0.0
    # Minimum magnitude to which ``rel`` applies. Usually ``rel`` applies to the reference; with 0, to the larger of
    # both figures.
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not all(math.isfinite(figure) and figure >= 0 for figure in (self.rel, self.abs, self.floor)):
            raise ModellingError(
                f"a tolerance of rel {self.rel}, abs {self.abs}, floor {self.floor}: expected none below 0"
            )

    def accepts(self, value: float | None, reference: float) -> bool:
        """Return True if a figure equals the reference within the tolerance; False if one is missing or not finite."""
        if value is None or not math.isfinite(value) or not math.isfinite(reference):
            return False
        size = max(self.floor, abs(reference)) if self.floor else max(abs(value), abs(reference))
        return abs(value - reference) <= max(self.rel * size, self.abs)


TOLERANCES = {
    "strict": Tolerance(1e-6, floor=1.0),
    # Wang et al. 2025; 0.2 is too wide for objectives near 0.
    "ormind": Tolerance(1e-3, abs=0.2),
    "orspace": Tolerance(0.01, floor=1.0),
}


def _percent_text(share: float) -> str:
    """Format a share in per cent with two digits, rounded up."""
    if share <= 0:
        return "0"
    step = 10.0 ** (math.floor(math.log10(100 * share)) - 1)
    return f"{math.ceil(100 * share / step - 1e-9) * step:.10g}"


class SolveVerdict(StrEnum):
    """Verdict on an attempt to formulate and solve a problem."""

    # The objective equals the reference.
    ACCEPT = "accept"
    # Solved to optimality with a different objective.
    WRONG_ANSWER = "wrong_answer"
    # The program ran, but its model is infeasible, unbounded or without an objective.
    MODEL_FAILURE = "model_failure"
    RUNTIME_ERROR = "runtime_error"
    COMPILE_ERROR = "compile_error"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    # The problem is not linear, and the program states this as the reason for its refusal.
    UNSUPPORTED = "unsupported"
    # The program ran without calling a solver.
    UNSOLVED = "unsolved"
