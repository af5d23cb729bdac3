"""Background work of a search, such as the episodes of a coding agent that submits programs.

The package that does this work registers it under the name of a strategy, so that the search does not import it.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from oragent.llm.model import Model
from oragent.search.config import Config
from oragent.search.engine import Engine
from oragent.search.events import Progress, RunEvent
from oragent.search.folder import RunFolder


class Companion(Protocol):
    """Background work of one search."""

    def open_model(self) -> AbstractAsyncContextManager[Model]:
        """Return a context manager that opens the model for the requests of the search."""

    def take_folder(self, folder: RunFolder) -> None:
        """Receive the folder of the run, before it begins."""

    def take_engine(self, engine: Engine) -> None:
        """Receive the engine of the run, before it begins."""

    def take_progress(self, progress: Progress) -> None:
        """Receive the state of the run after a round."""

    def take_event(self, event: RunEvent) -> None:
        """Receive an event of the run."""


MakeCompanion = Callable[[Config, Callable[[str], None]], Companion]
_COMPANIONS: dict[str, MakeCompanion] = {}


def register_companion(strategy: str, make: MakeCompanion) -> None:
    """Register the background work of a strategy. ``make`` takes the configuration and a function for messages."""
    _COMPANIONS[strategy] = make


def make_companion(config: Config, tell: Callable[[str], None]) -> Companion | None:
    """Return the background work of a search; None if its strategy has none."""
    make = _COMPANIONS.get(config.strategy_name)
    if make is None:
        return None
    return make(config, tell)
