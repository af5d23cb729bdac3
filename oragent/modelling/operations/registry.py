"""Registry of operations: request, line and function of each. Commands, schemas and tools derive from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, get_type_hints

from oragent.modelling.operations import requests as ops
from oragent.modelling.operations import results
from oragent.modelling.operations.state import ModelStudy


@dataclass(frozen=True)
class OperationEntry:
    """A question, or an operation that changes the state."""

    request: type[ops.OperationRequest]
    # Form of its line.
    syntax: str
    # Module and function of a question, which takes the study and a request. Few questions need all modules.
    function: str = ""

    @property
    def summary(self) -> str:
        """The first line of the documentation of the request."""
        return (self.request.__doc__ or "").strip().splitlines()[0]


def _by_name(*entries: OperationEntry) -> Mapping[str, OperationEntry]:
    return {entry.request.model_fields["operation"].default: entry for entry in entries}


QUERIES = _by_name(
    OperationEntry(ops.DescribeRequest, "describe [REF]", "reading.describe"),
    OperationEntry(ops.DataRequest, "data REF", "reading.data"),
    OperationEntry(ops.ValueRequest, "value REF", "reading.value"),
    OperationEntry(ops.TotalRequest, "total REF [by SET]", "reading.total"),
    OperationEntry(ops.TopRequest, "top N REF [by value|cost|coefficient|price|DATA]", "reading.top"),
    OperationEntry(ops.BindingRequest, "binding [REF]", "reading.binding"),
    OperationEntry(ops.SlackRequest, "slack REF", "reading.slack"),
    OperationEntry(ops.SolveRequest, "solve", "asking.solve"),
    OperationEntry(ops.WhatIfRequest, "whatif CHANGE {; CHANGE}", "asking.whatif"),
    OperationEntry(ops.WhyNotRequest, "whynot CHANGE", "asking.whynot"),
    OperationEntry(ops.CompareScenariosRequest, "compare SCENARIO SCENARIO", "asking.compare"),
    OperationEntry(ops.PriceRequest, "price REF [by STEP]", "asking.price"),
    OperationEntry(ops.RangeRequest, "range REF", "explaining.ranges"),
    OperationEntry(ops.WhyRequest, "why REF", "explaining.why"),
    OperationEntry(ops.SweepRequest, "sweep TARGET = NUMBER {, NUMBER}", "asking.sweep"),
    OperationEntry(ops.ExtremeRequest, "most|least EXPRESSION [within NUMBER [%]]", "asking.extreme"),
    OperationEntry(ops.AlternativesRequest, "alternatives N", "asking.alternatives"),
    OperationEntry(ops.FrontierRequest, "frontier OBJECTIVE OBJECTIVE [N]", "asking.frontier"),
    OperationEntry(ops.ConflictRequest, "conflict", "conflicting.conflict"),
    OperationEntry(ops.RepairRequest, "repair [REF ...]", "conflicting.repair"),
    OperationEntry(ops.VerifyRequest, 'verify "FILE" [N]', "verifying.verify"),
    OperationEntry(ops.InverseRequest, 'inverse "FILE"', "checking.inverse"),
    OperationEntry(ops.DiffRequest, 'diff "FILE"', "checking.diff"),
)
# Operations that change the model, and operations that choose a scenario.
CHANGES = _by_name(
    OperationEntry(ops.AssignChange, "TARGET =|+=|-=|*= NUMBER [%]"),
    OperationEntry(ops.LimitChange, "REF <=|>= NUMBER"),
    OperationEntry(ops.ForbidChange, "forbid REF"),
    OperationEntry(ops.FreeChange, "free REF"),
    OperationEntry(ops.DropChange, "drop REF"),
    OperationEntry(ops.RelaxChange, "relax REF by NUMBER [%]"),
    OperationEntry(ops.NewRow, "row NAME: EXPRESSION <=|>=|= EXPRESSION"),
    OperationEntry(ops.NewObjective, "objective [NAME:] minimize|maximize EXPRESSION"),
    OperationEntry(ops.UseObjectives, "objective [WEIGHT *] NAME {+ ...} [within NUMBER [%]] {then ...}"),
)
STATES = _by_name(
    OperationEntry(ops.KeepRequest, "keep [NAME]"),
    OperationEntry(ops.UndoRequest, "undo [N]"),
    OperationEntry(ops.ScenarioRequest, "scenario NAME"),
)


def run_query(study: ModelStudy, request: ops.OperationRequest) -> results.AnyResult:
    """Execute a question."""
    entry = QUERIES[request.operation]  # type: ignore[attr-defined]  # all have it
    result: results.AnyResult = _find_function(entry)(study, request)
    return result


def _find_function(entry: OperationEntry) -> Any:
    module, function = entry.function.split(".")
    return getattr(import_module(f"oragent.modelling.operations.{module}"), function)


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the request and result of each operation, the form of its line, and a summary."""
    every: dict[str, dict[str, Any]] = {}
    for name, entry in {**QUERIES, **CHANGES, **STATES}.items():
        result = get_type_hints(_find_function(entry))["return"] if entry.function else results.StateResult
        every[name] = {
            "syntax": entry.syntax,
            "summary": entry.summary,
            "request": entry.request.model_json_schema(),
            "result": result.model_json_schema(),
        }
    return every
