"""An evaluation from the engine's side: what is to be scored, how it ended, and what that means."""

import dataclasses
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Self

from oragent.errors import SandboxError
from oragent.protocol import Failure, Result, Status, parse
from oragent.sandbox.client import Host
from oragent.sandbox.lifecycle import End, Life, Stage
from oragent.sandbox.limits import Limits
from oragent.sandbox.wire import Closed

__all__ = ["Evaluation", "Job", "Sandbox", "evaluate"]

USAGE = "usage:"  # how argparse begins when it refuses arguments
LOG_CHARACTERS = 4000
LIVES = 2  # attempts at an evaluation under which its server dies


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
        arguments: more for the evaluator, such as options of its own.
    """

    evaluator: Path
    source: str
    root_dir: Path
    limits: Limits
    mode: str | None = None
    problem_size: int | None = None
    arguments: tuple[str, ...] = ()

    def message(self) -> dict[str, Any]:
        """The job as an evaluation server takes it."""
        optional = {"mode": self.mode, "problem_size": self.problem_size}
        given = [f"--{name}={value}" for name, value in optional.items() if value is not None]
        return {
            "script": {"name": self.evaluator.name, "text": self.evaluator.read_text(encoding="utf-8")},
            "candidate": {"name": "heuristic.py", "text": self.source},
            "root_dir": str(self.root_dir.resolve()),
            "arguments": [*given, *self.arguments],
            "limits": dataclasses.asdict(self.limits),
        }


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
        end: how its process ended, a value of ``End``; empty if none was started.
        queued_s: seconds for which it waited for a free worker.
        wall_s: seconds by the clock from its start to its end.
        cpu_s: user and system seconds of all its processes that ended in time to be counted.
        peak_mb: resident memory of its largest process, in MiB, with what it shares with the server it was forked from.
    """

    status: Status
    score: float | None = None
    features: tuple[int, ...] | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    traceback: str = ""
    log: str = ""
    output: str = ""
    end: str = ""
    queued_s: float = 0.0
    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mb: float = 0.0

    @property
    def ran(self) -> bool:
        """Whether a process was started for it; a program of the wrong form is rejected without one."""
        return self.wall_s > 0

    @property
    def detail(self) -> str:
        """Where it failed: the traceback, else the log; usage lines tell nothing that the message does not."""
        return (self.traceback or ("" if self.log.startswith(USAGE) else self.log)).strip()


class Sandbox:
    """Runs evaluations, several at once, each in a process of its own under a server of its problem.

    Args:
        workers: how many run at once.
        warm: whether they are forked from an interpreter that has imported what the evaluator needs; otherwise each
            starts a fresh one, as by hand.
    """

    def __init__(self, workers: int = 1, *, warm: bool = True) -> None:
        if workers < 1:
            raise ValueError(f"workers must be positive, not {workers}")
        self._workers, self._warm = workers, warm
        self._hosts: dict[tuple[Path, Path, int], Host] = {}
        self._lock = Lock()

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
        host, message, life = self.host(job), job.message(), Life()
        while life.lost < LIVES:
            slot, worker = host.take()
            life.enter(Stage.RUNNING)
            try:
                outcome = worker.run(message)
            except Closed:
                worker.close()
                host.give_back(slot, None)
                life.enter(Stage.QUEUED)
                continue
            except BaseException:
                worker.kill()
                host.give_back(slot, None)
                raise
            life.enter(Stage.ENDED)
            host.give_back(slot, worker)
            return _judge(outcome, job.limits, life)
        return Evaluation(
            Status.CRASHED,
            message=f"the process that watches over it was killed, {LIVES} times",
            end=End.LOST,
            queued_s=round(life.queued_s, 4),
            wall_s=time.monotonic() - life.entered[Stage.RUNNING],
        )

    def host(self, job: Job) -> Host:
        """The server of a job's problem; the first call starts it, and does not wait until it is warm."""
        key = job.evaluator.resolve(), job.root_dir.resolve(), job.limits.memory_mb
        with self._lock:
            if key not in self._hosts:
                self._hosts[key] = Host(*key[:2], job.limits, self._workers, warm=self._warm)
            return self._hosts[key]

    def close(self) -> None:
        """End all servers, and what runs under them."""
        with self._lock:
            for host in self._hosts.values():
                host.close()
            self._hosts.clear()


def evaluate(job: Job) -> Evaluation:
    """Run a single evaluation, just as in a search.

    Raises:
        SandboxError: if our own side fails.
        OSError: if the machine does.
    """
    with Sandbox() as sandbox:
        return sandbox(job)


def _judge(outcome: dict[str, Any], limits: Limits, life: Life) -> Evaluation:
    if outcome["trouble"]:
        raise SandboxError(f"an evaluation cannot be confined as the evaluation before it was: {outcome['trouble']}")
    verdict = _verdict(outcome, limits)
    ended: dict[str, Any] = {
        "log": outcome["stderr"][-LOG_CHARACTERS:],
        "output": outcome["stdout"][-LOG_CHARACTERS:],
        "end": outcome["end"],
        "queued_s": round(life.queued_s, 4),
        "wall_s": round(outcome["wall_s"], 4),
        "cpu_s": round(outcome["cpu_s"], 4),
        "peak_mb": round(outcome["peak_mb"], 1),
    }
    if isinstance(verdict, Failure):
        return Evaluation(verdict.status, message=verdict.message, traceback=verdict.traceback, **ended)
    return Evaluation(Status.OK, verdict.score, verdict.features, verdict.metrics, **ended)


def _verdict(outcome: dict[str, Any], limits: Limits) -> Result | Failure:
    code, output, log = outcome["code"], outcome["stdout"], outcome["stderr"]
    if outcome["end"] == End.DEADLINE:
        return Failure(Status.TIMEOUT, f"no result within {limits.wall_s:g} s")
    if code in (-signal.SIGXCPU, -signal.SIGKILL) and outcome["cpu_s"] > limits.wall_s:
        return Failure(Status.TIMEOUT, f"more than {int(limits.wall_s) + 1} CPU seconds")
    if code < 0:
        why = "; the kernel does that when memory runs out" if code == -signal.SIGKILL else ""
        return Failure(Status.CRASHED, f"the evaluation was ended by {signal.Signals(-code).name}{why}")
    parsed = parse(output)
    if code == 0:
        return parsed
    if isinstance(parsed, Result):
        return Failure(Status.CRASHED, f"the evaluation printed a result, then exited with code {code}")
    if parsed.status is not Status.CRASHED or "__SANDBOX_ERROR__" in output:
        return parsed
    last = next((line.strip() for line in reversed(log.splitlines()) if line.strip()), "and printed no reason")
    if code == 2 and log.startswith(USAGE):
        return Failure(Status.ERROR, f"the evaluator refuses its arguments: {last.partition('error: ')[2]}"[:500])
    status = Status.MEMORY if last.startswith("MemoryError") else Status.ERROR
    return Failure(status, f"the evaluation exited with code {code}: {last}"[:500])
