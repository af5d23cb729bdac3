"""TensorBoard: scalars over the number of scored programs, in ``tensorboard/`` of the run's folder."""

from collections.abc import Mapping
from typing import Any

from oragent.report.tracking.run_tracker import RunTracker, TrackedRun


class TensorboardTracker(RunTracker):
    """Writes event files of TensorBoard."""

    def __init__(self) -> None:
        import tensorboardX

        self._library: Any = tensorboardX
        self._writer: Any = None

    def begin(self, run: TrackedRun) -> None:
        """Open the files."""
        self._writer = self._library.SummaryWriter(str(run.folder / "tensorboard"))
        lines = [f"    {key}: {value}" for key, value in run.settings.items()]
        self._writer.add_text("settings", "\n".join(lines), 0)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Add scalars."""
        for name, value in figures.items():
            self._writer.add_scalar(name, value, step)

    def end(self, reason: str, *, complete: bool) -> None:
        """Close the files."""
        self._writer.add_text("end", reason, 0)
        self._writer.close()
