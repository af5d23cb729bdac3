"""Find the stakeholders of a decision problem and the figures that were published of it."""

from oragent._base.errors import ConfigError
from oragent._base.plain import one_line
from oragent.converse.decision import DecisionProblem
from oragent.converse.problems.district import SFUSD
from oragent.converse.problems.schools import Schools
from oragent.evals.converse.people.school_stakeholders import DROSSMAN, SchoolStakeholders
from oragent.evals.converse.stakeholders import Evaluable, Published, Stakeholders
from oragent.llm.callable import Scripted


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


def standing_in(problem: DecisionProblem, name: str = "scripted") -> Scripted:
    """A model that plays all roles by the script of a problem.

    Raises:
        ConfigError: The problem has none.
    """
    script = stakeholders_of(problem).telling.script
    if script is None:
        raise ConfigError(f"nothing stands in for a model where {one_line(problem.name, 60)} is talked about: name one")
    return Scripted(lambda request, number: script(request), name)
