"""Processes that fork guests and report on them: the scorer itself, or a spare process that knows no data.

A guest must not have seen what the scorer reads, nor what another guest did. So the first is forked before data is
loaded, and all later ones by a spare, which was forked then, too, and has neither loaded a candidate nor data. Where
namespaces can be had, each guest of a spare is alone in one of processes, and its files are Python's alone.
"""

import gc
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import NoReturn, Protocol

from oragent.harness.guest_main import prepare_process
from oragent.sandbox.isolation import kernel, process_usage
from oragent.sandbox.isolation.guest import Cage, enter_guest_namespace

Live = Callable[[socket.socket, int, int, Cage], NoReturn]  # wire, log, process id of the parent, cage
REQUEST, REPLY = struct.Struct("<cq"), struct.Struct("<?qqd")
# Question and answer take turns, and each is one short write: where there are no messages, a stream keeps them apart.
MESSAGES = socket.SOCK_SEQPACKET if kernel.LINUX else socket.SOCK_STREAM
FORK, REAP, WAIT, KILL, CPU = b"f", b"r", b"w", b"k", b"c"


class GuestForker(Protocol):
    """Forks processes and ends them."""

    def fork_guest(self, wire: socket.socket, log: int) -> int:
        """Make a guest at the other end of a wire and of a pipe for its output; both are closed here.

        Returns:
            Its process id, as this parent counts.
        """

    def reap_guest(self, pid: int, *, wait: bool) -> tuple[int, float] | None:
        """Take the exit status and CPU seconds of a guest that has ended; None if it has not, and is not waited for."""

    def kill_guest(self, pid: int) -> None:
        """End a guest that has not been reaped."""

    def cpu_seconds(self, pid: int) -> float:
        """CPU seconds, user and system, that a guest that has not been reaped has used."""


class DirectForker:
    """Forks a guest from this very process."""

    def __init__(self, live: Live, cage: Cage) -> None:
        self._live, self._cage = live, cage

    def fork_guest(self, wire: socket.socket, log: int) -> int:
        """Make a guest."""
        scorer, pid = os.getpid(), os.fork()
        if pid == 0:
            self._live(wire, log, scorer, self._cage)
        wire.close()
        os.close(log)
        return pid

    def reap_guest(self, pid: int, *, wait: bool) -> tuple[int, float] | None:
        """Take a guest's end."""
        ended, status, usage = os.wait4(pid, 0 if wait else os.WNOHANG)
        return (status, usage.ru_utime + usage.ru_stime) if ended else None

    def kill_guest(self, pid: int) -> None:
        """End a guest."""
        os.kill(pid, signal.SIGKILL)

    def cpu_seconds(self, pid: int) -> float:
        """Tell what a guest has used."""
        return _process_cpu_s(pid)


class Spare:
    """A process that forks guests on request, made when nothing was known yet.

    Args and methods are those of `Scorer`; ``prepare`` is called once, before the first fork and without a candidate.
    """

    def __init__(self, live: Live, cage: Cage, prepare: Callable[[], None] = lambda: None) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, MESSAGES)
        scorer, self._pid = os.getpid(), os.fork()
        if self._pid == 0:
            self._control.close()
            _SpareProcess(theirs, live, cage, prepare).serve_requests(scorer)
        theirs.close()

    def fork_guest(self, wire: socket.socket, log: int) -> int:
        """Make a guest."""
        _, pid, _, _ = self._request(FORK, 0, wire.fileno(), log)
        wire.close()
        os.close(log)
        return pid

    def reap_guest(self, pid: int, *, wait: bool) -> tuple[int, float] | None:
        """Take a guest's end."""
        ended, _, status, cpu = self._request(WAIT if wait else REAP, pid)
        return (status, cpu) if ended else None

    def kill_guest(self, pid: int) -> None:
        """End a guest."""
        self._request(KILL, pid)

    def cpu_seconds(self, pid: int) -> float:
        """Tell what a guest has used."""
        return self._request(CPU, pid)[3]

    @property
    def own_cpu_s(self) -> float:
        """CPU seconds of this process without those of its guests; 0 once it has ended."""
        return _process_cpu_s(self._pid) if self._pid else 0.0

    def close(self) -> None:
        """End it, and with it all guests that it made."""
        if self._pid:
            self._control.close()
            os.kill(self._pid, signal.SIGKILL)
            os.waitpid(self._pid, 0)
            self._pid = 0

    def _request(self, what: bytes, pid: int, *descriptors: int) -> tuple[bool, int, int, float]:
        socket.send_fds(self._control, [REQUEST.pack(what, pid)], descriptors)
        answer = self._control.recv(REPLY.size)
        if not answer:
            raise OSError("the process that makes guests has ended")
        done, number, status, cpu = REPLY.unpack(answer)
        return done, number, status, cpu


class _SpareProcess:
    """The other side of a spare."""

    def __init__(self, control: socket.socket, live: Live, cage: Cage, prepare: Callable[[], None]) -> None:
        self._control, self._live, self._cage, self._prepare = control, live, cage, prepare

    def serve_requests(self, scorer: int) -> NoReturn:
        """Wait for requests until the scorer is gone."""
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # before the first request, too
            gc.freeze()  # a collection would touch, and so copy, every page of a child
            kernel.die_with_parent(scorer)
            # Only now: most evaluations need none of it before they end.
            request = socket.recv_fds(self._control, REQUEST.size, 2)
            with enter_guest_namespace(self._cage) as cage:
                prepare_process()
                self._prepare()
                gc.freeze()
                self._cage = replace(cage, is_prepared=True)
                while request[0]:
                    what, pid = REQUEST.unpack(request[0])
                    self._answer_request(what, pid, request[1])
                    request = socket.recv_fds(self._control, REQUEST.size, 2)
        finally:
            os._exit(0)

    def _answer_request(self, what: bytes, pid: int, descriptors: list[int]) -> None:
        done, status, cpu = True, 0, 0.0
        if what == FORK:
            with self._cage.fork_namespace() as parent:
                pid = os.fork()
                if pid == 0:
                    self._control.close()
                    self._live(socket.socket(fileno=descriptors[0]), descriptors[1], parent, self._cage)
            for descriptor in descriptors:
                os.close(descriptor)
        elif what == KILL:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        elif what == CPU:
            cpu = _process_cpu_s(pid)
        else:
            ended, status, usage = os.wait4(pid, 0 if what == WAIT else os.WNOHANG)
            done, cpu = bool(ended), usage.ru_utime + usage.ru_stime
        self._control.send(REPLY.pack(done, pid, status, cpu))


def _process_cpu_s(pid: int) -> float:
    """Read the clock of another process's CPU time; 0 where there is none to be had."""
    try:
        if not kernel.LINUX:
            return process_usage.cpu_s(pid)
        return time.clock_gettime(~pid << 3 | 2)  # as clock_getcpuclockid of glibc makes it
    except OSError:
        return 0.0
