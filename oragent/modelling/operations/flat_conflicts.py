"""Infeasible models: conflicting rows and bounds, and the nearest feasible right-hand sides."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Sparse
from oragent.modelling.data.flat_model import Milp, Relation, Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.array_solving import NO_OPTIMUM, check_abilities
from oragent.modelling.solving.back_ends.protocol import Solver, SolverOptions, SolverStatus
from oragent.modelling.solving.back_ends.registry import find_solver
from oragent.modelling.solving.linearise import linearise_milp

# Node limit of one check of an integer model. Without limits, a check may never end.
NODES = 2_000
# Time limit of one check, in seconds.
CHECK_S = 10.0


class Side(StrEnum):
    """Kind of a part of a conflict."""

    ROW = "row"
    LOW = "least value"
    HIGH = "largest value"


@dataclass(frozen=True)
class ModelPart:
    """A row, or a bound of a variable."""

    side: Side
    name: str


Parts = tuple[ModelPart, ...]


@dataclass(frozen=True)
class InfeasibleSubset:
    """Parts of a model that no point satisfies together, given that integer variables are integer."""

    # Rows, then bounds, in the order of the model.
    parts: tuple[ModelPart, ...]
    # True if removing any part makes the rest feasible. False if a check reached its limit.
    irreducible: bool

    @property
    def rows(self) -> tuple[str, ...]:
        """Names of the rows in the subset."""
        return tuple(part.name for part in self.parts if part.side is Side.ROW)


def conflict(
    milp: Milp, limit_s: float = 60.0, *, solver: str = "highs", options: SolverOptions | None = None
) -> InfeasibleSubset:
    """Find an irreducible infeasible set of rows and bounds, also for integer models.

    Deletion filter (Chinneck & Dravnieks 1991, doi:10.1287/ijoc.3.2.157) with bisection of the candidates (Junker 2004,
    "QuickXplain"). Each check is a solve without an objective.

    Args:
        milp: An infeasible model.
        limit_s: Seconds for all checks. Parts that are undecided by then remain in the set.
        solver: Name of the back end of the checks.
        options: Limits of one check; by default ``NODES`` and ``CHECK_S``.

    Raises:
        ModellingError: The model has a feasible point, or its infeasibility was not proven.
    """
    if not milp.is_linear:
        milp, _ = linearise_milp(milp)
    arrays, until = Arrays.from_milp(milp).without_objective(), time.perf_counter() + limit_s
    back_end, limits = find_solver(solver), options or SolverOptions()
    check_abilities(arrays, back_end)
    finder = _Finder(milp, arrays, until, back_end, limits)
    relaxed = _Finder(milp, arrays.without_integrality(), until, back_end, limits)
    parts = finder.parts
    # Checks of the relaxation are fast and reduce the number of integer checks.
    if relaxed.is_infeasible(parts):
        parts = relaxed.find_needed((), parts)
    if not finder.is_infeasible(parts):
        raise ModellingError(
            "no conflict: the model was not proven infeasible; solve it first, with more time if its status is unknown"
        )
    needed = set(finder.find_needed((), parts))
    return InfeasibleSubset(tuple(part for part in finder.parts if part in needed), finder.certain)


class _Finder:
    """Runs the checks and records whether all of them were decided."""

    def __init__(self, milp: Milp, arrays: Arrays, until: float, back_end: Solver, limits: SolverOptions) -> None:
        self._arrays = arrays
        self._until = until
        self._back_end = back_end
        self._limits = replace(limits, gap=0.0, nodes=NODES if limits.nodes is None else limits.nodes)
        self.certain = True
        names = [variable.name for variable in milp.variables]
        self._places = {ModelPart(Side.ROW, row.name): index for index, row in enumerate(milp.rows)}
        for side, bounds in ((Side.LOW, self._arrays.low), (Side.HIGH, self._arrays.high)):
            self._places |= {ModelPart(side, names[index]): int(index) for index in np.flatnonzero(np.isfinite(bounds))}

        # Every row and every finite bound.
        self.parts = tuple(self._places)

    def find_needed(self, fixed: Parts, suspects: Parts, grown: bool = False) -> Parts:
        """Return a minimal subset of the suspects that is infeasible together with the fixed parts."""
        if grown and self.is_infeasible(fixed):
            return ()
        if len(suspects) == 1:
            return suspects
        half = len(suspects) // 2
        first, second = suspects[:half], suspects[half:]
        of_second = self.find_needed(fixed + first, second, grown=True)
        return self.find_needed(fixed + of_second, first, grown=bool(of_second)) + of_second

    def is_infeasible(self, parts: Parts) -> bool:
        """Return True if it is proven that no point satisfies these parts."""
        remaining_s, status = self._until - time.perf_counter(), SolverStatus.STOPPED
        if remaining_s > 0:
            allowed_s = min(remaining_s, CHECK_S, self._limits.seconds or CHECK_S)
            status = self._back_end.solve(self._restrict(parts), replace(self._limits, seconds=allowed_s)).status
        self.certain &= status is not SolverStatus.STOPPED
        return status in NO_OPTIMUM

    def _restrict(self, parts: Parts) -> Arrays:
        rows = [self._places[part] for part in parts if part.side is Side.ROW]
        low, high = np.full_like(self._arrays.low, -np.inf), np.full_like(self._arrays.high, np.inf)
        for part in parts:
            index = self._places[part]
            if part.side is Side.LOW:
                low[index] = self._arrays.low[index]
            elif part.side is Side.HIGH:
                high[index] = self._arrays.high[index]
        return replace(
            self._arrays,
            low=low,
            high=high,
            matrix=self._arrays.matrix.select_rows(rows),
            row_low=self._arrays.row_low[rows],
            row_high=self._arrays.row_high[rows],
        )


@dataclass(frozen=True)
class Nearest:
    """Point with the least total violation of rows."""

    # ``feasible`` if the total is not proven to be the least; ``infeasible`` if no change is enough.
    status: SolveStatus
    # Sum of all violations; None without a point.
    total: float | None = None
    # Right-hand sides that the violated rows need.
    needed: Mapping[str, float] = field(default_factory=dict)
    # Values of the point by variable.
    values: Mapping[str, float] = field(default_factory=dict)


def nearest(
    milp: Milp,
    rows: Sequence[str] | None = None,
    limit_s: float | None = 60.0,
    *,
    solver: str = "highs",
    options: SolverOptions | None = None,
) -> Nearest:
    """Find the least total change of right-hand sides that makes a model feasible.

    Each selected row gets a violation with a cost of 1 per unit, "elastic programming" (Brown & Graves 1975). Bounds,
    integrality and the other rows remain hard.

    Args:
        milp: The model; its objective is ignored.
        rows: Names of the rows that may be violated; None means all.
        limit_s: Seconds; None means no limit.
        solver: Name of the back end.
        options: Further limits. Its ``seconds``, if given, replace ``limit_s``.

    Raises:
        ModellingError: A name is not the name of a row.
    """
    if not milp.is_linear:
        milp, _ = linearise_milp(milp)
    if rows is None:
        names = [row.name for row in milp.rows]
    else:
        names = [milp.row(name).name for name in rows]
    row_index = {row.name: index for index, row in enumerate(milp.rows)}
    arrays = Arrays.from_milp(milp)
    back_end, limits = find_solver(solver), options or SolverOptions()
    check_abilities(arrays, back_end)
    elastic = _add_violations(arrays, [row_index[name] for name in names])
    solved = back_end.solve(elastic, replace(limits, seconds=limits.seconds or limit_s))
    if solved.values is None:
        return Nearest(SolveStatus.INFEASIBLE if solved.status in NO_OPTIMUM else SolveStatus.UNKNOWN)
    values = solved.values[: len(milp.variables)]
    values = np.where(arrays.integer, np.round(values), values)
    activities = arrays.activities_at(values)
    needed, total = {}, 0.0
    for name in names:
        row, activity = milp.row(name), float(activities[row_index[name]])
        over = activity - row.rhs
        broken = {Relation.AT_MOST: over, Relation.AT_LEAST: -over, Relation.EQUAL: abs(over)}[row.relation]
        if broken > FEASIBLE * max(1.0, abs(row.rhs)):
            needed[name] = activity
            total += broken
    if solved.status is SolverStatus.OPTIMAL and not limits.gap:
        status = SolveStatus.OPTIMAL
    else:
        status = SolveStatus.FEASIBLE
    by_name = dict(zip((variable.name for variable in milp.variables), values.tolist(), strict=True))
    return Nearest(status, total, needed, by_name)


def _add_violations(arrays: Arrays, rows: Sequence[int]) -> Arrays:
    """Return the model with one column for each direction in which a row may be violated."""
    under = [row for row in rows if np.isfinite(arrays.row_low[row])]
    over = [row for row in rows if np.isfinite(arrays.row_high[row])]
    count = len(under) + len(over)
    signs = np.array([1.0] * len(under) + [-1.0] * len(over))
    gives = Sparse.from_entries(under + over, range(count), signs, (arrays.matrix.shape[0], count))
    return replace(
        arrays,
        sense=Sense.MINIMIZE,
        cost=np.concatenate([np.zeros_like(arrays.cost), np.ones(count)]),
        constant=0.0,
        low=np.concatenate([arrays.low, np.zeros(count)]),
        high=np.concatenate([arrays.high, np.full(count, np.inf)]),
        integer=np.concatenate([arrays.integer, np.zeros(count, dtype=bool)]),
        matrix=arrays.matrix.stack_columns(gives),
    )
