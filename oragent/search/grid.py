"""Bins of features that are measured numbers: from declared bounds, or from what the first candidates show.

Nobody knows beforehand where programs will lie. Until enough of them have a score the archive is a plain ranking; then
bounds are taken from them, with room on both sides, and the archive is built anew of everything that was committed. All
of that follows from the committed candidates alone, in round order: a run that goes on finds the same bounds.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from oragent.evaluation.problem import Feature

FIRST = 20  # candidates with a score, the seed among them, from which bounds are taken
ROOM = 0.5  # of the width, added on both sides: a search goes where nobody was
TAIL = 0.05  # of the candidates, on either side, that do not stretch the bounds
Features = tuple[float, ...]


@dataclass(frozen=True)
class Grid:
    """Mapping from features to cells."""

    bins: tuple[int, ...] = ()  # number of bins of each axis
    # lower and upper end of each axis; None for one whose bins the evaluator says itself, and for one that is not known
    # yet
    bounds: tuple[tuple[float, float] | None, ...] = ()
    measured: tuple[bool, ...] = ()  # whether each axis is a measured number

    @classmethod
    def declared(cls, features: Sequence[Feature]) -> Self:
        """The grid that a problem declares."""
        return cls(
            tuple(feature.bins for feature in features),
            tuple(feature.bounds for feature in features),
            tuple(feature.kind == "number" for feature in features),
        )

    @property
    def is_known(self) -> bool:
        """True if all bounds are known."""
        return not any(
            is_measured and bounds is None for is_measured, bounds in zip(self.measured, self.bounds, strict=True)
        )

    def cell(self, features: Features | None) -> tuple[int, ...] | None:
        """The cell of some features; None where there are none, or bounds are not known yet."""
        if features is None or not self.is_known:
            return None
        if not any(self.measured):
            return tuple(int(value) for value in features)
        axes = list(zip(self.bins, self.bounds, strict=True)) + [(0, None)] * len(features)
        return tuple(_bin_of(value, *axis) for value, axis in zip(features, axes, strict=False))

    def chosen(self, first: Sequence[Features]) -> "Grid":
        """The grid with the bounds that the first candidates show, where they were not declared."""
        bounds = list(self.bounds)
        for axis, (is_measured, known) in enumerate(zip(self.measured, self.bounds, strict=True)):
            values = [features[axis] for features in first if len(features) > axis]
            if is_measured and known is None and values:
                bounds[axis] = _choose_bounds(values)
        return replace(self, bounds=tuple(bounds))

    def dumps(self) -> str:
        """The grid as JSON."""
        return json.dumps({"bins": self.bins, "bounds": self.bounds, "measured": self.measured})

    @classmethod
    def loads(cls, text: str) -> Self:
        """Read a grid back."""
        plain: dict[str, Any] = json.loads(text)
        bounds = tuple(None if ends is None else (float(ends[0]), float(ends[1])) for ends in plain["bounds"])
        return cls(tuple(plain["bins"]), bounds, tuple(plain["measured"]))


def _bin_of(value: float, bins: int, bounds: tuple[float, float] | None) -> int:
    if bounds is None:
        return int(value)
    low, high = bounds
    return min(bins - 1, max(0, int((value - low) / (high - low) * bins)))


def _choose_bounds(values: Sequence[float]) -> tuple[float, float]:
    """Ends of an axis, to six digits: where most of the values lie, and room beside them."""
    low, high = (float(end) for end in np.quantile(np.asarray(values), (TAIL, 1 - TAIL)))
    room = ROOM * (high - low) or max(ROOM * abs(low), 1e-6)
    return float(f"{low - room:.6g}"), float(f"{high + room:.6g}")
