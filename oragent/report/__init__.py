"""Reports of a run's folder: a page, figures and a terminal summary. ``pages`` is shared by all products."""

from importlib import import_module
from typing import Any

__all__ = ["write", "write_figure"]


def __getattr__(name: str) -> Any:
    """Import matplotlib only when a page is written, because it takes longer to import than the rest of a command."""
    if name == "write":
        return import_module("oragent.report.live.offline").write_report
    if name == "write_figure":
        import_module("oragent.report.pages.charts").require_matplotlib()
        return import_module("oragent.report.paper_figures").write_figure
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
