"""Districts of any size as oracles: exact where they are enumerated, by the solver beyond."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite
from typing import Protocol

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem, Solved
from oragent.converse.problems.constraints import (
    EVEN,
    Constraints,
    ObjectiveWeights,
    ScheduleObjective,
    ScheduleSolution,
)
from oragent.converse.problems.district import District, format_clock
from oragent.converse.state import Restriction, RestrictionKind, RestrictionState


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
    solver: Callable[[RestrictionState], Solved]

    @property
    def district(self) -> District:
        """The district whose schedules it knows."""
        return self.problem.district

    def least_cost(self, constraints: Constraints, weights: ObjectiveWeights = EVEN) -> ScheduleSolution | None:
        """The schedule of least cost that respects the constraints; None where there is none."""
        solved = self.solver(
            RestrictionState((weights.load, weights.deviation), to_restrictions(self.district, constraints))
        )
        return ScheduleSolution(solved.decision, self.district.features(solved.decision)) if solved.decision else None


def to_restrictions(district: District, constraints: Constraints) -> tuple[Restriction, ...]:
    """Constraints of a district as restrictions of a state."""
    chosen = [(RestrictionKind.FIX, pair) for pair in sorted(constraints.fixed)]
    chosen += [(RestrictionKind.FORBID, pair) for pair in sorted(constraints.forbidden)]
    result = [Restriction(kind, district.schools[school].name, format_clock(district.times[time]))
             for kind, (school, time) in chosen]  # fmt: skip
    for name, bound in (
        (ScheduleObjective.LOAD, constraints.load),
        (ScheduleObjective.DEVIATION, constraints.deviation),
    ):
        if isfinite(bound):
            result.append(Restriction(RestrictionKind.BOUND, str(name), relation="<=", value=bound))
    return tuple(result)


def to_constraints(problem: OfDistrict, state: RestrictionState) -> Constraints:
    """A state as constraints of the district."""
    load, deviation = inf, inf
    chosen: dict[RestrictionKind, set[tuple[int, int]]] = {RestrictionKind.FIX: set(), RestrictionKind.FORBID: set()}
    for restriction in state.restrictions:
        if restriction.kind is not RestrictionKind.BOUND:
            chosen[restriction.kind].add(problem.place(restriction.subject, restriction.option))
        elif not restriction.upper:
            raise ConfigError(f"{restriction.subject} is minimised: bound it from above")
        elif restriction.subject == ScheduleObjective.LOAD:
            load = restriction.limit
        else:
            deviation = restriction.limit
    return Constraints(
        frozenset(chosen[RestrictionKind.FIX]), frozenset(chosen[RestrictionKind.FORBID]), load, deviation
    )
