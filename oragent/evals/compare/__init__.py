"""Comparisons: strategies on the same problems, seeds and budget; run, resumed, summed up and reported."""

from importlib import import_module
from typing import Any

from oragent.evals.compare.request import CompareRequest

__all__ = ["CompareRequest", "run"]


def __getattr__(name: str) -> Any:
    """Import what compares when somebody does: statistics and drawing take longer than all else of a command."""
    if name == "run":
        return import_module("oragent.evals.compare.command").run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
