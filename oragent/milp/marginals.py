"""What a little more, and a little less, of a right-hand side is worth, where the two differ.

At a degenerate optimum a dual may hold to one side only, or to none: the optimum as a function of the right-hand side
has a corner there. Then the slope to either side is read off a model that was moved a little that way.
"""

from dataclasses import dataclass, replace

from oragent.milp.model import Milp
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import solve

STEPS = (1e-2, 1e-3, 1e-4, 1e-5)  # of the right-hand side, or of 1


@dataclass(frozen=True)
class Slope:
    """How the optimum changes to one side.

    Attributes:
        rate: d objective / d right-hand side.
        until: The right-hand side up to which it is known to hold.
    """

    rate: float
    until: float


@dataclass(frozen=True)
class Marginal:
    """The slopes to both sides; None where the model has no optimum there, or the slope could not be told.

    Attributes:
        more: Towards larger right-hand sides.
        less: Towards smaller ones.
    """

    more: Slope | None
    less: Slope | None

    @property
    def is_smooth(self) -> bool:
        """Whether both sides have the same slope."""
        if self.more is None or self.less is None:
            return False
        return abs(self.more.rate - self.less.rate) <= 1e-7 * max(1.0, abs(self.more.rate))


def marginal(milp: Milp, solution: Solution, row: str) -> Marginal:
    """The slopes at a row of a linear programme that was solved.

    Raises:
        MilpError: There is no such row.
    """
    rhs = milp.row(row).rhs
    dual, interval = solution.duals[row], solution.ranges[row]
    nothing = 1e-9 * max(1.0, abs(rhs))
    more = Slope(dual, interval.high) if interval.high > rhs + nothing else _beside(milp, row, 1.0)
    less = Slope(dual, interval.low) if interval.low < rhs - nothing else _beside(milp, row, -1.0)
    return Marginal(more, less)


def _beside(milp: Milp, row: str, side: float) -> Slope | None:
    """The slope to one side, from the dual of a model whose range reaches back to where it started."""
    rhs = milp.row(row).rhs
    for step in STEPS:
        moved = rhs + side * step * max(1.0, abs(rhs))
        rows = tuple(replace(one, rhs=moved) if one.name == row else one for one in milp.rows)
        solution = solve(replace(milp, rows=rows))
        if solution.status is SolveStatus.OPTIMAL and row in solution.ranges:
            interval = solution.ranges[row]
            start, end = (interval.low, interval.high) if side > 0 else (interval.high, interval.low)
            if side * (start - rhs) <= 1e-7 * max(1.0, abs(rhs)):
                return Slope(solution.duals[row], end)
    return None
