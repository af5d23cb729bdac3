"""New limits on what is done: a figure that moved, things that exclude or need each other, what is short, lots."""

import numpy as np

from oragent.evals.workspace.generating.patches import Coefficient, NewRow, Patch
from oragent.evals.workspace.generating.sketching import Sketch, Sketches, binding, listed, parameter, told
from oragent.evals.workspace.generating.uses import Base, use
from oragent.milp.model import Relation
from oragent.workspace.revisions import Type

FAR = 1e6  # a limit that nothing comes to
SHARES = (0.9, 0.8, 0.65, 0.5, 0.95)


def perturbation(base: Base, rng: np.random.Generator) -> Sketches:
    """The right side of a binding row goes up or down."""
    for row in binding(base):
        for share in (0.1, -0.1, 0.2, -0.2, -0.3, 0.5, -1.0, 1.0):
            step = share * row.rhs if row.rhs else share * 10
            if base.milp.has_integers and float(row.rhs).is_integer():
                step = float(np.sign(step) * max(1.0, abs(round(step))))
            name = f"allowance_{row.name}"
            changed = NewRow(row.name, {key: Coefficient(value) for key, value in row.terms.items()}, row.relation,
                             Coefficient(row.rhs, {name: 1.0}), "")  # fmt: skip
            sentence = (
                f"The figure that we had for '{row.name}' is out of date: `{name}` is added to what stood there "
                "before, and it may be negative."
            )
            patch = Patch(parameter(name, step, 0.0, "units", f"added to the former figure of {row.name}"),
                          changed=(changed,))  # fmt: skip
            yield Sketch(Type.R1, patch, (sentence,))


def exclusion(base: Base, rng: np.random.Generator) -> Sketches:
    """Of two things that are done, only one may be."""
    for place in range(min(3, len(base.active) - 1)):
        chosen = base.active[place : place + 2]
        made = use(base, chosen)
        if made is None:
            continue
        names, patch = made
        limit = "together_at_most"
        sentence = (
            f"The new safety rule looks at {listed(base, chosen)}: of these, no more than `{limit}` may be run at all."
        )
        row = NewRow("not_together", {names[one.name]: Coefficient(1.0) for one in chosen}, Relation.AT_MOST,
                     Coefficient(0.0, {limit: 1.0}), sentence)  # fmt: skip
        more = Patch(parameter(limit, 1, 2, "activities", "how many of the two may be run"), rows=(row,))
        yield Sketch(Type.R3, patch.joined(more), (*told(patch), sentence))


def shared(base: Base, rng: np.random.Generator) -> Sketches:
    """What is done needs something that there is only so much of."""
    chosen = base.active[:4]
    total = sum(base.value(one) for one in chosen)
    whole = all(one.is_integer for one in chosen)
    for share in SHARES:
        limit = np.floor(total * share) if whole else round(total * share, 1)
        name = "inspector_hours"
        sentence = (
            f"Every unit of {listed(base, chosen)} takes one hour of the inspector, who is there for `{name}` hours "
            "and no longer."
        )
        row = NewRow("inspection", {one.name: Coefficient(1.0) for one in chosen}, Relation.AT_MOST,
                     Coefficient(0.0, {name: 1.0}), sentence)  # fmt: skip
        patch = Patch(parameter(name, float(limit), FAR, "h", "hours of the inspector"), rows=(row,))
        yield Sketch(Type.R3, patch, (sentence,))


def dependency(base: Base, rng: np.random.Generator) -> Sketches:
    """What is done needs something else to be opened, which is not worth it by itself."""
    idle = [one for one in base.milp.variables if base.value(one) <= 1e-6 and one.low >= 0]
    for leader in idle[:3]:
        for follower in base.active[:2]:
            made = use(base, [follower, leader])
            if made is None:
                continue
            names, patch = made
            rule, least = "rule_in_force", "least_when_opened"
            sentence = (
                f"Where `{rule}` is 1, {base.label(follower)} may be run only if {base.label(leader)} is opened as "
                "well; where it is 0, the rule is off."
            )
            row = NewRow(
                "needs_the_other",
                {names[follower.name]: Coefficient(1.0), names[leader.name]: Coefficient(-1.0)},
                Relation.AT_MOST,
                Coefficient(1.0, {rule: -1.0}),
                sentence,
            )
            more = Patch(parameter(rule, 1, 0, "0 or 1", "whether the rule holds"), rows=(row,))
            sayings = [*told(patch), sentence]
            if not leader.is_binary:
                most = base.reach(leader) or 0.0
                amount = max(1.0, float(np.floor(0.3 * most))) if leader.is_integer else round(max(0.3 * most, 0.1), 1)
                lot = f"What is opened is run at `{least}` units or more: {base.label(leader)}."
                terms = {leader.name: Coefficient(1.0), names[leader.name]: Coefficient(0.0, {least: -1.0})}
                floor = NewRow("least_of_it", terms,
                               Relation.AT_LEAST, Coefficient(), lot)  # fmt: skip
                unit = leader.unit or "units"
                more = more.joined(Patch(parameter(least, amount, 0, unit, "least amount once opened"), rows=(floor,)))
                sayings.append(lot)
            yield Sketch(Type.R3, patch.joined(more), tuple(sayings))


def lot(base: Base, rng: np.random.Generator) -> Sketches:
    """Whoever does something does at least a lot of it."""
    amounts = base.amounts
    for count in (1, 2, 3):
        chosen = amounts[-count:] if len(amounts) >= count else []
        made = use(base, chosen) if chosen else None
        if made is None:
            continue
        names, patch = made
        for factor in (1.2, 1.5, 2.0, 3.0):
            reach = min(base.reach(one) or 0.0 for one in chosen)
            size = min(reach, factor * max(base.value(one) for one in chosen))
            size = float(np.ceil(size)) if any(one.is_integer for one in chosen) else round(size, 1)
            name = "least_lot"
            sentence = (
                f"Our supplier no longer takes small orders: {listed(base, chosen)} is either left out or comes to at "
                f"least `{name}`."
            )
            rows = tuple(
                NewRow(f"lot_{one.name}", {one.name: Coefficient(1.0), names[one.name]: Coefficient(0.0, {name: -1.0})},
                       Relation.AT_LEAST, Coefficient(), sentence) for one in chosen
            )  # fmt: skip
            more = Patch(parameter(name, size, 0.0, chosen[0].unit or "units", "least amount of an order"), rows=rows)
            yield Sketch(Type.R3, patch.joined(more), (*told(patch), sentence))
