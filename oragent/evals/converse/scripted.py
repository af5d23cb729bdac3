"""A stand-in for the models of both sides: it follows a script, so that everything can be tried without a server."""

from oragent._base.errors import ConfigError
from oragent.converse.decision import DecisionProblem
from oragent.evals.converse.evaluable_problems import stakeholders_of
from oragent.llm.scripted import Scripted
from oragent.report.pages.text import one_line


def standing_in(problem: DecisionProblem, name: str = "scripted") -> Scripted:
    """A model that plays all roles by the script of a problem.

    Raises:
        ConfigError: The problem has none.
    """
    script = stakeholders_of(problem).telling.script
    if script is None:
        raise ConfigError(f"nothing stands in for a model where {one_line(problem.name, 60)} is talked about: name one")
    return Scripted(lambda request, number: script(request), name)
