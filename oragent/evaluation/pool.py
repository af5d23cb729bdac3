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
    """Job that is running."""

    what: str
    # Start time by ``time.monotonic``.
    since: float


class EvaluationPool:
    """Pool of evaluations for an engine, with a limited number of places."""

    def __init__(self, places: "Places") -> None:
        self._places = places
        self._running: dict[object, RunningJob] = {}

    @property
    def running(self) -> list[RunningJob]:
        """Running evaluations, the oldest first; other threads may read this."""
        return list(self._running.values())

    async def evaluate(
        self, job: Job, admit: Callable[[], None] = lambda: None, what: str = "", order: int = 0
    ) -> Evaluation:
        """Run a job as soon as a place is free.

        Args:
            job: Job to run.
            admit: Callback when a place is free; if it raises, the job does not run.
            what: Description for a person who watches.
            order: Priority: jobs with smaller numbers go first, and equal ones in order of arrival.
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
        """Run a job in a place that has been taken for it, and release the place."""
        raise NotImplementedError

    def close(self) -> None:
        """Accept no more jobs."""


class JobPool(EvaluationPool):
    """Pool on this machine; each evaluation is a process that a thread waits for."""

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
        """Accept no more jobs; running ones continue until the runner is closed."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Places:
    """Semaphore of variable size that serves waiting tasks by priority, then by arrival. Use it in one event loop."""

    def __init__(self, count: int = 0) -> None:
        self._count, self.taken = count, 0
        # Heap by priority, then by arrival.
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._tickets = numbers()
        self._broken: Exception | None = None

    @property
    def count(self) -> int:
        """Number of places."""
        return self._count

    def resize(self, count: int) -> None:
        """Change the number of places; taken places stay taken."""
        self._count = count
        self._wake()

    def fail(self, problem: Exception) -> None:
        """Make all present and future waits raise an exception."""
        self._broken = problem
        for _, _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(problem)
        self._waiting.clear()

    def try_take(self) -> bool:
        """Take a free place that no task waits for; return True on success."""
        if self._waiting or self.taken >= self._count:
            return False
        self.taken += 1
        return True

    async def take(self, order: int = 0) -> None:
        """Wait for a place and take it; smaller orders go first."""
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
        """Release a place."""
        self.taken -= 1
        self._wake()

    def _wake(self) -> None:
        while self._waiting and self.taken < self._count:
            _, _, turn = heappop(self._waiting)
            if not turn.done():
                self.taken += 1
                turn.set_result(None)
