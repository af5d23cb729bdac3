"""What is done costs or earns something new: charges, fees, rates beyond an amount, a bonus for the smallest."""

import numpy as np

from oragent.evals.workspace.generating.patches import Coefficient, NewRow, Patch
from oragent.evals.workspace.generating.sketching import Sketch, Sketches, listed, most_active, parameter, told
from oragent.evals.workspace.generating.uses import Base, use
from oragent.milp.model import Relation, Variable
from oragent.workspace.revisions import Type


def weighted(base: Base, rng: np.random.Generator) -> Sketches:
    """A second aim counts beside the first: a charge on what is done."""
    chosen = base.active[:3]
    size = sum(base.value(one) for one in chosen)
    for share in (0.05, 0.1, 0.2, 0.4):
        name = "emission_charge"
        value = max(0.01, round(share * max(abs(base.optimum), 1.0) / size, 2))
        objective = {one.name: Coefficient(0.0, {name: base.worse}) for one in chosen}
        sentence = (
            f"From now on the books also carry `{name}` for every unit of {listed(base, chosen)}; it counts against "
            "the result like any other amount of money."
        )
        patch = Patch(parameter(name, value, 0.0, f"{base.money} a unit", "charge on a unit of what is listed"),
                      objective=objective)  # fmt: skip
        yield Sketch(Type.R2, patch, (sentence,))


def max_min(base: Base, rng: np.random.Generator) -> Sketches:
    """The smallest of some amounts counts too."""
    chosen = base.active[:2] + [one for one in base.milp.variables if base.value(one) <= 1e-6 and one.low >= 0][:1]
    if len(chosen) < 2:
        return
    for share in (0.05, 0.1, 0.2, 0.5):
        name, low = "fairness_bonus", "smallest_share"
        value = round(share * max(abs(base.optimum), 1.0), 2)
        rows = tuple(
            NewRow(
                f"at_least_{one.name}",
                {one.name: Coefficient(1.0), low: Coefficient(-1.0)},
                Relation.AT_LEAST,
                Coefficient(),
                f"The smallest of the amounts is no more than {base.label(one)}.",
            )
            for one in chosen
        )
        sentence = (
            f"We want nobody to be left out: the smallest of the amounts of {listed(base, chosen)} earns `{name}` a "
            "unit, which counts in favour of the result."
        )
        patch = Patch(parameter(name, value, 0.0, f"{base.money} a unit", "earned by a unit of the smallest amount"),
                      (Variable(low),), rows, objective={low: Coefficient(0.0, {name: -base.worse})})  # fmt: skip
        yield Sketch(Type.R2, patch, (sentence,))


def fixed_cost(base: Base, rng: np.random.Generator) -> Sketches:
    """Opening something costs, whatever the amount."""
    chosen = most_active(base, 4)
    made = use(base, chosen) if chosen else None
    if made is None:
        return
    names, patch = made
    for share in (0.02, 0.05, 0.1, 0.3):
        name = "opening_fee"
        value = max(1.0, round(share * max(abs(base.optimum), 1.0)))
        sentence = (
            f"The authority now asks for `{name}` for each of {listed(base, chosen)} that is run at all, whatever the "
            "amount."
        )
        objective = {names[one.name]: Coefficient(0.0, {name: base.worse}) for one in chosen}
        more = Patch(parameter(name, value, 0.0, base.money, "for each activity that is run at all"),
                     objective=objective)  # fmt: skip
        yield Sketch(Type.R4, patch.joined(more), (*told(patch), sentence))


def soft_bound(base: Base, rng: np.random.Generator) -> Sketches:
    """Beyond an amount, each unit costs more."""
    chosen = most_active(base, 3)
    total = sum(base.value(one) for one in chosen)
    for share in (0.05, 0.1, 0.3):
        name, threshold, excess = "overrun_rate", "free_volume", "overrun"
        free = round(0.5 * total, 1)
        value = max(0.01, round(share * max(abs(base.optimum), 1.0) / max(total - free, 0.1), 2))
        sentence = (
            f"The carrier handles up to `{threshold}` units of {listed(base, chosen)} together as before; every unit "
            f"beyond that costs us `{name}`."
        )
        row = NewRow("free_until", {**{one.name: Coefficient(1.0) for one in chosen}, excess: Coefficient(-1.0)},
                     Relation.AT_MOST, Coefficient(0.0, {threshold: 1.0}), sentence)  # fmt: skip
        given = (
            *parameter(threshold, free, free, chosen[0].unit or "units", "units without an extra cost"),
            *parameter(name, value, 0.0, f"{base.money} a unit", "cost of a unit beyond"),
        )
        patch = Patch(given, (Variable(excess),), (row,), objective={excess: Coefficient(0.0, {name: base.worse})})
        yield Sketch(Type.R4, patch, (sentence,))
