"""Objectives of indexed models, their weighted sums, and the order in which they are optimised."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from oragent.modelling.data.display import number
from oragent.modelling.data.features import FurtherObjective, QuadraticTerm
from oragent.modelling.data.links import LinkedVector
from oragent.modelling.data.model_values import Sense
from oragent.modelling.references.reference_text import name_text


@dataclass(frozen=True, eq=False)
class IndexedObjective:
    """An objective: linear and quadratic terms over the columns."""

    name: str
    sense: Sense
    # ``(n,)`` coefficients of all columns.
    cost: LinkedVector
    constant: float = 0.0
    unit: str = ""
    meaning: str = ""
    # Weight in the sum of its priority. 0 means that it is not optimised, except for the first objective, whose weight
    # is then 1.
    weight: float = 0.0
    # Priority. Larger ones are optimised first.
    priority: int = 0
    # Objectives of lower priority may give up this share of its optimum, or this amount if it is larger.
    slack: float = 0.0
    slack_amount: float = 0.0
    # Products of columns, added to the linear terms.
    quadratic: tuple[QuadraticTerm[int], ...] = ()

    @classmethod
    def from_further(cls, goal: FurtherObjective[int], columns: int) -> "IndexedObjective":
        """Return a further objective of a model with a number of columns."""
        cost = np.zeros(columns)
        cost[list(goal.terms)] = list(goal.terms.values())
        return cls(
            goal.name,
            goal.sense,
            LinkedVector.of_numbers(cost),
            goal.constant,
            weight=goal.weight,
            priority=goal.priority,
            slack=goal.slack,
            slack_amount=goal.slack_amount,
        )

    def allowance(self, optimum: float) -> float:
        """Return the amount by which objectives of lower priority may worsen an optimum."""
        return max(self.slack * abs(optimum), self.slack_amount)


def effective_weights(objectives: Sequence[IndexedObjective]) -> list[float]:
    """Return the weight of each objective of a model; 0 for objectives that are not optimised."""
    return [goal.weight or float(position == 0) for position, goal in enumerate(objectives)]


def rank_objectives(objectives: Sequence[IndexedObjective]) -> tuple[IndexedObjective, ...]:
    """Return the weighted sum of each priority, the largest priority first.

    The list is empty only without objectives.
    """
    members: dict[int, list[tuple[float, IndexedObjective]]] = defaultdict(list)
    for weight, goal in zip(effective_weights(objectives), objectives, strict=True):
        if weight:
            members[goal.priority].append((weight, goal))
    return tuple(sum_objectives(members[priority]) for priority in sorted(members, reverse=True))


def sum_objectives(parts: Sequence[tuple[float, IndexedObjective]]) -> IndexedObjective:
    """Return the sum of weighted objectives in the sense of the first one. A single objective stays as it is.

    An objective of the opposite sense is subtracted.
    """
    first = parts[0][1]
    if len(parts) == 1:
        return first
    factors = [weight if goal.sense is first.sense else -weight for weight, goal in parts]
    base = np.zeros(len(first.cost))
    links = first.cost.links.keep(np.zeros(len(first.cost.links), dtype=bool))
    quadratic: list[QuadraticTerm[int]] = []
    for factor, (_, goal) in zip(factors, parts, strict=True):
        base = base + factor * goal.cost.base
        links = links.append(replace(goal.cost.links, factors=factor * goal.cost.links.factors))
        quadratic += [replace(term, value=factor * term.value) for term in goal.quadratic]
    units = {goal.unit for _, goal in parts}
    return replace(
        first,
        name=_sum_text(factors, [goal.name for _, goal in parts]),
        cost=LinkedVector(base, links),
        constant=sum(factor * goal.constant for factor, (_, goal) in zip(factors, parts, strict=True)),
        unit=units.pop() if len(units) == 1 else "",
        meaning="",
        slack=max(goal.slack for _, goal in parts),
        slack_amount=max(goal.slack_amount for _, goal in parts),
        quadratic=tuple(quadratic),
    )


def _sum_text(factors: Sequence[float], names: Sequence[str]) -> str:
    text = ""
    for factor, name in zip(factors, names, strict=True):
        sign = ""
        if text:
            sign = "- " if factor < 0 else "+ "
        size = "" if abs(factor) == 1 else f"{number(abs(factor))} * "
        text = f"{text} {sign}{size}{name_text(name)}".lstrip()
    return text


def base_objective(objectives: Sequence[IndexedObjective]) -> IndexedObjective:
    """Return the objective to which others are relative: the first of the lowest priority that is not negative.

    Files state others relative to it.
    """
    weights = effective_weights(objectives)
    ranked = [goal for weight, goal in zip(weights, objectives, strict=True) if weight]
    return min(ranked, key=lambda goal: (goal.priority < 0, goal.priority))


def further_objectives(objectives: Sequence[IndexedObjective]) -> list[IndexedObjective]:
    """Return the other objectives, with weights and priorities relative to ``base_objective``."""
    own = base_objective(objectives)
    weight_of = dict(zip(map(id, objectives), effective_weights(objectives), strict=True))
    others = []
    for goal in objectives:
        if goal is own:
            continue
        weight = weight_of[id(goal)]
        if goal.priority == own.priority:
            weight /= weight_of[id(own)]
        priority = goal.priority - own.priority if weight else 0
        others.append(replace(goal, weight=weight, priority=priority))
    return others
