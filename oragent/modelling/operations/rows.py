"""Rows at a point with their duals, and prices of figures, by solving again with one step more and one step less."""

from collections.abc import Sequence

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.data.solution import TIGHT, SolveStatus
from oragent.modelling.data.tolerances import scales_of
from oragent.modelling.operations.changes import FIGURES, figures_of, with_figures
from oragent.modelling.operations.outcomes import ScenarioModel
from oragent.modelling.operations.results import Figure, MemberFigures
from oragent.modelling.operations.slices import Slice
from oragent.modelling.operations.state import ModelScenario, ModelStudy, difference
from oragent.modelling.solving.optimal_face import OptimalFace, Slopes

# Names of bounds of a variable, by field of the model.
NAMES = {"low": "lower({})", "high": "upper({})"}
# Maximum number of members that one operation prices.
MAX_PRICED = 200
# Maximum number of rows in a comparison or an explanation.
SHOWN_ROWS = 20
# Maximum number of rows of one result that are solved again with one unit more and one unit less.
MAX_PRICED_ROWS = 20
# Maximum number of nonzero coefficients times rows whose two slopes are computed at a degenerate optimum.
MAX_SLOPE_WORK = 2_000_000

UNIQUE, NOT_UNIQUE, UNCHECKED = "unique", "not unique", "not checked"
Members = Sequence[tuple[Family, int]]


def price_members(study: ModelStudy, chosen: Slice, step: float) -> tuple[MemberFigures, ...]:
    """Return the members of a slice, each with the change of the optimum for one step more and one step less.

    A variable has its finite bounds, such as ``upper(ship[Lyon])``.

    Raises:
        ModellingError: The step is not above 0, there are too many members, or variables without bounds.
    """
    if not 0 < step < float("inf"):
        raise ModellingError(f"a step of {number(step)}: expected a number above 0")
    if len(chosen) > MAX_PRICED:
        raise ModellingError(
            f"{quoted(chosen.family.name)} has {len(chosen)} members there, each of which is solved twice: name at "
            f"most {MAX_PRICED}"
        )
    scenario = study.present
    study.solve(scenario)
    members = tuple(
        _price_member(study, scenario, chosen, member, step, field)
        for member in chosen.members.tolist()
        for field in _figures(scenario.model, chosen.kind, int(chosen.family.positions[member]))
    )
    if not members:
        raise ModellingError(f"{quoted(chosen.names[0])} has no bounds, so no price: use 'why', or price rows or data")
    return members


def _figures(model: IndexedModel, kind: str, position: int) -> list[str]:
    """Return the fields of the model in which a member has a finite figure."""
    if kind == "variables":
        return [field for field in NAMES if np.isfinite(figures_of(model, field)[position])]
    return [FIGURES[kind]]


def _price_member(
    study: ModelStudy, scenario: ModelScenario, chosen: Slice, member: int, step: float, field: str
) -> MemberFigures:
    model, family = scenario.model, chosen.family
    position = family.positions[[member]]
    present = float(figures_of(model, field)[position[0]])
    up, down = (
        optimum_change(study, scenario, with_figures(model, field, position, present + change))
        for change in (step, -step)
    )
    return MemberFigures(
        name=NAMES.get(field, "{}").format(model.member_name(family, member)),
        labels=model.labels_of(family, member),
        value=Figure.exact(present, family.unit),
        price_up=up,
        price_down=down,
    )


def optimum_change(study: ModelStudy, scenario: ModelScenario, changed: IndexedModel) -> Figure:
    """Return the change of the optimum from a scenario to another model; no value if that model has no point."""
    arrays = changed.to_arrays()
    if (arrays.low > arrays.high).any():
        return Figure(unit=changed.objective.unit)
    changed_scenario = ModelScenario(scenario.changes, changed, ScenarioModel(arrays))
    outcome = study.solve(changed_scenario, scenario.known.outcome.basis)
    study.pool.refresh(scenario.known)
    if outcome.objective is None:
        return Figure(unit=changed.objective.unit)
    return difference(scenario, changed_scenario)


def row_slacks(scenario: ModelScenario, point: Vector) -> tuple[Vector, Vector]:
    """Return the ``(m,)`` left sides at a point, and the distance of each row to its nearer limit."""
    arrays = scenario.known.arrays
    activities = arrays.activities_at(point)
    return activities, np.minimum(arrays.row_high - activities, activities - arrays.row_low)


def binding_rows(scenario: ModelScenario, point: Vector) -> np.ndarray:
    """Return an ``(m,)`` mask of rows without slack at a point, including equations."""
    _, slack = row_slacks(scenario, point)
    size = scales_of(scenario.model.rhs_values)
    return np.asarray(slack <= TIGHT * size)


def optimal_face(scenario: ModelScenario) -> OptimalFace | None:
    """Return the optimal points and duals of a solved linear scenario; None for any other."""
    known, model = scenario.known, scenario.model
    outcome = known.outcome
    if outcome.status is not SolveStatus.OPTIMAL or outcome.point is None:
        return None
    if model.integer.any() or not model.is_linear:
        return None
    if known.last_face is None or known.last_face[0] is not outcome:
        known.last_face = outcome, OptimalFace(known.arrays, outcome.point, outcome.row_duals)
    return known.last_face[1]


def row_members(
    study: ModelStudy, scenario: ModelScenario, members: Members, point: Vector
) -> tuple[MemberFigures, ...]:
    """Return rows with left side, limits and slack, and for a linear model the dual.

    A dual that is not unique is the interval of all duals; the row then also has the changes of the optimum for one
    unit more and one unit less.
    """
    activities, slack = row_slacks(scenario, point)
    face = optimal_face(scenario)
    figures = []
    priced = 0
    for place, (family, member) in enumerate(members):
        figure = _row_member(scenario, family, member, activities, slack)
        row = int(family.positions[member])
        if face is not None and face.duals is not None:
            figure = figure.model_copy(update=_dual_fields(scenario, face, row, place))
        if figure.uniqueness == NOT_UNIQUE and priced < MAX_PRICED_ROWS:
            figure = figure.model_copy(update=_both_prices(study, scenario, row))
            priced += 1
        figures.append(figure)
    return tuple(figures)


def _row_member(
    scenario: ModelScenario, family: Family, member: int, activities: Vector, slack: Vector
) -> MemberFigures:
    model, arrays = scenario.model, scenario.known.arrays
    row = int(family.positions[member])
    low, high = float(arrays.row_low[row]), float(arrays.row_high[row])
    return MemberFigures(
        name=model.member_name(family, member),
        labels=model.labels_of(family, member),
        value=Figure.exact(float(activities[row]), family.unit),
        low=Figure.exact(low, family.unit) if np.isfinite(low) else None,
        high=Figure.exact(high, family.unit) if np.isfinite(high) else None,
        slack=Figure.exact(float(slack[row]), family.unit),
    )


def _dual_fields(scenario: ModelScenario, face: OptimalFace, row: int, place: int) -> dict[str, object]:
    """Return the dual of a row, and whether it is unique."""
    assert face.duals is not None
    value, unit = float(face.duals[row]), scenario.model.objective.unit
    if is_unique_basis(scenario, face):
        return {"dual": Figure.exact(value, unit), "uniqueness": UNIQUE}
    slopes = None
    if (place + 1) * len(face.arrays.matrix.values) <= MAX_SLOPE_WORK:
        slopes = face.row_slopes(row)
    dual, uniqueness = dual_figure(value, slopes, unit)
    return {"dual": dual, "uniqueness": uniqueness}


def is_unique_basis(scenario: ModelScenario, face: OptimalFace) -> bool:
    """Return True if the solver's basis is not degenerate, so that the duals are unique."""
    return scenario.known.outcome.basis is not None and face.is_nondegenerate


def dual_figure(dual: float, slopes: Slopes | None, unit: str) -> tuple[Figure, str]:
    """Return a dual or reduced cost as a figure, and whether it is unique."""
    if slopes is None:
        return Figure(value=dual, unit=unit), UNCHECKED
    if slopes.is_unique:
        return Figure.exact(dual, unit), UNIQUE
    low, high = sorted((slopes.less, slopes.more))
    return Figure.between(min(max(dual, low), high), low, high, unit), NOT_UNIQUE


def _both_prices(study: ModelStudy, scenario: ModelScenario, row: int) -> dict[str, Figure]:
    """Return the changes of the optimum for one unit more and one unit less of a right-hand side."""
    model = scenario.model
    present = float(model.rhs_values[row])
    up, down = (
        optimum_change(study, scenario, with_figures(model, "rhs", np.array([row]), present + step))
        for step in (1.0, -1.0)
    )
    return {"price_up": up, "price_down": down}
