"""Explanations of a model's file and its solution, for ``oragent solve``."""

from pathlib import Path

from rich.console import Console

from oragent.modelling.data.flat_model import Milp
from oragent.modelling.data.names import from_milp, read_corrections
from oragent.modelling.data.solution import Solution
from oragent.modelling.operations.checking import inverse
from oragent.modelling.operations.explanation import explain
from oragent.modelling.operations.outcomes import SolveLimits, solution_outcome
from oragent.modelling.operations.printing import print_fields
from oragent.modelling.operations.requests import InverseRequest
from oragent.modelling.operations.result_tables import HEADER, HIDDEN
from oragent.modelling.operations.results import InverseResult
from oragent.modelling.operations.state import ModelStudy


def find_inverse(milp: Milp, path: Path, point: Path, limits: SolveLimits) -> InverseResult:
    """Return what would make the point of a file optimal in the model of another file."""
    study = ModelStudy(from_milp(milp, read_corrections(path)), limits)
    return inverse(study, InverseRequest(file=str(point)))


def print_inverse(change: InverseResult, console: Console) -> None:
    """Print what would make a point optimal."""
    print_fields(change, console, (HEADER - {"warnings"}) | HIDDEN)


def print_explanation(milp: Milp, path: Path, solution: Solution, limits: SolveLimits, console: Console) -> None:
    """Print what explains the solution of a file."""
    model = from_milp(milp, read_corrections(path))
    # The solution of several objectives is not that of the first one alone.
    outcome = None if milp.features.goals else solution_outcome(solution)
    print_fields(explain(model, limits, outcome), console)
