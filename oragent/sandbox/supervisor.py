"""Supervise one command from start to end: confinement, output, resource use, exit status."""

import os
import resource
import select
import shutil
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from typing import NoReturn

from oragent._base.frames import ConnectionClosed, send_message
from oragent.sandbox import warm_script
from oragent.sandbox.folders import bring_files
from oragent.sandbox.isolation import environment, kernel, landlock, namespaces, process_usage, root, seccomp
from oragent.sandbox.isolation.guest import drop_privileges
from oragent.sandbox.isolation.mechanisms import Mechanism
from oragent.sandbox.isolation.seccomp import evaluator_filter
from oragent.sandbox.limits import Meter, StreamBuffer, count_processors, set_limits
from oragent.sandbox.messages import SHARE, CommandResult, EndReason
from oragent.sandbox.staging import Launch, Outline, PlacementError, ServerSetting, prepare_place

ERROR_BYTES = 4096
# Polling interval if the kernel cannot notify us of a child's end.
LOOK_S = 0.02
# Interval of the heartbeats to the engine.
BEAT_S = 2.0
# Share of a core that a sleeping program may use for waking up from time to time.
IDLE_SHARE = 0.05
MEMORY_LOOK_S = 0.25
PROCESSORS = count_processors()


# Descriptors after the standard streams.
ERROR_PIPE, RULES, LINE = 3, 4, 5


class EngineGone(Exception):
    """The engine no longer waits for this command."""


def watch_command(outline: Outline, setting: ServerSetting) -> None:
    """Run a command, kill all its processes at the end, and send the result to the engine."""
    connection = outline.connection
    try:
        with ExitStack() as after, _WatchedChild(outline, setting, after) as child:
            child.wait_for_end(connection)
            # Collect the result after the end of the command, while its folder is open.
            after.callback(child.collect_result)
    finally:
        # Without namespaces the temporary folder is on disk.
        if Mechanism.NAMESPACES not in setting.mechanisms:
            shutil.rmtree(setting.scratch, ignore_errors=True)
    try:
        child.send_result(connection)
    finally:
        child.release_output()


class _WatchedChild:
    def __init__(self, outline: Outline, setting: ServerSetting, after: ExitStack) -> None:
        self._command, self._setting, self._limits = outline.command, setting, outline.command.limits
        self._meter = Meter(setting.group, setting.processes)
        self._end, self._reason = EndReason.EXITED, ""
        self._reaped: tuple[int, resource.struct_rusage] | None = None
        with prepare_place(outline, setting, after) as launch:
            self.begun = time.monotonic()
            pipes = [os.pipe() for _ in range(3)]
            self._pid = os.fork()
            if self._pid == 0:
                run_command_process(launch, setting, (pipes[0][1], pipes[1][1]), pipes[2][1])
        self._folder_descriptor = launch.folder_descriptor
        self._error_pipe = pipes[2][0]
        for _, writer in pipes:
            os.close(writer)
        # Created after the fork, so that no command inherits it.
        self._streams = {reader: StreamBuffer(self._limits.output_kb << 10) for reader, _ in pipes[:2]}
        self._streams[self._error_pipe] = StreamBuffer(ERROR_BYTES)
        for reader in self._streams:
            os.set_blocking(reader, False)
        self._handle = os.pidfd_open(self._pid) if hasattr(os, "pidfd_open") else -1
        self._watches_memory = self._meter.watches_memory or (
            self._limits.counts_used_memory and self._meter.can_watch_memory
        )
        self._most_mb = self._limits.memory_mb * (1 if self._limits.counts_used_memory else SHARE)
        self._used, self._counted, self._last_used = 0.0, 0.0, self.begun
        # Monotonic time of the next check.
        self._look_at = self.begun + self._seconds_until_limit(0.0, self.begun)

    def __enter__(self) -> "_WatchedChild":
        return self

    def wait_for_end(self, connection: socket.socket) -> None:
        """Read output until the command ends or reaches a limit; nothing is waited for after its end."""
        poll = select.poll()
        for descriptor in (*self._streams, self._handle, connection.fileno()):
            # The trouble pipe holds little and is read at the end.
            if descriptor >= 0 and descriptor != self._error_pipe:
                poll.register(descriptor, select.POLLIN)
        last_beat = self.begun
        while not self._has_ended():
            now = time.monotonic()
            if now >= self._look_at and self._is_over(now):
                return
            if now - last_beat >= BEAT_S:
                last_beat = now
                # The loss of the engine is noticed when its socket is read.
                with suppress(ConnectionClosed):
                    send_message(connection, {"watched": True})
            remaining = min(self._look_at, last_beat + BEAT_S) - now
            for descriptor, _ in poll.poll((remaining if self._handle >= 0 else min(remaining, LOOK_S)) * 1000 + 1):
                if descriptor == connection.fileno():
                    raise EngineGone
                if descriptor in self._streams and not self._read_pipe(descriptor):
                    poll.unregister(descriptor)

    def _is_over(self, now: float) -> bool:
        """Return True if a limit is reached; otherwise schedule the next check for the earliest possible time."""
        limits, elapsed = self._limits, now - self.begun
        used = self._meter.cpu_s() if self._meter.counts else elapsed
        self._counted = used
        if now - self._last_used >= limits.idle_s and not self._is_asleep(used, now):
            self._used, self._last_used = used, now
        memory_mb = self._meter.memory_mb() if self._watches_memory else 0.0
        if used >= limits.cpu_s:
            self._reason = f"it used {used:.1f} of {limits.cpu_s:g} CPU seconds"
        elif limits.wall_s is not None and elapsed >= limits.wall_s:
            self._reason = f"it did not end within {limits.wall_s:g} s"
        elif now - self._last_used >= limits.idle_s:
            self._reason = f"it slept: hardly any CPU used for {limits.idle_s:g} s"
        elif memory_mb > self._most_mb:
            self._end = EndReason.MEMORY
            self._reason = f"its processes hold {memory_mb:.0f} MiB together; the limit is {self._most_mb}"
            return True
        else:
            self._look_at = now + self._seconds_until_limit(used, now)
            return False
        self._end = EndReason.DEADLINE
        return True

    def _is_asleep(self, used: float, now: float) -> bool:
        """Return True if it has used almost no CPU since the last activity and does not want to run."""
        return used - self._used <= IDLE_SHARE * (now - self._last_used) and not self._meter.wants_to_run()

    def _seconds_until_limit(self, used: float, now: float) -> float:
        limits = self._limits
        remaining = [(limits.cpu_s - used) / PROCESSORS, limits.idle_s - (now - self._last_used)]
        if limits.wall_s is not None:
            remaining += [limits.wall_s - (now - self.begun)]
        if self._watches_memory:
            remaining += [MEMORY_LOOK_S]
        return max(min(remaining), LOOK_S)

    def __exit__(self, *exception: object) -> None:
        # Kill before waiting: until then the PID cannot belong to another process.
        for kill in (os.killpg, os.kill):
            with suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        status, usage = self._reaped or os.wait4(self._pid, 0)[1:]
        self._wall_s = time.monotonic() - self.begun
        if Mechanism.NAMESPACES not in self._setting.mechanisms:
            process_usage.kill_strays()
        used = self._meter.cpu_s() if self._meter.is_exact else self._counted
        self._cpu_s = max(used, usage.ru_utime + usage.ru_stime)
        # Bytes on macOS, KiB elsewhere.
        self._peak_mb = usage.ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
        for reader in self._streams:
            self._read_pipe(reader)
            os.close(reader)
        if self._handle >= 0:
            os.close(self._handle)
        self._code = os.waitstatus_to_exitcode(status)
        if self._code == -signal.SIGKILL and self._end is EndReason.EXITED and self._meter.was_out_of_memory():
            self._end = EndReason.MEMORY
            self._reason = f"its processes held more than {SHARE * self._limits.memory_mb} MiB"

    def send_result(self, connection: socket.socket) -> None:
        """Send the result, followed by the captured output."""
        *streams, error_pipe = self._streams.values()
        if any(error_pipe.lengths):
            raise PlacementError(b"".join(error_pipe.parts()).decode(errors="replace"))
        lengths = [stream.lengths for stream in streams]
        message = self._result.to_plain() | {"streams": lengths, "scratch": str(self._setting.scratch)}
        with ExitStack() as stack:
            parts = [stack.enter_context(part) for stream in streams for part in stream.parts()]
            send_message(connection, message, after=parts)

    def release_output(self) -> None:
        """Release the memory of the captured output."""
        for stream in self._streams.values():
            # A part that was not sent still uses the memory; this process then ends.
            with suppress(BufferError):
                stream.close()

    def collect_result(self) -> None:
        """Collect the result and the files of the command."""
        files: dict[str, bytes] = {}
        left_out: dict[str, str] = {}
        if self._command.bring:
            files, left_out = bring_files(self._folder_descriptor, self._command.bring, self._limits.file_mb << 20)
        self._result = CommandResult(
            EndReason.SIGNALLED if self._end is EndReason.EXITED and self._code < 0 else self._end,
            self._code,
            files=files,
            left_out=left_out,
            wall_s=self._wall_s,
            cpu_s=self._cpu_s,
            peak_mb=self._peak_mb,
            reason=self._reason,
        )

    def _has_ended(self) -> bool:
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        # Before Python 3.13, macOS cannot check for the end without reaping the process.
        if self._reaped is None:
            ended_pid, status, usage = os.wait4(self._pid, os.WNOHANG)
            self._reaped = (status, usage) if ended_pid else None
        return self._reaped is not None

    def _read_pipe(self, descriptor: int) -> bool:
        """Read the available content of a pipe; return False at its end."""
        try:
            while self._streams[descriptor].read_from(descriptor):
                if time.monotonic() > self._look_at:
                    # An endless stream must not outlast the limits.
                    return True
        except BlockingIOError:
            return True
        return False


def run_command_process(launch: Launch, setting: ServerSetting, streams: tuple[int, int], error_pipe: int) -> NoReturn:
    """Run the command in this process and never return; confinement errors are written to ``trouble``."""
    try:
        setting.group.join()
        _rearrange_descriptors(launch, streams, error_pipe)
        error_pipe = ERROR_PIPE
        _confine_command(launch, setting)
    except BaseException as problem:
        os.write(error_pipe, f"{type(problem).__name__}: {problem}".encode())
        os._exit(70)
    os.close(ERROR_PIPE)
    os.environ |= launch.command.environment
    if launch.device_line >= 0:
        os.environ[environment.LINE] = str(LINE)
    if launch.forked:
        warm_script.run_script(launch.argv[1], launch.argv[2:], launch.program)
    with suppress(OSError):
        os.execvp(launch.argv[0], launch.argv)
    os._exit(127)


def _rearrange_descriptors(launch: Launch, streams: tuple[int, int], error_pipe: int) -> None:
    """Keep the standard streams, the trouble pipe, the ruleset and the device socket; close everything else."""
    os.setsid()
    source = os.open(os.devnull, os.O_RDONLY) if launch.stdin < 0 else launch.stdin
    descriptors = [source, *streams, error_pipe]
    if launch.rules >= 0 or launch.device_line >= 0:
        descriptors.append(launch.rules if launch.rules >= 0 else source)
    if launch.device_line >= 0:
        descriptors.append(launch.device_line)
    high = [os.dup(descriptor) for descriptor in descriptors]
    for number, descriptor in enumerate(high):
        os.dup2(descriptor, number, inheritable=number < ERROR_PIPE or number == LINE)
    os.closerange(len(high), os.sysconf("SC_OPEN_MAX"))


def _confine_command(launch: Launch, setting: ServerSetting) -> None:
    if launch.rooted:
        root.leave_old_root(proc=True)
    elif Mechanism.NAMESPACES in setting.mechanisms:
        namespaces.mount_own_proc()
    os.chdir(launch.folder)
    set_limits(launch.command.limits, setting.other_tasks, launch.initial_bytes)
    kernel.no_new_privileges()
    if Mechanism.IDENTITY in setting.mechanisms:
        drop_privileges(launch.needed)
    kernel.die_with_parent(launch.parent)
    if launch.rules >= 0:
        landlock.enforce_ruleset(RULES)
    if Mechanism.SECCOMP in setting.mechanisms and not launch.command.trusted:
        seccomp.install_filter(evaluator_filter(sockets=launch.command.folder is not None))
