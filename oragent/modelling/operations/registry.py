"""Registry of operations: request, result and function of each. Commands, schemas and tools are derived from it."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from oragent.modelling.operations import requests as ops
from oragent.modelling.operations import results
from oragent.modelling.operations.state import ModelStudy


@dataclass(frozen=True)
class OperationEntry:
    """A question. Operations that change the state are in ``session``."""

    request: type[ops.OperationRequest]
    result: type[results.OperationResult]
    # Module and function that takes the study and a request, and returns a result. Few questions need all modules.
    function: str
    # Form of its line.
    syntax: str

    @property
    def summary(self) -> str:
        """The first line of the documentation of the request."""
        return (self.request.__doc__ or "").strip().splitlines()[0]


_QUERIES: tuple[tuple[str, type[ops.OperationRequest], type[results.OperationResult], str, str], ...] = (
    ("describe", ops.DescribeRequest, results.DescribeResult, "reading.describe", "describe [REF]"),
    ("data", ops.DataRequest, results.MembersResult, "reading.data", "data REF"),
    ("value", ops.ValueRequest, results.MembersResult, "reading.value", "value REF"),
    ("total", ops.TotalRequest, results.TotalResult, "reading.total", "total REF [by SET]"),
    ("top", ops.TopRequest, results.MembersResult, "reading.top", "top N REF [by value|cost|coefficient|price|DATA]"),
    ("binding", ops.BindingRequest, results.MembersResult, "reading.binding", "binding [REF]"),
    ("slack", ops.SlackRequest, results.MembersResult, "reading.slack", "slack REF"),
    ("solve", ops.SolveRequest, results.SolveResult, "asking.solve", "solve"),
    ("whatif", ops.WhatIfRequest, results.CompareResult, "asking.whatif", "whatif CHANGE {; CHANGE}"),
    ("whynot", ops.WhyNotRequest, results.CompareResult, "asking.whynot", "whynot CHANGE"),
    ("compare", ops.CompareScenariosRequest, results.CompareResult, "asking.compare", "compare SCENARIO SCENARIO"),
    ("price", ops.PriceRequest, results.PriceResult, "asking.price", "price REF [by STEP]"),
    ("range", ops.RangeRequest, results.RangeResult, "explaining.ranges", "range REF"),
    ("why", ops.WhyRequest, results.WhyResult, "explaining.why", "why REF"),
    ("sweep", ops.SweepRequest, results.SweepFigures, "asking.sweep", "sweep TARGET = NUMBER {, NUMBER}"),
    (
        "extreme",
        ops.ExtremeRequest,
        results.ExtremeResult,
        "asking.extreme",
        "most|least EXPRESSION [within NUMBER [%]]",
    ),
    ("alternatives", ops.AlternativesRequest, results.AlternativesResult, "asking.alternatives", "alternatives N"),
    ("frontier", ops.FrontierRequest, results.FrontierResult, "asking.frontier", "frontier OBJECTIVE OBJECTIVE [N]"),
    ("conflict", ops.ConflictRequest, results.ConflictResult, "conflicting.conflict", "conflict"),
    ("repair", ops.RepairRequest, results.RepairResult, "conflicting.repair", "repair [REF ...]"),
    ("verify", ops.VerifyRequest, results.VerifyResult, "verifying.verify", 'verify "FILE" [N]'),
    ("inverse", ops.InverseRequest, results.InverseResult, "checking.inverse", 'inverse "FILE"'),
    ("diff", ops.DiffRequest, results.DiffResult, "checking.diff", 'diff "FILE"'),
)
QUERIES: Mapping[str, OperationEntry] = {
    name: OperationEntry(request, result, function, syntax) for name, request, result, function, syntax in _QUERIES
}
# Operations that change the state, with the form of their lines.
CHANGES: Mapping[str, tuple[type[ops.OperationRequest], str]] = {
    "assign": (ops.AssignChange, "TARGET =|+=|-=|*= NUMBER [%]"),
    "limit": (ops.LimitChange, "REF <=|>= NUMBER"),
    "forbid": (ops.ForbidChange, "forbid REF"),
    "free": (ops.FreeChange, "free REF"),
    "drop": (ops.DropChange, "drop REF"),
    "relax": (ops.RelaxChange, "relax REF by NUMBER [%]"),
    "row": (ops.NewRow, "row NAME: EXPRESSION <=|>=|= EXPRESSION"),
    "objective": (ops.NewObjective, "objective [NAME:] minimize|maximize EXPRESSION"),
    "use": (ops.UseObjectives, "objective [WEIGHT *] NAME {+ ...} [within NUMBER [%]] {then ...}"),
}
STATES: Mapping[str, tuple[type[ops.OperationRequest], str]] = {
    "keep": (ops.KeepRequest, "keep [NAME]"),
    "undo": (ops.UndoRequest, "undo [N]"),
    "scenario": (ops.ScenarioRequest, "scenario NAME"),
}


def run_query(study: ModelStudy, request: ops.OperationRequest) -> results.AnyResult:
    """Execute a question."""
    module, function = QUERIES[request.operation].function.split(".")  # type: ignore[attr-defined]  # all have it
    run = getattr(import_module(f"oragent.modelling.operations.{module}"), function)
    result: results.AnyResult = run(study, request)
    return result


def schemas() -> dict[str, dict[str, Any]]:
    """Return the JSON schemas of the request and result of each operation, the form of its line, and a summary."""
    every: dict[str, dict[str, Any]] = {}
    for name, entry in QUERIES.items():
        every[name] = _schema(entry.request, entry.result, entry.syntax)
    for name, (request, syntax) in (*CHANGES.items(), *STATES.items()):
        every[name] = _schema(request, results.StateResult, syntax)
    return every


def _schema(request: type[ops.OperationRequest], result: type[results.OperationResult], syntax: str) -> dict[str, Any]:
    return {
        "syntax": syntax,
        "summary": (request.__doc__ or "").strip().splitlines()[0],
        "request": request.model_json_schema(),
        "result": result.model_json_schema(),
    }
