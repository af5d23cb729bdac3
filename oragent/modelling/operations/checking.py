"""Operations that compare: the costs that make a solution optimal, and the differences of two models."""

from dataclasses import fields, replace
from pathlib import Path

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.data.model_values import round_digits
from oragent.modelling.data.tolerances import scales_of
from oragent.modelling.opening import open_model
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.outcomes import ScenarioModel
from oragent.modelling.operations.points import point_of, read_solution
from oragent.modelling.operations.pricing import optimum_change
from oragent.modelling.operations.results import DiffEntry, DiffResult, Figure, InverseResult, finite_or_none
from oragent.modelling.operations.slices import fold
from oragent.modelling.operations.state import ModelScenario, ModelStudy, objective_change, solved
from oragent.modelling.solving.inverse_costs import inverse_costs
from oragent.modelling.solving.model_solving import breaches

# Maximum number of breaches, coefficients or differences in one result.
SHOWN = 100
SHOWN_DIFFERENCES = 5
# Time limit of an inverse problem, in seconds.
MAX_SECONDS = 60.0


def inverse(study: ModelStudy, request: ops.InverseRequest) -> InverseResult:
    """Find the least change of costs that makes the solution of a file optimal."""
    scenario, limits = study.present, study.limits
    model, arrays = scenario.model, scenario.known.arrays
    path = Path(request.file) if Path(request.file).is_absolute() else study.folder / request.file
    claim = read_solution(model, path)
    broken = breaches(model.with_first_stage().without_flat_names(), claim.values)
    if broken:
        raise ModellingError(
            f"{plain(str(path), 200)}: no objective makes the point optimal: it breaks {broken[0].sentence}; "
            "use a feasible point"
        )
    seconds = limits.seconds or MAX_SECONDS
    costs = inverse_costs(arrays, point_of(model, claim), seconds, limits.solver, limits.options())
    if costs is None:
        raise ModellingError("not proven within the limit: allow a longer solve with --time")
    steps = np.abs(costs - arrays.cost)
    changed = np.flatnonzero(steps > 1e-9 * scales_of(arrays.cost))
    return InverseResult(
        scenario=study.label(study.changes),
        change=Figure.exact(float(steps[changed].sum()), model.objective.unit),
        coefficients=tuple(
            (model.column_names[column], float(arrays.cost[column]), float(costs[column]))
            for column in changed[:SHOWN].tolist()
        ),
        warnings=study.warn(scenario),
    )


def diff(study: ModelStudy, request: ops.DiffRequest) -> DiffResult:
    """Compare the present model with that of a file, by family, with the effect of each difference alone."""
    scenario = study.present
    path = Path(request.file) if Path(request.file).is_absolute() else study.folder / request.file
    other_model = open_model(path)
    after = ModelScenario((), other_model, ScenarioModel(other_model.to_arrays()))
    study.solve(scenario)
    study.solve(after)
    return solved(
        study,
        scenario,
        DiffResult(
            objective=objective_change(study, scenario, after),
            entries=tuple(diff_entries(study, scenario, other_model)),
        ),
    )


def diff_entries(
    study: ModelStudy, scenario: ModelScenario, other_model: IndexedModel, *, with_effects: bool = True
) -> list[DiffEntry]:
    """Return the differences between a scenario's model and another one.

    If requested, each has its effect on the optimum.
    """
    model = scenario.model
    entries = _set_entries(model, other_model)
    for kind, of in (("parameters", "data"), ("variables", "variables"), ("rows", "rows")):
        mine = {fold(family.name): family for family in getattr(model, kind)}
        theirs = {fold(family.name): family for family in getattr(other_model, kind)}
        for name, family in mine.items():
            if name not in theirs:
                entries.append(DiffEntry(of=of, name=family.name, change="removed", members=len(family)))
        for name, family in theirs.items():
            if name not in mine:
                entries.append(DiffEntry(of=of, name=family.name, change="added", members=len(family)))
            else:
                entries += _family_entries(study if with_effects else None, scenario, other_model, mine[name], family)
    return [*entries, *_objective_entries(model, other_model), *_feature_entries(model, other_model)]


def _objective_entries(model: IndexedModel, other_model: IndexedModel) -> list[DiffEntry]:
    """Return objectives that are optimised in only one of the models or in another order, and differing constants."""
    mine, theirs = (
        [f"{goal.sense} {goal.name}" for goal in side.stages if goal.cost.evaluate(side.cells).any() or goal.quadratic]
        for side in (model, other_model)
    )
    entries = [
        DiffEntry(of="objective", name=name, change=change, members=1)
        for change, names, rest in (("removed", mine, theirs), ("added", theirs, mine))
        for name in names
        if name not in rest
    ]
    if mine != theirs and not entries:
        entries.append(DiffEntry(of="objective", name=" then ".join(theirs), change="changed", members=len(theirs)))
    before, after = model.objective.constant, other_model.objective.constant
    if not np.isclose(before, after, rtol=1e-12, atol=0.0):
        figures = ((other_model.objective.name, before, after),)
        entries.append(DiffEntry(of="objective", name="constant", change="changed", members=1, largest=figures))
    return entries


def _feature_entries(model: IndexedModel, other_model: IndexedModel) -> list[DiffEntry]:
    """Return the features that only one of the models has. They are compared by the names of their variables."""
    entries = []
    mine, theirs = (side.without_flat_names().named_features for side in (model, other_model))
    for part in fields(mine):
        first, second = getattr(mine, part.name), getattr(theirs, part.name)
        for change, only in (
            ("removed", [feature for feature in first if feature not in second]),
            ("added", [feature for feature in second if feature not in first]),
        ):
            if only:
                name = part.name.replace("_", " ")
                entries.append(DiffEntry(of="features", name=name, change=change, members=len(only)))
    return entries


def _set_entries(model: IndexedModel, other_model: IndexedModel) -> list[DiffEntry]:
    entries = []
    mine = {fold(index_set.name): index_set for index_set in model.sets}
    theirs = {fold(index_set.name): index_set for index_set in other_model.sets}
    for name in dict.fromkeys((*mine, *theirs)):
        first = mine[name].labels if name in mine else ()
        second = theirs[name].labels if name in theirs else ()
        title = (theirs.get(name) or mine[name]).name
        for change, labels in (
            ("removed", [label for label in first if label not in second]),
            ("added", [label for label in second if label not in first]),
        ):
            if labels:
                shown = tuple((label, None, None) for label in labels[:SHOWN_DIFFERENCES])
                entries.append(DiffEntry(of="set", name=title, change=change, members=len(labels), largest=shown))
    return entries


def _family_entries(
    study: ModelStudy | None, scenario: ModelScenario, other_model: IndexedModel, mine: Family, theirs: Family
) -> list[DiffEntry]:
    """Return members that were added or removed, and figures that differ for members of both models."""
    model = scenario.model
    first = {model.labels_of(mine, position): position for position in range(len(mine))}
    second = {other_model.labels_of(theirs, position): position for position in range(len(theirs))}
    of = {"ParameterFamily": "data", "VariableFamily": "variables", "RowFamily": "rows"}[type(mine).__name__]
    entries = []
    for change, count in (("removed", len(first.keys() - second.keys())), ("added", len(second.keys() - first.keys()))):
        if count:
            entries.append(DiffEntry(of=of, name=mine.name, change=change, members=count))
    shared = [labels for labels in first if labels in second]
    places = [np.array([keys[labels] for labels in shared], dtype=np.int64) for keys in (first, second)]
    positions = mine.positions[places[0]], theirs.positions[places[1]]
    for what, before, after in _figures(model, other_model, of, *positions):
        differs = np.flatnonzero(~np.isclose(before, after, rtol=1e-12, atol=0.0))
        if not len(differs):
            continue
        steps = np.nan_to_num(np.abs(after[differs] - before[differs]), posinf=np.inf)
        order = differs[np.argsort(-steps, kind="stable")]
        largest = tuple(
            (model.member_name(mine, int(places[0][at])), finite_or_none(before[at]), finite_or_none(after[at]))
            for at in order[:SHOWN_DIFFERENCES].tolist()
        )
        effect = None if study is None else _effect(study, scenario, what, positions[0][differs], after[differs])
        entries.append(
            DiffEntry(of=what, name=mine.name, change="changed", members=len(differs), largest=largest, effect=effect)
        )
    if of == "rows":
        entries += _coefficient_entries(scenario, other_model, mine, positions)
    return entries


def _figures(
    model: IndexedModel, other_model: IndexedModel, of: str, mine: np.ndarray, theirs: np.ndarray
) -> list[tuple[str, Vector, Vector]]:
    """Return the values of the shared members in both models, by kind of figure."""
    if of == "data":
        return [("data", model.cells[mine], other_model.cells[theirs])]
    if of == "rows":
        return [("right-hand sides", model.rhs_values[mine], other_model.rhs_values[theirs])]
    figures = [
        (f"{name} bounds", first.evaluate(model.cells)[mine], second.evaluate(other_model.cells)[theirs])
        for name, first, second in (("lower", model.low, other_model.low), ("upper", model.high, other_model.high))
    ]
    costs = [side.objective.cost.evaluate(side.cells) for side in (model, other_model)]
    return [*figures, ("costs", costs[0][mine], costs[1][theirs])]


def _effect(study: ModelStudy, scenario: ModelScenario, what: str, positions: np.ndarray, values: Vector) -> Figure:
    """Return the effect on the optimum if one kind of figure of one family takes the values of the other model."""
    model = scenario.model
    if what == "data":
        cells = model.cells.copy()
        cells[positions] = values
        changed = replace(model, cells=cells)
    elif what == "right-hand sides":
        changed = replace(model, rhs=model.rhs.with_values(positions, values))
    elif what == "costs":
        alone = model.with_first_stage()
        goal = alone.objective
        changed = replace(alone, objectives=(replace(goal, cost=goal.cost.with_values(positions, values)),))
    elif what == "lower bounds":
        changed = replace(model, low=model.low.with_values(positions, values))
    else:
        changed = replace(model, high=model.high.with_values(positions, values))
    return optimum_change(study, scenario, changed)


def _coefficient_entries(
    scenario: ModelScenario, other_model: IndexedModel, family: Family, positions: tuple[np.ndarray, np.ndarray]
) -> list[DiffEntry]:
    """Return differences of the rows of a family: rows with other coefficients, and rows with another relation."""
    model = scenario.model
    relations, terms, rows = [], [], 0
    for mine, theirs in zip(positions[0].tolist(), positions[1].tolist(), strict=True):
        row = model.row_names[mine]
        if model.relations[mine] != other_model.relations[theirs]:
            relations.append((row, None, None))
        before, after = _row_terms(model, mine), _row_terms(other_model, theirs)
        figures = [
            (f"{row}, {name}", before.get(key, (name, 0.0))[1], after.get(key, (name, 0.0))[1])
            for key, (name, _) in {**before, **after}.items()
        ]
        differing = [figure for figure in figures if figure[1] != figure[2]]
        rows += bool(differing)
        terms += differing
    terms.sort(key=lambda term: -abs(term[2] - term[1]))
    return [
        DiffEntry(of=of, name=family.name, change="changed", members=count, largest=tuple(largest[:SHOWN_DIFFERENCES]))
        for of, count, largest in (("coefficients", rows, terms), ("relations", len(relations), relations))
        if count
    ]


def _row_terms(model: IndexedModel, row: int) -> dict[str, tuple[str, float]]:
    """Return the variables of a row with their coefficients, if not zero, by the name without regard to case."""
    first, last = int(model.starts[row]), int(model.starts[row + 1])
    values = model.matrix.values[first:last].tolist()
    names = [model.column_names[column] for column in model.columns[first:last].tolist()]
    return {fold(name): (name, round_digits(value, 12)) for name, value in zip(names, values, strict=True) if value}
