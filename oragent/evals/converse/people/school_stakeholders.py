"""SchoolStakeholders at the schools of a district whose schedules are all known: the stakeholders of its evaluation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oragent.converse.problems.exact import Exact
from oragent.converse.problems.schools import Schools
from oragent.evals.converse.people import records
from oragent.evals.converse.people.generating import function_centric, solution_centric
from oragent.evals.converse.people.person import Person, SchoolRole
from oragent.evals.converse.people.script import Script
from oragent.evals.converse.stakeholders import PersonaTexts

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


@dataclass(frozen=True, eq=False)
class SchoolStakeholders:
    """Whoever may care for a start time, early or late.

    Attributes:
        problem: Schools of the district.
        exact: All its schedules.
    """

    problem: Schools
    exact: Exact

    @cached_property
    def telling(self) -> PersonaTexts:
        """Words of parents, principals, administrators and coordinators."""
        return PersonaTexts(
            tuple(SchoolRole), "schools",
            "the schools, their students and start times today, the start times to choose from, what riders at the "
            "busiest time and change on average mean",
            "the start time, the riders, the change", {"vague": VAGUE, "precise": PRECISE}, Script(self.problem),
        )  # fmt: skip

    def generated(self, rng: np.random.Generator, functions: int = 0) -> Sequence[Person]:
        """One for each conditional solution that some utility can single out, or so many of random parameters."""
        utilities = function_centric(self.exact, rng, functions) if functions else solution_centric(self.exact, rng)
        return [Person(target.utility, self.exact) for target in utilities]

    def of(self, record: Mapping[str, Any]) -> tuple[Person, tuple[str, ...]]:
        """Somebody out of a record.

        Raises:
            ConfigError: It is no utility of this district.
        """
        utility, optimum = records.read_utility(record, self.exact.district)
        person = Person(utility, self.exact)
        return person, tuple(records.find_doubts(utility, optimum, person.best, self.exact.schedules))
