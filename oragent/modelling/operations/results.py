"""Results of operations as typed data.

Every figure has its unit and an interval that is proven to contain the true value.
"""

import math
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from oragent.modelling.data.tolerances import without_noise
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.requests import Operation


def finite_or_none(value: float) -> float | None:
    """Return a number, or None in the place of an infinite one."""
    return float(value) if math.isfinite(value) else None


class ResultPart(BaseModel):
    """Base of all parts of results."""

    # Building the schemas of all classes is slow, and a command uses few of them.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings", defer_build=True)


class Figure(ResultPart):
    """A figure, and the interval in which the true one lies; equal ends if it is exact."""

    # Best known value. None without a point.
    value: float | None = None
    # None if nothing is proven.
    low: float | None = None
    high: float | None = None
    unit: str = ""

    @classmethod
    def exact(cls, value: float, unit: str = "") -> "Figure":
        """Return a figure that is known exactly; an infinite one has no value."""
        finite = without_noise(float(value)) + 0.0 if math.isfinite(value) else None
        return cls(value=finite, low=finite, high=finite, unit=unit)

    @classmethod
    def between(cls, value: float | None, low: float, high: float, unit: str = "") -> "Figure":
        """Return a figure that is known up to an interval."""
        ends = [without_noise(float(end)) + 0.0 if math.isfinite(end) else None for end in (low, high)]
        best = None if value is None or not math.isfinite(value) else without_noise(float(value)) + 0.0
        return cls(value=best, low=ends[0], high=ends[1], unit=unit)

    @property
    def is_exact(self) -> bool:
        """Return True if the figure is proven, so that both ends are equal."""
        return self.value is not None and self.low is not None and self.low == self.high


class MemberFigures(ResultPart):
    """A member of a family with the figures that an operation asks for."""

    name: str
    labels: tuple[str, ...] = ()
    value: Figure | None = None
    # Coefficient times value.
    contribution: Figure | None = None
    coefficient: Figure | None = None
    low: Figure | None = None
    high: Figure | None = None
    slack: Figure | None = None
    relation: str = ""
    # Derivative of the optimum by the right-hand side, for linear models; if it is not unique, an interval.
    dual: Figure | None = None
    # ``unique``, ``not unique`` or ``not checked``. Empty without a dual.
    uniqueness: str = ""
    # Change of the optimum for one step more and one step less, by solving again.
    price_up: Figure | None = None
    price_down: Figure | None = None
    # File and cell from which the figure was read.
    source: str = ""


class GroupTotal(ResultPart):
    """A total of members with one label."""

    label: str
    total: Figure
    members: int


class Moved(ResultPart):
    """Differences of the values of a family between two points."""

    family: str
    members: int
    total_before: Figure
    total_after: Figure
    # Name, value before, value after.
    largest: tuple[tuple[str, float, float], ...]


class ObjectiveChange(ResultPart):
    """An optimum before and after."""

    name: str
    sense: str
    before: Figure
    after: Figure
    difference: Figure


class OperationResult(ResultPart):
    """Base of all results."""

    # Identifier such as ``r7``.
    id: str = ""
    # Line of the request.
    line: str = ""
    request: Operation | None = None
    scenario: str = "base"
    # Status of the solve. Empty if nothing was solved.
    status: str = ""
    solver: str = ""
    limits: SolveLimits | None = None
    # Limit that ended the solve. Empty if none did.
    ended_by: str = ""
    # Agreement of the second solver, if one was named.
    confirmed: str = ""
    warnings: tuple[str, ...] = ()


class SetInfo(ResultPart):
    """An index set."""

    name: str
    size: int
    labels: tuple[str, ...]
    ordered: bool
    time: bool
    guessed: bool


class FamilyInfo(ResultPart):
    """A family."""

    name: str
    kind: Literal["parameters", "variables", "rows"]
    sets: tuple[str, ...]
    members: int
    unit: str
    meaning: str
    # ``continuous``, ``integer`` or ``binary`` for variables; relations for rows.
    form: str
    guessed: bool


class ObjectiveInfo(ResultPart):
    """An objective."""

    name: str
    sense: str
    unit: str
    terms: int
    # 1 for objectives that are optimised first, 0 for objectives that are only computed.
    stage: int
    # Weight in the sum of its stage.
    weight: float
    # Later stages may give up this percentage of its optimum, or this amount if it is larger.
    within: float
    within_amount: float


class DescribeResult(OperationResult):
    """The structure of a model."""

    kind: Literal["describe"] = "describe"
    name: str = ""
    columns: int = 0
    row_count: int = 0
    integers: int = 0
    nonzeros: int = 0
    sets: tuple[SetInfo, ...] = ()
    families: tuple[FamilyInfo, ...] = ()
    objectives: tuple[ObjectiveInfo, ...] = ()
    # Nonlinear parts, such as ``indicators: 4``.
    features: tuple[str, ...] = ()
    scenarios: tuple[str, ...] = ()


class MembersResult(OperationResult):
    """Members with figures."""

    kind: Literal["members"] = "members"
    members: tuple[MemberFigures, ...] = ()
    # Number of members of the slice. Members that are not listed are zero, not binding, or beyond the requested count.
    size: int = 0


class TotalResult(OperationResult):
    """A sum of values."""

    kind: Literal["total"] = "total"
    total: Figure
    contribution: Figure | None = None
    # Sorted by total, largest first.
    groups: tuple[GroupTotal, ...] = ()


class StageOptimum(ResultPart):
    """Optimum of the objectives of one priority, given the optima of those before them."""

    name: str
    sense: str
    status: str
    optimum: Figure
    # Later stages may give up this percentage of it, or this amount if it is larger.
    within: float
    within_amount: float


class ObjectiveValue(ResultPart):
    """An objective at the best point."""

    name: str
    sense: str
    # 1 for objectives that are optimised first, 0 for objectives that are only computed.
    stage: int
    # Weight in the sum of its stage.
    weight: float
    value: Figure


class SolveResult(OperationResult):
    """An optimum, or the interval in which it is known to be."""

    kind: Literal["solve"] = "solve"
    # Value of the most important objective at the best point. Later objectives may give up some of its optimum.
    objective: Figure
    # ``exact`` for an optimum that is proven in rational numbers, else the tolerance of the solver. Empty without one.
    accuracy: str = ""
    # Relative gap of the best point.
    gap: float | None = None
    # One for each priority. Empty for a single one.
    stages: tuple[StageOptimum, ...] = ()
    # All objectives at the best point. Empty for a single one.
    objectives: tuple[ObjectiveValue, ...] = ()
    families: tuple[GroupTotal, ...] = ()


class CompareResult(OperationResult):
    """Two optima, and the differences between their points."""

    kind: Literal["compare"] = "compare"
    objective: ObjectiveChange
    status_before: str
    status_after: str
    # Whether the sign of the difference is proven.
    decided: bool
    # Line that narrows the interval. Empty if the sign is decided.
    continue_with: str = ""
    # Optima of each priority. Empty for a single one.
    stages: tuple[ObjectiveChange, ...] = ()
    # All objectives at the best points. Empty for a single one.
    objectives: tuple[ObjectiveChange, ...] = ()
    moved: tuple[Moved, ...] = ()
    # Rows that bind at the second point but not at the first, and the reverse, each for its own data.
    newly_binding: tuple[MemberFigures, ...] = ()
    no_longer_binding: tuple[MemberFigures, ...] = ()
    # Lines of the changes that lead from the first to the second.
    changes: tuple[str, ...] = ()
    # Conflicting parts, if the second is infeasible.
    conflict: "tuple[ConflictFamily, ...]" = ()


class PriceResult(OperationResult):
    """Change of the optimum for one step more and one step less of figures, by solving again."""

    kind: Literal["price"] = "price"
    step: float
    members: tuple[MemberFigures, ...]


class RangeEntry(ResultPart):
    """A figure, and the interval in which the price, or the optimal values, do not change."""

    name: str
    # ``right-hand side``, ``coefficient`` or ``bound``.
    of: str
    value: Figure
    low: float | None
    high: float | None
    # Price within the interval. None if the values do not change.
    price: Figure | None = None
    # ``not unique`` if the price differs below and above the figure, or if other optima have other values.
    uniqueness: str = ""


class RangeResult(OperationResult):
    """Ranges of a linear model, or of an integer model with fixed integers."""

    kind: Literal["range"] = "range"
    with_integers_fixed: bool
    entries: tuple[RangeEntry, ...]


class WhyResult(OperationResult):
    """The reason for the value of a variable, or the price of a row."""

    kind: Literal["why"] = "why"
    member: MemberFigures
    # ``lower bound``, ``upper bound``, ``between``, ``binding`` or ``slack``.
    at: str
    # Line of the forced change, and its effect, which is None if the change is impossible.
    forced: str = ""
    difference: Figure | None = None
    # Derivative of the optimum by the bound at which the variable is, for linear models.
    reduced_cost: Figure | None = None
    # ``unique``, ``not unique`` or ``not checked``, for the reduced cost. Empty without one.
    uniqueness: str = ""
    holds_from: float | None = None
    holds_to: float | None = None
    # Binding rows with the variable, including equations.
    rows: tuple[MemberFigures, ...] = ()


class SweepPoint(ResultPart):
    """An optimum for one figure."""

    figure: float
    status: str
    objective: Figure
    # Difference to the current scenario.
    difference: Figure


class SweepFigures(OperationResult):
    """Optima for several figures."""

    kind: Literal["sweep"] = "sweep"
    points: tuple[SweepPoint, ...]


class ConflictFamily(ResultPart):
    """Members of one family in a conflict."""

    family: str
    # ``rows``, ``lower bounds``, ``upper bounds``, or ``parts`` such as ordered sets, named as in ``SOS set s0``.
    part: str
    members: int
    size: int
    names: tuple[str, ...]
    # True if a change of this scenario affects it.
    changed: bool


class ConflictShortage(ResultPart):
    """A conflict as one sum of its rows, each times a multiplier."""

    needed: float
    possible: float
    shortage: float
    multipliers: tuple[tuple[str, float], ...]


class ConflictResult(OperationResult):
    """Conflicting rows and bounds."""

    kind: Literal["conflict"] = "conflict"
    irreducible: bool
    # Families; the last changed comes first.
    families: tuple[ConflictFamily, ...]
    # None if the conflict needs integrality.
    aggregate: ConflictShortage | None = None


class RepairChange(ResultPart):
    """A right-hand side that is changed."""

    row: str
    before: float
    after: float
    line: str


class RepairResult(OperationResult):
    """The least total change of right-hand sides."""

    kind: Literal["repair"] = "repair"
    total: Figure
    proven: bool
    changes: tuple[RepairChange, ...]


class AlternativePlan(ResultPart):
    """A solution, its objective and its differences from the best one."""

    objective: Figure
    difference: Figure
    moved: tuple[Moved, ...]


class AlternativesResult(OperationResult):
    """Different solutions, the best first."""

    kind: Literal["alternatives"] = "alternatives"
    solutions: tuple[AlternativePlan, ...]
    # True if the list is complete.
    complete: bool


class FrontierEntry(ResultPart):
    """A solution in which neither objective can be improved without worsening the other."""

    first: Figure
    second: Figure
    proven: bool


class FrontierResult(OperationResult):
    """A trade between two objectives."""

    kind: Literal["frontier"] = "frontier"
    first: str
    second: str
    points: tuple[FrontierEntry, ...]


class ExtremeResult(OperationResult):
    """The most or the least of an expression."""

    kind: Literal["extreme"] = "extreme"
    figure: Figure
    # Objective of the point.
    objective: Figure
    optimum: Figure


class BreachInfo(ResultPart):
    """A part of the model that a point violates."""

    part: str
    name: str
    value: float
    relation: str
    limit: float


class MatchTrial(ResultPart):
    """Two models with the same perturbation, and their optima."""

    # ``as given``, or the data or costs that were multiplied by random factors.
    perturbed: str
    optimum: Figure
    other_optimum: Figure
    status: str
    other_status: str
    # ``yes``, ``no``, or ``open`` if a limit ended a solve.
    agree: str


class VerifyResult(OperationResult):
    """Result of checking a point, or another model, against the model."""

    kind: Literal["verify"] = "verify"
    # Content of the file: values, a model, or the output of a program.
    source: str = ""
    # Fields for a point. None for another model.
    feasible: bool | None = None
    objective: Figure | None = None
    # Objective that the file or program states.
    claimed: Figure | None = None
    claim_holds: bool | None = None
    # Difference to the optimum.
    difference: Figure | None = None
    breaches: tuple[BreachInfo, ...] = ()
    # All objectives at the point. Empty for a single one.
    objectives: tuple[ObjectiveValue, ...] = ()
    # Fields for another model. None for a point.
    same_structure: bool | None = None
    # ``yes``, ``no`` or ``open``.
    same_optima: str = ""
    trials: tuple[MatchTrial, ...] = ()
    differences: "tuple[DiffEntry, ...]" = ()


class InverseResult(OperationResult):
    """The least change of coefficients that makes a point optimal."""

    kind: Literal["inverse"] = "inverse"
    change: Figure
    coefficients: tuple[tuple[str, float, float], ...]


class DiffEntry(ResultPart):
    """A difference between two models, by family."""

    # ``set``, ``data``, ``bounds``, ``right-hand sides``, ``coefficients``, ``relations``, ``costs`` or ``objective``.
    of: str
    name: str
    # ``added``, ``removed`` or ``changed``.
    change: str
    members: int
    # Name, before, after.
    largest: tuple[tuple[str, float | None, float | None], ...] = ()
    # Effect of this difference alone on the optimum.
    effect: Figure | None = None


class DiffResult(OperationResult):
    """Differences of two models."""

    kind: Literal["diff"] = "diff"
    objective: ObjectiveChange
    entries: tuple[DiffEntry, ...]


class StateResult(OperationResult):
    """State after a change, ``keep``, ``undo`` or a choice of scenario."""

    kind: Literal["state"] = "state"
    # Lines of all changes since the base model.
    changes: tuple[str, ...]
    # Figures that the line changed: name, before, after.
    changed: tuple[tuple[str, float | None, float | None], ...] = ()
    count: int = 0


AnyResult = (
    DescribeResult
    | MembersResult
    | TotalResult
    | SolveResult
    | CompareResult
    | PriceResult
    | RangeResult
    | WhyResult
    | SweepFigures
    | ConflictResult
    | RepairResult
    | AlternativesResult
    | FrontierResult
    | ExtremeResult
    | VerifyResult
    | InverseResult
    | DiffResult
    | StateResult
)


class AnyResultModel(BaseModel):
    """Result of any kind, to read from JSON."""

    model_config = ConfigDict(ser_json_inf_nan="strings", defer_build=True)
    result: AnyResult = Field(discriminator="kind")
