"""Weights & Biases: a run of the project ``oragent``, or offline in ``wandb/`` of the run's folder.

``WANDB_PROJECT``, ``WANDB_MODE`` and the other variables of the library apply.
"""

import hashlib
import os
from collections.abc import Mapping
from typing import Any

from oragent.report.tracking.run_tracker import RunTracker, TrackedRun

PROJECT = "oragent"
# Figure that is the axis of all others.
STEP = "programs"


class WandbTracker(RunTracker):
    """Logs a history; a run that continues has the same id."""

    def __init__(self) -> None:
        import wandb

        self._library: Any = wandb
        self._run: Any = None

    def begin(self, run: TrackedRun) -> None:
        """Begin a run, or continue it."""
        name = hashlib.sha256(str(run.folder.resolve()).encode()).hexdigest()[:16]
        self._run = self._library.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=run.name,
            id=name,
            resume="allow",
            dir=str(run.folder),
            config=dict(run.settings),
            settings=self._library.Settings(silent=True, console="off", disable_git=True, save_code=False),
        )
        self._run.define_metric("*", step_metric=STEP)

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Log figures."""
        self._run.log({**figures, STEP: step})

    def end(self, reason: str, *, complete: bool) -> None:
        """End the run."""
        self._run.summary["end"] = reason
        self._run.finish(exit_code=0 if complete else 1)
