"""Typed operations on indexed models: one definition for Python, the command line, agents and pages."""

from typing import TYPE_CHECKING

from oragent._base.lazy_names import import_on_use

if TYPE_CHECKING:
    from oragent.modelling.operations.explanation import explain as explain
    from oragent.modelling.operations.outcomes import SolveLimits as SolveLimits
    from oragent.modelling.operations.registry import QUERIES as QUERIES
    from oragent.modelling.operations.registry import schemas as schemas
    from oragent.modelling.operations.rendering import render as render
    from oragent.modelling.operations.results import AnyResult as AnyResult
    from oragent.modelling.operations.results import AnyResultModel as AnyResultModel
    from oragent.modelling.operations.results import Figure as Figure
    from oragent.modelling.operations.session import ModelSession as ModelSession
    from oragent.modelling.operations.syntax import parse_line as parse_line

__all__ = [
    "QUERIES",
    "AnyResult",
    "AnyResultModel",
    "Figure",
    "ModelSession",
    "SolveLimits",
    "explain",
    "parse_line",
    "render",
    "schemas",
]

_MODULES = {
    "AnyResult": "oragent.modelling.operations.results",
    "AnyResultModel": "oragent.modelling.operations.results",
    "Figure": "oragent.modelling.operations.results",
    "ModelSession": "oragent.modelling.operations.session",
    "QUERIES": "oragent.modelling.operations.registry",
    "SolveLimits": "oragent.modelling.operations.outcomes",
    "explain": "oragent.modelling.operations.explanation",
    "parse_line": "oragent.modelling.operations.syntax",
    "render": "oragent.modelling.operations.rendering",
    "schemas": "oragent.modelling.operations.registry",
}
__getattr__ = import_on_use(__name__, _MODULES)
