"""Run as many evaluations at once as there are workers; the number of workers may change."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count as numbers

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.runner import run_evaluation


@dataclass(frozen=True)
class RunningJob:
    """What has begun and not ended."""

    what: str
    # reading of ``time.monotonic`` when it began
    since: float


class EvaluationPool:
    """Runs evaluations for an engine, as many at once as there are places, wherever that is."""

    def __init__(self, places: "Places") -> None:
        self._places = places
        self._running: dict[object, RunningJob] = {}

    @property
    def running(self) -> list[RunningJob]:
        """The evaluations that have begun and not ended, the oldest first; may be read in another thread."""
        return list(self._running.values())

    async def evaluate(
        self, job: Job, admit: Callable[[], None] = lambda: None, what: str = "", order: int = 0
    ) -> Evaluation:
        """Run one job as soon as there is a place.

        Args:
            job: Job to run.
            admit: Callback that is called when its turn has come; what it raises keeps the job from being run.
            what: Description for a person who watches.
            order: Number by which jobs wait for a place, the smallest first, and those of one number as they came.
        """
        await self._places.take(order)
        try:
            admit()
        except BaseException:
            self._places.give_back()
            raise
        key = object()
        self._running[key] = RunningJob(what, time.monotonic())
        try:
            return await self._run_placed(job)
        finally:
            del self._running[key]

    async def _run_placed(self, job: Job) -> Evaluation:
        """Run a job in a place that was taken for it, and give that back."""
        raise NotImplementedError

    def close(self) -> None:
        """Start nothing more."""


class JobPool(EvaluationPool):
    """Runs jobs on this machine; a thread of ours waits on each, and the evaluation itself is a process."""

    def __init__(self, workers: int, run: Callable[[Job], Evaluation] = run_evaluation) -> None:
        if workers < 1:
            raise ValueError(f"workers must be positive, not {workers}")
        super().__init__(Places(workers))
        self._run = run
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="evaluation")

    async def _run_placed(self, job: Job) -> Evaluation:
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, job)
        finally:
            self._places.give_back()

    def close(self) -> None:
        """Start nothing more; what runs goes on until its runner is closed."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Places:
    """A semaphore whose size changes, which serves who waits by an order that they bring, and then as they came.

    It is to be used in one event loop.
    """

    def __init__(self, count: int = 0) -> None:
        self._count, self.taken = count, 0
        # a heap: by order, then as they came
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._tickets = numbers()
        self._broken: Exception | None = None

    @property
    def count(self) -> int:
        """Number of places."""
        return self._count

    def resize(self, count: int) -> None:
        """There are so many from now on; who has one keeps it."""
        self._count = count
        self._wake()

    def fail(self, problem: Exception) -> None:
        """There will never be one again: who waits, or comes later, is told why."""
        self._broken = problem
        for _, _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(problem)
        self._waiting.clear()

    def try_take(self) -> bool:
        """Take a place that nobody waits for; whether there was one."""
        if self._waiting or self.taken >= self._count:
            return False
        self.taken += 1
        return True

    async def take(self, order: int = 0) -> None:
        """Wait for a place, and take it, before all who wait with a larger order."""
        if self._broken is not None:
            raise self._broken
        if self.try_take():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (order, next(self._tickets), turn))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give_back()
            raise

    def give_back(self) -> None:
        """Free a place."""
        self.taken -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.taken < self._count:
            _, _, turn = heappop(self._waiting)
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
