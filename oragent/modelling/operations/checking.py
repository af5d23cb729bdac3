"""Operations that compare: the costs that make a solution optimal, and the differences of two models."""

from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from typing import TypeVar

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Vector
from oragent.modelling.data.display import plain
from oragent.modelling.data.indexed import Family, IndexedModel
from oragent.modelling.data.model_values import round_digits
from oragent.modelling.data.tolerances import scales_of
from oragent.modelling.opening import open_model
from oragent.modelling.operations import requests as ops
from oragent.modelling.operations.changes import figures_of, with_figures
from oragent.modelling.operations.outcomes import ScenarioModel
from oragent.modelling.operations.points import point_of, read_solution
from oragent.modelling.operations.results import DiffEntry, DiffResult, Figure, InverseResult, finite_or_none
from oragent.modelling.operations.rows import optimum_change
from oragent.modelling.operations.slices import fold
from oragent.modelling.operations.state import ModelScenario, ModelStudy, objective_change, solved
from oragent.modelling.solving.inverse_costs import inverse_costs
from oragent.modelling.solving.model_solving import breaches

# Maximum number of breaches, coefficients or differences in one result.
SHOWN = 100
SHOWN_DIFFERENCES = 5
# Fields of the model with figures of families, by kind of family and of figure.
FIELDS = {
    "data": {"data": "cells"},
    "variables": {"lower bounds": "low", "upper bounds": "high"},
    "rows": {"right-hand sides": "rhs"},
}
Item = TypeVar("Item")
# Time limit of an inverse problem, in seconds.
MAX_SECONDS = 60.0


def inverse(study: ModelStudy, request: ops.InverseRequest) -> InverseResult:
    """Find the least change of costs that makes the solution of a file optimal."""
    scenario, limits = study.present, study.limits
    model, arrays = scenario.model, scenario.known.arrays
    path = study.folder / request.file
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
    other_model = open_model(study.folder / request.file)
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
        mine, theirs = ({fold(family.name): family for family in getattr(side, kind)} for side in (model, other_model))
        for change, names in _one_sided(mine, theirs):
            entries += [
                DiffEntry(of=of, name=family.name, change=change, members=len(family))
                for family in ({**mine, **theirs}[name] for name in names)
            ]
        for name in filter(theirs.__contains__, mine):
            entries += _family_entries(
                study if with_effects else None, scenario, other_model, of, mine[name], theirs[name]
            )
    return [*entries, *_objective_entries(model, other_model), *_feature_entries(model, other_model)]


def _one_sided(mine: Collection[Item], theirs: Collection[Item]) -> Iterator[tuple[str, list[Item]]]:
    """Yield the items that only the first of two models has as ``removed``, and those of the second as ``added``."""
    for change, items, others in (("removed", mine, theirs), ("added", theirs, mine)):
        if only := [item for item in items if item not in others]:
            yield change, only


def _objective_entries(model: IndexedModel, other_model: IndexedModel) -> list[DiffEntry]:
    """Return objectives that are optimised in only one of the models or in another order, and differing constants."""
    mine, theirs = (
        [f"{goal.sense} {goal.name}" for goal in side.stages if goal.cost.evaluate(side.cells).any() or goal.quadratic]
        for side in (model, other_model)
    )
    entries = [
        DiffEntry(of="objective", name=name, change=change, members=1)
        for change, names in _one_sided(mine, theirs)
        for name in names
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
        for change, only in _one_sided(getattr(mine, part.name), getattr(theirs, part.name)):
            name = part.name.replace("_", " ")
            entries.append(DiffEntry(of="features", name=name, change=change, members=len(only)))
    return entries


def _set_entries(model: IndexedModel, other_model: IndexedModel) -> list[DiffEntry]:
    entries = []
    mine, theirs = ({fold(index_set.name): index_set for index_set in side.sets} for side in (model, other_model))
    for name in dict.fromkeys((*mine, *theirs)):
        first, second = (side[name].labels if name in side else () for side in (mine, theirs))
        title = (theirs.get(name) or mine[name]).name
        for change, labels in _one_sided(first, second):
            shown = tuple((label, None, None) for label in labels[:SHOWN_DIFFERENCES])
            entries.append(DiffEntry(of="set", name=title, change=change, members=len(labels), largest=shown))
    return entries


def _family_entries(
    study: ModelStudy | None,
    scenario: ModelScenario,
    other_model: IndexedModel,
    of: str,
    mine: Family,
    theirs: Family,
) -> list[DiffEntry]:
    """Return members that were added or removed, and figures that differ for members of both models."""
    model = scenario.model
    first = {model.labels_of(mine, position): position for position in range(len(mine))}
    second = {other_model.labels_of(theirs, position): position for position in range(len(theirs))}
    entries = [
        DiffEntry(of=of, name=mine.name, change=change, members=len(labels))
        for change, labels in _one_sided(first, second)
    ]
    shared = [labels for labels in first if labels in second]
    places = [np.array([keys[labels] for labels in shared], dtype=np.int64) for keys in (first, second)]
    positions = mine.positions[places[0]], theirs.positions[places[1]]
    for what, before, after in _figures(model, other_model, of, *positions):
        differs = np.flatnonzero(~np.isclose(before, after, rtol=1e-12, atol=0.0))
        if not len(differs):
            continue
        steps = np.abs(after[differs] - before[differs])
        order = differs[np.argsort(-steps, kind="stable")]
        largest = tuple(
            (model.member_name(mine, int(places[0][at])), finite_or_none(before[at]), finite_or_none(after[at]))
            for at in order[:SHOWN_DIFFERENCES].tolist()
        )
        effect = None if study is None else _effect(study, scenario, of, what, positions[0][differs], after[differs])
        entries.append(
            DiffEntry(of=what, name=mine.name, change="changed", members=len(differs), largest=largest, effect=effect)
        )
    if of == "rows":
        entries += _coefficient_entries(scenario, other_model, mine, positions)
    return entries


def _figures(
    model: IndexedModel, other_model: IndexedModel, of: str, mine: np.ndarray, theirs: np.ndarray
) -> Iterator[tuple[str, Vector, Vector]]:
    """Yield the values of the shared members in both models, by kind of figure."""
    for what, field in FIELDS[of].items():
        yield what, figures_of(model, field)[mine], figures_of(other_model, field)[theirs]
    if of == "variables":
        costs = [side.objective.cost.evaluate(side.cells) for side in (model, other_model)]
        yield "costs", costs[0][mine], costs[1][theirs]


def _effect(
    study: ModelStudy, scenario: ModelScenario, of: str, what: str, positions: np.ndarray, values: Vector
) -> Figure:
    """Return the effect on the optimum if one kind of figure of one family takes the values of the other model."""
    if what == "costs":
        alone = scenario.model.with_first_stage()
        goal = alone.objective
        changed = replace(alone, objectives=(replace(goal, cost=goal.cost.with_values(positions, values)),))
    else:
        changed = with_figures(scenario.model, FIELDS[of][what], positions, values)
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
