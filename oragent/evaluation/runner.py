"""Evaluations, run: a job becomes a command, and the end of that command an evaluation."""

from dataclasses import replace
from typing import Self

from oragent.evaluation.job import Evaluation, Job
from oragent.evaluation.verdict import verdict
from oragent.protocol import Failure, Result, Status
from oragent.sandbox import Ended
from oragent.sandbox.border import Sandbox

__all__ = ["PATIENCE", "Runner", "evaluate"]

PATIENCE = 1.2  # times the limit, as far as an evaluation may go to be measured again


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

        What else runs on a machine makes a program use more CPU time, by a tenth or two, so nearly too much is no
        reason to fail: an evaluation may go on to ``PATIENCE`` times its limit. If it has a result by then and used
        more than the limit, it is run once more, and the smaller figure decides. One that used less, or that found no
        result in all that time, is run once. The same candidate can still end either way if its use is within a few
        per cent of the limit on a quiet machine; whatever is clearly below or above ends alike everywhere.

        Raises:
            SandboxError: if our own side fails: no server, no isolation that was there when the server began.
            OSError: if the machine does: no room, no process to be had.
        """
        ended = self._run(job)
        found = verdict(ended, job.limits)
        if isinstance(found, Result) and ended.cpu_s > job.limits.cpu_s:
            again = self._run(job)
            if again.cpu_s < ended.cpu_s and isinstance(result := verdict(again, job.limits), Result):
                ended, found = again, result
        if isinstance(found, Result) and ended.cpu_s > job.limits.cpu_s:
            used = f"used {ended.cpu_s:.1f} CPU seconds, measured twice, and {job.limits.cpu_s:g} is the limit"
            found = Failure(Status.TIMEOUT, used)
        return Evaluation.of(found, ended)

    def _run(self, job: Job) -> Ended:
        command, warm_up = job.command(), job.evaluator if job.is_python else None
        patient = replace(job.limits, cpu_s=PATIENCE * job.limits.cpu_s)
        patient_one = replace(command, limits=patient)
        return self._sandbox(patient_one, root_dir=job.root_dir, warm_up=warm_up, beside=job.beside)

    def start(self, job: Job) -> None:
        """Start the server of a job's problem, and do not wait until it is warm."""
        warm_up = job.evaluator if job.is_python else None
        self._sandbox.start(job.limits, root_dir=job.root_dir, warm_up=warm_up, beside=job.beside)

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
