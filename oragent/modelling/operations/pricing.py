"""Prices of figures, by solving again with one step more and one step less."""

from dataclasses import replace

import numpy as np

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations.outcomes import Outcome, ScenarioModel
from oragent.modelling.operations.results import Figure, MemberFigures
from oragent.modelling.operations.slices import Slice
from oragent.modelling.operations.state import ModelScenario, ModelStudy, difference

# Names of bounds of a variable, by field of the model.
NAMES = {"low": "lower({})", "high": "upper({})"}
# Maximum number of members that one operation prices.
MAX_PRICED = 200


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
        bounds = {"low": model.low, "high": model.high}
        return [field for field, vector in bounds.items() if np.isfinite(vector.evaluate(model.cells)[position])]
    return ["cells" if kind == "parameters" else "rhs"]


def _price_member(
    study: ModelStudy, scenario: ModelScenario, chosen: Slice, member: int, step: float, field: str
) -> MemberFigures:
    model, family = scenario.model, chosen.family
    position = int(family.positions[member])
    present, moved = _stepped(model, field, position, step)
    _, back = _stepped(model, field, position, -step)
    return MemberFigures(
        name=NAMES.get(field, "{}").format(model.member_name(family, member)),
        labels=model.labels_of(family, member),
        value=Figure.exact(present, family.unit),
        price_up=optimum_change(study, scenario, moved),
        price_down=optimum_change(study, scenario, back),
    )


def _stepped(model: IndexedModel, field: str, position: int, step: float) -> tuple[float, IndexedModel]:
    """Return a present figure, and the model with this figure one step larger."""
    if field == "cells":
        cells = model.cells.copy()
        cells[position] += step
        return float(model.cells[position]), replace(model, cells=cells)
    vector = {"rhs": model.rhs, "low": model.low, "high": model.high}[field]
    present = float(vector.evaluate(model.cells)[position])
    moved = vector.with_values(np.array([position]), present + step)
    if field == "rhs":
        return present, replace(model, rhs=moved)
    return present, replace(model, low=moved) if field == "low" else replace(model, high=moved)


def optimum_change(study: ModelStudy, scenario: ModelScenario, changed: IndexedModel) -> Figure:
    """Return the change of the optimum from a scenario to another model; no value if that model has no point."""
    arrays: Arrays = changed.to_arrays()
    if (arrays.low > arrays.high).any():
        return Figure(unit=changed.objective.unit)
    changed_scenario = ModelScenario(scenario.changes, changed, ScenarioModel(arrays))
    outcome: Outcome = study.solve(changed_scenario)
    study.pool.refresh(scenario.known)
    if outcome.objective is None:
        return Figure(unit=changed.objective.unit)
    return difference(scenario, changed_scenario)
