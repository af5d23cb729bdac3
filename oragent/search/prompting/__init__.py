"""Parts of prompts that all strategies share: templates, the problem, the state of the search, and programs."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Return a name from the modules of this package, for user strategies that import it from here."""
    for module in ("prompt_templates", "programs", "search_summary") if not name.startswith("__") else ():
        if hasattr(part := import_module(f"{__name__}.{module}"), name):
            return getattr(part, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
