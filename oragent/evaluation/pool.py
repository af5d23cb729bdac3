"""Run as many evaluations at once as there are workers; the number of workers may change."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count as numbers
from typing import Protocol

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.runner import run_evaluation


@dataclass(frozen=True)
class RunningJob:
    """What has begun and not ended.

    Attributes:
        since: Reading of ``time.monotonic`` when it began.
    """

    what: str
    since: float


class EvaluationPool(Protocol):
    """What an engine wants of a pool, wherever its evaluations run."""

    @property
    def running(self) -> list[RunningJob]:
        """The evaluations that have begun and not ended, the oldest first; may be read in another thread."""

    async def evaluate(
        self, job: Job, admit: Callable[[], None] = ..., what: str = ..., order: int = ...
    ) -> Evaluation:
        """Run one job as soon as it can be."""

    def close(self) -> None:
        """Start nothing more."""


class JobPool:
    """Runs jobs for an event loop; a thread of ours waits on each, and the evaluation itself is a process."""

    def __init__(self, workers: int, run: Callable[[Job], Evaluation] = run_evaluation) -> None:
        if workers < 1:
            raise ValueError(f"workers must be positive, not {workers}")
        self._run = run
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="evaluation")
        self._places = Places(workers)
        self._running: dict[object, RunningJob] = {}

    @property
    def running(self) -> list[RunningJob]:
        """The evaluations that have begun and not ended, the oldest first; may be read in another thread."""
        return list(self._running.values())

    async def evaluate(
        self, job: Job, admit: Callable[[], None] = lambda: None, what: str = "", order: int = 0
    ) -> Evaluation:
        """Run one job once a worker is free, the smallest order first; ``admit`` may raise when its turn comes."""
        await self._places.take(order)
        try:
            admit()
            key = object()
            self._running[key] = RunningJob(what, time.monotonic())
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, job)
            finally:
                del self._running[key]
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
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # a heap: by order, then as they came
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
