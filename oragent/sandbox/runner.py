"""One evaluation in a fresh interpreter: a folder, a process group, a deadline, a verdict."""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from oragent.output import Capped
from oragent.protocol import Failure, Result, Status, parse
from oragent.sandbox.limits import Limits, environment, restrict

__all__ = ["Evaluation", "Job", "evaluate"]

LOG_CHARACTERS = 4000
CHUNK = 1 << 16
LOOK_S = 0.02  # where the kernel cannot tell us of a child's end, we look this often


@dataclass(frozen=True)
class Job:
    """What is to be evaluated.

    Attributes:
        evaluator: the problem's ``eval.py``; it is copied beside the candidate.
        source: the candidate's text.
        root_dir: project root, for data and checkpoints.
        limits: what the evaluation may use.
        mode: passed on where given; otherwise the evaluator's own default holds.
        problem_size: likewise.
    """

    evaluator: Path
    source: str
    root_dir: Path
    limits: Limits
    mode: str | None = None
    problem_size: int | None = None


@dataclass(frozen=True)
class Evaluation:
    """How an evaluation ended; a failure is data like a success.

    Attributes:
        status: ``ok`` if and only if there is a score.
        score: in the problem's natural units.
        features: the archive cell; None for a ranked population, or without a score.
        metrics: the problem's own figures.
        message: why there is no score, one line.
        traceback: the candidate's own.
        log: the end of standard error.
        output: the end of standard output.
        wall_s: seconds by the clock.
        cpu_s: user and system seconds of all its processes that ended in time to be counted.
        peak_mb: resident memory of its largest process, in MiB. Linux counts what the process that started it had at
            that moment, so it is never less than that.
    """

    status: Status
    score: float | None = None
    features: tuple[int, ...] | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    traceback: str = ""
    log: str = ""
    output: str = ""
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0

    @property
    def ran(self) -> bool:
        """Whether a process was started for it; a program of the wrong form is rejected without one."""
        return self.wall_s > 0


def evaluate(job: Job) -> Evaluation:
    """Run an evaluation from its start to its end, whatever that is.

    Raises:
        OSError: if our own side fails: no room for its folder, no process to be had.
    """
    with tempfile.TemporaryDirectory(prefix="oragent-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        shutil.copyfile(job.evaluator, folder / job.evaluator.name)
        (folder / "heuristic.py").write_text(job.source, encoding="utf-8")
        with _Process(_command(job, folder), folder, job.limits) as process:
            process.wait()
    return _judge(process, job.limits)


def _command(job: Job, folder: Path) -> list[str]:
    script = folder / job.evaluator.name
    program = [sys.executable, str(script)]
    if script.suffix != ".py":  # any language that prints text
        script.chmod(0o700)
        program = [str(script)]
    optional = {"mode": job.mode, "problem_size": job.problem_size}
    given = [f"--{name}={value}" for name, value in optional.items() if value is not None]
    return [*program, f"--root_dir={job.root_dir}", f"--file_output_prefix={folder}{os.sep}", *given]


class _Process:
    """A child in a session of its own, of which nothing is left when the block ends."""

    def __init__(self, command: list[str], folder: Path, limits: Limits) -> None:
        self.begun = time.monotonic()
        self.deadline = self.begun + limits.wall_s
        self.timed_out = False
        self.code = 0
        self.wall_s = self.cpu_s = self.peak_mb = 0.0
        self._child = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(folder, limits),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        restrict(self._child.pid, limits)
        self._end = os.pidfd_open(self._child.pid) if hasattr(os, "pidfd_open") else -1
        self.stdout, self.stderr = Capped(limits.output_kb << 10), Capped(limits.output_kb << 10)
        self._pipes: dict[int, tuple[IO[bytes], Capped]] = {}
        for pipe, capped in ((self._child.stdout, self.stdout), (self._child.stderr, self.stderr)):
            assert pipe is not None
            os.set_blocking(pipe.fileno(), False)
            self._pipes[pipe.fileno()] = (pipe, capped)

    def __enter__(self) -> "_Process":
        return self

    def wait(self) -> None:
        """Read its output until it ends or its time is up; once it is dead nothing is waited for."""
        poll = select.poll()
        for descriptor in self._pipes:
            poll.register(descriptor, select.POLLIN)
        if self._end >= 0:
            poll.register(self._end, select.POLLIN)
        while not self._dead():
            left = self.deadline - time.monotonic()
            if left <= 0:
                self.timed_out = True
                return
            for descriptor, _ in poll.poll((left if self._end >= 0 else min(left, LOOK_S)) * 1000 + 1):
                if descriptor in self._pipes and not self._read(descriptor):
                    poll.unregister(descriptor)

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)  # before reaping: until then the number is surely its own
        _, status, usage = os.wait4(self._child.pid, 0)
        self.code = self._child.returncode = os.waitstatus_to_exitcode(status)
        self.wall_s = time.monotonic() - self.begun
        self.cpu_s = usage.ru_utime + usage.ru_stime
        self.peak_mb = usage.ru_maxrss / 1024 if sys.platform == "linux" else usage.ru_maxrss / 2**20
        for descriptor, (pipe, _) in self._pipes.items():
            self._read(descriptor)
            pipe.close()
        if self._end >= 0:
            os.close(self._end)

    def _dead(self) -> bool:
        return os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read(self, descriptor: int) -> bool:
        """Take what a pipe holds at this moment; False at its end."""
        try:
            while chunk := os.read(descriptor, CHUNK):
                self._pipes[descriptor][1].add(chunk)
                if time.monotonic() > self.deadline:
                    break  # a stream without an end must not outlast the deadline
        except BlockingIOError:
            return True
        return bool(chunk)


def _judge(process: _Process, limits: Limits) -> Evaluation:
    output, log = process.stdout.text(), process.stderr.text()
    verdict = _verdict(process, output, log, limits)
    ended: dict[str, Any] = {
        "log": log[-LOG_CHARACTERS:],
        "output": output[-LOG_CHARACTERS:],
        "wall_s": round(process.wall_s, 4),
        "cpu_s": round(process.cpu_s, 4),
        "peak_mb": round(process.peak_mb, 1),
    }
    if isinstance(verdict, Failure):
        return Evaluation(verdict.status, message=verdict.message, traceback=verdict.traceback, **ended)
    return Evaluation(Status.OK, verdict.score, verdict.features, verdict.metrics, **ended)


def _verdict(process: _Process, output: str, log: str, limits: Limits) -> Result | Failure:
    if process.timed_out:
        return Failure(Status.TIMEOUT, f"no result within {limits.wall_s:g} s")
    if process.code == -signal.SIGXCPU:
        return Failure(Status.TIMEOUT, f"more than {int(limits.wall_s) + 1} CPU seconds")
    if process.code < 0:
        return Failure(Status.CRASHED, f"the evaluation was ended by {signal.Signals(-process.code).name}")
    parsed = parse(output)
    if process.code == 0:
        return parsed
    if isinstance(parsed, Result):
        return Failure(Status.CRASHED, f"the evaluation printed a result, then exited with code {process.code}")
    if parsed.status is not Status.CRASHED or "__SANDBOX_ERROR__" in output:
        return parsed
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "and printed no reason")
    status = Status.MEMORY if last.startswith("MemoryError") else Status.ERROR
    return Failure(status, f"the evaluation exited with code {process.code}: {last}"[:500])
