"""What operators of revision share: who is active in an optimum, how far a variable can go, and whether it is used."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from oragent.evals.workspace.generating.patches import Coefficient, NewParameter, NewRow, Patch
from oragent.milp.model import Milp, Objective, Relation, Sense, Variable, VariableKind
from oragent.milp.solution import Solution, SolveStatus
from oragent.milp.solving import solve

ACTIVE = 1e-6


@dataclass
class Base:
    """The original, as operators see it.

    Attributes:
        milp: The model, with names that a program can have.
        solution: Its optimum.
        labels: What people call a variable, by name.
        money: Unit of the objective.
    """

    milp: Milp
    solution: Solution
    labels: dict[str, str] = field(default_factory=dict)
    _reach: dict[str, float | None] = field(default_factory=dict)

    @property
    def money(self) -> str:
        """Unit of the objective."""
        return self.milp.objective.unit or "points"

    @property
    def optimum(self) -> float:
        """Of the original."""
        assert self.solution.objective is not None
        return self.solution.objective

    @property
    def worse(self) -> float:
        """1 where a larger objective is worse, -1 where it is better."""
        return 1.0 if self.milp.sense is Sense.MINIMIZE else -1.0

    @cached_property
    def active(self) -> list[Variable]:
        """Variables that are not 0 in the optimum, the largest first."""
        values = self.solution.values
        found = [one for one in self.milp.variables if values[one.name] > ACTIVE and one.low >= 0]
        return sorted(found, key=lambda one: -values[one.name])

    @property
    def amounts(self) -> list[Variable]:
        """Active variables that are amounts, and not decisions between 0 and 1."""
        return [one for one in self.active if not one.is_binary]

    @property
    def decisions(self) -> list[Variable]:
        """Active variables that are decisions between 0 and 1."""
        return [one for one in self.active if one.is_binary]

    def value(self, one: Variable) -> float:
        """Of a variable in the optimum."""
        return self.solution.values[one.name]

    def label(self, one: Variable) -> str:
        """What people call it."""
        return self.labels.get(one.name, one.name)

    def reach(self, one: Variable) -> float | None:
        """The most that a variable can come to; None where there is no end to it."""
        if one.name not in self._reach:
            if np.isfinite(one.high):
                self._reach[one.name] = one.high
            else:
                far = solve(replace(self.milp, objective=Objective({one.name: 1.0}), sense=Sense.MAXIMIZE), duals=False)
                self._reach[one.name] = far.objective if far.status is SolveStatus.OPTIMAL else None
        return self._reach[one.name]


def use(base: Base, chosen: Sequence[Variable]) -> tuple[dict[str, str], Patch] | None:
    """Indicators of whether variables are used: themselves where they are decisions, else new ones.

    Returns:
        Name of the indicator by variable, and the patch that makes them; None where a variable has no end.
    """
    names, patch = {}, Patch()
    for one in chosen:
        if one.is_binary:
            names[one.name] = one.name
            continue
        most = base.reach(one)
        if most is None or most <= 0:
            return None
        most = float(np.ceil(most))
        names[one.name], limit = f"use_{one.name}", f"ceiling_{one.name}"
        unit = one.unit or "units"
        sentence = f"What is not opened stays at zero; opened, {base.label(one)} comes to at most `{limit}`."
        row = NewRow(f"open_{one.name}", {one.name: Coefficient(1.0), names[one.name]: Coefficient(0.0, {limit: -1.0})},
                     Relation.AT_MOST, Coefficient(), sentence)  # fmt: skip
        meaning = f"most that {base.label(one)} can come to"
        patch = patch.joined(
            Patch(
                (NewParameter(limit, most, most, unit, meaning),),
                (Variable(names[one.name], 0, 1, VariableKind.INTEGER),),
                (row,),
            )
        )
    return names, patch
