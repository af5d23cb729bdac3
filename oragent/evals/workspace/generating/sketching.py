"""A revision that may be tried, and what its operators share."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from oragent.evals.workspace.generating.patches import NewParameter, Patch
from oragent.evals.workspace.generating.uses import Base
from oragent.milp.model import Row, Variable
from oragent.workspace.revisions import Type


@dataclass(frozen=True)
class Sketch:
    """A revision that may be tried.

    Attributes:
        type: Its type.
        patch: What it does to the model.
        sentences: What the business says of it, numbers by the names of parameters.
    """

    type: Type
    patch: Patch
    sentences: tuple[str, ...]


Sketches = Iterator[Sketch]
Operator = Callable[[Base, np.random.Generator], Sketches]


def listed(base: Base, chosen: Sequence[Variable]) -> str:
    """What people call some variables, as an enumeration."""
    labels = [base.label(one) for one in chosen]
    return labels[0] if len(labels) == 1 else f"{', '.join(labels[:-1])} and {labels[-1]}"


def parameter(name: str, value: float, neutral: float, unit: str, meaning: str) -> tuple[NewParameter, ...]:
    """A parameter of the revised data, as a tuple of one."""
    return (NewParameter(name, round(value, 2), neutral, unit, meaning),)


def most_active(base: Base, count: int) -> list[Variable]:
    """The most active variables: amounts, where there are enough."""
    amounts = base.amounts if len(base.amounts) >= min(2, count) else base.active
    return amounts[:count]


def binding(base: Base) -> list[Row]:
    """Rows without room, those that matter most first."""
    tight = [row for row in base.milp.rows if base.solution.slacks[row.name] <= 1e-6]
    return sorted(tight, key=lambda row: -worth(base, row))


def worth(base: Base, row: Row) -> float:
    """What one unit of a row is worth, its sign aside."""
    prices = base.solution.relaxation or base.solution.sensitivity
    return abs(prices.duals.get(row.name, 0.0)) if prices else 0.0


def told(patch: Patch) -> tuple[str, ...]:
    """The sentences of a patch that its rows come from."""
    return tuple(dict.fromkeys(row.sentence for row in patch.rows if row.sentence))
