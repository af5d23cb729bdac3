"""API for a problem's ``eval.py``: arguments, the candidate in a confined process, and the result block.

Import it before numpy, because it pins numerical libraries to one thread: an evaluation uses one core. If a user starts
an ``eval.py``, this import restarts it without private variables in its environment.
"""

from oragent.harness import startup  # noqa: F401  isort: split
from oragent._base.errors import CandidateError
from oragent._base.protocol import Result
from oragent.harness.arguments import Arguments
from oragent.harness.figures import averages, figures, fresh, gaps, matrix, number, seconds
from oragent.harness.guest import Guest
from oragent.harness.instances import blocks, each
from oragent.harness.main import hook, run, watching
from oragent.harness.states import State
from oragent.harness.work import work

__all__ = [
    "Arguments",
    "CandidateError",
    "Guest",
    "Result",
    "State",
    "averages",
    "blocks",
    "each",
    "figures",
    "fresh",
    "gaps",
    "hook",
    "matrix",
    "number",
    "run",
    "seconds",
    "watching",
    "work",
]
