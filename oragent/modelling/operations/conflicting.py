"""Operations on infeasible models: conflicts by family, the sum of a conflict, and the least repair."""

from dataclasses import fields, replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.data.solution import SolveStatus
from oragent.modelling.data.tolerances import scale_of, without_noise
from oragent.modelling.operations import requests as ops
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
from oragent.modelling.solving.infeasibility import (
    ArrayConflict,
    ArrayPart,
    Side,
    feature_text,
    find_certificate,
    find_conflict,
    find_nearest,
    linear_conflict,
    linear_relaxation,
    list_features,
    without_goals,
)

# Maximum number of nonzero coefficients at which a comparison also searches for a conflict.
MAX_CONFLICT_ENTRIES = 20_000
# Maximum number of names per family of a conflict, and of multipliers of its sum.
SHOWN = 20
# Maximum number of names in an error.
SHOWN_NAMES = 5
# Maximum seconds for all checks of a conflict.
MAX_SECONDS = 60.0
PARTS = {Side.ROW: "rows", Side.LOW: "lower bounds", Side.HIGH: "upper bounds", Side.FEATURE: "parts"}


def conflict(study: ModelStudy, request: ops.ConflictRequest) -> ConflictResult:
    """Find an irreducible set of conflicting rows, bounds and parts, in the present state or last trial."""
    scenario = _infeasible_scenario(study)
    if study.solve(scenario).status is not SolveStatus.INFEASIBLE:
        raise ModellingError(f"no conflict: the model is {study.solve(scenario).status}")
    arrays, limits = scenario.known.arrays, study.limits
    subset = find_conflict(arrays, solver=limits.solver, options=limits.options())
    warnings = () if subset.irreducible else ("the set was not reduced as far as possible within the limit",)
    return solved(
        study,
        scenario,
        ConflictResult(
            irreducible=subset.irreducible,
            families=conflict_families(scenario, subset),
            aggregate=_aggregate(scenario, subset),
            warnings=warnings,
        ),
    )


def _infeasible_scenario(study: ModelStudy) -> ModelScenario:
    """Return the last trial if it is infeasible and the present scenario is not; else the present one."""
    scenario = study.present
    if study.solve(scenario).status is not SolveStatus.INFEASIBLE and study.trial is not None:
        trial = study.scenario(study.trial)
        if study.solve(trial).status is SolveStatus.INFEASIBLE:
            return trial
    return scenario


def conflict_of_trial(scenario: ModelScenario, limits: SolveLimits) -> tuple[ConflictFamily, ...]:
    """Return the conflict of an infeasible scenario by family; empty for a large model that takes many solves."""
    arrays = scenario.known.arrays
    subset: ArrayConflict | None
    if len(arrays.matrix.values) <= MAX_CONFLICT_ENTRIES:
        subset = find_conflict(arrays, solver=limits.solver, options=limits.options())
    else:
        subset = linear_conflict(arrays)
    return () if subset is None else conflict_families(scenario, subset)


def conflict_families(scenario: ModelScenario, subset: ArrayConflict) -> tuple[ConflictFamily, ...]:
    """Return a conflict by family. Changed families come first, the last change first."""
    model = scenario.model
    order = _last_changed(scenario)
    families: list[tuple[int, ConflictFamily]] = []
    for side in (Side.ROW, Side.LOW, Side.HIGH):
        places, is_row = subset.places(side), side is Side.ROW
        all_names = model.row_names if is_row else model.column_names
        for family in model.rows if is_row else model.variables:
            names = [all_names[place] for place in family.positions[np.isin(family.positions, places)].tolist()]
            if not names:
                continue
            last = max(order.get((is_row, name), -1) for name in names)
            entry = ConflictFamily(
                family=family.name,
                part=PARTS[side],
                members=len(names),
                size=len(family),
                names=tuple(sorted(names, key=lambda name: -order.get((is_row, name), -1))[:SHOWN]),
                changed=last >= 0,
            )
            families.append((last, entry))
    families += [(-1, entry) for entry in _part_entries(scenario, subset)]
    return tuple(entry for _, entry in sorted(families, key=lambda pair: -pair[0]))


def _part_entries(scenario: ModelScenario, subset: ArrayConflict) -> list[ConflictFamily]:
    """Return the features of a conflict by kind, such as ``SOS set s0`` of the ordered sets."""
    arrays, model = scenario.known.arrays, scenario.model
    features = list_features(arrays)
    entries = []
    for kind in fields(arrays.features):
        members = getattr(arrays.features, kind.name)
        chosen = [features[place] for place in subset.places(Side.FEATURE) if features[place] in members]
        if chosen:
            texts = tuple(feature_text(arrays, part, model.column_names.__getitem__) for part in chosen[:SHOWN])
            entries.append(
                ConflictFamily(
                    family=kind.name.replace("_", " "),
                    part=PARTS[Side.FEATURE],
                    members=len(chosen),
                    size=len(members),
                    names=texts,
                    changed=False,
                )
            )
    return entries


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


def _aggregate(scenario: ModelScenario, subset: ArrayConflict) -> ConflictShortage | None:
    """Return the sum of the conflict's rows, each times a multiplier, that no point can satisfy (Farkas 1902), or None.

    ``needed`` is the demand of the rows with a lower limit, ``possible`` the maximum that the other rows and the bounds
    allow.
    """
    model, arrays = scenario.model, linear_relaxation(without_goals(scenario.known.arrays))
    rows = subset.places(Side.ROW)
    lows, matrix = arrays.row_low[rows], arrays.matrix.select_rows(rows)
    conflicting = replace(arrays, matrix=matrix, row_low=lows, row_high=arrays.row_high[rows])
    certificate = find_certificate(conflicting) if rows else None
    if certificate is None:
        return None
    multipliers, _, shortage = certificate
    size = np.abs(multipliers[multipliers != 0]).min()
    duals, shortage = multipliers / size, float(shortage / size)
    is_needed = duals > 0
    needed = float(duals[is_needed] @ lows[is_needed])
    if shortage <= 1e-7 * scale_of(needed):
        return None
    shown = tuple((model.row_names[rows[at]], float(duals[at])) for at in np.flatnonzero(duals)[:SHOWN].tolist())
    return ConflictShortage(needed=needed, possible=needed - shortage, shortage=shortage, multipliers=shown)


def repair(study: ModelStudy, request: ops.RepairRequest) -> RepairResult:
    """Find the least total change of right-hand sides that makes the model feasible.

    The lines of the result apply it.
    """
    scenario = _infeasible_scenario(study)
    model, arrays, limits = scenario.model, scenario.known.arrays, study.limits
    rows: list[int] | None = None
    if request.references:
        rows = list(dict.fromkeys(row for reference in request.references for row in _rows_of(model, reference)))
    repaired = find_nearest(arrays, rows, solver=limits.solver, options=limits.options())
    if repaired.status is SolveStatus.INFEASIBLE:
        rest = _rest(study, scenario, rows)
        raise ModellingError(f"no change of these right-hand sides makes the model feasible{rest}")
    if repaired.total is None:
        raise ModellingError("the least repair is not known within the limit: allow a longer solve with --time")
    changes = []
    for row, needed in repaired.needed.items():
        name, before = model.row_names[row], float(model.rhs_values[row])
        changes.append(
            RepairChange(
                row=name, before=before, after=needed, line=f"rows.{name} = {number_text(without_noise(needed))}"
            )
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


def _rest(study: ModelStudy, scenario: ModelScenario, rows: list[int] | None) -> str:
    """Return in words which of the other parts are in conflict."""
    arrays, limits = without_goals(scenario.known.arrays), study.limits
    changed = range(len(arrays.row_low)) if rows is None else rows
    others = np.setdiff1d(np.arange(len(arrays.row_low)), changed)
    rest = replace(
        arrays,
        matrix=arrays.matrix.select_rows(others.tolist()),
        row_low=arrays.row_low[others],
        row_high=arrays.row_high[others],
    )
    try:
        subset = find_conflict(rest, solver=limits.solver, options=limits.options())
    except ModellingError:
        return ""
    parts = tuple(
        ArrayPart(part.side, int(others[part.place])) if part.side is Side.ROW else part for part in subset.parts
    )
    families = conflict_families(scenario, ArrayConflict(parts, subset.irreducible))
    names = [
        quoted(name) if entry.part in (PARTS[Side.ROW], PARTS[Side.FEATURE]) else f"{entry.part[:-1]} of {quoted(name)}"
        for entry in sorted(families, key=lambda entry: entry.part != PARTS[Side.FEATURE])
        for name in entry.names
    ]
    more = len(subset.parts) - min(len(names), SHOWN_NAMES)
    end = f" and {more} more" if more else ""
    return f": {', '.join(names[:SHOWN_NAMES])}{end} cannot hold together"


def _rows_of(model: IndexedModel, reference: ops.MemberReference) -> list[int]:
    """Return the rows of a reference: rows, or rows whose right-hand side is the named data."""
    chosen = find_slice(model, reference, ["rows", "parameters"])
    if chosen.kind == "rows":
        return list(chosen.positions.tolist())
    links = model.rhs.links
    rows = links.places[np.isin(links.cells, chosen.positions)]
    if not len(rows):
        raise ModellingError(f"no right-hand side refers to {quoted(chosen.family.name)}: name rows")
    return list(np.unique(rows).tolist())
