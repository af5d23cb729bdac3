"""Typed operations on indexed models: one definition for Python, the command line, agents and pages."""

from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.registry import QUERIES, schemas
from oragent.modelling.operations.rendering import render
from oragent.modelling.operations.results import AnyResult, AnyResultModel, Figure
from oragent.modelling.operations.session import ModelSession
from oragent.modelling.operations.syntax import parse_line

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
