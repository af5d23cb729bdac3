"""Passes the events of a run to trackers. A tracker that fails is left out, and the run continues."""

import math
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path

from oragent._base.distribution import extra_install_command
from oragent._base.errors import ConfigError
from oragent._base.settings import dump_settings, flatten_tree
from oragent._base.text_format import one_line
from oragent.report.tracking.run_tracker import RunTracker, TrackedRun
from oragent.search.config import Config
from oragent.search.events import EventKind, RunEvent

# Modules and classes by the name of ``--track``.
TRACKERS = {
    "jsonl": ("jsonl_tracker", "JsonlTracker"),
    "tensorboard": ("tensorboard_tracker", "TensorboardTracker"),
    "mlflow": ("mlflow_tracker", "MlflowTracker"),
    "wandb": ("wandb_tracker", "WandbTracker"),
    "otel": ("otel_tracker", "OtelTracker"),
}
SPENT = ("model_calls", "tokens", "money", "seconds")
PACKAGE = "oragent.report.tracking"


class EventAdapter:
    """Listener of a run that translates its events for trackers.

    Args:
        names: Names of trackers.
        config: Configuration of the run.
        tell: Function that is called with one line if a tracker fails.

    Raises:
        ConfigError: A name is unknown, or the package of a tracker is not installed.
    """

    def __init__(self, names: Sequence[str], config: Config, tell: Callable[[str], None]) -> None:
        self._trackers: dict[str, RunTracker] = {}
        flat = flatten_tree(dump_settings(config))
        self._settings = {key: str(value) for key, value in flat.items() if value is not None}
        self._tell = tell
        # Number of scored programs, of failed ones, and the latest figures of the budget.
        self._scored = self._failed = 0
        for name in dict.fromkeys(names):
            try:
                self._trackers[name] = open_tracker(name)
            except ConfigError:
                raise
            # Libraries open their stores here, as MLflow does its database.
            except Exception as problem:
                self._leave_out(name, problem)

    def __call__(self, event: RunEvent) -> None:
        """Pass an event to all trackers."""
        for name, tracker in list(self._trackers.items()):
            try:
                self._pass_on(tracker, event)
            # The libraries raise errors of many kinds, and a run must not end because of them.
            except Exception as problem:
                del self._trackers[name]
                self._leave_out(name, problem)
        if event.kind is EventKind.EVALUATED:
            self._scored += event.data["score"] is not None
            self._failed += event.data["score"] is None

    def _leave_out(self, name: str, problem: Exception) -> None:
        self._tell(f"--track {name} failed and is left out: {one_line(f'{type(problem).__name__}: {problem}', 200)}")

    def _pass_on(self, tracker: RunTracker, event: RunEvent) -> None:
        data = event.data
        if event.kind is EventKind.BEGUN:
            tracker.begin(TrackedRun(Path(str(data["folder"])), str(data["problem"]), self._settings))
        tracker.log_event(event)
        if event.kind is EventKind.EVALUATED:
            is_scored = data["score"] is not None
            figures = {"failed": float(self._failed + (not is_scored))}
            tracker.log(figures | _finite({"score": data["score"]}), self._scored + self._failed + 1)
        elif event.kind is EventKind.BEST:
            tracker.log(_finite({"best": data["score"]}), self._scored + self._failed)
        elif event.kind is EventKind.BUDGET:
            tracker.log(_finite({name: data[name] for name in SPENT}), self._scored + self._failed)
        elif event.kind is EventKind.ENDED:
            tracker.end(str(data["reason"]), complete=data["complete"] is True)


def open_tracker(name: str) -> RunTracker:
    """Open a tracker by its name.

    Raises:
        ConfigError: The name is unknown, or the package is not installed.
    """
    if name not in TRACKERS:
        raise ConfigError(f"--track {one_line(name, 40)}: expected one of {', '.join(TRACKERS)}")
    module, kind = TRACKERS[name]
    try:
        tracker: RunTracker = getattr(import_module(f"{PACKAGE}.{module}"), kind)()
    except ImportError as problem:
        command = extra_install_command("tracking")
        raise ConfigError(f"--track {name} lacks a package ({one_line(str(problem))}): {command}") from None
    return tracker


def _finite(values: Mapping[str, object]) -> dict[str, float]:
    figures = {name: float(value) for name, value in values.items() if isinstance(value, int | float)}
    return {name: value for name, value in figures.items() if math.isfinite(value)}
