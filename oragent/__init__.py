"""oragent discovers heuristics, and formulates, explores and maintains optimisation models.

From Python: ``run``, ``run_async``, ``resume``, ``load``, ``evaluate``, ``probe``, ``sweep``, ``problems``,
``comparison`` and ``duel`` search for heuristics. ``solve``, ``formulate``, ``verify``, ``converse`` and ``Workspace``
work on models. Each is imported at its first use, so that ``import oragent`` costs nothing.
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
    from oragent.api.duels import duel as duel
    from oragent.api.modelling import solve as solve
    from oragent.api.workspaces import Workspace as Workspace
    from oragent.converse.api import converse as converse
    from oragent.formulate.api import formulate as formulate
    from oragent.formulate.api import verify as verify
    from oragent.search.strategy import Strategy as Strategy

__all__ = [
    "OragentError",
    "SearchRun",
    "Strategy",
    "Workspace",
    "comparison",
    "converse",
    "duel",
    "evaluate",
    "formulate",
    "load",
    "probe",
    "problems",
    "resume",
    "run",
    "run_async",
    "solve",
    "sweep",
    "verify",
]
__version__ = "0.1.0"


# Modules of names that are not in ``oragent.api``.
_MODULES = {
    "OragentError": "oragent._base.errors",
    "Strategy": "oragent.search.strategy",
    "Workspace": "oragent.api.workspaces",
    "comparison": "oragent.api.comparing",
    "duel": "oragent.api.duels",
    "solve": "oragent.api.modelling",
    "verify": "oragent.formulate.api",
}
# Packages that can be called.
_PACKAGES = ("converse", "formulate")


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name in _PACKAGES:
        return import_module(f"oragent.{name}")
    if name in __all__:
        return getattr(import_module(_MODULES.get(name, "oragent.api")), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return all public names, imported or not."""
    return sorted({*globals(), *__all__})
