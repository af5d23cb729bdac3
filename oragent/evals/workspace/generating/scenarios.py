"""Another way of doing business: a partner outside, fewer things open at a fee, time lent from one place to another."""

from collections.abc import Sequence

import numpy as np

from oragent.evals.workspace.generating.patches import Coefficient, NewRow, Patch
from oragent.evals.workspace.generating.sketching import Sketch, Sketches, binding, listed, parameter, told, worth
from oragent.evals.workspace.generating.uses import Base, use
from oragent.milp.model import Relation, Variable, VariableKind
from oragent.workspace.revisions import Type


def new_site(base: Base, rng: np.random.Generator) -> Sketches:
    """Somebody outside offers more of what is short, for an opening fee and a price, up to a capacity."""
    for row in binding(base):
        slope = worth(base, row)
        if (row.relation is Relation.EQUAL and base.milp.has_integers) or slope <= 0:
            continue
        for share, capacity in ((0.5, 0.3), (0.2, 0.5), (0.1, 1.0)):
            size = max(1.0, round(capacity * max(abs(row.rhs), 1.0), 1))
            extra, opened = "outside_amount", "open_outside"
            most, price, fee = "outside_capacity", "outside_price", "outside_fee"
            helps = 1.0 if row.relation is Relation.AT_LEAST else -1.0
            sentences = (
                f"A partner now offers to help out with '{row.name}': each unit of theirs counts like one of ours and "
                f"costs `{price}`.",
                f"To use the partner at all costs `{fee}` once, and they have no more than `{most}` units.",
            )
            terms = {**{key: Coefficient(value) for key, value in row.terms.items()}, extra: Coefficient(helps)}
            changed = NewRow(row.name, terms,
                             row.relation, Coefficient(row.rhs), sentences[0])  # fmt: skip
            link = NewRow("outside_when_open", {extra: Coefficient(1.0), opened: Coefficient(0.0, {most: -1.0})},
                          Relation.AT_MOST, Coefficient(), sentences[1])  # fmt: skip
            given = (
                *parameter(most, size, 0.0, "units", "most that the partner has"),
                *parameter(price, share * slope, round(share * slope, 2), f"{base.money} a unit", "of the partner"),
                *parameter(fee, 0.2 * share * slope * size, 0.0, base.money, "for using the partner at all"),
            )
            patch = Patch(
                given, (Variable(extra), Variable(opened, 0, 1, VariableKind.INTEGER)), (link,), (changed,),
                {extra: Coefficient(0.0, {price: base.worse}), opened: Coefficient(0.0, {fee: base.worse})},
            )  # fmt: skip
            yield Sketch(Type.R5, patch, sentences)


def cardinality(base: Base, rng: np.random.Generator) -> Sketches:
    """No more than so many things are done at all, and each costs to open."""
    candidates = base.active + [one for one in base.milp.variables if base.value(one) <= 1e-6 and one.low >= 0]
    chosen = candidates[: min(6, len(candidates))]
    running = len([one for one in chosen if base.value(one) > 1e-6])
    made = use(base, chosen)
    if made is None or running < 1:
        return
    names, patch = made
    for fewer in (1, 2):
        for share in (0.02, 0.05, 0.15):
            limit, fee = "open_at_most", "desk_fee"
            value = max(1.0, round(share * max(abs(base.optimum), 1.0)))
            sentences = (
                f"The staff can look after `{limit}` of {listed(base, chosen)} and no more; the others stay closed.",
                f"Each that is open keeps a desk busy, at `{fee}`.",
            )
            row = NewRow("few_open", {names[one.name]: Coefficient(1.0) for one in chosen}, Relation.AT_MOST,
                         Coefficient(0.0, {limit: 1.0}), sentences[0])  # fmt: skip
            given = (
                *parameter(limit, max(1, running - fewer), len(chosen), "activities", "that may be open"),
                *parameter(fee, value, 0.0, base.money, "of an open activity"),
            )
            objective = {names[one.name]: Coefficient(0.0, {fee: base.worse}) for one in chosen}
            yield Sketch(Type.R5, patch.joined(Patch(given, rows=(row,), objective=objective)),
                         (*told(patch), *sentences))  # fmt: skip
    for share in (0.02, 0.05, 0.15):
        yield from _with_fee(base, chosen, names, patch, share)


def _with_fee(base: Base, chosen: Sequence[Variable], names: dict[str, str], patch: Patch, share: float) -> Sketches:
    """As many may be open as now, each at a fee."""
    fee = "desk_fee"
    value = max(1.0, round(share * max(abs(base.optimum), 1.0)))
    sentence = f"Each of {listed(base, chosen)} that is open keeps a desk busy, at `{fee}`."
    objective = {names[one.name]: Coefficient(0.0, {fee: base.worse}) for one in chosen}
    more = Patch(parameter(fee, value, 0.0, base.money, "of an open activity"), objective=objective)
    yield Sketch(Type.R5, patch.joined(more), (*told(patch), sentence))


def carry_over(base: Base, rng: np.random.Generator) -> Sketches:
    """What one row leaves may help another, at a loss."""
    limits = [row for row in base.milp.rows if row.relation is Relation.AT_MOST and row.rhs > 0]
    tight = [row for row in limits if base.solution.slacks[row.name] <= 1e-6]
    for receiver in tight[:3]:
        for giver in [row for row in limits if row.name != receiver.name][:3]:
            moved, share = "moved", "share_kept"
            sentence = (
                f"Time that is left over at '{giver.name}' may now be lent to '{receiver.name}'; of each unit lent, "
                f"the share `{share}` arrives."
            )
            rows = (
                NewRow(
                    giver.name,
                    {**{key: Coefficient(v) for key, v in giver.terms.items()}, moved: Coefficient(1.0)},
                    Relation.AT_MOST,
                    Coefficient(giver.rhs),
                    sentence,
                ),
                NewRow(
                    receiver.name,
                    {
                        **{key: Coefficient(v) for key, v in receiver.terms.items()},
                        moved: Coefficient(0.0, {share: -1.0}),
                    },
                    Relation.AT_MOST,
                    Coefficient(receiver.rhs),
                    sentence,
                ),
            )
            for value in (0.5, 0.9):
                patch = Patch(parameter(share, value, 0.0, "share", "of what is lent that arrives"),
                              (Variable(moved),), changed=rows)  # fmt: skip
                yield Sketch(Type.R5, patch, (sentence,))
