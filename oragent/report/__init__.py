"""Reports: what a run's folder holds, as figures, a page and a terminal summary."""

from importlib import import_module
from typing import Any

from oragent.report.run import load
from oragent.report.terminal import show

__all__ = ["load", "show", "write"]


def __getattr__(name: str) -> Any:
    """Import what draws when somebody wants a page: matplotlib alone takes longer than all else of a command."""
    if name == "write":
        return import_module("oragent.report.files").write
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
