"""Reports of a run's folder: a page and a terminal summary. ``pages`` is shared by all products."""

from importlib import import_module
from typing import Any

__all__ = ["write"]


def __getattr__(name: str) -> Any:
    """Import what writes a page only when one is written."""
    if name == "write":
        return import_module("oragent.report.live.offline").write_report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
