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
from oragent.evals.converse.stakeholders import PersonaTexts, Published

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


NOTE = (
    "Published figures are those of Drossman, Jacquillat and Martin 2026 (arXiv:2604.02666) with GPT-4.1 on 109 "
    "utilities that were not published: they stand beside ours for orientation, and are of other decision agents."
)

# by style and paradigm: mean score / success in percent, of T-P-P
PARADIGMS = {
    "vague": {"one-shot": ".67 / 15.6", "aware": ".71 / 19.3", "conversation": ".91 / 56.9"},
    "precise": {"one-shot": ".73 / 17.9", "aware": ".79 / 33.5", "conversation": ".95 / 73.4"},
    "all": {
        "default": ".56 / 8.3",
        "one-shot": ".70 / 16.7",
        "aware": ".75 / 26.4",
        "conversation": ".93 / 65.1",
    },  # 26.3 in print, which is no share of 436
}
# by style and feedback, and agent
AGENTS = {
    ("vague", "binary"): {"T-P-P": ".87 / 44.0", "C-P-P": ".86 / 42.2", "C-P-R": ".82 / 35.8", "C-N-R": ".70 / 24.8"},
    ("vague", "rich"): {"T-P-P": ".94 / 69.7", "C-P-P": ".88 / 56.0", "C-P-R": ".85 / 52.3", "C-N-R": ".83 / 37.6"},
    ("precise", "binary"): {"T-P-P": ".95 / 70.6", "C-P-P": ".89 / 53.2", "C-P-R": ".85 / 49.5", "C-N-R": ".82 / 32.1"},
    ("precise", "rich"): {"T-P-P": ".95 / 76.1", "C-P-P": ".90 / 67.9", "C-P-R": ".85 / 63.3", "C-N-R": ".82 / 31.2"},
    ("all", "all"): {"T-P-P": ".93 / 65.1", "C-P-P": ".88 / 54.8", "C-P-R": ".84 / 50.2", "C-N-R": ".79 / 31.4"},
}  # 31.1 and .81 of C-N-R in print: 34 of 109 are 31.2 %, and its cells have mean .79
TURNS = {
    ("vague", "binary"): {"T-P-P": "8.52", "C-P-P": "7.36", "C-P-R": "8.20", "C-N-R": "10.74"},
    ("vague", "rich"): {"T-P-P": "6.17", "C-P-P": "5.96", "C-P-R": "6.31", "C-N-R": "8.83"},
    ("precise", "binary"): {"T-P-P": "6.11", "C-P-P": "6.06", "C-P-R": "6.05", "C-N-R": "8.74"},
    ("precise", "rich"): {"T-P-P": "5.29", "C-P-P": "5.00", "C-P-R": "4.67", "C-N-R": "7.04"},
    ("all", "all"): {"T-P-P": "6.52", "C-P-P": "6.10", "C-P-R": "6.31", "C-N-R": "8.84"},
}
# model, T-P-P, C-N-R, relative gain, difference in success, turns and solver calls of T-P-P
MODELS = (
    ("GPT-3.5-turbo", ".83 / 34.4", ".61 / 11.0", "36.1 %", "23.4", "12.61", "4.60"),
    ("GPT-4.1", ".93 / 65.1", ".81 / 31.4", "14.8 %", "33.7", "6.52", "6.23"),
    ("GPT-5", ".93 / 63.3", ".88 / 44.7", "5.7 %", "18.6", "6.43", "13.35"),
)
# agent: ends by the maximum, by itself, by the limit
ENDS = {"T-P-P": (284, 152, 0), "C-P-P": (239, 194, 3)}  # 153 in print, with which they would be 437 conversations

DROSSMAN = Published(NOTE, 109, 436, PARADIGMS, AGENTS, TURNS, MODELS, ENDS)
