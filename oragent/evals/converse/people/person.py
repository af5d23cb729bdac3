"""Somebody at a school with a hidden utility: what is asked for, how a schedule is judged, and what is told of it."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from oragent.converse.decision import Judged, format_figure
from oragent.converse.problems.district import District, format_clock
from oragent.converse.problems.exact import Constraints, Exact, ScheduleOracle, to_restrictions
from oragent.converse.problems.school_texts import fill_text
from oragent.converse.prompting import quote_line
from oragent.evals.converse.people import records
from oragent.evals.converse.people.utilities import (
    ScheduleOutcome,
    TimePreference,
    Utility,
    judge_standing,
    maximum_utility,
    rank_outcomes,
)
from oragent.evals.converse.stakeholders import Profile, Request, Wish


class SchoolRole(StrEnum):
    """Who somebody at a school is."""

    PRINCIPAL = "principal"
    PARENT = "parent"
    ADMINISTRATOR = "administrator"
    COORDINATOR = "coordinator"


@dataclass(frozen=True)
class Person:
    """Somebody at a school.

    Attributes:
        utility: Utility that is hidden.
        oracle: Oracle of the district: exact where its schedules are enumerated, by a solver beyond.
    """

    utility: Utility
    oracle: ScheduleOracle
    _known: dict[str, Judged] = field(default_factory=dict, repr=False, compare=False)

    @property
    def district(self) -> District:
        """The district of the school."""
        return self.oracle.district

    @cached_property
    def maximum(self) -> float:
        """Greatest utility of any schedule."""
        return maximum_utility(self.utility, self.oracle)

    def __call__(self, decision: str, /) -> Judged:
        """Judge a schedule, recomputed from itself."""
        if decision not in self._known:
            self._known[decision] = self._judge_schedule(decision)
        return self._known[decision]

    @cached_property
    def wishes(self) -> tuple[Wish, ...]:
        """Its start time, then little load, then little deviation."""
        utility = self.utility
        wished = (
            Constraints(fixed=frozenset({(utility.school, self._best_positions)})), Constraints(load=utility.load),
            Constraints(deviation=utility.deviation),
        )  # fmt: skip
        result = [restriction for constraints in wished for restriction in to_restrictions(self.district, constraints)]
        return tuple(Wish(constraints, weight) for constraints, weight in zip(result, utility.weights, strict=True))

    @cached_property
    def outcomes(self) -> tuple[Request, ...]:
        """Requests by falling utility; among equals better time, load met, deviation met come first."""
        ranked = rank_outcomes(self.utility, self._times)
        return tuple(to_restrictions(self.district, constraints) for _, constraints in ranked)

    @cached_property
    def best(self) -> tuple[str, ...]:
        """The first two schedules of greatest utility, one where only that has it; the one found, by a solver."""
        if isinstance(self.oracle, Exact):
            schedules = self.oracle.schedules
            return tuple(map(schedules.letters, self.utility.maximisers(schedules)[:2].tolist()))
        solutions = (self.oracle.least_cost(solutions) for _, solutions in rank_outcomes(self.utility, self._times))
        return (next(solution.schedule for solution in solutions if solution is not None),)

    def record(self) -> dict[str, Any]:
        """Its utility as JSON has it, with the first of its best schedules."""
        return records.utility_record(self.utility, self.district, self.best[0])

    @cached_property
    def profile(self) -> Profile:
        """Traits and texts of the person."""
        hidden, name = self.utility, self.district.schools[self.utility.school].name
        way, school = str(hidden.direction), quote_line(name)
        weights = ", ".join(f"{weight:g}" for weight in hidden.weights)
        utility = (
            f"weights of time, load and deviation: {weights}\nload at most {hidden.load:g}, deviation at most "
            f"{hidden.deviation:g}\ngreatest utility: {self.maximum:.4f}"
        )
        return Profile(
            {"school": name, "direction": way}, {"school": name, "wants it": way}, utility,
            {role: fill_text(f"character_{role}", school=school) for role in SchoolRole},
            fill_text("wishes", school=school, way=way), self._worth_table(),
            (*hidden.weights, *(value for _, value in self._rank_outcomes), self.maximum),
        )  # fmt: skip

    @property
    def _times(self) -> int:
        return len(self.district.times)

    @property
    def _best_positions(self) -> int:
        return 0 if self.utility.direction is TimePreference.EARLY else self._times - 1

    @cached_property
    def _rank_outcomes(self) -> list[tuple[ScheduleOutcome, float]]:
        """All outcomes by falling utility, with what they are worth."""
        return [
            (outcome, self.utility.value(outcome, self._times))
            for outcome, _ in rank_outcomes(self.utility, self._times)
        ]

    def _judge_schedule(self, schedule: str) -> Judged:
        utility, standing_of_schedule = (
            self.utility,
            judge_standing(self.utility, self.district, schedule, self.maximum),
        )
        parts = [
            (
                standing_of_schedule.outcome.time == self._best_positions,
                "your school has the start time that you want most",
                "your school does not have the start time that you want most",
            ),
            (
                standing_of_schedule.outcome.load_met,
                "the load is low enough",
                f"bring the load to {utility.load:g} students or below",
            ),
            (
                standing_of_schedule.outcome.deviation_met,
                "the mean change is small enough",
                f"bring the mean change to {utility.deviation:g} minutes or below",
            ),
        ]
        met = tuple(yes for holds, yes, _ in parts if holds)
        return Judged(
            standing_of_schedule.value,
            standing_of_schedule.maximum,
            met,
            tuple(no for holds, _, no in parts if not holds),
        )

    def _worth_table(self) -> str:
        """A table of the outcomes."""
        utility = self.utility
        lines = [
            f"| Start of your school | At most {format_figure(utility.load)} students at the busiest time | "
            f"Mean change at most {format_figure(utility.deviation)} minutes | Worth |",
            "|---|---|---|---|",
        ]
        for outcome, value in self._rank_outcomes:
            met = " | ".join("yes" if is_met else "no" for is_met in (outcome.load_met, outcome.deviation_met))
            lines.append(f"| {format_clock(self.district.times[outcome.time])} | {met} | {value:.3f} |")
        return "\n".join(lines)
