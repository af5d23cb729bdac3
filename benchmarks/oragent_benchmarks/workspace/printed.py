"""Printed objective of a program, which the benchmark grades, and its comparison with the solved models."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from oragent.modelling.capture.program import ProgramOutcome
from oragent.modelling.data.model_values import Sense
from oragent.workspace.reading import shorten
from oragent.workspace.runner import ProgramRun, SolvedModel, relative_error

MARKER = "OBJECTIVE_VALUE:"
LINE = re.compile(rf"^[ \t]*{re.escape(MARKER)}(.*)$", re.MULTILINE)
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)


class Backing(StrEnum):
    """Backing of a printed objective by a solved model.

    It is reported in addition to the grade and does not change it.
    """

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
    """Find the objective in a program's output: the last line that begins with the marker.

    If the program prints no objective, or one that is not a finite number, the result has no value and a note says so.
    """
    lines = LINE.findall(output)
    if not lines:
        note = f"no line {MARKER} VALUE was printed; print the objective as the last such line"
        return PrintedObjective(None, note=note)
    text = lines[-1].strip()
    twice = f"{len(lines)} lines {MARKER} were printed and the last counts; print one" if len(lines) > 1 else ""
    if text.casefold().lstrip("+-") in {"nan", "inf", "infinity"}:
        return PrintedObjective(None, note=f"the objective printed is {shorten(text, 20)}; expected a finite number")
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        note = f"the objective printed is {shorten(text, 40)!r}; expected one finite number"
        return PrintedObjective(None, note=note)
    return PrintedObjective(float(text), text, twice)


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
    """Return half a unit of the last printed digit, plus a small tolerance for binary rounding."""
    digits, _, exponent = text.casefold().partition("e")
    places = len(digits.partition(".")[2])
    return 0.5 * 10.0 ** (min(int(exponent or 0), 308) - places) * (1 + 1e-9)


@dataclass(frozen=True)
class ProgramAttempt:
    """Run of a submitted program."""

    stop: ProgramOutcome = ProgramOutcome.ENDED
    stdout: str = ""
    stderr: str = ""
    # Status of the last solved model, as named by the solver. Empty if no model was solved.
    status: str = ""
    # Objectives of the solved models. None if the solves were not recorded.
    objectives: tuple[float | None, ...] | None = None
    # Direction of the last model. The release does not give that of the reference.
    direction: Sense | None = None


def parse_run(ran: ProgramRun) -> PrintedObjective:
    """Find the objective in the output of a run."""
    return parse_objective(ran.stdout)


def graded_model(ran: ProgramRun) -> SolvedModel | None:
    """Return the captured model with the printed objective, or else the last captured model."""
    value = parse_run(ran).value
    captured = [model for model in ran.models if model.milp is not None]
    for model in reversed(captured if value is not None else []):
        if model.objective is not None and math.isclose(model.objective, value or 0.0, rel_tol=1e-6, abs_tol=1e-6):
            return model
    if captured:
        return captured[-1]
    return None


def attempt_of(ran: ProgramRun) -> ProgramAttempt:
    """Return a run in the form that is graded.

    Status and models come from oragent, the printed value from the program.
    """
    model = graded_model(ran)
    return ProgramAttempt(
        ran.stop,
        ran.stdout,
        ran.stderr,
        str(model.solution.status) if model and model.solution else "",
        tuple(one.objective for one in ran.models),
        model.milp.sense if model and model.milp else None,
    )
