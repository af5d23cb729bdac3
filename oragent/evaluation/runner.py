"""Run evaluations: turn a job into a command, and the command's result into an evaluation with its status."""

import contextlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Self

from oragent._base.errors import OragentError, SandboxError
from oragent._base.protocol import Failure, Result, Status, parse, storable_text
from oragent.evaluation.devices import CPU
from oragent.evaluation.job import USAGE, Evaluation, Job
from oragent.sandbox.limits import server_environment
from oragent.sandbox.messages import Command, CommandResult, EndReason, Limits
from oragent.sandbox.sandbox import LIVES as SANDBOX_LIVES
from oragent.sandbox.sandbox import Sandbox

SERVING = "oragent.solvers.attention_bias.serving"
# of the process, and of the device
MEMORY_MB = 16_384
# the first import of PyTorch's CUDA build on a machine takes a minute, the driver its time
START_S = 300.0
# an evaluation that waits for the device uses no CPU, and sleeps longer than others may
IDLE_S = 600.0
# attempts at an evaluation under which the process dies
LIVES = 3
# bytes of what goes with a line
WORD = 64
LAST_WORDS = 300


# times the limit, as far as an evaluation may go to be measured again
PATIENCE = 1.2


class DeviceScorer:
    """A process outside of any evaluation's bounds that owns a device; it is started when it is first needed.

    Nothing of a candidate gets there but the numbers of its biases. What an evaluation may send, that process bounds
    and checks; how long the device may compute for it, the engine says here.
    """

    def __init__(self, device: str, root_dir: Path, memory_mb: int = MEMORY_MB) -> None:
        self._device, self._root_dir, self._memory_mb = device, root_dir, memory_mb
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.starts = 0
        # whom it died under tries again alone
        self.again = threading.Lock()

    def open_line(self, seconds: float) -> tuple[socket.socket, int]:
        """Open a line for one evaluation, which may compute so many seconds; also return the life that it leads to."""
        ours, theirs = socket.socketpair()
        with contextlib.ExitStack() as failed, theirs, self._lock:
            failed.callback(ours.close)
            for _ in range(2):
                self._start_process()
                assert self._control is not None
                with contextlib.suppress(OSError):
                    socket.send_fds(self._control, [f"line {seconds:.3f}".encode().ljust(WORD)], [theirs.fileno()])
                    failed.pop_all()
                    return ours, self.starts
                self._stop_process()
        raise SandboxError(f"the process that computes on {self._device} takes no evaluation")

    def is_in_life(self, life: int) -> bool:
        """Return True if the process is still in that life."""
        with self._lock:
            return self.starts == life and self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End it; who asks for a line next has it started again."""
        with self._lock:
            self._stop_process()

    def _start_process(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self._stop_process()
        control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs, tempfile.TemporaryFile() as log:
            command = [
                sys.executable,
                "-m",
                SERVING,
                f"--socket={theirs.fileno()}",
                f"--root-dir={self._root_dir.resolve()}",
                f"--device={self._device}",
                f"--memory-mb={self._memory_mb}",
            ]
            self._process = subprocess.Popen(
                command,
                env=server_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
                pass_fds=[theirs.fileno()],
            )
            theirs.close()
            self._control, self.starts = control, self.starts + 1
            control.settimeout(START_S)
            try:
                hello = control.recv(16)
            except OSError:
                hello = b""
            if not hello:
                self._stop_process()
                log.seek(0)
                words = log.read()[-4000:].decode(errors="replace").strip().splitlines() or ["it said nothing"]
                raise SandboxError(f"no process can compute on {self._device}: {words[-1][:LAST_WORDS]}")

    def _stop_process(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None


# How languages name an exception that nobody caught: Python and Node, Java, C++, Go, Rust, Julia.
EXCEPTION = re.compile(
    r"""(?:Exception\ in\ thread\ "[^"]*"\ |Caused\ by:\ |Uncaught\ )?
        (?P<line>(?:[A-Za-z_][\w.$]*)?(?:Error|Exception|Exit|Interrupt)(?:\ \[\w+\])?(?::.*)?
        |\ *what\(\):.*|panic:\ .*|thread\ '.*'\ panicked\ at.*|ERROR:\ .*|FATAL\ ERROR:\ .*)$""",
    re.VERBOSE,
)
VERSION = re.compile(r"Node\.js v[\d.]+|note: run with .RUST_BACKTRACE.*")
OUT_OF_MEMORY = "MemoryError", "std::bad_alloc", "java.lang.OutOfMemoryError", "what():  std::bad_alloc"


def judge_result(ended: CommandResult, limits: Limits) -> Result | Failure:
    """Read off the end of an evaluator's process what it found."""
    code = ended.code
    if ended.end is EndReason.LOST:
        return Failure(Status.CRASHED, f"the process that watches over it was killed, {SANDBOX_LIVES} times")
    if ended.end is EndReason.MEMORY:
        return Failure(Status.MEMORY, f"ran out of memory: {ended.reason}")
    over = ended.cpu_s >= limits.cpu_s
    if (ended.end is EndReason.DEADLINE or code in (-signal.SIGXCPU, -signal.SIGKILL)) and over:
        return Failure(Status.TIMEOUT, f"no result within {limits.cpu_s:g} CPU seconds")
    if ended.end is EndReason.DEADLINE:
        return Failure(Status.TIMEOUT, f"no result: {ended.reason}")
    if code < 0:
        if code == -signal.SIGKILL:
            why = "; the kernel does that when memory runs out"
        else:
            why = ""
        if code == -signal.SIGABRT:
            exception = _find_exception(ended.stderr)
        else:
            exception = ""
        name = signal.Signals(-code).name
        return Failure(Status.CRASHED, f"the evaluation was ended by {name}{why}{exception and f': {exception}'}"[:500])
    parsed = parse(ended.stdout)
    if code == 0:
        return parsed
    if isinstance(parsed, Result):
        return Failure(Status.CRASHED, f"the evaluation printed a result, then exited with code {code}")
    if parsed.status is not Status.CRASHED or "__SANDBOX_ERROR__" in ended.stdout:
        return parsed
    return _explain_failure(code, ended.stderr)


def _explain_failure(code: int, log: str) -> Failure:
    if code == 2 and log.startswith(USAGE):
        last = log.rstrip().splitlines()[-1]
        return Failure(Status.ERROR, f"the evaluator refuses its arguments: {last.partition('error: ')[2]}"[:500])
    why = _find_exception(log) or _last_line(log) or "and printed no reason"
    if why.startswith(OUT_OF_MEMORY):
        status = Status.MEMORY
    else:
        status = Status.ERROR
    return Failure(status, f"the evaluation exited with code {code}: {why}"[:500])


def _find_exception(log: str) -> str:
    """The line that names the exception, or what a language has in its place; the last one, as causes come first."""
    matches = [match for log_line in log.splitlines() if (match := EXCEPTION.match(log_line))]
    if matches:
        return matches[-1]["line"].strip() or matches[-1][0].strip()
    return ""


def _last_line(log: str) -> str:
    lines = (text.strip() for text in reversed(log.splitlines()))
    return next((text for text in lines if text and not VERSION.fullmatch(text)), "")


class EvaluationRunner:
    """Runs evaluations, several at once, each in a process of its own under a server, as a `Sandbox` does.

    Args:
        apart: Whether networks that compute on processors are kept in a process of their own as well, as those on a GPU
            are, which no evaluation has room for, and no candidate may see.
    """

    def __init__(
        self,
        workers: int = 1,
        *,
        warm: bool = True,
        apart: bool = False,
        alone: bool = True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._sandbox = Sandbox(workers, warm=warm, alone=alone, tell=tell)
        self._apart, self._lock = apart, Lock()
        self._scorers: dict[tuple[str, Path], DeviceScorer] = {}

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
        ended = self._run_patiently(job)
        try:
            return self._judge(job, ended)
        except (OragentError, OSError):
            raise
        except Exception as problem:
            # a result that our own code cannot read must not end a run
            told = f"the evaluation's result cannot be read: {type(problem).__name__}: {problem}"
            return Evaluation.from_result(Failure(Status.CRASHED, storable_text(told)[:500]), ended)

    def _judge(self, job: Job, ended: CommandResult) -> Evaluation:
        """Derive the evaluation from the end of its process; run it once more if it used slightly too much time."""
        outcome = judge_result(ended, job.limits)
        if isinstance(outcome, Result) and ended.cpu_s > job.limits.cpu_s:
            again = self._run_patiently(job)
            if again.cpu_s < ended.cpu_s and isinstance(result := judge_result(again, job.limits), Result):
                ended, outcome = again, result
        if isinstance(outcome, Result) and ended.cpu_s > job.limits.cpu_s:
            used = f"used {ended.cpu_s:.1f} CPU seconds, measured twice, and {job.limits.cpu_s:g} is the limit"
            done = outcome.metrics.get("instances_done")
            if type(done) is int:
                used += f"; all {done} instances were done"
            else:
                used += ""
            outcome = Failure(Status.TIMEOUT, used)
        return Evaluation.from_result(outcome, ended)

    def _run_patiently(self, job: Job) -> CommandResult:
        patient = replace(job.make_command(), limits=replace(job.limits, cpu_s=PATIENCE * job.limits.cpu_s))
        scorer = self._find_scorer(job)
        if scorer is None:
            return self._run_in_sandbox(job, patient)
        return self._run_with_device(scorer, job, patient)

    def _run_in_sandbox(self, job: Job, command: Command, device_line: int | None = None) -> CommandResult:
        warm_up, companion_folder = job.evaluator if job.is_python else None, job.companion_folder
        return self._sandbox(
            command, root_dir=job.root_dir, warm_up=warm_up, companion_folder=companion_folder, device_line=device_line
        )

    def _find_scorer(self, job: Job) -> DeviceScorer | None:
        """The process that computes for a job on its device; None where the job computes itself.

        An evaluator that runs candidates in its own process gets no line: what it asks, a candidate could.
        """
        device = job.device
        if device is None or not job.is_guarded or (device == CPU and not self._apart):
            return None
        with self._lock:
            key = device, job.root_dir.resolve()
            return self._scorers.setdefault(key, DeviceScorer(*key))

    def _run_with_device(self, scorer: DeviceScorer, job: Job, command: Command) -> CommandResult:
        """Run a command with a line to a device; where that process dies under it, again, and then one at a time."""
        waiting = replace(command, limits=replace(command.limits, idle_s=max(IDLE_S, command.limits.idle_s)))
        for attempt in range(LIVES):
            with scorer.again if attempt else nullcontext():
                wire, life = scorer.open_line(job.limits.cpu_s)
                with wire:
                    ended = self._run_in_sandbox(job, waiting, wire.fileno())
                if scorer.is_in_life(life):
                    break
        if ended.end is EndReason.DEADLINE and ended.cpu_s < job.limits.cpu_s:
            # it slept: a device that answers nobody would have all that follow wait as long
            scorer.close()
        return ended

    def start_server(self, job: Job) -> None:
        """Start the server of a job's problem, and do not wait until it is warm."""
        if job.is_python:
            warm_up = job.evaluator
        else:
            warm_up = None
        self._sandbox.start(job.limits, root_dir=job.root_dir, warm_up=warm_up, companion_folder=job.companion_folder)

    def close(self) -> None:
        """End all servers, and what runs under them."""
        self._sandbox.close()
        with self._lock:
            for scorer in self._scorers.values():
                scorer.close()
            self._scorers.clear()


def run_evaluation(job: Job) -> Evaluation:
    """Run a single evaluation, just as in a search; SandboxError and OSError as for an `EvaluationRunner`."""
    with EvaluationRunner() as run:
        return run(job)
