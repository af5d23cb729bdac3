"""Registry of operations: request, result and function of each; commands, schemas and tools are made from it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from oragent.milp.operations import asking, checking, conflicting, explaining, reading, results
from oragent.milp.operations import requests as ops
from oragent.milp.operations.state import Study


@dataclass(frozen=True)
class OperationEntry:
    """An operation that asks something; those that change the state are in ``session``."""

    request: type[ops.Request]
    result: type[results.Result]
    # takes the study and a request, and gives a result
    run: Callable[..., results.AnyResult]
    # form of its line
    syntax: str

    @property
    def summary(self) -> str:
        """The first line of the documentation of the request."""
        return (self.request.__doc__ or "").strip().splitlines()[0]


_QUERIES: tuple[tuple[str, type[ops.Request], type[results.Result], Callable[..., Any], str], ...] = (
    ("describe", ops.Describe, results.DescribeResult, reading.describe, "describe [REF]"),
    ("data", ops.Data, results.MembersResult, reading.data, "data REF"),
    ("value", ops.Value, results.MembersResult, reading.value, "value REF"),
    ("total", ops.Total, results.TotalResult, reading.total, "total REF [by SET]"),
    ("top", ops.Top, results.MembersResult, reading.top, "top N REF [by value|cost|coefficient|price|DATA]"),
    ("binding", ops.Binding, results.MembersResult, reading.binding, "binding [REF]"),
    ("slack", ops.Slack, results.MembersResult, reading.slack, "slack REF"),
    ("solve", ops.Solve, results.SolveResult, asking.solve, "solve"),
    ("whatif", ops.WhatIf, results.CompareResult, asking.whatif, "whatif CHANGE {; CHANGE}"),
    ("whynot", ops.WhyNot, results.CompareResult, asking.whynot, "whynot CHANGE"),
    ("compare", ops.Compare, results.CompareResult, asking.compare, "compare SCENARIO SCENARIO"),
    ("price", ops.Price, results.PriceResult, asking.price, "price REF [by STEP]"),
    ("range", ops.Range, results.RangeResult, explaining.ranges, "range REF"),
    ("why", ops.Why, results.WhyResult, explaining.why, "why REF"),
    ("sweep", ops.Sweep, results.SweepResult, asking.sweep, "sweep TARGET = NUMBER {, NUMBER}"),
    ("extreme", ops.Extreme, results.ExtremeResult, asking.extreme, "most|least EXPRESSION [within NUMBER [%]]"),
    ("alternatives", ops.Alternatives, results.AlternativesResult, asking.alternatives, "alternatives N"),
    ("frontier", ops.Frontier, results.FrontierResult, asking.frontier, "frontier OBJECTIVE OBJECTIVE [N]"),
    ("conflict", ops.Conflict, results.ConflictResult, conflicting.conflict, "conflict"),
    ("repair", ops.Repair, results.RepairResult, conflicting.repair, "repair [REF ...]"),
    ("verify", ops.Verify, results.VerifyResult, checking.verify, 'verify "FILE"'),
    ("inverse", ops.Inverse, results.InverseResult, checking.inverse, 'inverse "FILE"'),
    ("diff", ops.Diff, results.DiffResult, checking.diff, 'diff "FILE"'),
)
QUERIES: Mapping[str, OperationEntry] = {
    name: OperationEntry(request, result, run, syntax) for name, request, result, run, syntax in _QUERIES
}
# operations that change the state, with the forms of their lines
CHANGES: Mapping[str, tuple[type[ops.Request], str]] = {
    "assign": (ops.Assign, "TARGET =|+=|-=|*= NUMBER [%]"),
    "limit": (ops.Limit, "REF <=|>= NUMBER"),
    "forbid": (ops.Forbid, "forbid REF"),
    "free": (ops.Free, "free REF"),
    "drop": (ops.Drop, "drop REF"),
    "relax": (ops.Relax, "relax REF by NUMBER [%]"),
    "row": (ops.NewRow, "row NAME: EXPRESSION <=|>=|= EXPRESSION"),
    "objective": (ops.NewObjective, "objective [NAME:] minimize|maximize EXPRESSION"),
    "use": (ops.UseObjective, "objective NAME"),
}
STATES: Mapping[str, tuple[type[ops.Request], str]] = {
    "keep": (ops.Keep, "keep [NAME]"),
    "undo": (ops.Undo, "undo [N]"),
    "scenario": (ops.UseScenario, "scenario NAME"),
}


def run_query(study: Study, request: ops.Request) -> results.AnyResult:
    """Run an operation that asks something."""
    return QUERIES[request.operation].run(study, request)  # type: ignore[attr-defined]  # every request has it


def schemas() -> dict[str, dict[str, Any]]:
    """JSON schemas of the request and result of each operation, with the form of its line and a summary."""
    every: dict[str, dict[str, Any]] = {}
    for name, entry in QUERIES.items():
        every[name] = _schema(entry.request, entry.result, entry.syntax)
    for name, (request, syntax) in (*CHANGES.items(), *STATES.items()):
        every[name] = _schema(request, results.StateResult, syntax)
    return every


def _schema(request: type[ops.Request], result: type[results.Result], syntax: str) -> dict[str, Any]:
    return {
        "syntax": syntax,
        "summary": (request.__doc__ or "").strip().splitlines()[0],
        "request": request.model_json_schema(),
        "result": result.model_json_schema(),
    }
