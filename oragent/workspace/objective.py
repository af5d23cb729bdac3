"""The objective that a program prints, and whether a model that it solved stands behind it."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from oragent.workspace.reading import shown

MARKER = "OBJECTIVE_VALUE:"
LINE = re.compile(rf"^[ \t]*{re.escape(MARKER)}(.*)$", re.MULTILINE)
NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d{1,3})?", re.ASCII)


class Backing(StrEnum):
    """What stands behind a printed objective; a mark beside the grade, not a part of it."""

    MODEL = "a model has it"
    ROUNDED = "a model has it, to the digits printed"
    OTHER = "no model has it"
    NONE = "no model was solved"


@dataclass(frozen=True)
class PrintedObjective:
    """What a program's output says.

    Attributes:
        value: Objective; None where there is none to be used.
        text: Digits of the objective as printed; empty where there are none.
        note: Note on what is wrong with it, one line; empty where nothing is.
    """

    value: float | None
    text: str = ""
    note: str = ""


def parse(output: str) -> PrintedObjective:
    """Find the objective in a program's output: the last line that begins with the marker counts.

    Never raises: a program that prints none, or one that is no finite number, has no value and a note that says so.
    """
    found = LINE.findall(output)
    if not found:
        return PrintedObjective(
            None, note=f"no line {MARKER} VALUE was printed; print the objective as the last such line"
        )
    text = found[-1].strip()
    twice = f"{len(found)} lines {MARKER} were printed and the last counts; print one" if len(found) > 1 else ""
    if text.casefold().lstrip("+-") in {"nan", "inf", "infinity"}:
        return PrintedObjective(None, note=f"the objective printed is {shown(text, 20)}; expected a finite number")
    if not NUMBER.fullmatch(text) or not math.isfinite(float(text)):
        return PrintedObjective(None, note=f"the objective printed is {shown(text, 40)!r}; expected one finite number")
    return PrintedObjective(float(text), text, twice)


def relative_error(objective: float, reference: float) -> float:
    """Difference over the reference's size, which counts as at least one."""
    return abs(objective - reference) / max(1.0, abs(reference))


def backing(printed: PrintedObjective, objectives: Sequence[float | None]) -> Backing:
    """What stands behind a printed value.

    Args:
        printed: Output with a value.
        objectives: Objectives of the models that the program solved, None for one without a solution.
    """
    known = [objective for objective in objectives if objective is not None]
    if not objectives:
        return Backing.NONE
    if printed.value is None or not known:
        return Backing.OTHER
    nearest = min(known, key=lambda objective: abs(objective - (printed.value or 0.0)))
    if relative_error(printed.value, nearest) <= 1e-6:
        return Backing.MODEL
    return Backing.ROUNDED if abs(printed.value - nearest) <= _last_digit(printed.text) else Backing.OTHER


def _last_digit(text: str) -> float:
    """Half a unit of the last digit printed, with a little room for the binary representation."""
    digits, _, exponent = text.casefold().partition("e")
    places = len(digits.partition(".")[2])
    return 0.5 * 10.0 ** (min(int(exponent or 0), 308) - places) * (1 + 1e-9)
