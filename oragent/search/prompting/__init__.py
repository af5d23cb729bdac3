"""What prompts are written with, whoever asks: templates, the problem, where the search stands, and programs."""

from importlib import import_module
from typing import Any


def __getattr__(name: str) -> Any:
    """Find a name in the modules of this package, for strategies of users that import it from here."""
    for module in ("prompt_templates", "programs", "search_summary") if not name.startswith("__") else ():
        if hasattr(part := import_module(f"{__name__}.{module}"), name):
            return getattr(part, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
