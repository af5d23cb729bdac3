"""Statements of a formalization: sentences with two readings, omitted requirements, nonlinear parts."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LIST_MARK = re.compile(r"^\s*[-*•–]\s+")
# Kinds of variables in a formalization.
KINDS = re.compile(r"(?i)continuous|integer|binary|boolean|real|^(?:time|choice)$")
# Status of a reading without a solution.
NOT_SOLVED = "not solved"
# Relative difference up to which two objectives are equal.
SAME_OPTIMUM = 1e-6


@dataclass(frozen=True)
class Reading:
    """A sentence with two readings."""

    sentence: str
    # Reading that the program uses.
    used: str
    other: str


def find_nonlinearity(parsed: Any) -> str:
    """Return the reason why a formalization calls the problem nonlinear; empty if it does not."""
    text = str(parsed.get("CLASS") or "").strip() if isinstance(parsed, dict) else ""
    if text.lower().startswith("nonlinear"):
        return text
    return ""


def list_readings(parsed: Any) -> list[Reading]:
    """Return the sentences that a formalization reads in two ways: "sentence -- reading used -- other reading"."""
    entries = parsed.get("READINGS") if isinstance(parsed, dict) else None
    parts = [str(entry).split(" -- ") for entry in entries if entry] if isinstance(entries, list) else []
    return [Reading(*(part.strip() for part in each)) for each in parts if len(each) == 3]


def has_same_optimum(reading: Mapping[str, Any], values: Sequence[float | None]) -> bool:
    """Return True if the other reading of a sentence has the same optimum as the answer in each aim.

    Args:
        reading: Record of the reading.
        values: Values of the aims of the answer, the most important first.
    """
    if reading["objective"] is None:
        return False
    alternative = reading.get("aims") or [reading["objective"]]
    return len(alternative) == len(values) and all(
        value is not None and math.isclose(second, value, rel_tol=SAME_OPTIMUM, abs_tol=SAME_OPTIMUM)
        for second, value in zip(alternative, values, strict=True)
    )


def list_unmodelled(parsed: Any) -> list[tuple[str, str]]:
    """Return the requirements that a formalization states as omitted, "sentence -- why", as pairs."""
    entries = parsed.get("NOT_MODELLED") if isinstance(parsed, dict) else None
    pairs = []
    for entry in map(str, entries if isinstance(entries, list) else ()):
        sentence, _, reason = entry.partition(" -- ")
        if sentence := LIST_MARK.sub("", sentence).strip():
            pairs.append((sentence, reason.strip()))
    return pairs


def plain_key(name: str) -> str:
    """Normalise the name of a row for comparison."""
    return re.sub(r"[\W_]+", "", name.lower())
