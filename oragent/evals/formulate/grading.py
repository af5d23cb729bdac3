"""Grade an answer: by its own label, which no process that runs a program can read."""

from collections.abc import Iterator
from typing import Any

from oragent.evals.formulate.sets.labelled import Label
from oragent.formulate.formulation import FormulationResult
from oragent.milp.verdict import SolveVerdict, Tolerance

FAILED_RUNS = (SolveVerdict.RUNTIME_ERROR, SolveVerdict.COMPILE_ERROR, SolveVerdict.TIMEOUT, SolveVerdict.MEMORY)
WITHOUT_OPTIMUM = ("infeasible", "unbounded")


def grade(found: FormulationResult, label: Label, tolerance: Tolerance, accept_infeasible: bool = True) -> SolveVerdict:
    """What became of an attempt.

    Args:
        found: What came of the problem; its figures were computed outside of the program's reach.
        label: What the answer is to be.
        tolerance: When two figures are the same.
        accept_infeasible: Whether "infeasible" or "unbounded" can be right.
    """
    if found.milp is None:
        return SolveVerdict(found.status)
    if found.status in WITHOUT_OPTIMUM:
        right = accept_infeasible and label.status == found.status
        return SolveVerdict.ACCEPT if right else SolveVerdict.MODEL_FAILURE
    if found.objective is None:
        return SolveVerdict.MODEL_FAILURE
    if label.status != "optimal":
        return SolveVerdict.WRONG_ANSWER
    if label.values:
        figures = [found.objective, *_figures(found.values)]
        met = all(any(tolerance.accepts(one, value) for one in figures) for value in label.values.values())
        return SolveVerdict.ACCEPT if met else SolveVerdict.WRONG_ANSWER
    right = label.objective is not None and tolerance.accepts(found.objective, label.objective)
    return SolveVerdict.ACCEPT if right else SolveVerdict.WRONG_ANSWER


def _figures(values: Any) -> Iterator[float]:
    if isinstance(values, bool) or values is None:
        return
    if isinstance(values, int | float):
        yield float(values)
    for item in values.values() if isinstance(values, dict) else values if isinstance(values, list) else ():
        yield from _figures(item)
