"""Operations on infeasible models: conflicts by family, the sum of a conflict, and the least repair."""

from dataclasses import replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays, Sparse
from oragent.modelling.data.display import quoted
from oragent.modelling.data.flat_model import Sense
from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.data.names import to_milp
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.flat_conflicts import InfeasibleSubset, ModelPart, Side, nearest
from oragent.modelling.operations.flat_conflicts import conflict as find_conflict
from oragent.modelling.operations.outcomes import SolveLimits
from oragent.modelling.operations.rendering import number_text
from oragent.modelling.operations.results import (
    ConflictFamily,
    ConflictResult,
    ConflictShortage,
    Figure,
    RepairChange,
    RepairResult,
)
from oragent.modelling.operations.slices import find_slice
from oragent.modelling.operations.state import ModelScenario, ModelStudy, solved
from oragent.modelling.solving.back_ends import SolverOptions, find_solver

# Maximum number of nonzero coefficients at which a comparison also searches for a conflict.
MAX_CONFLICT_ENTRIES = 20_000
# Maximum number of names per family of a conflict, and of multipliers of its sum.
SHOWN = 20
# Maximum seconds for all checks of a conflict.
MAX_SECONDS = 60.0
PARTS = {Side.ROW: "rows", Side.LOW: "lower bounds", Side.HIGH: "upper bounds"}


def conflict(study: ModelStudy, request: ops.ConflictRequest) -> ConflictResult:
    """Find an irreducible set of conflicting rows and bounds, in the present state or last trial."""
    scenario = study.present
    outcome = study.solve(scenario)
    if outcome.status is not SolveStatus.INFEASIBLE and study.trial is not None:
        trial = study.scenario(study.trial)
        if study.solve(trial).status is SolveStatus.INFEASIBLE:
            scenario = trial
    _require_rows(scenario, "conflict")
    if study.solve(scenario).status is not SolveStatus.INFEASIBLE:
        raise ModellingError(f"no conflict: the model is {study.solve(scenario).status}")
    subset, families = conflict_families(scenario, study.limits, study.base)
    warnings = () if subset.irreducible else ("the set was not reduced as far as possible within the limit",)
    return solved(
        study,
        scenario,
        ConflictResult(
            irreducible=subset.irreducible,
            families=families,
            aggregate=_aggregate(scenario, subset),
            warnings=warnings,
        ),
    )


def _require_rows(scenario: ModelScenario, verb: str) -> None:
    if scenario.model.features:
        parts = ", ".join(scenario.model.feature_counts)
        raise ModellingError(f"'{verb}' supports only linear rows and bounds, but the model has {parts}")


def conflict_families(
    scenario: ModelScenario, limits: SolveLimits, base: IndexedModel | None = None
) -> tuple[InfeasibleSubset, tuple[ConflictFamily, ...]]:
    """Return a conflict of an infeasible scenario by family. Changed families come first, the last change first."""
    milp = to_milp(scenario.model.with_first_stage(), flat=False)
    subset = find_conflict(milp, MAX_SECONDS, solver=limits.solver, options=limits.options())
    model = scenario.model
    columns = {name: position for position, name in enumerate(model.column_names)}
    rows = {name: position for position, name in enumerate(model.row_names)}
    grouped: dict[tuple[str, int], tuple[Family, Side, list[ModelPart]]] = {}
    owners = _owners(model)
    for part in subset.parts:
        is_row = part.side is Side.ROW
        family = owners["rows" if is_row else "variables"][rows[part.name] if is_row else columns[part.name]]
        key = (PARTS[part.side], id(family))
        grouped.setdefault(key, (family, part.side, []))[2].append(part)
    order = _last_changed(scenario)
    families = []
    for family, side, parts in grouped.values():
        names = [part.name for part in parts]
        last = max((order.get((side is Side.ROW, name), -1) for name in names), default=-1)
        if (
            base is not None
            and last < 0
            and family.name not in {shared.name for shared in (*base.rows, *base.variables)}
        ):
            last = len(scenario.changes)
        entry = ConflictFamily(
            family=family.name,
            part=PARTS[side],
            members=len(parts),
            size=len(family),
            names=tuple(sorted(names, key=lambda name: -order.get((side is Side.ROW, name), -1))[:SHOWN]),
            changed=last >= 0,
        )
        families.append((last, entry))
    return subset, tuple(entry for _, entry in sorted(families, key=lambda pair: -pair[0]))


def _owners(model: IndexedModel) -> dict[str, list[Family]]:
    """Return the family of each row and of each column."""
    owners: dict[str, list[Family]] = {"rows": [], "variables": []}
    for kind, families, count in (
        ("rows", model.rows, model.shape[0]),
        ("variables", model.variables, model.shape[1]),
    ):
        every: list[Family | None] = [None] * count
        for family in families:
            for position in family.positions.tolist():
                every[position] = family
        owners[kind] = [family for family in every if family is not None]
    return owners


def _last_changed(scenario: ModelScenario) -> dict[tuple[bool, str], int]:
    """Return the number of the last change that affects each row (True) and column (False), by name."""
    order: dict[tuple[bool, str], int] = {}
    for number, change in enumerate(scenario.changes):
        reference = getattr(change, "reference", None)
        if isinstance(change, ops.AssignChange):
            reference = change.target.reference
        if isinstance(change, ops.NewRow):
            reference = ops.MemberReference(name=change.name, kind="rows")
        if reference is None:
            continue
        try:
            chosen = find_slice(scenario.model, reference)
        except ModellingError:
            # A later change removed it.
            continue
        names = chosen.names
        if chosen.kind == "parameters":
            names = _rows_of_cells(scenario.model, chosen.positions)
        for name in names:
            order[chosen.kind != "variables", name] = number
    return order


def _rows_of_cells(model: IndexedModel, cells: np.ndarray) -> list[str]:
    """Return the names of the rows whose right-hand side or coefficients refer to some cells."""
    links = model.rhs.links
    rows = set(links.places[np.isin(links.cells, cells)].tolist())
    entries = model.entries.links
    places = entries.places[np.isin(entries.cells, cells)]
    rows |= set(model.matrix.row_indices[places].tolist())
    return [model.row_names[row] for row in rows]


def _aggregate(scenario: ModelScenario, subset: InfeasibleSubset) -> ConflictShortage | None:
    """Return the sum of the conflict's rows, each times a multiplier, that no point can satisfy (Farkas 1902), or None.

    The multipliers are the duals of the least total violation. ``needed`` is the demand of the rows with a lower limit,
    ``possible`` the maximum that the other rows and the bounds allow.
    """
    model, arrays = scenario.model, scenario.known.arrays
    position = {name: number for number, name in enumerate(model.row_names)}
    rows = [position[name] for name in subset.rows]
    if not rows:
        return None
    elastic = _elastic(arrays, rows)
    solved = find_solver().solve(elastic, SolverOptions())
    if solved.row_duals is None or solved.values is None or float(elastic.cost @ solved.values) <= 1e-9:
        return None
    duals = np.where(np.abs(solved.row_duals) > 1e-9, solved.row_duals, 0.0)
    if not duals.any():
        return None
    duals = duals / np.abs(duals[duals != 0]).min()
    matrix = arrays.matrix.select_rows(rows)
    direction = duals @ matrix
    direction = np.where(np.abs(direction) > 1e-9 * np.maximum(1.0, np.abs(duals).max()), direction, 0.0)
    ends = np.where(direction > 0, arrays.high, arrays.low)
    if not np.isfinite(ends[direction != 0]).all():
        return None
    largest = float((direction * np.where(direction != 0, ends, 0.0)).sum())
    lows, highs = arrays.row_low[rows], arrays.row_high[rows]
    asks = duals > 0
    needed = float((duals * np.where(asks, lows, 0.0))[asks].sum())
    allowed = float((-duals * np.where(duals < 0, highs, 0.0))[duals < 0].sum())
    possible = largest + allowed
    if not np.isfinite(needed) or not np.isfinite(possible) or needed - possible <= 1e-7 * max(1.0, abs(needed)):
        return None
    multipliers = tuple((subset.rows[at], float(duals[at])) for at in np.flatnonzero(duals)[:SHOWN].tolist())
    return ConflictShortage(needed=needed, possible=possible, shortage=needed - possible, multipliers=multipliers)


def _elastic(arrays: Arrays, rows: list[int]) -> Arrays:
    """Return the linear programme of the least total violation of some rows."""
    count, width = len(rows), len(arrays.cost)
    plus = Sparse.from_entries(range(count), range(count), np.ones(count), (count, count))
    low, high = arrays.row_low[rows], arrays.row_high[rows]
    free = np.zeros(2 * count)
    ends = np.concatenate([np.where(np.isfinite(low), np.inf, 0.0), np.where(np.isfinite(high), np.inf, 0.0)])
    return replace(
        arrays.without_integrality(),
        sense=Sense.MINIMIZE,
        cost=np.concatenate([np.zeros(width), np.ones(2 * count)]),
        constant=0.0,
        low=np.concatenate([arrays.low, free]),
        high=np.concatenate([arrays.high, ends]),
        integer=np.zeros(width + 2 * count, dtype=bool),
        matrix=arrays.matrix.select_rows(rows).stack_columns(plus, -plus),
        row_low=low,
        row_high=high,
    )


def repair(study: ModelStudy, request: ops.RepairRequest) -> RepairResult:
    """Find the least total change of right-hand sides that makes the model feasible.

    The lines of the result apply it.
    """
    scenario = study.present
    if study.solve(scenario).status is not SolveStatus.INFEASIBLE and study.trial is not None:
        trial = study.scenario(study.trial)
        if study.solve(trial).status is SolveStatus.INFEASIBLE:
            scenario = trial
    _require_rows(scenario, "repair")
    model = scenario.model
    names: list[str] | None = None
    if request.references:
        names = []
        for reference in request.references:
            names += _rows_of(model, reference)
    milp = to_milp(model.with_first_stage(), flat=False)
    limits = study.limits
    repaired = nearest(
        milp, names and list(dict.fromkeys(names)), MAX_SECONDS, solver=limits.solver, options=limits.options()
    )
    if repaired.total is None:
        raise ModellingError(
            "no change of these right-hand sides makes the model feasible: bounds or other rows are in conflict too"
            if repaired.status is SolveStatus.INFEASIBLE
            else "the least repair is not known within the limit: allow a longer solve with --time"
        )
    position = {name: number for number, name in enumerate(model.row_names)}
    changes = []
    for name, needed in repaired.needed.items():
        before = float(model.rhs_values[position[name]])
        changes.append(
            RepairChange(row=name, before=before, after=needed, line=f"rows.{name} = {number_text(_snap(needed))}")
        )
    units = {family.unit for family in model.rows}
    unit = units.pop() if len(units) == 1 else ""
    return solved(
        study,
        scenario,
        RepairResult(
            total=Figure.exact(repaired.total, unit),
            proven=repaired.status is SolveStatus.OPTIMAL,
            changes=tuple(changes),
        ),
    )


def _snap(value: float) -> float:
    """Return a figure without the noise of the solver."""
    nearest_whole = round(value, 6)
    return nearest_whole if abs(value - nearest_whole) <= 1e-8 * max(1.0, abs(value)) else value


def _rows_of(model: IndexedModel, reference: ops.MemberReference) -> list[str]:
    """Return the names of the rows of a reference: rows, or rows whose right-hand side is the named data."""
    chosen = find_slice(model, reference, ["rows", "parameters"])
    if chosen.kind == "rows":
        return chosen.names
    links = model.rhs.links
    rows = links.places[np.isin(links.cells, chosen.positions)]
    if not len(rows):
        raise ModellingError(f"no right-hand side refers to {quoted(chosen.family.name)}: name rows")
    return [model.row_names[row] for row in sorted(set(rows.tolist()))]
