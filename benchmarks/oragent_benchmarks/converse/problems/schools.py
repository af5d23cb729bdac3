"""Start times of schools as a decision problem: by enumeration for a small district, by a solver for a large one."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from oragent._base.errors import ConfigError
from oragent.modelling import IndexedModel, Relation, Row, Sense, SolveStatus
from oragent_benchmarks.converse.decision import Goal, ProposedDecisions, Solved, Vocabulary
from oragent_benchmarks.converse.problems import school_texts
from oragent_benchmarks.converse.problems.district import (
    DEFAULT,
    SFUSD,
    District,
    School,
    find_school,
    find_time,
    format_clock,
    short_names,
    unknown_school,
    unknown_time,
)
from oragent_benchmarks.converse.problems.exact import (
    MAX_SCHEDULES,
    STUDENTS_A_UNIT,
    Exact,
    ObjectiveWeights,
    ScheduleObjective,
    enumerate_schedules,
    to_constraints,
)
from oragent_benchmarks.converse.problems.programs import ProgramForm, school_form
from oragent_benchmarks.converse.problems.school_texts import school_model
from oragent_benchmarks.converse.solving import begin, by_milp
from oragent_benchmarks.converse.state import RestrictionState

# Seconds of a solve of a district that is too large to enumerate; such results state their gap.
LIMIT_S = 12.0
MAX_HEADLINE_LENGTH = 30


MAX_SCHOOLS, MAX_TIMES = 500, 12
# 7:30 and 9:30 in the morning, in minutes after midnight.
FIRST, LAST = 450, 570
# Each grade with its minimum and maximum number of students.
GRADES = (("ES", 90, 350), ("MS", 300, 900), ("HS", 700, 2000))
SHARES = (0.6, 0.25, 0.15)


@dataclass(frozen=True, eq=False)
class Schools:
    """Decision problem of a district's start times.

    Attributes:
        opening: Opening schedule of a conversation; empty for the schedule of least cost.
        limit_s: Seconds of a solve if there are too many schedules to enumerate.
    """

    district: District
    opening: str = ""
    limit_s: float = LIMIT_S
    vocabulary: Vocabulary = field(init=False)

    def __post_init__(self) -> None:
        options = tuple(format_clock(minutes) for minutes in self.district.times)
        words = Vocabulary("fix_start_time", "school", "time", options, "schedule", said="start time", unsaid=" AM")
        object.__setattr__(self, "vocabulary", words)

    @property
    def name(self) -> str:
        """Name of the district."""
        return self.district.name

    @property
    def goals(self) -> int:
        """Number of objectives: load and deviation."""
        return 2

    @property
    def protected(self) -> tuple[str, ...]:
        """Names of the two constraints of the base model."""
        return "assign_one_start_time", "max_students_per_time"

    @cached_property
    def expressions(self) -> tuple[Goal, ...]:
        """Load in hundreds of students, deviation in minutes."""
        share = 1 / len(self.district.schools)
        changes = {f"c[{school}]": share for school in self._positions}
        return (
            Goal(
                ScheduleObjective.LOAD,
                "load",
                "students",
                {"L": 1.0},
                scale=STUDENTS_A_UNIT,
                model_unit="hundreds of students",
                meaning="students carried at the busiest start time",
            ),
            Goal(
                ScheduleObjective.DEVIATION,
                "deviation",
                "minutes",
                changes,
                meaning="mean change of start times against today",
            ),
        )

    @cached_property
    def base(self) -> IndexedModel:
        """Model with one start time per school, and linearised load and changes."""
        return school_model(self.district)

    @cached_property
    def first(self) -> Solved:
        """Opening schedule, or the schedule of least cost."""
        if self.opening:
            return Solved(SolveStatus.OPTIMAL, self.opening)
        return self.solve(begin(self))

    @property
    def default(self) -> str:
        """Opening schedule of a conversation."""
        return self.first.decision

    @cached_property
    def exact(self) -> Exact | None:
        """Enumerated schedules; None if there are too many."""
        small = len(self.district.times) ** len(self.district.schools) <= MAX_SCHEDULES
        if small:
            return Exact(enumerate_schedules(self.district))
        return None

    def item(self, text: str) -> str:
        """Return the school of a name.

        Raises:
            ConfigError: The name refers to no school, or to several.
        """
        position = find_school(self.district, text)
        if position is None:
            raise ConfigError(unknown_school(self.district, text))
        return self.district.schools[position].name

    def option(self, item: str, text: str) -> str:
        """Return the start time of a text, in clock format.

        Raises:
            ConfigError: The text is not a start time of the district.
        """
        position = find_time(self.district, text)
        if position is None:
            raise ConfigError(unknown_time(self.district, text))
        return format_clock(self.district.times[position])

    def options(self, item: str) -> tuple[str, ...]:
        """Return all start times."""
        return self.vocabulary.options

    def short(self, item: str) -> str:
        """Return the first word of a school's name if it is unique."""
        return self._short_names.get(item, item)

    def rows(self, item: str, option: str, forbid: bool) -> tuple[Row, ...]:
        """Return one row: x = 1, or x = 0."""
        school, time = self.district.place(item, option)
        name = f"{'forbid' if forbid else 'fix'} {item} at {option}"
        return (Row(name, {f"x[{school + 1},{time + 1}]": 1.0}, Relation.EQUAL, 0.0 if forbid else 1.0),)

    def decision(self, values: Mapping[str, float]) -> str:
        """Return the decision of a point: one letter for each school."""
        times = range(len(self.district.times))
        return "".join(
            self.district.letters[max(times, key=lambda time: values.get(f"x[{school},{time + 1}]", 0.0))]
            for school in self._positions
        )

    def features(self, decision: str) -> tuple[float, ...]:
        """Return load in students and deviation in minutes."""
        features = self.district.features(decision)
        return float(features.load), features.deviation

    def headline(self, decision: str) -> str:
        """Return the letters if they fit on a line."""
        if len(decision) <= MAX_HEADLINE_LENGTH:
            return decision
        return ""

    def render(self, decision: str) -> str:
        """Return the table of schools."""
        return school_texts.render_schedule(self.district, decision)

    def read(self, text: str) -> ProposedDecisions:
        """Read every complete schedule in tables and JSON."""
        return school_texts.read_schedules(self.district, text)

    def chosen(self, decision: str) -> Mapping[str, str]:
        """Return the start time of each school."""
        chosen = zip(self.district.schools, self.district.chosen(decision), strict=True)
        return {school.name: self.vocabulary.options[time] for school, time in chosen}

    def solve(self, state: RestrictionState) -> Solved:
        """Solve by enumeration, or with the solver within ``limit_s``."""
        if self.exact is None:
            return by_milp(self, state, self.limit_s)
        solution = self.exact.least_cost(to_constraints(self.district, state), ObjectiveWeights(*state.weights))
        if solution:
            return Solved(SolveStatus.OPTIMAL, solution.schedule)
        return Solved(SolveStatus.INFEASIBLE)

    def extreme(self, state: RestrictionState, position: int, sense: Sense) -> Solved:
        """Return the smallest or largest value of load or deviation, by enumeration.

        Raises:
            ConfigError: There are too many schedules for a maximum; the model bounds load and changes only from below.
        """
        if sense is Sense.MINIMIZE:
            return self.solve(replace(state, weights=(1.0 - position, float(position))))
        if self.exact is None:
            raise ConfigError(f"the highest {self.expressions[position].word} is computed for small districts only")
        allowed = np.flatnonzero(self.exact.allowed(to_constraints(self.district, state)))
        if not len(allowed):
            return Solved(SolveStatus.INFEASIBLE)
        table = self.exact.schedules
        values = (table.load, table.deviation)[position][allowed]
        return Solved(SolveStatus.OPTIMAL, table.letters(int(allowed[int(np.argmax(values))])))

    def setting(self) -> str:
        """Describe the district and its model to an optimisation agent."""
        features = self.district.features(self.default)
        return school_texts.fill_text(
            "setting_schools",
            count=len(self.district.schools),
            times=", ".join(self.vocabulary.options),
            table=self.render(self.default),
            load=f"{features.load / STUDENTS_A_UNIT:g}",
            deviation=f"{features.deviation:g}",
        )

    def known(self) -> str:
        """Describe schools, times and both objectives to a decision agent, without the model."""
        return school_texts.fill_text(
            "known_schools", times=", ".join(self.vocabulary.options), table=self.render(self.default)
        )

    @cached_property
    def program(self) -> ProgramForm:
        """Return the formulation that C-P agents edit."""
        return school_form(self.district)

    @property
    def _positions(self) -> range:
        return range(1, len(self.district.schools) + 1)

    @cached_property
    def _short_names(self) -> dict[str, str]:
        return short_names(self.district)


def sfusd() -> Schools:
    """Return the district of ten schools in San Francisco."""
    return Schools(SFUSD, DEFAULT)


def generate_district(schools: int, times: int, seed: int = 0, limit_s: float = LIMIT_S) -> Schools:
    """A district with random enrolment and start times.

    Args:
        schools: Number of schools, 2 to 500.
        times: Number of start times, 2 to 12, even steps from 7:30 to 9:30.
        seed: Seed of the random numbers.
        limit_s: Seconds of a solve.

    Raises:
        ConfigError: A number is out of range.
    """
    if not (2 <= schools <= MAX_SCHOOLS and 2 <= times <= MAX_TIMES and seed >= 0):
        raise ConfigError(
            f"a district of {schools} schools, {times} times and seed {seed}: expected 2 to {MAX_SCHOOLS} schools, "
            f"2 to {MAX_TIMES} times, a seed of 0 or more, such as district:50:3 or district:200:6:0"
        )
    rng = np.random.default_rng([seed, schools, times])
    starts = tuple(int(minutes) for minutes in np.round(np.linspace(FIRST, LAST, times)))
    drawn = []
    for number in range(1, schools + 1):
        grade, low, high = GRADES[rng.choice(len(GRADES), p=SHARES)]
        current = 5 * int(rng.integers(FIRST // 5, LAST // 5 + 1))
        drawn.append(School(f"School {number} {grade}", grade, int(rng.integers(low, high + 1)), current))
    return Schools(District(f"district:{schools}:{times}:{seed}", tuple(drawn), starts), limit_s=limit_s)
