"""School stakeholders with hidden utilities: wishes, judgement, texts, records, and published figures."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

import numpy as np

from oragent._base.errors import ConfigError
from oragent.converse.prompting import quote_line
from oragent_benchmarks.converse.decision import Judged, format_figure
from oragent_benchmarks.converse.people.script import Script
from oragent_benchmarks.converse.people.utilities import (
    ScheduleOutcome,
    TimePreference,
    Utility,
    function_centric,
    maximum_utility,
    rank_outcomes,
    solution_centric,
)
from oragent_benchmarks.converse.problems.district import (
    District,
    find_school,
    format_clock,
    quote_text,
    unknown_school,
)
from oragent_benchmarks.converse.problems.exact import Constraints, Exact, ScheduleOracle, Schedules, to_restrictions
from oragent_benchmarks.converse.problems.school_texts import fill_text
from oragent_benchmarks.converse.problems.schools import Schools
from oragent_benchmarks.converse.stakeholders import PersonaTexts, Profile, Published, Request, Wish

KEYS, LISTED_KEYS = ("load", "deviation", "weights"), ("L", "R", "w")


VAGUE = (
    "That is rather late for us. Could it be somewhat earlier, if that is not too hard on the others?",
    "The buses look very full at one time of the day. Can that be eased a little?",
    "I could live with a little more change if mornings got calmer.",
)
PRECISE = (
    "We need to start at 8:40 at the latest.",
    "I accept up to 12 minutes of change on average, not more.",
    "If no more than 2,500 students ride at once, I can do without the earliest start.",
)
NOTE = (
    "Published figures are those of Drossman, Jacquillat and Martin 2026 (arXiv:2604.02666) with GPT-4.1 on 109 "
    "utilities that were not published. They can be compared only roughly, because the decision agents differ."
)
# Mean score / success in percent of T-P-P, by style and paradigm.
PARADIGMS = {
    "vague": {"one-shot": ".67 / 15.6", "aware": ".71 / 19.3", "conversation": ".91 / 56.9"},
    "precise": {"one-shot": ".73 / 17.9", "aware": ".79 / 33.5", "conversation": ".95 / 73.4"},
    "all": {
        "default": ".56 / 8.3",
        "one-shot": ".70 / 16.7",
        "aware": ".75 / 26.4",
        "conversation": ".93 / 65.1",
    },  # The paper prints 26.3, which is not a share of 436.
}
# Mean score / success in percent, by style and feedback, and agent.
AGENTS = {
    ("vague", "binary"): {"T-P-P": ".87 / 44.0", "C-P-P": ".86 / 42.2", "C-P-R": ".82 / 35.8", "C-N-R": ".70 / 24.8"},
    ("vague", "rich"): {"T-P-P": ".94 / 69.7", "C-P-P": ".88 / 56.0", "C-P-R": ".85 / 52.3", "C-N-R": ".83 / 37.6"},
    ("precise", "binary"): {"T-P-P": ".95 / 70.6", "C-P-P": ".89 / 53.2", "C-P-R": ".85 / 49.5", "C-N-R": ".82 / 32.1"},
    ("precise", "rich"): {"T-P-P": ".95 / 76.1", "C-P-P": ".90 / 67.9", "C-P-R": ".85 / 63.3", "C-N-R": ".82 / 31.2"},
    ("all", "all"): {"T-P-P": ".93 / 65.1", "C-P-P": ".88 / 54.8", "C-P-R": ".84 / 50.2", "C-N-R": ".79 / 31.4"},
}  # The paper prints 31.1 and .81 for C-N-R: 34 of 109 are 31.2 %, and its cells have mean .79.
TURNS = {
    ("vague", "binary"): {"T-P-P": "8.52", "C-P-P": "7.36", "C-P-R": "8.20", "C-N-R": "10.74"},
    ("vague", "rich"): {"T-P-P": "6.17", "C-P-P": "5.96", "C-P-R": "6.31", "C-N-R": "8.83"},
    ("precise", "binary"): {"T-P-P": "6.11", "C-P-P": "6.06", "C-P-R": "6.05", "C-N-R": "8.74"},
    ("precise", "rich"): {"T-P-P": "5.29", "C-P-P": "5.00", "C-P-R": "4.67", "C-N-R": "7.04"},
    ("all", "all"): {"T-P-P": "6.52", "C-P-P": "6.10", "C-P-R": "6.31", "C-N-R": "8.84"},
}
# Model, T-P-P, C-N-R, relative gain, difference in success, turns and solver calls of T-P-P.
MODELS = (
    ("GPT-3.5-turbo", ".83 / 34.4", ".61 / 11.0", "36.1 %", "23.4", "12.61", "4.60"),
    ("GPT-4.1", ".93 / 65.1", ".81 / 31.4", "14.8 %", "33.7", "6.52", "6.23"),
    ("GPT-5", ".93 / 63.3", ".88 / 44.7", "5.7 %", "18.6", "6.43", "13.35"),
)
# Ends by the maximum, by the agent itself, and by the limit, by agent.
# The paper prints 153, with which the sum would be 437 conversations.
ENDS = {"T-P-P": (284, 152, 0), "C-P-P": (239, 194, 3)}
DROSSMAN = Published(NOTE, 109, 436, PARADIGMS, AGENTS, TURNS, MODELS, ENDS)


def utility_record(utility: Utility, district: District, optimum: str) -> dict[str, Any]:
    """Return a utility as a JSON record, with its school by name."""
    return {
        "school": district.schools[utility.school].name,
        "direction": utility.direction,
        "load": utility.load,
        "deviation": utility.deviation,
        "weights": utility.weights,
        "optimum": optimum,
    }


def read_utility(record: Mapping[str, Any], district: District) -> tuple[Utility, str | None]:
    """Return the utility in a record, and the schedule that the record calls optimal, or None.

    Records of oragent name the school. Records of a plain list have ``school`` (position from 0), ``early``, ``L``,
    ``R``, ``w`` and ``schedule``.
    """
    listed = "early" in record
    load, deviation, weights = (record.get(key) for key in (LISTED_KEYS if listed else KEYS))
    if not _is_number(load) or not _is_number(deviation):
        raise ConfigError(f"load and deviation must be numbers, not {load!r:.40} and {deviation!r:.40}")
    if not isinstance(weights, list) or not all(map(_is_number, weights)):
        raise ConfigError(f"weights must be three numbers, not {weights!r:.60}")
    school, direction = record.get("school"), record["early"] if listed else record.get("direction")
    position = _school_position(school, district) if listed else _named_school(school, district)
    if listed and not isinstance(direction, bool):
        raise ConfigError(f"early must be true or false, not {direction!r:.40}")
    if listed:
        direction = TimePreference.EARLY if direction else TimePreference.LATE
    elif direction not in list(TimePreference):
        raise ConfigError(f"direction must be early or late, not {direction!r:.40}")
    optimum = record.get("schedule" if listed else "optimum")
    # A wrong number of weights is an error that the utility itself reports.
    result = Utility(position, TimePreference(direction), float(load), float(deviation), tuple(weights))  # type: ignore[arg-type]
    return result, optimum if isinstance(optimum, str) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e12


def _school_position(value: Any, district: District) -> int:
    last = len(district.schools) - 1
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= last:
        raise ConfigError(f"unknown school {value!r:.40}; expected its position, 0 to {last}")
    return value


def _named_school(value: Any, district: District) -> int:
    name = value if isinstance(value, str) else repr(value)
    position = find_school(district, name)
    if position is None:
        raise ConfigError(unknown_school(district, name))
    return position


def find_doubts(utility: Utility, optimum: str | None, best: Sequence[str], schedules: Schedules) -> Iterator[str]:
    """Yield one line for each required property that a utility lacks."""
    least_load, least_deviation = schedules.load.min(), schedules.deviation.min()
    if utility.load < least_load:
        yield f"no schedule reaches load {utility.load:g}; the least is {least_load:,}"
    if utility.deviation < least_deviation:
        yield f"no schedule reaches deviation {utility.deviation:g}; the least is {least_deviation:g}"
    if len(best) > 1:
        yield f"no unique maximum: {' and '.join(best)} are equally good"
    elif optimum not in (None, best[0]):
        yield f"the best schedule is {best[0]}, not {quote_text(str(optimum))}"


class SchoolRole(StrEnum):
    """Role of a person at a school."""

    PRINCIPAL = "principal"
    PARENT = "parent"
    ADMINISTRATOR = "administrator"
    COORDINATOR = "coordinator"


@dataclass(frozen=True)
class Person:
    """Person at a school. The oracle is exact for enumerated schedules; otherwise it uses a solver."""

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
        """Judge a schedule. All values are recomputed from the schedule."""
        if decision not in self._known:
            self._known[decision] = self._judge_schedule(decision)
        return self._known[decision]

    @cached_property
    def wishes(self) -> tuple[Wish, ...]:
        """Wishes in order: start time, small load, small deviation."""
        utility = self.utility
        wished = (
            Constraints(fixed=frozenset({(utility.school, self._best_positions)})),
            Constraints(load=utility.load),
            Constraints(deviation=utility.deviation),
        )
        result = [restriction for constraints in wished for restriction in to_restrictions(self.district, constraints)]
        return tuple(Wish(constraints, weight) for constraints, weight in zip(result, utility.weights, strict=True))

    @cached_property
    def outcomes(self) -> tuple[Request, ...]:
        """Requests by decreasing utility. Of equal ones, better time comes first, then met load, then met deviation."""
        ranked = rank_outcomes(self.utility, self._times)
        return tuple(to_restrictions(self.district, constraints) for _, constraints in ranked)

    @cached_property
    def best(self) -> tuple[str, ...]:
        """The first two schedules of greatest utility, or the only one. With a solver, the schedule that it found."""
        if isinstance(self.oracle, Exact):
            schedules = self.oracle.schedules
            return tuple(map(schedules.letters, self.utility.maximisers(schedules)[:2].tolist()))
        solutions = (self.oracle.least_cost(solutions) for _, solutions in rank_outcomes(self.utility, self._times))
        return (next(solution.schedule for solution in solutions if solution is not None),)

    def record(self) -> dict[str, Any]:
        """Return its utility as a JSON record, with the first of its best schedules."""
        return utility_record(self.utility, self.district, self.best[0])

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
            {"school": name, "direction": way},
            {"school": name, "wants it": way},
            utility,
            {role: fill_text(f"character_{role}", school=school) for role in SchoolRole},
            fill_text("wishes", school=school, way=way),
            self._worth_table(),
            (*hidden.weights, *(value for _, value in self._rank_outcomes), self.maximum),
        )

    @property
    def _times(self) -> int:
        return len(self.district.times)

    @property
    def _best_positions(self) -> int:
        if self.utility.direction is TimePreference.EARLY:
            return 0
        return self._times - 1

    @cached_property
    def _rank_outcomes(self) -> list[tuple[ScheduleOutcome, float]]:
        """Return all outcomes by decreasing utility, with their values."""
        return [
            (outcome, self.utility.value(outcome, self._times))
            for outcome, _ in rank_outcomes(self.utility, self._times)
        ]

    def _judge_schedule(self, schedule: str) -> Judged:
        utility, outcome = self.utility, self.utility.outcome(self.district, schedule)
        parts = [
            (
                outcome.time == self._best_positions,
                "your school has the start time that you want most",
                "your school does not have the start time that you want most",
            ),
            (outcome.load_met, "the load is low enough", f"bring the load to {utility.load:g} students or below"),
            (
                outcome.deviation_met,
                "the mean change is small enough",
                f"bring the mean change to {utility.deviation:g} minutes or below",
            ),
        ]
        met = tuple(yes for holds, yes, _ in parts if holds)
        missed = tuple(no for holds, _, no in parts if not holds)
        return Judged(utility.value(outcome, self._times), self.maximum, met, missed)

    def _worth_table(self) -> str:
        """Return a table of the outcomes."""
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


@dataclass(frozen=True, eq=False)
class SchoolStakeholders:
    """People who prefer an early or a late start time."""

    problem: Schools
    exact: Exact

    @cached_property
    def telling(self) -> PersonaTexts:
        """Texts for parents, principals, administrators and coordinators."""
        return PersonaTexts(
            tuple(SchoolRole),
            "schools",
            "the schools, their students and start times today, the start times to choose from, what riders at the "
            "busiest time and change on average mean",
            "the start time, the riders, the change",
            {"vague": VAGUE, "precise": PRECISE},
            Script(self.problem),
        )

    def generated(self, rng: np.random.Generator, functions: int = 0) -> Sequence[Person]:
        """Generate one person per identifiable conditional solution, or ``functions`` random persons."""
        utilities = function_centric(self.exact, rng, functions) if functions else solution_centric(self.exact, rng)
        return [Person(target.utility, self.exact) for target in utilities]

    def of(self, record: Mapping[str, Any]) -> tuple[Person, tuple[str, ...]]:
        """Read a person from a record."""
        utility, optimum = read_utility(record, self.exact.district)
        person = Person(utility, self.exact)
        return person, tuple(find_doubts(utility, optimum, person.best, self.exact.schedules))
