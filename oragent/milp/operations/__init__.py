"""Typed operations on indexed models: one definition for Python, the command line, agents and pages."""

from oragent.milp.operations.outcomes import SolveLimits
from oragent.milp.operations.registry import QUERIES, schemas
from oragent.milp.operations.rendering import render
from oragent.milp.operations.results import AnyResult, AnyResultModel, Figure
from oragent.milp.operations.session import ModelSession
from oragent.milp.operations.syntax import parse_line

__all__ = [
    "QUERIES",
    "AnyResult",
    "AnyResultModel",
    "Figure",
    "ModelSession",
    "SolveLimits",
    "parse_line",
    "render",
    "schemas",
]
