"""Events as lines of JSON in the folder of the run, ``events.jsonl``."""

import json
from pathlib import Path

from oragent.report.tracking.run_tracker import RunTracker, TrackedRun
from oragent.search.events import RunEvent

FILE = "events.jsonl"


class JsonlTracker(RunTracker):
    """Appends each event to a file; a run that continues appends to the same file."""

    def __init__(self) -> None:
        self._path: Path | None = None

    def begin(self, run: TrackedRun) -> None:
        """Choose the file."""
        path = run.folder / FILE
        if path.is_symlink():
            raise OSError(f"{path} is a link")
        self._path = path

    def log_event(self, event: RunEvent) -> None:
        """Append an event."""
        assert self._path is not None
        record = {"event": str(event.kind), "round": event.round, "at_s": round(event.at_s, 3), **event.data}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, allow_nan=False) + "\n")
