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
from oragent._base.protocol import ERROR, Failure, Result, Status, parse, storable_text
from oragent.evaluation.devices import CPU
from oragent.evaluation.job import COMPILED_FILE, SEED, USAGE, Evaluation, Job
from oragent.sandbox.limits import server_environment
from oragent.sandbox.messages import Command, CommandResult, EndReason, Limits
from oragent.sandbox.sandbox import LIVES as SANDBOX_LIVES
from oragent.sandbox.sandbox import Sandbox

SERVING = "oragent.solvers.attention_bias.serving"
# Memory of the process, and of the device.
MEMORY_MB = 16_384
# The first import of PyTorch's CUDA build on a machine takes a minute, and the driver takes time, too.
START_S = 300.0
# An evaluation that waits for the device uses no CPU, and may sleep longer than others.
IDLE_S = 600.0
# Attempts at an evaluation if the device process dies.
LIVES = 3
# Size in bytes of the message that goes with a line.
WORD = 64
LAST_WORDS = 300


# Number of programs whose machine code is kept.
MAX_PROGRAMS = 8
# Factor on the limit up to which an evaluation may go to be measured again.
REMEASURE_FACTOR = 1.2
# Mode of instances that are drawn by an evaluation, and its metric with the seed.
FRESH, DRAWN_SEED = "fresh", "fresh_seed"


class DeviceScorer:
    """Client of a process that owns a device, outside the limits of evaluations; started on demand.

    Only the numbers of a candidate's biases reach that process. It checks and limits the data of an evaluation; the
    engine sets its time limit on the device here.
    """

    def __init__(self, device: str, root_dir: Path, memory_mb: int = MEMORY_MB) -> None:
        self._device, self._root_dir, self._memory_mb = device, root_dir, memory_mb
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self.starts = 0
        # An evaluation under which the process died repeats alone.
        self.again = threading.Lock()

    def open_line(self, seconds: float) -> tuple[socket.socket, int]:
        """Open a connection for one evaluation with a time limit; also return the number of the process behind it."""
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
        raise SandboxError(f"the process for {self._device} refused the evaluation")

    def is_in_life(self, life: int) -> bool:
        """Return True if the process with this number is still running."""
        with self._lock:
            return self.starts == life and self._process is not None and self._process.poll() is None

    def close(self) -> None:
        """End the process; the next ``open_line`` starts another one."""
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
                "-P",
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
                words = log.read()[-4000:].decode(errors="replace").strip().splitlines() or ["it printed nothing"]
                raise SandboxError(f"the process for {self._device} does not start: {words[-1][:LAST_WORDS]}")

    def _stop_process(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None


# First words of uncaught exceptions in Python and Node, Java, C++, Go, Rust and Julia.
EXCEPTION = re.compile(
    r"""(?:Exception\ in\ thread\ "[^"]*"\ |Caused\ by:\ |Uncaught\ )?
        (?P<line>(?:[A-Za-z_][\w.$]*)?(?:Error|Exception|Exit|Interrupt)(?:\ \[\w+\])?(?::.*)?
        |\ *what\(\):.*|panic:\ .*|thread\ '.*'\ panicked\ at.*|ERROR:\ .*|FATAL\ ERROR:\ .*)$""",
    re.VERBOSE,
)
VERSION = re.compile(r"Node\.js v[\d.]+|note: run with .RUST_BACKTRACE.*")
OUT_OF_MEMORY = "MemoryError", "std::bad_alloc", "java.lang.OutOfMemoryError", "what():  std::bad_alloc"


def _repeat_job(job: Job, result: Result) -> Job:
    """Return the job that repeats an evaluation, on the same fresh set if it has drawn one."""
    seed = result.metrics.get(DRAWN_SEED)
    if job.mode != FRESH or type(seed) is not int or any(word.startswith(SEED) for word in job.arguments):
        return job
    return replace(job, arguments=(*job.arguments, f"{SEED}{seed}"))


def judge_result(command_result: CommandResult, limits: Limits) -> Result | Failure:
    """Return the result of an evaluator from the end of its process."""
    code, parsed = command_result.code, parse(command_result.stdout)
    if isinstance(parsed, Failure) and parsed.status.failed and ERROR in command_result.stdout:
        # It counts however the process ended afterwards, for example in a solver that its limit ended.
        return parsed
    if command_result.end is EndReason.LOST:
        return Failure(Status.CRASHED, f"the process that supervises it was killed {SANDBOX_LIVES} times")
    if command_result.end is EndReason.MEMORY:
        return Failure(Status.MEMORY, f"ran out of memory: {command_result.reason}")
    over = command_result.cpu_s >= limits.cpu_s
    if (command_result.end is EndReason.DEADLINE or code in (-signal.SIGXCPU, -signal.SIGKILL)) and over:
        return Failure(Status.TIMEOUT, f"no result within {limits.cpu_s:g} CPU seconds")
    if command_result.end is EndReason.DEADLINE:
        return Failure(Status.TIMEOUT, f"no result: {command_result.reason}")
    if code < 0:
        note = "; the kernel does that when memory runs out" if code == -signal.SIGKILL else ""
        exception = _find_exception(command_result.stderr) if code == -signal.SIGABRT else ""
        name = signal.Signals(-code).name
        return Failure(
            Status.CRASHED, f"the evaluation was ended by {name}{note}{exception and f': {exception}'}"[:500]
        )
    if code == 0:
        return parsed
    if isinstance(parsed, Result):
        return Failure(Status.CRASHED, f"the evaluation printed a result, then exited with code {code}")
    if parsed.status is not Status.CRASHED:
        return parsed
    return _explain_failure(code, command_result.stderr)


def _explain_failure(code: int, log: str) -> Failure:
    if code == 2 and log.startswith(USAGE):
        last = log.rstrip().splitlines()[-1]
        return Failure(Status.ERROR, f"the evaluator refuses its arguments: {last.partition('error: ')[2]}"[:500])
    note = _find_exception(log) or _last_line(log) or "and printed no reason"
    status = Status.MEMORY if note.startswith(OUT_OF_MEMORY) else Status.ERROR
    return Failure(status, f"the evaluation exited with code {code}: {note}"[:500])


def _find_exception(log: str) -> str:
    """Return the line that names the exception; the last one, because causes are printed first."""
    matches = [match for log_line in log.splitlines() if (match := EXCEPTION.match(log_line))]
    if matches:
        return matches[-1]["line"].strip() or matches[-1][0].strip()
    return ""


def _last_line(log: str) -> str:
    lines = (text.strip() for text in reversed(log.splitlines()))
    return next((text for text in lines if text and not VERSION.fullmatch(text)), "")


class EvaluationRunner:
    """Runner of evaluations in a `Sandbox`, several at once, each in its own process.

    Args:
        apart: Whether networks on processors run in a separate process, too, as those on a GPU do. Evaluations do not
            have enough memory for them, and candidates must not read them.
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
        # Machine code of the latest programs by key, the newest last.
        self._compiled: dict[tuple[str, Path], str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __call__(self, job: Job) -> Evaluation:
        """Run an evaluation from start to end; several threads may call this.

        Other programs on the machine can increase the CPU time of an evaluation by 10 to 20 %, so slightly too much is
        no reason to fail. An evaluation may use up to ``REMEASURE_FACTOR`` times its limit. If it then has a result and
        used more than the limit, it runs once more, and the smaller time decides. Near the limit the same candidate can
        still pass or fail; clearly below or above it the outcome is the same everywhere.

        Raises:
            SandboxError: The sandbox failed: no server, or a mechanism that no longer works.
            OSError: The machine failed, for example for lack of disk space or processes.
        """
        command_result = self._run_patiently(job)
        try:
            return self._judge(job, command_result)
        except (OragentError, OSError):
            raise
        except Exception as problem:
            # A result that our own code cannot read must not end a run.
            reason = f"the evaluation's result cannot be read: {type(problem).__name__}: {problem}"
            return Evaluation.from_result(Failure(Status.CRASHED, storable_text(reason)[:500]), command_result)

    def _judge(self, job: Job, command_result: CommandResult) -> Evaluation:
        """Derive the evaluation from the end of its process; run it once more if it used slightly too much time."""
        outcome = judge_result(command_result, job.limits)
        if isinstance(outcome, Result) and command_result.cpu_s > job.limits.cpu_s:
            again = self._run_patiently(_repeat_job(job, outcome))
            if again.cpu_s < command_result.cpu_s and isinstance(result := judge_result(again, job.limits), Result):
                command_result = again
                # On a fresh set the first score counts: the program could have left data for the second evaluation.
                if job.mode != FRESH:
                    outcome = result
        if isinstance(outcome, Result) and command_result.cpu_s > job.limits.cpu_s:
            used = f"used more than {job.limits.cpu_s:g} CPU seconds, measured twice"
            finished_instances = outcome.metrics.get("instances_done")
            if type(finished_instances) is int:
                used += f"; all {finished_instances} instances were done"
            outcome = Failure(Status.TIMEOUT, used)
        return Evaluation.from_result(outcome, command_result)

    def _run_patiently(self, job: Job) -> CommandResult:
        key = job.program, job.evaluator
        with self._lock:
            compiled = self._compiled.get(key, "")
        command = job.make_command(compiled)
        patient = replace(command, limits=replace(job.limits, cpu_s=REMEASURE_FACTOR * job.limits.cpu_s))
        scorer = self._find_scorer(job)
        result = self._run_in_sandbox(job, patient) if scorer is None else self._run_with_device(scorer, job, patient)
        if content := result.files.get(COMPILED_FILE):
            with self._lock, contextlib.suppress(UnicodeDecodeError):
                self._compiled.setdefault(key, content.decode("ascii"))
                while len(self._compiled) > MAX_PROGRAMS:
                    del self._compiled[next(iter(self._compiled))]
        return result

    def _run_in_sandbox(self, job: Job, command: Command, device_line: int | None = None) -> CommandResult:
        warm_up, companion_folder = job.evaluator if job.is_python else None, job.companion_folder
        return self._sandbox(
            command, root_dir=job.root_dir, warm_up=warm_up, companion_folder=companion_folder, device_line=device_line
        )

    def _find_scorer(self, job: Job) -> DeviceScorer | None:
        """Return the process that computes for a job on its device; None if the job computes itself.

        An evaluator that runs candidates in its own process gets no connection, because candidates could use it.
        """
        device = job.device
        if device is None or not job.is_guarded or (device == CPU and not self._apart):
            return None
        with self._lock:
            key = device, job.root_dir.resolve()
            return self._scorers.setdefault(key, DeviceScorer(*key))

    def _run_with_device(self, scorer: DeviceScorer, job: Job, command: Command) -> CommandResult:
        """Run a command with a connection to a device; if the device process dies, repeat it, one command at a time."""
        waiting = replace(command, limits=replace(command.limits, idle_s=max(IDLE_S, command.limits.idle_s)))
        for attempt in range(LIVES):
            with scorer.again if attempt else nullcontext():
                wire, life = scorer.open_line(job.limits.cpu_s)
                with wire:
                    command_result = self._run_in_sandbox(job, waiting, wire.fileno())
                if scorer.is_in_life(life):
                    break
        if command_result.end is EndReason.DEADLINE and command_result.cpu_s < job.limits.cpu_s:
            # The command slept: end the device process, or else all further commands would wait as long for it.
            scorer.close()
        return command_result

    def start_server(self, job: Job) -> None:
        """Start the server for a job's problem, without waiting until it is ready."""
        warm_up = job.evaluator if job.is_python else None
        self._sandbox.start(job.limits, root_dir=job.root_dir, warm_up=warm_up, companion_folder=job.companion_folder)

    def close(self) -> None:
        """End all servers and their commands."""
        self._sandbox.close()
        with self._lock:
            for scorer in self._scorers.values():
                scorer.close()
            self._scorers.clear()


def run_evaluation(job: Job) -> Evaluation:
    """Run a single evaluation, just as in a search; SandboxError and OSError as for an `EvaluationRunner`."""
    with EvaluationRunner() as run:
        return run(job)
