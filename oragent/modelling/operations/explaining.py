"""Operations that explain a solution: ranges, values of variables, prices of rows."""

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.tolerances import scale_of, without_noise
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.reading import value_member
from oragent.modelling.operations.rendering import number_text
from oragent.modelling.operations.results import (
    Figure,
    MemberFigures,
    RangeEntry,
    RangeResult,
    WhyResult,
    finite_or_none,
)
from oragent.modelling.operations.rows import (
    NOT_UNIQUE,
    SHOWN_ROWS,
    UNIQUE,
    binding_rows,
    dual_figure,
    optimal_face,
    price_members,
    row_members,
)
from oragent.modelling.operations.slices import Slice, find_one, find_slice, kind_prefix
from oragent.modelling.operations.state import ModelScenario, ModelStudy, difference, solved
from oragent.modelling.operations.syntax import parse_line
from oragent.modelling.solving.array_solving import clean_duals
from oragent.modelling.solving.back_ends import SolverOptions, SolverStatus
from oragent.modelling.solving.highs import run_highs
from oragent.modelling.solving.optimal_face import OptimalFace, is_same

# Maximum number of members in one result.
MAX_MEMBERS = 1000


def ranges(study: ModelStudy, request: ops.RangeRequest) -> RangeResult:
    """Return the right-hand sides, coefficients or bounds for which the present prices or values stay.

    A row at which the price differs below and above its right-hand side has one entry for each side.
    """
    scenario = study.present
    model = scenario.model
    chosen = find_slice(model, request.reference)
    face = _require_face(study, scenario)
    entries: list[RangeEntry] = []
    for label, position in zip(chosen.names[:MAX_MEMBERS], chosen.positions.tolist(), strict=False):
        if chosen.kind == "variables":
            entries.append(_cost_entry(scenario, face, label, position))
        else:
            row = position if chosen.kind == "rows" else _row_of_cell(model, position)
            entries += _rhs_entries(scenario, face, label, row)
    return solved(study, scenario, RangeResult(with_integers_fixed=bool(model.integer.any()), entries=tuple(entries)))


def _cost_entry(scenario: ModelScenario, face: OptimalFace, name: str, column: int) -> RangeEntry:
    value = Figure.exact(float(face.arrays.cost[column]), scenario.model.objective.unit)
    ends = face.value_ends(column)
    interval = None if ends is None else face.cost_interval(column)
    uniqueness = UNIQUE if ends is not None and is_same(*ends) else NOT_UNIQUE
    return _entry(name, "coefficient", value, interval, uniqueness=uniqueness)


def _entry(
    name: str,
    of: str,
    value: Figure,
    interval: tuple[float, float] | None,
    *,
    price: Figure | None = None,
    uniqueness: str = "",
) -> RangeEntry:
    if interval is None:
        raise ModellingError(
            f"no range of {quoted(name)}: the solver did not settle it; use 'price', which solves again"
        )
    low, high = (finite_or_none(without_noise(end)) for end in interval)
    return RangeEntry(name=name, of=of, value=value, low=low, high=high, price=price, uniqueness=uniqueness)


def _rhs_entries(scenario: ModelScenario, face: OptimalFace, name: str, row: int) -> list[RangeEntry]:
    """Return the interval in which the price of a row stays, or one interval below and one above the present figure."""
    rhs, slopes = float(scenario.model.rhs_values[row]), face.row_slopes(row)
    if slopes is None:
        return [_entry(name, "right-hand side", Figure(), None)]
    sides = [(slopes.less, slopes.duals_less), (slopes.more, slopes.duals_more)]
    entries = []
    for place, (slope, duals) in enumerate(sides[:1] if slopes.is_unique else sides):
        # Beyond this figure the model is infeasible.
        interval = (rhs, rhs) if duals is None else face.rhs_interval(row, duals)
        if interval is not None and not slopes.is_unique:
            interval = (interval[0], rhs) if place == 0 else (rhs, interval[1])
        price = None if duals is None else Figure.exact(slope, scenario.model.objective.unit)
        uniqueness = UNIQUE if slopes.is_unique else NOT_UNIQUE
        entries.append(_entry(name, "right-hand side", Figure.exact(rhs), interval, price=price, uniqueness=uniqueness))
    return entries


def binding_ranges(study: ModelStudy) -> list[RangeEntry]:
    """Return the right-hand sides for which the prices of the first binding rows hold; see ``ranges``."""
    scenario = study.present
    face, binds = _require_face(study, scenario), binding_rows(scenario, study.point(scenario))
    rows = np.flatnonzero(binds)[:SHOWN_ROWS].tolist()
    return [entry for row in rows for entry in _rhs_entries(scenario, face, scenario.model.row_names[row], row)]


def bound_ranges(study: ModelStudy) -> list[RangeEntry]:
    """Return the bounds for which the reduced costs of variables at a bound hold, the largest reduced costs first."""
    scenario = study.present
    face, unit = _require_face(study, scenario), scenario.model.objective.unit
    assert face.duals is not None
    _, reduced = clean_duals(face.arrays, face.duals)
    low, high = face.arrays.low, face.arrays.high
    columns = np.flatnonzero((reduced != 0) & (low < high))
    entries = []
    for column in columns[np.argsort(-np.abs(reduced[columns]), kind="stable")][:SHOWN_ROWS].tolist():
        figure, uniqueness = dual_figure(float(reduced[column]), face.bound_slopes(column), unit)
        interval, name = face.bound_interval(column, face.duals), scenario.model.column_names[column]
        value = Figure.exact(float(face.point[column]))
        entries.append(_entry(name, "bound", value, interval, price=figure, uniqueness=uniqueness))
    return entries


def _row_of_cell(model: IndexedModel, cell: int) -> int:
    """Return the row whose right-hand side is a cell that is used nowhere else."""
    links = model.rhs.links
    rows = links.places[(links.cells == cell) & (links.factors == 1.0)]
    vectors = [model.rhs, model.low, model.high, model.entries, *(goal.cost for goal in model.objectives)]
    uses = sum(int((vector.links.cells == cell).sum()) for vector in vectors)
    if len(rows) != 1 or uses != 1:
        raise ModellingError("this figure is used in several places: use 'price', which solves again, or name rows")
    return int(rows[0])


def _require_face(study: ModelStudy, scenario: ModelScenario) -> OptimalFace:
    """Return the optima of the linear model, or of the model with integers fixed at the best point.

    Raises:
        ModellingError: The model is not linear, or its point is not proven optimal.
    """
    point = study.point(scenario)
    if not scenario.model.is_linear:
        raise ModellingError("no ranges: the model is not linear; use 'price', which solves again")
    face = optimal_face(scenario)
    if face is None and scenario.model.integer.any():
        fixed = scenario.known.arrays.with_integers_at(point)
        again = run_highs(fixed, SolverOptions(study.limits.seconds))
        if again.status is SolverStatus.OPTIMAL:
            assert again.values is not None
            face = OptimalFace(fixed, again.values, again.row_duals)
    if face is None or face.duals is None:
        raise ModellingError("no ranges: the linear model has no proven optimum within the limit; allow a longer solve")
    return face


def why(study: ModelStudy, request: ops.WhyRequest) -> WhyResult:
    """Explain the value of a variable, or the price of a row."""
    scenario = study.present
    point = study.point(scenario)
    chosen = find_one(scenario.model, request.reference, ["variables", "rows", "parameters"])
    if chosen.kind == "variables":
        return _why_variable(study, scenario, chosen, point)
    return _why_row(study, scenario, chosen, point)


def _why_row(study: ModelStudy, scenario: ModelScenario, chosen: Slice, point: Vector) -> WhyResult:
    priced = price_members(study, chosen, 1.0)[0]
    if chosen.kind != "rows":
        return solved(study, scenario, WhyResult(member=priced, at="data"))
    row, pair = int(chosen.positions[0]), (chosen.family, int(chosen.members[0]))
    (member,) = row_members(study, scenario, [pair], point)
    member = member.model_copy(update={"price_up": priced.price_up, "price_down": priced.price_down})
    at = "binding" if binding_rows(scenario, point)[row] else "slack"
    low = high = None
    if member.uniqueness == UNIQUE:
        (entry,) = _rhs_entries(scenario, _require_face(study, scenario), chosen.names[0], row)
        low, high = entry.low, entry.high
    return solved(study, scenario, WhyResult(member=member, at=at, holds_from=low, holds_to=high))


def _why_variable(study: ModelStudy, scenario: ModelScenario, chosen: Slice, point: Vector) -> WhyResult:
    model, arrays = scenario.model, scenario.known.arrays
    column, position = int(chosen.positions[0]), int(chosen.members[0])
    value, low, high = float(point[column]), float(arrays.low[column]), float(arrays.high[column])
    unit, near = chosen.family.unit, 1e-7 * scale_of(value)
    name = f"{kind_prefix(model, chosen.family)}{model.member_name(chosen.family, position)}"
    at, forced = "between", ""
    if value - low <= near:
        at, forced = "lower bound", f"{name} >= {number_text(min(low + 1, high))}"
    elif high - value <= near:
        at, forced = "upper bound", f"{name} <= {number_text(max(high - 1, low))}"
    elif value >= 1:
        forced = f"{name} <= {number_text(max(value - 1, low))}"
    bounds = {"low": Figure.exact(low, unit), "high": Figure.exact(high, unit)}
    member = value_member(scenario, chosen.family, position, point).model_copy(update=bounds)
    effect, warnings = None, list(study.warn(scenario))
    if low == high:
        forced = ""
        warnings.append("its bounds are equal, so it is fixed: free it first")
    if forced:
        effect, warning = _forced(study, scenario, forced)
        warnings += warning
    result = WhyResult(
        member=member,
        at=at,
        forced=forced,
        difference=effect,
        rows=_holding_rows(study, scenario, column, point),
        warnings=tuple(warnings),
    )
    return solved(study, scenario, result.model_copy(update=_reduced_cost(scenario, column, at)))


def _reduced_cost(scenario: ModelScenario, column: int, at: str) -> dict[str, object]:
    """Return the reduced cost of a variable of a linear model, and the bounds for which it holds if it is unique."""
    face = optimal_face(scenario)
    if face is None or face.duals is None:
        return {}
    unit = scenario.model.objective.unit
    value = float((face.arrays.cost - face.duals @ face.arrays.matrix)[column])
    if at == "between":
        return {"reduced_cost": Figure.exact(0.0, unit), "uniqueness": UNIQUE}
    figure, uniqueness = dual_figure(value, face.bound_slopes(column), unit)
    fields: dict[str, object] = {"reduced_cost": figure, "uniqueness": uniqueness}
    interval = face.bound_interval(column, face.duals) if uniqueness == UNIQUE else None
    if interval is not None:
        fields |= {"holds_from": finite_or_none(interval[0]), "holds_to": finite_or_none(interval[1])}
    return fields


def _forced(study: ModelStudy, scenario: ModelScenario, line: str) -> tuple[Figure | None, list[str]]:
    """Return the effect of a change on the optimum; a warning if it makes the model infeasible."""
    change = parse_line(line)
    after = study.scenario((*study.changes, change))  # type: ignore[arg-type]  # the line is a change
    outcome = study.solve(after)
    study.pool.refresh(scenario.known)
    if outcome.objective is None:
        return None, [f"with {quoted(line)} the model is {outcome.status}"]
    return difference(scenario, after), []


def _holding_rows(study: ModelStudy, scenario: ModelScenario, column: int, point: Vector) -> tuple[MemberFigures, ...]:
    """Return binding rows with a coefficient of a column, including equations."""
    arrays = scenario.known.arrays
    entries = (arrays.matrix.columns == column) & (arrays.matrix.values != 0)
    rows = np.unique(arrays.matrix.row_indices[entries])
    binding = rows[binding_rows(scenario, point)[rows]]
    pairs = [
        (family, place)
        for family in scenario.model.rows
        for place in np.flatnonzero(np.isin(family.positions, binding)).tolist()
    ]
    return row_members(study, scenario, pairs[:SHOWN_ROWS], point)
