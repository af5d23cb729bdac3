"""MLflow: a run of the experiment with the problem's name, at ``MLFLOW_TRACKING_URI`` or in ``./mlflow.db``."""

import logging
from collections.abc import Mapping
from typing import Any

from oragent.report.tracking.run_tracker import RunTracker, TrackedRun

# Maximum length of a parameter.
MAX_CHARACTERS = 500
TAG = "oragent.folder"


class MlflowTracker(RunTracker):
    """Logs metrics over the number of scored programs; a run that continues is found by its folder."""

    def __init__(self) -> None:
        from mlflow.tracking import MlflowClient

        # A new database is announced in several lines.
        logging.getLogger("mlflow").setLevel(logging.WARNING)
        self._client: Any = MlflowClient()
        self._run = ""

    def begin(self, run: TrackedRun) -> None:
        """Begin a run, or continue the one of the same folder."""
        experiment = self._client.get_experiment_by_name(run.problem)
        number = experiment.experiment_id if experiment is not None else self._client.create_experiment(run.problem)
        folder = str(run.folder.resolve())
        runs = [tracked for tracked in self._client.search_runs([number]) if tracked.data.tags.get(TAG) == folder]
        if runs:
            self._run = runs[0].info.run_id
            self._client.update_run(self._run, status="RUNNING")
            return
        self._run = self._client.create_run(number, run_name=run.folder.name, tags={TAG: folder}).info.run_id
        for key, value in run.settings.items():
            self._client.log_param(self._run, key, value[:MAX_CHARACTERS])

    def log(self, figures: Mapping[str, float], step: int) -> None:
        """Log metrics."""
        for name, value in figures.items():
            self._client.log_metric(self._run, name, value, step=step)

    def end(self, reason: str, *, complete: bool) -> None:
        """End the run."""
        self._client.set_tag(self._run, "end", reason)
        self._client.set_terminated(self._run, "FINISHED" if complete else "KILLED")
