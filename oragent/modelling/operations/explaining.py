"""Operations that explain a solution: ranges, values of variables, prices of rows."""

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.names import to_milp
from oragent.modelling.data.solution import Sensitivity, Source, ValueRange
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.pricing import price_members
from oragent.modelling.operations.rendering import number_text
from oragent.modelling.operations.results import Figure, MemberFigures, RangeEntry, RangeResult, WhyResult
from oragent.modelling.operations.slices import Slice, find_one, find_slice
from oragent.modelling.operations.state import (
    SHOWN_ROWS,
    ModelScenario,
    ModelStudy,
    binding_rows,
    difference,
    row_member,
    row_slacks,
    solved,
)
from oragent.modelling.operations.syntax import parse_line
from oragent.modelling.solving.flat_solving import compute_sensitivity
from oragent.modelling.solving.highs import run_highs

# Maximum number of members in one result.
MOST = 1000


def ranges(study: ModelStudy, request: ops.RangeRequest) -> RangeResult:
    """Return the right-hand sides, coefficients or bounds for which the present prices or values stay."""
    scenario = study.present
    chosen = find_slice(scenario.model, request.reference)
    sensitivity = _sensitivity(study, scenario)
    names = chosen.names[:MOST]
    model = scenario.model
    entries: list[RangeEntry] = []
    if chosen.kind == "parameters":
        names = [_row_of_cell(model, position) for position in chosen.positions[:MOST].tolist()]
    for label, name, position in zip(chosen.names, names, chosen.positions.tolist(), strict=False):
        if chosen.kind == "variables":
            cost = float(model.objective.cost.evaluate(model.cells)[position])
            entries.append(_entry(label, "coefficient", cost, sensitivity.cost_ranges[name], model.objective.unit))
            continue
        row = model.row_names.index(name) if chosen.kind == "parameters" else position
        entry = _entry(label, "right-hand side", float(model.rhs_values[row]), sensitivity.rhs_ranges[name], "")
        price = Figure.exact(sensitivity.duals[name], model.objective.unit)
        entries.append(entry.model_copy(update={"price": price}))
    return solved(study, scenario, RangeResult(with_integers_fixed=bool(model.integer.any()), entries=tuple(entries)))


def _entry(name: str, of: str, value: float, interval: ValueRange, unit: str) -> RangeEntry:
    low, high = (end if np.isfinite(end) else None for end in (interval.low, interval.high))
    return RangeEntry(name=name, of=of, value=Figure.exact(value, unit), low=low, high=high)


def _row_of_cell(model: IndexedModel, cell: int) -> str:
    """Return the row whose right-hand side is a cell that is used nowhere else."""
    links = model.rhs.links
    rows = links.places[(links.cells == cell) & (links.factors == 1.0)]
    others = [model.low, model.high, model.entries, *(goal.cost for goal in model.objectives)]
    uses = int((links.cells == cell).sum()) + sum(int((vector.links.cells == cell).sum()) for vector in others)
    if len(rows) != 1 or uses != 1:
        raise ModellingError("this figure is used in several places: use 'price', which solves again, or name rows")
    return model.row_names[int(rows[0])]


def _sensitivity(study: ModelStudy, scenario: ModelScenario) -> Sensitivity:
    """Return ranges of the linear model, or of the model with integers fixed at the best point of the chosen solver.

    HiGHS computes them.
    """
    point = study.point(scenario)
    if not scenario.model.is_linear:
        raise ModellingError("no ranges: the model is not linear; use 'price', which solves again")
    milp = to_milp(scenario.model.with_first_stage(), flat=False)
    arrays, source = scenario.known.arrays, Source.LP
    if arrays.integer.any():
        arrays, source = arrays.with_integers_at(point), Source.FIXED
    sensitivity = compute_sensitivity(milp, arrays, run_highs(arrays, study.limits.seconds), source)
    if sensitivity is None:
        raise ModellingError("no ranges: the linear model has no optimal basis within the limit; allow a longer solve")
    return sensitivity


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
    if chosen.kind == "rows":
        activities, _ = row_slacks(scenario, point)
        position = int(chosen.members[0])
        member = row_member(scenario, chosen.family, position, point, activities)
        binds = bool(binding_rows(scenario, point)[chosen.positions[0]]) or member.slack == Figure.exact(0.0)
        member = member.model_copy(update={"price_up": priced.price_up, "price_down": priced.price_down})
        at = "binding" if binds else "slack"
    else:
        member, at = priced, "data"
    low = high = None
    if chosen.kind == "rows" and not scenario.model.integer.any() and scenario.model.is_linear:
        interval = _sensitivity(study, scenario).rhs_ranges[chosen.names[0]]
        low, high = (end if np.isfinite(end) else None for end in (interval.low, interval.high))
    return solved(study, scenario, WhyResult(member=member, at=at, holds_from=low, holds_to=high))


def _why_variable(study: ModelStudy, scenario: ModelScenario, chosen: Slice, point: Vector) -> WhyResult:
    model, arrays = scenario.model, scenario.known.arrays
    column, position = int(chosen.positions[0]), int(chosen.members[0])
    value, low, high = float(point[column]), float(arrays.low[column]), float(arrays.high[column])
    unit, near = chosen.family.unit, 1e-7 * max(1.0, abs(value))
    cost = float(arrays.cost[column])
    name = model.member_name(chosen.family, position)
    at, forced = "between", ""
    if value - low <= near:
        at, forced = "lower bound", f"{name} >= {number_text(min(low + 1, high))}"
    elif high - value <= near:
        at, forced = "upper bound", f"{name} <= {number_text(max(high - 1, low))}"
    elif value >= 1:
        forced = f"{name} <= {number_text(max(value - 1, low))}"
    member = MemberFigures(
        name=name,
        labels=model.labels_of(chosen.family, position),
        value=Figure.exact(value, unit),
        coefficient=Figure.exact(cost, model.objective.unit),
        contribution=Figure.exact(cost * value, model.objective.unit),
        low=Figure.exact(low, unit),
        high=Figure.exact(high, unit),
    )
    effect, warnings = None, list(study.warn(scenario))
    if low == high:
        forced = ""
        warnings.append("its bounds are equal, so it is fixed: free it first")
    if forced:
        effect, warning = _forced(study, scenario, forced)
        warnings += warning
    reduced, holds = None, (None, None)
    if not model.integer.any() and model.is_linear:
        sensitivity = _sensitivity(study, scenario)
        reduced = Figure.exact(sensitivity.reduced_costs[name], model.objective.unit)
        interval = sensitivity.bound_ranges.get(name)
        if interval is not None:
            ends = (interval.low, interval.high)
            holds = tuple(end if np.isfinite(end) else None for end in ends)  # type: ignore[assignment]
    return solved(
        study,
        scenario,
        WhyResult(
            member=member,
            at=at,
            forced=forced,
            difference=effect,
            reduced_cost=reduced,
            holds_from=holds[0],
            holds_to=holds[1],
            rows=_holding_rows(scenario, column, point),
            warnings=tuple(warnings),
        ),
    )


def _forced(study: ModelStudy, scenario: ModelScenario, line: str) -> tuple[Figure | None, list[str]]:
    """Return the effect of a change on the optimum; a warning if it makes the model infeasible."""
    change = parse_line(line)
    after = study.scenario((*study.changes, change))  # type: ignore[arg-type]  # the line is a change
    outcome = study.solve(after)
    study.pool.refresh(scenario.known)
    if outcome.objective is None:
        return None, [f"with {quoted(line)} the model is {outcome.status}"]
    return difference(scenario, after), []


def _holding_rows(scenario: ModelScenario, column: int, point: Vector) -> tuple[MemberFigures, ...]:
    """Return binding rows with a coefficient of a column, including equations."""
    model, arrays = scenario.model, scenario.known.arrays
    rows = np.unique(arrays.matrix.row_indices[arrays.matrix.columns == column])
    activities, _ = row_slacks(scenario, point)
    binds = binding_rows(scenario, point) | (arrays.row_low == arrays.row_high)
    binding = set(rows[binds[rows]].tolist())
    members: list[MemberFigures] = []
    for family in model.rows:
        places = np.flatnonzero(np.isin(family.positions, list(binding))).tolist()
        members += [row_member(scenario, family, position, point, activities) for position in places]
    return tuple(members[:SHOWN_ROWS])
