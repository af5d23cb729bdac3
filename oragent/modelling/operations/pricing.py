"""Prices of figures, by solving again with one step more and one step less."""

from dataclasses import replace

from oragent._base.errors import ModellingError
from oragent.modelling.data.arrays import Arrays
from oragent.modelling.data.display import number, quoted
from oragent.modelling.data.indexed import IndexedModel
from oragent.modelling.operations.outcomes import Outcome, ScenarioModel
from oragent.modelling.operations.results import Figure, MemberFigures
from oragent.modelling.operations.slices import Slice
from oragent.modelling.operations.state import ModelScenario, ModelStudy, difference

# Maximum number of members that one operation prices.
MAX_PRICED = 200


def price_members(study: ModelStudy, chosen: Slice, step: float) -> tuple[MemberFigures, ...]:
    """Return the members of a slice, each with the change of the optimum for one step more and one step less.

    Raises:
        ModellingError: The step is not above 0, or there are too many members.
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
    return tuple(_price_member(study, scenario, chosen, member, step) for member in chosen.members.tolist())


def _price_member(study: ModelStudy, scenario: ModelScenario, chosen: Slice, member: int, step: float) -> MemberFigures:
    model, family = scenario.model, chosen.family
    position = int(family.positions[member])
    present, moved = _stepped(model, chosen.kind, position, step)
    _, back = _stepped(model, chosen.kind, position, -step)
    return MemberFigures(
        name=model.member_name(family, member),
        labels=model.labels_of(family, member),
        value=Figure.exact(present, family.unit),
        price_up=optimum_change(study, scenario, moved),
        price_down=optimum_change(study, scenario, back),
    )


def _stepped(model: IndexedModel, kind: str, position: int, step: float) -> tuple[float, IndexedModel]:
    """Return the present figure of a row or cell, and the model with this figure one step larger."""
    if kind == "parameters":
        cells = model.cells.copy()
        cells[position] += step
        return float(model.cells[position]), replace(model, cells=cells)
    if kind == "rows":
        present = float(model.rhs_values[position])
        return present, replace(model, rhs=model.rhs.with_values(position, present + step))  # type: ignore[arg-type]
    raise ModellingError("variables have no price: use 'why' for a variable, or price rows or data")


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
