"""Infeasible models: conflicting rows, bounds and parts, and the nearest feasible right-hand sides."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import FEASIBLE, Arrays, Sparse, Vector
from oragent.modelling.data.display import number
from oragent.modelling.data.features import (
    Absolute,
    BinaryProduct,
    Extreme,
    FeaturePart,
    Indicator,
    ModelFeatures,
    OrderedSet,
    PiecewiseLinear,
    QuadraticRow,
    SemiContinuous,
)
from oragent.modelling.data.model_values import Sense
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.solving.array_solving import NO_OPTIMUM, check_abilities, solve_arrays
from oragent.modelling.solving.back_ends.protocol import Ability, Solver, SolverOptions, SolverStatus
from oragent.modelling.solving.back_ends.registry import DEFAULT, find_solver, installed_solvers, solvers_able
from oragent.modelling.solving.highs import infeasibility_ray

# Node limit of one check of an integer model. Without limits, a check may never end.
NODES = 2_000
# Time limit of one check, in seconds.
CHECK_S = 10.0
# Multipliers of a certificate below this share of the largest are noise.
NOISE = 1e-9
# Maximum number of coefficients of a certificate whose rank is computed.
MAX_RANK_SIZE = 4_000_000
# Maximum number of parts of a certificate that are checked one by one.
MAX_CHECKED = 200
# Parts that are no rows, by the class of their features.
TITLES: Mapping[type, str] = {
    QuadraticRow: "quadratic row",
    Indicator: "indicator",
    OrderedSet: "SOS set",
    PiecewiseLinear: "curve",
    Absolute: "absolute value",
    BinaryProduct: "product",
}


class Side(StrEnum):
    """Kind of a part of a conflict."""

    ROW = "row"
    LOW = "least value"
    HIGH = "largest value"
    # A feature such as an ordered set, or "0 or from 5 to 10".
    FEATURE = "part"


@dataclass(frozen=True)
class ArrayPart:
    """A row, a bound of a column, or a feature, by position."""

    side: Side
    # Position among the rows, the columns, or ``list_features``.
    place: int


ArrayParts = tuple[ArrayPart, ...]


@dataclass(frozen=True)
class ArrayConflict:
    """Parts of arrays that no point satisfies together, given that integer variables are integer."""

    # Rows, then bounds, then features, in the order of the model.
    parts: ArrayParts
    # True if removing any part makes the rest feasible. False if a check reached its limit.
    irreducible: bool

    def places(self, side: Side) -> list[int]:
        """Return the positions of the parts of one kind."""
        return [part.place for part in self.parts if part.side is side]


Feature = FeaturePart[int] | SemiContinuous[int]


def list_features(arrays: Arrays) -> list[Feature]:
    """Return the features that a point can violate."""
    return [*arrays.features.parts, *arrays.features.semi_continuous]


def feature_text(arrays: Arrays, part: Feature, name_of: Callable[[int], str]) -> str:
    """Return what a feature demands, such as ``SOS set s0`` or ``x is 0 or at least 5``."""
    if isinstance(part, SemiContinuous):
        low, high = float(arrays.low[part.variable]), float(arrays.high[part.variable])
        reach = f"at least {number(low)}" if low > 0 else f"at most {number(high)}"
        return f"{name_of(part.variable)} is 0 or {reach}"
    if isinstance(part, Extreme):
        return f"{'maximum' if part.largest else 'minimum'} {part.name}"
    return f"{TITLES[type(part)]} {part.name}"


def part_names(
    arrays: Arrays, parts: Sequence[ArrayPart], rows: Sequence[str], columns: Sequence[str]
) -> tuple[str, ...]:
    """Return the name of the row or variable of each part; for a feature, what it demands."""
    names = {
        Side.ROW: rows,
        Side.LOW: columns,
        Side.HIGH: columns,
        Side.FEATURE: [feature_text(arrays, part, columns.__getitem__) for part in list_features(arrays)],
    }
    return tuple(names[part.side][part.place] for part in parts)


def find_conflict(
    arrays: Arrays, limit_s: float = 60.0, *, solver: str = "highs", options: SolverOptions | None = None
) -> ArrayConflict:
    """Find an irreducible infeasible set of rows, bounds and features, also for integer models.

    The certificate of an infeasible linear relaxation is such a set for a linear model (Gleeson & Ryan 1990,
    doi:10.1287/ijoc.2.1.61). Other sets are reduced by a deletion filter (Chinneck & Dravnieks 1991,
    doi:10.1287/ijoc.3.2.157) with bisection of the candidates (Junker 2004, "QuickXplain"). Each check is a solve
    without an objective.

    Args:
        arrays: An infeasible model.
        limit_s: Seconds for all checks. Parts that are undecided by then remain in the set.
        solver: Name of the back end of the checks.
        options: Limits of one check; by default ``NODES`` and ``CHECK_S``.

    Raises:
        ModellingError: The model has a feasible point, or its infeasibility was not proven.
    """
    hard, until = without_goals(arrays), time.perf_counter() + limit_s
    back_end, limits = find_solver(solver), options or SolverOptions()
    check_abilities(hard, back_end)
    finder = _Finder(hard, until, back_end, limits)
    linear = linear_conflict(hard, limit_s)
    if linear is not None and linear.irreducible and not hard.integer.any() and not hard.features:
        return linear
    if linear is not None and len(linear.parts) > MAX_CHECKED:
        return ArrayConflict(linear.parts, False)
    parts = finder.parts if linear is None else linear.parts
    if linear is None and not finder.is_infeasible(parts):
        raise ModellingError(
            "no conflict: the model was not proven infeasible; solve it first, with more time if its status is unknown"
        )
    needed = set(finder.find_needed((), parts))
    if not finder.is_certain and not finder.is_infeasible(tuple(part for part in parts if part in needed)):
        needed = set(parts)
    return ArrayConflict(tuple(part for part in finder.parts if part in needed), finder.is_certain)


def linear_conflict(arrays: Arrays, limit_s: float = 60.0) -> ArrayConflict | None:
    """Return a conflict of the linear relaxation from one certificate, or None if there is none.

    The set is irreducible for a linear model if its multipliers are the only ones, up to a factor.
    """
    relaxed = linear_relaxation(arrays)
    certificate = find_certificate(relaxed, limit_s)
    if certificate is None:
        return None
    rows, columns, _ = certificate
    chosen = np.flatnonzero(rows)
    parts = (
        *(ArrayPart(Side.ROW, row) for row in chosen.tolist()),
        *(ArrayPart(Side.LOW, column) for column in np.flatnonzero(columns < 0).tolist()),
        *(ArrayPart(Side.HIGH, column) for column in np.flatnonzero(columns > 0).tolist()),
    )
    return ArrayConflict(parts, _is_only_certificate(relaxed, chosen, columns == 0))


def find_certificate(arrays: Arrays, limit_s: float = 60.0) -> tuple[Vector, Vector, float] | None:
    """Return multipliers of the rows of a linear programme whose sum no point satisfies (Farkas 1902); None if none.

    The others are the ``(n,)`` coefficients of the sum, and by how much its demand exceeds what the bounds allow.
    """
    duals = infeasibility_ray(arrays, limit_s)
    if duals is None:
        return None
    duals = np.where(np.abs(duals) > NOISE * np.abs(duals).max(), duals, 0.0)
    totals, sizes = duals @ arrays.matrix, np.abs(duals) @ abs(arrays.matrix)
    totals = np.where(np.abs(totals) > NOISE * np.maximum(sizes, 1.0), totals, 0.0)
    for rows, columns in ((duals, totals), (-duals, -totals)):
        shortage = _shortage(arrays, rows, columns)
        if shortage is not None:
            return rows, columns, shortage
    return None


def _shortage(arrays: Arrays, rows: np.ndarray, columns: np.ndarray) -> float | None:
    """Return the sum of the rows, each times a multiplier, minus the most that the bounds allow; None if at most 0."""
    demands = np.where(rows > 0, arrays.row_low, arrays.row_high)
    most = np.where(columns > 0, arrays.high, arrays.low)
    in_rows, in_columns = rows != 0, columns != 0
    summands = np.concatenate([rows[in_rows] * demands[in_rows], -columns[in_columns] * most[in_columns]])
    if not np.isfinite(summands).all():
        return None
    total = float(summands.sum())
    return total if total > NOISE * float(np.abs(summands).sum()) else None


def _is_only_certificate(arrays: Arrays, rows: np.ndarray, unbounded: np.ndarray) -> bool:
    """Return True if only multiples of one vector combine the rows to 0 in all columns whose bounds are not used."""
    matrix = arrays.matrix.select_rows(rows.tolist())
    used = unbounded[matrix.columns] & (matrix.values != 0)
    columns, places = np.unique(matrix.columns[used], return_inverse=True)
    if len(rows) == 1:
        return not len(columns)
    if len(rows) * len(columns) > MAX_RANK_SIZE:
        return False
    dense = np.zeros((len(rows), len(columns)))
    dense[matrix.row_indices[used], places] = matrix.values[used]
    return int(np.linalg.matrix_rank(dense)) == len(rows) - 1


def without_goals(arrays: Arrays) -> Arrays:
    """Return the model without objectives. Soft sides of rows are not limits."""
    row_low, row_high = arrays.hard_limits()
    features = replace(arrays.features, quadratic=(), goals=(), soft_rows=())
    return replace(arrays.without_objective(), row_low=row_low, row_high=row_high, features=features)


def _semi_continuous_bounds(arrays: Arrays) -> Mapping[ArrayPart, int]:
    """Return the bounds that "0 or between bounds" replaces, with the position of that part in ``list_features``."""
    bounds = {}
    for place, part in enumerate(list_features(arrays)):
        if isinstance(part, SemiContinuous):
            if arrays.low[part.variable] > 0:
                bounds[ArrayPart(Side.LOW, part.variable)] = place
            elif arrays.high[part.variable] < 0:
                bounds[ArrayPart(Side.HIGH, part.variable)] = place
    return bounds


def linear_relaxation(arrays: Arrays) -> Arrays:
    """Return the linear programme of rows and bounds without objective, features and integrality."""
    bounds = _semi_continuous_bounds(arrays)
    low, high = arrays.low.copy(), arrays.high.copy()
    low[[part.place for part in bounds if part.side is Side.LOW]] = -np.inf
    high[[part.place for part in bounds if part.side is Side.HIGH]] = np.inf
    relaxed = arrays.without_integrality().without_objective()
    return replace(relaxed, low=low, high=high, features=ModelFeatures())


class _Finder:
    """Runs the checks and records whether all of them were decided."""

    def __init__(self, arrays: Arrays, until: float, back_end: Solver, limits: SolverOptions) -> None:
        self._arrays = arrays
        self._until = until
        self._back_end = back_end
        self._limits = replace(limits, gap=0.0, nodes=NODES if limits.nodes is None else limits.nodes)
        self.is_certain = True
        self._features = list_features(arrays)
        self._semi = _semi_continuous_bounds(arrays)
        vacuous = {place for place, part in enumerate(self._features) if isinstance(part, SemiContinuous)} - set(
            self._semi.values()
        )
        # The bounds of variables that decide a feature are a part of it.
        binary = {part.binary for part in arrays.features.indicators}
        binary |= {column for part in arrays.features.products for column in part.inputs}
        self._binary = list(binary)
        loose = np.ones(len(arrays.cost), dtype=bool)
        loose[self._binary] = False
        bounds = [ArrayPart(Side.LOW, place) for place in np.flatnonzero(np.isfinite(arrays.low) & loose).tolist()]
        bounds += [ArrayPart(Side.HIGH, place) for place in np.flatnonzero(np.isfinite(arrays.high) & loose).tolist()]
        # Every row, every finite bound and every feature.
        self.parts = (
            *(ArrayPart(Side.ROW, place) for place in range(len(arrays.row_low))),
            *(part for part in bounds if part not in self._semi),
            *(ArrayPart(Side.FEATURE, place) for place in range(len(self._features)) if place not in vacuous),
        )

    def find_needed(self, fixed: ArrayParts, suspects: ArrayParts, grown: bool = False) -> ArrayParts:
        """Return a minimal subset of the suspects that is infeasible together with the fixed parts."""
        if grown and self.is_infeasible(fixed):
            return ()
        if len(suspects) == 1:
            return suspects
        half = len(suspects) // 2
        first, second = suspects[:half], suspects[half:]
        of_second = self.find_needed(fixed + first, second, grown=True)
        return self.find_needed(fixed + of_second, first, grown=bool(of_second)) + of_second

    def is_infeasible(self, parts: ArrayParts) -> bool:
        """Return True if it is proven that no point satisfies these parts."""
        remaining_s = self._until - time.perf_counter()
        status = SolveStatus.UNKNOWN
        if remaining_s > 0:
            allowed_s = min(remaining_s, CHECK_S, self._limits.seconds or CHECK_S)
            status = self._check(self._restrict(parts), replace(self._limits, seconds=allowed_s))
        self.is_certain &= status is not SolveStatus.UNKNOWN
        return status is SolveStatus.INFEASIBLE

    def _check(self, arrays: Arrays, limits: SolverOptions) -> SolveStatus:
        if arrays.features:
            return self._check_features(arrays, limits)
        status = self._back_end.solve(arrays, limits).status
        if status is SolverStatus.STOPPED:
            return SolveStatus.UNKNOWN
        return SolveStatus.INFEASIBLE if status in NO_OPTIMUM else SolveStatus.OPTIMAL

    def _check_features(self, arrays: Arrays, limits: SolverOptions) -> SolveStatus:
        """Solve by the back end, or by another installed one: parts without bounds are too much for some."""
        solvers = [self._back_end]
        if self._back_end.name == DEFAULT:
            able = solvers_able(frozenset({Ability.INDICATORS, Ability.INTEGER}))
            solvers += [find_solver(name) for name in installed_solvers() if name in able]
        for solver in solvers:
            try:
                status = solve_arrays(arrays, limits, solver).status
            except ModellingError:
                continue
            if status is not SolveStatus.UNKNOWN:
                return status
        return SolveStatus.UNKNOWN

    def _restrict(self, parts: ArrayParts) -> Arrays:
        arrays = self._arrays
        rows = [part.place for part in parts if part.side is Side.ROW]
        features = {part.place for part in parts if part.side is Side.FEATURE}
        low, high = np.full_like(arrays.low, -np.inf), np.full_like(arrays.high, np.inf)
        low[self._binary], high[self._binary] = arrays.low[self._binary], arrays.high[self._binary]
        stays = [*parts, *(bound for bound, place in self._semi.items() if place in features)]
        for part in stays:
            if part.side is Side.LOW:
                low[part.place] = arrays.low[part.place]
            elif part.side is Side.HIGH:
                high[part.place] = arrays.high[part.place]
        return replace(
            arrays,
            low=low,
            high=high,
            matrix=arrays.matrix.select_rows(rows),
            row_low=arrays.row_low[rows],
            row_high=arrays.row_high[rows],
            features=_select_features(arrays.features, [self._features[place] for place in features]),
        )


def _select_features(features: ModelFeatures[int], chosen: Sequence[Feature]) -> ModelFeatures[int]:
    """Return those of the features that are chosen."""
    ids = set(map(id, chosen))
    members = {
        kind.name: tuple(part for part in getattr(features, kind.name) if id(part) in ids) for kind in fields(features)
    }
    return ModelFeatures(**members)


@dataclass(frozen=True)
class ArrayNearest:
    """Point with the least total violation of rows."""

    # ``feasible`` if the total is not proven to be the least; ``infeasible`` if no change is enough.
    status: SolveStatus
    # Sum of all violations; None without a point.
    total: float | None = None
    # Right-hand sides that the violated rows need, by position.
    needed: Mapping[int, float] = field(default_factory=dict)


def find_nearest(
    arrays: Arrays,
    rows: Sequence[int] | None = None,
    limit_s: float | None = 60.0,
    *,
    solver: str = "highs",
    options: SolverOptions | None = None,
) -> ArrayNearest:
    """Find the least total change of right-hand sides that makes a model feasible.

    Each selected row gets a violation with a cost of 1 per unit, "elastic programming" (Brown & Graves 1975). Bounds,
    integrality, features and the other rows remain hard.

    Args:
        arrays: The model; its objective is ignored.
        rows: Positions of the rows that may be violated; None means all.
        limit_s: Seconds; None means no limit.
        solver: Name of the back end.
        options: Further limits. Its ``seconds``, if given, replace ``limit_s``.
    """
    hard, limits = without_goals(arrays), options or SolverOptions()
    chosen = range(len(arrays.row_low)) if rows is None else rows
    elastic = _add_violations(hard, chosen)
    solution = solve_arrays(elastic, replace(limits, seconds=limits.seconds or limit_s), solver)
    if solution.values is None:
        return ArrayNearest(solution.status)
    values = solution.values[: len(arrays.cost)]
    activities = arrays.activities_at(values)
    needed, total = {}, 0.0
    for row in chosen:
        broken = max(hard.row_low[row] - activities[row], activities[row] - hard.row_high[row])
        limit = hard.row_low[row] if np.isfinite(hard.row_low[row]) else hard.row_high[row]
        if broken > FEASIBLE * max(1.0, abs(limit)):
            needed[row] = float(activities[row])
            total += float(broken)
    return ArrayNearest(solution.status, total, needed)


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
        low=np.concatenate([arrays.low, np.zeros(count)]),
        high=np.concatenate([arrays.high, np.full(count, np.inf)]),
        integer=np.concatenate([arrays.integer, np.zeros(count, dtype=bool)]),
        matrix=arrays.matrix.stack_columns(gives),
    )
