"""Requests of operations as typed data; ``syntax.parse_line`` and ``rendering.render`` turn them from and into text."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from oragent.modelling.data.model_values import Relation, Sense

# JSON has no infinite numbers, so they are texts there.
INFINITE_TEXTS = ("Infinity", "-Infinity")
NUMBER_SCHEMA = {"anyOf": [{"type": "number"}, {"enum": list(INFINITE_TEXTS)}]}
Number = Annotated[float, Field(allow_inf_nan=True), WithJsonSchema(NUMBER_SCHEMA)]
# Words before fields in the line of a request.
WORDS_BEFORE = {"by": "by", "step": "by", "number": "by"}


class OperationRequest(BaseModel):
    """Base of all parts of requests: immutable, no unknown fields."""

    # Building the schemas of all classes is slow, and a command uses few of them.
    model_config = ConfigDict(extra="forbid", frozen=True, ser_json_inf_nan="strings", defer_build=True)


class Index(OperationRequest):
    """Choice of labels of one index set."""

    # ``range`` has its first and last label, ``except`` the labels that are left out.
    kind: Literal["all", "labels", "range", "except"] = "all"
    labels: tuple[str, ...] = ()


class MemberReference(OperationRequest):
    """A family, or a slice of it."""

    name: str
    # One for each index set; None for the whole family.
    indices: tuple[Index, ...] | None = None
    # Kind of family, if a name fits several.
    kind: Literal["parameters", "variables", "rows"] | None = None


class ChangeTarget(OperationRequest):
    """Figures that a change sets."""

    # ``value`` is the value of a parameter, the right-hand side of a row, or the fixed value of a variable.
    part: Literal["value", "coefficient", "upper", "lower"] = "value"
    reference: MemberReference
    # Owner of a coefficient: the objective or the family of rows.
    of: str = ""


class ExpressionTerm(OperationRequest):
    """A multiple of a constant, a member, or a sum over a slice."""

    coefficient: Number = 1.0
    # None for a constant.
    reference: MemberReference | None = None
    # Data that multiplies the reference, matched by index set.
    data: MemberReference | None = None
    is_sum: bool = False
    # Index sets that a sum keeps.
    by: tuple[str, ...] = ()


class Expression(OperationRequest):
    """A sum of terms."""

    terms: tuple[ExpressionTerm, ...] = Field(min_length=1)


class AssignChange(OperationRequest):
    """Set, add to, or scale data, right-hand sides, bounds, coefficients or values of variables."""

    operation: Literal["assign"] = "assign"
    target: ChangeTarget
    operator: Literal["=", "+=", "-=", "*="]
    number: Number
    # True if the number is a percentage: of the current figure for ``=``, ``+=`` and ``-=``.
    percent: bool = False


class LimitChange(OperationRequest):
    """A bound of variables, or the right-hand side of rows of that relation."""

    operation: Literal["limit"] = "limit"
    reference: MemberReference
    relation: Literal["<=", ">="]
    number: Number


class ForbidChange(OperationRequest):
    """Fix variables at 0."""

    operation: Literal["forbid"] = "forbid"
    reference: MemberReference


class FreeChange(OperationRequest):
    """Give variables the bounds of the base model again."""

    operation: Literal["free"] = "free"
    reference: MemberReference


class DropChange(OperationRequest):
    """Leave rows out."""

    operation: Literal["drop"] = "drop"
    reference: MemberReference


class RelaxChange(OperationRequest):
    """Loosen the right-hand sides of rows by an amount."""

    operation: Literal["relax"] = "relax"
    reference: MemberReference
    number: Number
    percent: bool = False


class NewRow(OperationRequest):
    """Add a row, or one for each label that a sum keeps."""

    operation: Literal["row"] = "row"
    name: str
    left: Expression
    relation: Relation
    right: Expression


class NewObjective(OperationRequest):
    """Add an objective and make it the active one."""

    operation: Literal["objective"] = "objective"
    name: str = "objective"
    sense: Sense
    expression: Expression


class WeightedObjective(OperationRequest):
    """An objective in a weighted sum."""

    name: str
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0


class ObjectiveStage(OperationRequest):
    """Objectives that are optimised together, as a weighted sum."""

    parts: tuple[WeightedObjective, ...] = Field(min_length=1)
    # Amount of its optimum, or percentage of it, that later stages may give up.
    within: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    percent: bool = False


class UseObjectives(OperationRequest):
    """Optimise existing objectives: one, a weighted sum, or several in order of priority."""

    operation: Literal["use"] = "use"
    stages: tuple[ObjectiveStage, ...] = Field(min_length=1)


AnyChange = (
    AssignChange
    | LimitChange
    | ForbidChange
    | FreeChange
    | DropChange
    | RelaxChange
    | NewRow
    | NewObjective
    | UseObjectives
)
Change = Annotated[AnyChange, Field(discriminator="operation")]


class DescribeRequest(OperationRequest):
    """List sets, data, families and objectives with their sizes."""

    operation: Literal["describe"] = "describe"
    reference: MemberReference | None = None


class DataRequest(OperationRequest):
    """List data, bounds or right-hand sides."""

    operation: Literal["data"] = "data"
    reference: MemberReference


class ValueRequest(OperationRequest):
    """List values that are not zero, each with its contribution to the objective."""

    operation: Literal["value"] = "value"
    reference: MemberReference


class TotalRequest(OperationRequest):
    """Sum values over a slice, by an index set if one is named."""

    operation: Literal["total"] = "total"
    reference: MemberReference
    by: str | None = None


class TopRequest(OperationRequest):
    """List the members that are largest, or smallest if the count is negative."""

    operation: Literal["top"] = "top"
    count: int
    reference: MemberReference
    # ``value``, ``cost``, ``coefficient``, ``price`` or a parameter.
    by: str = "value"


class ExtremeRequest(OperationRequest):
    """Find the most or the least that an expression can be, with the objective within a distance of its optimum."""

    operation: Literal["extreme"] = "extreme"
    direction: Literal["most", "least"]
    expression: Expression
    # None means any objective.
    within: Number | None = None
    percent: bool = False


class BindingRequest(OperationRequest):
    """List rows without slack."""

    operation: Literal["binding"] = "binding"
    reference: MemberReference | None = None


class SlackRequest(OperationRequest):
    """List the slack of rows."""

    operation: Literal["slack"] = "slack"
    reference: MemberReference


class PriceRequest(OperationRequest):
    """Solve again with the figure a step larger and a step smaller."""

    operation: Literal["price"] = "price"
    reference: MemberReference
    step: Number = 1.0


class RangeRequest(OperationRequest):
    """State for which figures the present prices or values stay."""

    operation: Literal["range"] = "range"
    reference: MemberReference


class WhyRequest(OperationRequest):
    """Explain the value of a variable, or the price of a row."""

    operation: Literal["why"] = "why"
    reference: MemberReference


class WhyNotRequest(OperationRequest):
    """Compute the cost of a change that the solution does not meet."""

    operation: Literal["whynot"] = "whynot"
    change: Change


class SolveRequest(OperationRequest):
    """Solve the present scenario."""

    operation: Literal["solve"] = "solve"


class WhatIfRequest(OperationRequest):
    """Solve with changes, and compare; the state stays as it is."""

    operation: Literal["whatif"] = "whatif"
    changes: tuple[Change, ...] = Field(min_length=1)


class SweepRequest(OperationRequest):
    """Solve for several figures."""

    operation: Literal["sweep"] = "sweep"
    target: ChangeTarget
    numbers: tuple[Number, ...] = Field(min_length=1)


class ConflictRequest(OperationRequest):
    """Find rows and bounds that cannot hold together."""

    operation: Literal["conflict"] = "conflict"


class RepairRequest(OperationRequest):
    """Find the least changes of right-hand sides that make the model feasible."""

    operation: Literal["repair"] = "repair"
    # Rows that may change; none for all.
    references: tuple[MemberReference, ...] = ()


class AlternativesRequest(OperationRequest):
    """Find solutions that differ, the best first."""

    operation: Literal["alternatives"] = "alternatives"
    count: int = Field(ge=1, le=100)


class FrontierRequest(OperationRequest):
    """Trade one objective for another."""

    operation: Literal["frontier"] = "frontier"
    first: str
    second: str
    count: int = Field(default=5, ge=2, le=100)


class CompareScenariosRequest(OperationRequest):
    """Compare two scenarios."""

    operation: Literal["compare"] = "compare"
    first: str
    second: str


class VerifyRequest(OperationRequest):
    """Check values of a file, the output of a program, or another model against the model."""

    operation: Literal["verify"] = "verify"
    file: str
    # Number of perturbed trials of two models.
    trials: int = Field(default=6, ge=0, le=1000)


class InverseRequest(OperationRequest):
    """Find the least change of costs that makes the solution of a file optimal."""

    operation: Literal["inverse"] = "inverse"
    file: str


class DiffRequest(OperationRequest):
    """Compare the model with that of a file, and solve with each difference."""

    operation: Literal["diff"] = "diff"
    file: str


class KeepRequest(OperationRequest):
    """Make the last trial the present scenario, and name it."""

    operation: Literal["keep"] = "keep"
    name: str = ""


class UndoRequest(OperationRequest):
    """Take the last changes back."""

    operation: Literal["undo"] = "undo"
    count: int = Field(default=1, ge=1)


class ScenarioRequest(OperationRequest):
    """Go to a scenario that was kept, or to ``base``."""

    operation: Literal["scenario"] = "scenario"
    name: str


AnyQuery = (
    DescribeRequest
    | DataRequest
    | ValueRequest
    | TotalRequest
    | TopRequest
    | ExtremeRequest
    | BindingRequest
    | SlackRequest
    | PriceRequest
    | RangeRequest
    | WhyRequest
    | WhyNotRequest
    | SolveRequest
    | WhatIfRequest
    | SweepRequest
    | ConflictRequest
    | RepairRequest
    | AlternativesRequest
    | FrontierRequest
    | CompareScenariosRequest
    | VerifyRequest
    | InverseRequest
    | DiffRequest
    | KeepRequest
    | UndoRequest
    | ScenarioRequest
)
AnyRequest = AnyChange | AnyQuery
Operation = Annotated[AnyRequest, Field(discriminator="operation")]
