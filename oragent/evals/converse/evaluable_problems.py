"""Find the stakeholders of a decision problem and the figures that were published of it."""

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem
from oragent.converse.problems.schools import Schools
from oragent.converse.problems.sfusd import SFUSD
from oragent.evals.converse.people.published import DROSSMAN
from oragent.evals.converse.people.school_stakeholders import SchoolStakeholders
from oragent.evals.converse.published import Published
from oragent.evals.converse.stakeholders import Evaluable, Stakeholders
from oragent.report.pages.text import one_line


def stakeholders_of(problem: DecisionProblem) -> Stakeholders:
    """Return the stakeholders of a problem.

    Raises:
        ConfigError: It has none, or its decisions are too many to be enumerated.
    """
    if isinstance(problem, Schools):
        if problem.exact is None:
            raise ConfigError(
                "an evaluation needs a district whose schedules can be enumerated: expected sfusd or a small one, not "
                f"{problem.name!r}"
            )
        return SchoolStakeholders(problem, problem.exact)
    if not isinstance(problem, Evaluable):
        raise ConfigError(
            f"{one_line(problem.name, 60)} has no stakeholders: an evaluation needs a problem with a method "
            "'stakeholders', which says who wants what of it"
        )
    return problem.stakeholders()


def published_of(problem: DecisionProblem) -> Published:
    """Return the figures that were published of a problem; empty where there are none."""
    return DROSSMAN if isinstance(problem, Schools) and problem.district == SFUSD else Published()
