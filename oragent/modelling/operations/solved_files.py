"""Explanations of a model's file and its solution, for ``oragent solve``."""

from pathlib import Path

from rich.console import Console

from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.names import read_corrections, with_families
from oragent.modelling.data.solution import Solution
from oragent.modelling.operations.checking import inverse
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import SolveLimits, solution_outcome
from oragent.modelling.operations.printing import print_fields
from oragent.modelling.operations.requests import InverseRequest
from oragent.modelling.operations.result_tables import HEADER, HIDDEN
from oragent.modelling.operations.results import InverseResult
from oragent.modelling.operations.state import ModelStudy


def find_inverse(model: IndexedModel, path: Path, point: Path, limits: SolveLimits) -> InverseResult:
    """Return what would make the point of a file optimal in the model of another file."""
    study = ModelStudy(with_families(model, read_corrections(path)), limits)
    return inverse(study, InverseRequest(file=str(point)))


def print_inverse(change: InverseResult, console: Console) -> None:
    """Print what would make a point optimal."""
    print_fields(change, console, (HEADER - {"warnings"}) | HIDDEN)


def print_explanation(
    model: IndexedModel, path: Path, solution: Solution, limits: SolveLimits, console: Console
) -> None:
    """Print what explains the solution of a file."""
    model = with_families(model, read_corrections(path))
    # The solution of several objectives is not that of the first one alone.
    outcome = None if model.staged_features.goals else solution_outcome(solution)
    print_fields(explain(model, limits, outcome), console)
