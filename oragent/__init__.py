"""oragent discovers heuristics for operations-research problems.

From Python: ``run``, ``run_async``, ``resume``, ``load``, ``evaluate``, ``probe``, ``sweep``, ``problems``,
``comparison``, and the classes that they take and return. Each is imported when it is first asked for, so that
``import oragent`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oragent._base.errors import OragentError as OragentError
    from oragent.api import SearchRun as SearchRun
    from oragent.api import evaluate as evaluate
    from oragent.api import load as load
    from oragent.api import probe as probe
    from oragent.api import problems as problems
    from oragent.api import resume as resume
    from oragent.api import run as run
    from oragent.api import run_async as run_async
    from oragent.api import sweep as sweep
    from oragent.api.comparing import comparison as comparison
    from oragent.search.strategy import Strategy as Strategy

__all__ = [
    "OragentError",
    "SearchRun",
    "Strategy",
    "comparison",
    "evaluate",
    "load",
    "probe",
    "problems",
    "resume",
    "run",
    "run_async",
    "sweep",
]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what is offered when somebody wants it."""
    if name == "OragentError":
        return import_module("oragent._base.errors").OragentError
    if name == "Strategy":
        return import_module("oragent.search.strategy").Strategy
    if name == "comparison":
        return import_module("oragent.api.comparing").comparison
    if name in __all__:
        return getattr(import_module("oragent.api"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What is offered, imported or not."""
    return sorted({*globals(), *__all__})
