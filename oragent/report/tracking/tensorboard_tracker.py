"""TensorBoard: scalars over the number of scored programs, in ``tensorboard/`` of the run's folder."""

from collections.abc import Mapping
from typing import Any

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ConfigError
from oragent.report.tracking.run_tracker import ModelCall, TrackedRun
from oragent.search.events import RunEvent


class TensorboardTracker:
    """Writes event files of TensorBoard.

    Raises:
        ConfigError: The package tensorboardX is not installed.
    """

    def __init__(self) -> None:
        try:
            import tensorboardX
        except ImportError:
            raise ConfigError(f"tensorboardX is not installed: {extra_install_command('tracking')}") from None
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

    def log_call(self, call: ModelCall) -> None:
        """Do nothing: totals are scalars."""

    def log_event(self, event: RunEvent) -> None:
        """Do nothing: figures are scalars."""

    def end(self, reason: str, *, complete: bool) -> None:
        """Close the files."""
        self._writer.add_text("end", reason, 0)
        self._writer.close()
