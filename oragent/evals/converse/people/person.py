"""Somebody at a school with a hidden utility: what is asked for, how a schedule is judged, and what is told of it."""

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from oragent.converse.decision import format_figure
from oragent.converse.judging import Judged
from oragent.converse.problems.constraints import Constraints, ScheduleOracle
from oragent.converse.problems.district import District, format_clock
from oragent.converse.problems.exact import Exact
from oragent.converse.problems.oracle import to_restrictions
from oragent.converse.problems.school_texts import fill_text
from oragent.converse.prompting import quote_line
from oragent.evals.converse.people import records
from oragent.evals.converse.people.utilities import ScheduleOutcome, TimePreference, Utility, classes, maximum, standing
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
        return maximum(self.utility, self.oracle)

    def __call__(self, decision: str, /) -> Judged:
        """Judge a schedule, recomputed from itself."""
        if decision not in self._known:
            self._known[decision] = self._judged(decision)
        return self._known[decision]

    @cached_property
    def wishes(self) -> tuple[Wish, ...]:
        """Its start time, then little load, then little deviation."""
        own = self.utility
        asked = (
            Constraints(fixed=frozenset({(own.school, self._top)})), Constraints(load=own.load),
            Constraints(deviation=own.deviation),
        )  # fmt: skip
        found = [restriction for one in asked for restriction in to_restrictions(self.district, one)]
        return tuple(Wish(one, weight) for one, weight in zip(found, own.weights, strict=True))

    @cached_property
    def outcomes(self) -> tuple[Request, ...]:
        """What to ask for by falling utility; among equals better time, load met, deviation met come first."""
        ranked = classes(self.utility, self._times)
        return tuple(to_restrictions(self.district, asked) for _, asked in ranked)

    @cached_property
    def best(self) -> tuple[str, ...]:
        """The first two schedules of greatest utility, one where only that has it; the one found, by a solver."""
        if isinstance(self.oracle, Exact):
            known = self.oracle.schedules
            return tuple(map(known.letters, self.utility.maximisers(known)[:2].tolist()))
        asked = (self.oracle.least_cost(asked) for _, asked in classes(self.utility, self._times))
        return (next(found.schedule for found in asked if found is not None),)

    def record(self) -> dict[str, Any]:
        """Its utility as JSON has it, with the first of its best schedules."""
        return records.record(self.utility, self.district, self.best[0])

    @cached_property
    def profile(self) -> Profile:
        """What is told of it."""
        own, name = self.utility, self.district.schools[self.utility.school].name
        way, school = str(own.direction), quote_line(name)
        weights = ", ".join(f"{weight:g}" for weight in own.weights)
        utility = (
            f"weights of time, load and deviation: {weights}\nload at most {own.load:g}, deviation at most "
            f"{own.deviation:g}\ngreatest utility: {self.maximum:.4f}"
        )
        return Profile(
            {"school": name, "direction": way}, {"school": name, "wants it": way}, utility,
            {role: fill_text(f"character_{role}", school=school) for role in SchoolRole},
            fill_text("wishes", school=school, way=way), self._worth(),
            (*own.weights, *(value for _, value in self._ranked), self.maximum),
        )  # fmt: skip

    @property
    def _times(self) -> int:
        return len(self.district.times)

    @property
    def _top(self) -> int:
        return 0 if self.utility.direction is TimePreference.EARLY else self._times - 1

    @cached_property
    def _ranked(self) -> list[tuple[ScheduleOutcome, float]]:
        """All outcomes by falling utility, with what they are worth."""
        return [(one, self.utility.value(one, self._times)) for one, _ in classes(self.utility, self._times)]

    def _judged(self, schedule: str) -> Judged:
        own, found = self.utility, standing(self.utility, self.district, schedule, self.maximum)
        parts = [
            (found.outcome.time == self._top, "your school has the start time that you want most",
             "your school does not have the start time that you want most"),
            (found.outcome.load_met, "the load is low enough", f"bring the load to {own.load:g} students or below"),
            (found.outcome.deviation_met, "the mean change is small enough",
             f"bring the mean change to {own.deviation:g} minutes or below"),
        ]  # fmt: skip
        met = tuple(yes for holds, yes, _ in parts if holds)
        return Judged(found.value, found.maximum, met, tuple(no for holds, _, no in parts if not holds))

    def _worth(self) -> str:
        """A table of the outcomes."""
        own = self.utility
        lines = [
            f"| Start of your school | At most {format_figure(own.load)} students at the busiest time | "
            f"Mean change at most {format_figure(own.deviation)} minutes | Worth |",
            "|---|---|---|---|",
        ]
        for outcome, value in self._ranked:
            met = " | ".join("yes" if one else "no" for one in (outcome.load_met, outcome.deviation_met))
            lines.append(f"| {format_clock(self.district.times[outcome.time])} | {met} | {value:.3f} |")
        return "\n".join(lines)
