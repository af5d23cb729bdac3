"""Watch over one command from its start to its end: output, deadline, verdict of the kernel."""

import os
import select
import signal
import socket
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from oragent.isolation.means import Means
from oragent.output import Capped
from oragent.sandbox.child import live
from oragent.sandbox.folders import bring
from oragent.sandbox.lifecycle import End
from oragent.sandbox.messages import Command, Ended
from oragent.sandbox.staging import Setting, Unplaced, placed

__all__ = ["Abandoned", "watch"]

CHUNK = 1 << 16
LOOK_S = 0.02  # where the kernel cannot tell us of a child's end, we look this often
STRAYS_S = 5.0  # after that, processes that multiply faster than they can be killed are left behind


class Abandoned(Exception):
    """Nobody waits for this command any more."""


def watch(command: Command, setting: Setting, connection: socket.socket) -> Ended:
    """Run a command, and leave no process of it.

    Raises:
        Abandoned: if the engine has gone; the command is ended then too.
        Unplaced: if it cannot be confined as the server found that it can.
    """
    with ExitStack() as after:
        with _Child(command, setting, after) as child:
            child.wait(connection)
        return child.ended()


class _Child:
    def __init__(self, command: Command, setting: Setting, after: ExitStack) -> None:
        self.begun = time.monotonic()
        self.deadline = self.begun + command.limits.wall_s
        self.timed_out = False
        self._command, self._setting = command, setting
        with placed(command, setting, after) as launch:
            pipes = [os.pipe() for _ in range(3)]
            self._pid = os.fork()
            if self._pid == 0:
                live(launch, setting, (pipes[0][1], pipes[1][1]), pipes[2][1])
        self._place = launch.place
        for _, writer in pipes:
            os.close(writer)
        self._streams = {reader: Capped(command.limits.output_kb << 10) for reader, _ in pipes}
        for reader in self._streams:
            os.set_blocking(reader, False)
        self._end = os.pidfd_open(self._pid) if hasattr(os, "pidfd_open") else -1

    def __enter__(self) -> "_Child":
        return self

    def wait(self, connection: socket.socket) -> None:
        """Read its output until it ends or its time is up; once it is dead nothing is waited for."""
        poll = select.poll()
        for descriptor in (*self._streams, self._end, connection.fileno()):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        while not self._dead():
            left = self.deadline - time.monotonic()
            if left <= 0:
                self.timed_out = True
                return
            for descriptor, _ in poll.poll((left if self._end >= 0 else min(left, LOOK_S)) * 1000 + 1):
                if descriptor == connection.fileno():
                    raise Abandoned
                if descriptor in self._streams and not self._read(descriptor):
                    poll.unregister(descriptor)

    def __exit__(self, *exception: object) -> None:
        for kill in (os.killpg, os.kill):  # before reaping: until then the number is surely its own
            with suppress(ProcessLookupError, PermissionError):
                kill(self._pid, signal.SIGKILL)
        _, status, self._usage = os.wait4(self._pid, 0)
        self._wall_s = time.monotonic() - self.begun
        if Means.NAMESPACES not in self._setting.means:
            end_strays()
        for reader in self._streams:
            self._read(reader)
            os.close(reader)
        if self._end >= 0:
            os.close(self._end)
        self._code = os.waitstatus_to_exitcode(status)

    def ended(self) -> Ended:
        """How it ended, and what it leaves."""
        out, err, trouble = (self._named(stream.text()) for stream in self._streams.values())
        if trouble:
            raise Unplaced(trouble)
        files: dict[str, bytes] = {}
        left_out: dict[str, str] = {}
        if self._command.bring:
            files, left_out = bring(self._place, self._command.bring, self._command.limits.file_mb << 20)
        kilobytes = self._usage.ru_maxrss if sys.platform == "linux" else self._usage.ru_maxrss / 1024
        return Ended(
            End.DEADLINE if self.timed_out else End.EXITED if self._code >= 0 else End.SIGNALLED,
            self._code,
            stdout=out,
            stderr=err,
            files=files,
            left_out=left_out,
            wall_s=self._wall_s,
            cpu_s=self._usage.ru_utime + self._usage.ru_stime,
            peak_mb=kilobytes / 1024,
        )

    def _named(self, text: str) -> str:
        """Call files of the command by their names: where they lie may be new each time, and prompts may quote it."""
        for folder in filter(None, (self._command.folder, self._setting.scratch)):
            text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), ".")
        return text

    def _dead(self) -> bool:
        return os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def _read(self, descriptor: int) -> bool:
        """Take what a pipe holds at this moment; False at its end."""
        try:
            while chunk := os.read(descriptor, CHUNK):
                self._streams[descriptor].add(chunk)
                if time.monotonic() > self.deadline:
                    break  # a stream without an end must not outlast the deadline
        except BlockingIOError:
            return True
        return bool(chunk)


def end_strays() -> None:
    """Kill what a command left behind: whoever lost its parent has become a child of ours."""
    give_up = time.monotonic() + STRAYS_S
    while time.monotonic() < give_up:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for child in _children():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)


def _children() -> list[int]:
    own, found = os.getpid(), []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(after_name[1]) == own:
                    found.append(int(entry.name))
    return found
