"""Interface of trackers: the run at its beginning, figures under stable names, calls of models, and the end."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from oragent.search.events import RunEvent


@dataclass(frozen=True)
class TrackedRun:
    """A run that begins or continues."""

    # Folder of the run.
    folder: Path
    problem: str
    # Settings by ``section.key``.
    settings: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name of the run for people."""
        return f"{self.problem}/{self.folder.name}"


class RunTracker:
    """Adapter of one tracking system; what a subclass does not override is not logged."""

    def begin(self, run: TrackedRun) -> None:
        """Begin a run."""

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Log figures at a step, the number of scored programs."""

    def log_event(self, event: RunEvent) -> None:
        """Log any event of the run."""

    def end(self, reason: str, *, complete: bool) -> None:
        """End the run."""
