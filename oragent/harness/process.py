"""A guest process as its scorer sees it: socket, log, resource use, end."""

import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from oragent.harness import frames
from oragent._base.errors import CandidateError, OragentError, SandboxError
from oragent._base.plain import CappedOutput
from oragent._base.protocol import Status
from oragent.harness.forkers import GuestForker
from oragent.harness.guest_main import EXIT_OF_MEMORY, EXIT_UNCONFINED, OUT_OF_MEMORY
from oragent.sandbox.isolation import process_usage

LOOK_S, LONGEST_LOOK_S = 0.05, 0.5  # how often a silent guest is looked at, first and in the end
LOG_BYTES = 16384  # kept of what a candidate prints
CHUNK = 1 << 16
NEARLY = 0.75  # of a bound: the kernel acts on ticks that it counts, and tells what it measured, which may be less
STATUSES = frozenset(Status) - {Status.OK, Status.SCREENED}
GROWN_MB = 256  # resident memory beyond the bound on private memory, which is watched where no control group does


class GuestProcess:
    """A guest: asks it, and ends it.

    Args:
        parent: Who forks it.
        memory_mb: Private memory that it may take, in MiB.
        born_with: Bytes of resident memory that it has at its birth.

    Attributes:
        log: The head and tail of what it printed.
        first_s: CPU seconds that its first call took, as far as that is known; None before it.
        free_s: Part of these that does not count; None before it.
        counted_s: CPU seconds that have been looked at.
        counted_at: Time of that look, seconds of the performance counter.
        size: Place of the calls since then, by what failures call a size.
    """

    def __init__(self, parent: GuestForker, memory_mb: int, born_with: int) -> None:
        self.log = CappedOutput(LOG_BYTES)
        self.first_s: float | None = None
        self.free_s: float | None = None
        self.counted_s = 0.0
        self.counted_at = time.perf_counter()
        self.size = ""
        self._parent, self._memory_mb, self._born_with = parent, memory_mb, born_with
        self._ended: tuple[int, float] | None = None
        self._deadline: float | None = None
        self._look: Callable[[], None] = lambda: None
        self._wire, theirs = socket.socketpair()
        self._reader, writer = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = parent.fork_guest(theirs, writer)
        os.set_blocking(self._reader, False)
        self._poll = select.poll()
        self._poll.register(self._wire, select.POLLIN)
        self._poll.register(self._reader, select.POLLIN)

    @property
    def cpu_s(self) -> float:
        """CPU seconds, user and system, that it has used until now, or until its end."""
        return self._parent.cpu_seconds(self.pid) if self._ended is None else self._ended[1]

    def ask(self, request: bytes, limit_s: float | None, look: Callable[[], None]) -> Any:
        """Send a request and wait for its answer.

        Args:
            request: Frame to send.
            limit_s: Wall seconds that the answer may take; None for any.
            look: Callback that is called now and then while it computes; what it raises ends the call.

        Raises:
            CandidateError: if the guest dies, breaks the wire or reports a failure.
        """
        self._deadline, self._look = None if limit_s is None else time.monotonic() + limit_s, look
        try:
            self._wire.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            raise self._explain_death() from None
        answer = self._read_answer()
        if isinstance(answer, dict) and answer.get("status") in STATUSES:
            raise CandidateError(str(answer.get("message")), answer["status"], str(answer.get("traceback")))
        if not isinstance(answer, dict) or "value" not in answer:
            raise CandidateError("broke the wire to its scorer", Status.REJECTED)
        if self.first_s is None:
            self.first_s = self._first_call_s(answer.get("first"))
        return answer["value"]

    def close(self) -> None:
        """End the guest, whatever it is doing."""
        if self._ended is None:
            self._parent.kill_guest(self.pid)
            self._reap_process(wait=True)
        if self._reader >= 0:
            self._drain_log()
            self._wire.close()
            os.close(self._reader)
            self._reader = -1

    def _read_answer(self) -> Any:
        try:
            buffer = self._fill_buffer(bytearray(), frames.HEAD.size)
            whole = frames.frame_length(buffer)
            buffer = self._fill_buffer(buffer, whole)
            if len(buffer) > whole:
                raise CandidateError("broke the wire to its scorer", Status.REJECTED)
            return frames.decode_frame(buffer)
        except frames.FrameError as problem:
            raise CandidateError(f"returned {problem}", Status.INVALID) from None
        except MemoryError:
            raise CandidateError("returned more than there is room for", Status.MEMORY) from None

    def _first_call_s(self, claimed: Any) -> float:
        """What the first call took: a loop beside the candidate tells it, and no more is believed than can be."""
        spent = self.cpu_s
        return min(max(float(claimed), 0.0), spent) if isinstance(claimed, float) and claimed == claimed else spent

    def _fill_buffer(self, buffer: bytearray, length: int) -> bytearray:
        """Read on until there are so many bytes, at least."""
        patience = LOOK_S
        while len(buffer) < length:
            if self._deadline is not None and time.monotonic() > self._deadline:
                self.close()
                raise CandidateError("took too long for one call", Status.TIMEOUT)
            ready = self._poll.poll(patience * 1000)
            if any(descriptor == self._reader for descriptor, _ in ready):
                self._drain_log()
            if any(descriptor != self._reader for descriptor, _ in ready):
                try:
                    count = frames.receive_into(self._wire, buffer, length)
                except ConnectionResetError:  # it ended before it had read all of the request
                    count = 0
                if not count:
                    raise self._explain_death()
            elif not ready:
                if self._reap_process(wait=False):
                    raise self._explain_death()
                self._check_memory()
                self._look()
                patience = min(2 * patience, LONGEST_LOOK_S)
        return buffer

    def _check_memory(self) -> None:
        """A guest may give back what it was born with, and take as much again: what is resident is looked at, too."""
        with suppress(OSError):
            if process_usage.read_memory(str(self.pid)).resident - self._born_with >> 20 > self._memory_mb + GROWN_MB:
                self.close()
                raise CandidateError(OUT_OF_MEMORY, Status.MEMORY)

    def _drain_log(self) -> None:
        try:
            while chunk := os.read(self._reader, CHUNK):
                self.log.add(chunk)
                if len(chunk) < CHUNK:
                    return
            self._poll.unregister(self._reader)
        except (BlockingIOError, KeyError):
            return

    def _reap_process(self, *, wait: bool) -> bool:
        if self._ended is None:
            self._ended = self._parent.reap_guest(self.pid, wait=wait)
        return self._ended is not None

    def _explain_death(self) -> OragentError:
        """Ask the kernel why the guest is gone."""
        if not self._reap_process(wait=False):
            time.sleep(LOOK_S)  # the wire closes a moment before the process can be reaped
            if not self._reap_process(wait=False):
                return CandidateError("closed the wire to its scorer", Status.CRASHED)
        code = os.waitstatus_to_exitcode(self._ended[0] if self._ended else 0)
        if code == -signal.SIGXCPU or (code == -signal.SIGKILL and self._used_all_cpu()):
            return CandidateError("ran out of CPU time", Status.TIMEOUT)
        if code == EXIT_UNCONFINED:  # a candidate can end so, too: it has no score either way
            self._drain_log()
            return SandboxError(f"a guest cannot be confined: {self.log.text()}")
        if code == EXIT_OF_MEMORY:
            return CandidateError(OUT_OF_MEMORY, Status.MEMORY)
        reason = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        return CandidateError(f"ended its own process {reason}", Status.CRASHED)

    def _used_all_cpu(self) -> bool:
        """Return True if it has used what the kernel lets a process use: no signal goes before the last bound."""
        bound = resource.getrlimit(resource.RLIMIT_CPU)[1]
        return bound != resource.RLIM_INFINITY and self.cpu_s > NEARLY * bound
