"""As many evaluations at once as there are workers."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.runner import evaluate

__all__ = ["Pool"]


class Pool:
    """Runs jobs for an event loop; a thread of ours waits on each, and the evaluation itself is a process.

    Args:
        workers: Number of evaluations that run at once; each uses one core.
        run: Function that runs one job, such as a ``Runner`` for as many workers.
    """

    def __init__(self, workers: int, run: Callable[[Job], Evaluation] = evaluate) -> None:
        if workers < 1:
            raise ValueError(f"workers must be positive, not {workers}")
        self._run = run
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="evaluation")
        self._free = asyncio.Semaphore(workers)
        self._running = 0

    @property
    def running(self) -> int:
        """How many evaluations have begun and not ended."""
        return self._running

    async def evaluate(self, job: Job, admit: Callable[[], None] = lambda: None) -> Evaluation:
        """Run one job as soon as a worker is free.

        Args:
            job: Job to run.
            admit: Callback that is called when its turn has come; what it raises keeps the job from being run.
        """
        async with self._free:
            admit()
            self._running += 1
            try:
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._run, job)
            finally:
                self._running -= 1

    def close(self) -> None:
        """Start nothing more; what runs goes on until its runner is closed."""
        self._threads.shutdown(wait=False, cancel_futures=True)
