"""The tasks that a search runs at this moment, as a file in its folder; `run.db` holds only what has ended."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oragent._base.files import read_start, replace_file
from oragent._base.safe_load import parse_json
from oragent.evaluation.pool import RunningJob

# Name of the file.
RUNNING = "running.json"
# Seconds between two checks of the running work.
LOOK_S = 1.0
# Largest number of tasks in the file, of its characters, and of characters of a description.
MAX_TASKS, MAX_FILE, MAX_WHAT = 40, 100_000, 300


@dataclass(frozen=True)
class RunningTask:
    """Evaluation, model call or sweep that is running."""

    # Description, such as "sweep, round 7: setting 4 of 9, 120 of 309 CPU s".
    what: str
    # Start as a Unix time, in seconds.
    since: float


async def show_running(folder: Path, list_jobs: Callable[[], Sequence[RunningJob]]) -> None:
    """Write the running tasks of a search into its folder whenever they change, until this is cancelled.

    Nothing is written for a search that ends within `LOOK_S`. A folder that cannot be written stops no search.
    """
    path = folder / RUNNING
    written: Sequence[RunningJob] = ()
    try:
        while True:
            await asyncio.sleep(LOOK_S)
            jobs = list_jobs()
            if jobs == written:
                continue
            written, offset = jobs, time.time() - time.monotonic()
            tasks = [{"what": job.what[:MAX_WHAT], "since": round(job.since + offset, 1)} for job in jobs[:MAX_TASKS]]
            with suppress(OSError):
                replace_file(path, json.dumps(tasks))
    finally:
        with suppress(OSError):
            path.unlink()


def read_running(folder: Path) -> list[RunningTask]:
    """Read the running tasks of a search, which are untrusted; empty if the file is missing or damaged."""
    path = folder / RUNNING
    try:
        if path.is_symlink() or not path.is_file():
            return []
        tasks = parse_json(read_start(path, MAX_FILE))[:MAX_TASKS]
        return [RunningTask(str(task["what"])[:MAX_WHAT], float(task["since"])) for task in tasks]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return []
