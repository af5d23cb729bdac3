"""The study of OR-Agent (Liu et al. 2026, arXiv:2602.13769) by one command a table or figure.

A layout says problems, contestants and budget; the runs are those of a comparison, which the command goes on with when
it is given again; the table is the study's own, with its figures beside ours.
"""

from importlib import import_module
from typing import Any

from oragent.evals.study.request import StudyRequest

__all__ = ["StudyRequest", "run"]


def __getattr__(name: str) -> Any:
    """Import what compares when somebody does: statistics and drawing take longer than all else of a command."""
    if name == "run":
        return import_module("oragent.evals.study.command").run
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
