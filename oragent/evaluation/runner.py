"""Evaluations, run: a job becomes a command, and the end of that command an evaluation."""

from typing import Self

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.verdict import verdict
from oragent.sandbox.border import Sandbox

__all__ = ["Runner", "evaluate"]


class Runner:
    """Runs evaluations, several at once, each in a process of its own under a server of its problem.

    Args:
        workers: Number of evaluations that run at once.
        warm: Whether they are forked from an interpreter that has imported what the evaluator needs; otherwise each
            starts a fresh one, as by hand.
    """

    def __init__(self, workers: int = 1, *, warm: bool = True) -> None:
        self._sandbox = Sandbox(workers, warm=warm)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __call__(self, job: Job) -> Evaluation:
        """Run an evaluation from its start to its end, whatever that is; may be called from several threads.

        Raises:
            SandboxError: if our own side fails: no server, no isolation that was there when the server began.
            OSError: if the machine does: no room, no process to be had.
        """
        warm_up = job.evaluator if job.is_python else None
        ended = self._sandbox(job.command(), root_dir=job.root_dir, warm_up=warm_up)
        return Evaluation.of(verdict(ended, job.limits), ended)

    def start(self, job: Job) -> None:
        """Start the server of a job's problem, and do not wait until it is warm."""
        self._sandbox.start(job.limits, root_dir=job.root_dir, warm_up=job.evaluator if job.is_python else None)

    def close(self) -> None:
        """End all servers, and what runs under them."""
        self._sandbox.close()


def evaluate(job: Job) -> Evaluation:
    """Run a single evaluation, just as in a search.

    Raises:
        SandboxError: if our own side fails.
        OSError: if the machine does.
    """
    with Runner() as run:
        return run(job)
