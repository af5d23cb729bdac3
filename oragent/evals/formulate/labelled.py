"""Problems with their labels, and the grading of answers. Labels stay with the grader."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent._base.files import file_stem
from oragent.formulate.data import show_path
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.problem import ProblemText
from oragent.milp.model import Milp
from oragent.milp.solution import SolveVerdict, Tolerance

FIGURE = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
NONE = {"infeasible": "infeasible", "no feasible solution": "infeasible", "unbounded": "unbounded"}


FAILED_RUNS = (SolveVerdict.RUNTIME_ERROR, SolveVerdict.COMPILE_ERROR, SolveVerdict.TIMEOUT, SolveVerdict.MEMORY)
WITHOUT_OPTIMUM = ("infeasible", "unbounded")


@dataclass(frozen=True)
class Label:
    """What the answer is to be."""

    # the optimum; None where there is none, or where only values are known
    objective: float | None = None
    # ``optimal``, ``infeasible`` or ``unbounded``
    status: str = "optimal"
    # Figures by label that are to be found among objective and values; empty where the objective decides.
    values: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Labelled:
    """A problem of a set."""

    # what a method sees
    problem: ProblemText
    # what it does not
    label: Label
    # a right model, where one is known
    gold: Milp | None = None
    # why it is out of scope; empty where it is not
    unsupported: str = ""


@dataclass(frozen=True)
class ProblemSet:
    """A set.

    Raises:
        ProblemError: There is no case.
    """

    # short, for tables and folders
    name: str
    # one line, with what the figures of this set may be held against
    title: str
    # of which names differ
    cases: tuple[Labelled, ...]
    # records that could not be used, a line each
    left_out: tuple[str, ...] = ()
    # file with the labels; None for one without
    source: Path | None = None

    def __post_init__(self) -> None:
        if not self.cases:
            if self.left_out:
                why = f" ({self.left_out[0]})"
            else:
                why = ""
            raise ProblemError(f"the set {self.name!r} has no problem that can be used{why}")

    @property
    def supported(self) -> tuple[Labelled, ...]:
        """Those in scope."""
        return tuple(case for case in self.cases if not case.unsupported)


def read_figure(text: Any) -> float | str | None:
    """An answer as files have it: a number, ``[18.0]``, ``Infeasible``; None where it is neither."""
    if isinstance(text, list) and len(text) == 1:
        return read_figure(text[0])
    if isinstance(text, int | float) and not isinstance(text, bool):
        if math.isfinite(text):
            return float(text)
        return None
    words = str(text).strip().strip("[]").strip("'\" ").lower()
    if words in NONE:
        return NONE[words]
    match = FIGURE.fullmatch(words.replace("$", ""))
    if match:
        return float(match.group().replace(",", ""))
    return None


def label_of(answer: float | str) -> Label:
    """The label of a figure or a status."""
    if isinstance(answer, str):
        return Label(status=answer)
    return Label(answer)


def slug(name: str) -> str:
    """A name that can be part of a case's name, a folder and a key."""
    return file_stem(name, "problem", allowed=r"\w-")


def check_records(path: Path, content: Any) -> list[dict[str, Any]]:
    """The records of a file, which are objects; ``ProblemError`` where they are not."""
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise ProblemError(f"{show_path(path)}: expected a list of records, each an object")
    return content


def grade_result(
    result: FormulationResult, label: Label, tolerance: Tolerance, accept_infeasible: bool = True
) -> SolveVerdict:
    """Grade the result of a problem.

    Args:
        result: What came of the problem; its figures were computed outside of the program's reach.
        label: What the answer is to be.
        tolerance: When two figures are the same.
        accept_infeasible: Whether "infeasible" or "unbounded" can be right.
    """
    if result.milp is None:
        return SolveVerdict(result.status)
    if result.status in WITHOUT_OPTIMUM:
        right = accept_infeasible and label.status == result.status
        if right:
            return SolveVerdict.ACCEPT
        return SolveVerdict.MODEL_FAILURE
    if result.objective is None:
        return SolveVerdict.MODEL_FAILURE
    if label.status != "optimal":
        return SolveVerdict.WRONG_ANSWER
    if label.values:
        figures = [result.objective, *_iterate_figures(result.values)]
        met = all(any(tolerance.accepts(figure, value) for figure in figures) for value in label.values.values())
        if met:
            return SolveVerdict.ACCEPT
        return SolveVerdict.WRONG_ANSWER
    right = label.objective is not None and tolerance.accepts(result.objective, label.objective)
    if right:
        return SolveVerdict.ACCEPT
    return SolveVerdict.WRONG_ANSWER


def _iterate_figures(values: Any) -> Iterator[float]:
    if isinstance(values, bool) or values is None:
        return
    if isinstance(values, int | float):
        yield float(values)
    for item in values.values() if isinstance(values, dict) else values if isinstance(values, list) else ():
        yield from _iterate_figures(item)
