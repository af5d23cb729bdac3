"""Watch over one evaluation from its start to its end: output, deadline, verdict of the kernel."""

import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from oragent.isolation.means import Means
from oragent.output import Capped
from oragent.sandbox.child import live
from oragent.sandbox.lifecycle import End
from oragent.sandbox.staging import Setting, Unplaced, placed

__all__ = ["Abandoned", "watch"]

CHUNK = 1 << 16
LOOK_S = 0.02  # where the kernel cannot tell us of a child's end, we look this often
STRAYS_S = 5.0  # after that, processes that multiply faster than they can be killed are left behind


class Abandoned(Exception):
    """Nobody waits for this evaluation any more."""


def watch(job: dict[str, Any], setting: Setting, connection: socket.socket) -> dict[str, Any]:
    """Run an evaluation, and leave no process of it.

    Returns:
        How it ended, with its output and what it used.

    Raises:
        Abandoned: if the engine has gone; the evaluation is ended then too.
    """
    try:
        child = _Child(job, setting)
    except Unplaced as problem:
        return {"trouble": str(problem)}
    with child:
        child.wait(connection)
    return child.outcome


class _Child:
    def __init__(self, job: dict[str, Any], setting: Setting) -> None:
        self.begun = time.monotonic()
        self.deadline = self.begun + job["limits"]["wall_s"]
        self.timed_out = False
        self.outcome: dict[str, Any] = {}
        self._apart = Means.NAMESPACES in setting.means
        self._scratch = setting.scratch
        with placed(job, setting) as order:
            pipes = [os.pipe() for _ in range(3)]
            self._pid = os.fork()
            if self._pid == 0:
                live(order, setting, (pipes[0][1], pipes[1][1]), pipes[2][1])
        for _, writer in pipes:
            os.close(writer)
        self._streams = {reader: Capped(job["limits"]["output_kb"] << 10) for reader, _ in pipes}
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
        _, status, usage = os.wait4(self._pid, 0)
        wall_s = time.monotonic() - self.begun
        if not self._apart:
            end_strays()
        for reader in self._streams:
            self._read(reader)
            os.close(reader)
        if self._end >= 0:
            os.close(self._end)
        code = os.waitstatus_to_exitcode(status)
        out, err, trouble = (self._named(stream.text()) for stream in self._streams.values())
        end = End.DEADLINE if self.timed_out else End.EXITED if code >= 0 else End.SIGNALLED
        kilobytes = usage.ru_maxrss if sys.platform == "linux" else usage.ru_maxrss / 1024
        self.outcome = {
            "end": end, "code": code, "stdout": out, "stderr": err, "trouble": trouble, "wall_s": wall_s,
            "cpu_s": usage.ru_utime + usage.ru_stime, "peak_mb": kilobytes / 1024,
        }  # fmt: skip

    def _named(self, text: str) -> str:
        """Call files of the evaluation by their names: where they lie is new each time, and prompts may quote it."""
        return text.replace(f"{self._scratch}{os.sep}", "").replace(str(self._scratch), ".")

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
    """Kill what an evaluation left behind: whoever lost its parent has become a child of ours."""
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
