"""Why a model is infeasible: rows and bounds that cannot hold together, none of which can be spared."""

import time
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from oragent._base.errors import MilpError
from oragent.milp.arrays import Arrays
from oragent.milp.highs import SolverClaim, run
from oragent.milp.model import Milp

NODES = 2_000  # of one check of an integer model: without its bounds the search may have no end
CHECK_S = 10.0  # of one check


class Side(StrEnum):
    """What a part of a conflict is."""

    ROW = "row"
    LOW = "least value"
    HIGH = "largest value"


@dataclass(frozen=True)
class ModelPart:
    """A row, or a bound of a variable.

    Attributes:
        side: Which of them.
        name: Of the row or the variable.
    """

    side: Side
    name: str


@dataclass(frozen=True)
class InfeasibleSubset:
    """Parts of a model that no point meets together; integrality stands beside them.

    Attributes:
        parts: Rows first, then bounds, in the model's order.
        irreducible: Whether the rest was shown to be feasible without any one of them; False where a check ran into its
            limit, so that a part may be too many.
    """

    parts: tuple[ModelPart, ...]
    irreducible: bool

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of its rows."""
        return tuple(part.name for part in self.parts if part.side is Side.ROW)


def conflict(milp: Milp, limit_s: float = 60.0) -> InfeasibleSubset:
    """Find an irreducible infeasible set of rows and bounds, of integer models too.

    A deletion filter (Chinneck & Dravnieks 1991, doi:10.1287/ijoc.3.2.157) that halves what it tries to delete: Junker
    2004, "QuickXplain". Each test is a solve without an objective.

    Args:
        milp: An infeasible model.
        limit_s: Seconds for all checks together; what is not decided by then stays in the set.

    Raises:
        MilpError: The model has a feasible point, or it could not be shown that it has none.
    """
    arrays, until = Arrays.of(milp).without_objective(), time.perf_counter() + limit_s
    finder, relaxed = _Finder(milp, arrays, until), _Finder(milp, arrays.relaxed(), until)
    parts = finder.parts
    if relaxed.infeasible(parts):  # linear checks are quick and leave little to those with integers
        parts = relaxed.needed((), parts)
    if not finder.infeasible(parts):
        raise MilpError("no conflict: the model was not shown to be infeasible; solve it first, longer where unknown")
    found = set(finder.needed((), parts))
    return InfeasibleSubset(tuple(part for part in finder.parts if part in found), finder.certain)


def without(milp: Milp, parts: tuple[ModelPart, ...]) -> Milp:
    """The same model without some of its rows and bounds."""
    gone = set(parts)
    variables = tuple(
        replace(
            variable,
            low=-np.inf if ModelPart(Side.LOW, variable.name) in gone else variable.low,
            high=np.inf if ModelPart(Side.HIGH, variable.name) in gone else variable.high,
        )
        for variable in milp.variables
    )
    rows = tuple(row for row in milp.rows if ModelPart(Side.ROW, row.name) not in gone)
    return replace(milp, variables=variables, rows=rows)


class _Finder:
    """The checks, and whether all of them were decided."""

    def __init__(self, milp: Milp, arrays: Arrays, until: float) -> None:
        self._arrays = arrays
        self._until = until
        self.certain = True
        names = [variable.name for variable in milp.variables]
        self._places: dict[ModelPart, int] = {
            ModelPart(Side.ROW, row.name): place for place, row in enumerate(milp.rows)
        }
        for side, bounds in ((Side.LOW, self._arrays.low), (Side.HIGH, self._arrays.high)):
            self._places |= {ModelPart(side, names[place]): int(place) for place in np.flatnonzero(np.isfinite(bounds))}

    @property
    def parts(self) -> tuple[ModelPart, ...]:
        """Every row and every finite bound."""
        return tuple(self._places)

    def needed(
        self, kept: tuple[ModelPart, ...], suspects: tuple[ModelPart, ...], grown: bool = False
    ) -> tuple[ModelPart, ...]:
        """The least part of the suspects that is infeasible beside what is kept; together they are known to be.

        Args:
            kept: Parts that stay.
            suspects: Parts of which as many as possible go.
            grown: Whether what is kept was added to, so that it may be infeasible by itself.
        """
        if grown and self.infeasible(kept):
            return ()
        if len(suspects) == 1:
            return suspects
        half = len(suspects) // 2
        first, second = suspects[:half], suspects[half:]
        of_second = self.needed(kept + first, second, grown=True)
        return self.needed(kept + of_second, first, grown=bool(of_second)) + of_second

    def infeasible(self, parts: tuple[ModelPart, ...]) -> bool:
        """Whether it is proven that no point meets these parts."""
        left = self._until - time.perf_counter()
        claim = (
            run(self._only(parts), limit_s=min(left, CHECK_S), nodes=NODES).claim if left > 0 else SolverClaim.STOPPED
        )
        self.certain &= claim is not SolverClaim.STOPPED
        return claim is SolverClaim.NO_OPTIMUM

    def _only(self, parts: tuple[ModelPart, ...]) -> Arrays:
        rows = [self._places[part] for part in parts if part.side is Side.ROW]
        low, high = np.full_like(self._arrays.low, -np.inf), np.full_like(self._arrays.high, np.inf)
        for part in parts:
            place = self._places[part]
            if part.side is Side.LOW:
                low[place] = self._arrays.low[place]
            elif part.side is Side.HIGH:
                high[place] = self._arrays.high[place]
        return replace(
            self._arrays, low=low, high=high, matrix=self._arrays.matrix.of_rows(rows),
            row_low=self._arrays.row_low[rows], row_high=self._arrays.row_high[rows],
        )  # fmt: skip
