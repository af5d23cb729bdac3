"""Districts of any size as oracles: exact where they are enumerated, by the solver beyond."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Protocol

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem, Solved
from oragent.converse.problems.constraints import EVEN, Constraints, Objective, Solution, Weights
from oragent.converse.problems.district import District, clock
from oragent.converse.state import Kind, Restriction, State


class OfDistrict(DecisionProblem, Protocol):
    """The start times of a district."""

    @property
    def district(self) -> District:
        """District whose start times are decided."""

    def place(self, item: str, option: str) -> tuple[int, int]:
        """Positions of a school and of a start time."""


@dataclass(frozen=True, eq=False)
class Solving:
    """An oracle over a solver of states.

    Attributes:
        problem: Schools that are asked about.
        solver: Solver of their states.
    """

    problem: OfDistrict
    solver: Callable[[State], Solved]

    @property
    def district(self) -> District:
        """The district whose schedules it knows."""
        return self.problem.district

    def least_cost(self, constraints: Constraints, weights: Weights = EVEN) -> Solution | None:
        """The schedule of least cost that respects the constraints; None where there is none."""
        found = self.solver(State((weights.load, weights.deviation), restrictions(self.district, constraints)))
        return Solution(found.decision, self.district.features(found.decision)) if found.decision else None


def restrictions(district: District, constraints: Constraints) -> tuple[Restriction, ...]:
    """Constraints of a district as restrictions of a state."""
    chosen = [(Kind.FIX, pair) for pair in sorted(constraints.fixed)]
    chosen += [(Kind.FORBID, pair) for pair in sorted(constraints.forbidden)]
    found = [Restriction(kind, district.schools[school].name, clock(district.times[time]))
             for kind, (school, time) in chosen]  # fmt: skip
    for name, bound in ((Objective.LOAD, constraints.load), (Objective.DEVIATION, constraints.deviation)):
        if isfinite(bound):
            found.append(Restriction(Kind.BOUND, str(name), relation="<=", value=bound))
    return tuple(found)


def constraints(problem: OfDistrict, state: State) -> Constraints:
    """A state as constraints of the district."""
    load, deviation = inf, inf
    chosen: dict[Kind, set[tuple[int, int]]] = {Kind.FIX: set(), Kind.FORBID: set()}
    for one in state.restrictions:
        if one.kind is not Kind.BOUND:
            chosen[one.kind].add(problem.place(one.subject, one.option))
        elif not one.upper:
            raise ConfigError(f"{one.subject} is minimised: bound it from above")
        elif one.subject == Objective.LOAD:
            load = one.limit
        else:
            deviation = one.limit
    return Constraints(frozenset(chosen[Kind.FIX]), frozenset(chosen[Kind.FORBID]), load, deviation)
