"""Parts of prompts that all strategies share: templates, the problem, the state of the search, and programs."""

from importlib import import_module
from typing import Any

MODULES = ("prompt_templates", "programs", "search_summary")


def __getattr__(name: str) -> Any:
    """Return a name from the modules of this package, for user strategies that import it from here."""
    # The statement that names a module imports it if necessary.
    for module in MODULES if not name.startswith("__") and name not in MODULES else ():
        if hasattr(part := import_module(f"{__name__}.{module}"), name):
            return getattr(part, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
