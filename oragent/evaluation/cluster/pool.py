"""Pool of a search whose evaluations run on a cluster."""

import time
from collections.abc import Callable

from oragent.evaluation import Evaluation, Job
from oragent.evaluation.cluster.dispatch import Dispatcher
from oragent.evaluation.places import Places
from oragent.evaluation.pool import RunningJob


class ClusterPool:
    """What a ``Pool`` is to an engine, with as many evaluations at once as the workers have places.

    Args:
        dispatch: Whoever sees jobs through.
        places: Places of the workers.
        close: Function that is called once nothing more is to begin.
    """

    def __init__(self, dispatch: Dispatcher, places: Places, close: Callable[[], None] = lambda: None) -> None:
        self._dispatch, self._places, self._close = dispatch, places, close
        self._running: dict[object, RunningJob] = {}

    @property
    def running(self) -> list[RunningJob]:
        """The evaluations that have begun and not ended, the oldest first; may be read in another thread."""
        return list(self._running.values())

    async def evaluate(
        self, job: Job, admit: Callable[[], None] = lambda: None, what: str = "", order: int = 0
    ) -> Evaluation:
        """Run one job as soon as a worker has a place; the arguments are those of ``Pool.evaluate``."""
        await self._places.take(order)
        try:
            admit()
        except BaseException:
            self._places.give_back()
            raise
        key = object()
        self._running[key] = RunningJob(what, time.monotonic())
        try:
            return await self._dispatch.evaluate(job)
        finally:
            del self._running[key]

    def close(self) -> None:
        """Start nothing more."""
        self._close()
