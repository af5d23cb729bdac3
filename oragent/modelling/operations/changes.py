"""Changes applied to indexed models: data, bounds, right-hand sides, coefficients, rows and objectives."""

from dataclasses import replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.indexed import RELATION_CODES, RELATIONS, IndexedModel, RowFamily
from oragent.modelling.data.links import LinkedVector, Positions, Vector
from oragent.modelling.data.model_values import MAX_FIGURE, Relation
from oragent.modelling.data.objectives import IndexedObjective
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.expressions import evaluate_expression
from oragent.modelling.operations.slices import Slice, find_objective, find_slice, fold

# Fields of the model with the figures of families, and of the bounds of variables.
FIGURES = {"parameters": "cells", "rows": "rhs", "upper": "high", "lower": "low"}


def apply_change(model: IndexedModel, change: ops.AnyChange, base: IndexedModel) -> IndexedModel:
    """Return the model with a change. ``base`` is the model before all changes, whose bounds ``free`` restores.

    Raises:
        ModellingError: The change names a part that the model does not have, or its figures are not possible there.
    """
    if isinstance(change, ops.AssignChange):
        changed = _assign(model, change)
    elif isinstance(change, ops.LimitChange):
        changed = _limit(model, change)
    elif isinstance(change, ops.ForbidChange):
        changed = _fix(model, find_slice(model, change.reference, ["variables"]), 0.0)
    elif isinstance(change, ops.FreeChange):
        changed = _free(model, change, base)
    elif isinstance(change, ops.DropChange):
        changed = _drop(model, find_slice(model, change.reference, ["rows"]).positions)
    elif isinstance(change, ops.RelaxChange):
        changed = _relax(model, change)
    elif isinstance(change, ops.NewRow):
        changed = _new_row(model, change)
    elif isinstance(change, ops.NewObjective):
        changed = _new_objective(model, change)
    else:
        changed = _use_objectives(model, change)
    _check_bounds(changed)
    return changed


def figures_of(model: IndexedModel, field: str) -> Vector:
    """Return the present figures of ``cells`` or of a vector of the model, such as ``rhs`` or ``low``."""
    values: Vector = model.cells if field == "cells" else getattr(model, field).evaluate(model.cells)
    return values


def with_figures(model: IndexedModel, field: str, positions: Positions, values: Vector | float) -> IndexedModel:
    """Return the model with other figures at some positions of ``cells`` or of a vector, such as ``rhs`` or ``low``."""
    if field == "cells":
        cells = model.cells.copy()
        cells[positions] = values
        return replace(model, cells=cells)
    vector: LinkedVector = getattr(model, field).with_values(positions, values)
    return replace(model, **{field: vector})  # type: ignore[arg-type]  # only vectors are named


def _assign(model: IndexedModel, change: ops.AssignChange) -> IndexedModel:
    target = change.target
    if target.part == "coefficient":
        return _set_coefficients(model, change)
    if target.part == "value":
        chosen = find_slice(model, target.reference)
        if chosen.kind == "variables":
            return _assign_values(model, chosen, change)
        field = FIGURES[chosen.kind]
    else:
        chosen = find_slice(model, target.reference, ["variables"])
        field = FIGURES[target.part]
    present = figures_of(model, field)[chosen.positions]
    values = _new_figures(present, change, may_be_infinite=target.part != "value")
    return with_figures(model, field, chosen.positions, values)


def _assign_values(model: IndexedModel, chosen: Slice, change: ops.AssignChange) -> IndexedModel:
    if change.operator != "=" or change.percent:
        raise ModellingError(
            f"{quoted(chosen.family.name)} are variables, which the solver chooses: fix them with '=', or change "
            f"upper(...) or lower(...)"
        )
    return _fix(model, chosen, change.number)


def _new_figures(present: Vector, change: ops.AssignChange, may_be_infinite: bool = False) -> Vector:
    share = change.number / 100 if change.percent else change.number
    if change.operator == "*=":
        values = present * share
    else:
        amount = present * share if change.percent else np.full(len(present), change.number)
        values = {"=": amount, "+=": present + amount, "-=": present - amount}[change.operator]
    is_wrong = np.isnan(values) | (np.isfinite(values) & (np.abs(values) > MAX_FIGURE))
    if is_wrong.any() or (not may_be_infinite and not np.isfinite(values).all()):
        raise ModellingError(f"the new figure would be {number(float(values[0]))}: expected a finite number")
    return np.asarray(values + 0.0)


def _fix(model: IndexedModel, chosen: Slice, value: float) -> IndexedModel:
    positions = chosen.positions
    if not np.isfinite(value):
        raise ModellingError("a variable cannot be fixed at infinity: give a number")
    if model.integer[positions].any() and value != round(value):
        raise ModellingError(f"{quoted(chosen.names[0])} takes whole values only, not {number(value)}")
    return with_figures(with_figures(model, "low", positions, value), "high", positions, value)


def _free(model: IndexedModel, change: ops.FreeChange, base: IndexedModel) -> IndexedModel:
    positions = find_slice(model, change.reference, ["variables"]).positions
    original = replace(base, cells=model.cells)
    for field in ("low", "high"):
        model = with_figures(model, field, positions, figures_of(original, field)[positions])
    return model


def _limit(model: IndexedModel, change: ops.LimitChange) -> IndexedModel:
    chosen = find_slice(model, change.reference)
    if chosen.kind == "parameters":
        raise ModellingError(f"{quoted(chosen.family.name)} are data: set them with '=', '+=' or '*='")
    if chosen.kind == "variables":
        if not abs(change.number) <= MAX_FIGURE:
            raise ModellingError(
                f"a bound of {number(change.number)}: expected a finite number; upper(...) = inf removes one"
            )
        return with_figures(model, "high" if change.relation == "<=" else "low", chosen.positions, change.number)
    relations = {RELATIONS[code] for code in model.relations[chosen.positions].tolist()}
    if relations != {Relation(change.relation)}:
        relation_names = " and ".join(sorted(relations))
        raise ModellingError(
            f"{quoted(chosen.family.name)} are rows with {relation_names}, not {change.relation}: "
            "set the right-hand side with '=', or add a row"
        )
    assign = ops.AssignChange(target=ops.ChangeTarget(reference=change.reference), operator="=", number=change.number)
    values = _new_figures(model.rhs_values[chosen.positions], assign)
    return with_figures(model, "rhs", chosen.positions, values)


def _relax(model: IndexedModel, change: ops.RelaxChange) -> IndexedModel:
    chosen = find_slice(model, change.reference, ["rows"])
    if not 0 <= change.number <= MAX_FIGURE:
        raise ModellingError(f"relax by {number(change.number)}: expected a number from 0 on")
    positions = chosen.positions
    codes = model.relations[positions]
    if (codes == RELATION_CODES[Relation.EQUAL]).any():
        raise ModellingError(
            f"{quoted(chosen.family.name)} are equations, which have two sides: set the right-hand side"
        )
    present = model.rhs_values[positions]
    amount = np.abs(present) * change.number / 100 if change.percent else change.number
    return with_figures(model, "rhs", positions, present - codes * amount)


def _set_coefficients(model: IndexedModel, change: ops.AssignChange) -> IndexedModel:
    target = change.target
    columns = find_slice(model, target.reference, ["variables"]).positions
    goals = [goal for goal in model.objectives if fold(goal.name) == fold(target.of)]
    families = [family for family in model.rows if fold(family.name) == fold(target.of)]
    if goals and families:
        raise ModellingError(f"{quoted(target.of)} names an objective and a family of rows: rename one")
    if goals:
        goal = goals[0]
        values = _new_figures(goal.cost.evaluate(model.cells)[columns], change)
        changed = replace(goal, cost=goal.cost.with_values(columns, values))
        return replace(
            model, objectives=tuple(changed if objective is goal else objective for objective in model.objectives)
        )
    if families:
        return _set_entries(model, families[0], columns, change)
    names = [*(goal.name for goal in model.objectives), *(family.name for family in model.rows)]
    raise ModellingError(
        f"no objective or rows {quoted(target.of)}: expected one of {', '.join(map(quoted, names[:8]))}"
    )


def _set_entries(model: IndexedModel, family: RowFamily, columns: Positions, change: ops.AssignChange) -> IndexedModel:
    in_columns = np.zeros(model.shape[1], dtype=bool)
    in_columns[columns] = True
    in_rows = np.zeros(model.shape[0], dtype=bool)
    in_rows[family.positions] = True
    chosen = np.flatnonzero(in_columns[model.columns] & in_rows[model.matrix.row_indices])
    if not len(chosen):
        raise ModellingError(f"rows {quoted(family.name)} have no coefficient of these variables: add a row instead")
    values = _new_figures(model.matrix.values[chosen], change)
    return with_figures(model, "entries", chosen, values)


def _drop(model: IndexedModel, rows: Positions) -> IndexedModel:
    """Return the model without some rows. Families without members are removed too."""
    is_kept = np.ones(model.shape[0], dtype=bool)
    is_kept[rows] = False
    entry_kept = is_kept[model.matrix.row_indices]
    new_position = np.cumsum(is_kept) - 1
    families = []
    for family in model.rows:
        remains = is_kept[family.positions]
        if remains.any():
            positions = new_position[family.positions[remains]]
            families.append(replace(family, keys=family.keys[remains], positions=positions))
    counts = np.diff(model.starts)[is_kept]
    flat = tuple(name for name, keep in zip(model.flat_rows, is_kept, strict=True) if keep) if model.flat_rows else ()
    soft = tuple(
        replace(soft_row, row=int(new_position[soft_row.row]))
        for soft_row in model.features.soft_rows
        if is_kept[soft_row.row]
    )
    return replace(
        model,
        rows=tuple(families),
        starts=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(counts)]),
        columns=model.columns[entry_kept],
        entries=model.entries.select(np.flatnonzero(entry_kept)),
        relations=model.relations[is_kept],
        rhs=model.rhs.select(np.flatnonzero(is_kept)),
        flat_rows=flat,
        features=replace(model.features, soft_rows=soft),
    )


def _new_row(model: IndexedModel, change: ops.NewRow) -> IndexedModel:
    if any(fold(family.name) == fold(change.name) for family in model.rows):
        raise ModellingError(f"rows {quoted(change.name)} exist: choose another name, or drop them first")
    left = evaluate_expression(model, change.left)
    right = evaluate_expression(model, change.right)
    terms = left.minus(right)
    if not terms.has_variables:
        raise ModellingError(f"row {quoted(change.name)}: no variable in it; expected a linear expression of variables")
    rows, columns, values = terms.entries(model.shape[1])
    count, first = len(terms.keys), model.shape[0]
    family = RowFamily(change.name, terms.sets, terms.keys, np.arange(first, first + count))
    # Each row has a variable.
    counts = np.bincount(rows)
    flat = (*model.flat_rows, *(model.member_name(family, member) for member in range(count)))
    return replace(
        model,
        rows=(*model.rows, family),
        starts=np.concatenate([model.starts, model.starts[-1] + np.cumsum(counts)]),
        columns=np.concatenate([model.columns, columns.astype(np.int32)]),
        entries=model.entries.append(values),
        relations=np.concatenate([model.relations, np.full(count, RELATION_CODES[change.relation], np.int8)]),
        rhs=model.rhs.append(terms.negative_constant()),
        flat_rows=flat if model.flat_rows or not first else (),
    )


def _new_objective(model: IndexedModel, change: ops.NewObjective) -> IndexedModel:
    terms = evaluate_expression(model, change.expression)
    if terms.sets:
        raise ModellingError("an objective is one figure: expected sums without 'by'")
    cost, constant = terms.as_cost(model.shape[1])
    units = {family.unit for family in model.variables}
    goal = IndexedObjective(change.name, change.sense, cost, constant, units.pop() if len(units) == 1 else "")
    others = tuple(_unranked(objective) for objective in model.objectives if fold(objective.name) != fold(change.name))
    return replace(model, objectives=(goal, *others))


def _unranked(goal: IndexedObjective) -> IndexedObjective:
    return replace(goal, weight=0.0, priority=0, slack=0.0, slack_amount=0.0)


def _use_objectives(model: IndexedModel, change: ops.UseObjectives) -> IndexedModel:
    """Return the model with the objectives of the change first, in order. All others are only computed."""
    ranked: list[IndexedObjective] = []
    chosen: list[IndexedObjective] = []
    for number_left, stage in zip(range(len(change.stages) - 1, -1, -1), change.stages, strict=True):
        for part in stage.parts:
            goal = find_objective(model, part.name)
            if any(goal is member for member in chosen):
                raise ModellingError(f"objective {quoted(goal.name)} occurs twice: name each objective once")
            chosen.append(goal)
            share, amount = (stage.within / 100, 0.0) if stage.percent else (0.0, stage.within)
            ranked.append(replace(goal, weight=part.weight, priority=number_left, slack=share, slack_amount=amount))
    if len(ranked) == 1:
        ranked = [_unranked(ranked[0])]
    others = tuple(
        _unranked(objective) for objective in model.objectives if not any(objective is goal for goal in chosen)
    )
    return replace(model, objectives=(*ranked, *others))


def _check_bounds(model: IndexedModel) -> None:
    low, high = figures_of(model, "low"), figures_of(model, "high")
    wrong = np.flatnonzero((low > high) | (low == np.inf) | (high == -np.inf))
    if len(wrong):
        at = int(wrong[0])
        raise ModellingError(
            f"{quoted(model.column_names[at])}: its least value {number(low[at])} would be above its largest value "
            f"{number(high[at])}; nothing was changed"
        )
