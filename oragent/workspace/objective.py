"""End of a program, its printed objective, and the check that a solved model has this objective."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from oragent.milp.model import Sense
from oragent.milp.plain import signed
from oragent.milp.solution import Solution, SolveStatus
from oragent.workspace.reading import shorten

MARKER = "OBJECTIVE_VALUE:"
LINE = re.compile(rf"^[ \t]*{re.escape(MARKER)}(.*)$", re.MULTILINE)
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)


UNCHANGED = 1e-9


class Backing(StrEnum):
    """Backing of a printed objective by a solved model; reported in addition to the grade and not a part of it."""

    MODEL = "a model has it"
    ROUNDED = "a model has it, to the digits printed"
    OTHER = "no model has it"
    NONE = "no model was solved"


@dataclass(frozen=True)
class PrintedObjective:
    """Objective in a program's output."""

    # Printed value. None if no usable value was printed.
    value: float | None
    # Digits as printed.
    text: str = ""
    # Problem of the output, in one line. Empty if it has no problem.
    note: str = ""


def parse_objective(output: str) -> PrintedObjective:
    """Find the objective in a program's output: the last line that begins with the marker counts.

    Never raises. If the program prints no objective, or an objective that is not a finite number, the result has no
    value and a note that says so.
    """
    lines = LINE.findall(output)
    if not lines:
        note = f"no line {MARKER} VALUE was printed; print the objective as the last such line"
        return PrintedObjective(None, note=note)
    text = lines[-1].strip()
    if len(lines) > 1:
        twice = f"{len(lines)} lines {MARKER} were printed and the last counts; print one"
    else:
        twice = ""
    if text.casefold().lstrip("+-") in {"nan", "inf", "infinity"}:
        return PrintedObjective(None, note=f"the objective printed is {shorten(text, 20)}; expected a finite number")
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        note = f"the objective printed is {shorten(text, 40)!r}; expected one finite number"
        return PrintedObjective(None, note=note)
    return PrintedObjective(float(text), text, twice)


def relative_error(objective: float, reference: float) -> float:
    """Return the difference divided by the size of the reference, which counts as at least one."""
    return abs(objective - reference) / max(1.0, abs(reference))


def find_backing(printed: PrintedObjective, objectives: Sequence[float | None]) -> Backing:
    """Return the backing of a printed value by the objectives of the models that the program solved."""
    solved = [objective for objective in objectives if objective is not None]
    if not objectives:
        return Backing.NONE
    if printed.value is None or not solved:
        return Backing.OTHER
    nearest = min(solved, key=lambda objective: abs(objective - (printed.value or 0.0)))
    if relative_error(printed.value, nearest) <= 1e-6:
        return Backing.MODEL
    if abs(printed.value - nearest) <= _last_digit(printed.text):
        return Backing.ROUNDED
    return Backing.OTHER


def _last_digit(text: str) -> float:
    """Return half a unit of the last printed digit, with a small tolerance for the binary representation."""
    digits, _, exponent = text.casefold().partition("e")
    places = len(digits.partition(".")[2])
    return 0.5 * 10.0 ** (min(int(exponent or 0), 308) - places) * (1 + 1e-9)


class StopReason(StrEnum):
    """Reason why a program ended."""

    ENDED = "ended"
    TIMEOUT = "timeout"
    MEMORY = "memory"
    ERROR = "error"


@dataclass(frozen=True)
class ProgramAttempt:
    """Run of a submitted program."""

    stop: StopReason = StopReason.ENDED
    stdout: str = ""
    stderr: str = ""
    # Status of the last solved model, as named by the solver. Empty if no model was solved.
    status: str = ""
    # Objectives of the solved models. None if the solves were not recorded.
    objectives: tuple[float | None, ...] | None = None
    # Direction of the last model. The release does not give the direction of the reference.
    direction: Sense | None = None


def is_within_tolerance(value: float, reference: float, tolerance: float) -> bool:
    """Return True if a value lies within a relative tolerance of the reference (the objective rule)."""
    return relative_error(value, reference) <= tolerance


def find_change_span(before: Solution | None, after: Solution | None) -> tuple[float, float] | None:
    """Return the least and largest change of the optimum between two models; None if both optima are proven.

    An optimum lies between the objective of a plan and its bound. If no bound is known, the change is unbounded.
    """
    if all(solution is None or solution.status is SolveStatus.OPTIMAL for solution in (before, after)):
        return None
    (low, high), (new_low, new_high) = (
        (solution and solution.optimum_span) or (-math.inf, math.inf) for solution in (before, after)
    )
    return new_low - high, new_high - low


def is_within_gap(before: Solution | None, after: Solution | None) -> bool:
    """Return True if the solutions do not show that the optima of two models differ."""
    span = find_change_span(before, after)
    return span is not None and span[0] <= 0.0 <= span[1]


def describe_change(before: Solution | None, after: Solution | None) -> str:
    """Describe the proven part of the change of the optimum; empty if one solution has no objective."""
    if before is None or after is None or before.objective is None or after.objective is None:
        return ""
    span = find_change_span(before, after)
    if span is None:
        step = after.objective - before.objective
        if abs(step) > UNCHANGED:
            return signed(step)
        return "no change"
    low, high = map(signed, span)
    if is_within_gap(before, after):
        return f"no change is shown, as the difference lies within the gap (the optimum may change by {low} to {high})"
    return f"the optimum changes by {low} to {high}"
