"""Problems with labels, and grading of answers. Only the grader has access to labels."""

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from oragent._base.errors import ProblemError
from oragent._base.files import file_stem
from oragent.formulate.data import show_path
from oragent.formulate.formulation import FormulationResult
from oragent.formulate.problem import ProblemText
from oragent.formulate.verdicts import Verdict
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveVerdict, Tolerance

FIGURE = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
VERDICTS = frozenset(map(str, Verdict))
NONE = {"infeasible": "infeasible", "no feasible solution": "infeasible", "unbounded": "unbounded"}


FAILED_RUNS = (SolveVerdict.RUNTIME_ERROR, SolveVerdict.COMPILE_ERROR, SolveVerdict.TIMEOUT, SolveVerdict.MEMORY)
WITHOUT_OPTIMUM = ("infeasible", "unbounded")


@dataclass(frozen=True)
class Label:
    """Expected answer."""

    # Optimum. None if no optimum exists or only values are known.
    objective: float | None = None
    # ``optimal``, ``infeasible`` or ``unbounded``.
    status: str = "optimal"
    # Verdict that the result must have. Empty if any verdict counts.
    verdict: str = ""
    # Figures by label that the objective and the values must contain. Empty if only the objective counts.
    values: Mapping[str, float] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Labelled:
    """A problem of a set with its label."""

    # Text that is shown to a method.
    problem: ProblemText
    # Label, which is hidden from methods.
    label: Label
    # Correct model, if known.
    gold: IndexedModel | None = None
    # Reason why the problem is out of scope. Empty if it is in scope.
    unsupported: str = ""


@dataclass(frozen=True)
class ProblemSet:
    """Set of problems.

    Raises:
        ProblemError: The set is empty.
    """

    # Short name for tables and folders.
    name: str
    # Title of one line, which names the results to which figures of this set can be compared.
    title: str
    # Problems with distinct names.
    cases: tuple[Labelled, ...]
    # Unusable records, one line each.
    left_out: tuple[str, ...] = ()
    # File with the labels. None without a file.
    source: Path | None = None

    def __post_init__(self) -> None:
        if not self.cases:
            why = f" ({self.left_out[0]})" if self.left_out else ""
            raise ProblemError(f"the set {self.name!r} has no usable problem{why}")

    @property
    def supported(self) -> tuple[Labelled, ...]:
        """Problems in scope."""
        return tuple(case for case in self.cases if not case.unsupported)


def read_figure(text: Any) -> float | str | None:
    """Parse an answer in a file: a number, ``[18.0]``, or ``Infeasible``; None for other values."""
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
    """Return the label of a figure or a status."""
    if isinstance(answer, str):
        return Label(status=answer)
    return Label(answer)


def read_label(record: Mapping[str, Any]) -> Label | None:
    """Return the label of a record: ``answer`` is a figure, a status or a verdict, and ``verdict`` may be added."""
    answer, verdict = record.get("answer"), str(record.get("verdict") or "").strip().lower()
    if isinstance(answer, str) and answer.strip().lower() in VERDICTS and not verdict:
        answer, verdict = "", answer.strip().lower()
    if verdict and verdict not in VERDICTS:
        return None
    figure = None if answer is None else read_figure(answer)
    if figure is not None:
        return replace(label_of(figure), verdict=verdict)
    return Label(verdict=verdict) if verdict and answer in (None, "") else None


def slug(name: str) -> str:
    """Turn a name into a part of a case's name, a folder and a key."""
    return file_stem(name, "problem", allowed=r"\w-")


def check_records(path: Path, content: Any) -> list[dict[str, Any]]:
    """Return the records of a file. Raise ``ProblemError`` unless all are objects."""
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise ProblemError(f"{show_path(path)}: expected a list of records, each an object")
    return content


def grade_result(
    result: FormulationResult, label: Label, tolerance: Tolerance, accept_infeasible: bool = True
) -> SolveVerdict:
    """Grade the result of a problem.

    Args:
        result: Result of the problem, with figures that were computed outside of the program.
        label: Expected answer.
        tolerance: Maximum difference of two equal figures.
        accept_infeasible: Whether the answers "infeasible" and "unbounded" can be correct.
    """
    if label.verdict:
        if result.judgement.verdict != label.verdict:
            return SolveVerdict.WRONG_ANSWER
        if label.objective is None and label.status == "optimal":
            return SolveVerdict.ACCEPT
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
    if isinstance(values, dict):
        values = list(values.values())
    for item in values if isinstance(values, list) else ():
        yield from _iterate_figures(item)
