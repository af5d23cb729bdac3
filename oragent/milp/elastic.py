"""What right-hand sides an infeasible model would need."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from oragent.milp.arrays import FEASIBLE, Arrays
from oragent.milp.highs import SolverClaim, run
from oragent.milp.model import Milp, Relation, Sense
from oragent.milp.solution import SolveStatus
from oragent.milp.sparse import Sparse


@dataclass(frozen=True)
class Nearest:
    """The point that breaks the rows least.

    Attributes:
        status: ``optimal`` where the least total is proven, ``feasible`` where it is not, ``infeasible`` where no
            change of these right-hand sides will do, ``unknown`` where a limit came first.
        total: Sum of all violations; None without a point.
        needed: By violated row, the right-hand side with which the point meets it: the value of its left side there.
        values: By variable, the point.
    """

    status: SolveStatus
    total: float | None = None
    needed: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)


def nearest(milp: Milp, rows: Sequence[str] | None = None, limit_s: float | None = 60.0) -> Nearest:
    """Find the least total change of right-hand sides that makes a model feasible.

    Each row of the choice gets a violation at a cost of 1 a unit, "elastic programming" (Brown & Graves 1975); bounds,
    integrality and the other rows hold.

    Args:
        milp: The model; its objective counts for nothing here.
        rows: Names of the rows that may give way; None for all.
        limit_s: Seconds; None for no limit.

    Raises:
        MilpError: A name is none of a row.
    """
    names = [row.name for row in milp.rows] if rows is None else [milp.row(name).name for name in rows]
    place = {row.name: index for index, row in enumerate(milp.rows)}
    arrays = Arrays.of(milp)
    found = run(_elastic(arrays, [place[name] for name in names]), limit_s)
    if found.values is None:
        return Nearest(SolveStatus.INFEASIBLE if found.claim is SolverClaim.NO_OPTIMUM else SolveStatus.UNKNOWN)
    values = found.values[: len(milp.variables)]
    values = np.where(arrays.integer, np.round(values), values)
    activities = arrays.activities(values)
    needed, total = {}, 0.0
    for name in names:
        row, activity = milp.row(name), float(activities[place[name]])
        over = activity - row.rhs
        broken = {Relation.AT_MOST: over, Relation.AT_LEAST: -over, Relation.EQUAL: abs(over)}[row.relation]
        if broken > FEASIBLE * max(1.0, abs(row.rhs)):
            needed[name] = activity
            total += broken
    status = SolveStatus.OPTIMAL if found.claim is SolverClaim.OPTIMAL else SolveStatus.FEASIBLE
    by_name = dict(zip((variable.name for variable in milp.variables), values.tolist(), strict=True))
    return Nearest(status, total, needed, by_name)


def _elastic(arrays: Arrays, rows: Sequence[int]) -> Arrays:
    """The model with a column for every direction in which a row may give way."""
    under = [row for row in rows if np.isfinite(arrays.row_low[row])]
    over = [row for row in rows if np.isfinite(arrays.row_high[row])]
    count = len(under) + len(over)
    signs = np.array([1.0] * len(under) + [-1.0] * len(over))
    gives = Sparse.of(under + over, range(count), signs, (arrays.matrix.shape[0], count))
    return replace(
        arrays,
        sense=Sense.MINIMIZE,
        cost=np.concatenate([np.zeros_like(arrays.cost), np.ones(count)]),
        constant=0.0,
        low=np.concatenate([arrays.low, np.zeros(count)]),
        high=np.concatenate([arrays.high, np.full(count, np.inf)]),
        integer=np.concatenate([arrays.integer, np.zeros(count, dtype=bool)]),
        matrix=arrays.matrix.beside(gives),
    )
