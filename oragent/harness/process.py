"""Guest processes from the scorer's side, and the processes that fork guests and report on them.

Guests are forked by the scorer itself, or by a spare process without data. A guest must not have seen data that the
scorer reads, nor results of another guest. Therefore the first guest is forked before data are loaded. The spare is
forked at the same time and loads neither a candidate nor data; it forks all later guests. If the machine has
namespaces, each guest of a spare has its own namespace of processes and sees only the files of Python.
"""

import gc
import os
import resource
import select
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any, NoReturn

from oragent.harness import wire_format
from oragent._base.errors import CandidateError, OragentError, SandboxError
from oragent._base.protocol import Status
from oragent._base.text_format import CappedOutput
from oragent.harness.exact_values import ExactArrays, SentFunctions, serve_callback
from oragent.harness.guest_main import EXIT_OF_MEMORY, EXIT_UNCONFINED, OUT_OF_MEMORY, prepare_process
from oragent.sandbox.isolation import kernel, process_usage
from oragent.sandbox.isolation.guest import Confinement, enter_guest_namespace

# Main function of a guest. Arguments: wire, log descriptor, PID of the parent, confinement settings.
RunGuest = Callable[[socket.socket, int, int, Confinement], NoReturn]
REQUEST, REPLY = struct.Struct("<cq"), struct.Struct("<?qqd")
# Requests and replies alternate, and each is one short write, so a stream does not mix them.
MESSAGES = socket.SOCK_SEQPACKET if kernel.LINUX else socket.SOCK_STREAM
FORK, REAP, WAIT, KILL, CPU = b"f", b"r", b"w", b"k", b"c"


# Seconds between two checks of a silent guest: at first, and at most.
LOOK_S, MAX_LOOK_S_LENGTH = 0.05, 0.5
# Maximum number of bytes of a candidate's output that are kept.
LOG_BYTES = 16384
CHUNK = 1 << 16
# Share of a CPU limit that counts as reached. The kernel enforces the limit by ticks, so the measured time may be
# smaller.
NEARLY = 0.75
STATUSES = frozenset(Status) - {Status.OK, Status.SCREENED}
# Resident memory, in MiB, beyond the limit of private memory. It is checked for machines without control groups.
GROWN_MB = 256


class DirectForker:
    """Forks guests from this process."""

    def __init__(self, run_guest: RunGuest, confinement: Confinement) -> None:
        self._run_guest, self._confinement = run_guest, confinement

    def fork_guest(self, wire: socket.socket, log: int) -> int:
        """Fork a guest and return its process id.

        It gets the other ends of a wire and of a pipe for its output, which are closed here.
        """
        scorer, pid = os.getpid(), os.fork()
        if pid == 0:
            self._run_guest(wire, log, scorer, self._confinement)
        wire.close()
        os.close(log)
        return pid

    def reap_guest(self, pid: int, *, wait: bool) -> tuple[int, float] | None:
        """Return the exit status and CPU seconds of a guest that has ended.

        If it still runs and is not waited for, return None.
        """
        ended, status, usage = os.wait4(pid, 0 if wait else os.WNOHANG)
        if ended:
            return (status, usage.ru_utime + usage.ru_stime)
        return None

    def kill_guest(self, pid: int) -> None:
        """End a guest that has not been reaped."""
        os.kill(pid, signal.SIGKILL)

    def cpu_seconds(self, pid: int) -> float:
        """Return the CPU seconds, user and system, of a guest that has not been reaped."""
        return _process_cpu_s(pid)


class Spare:
    """Process that forks guests on request. It is created before any data are known.

    It has the methods of `DirectForker`.
    """

    def __init__(self, run_guest: RunGuest, confinement: Confinement) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, MESSAGES)
        scorer, self._pid = os.getpid(), os.fork()
        if self._pid == 0:
            self._control.close()
            _serve_requests(theirs, scorer, run_guest, confinement)
        theirs.close()

    def fork_guest(self, wire: socket.socket, log: int) -> int:
        """Fork a guest."""
        _, pid, _, _ = self._request(FORK, 0, wire.fileno(), log)
        wire.close()
        os.close(log)
        return pid

    def reap_guest(self, pid: int, *, wait: bool) -> tuple[int, float] | None:
        """Return how a guest ended."""
        ended, _, status, cpu = self._request(WAIT if wait else REAP, pid)
        if ended:
            return (status, cpu)
        return None

    def kill_guest(self, pid: int) -> None:
        """End a guest."""
        self._request(KILL, pid)

    def cpu_seconds(self, pid: int) -> float:
        """Return the CPU seconds of a guest."""
        return self._request(CPU, pid)[3]

    def close(self) -> None:
        """End the process, and with it all guests that it forked."""
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


def _serve_requests(control: socket.socket, scorer: int, run_guest: RunGuest, confinement: Confinement) -> NoReturn:
    """Run the spare process: wait for requests until the scorer has ended."""
    try:
        # This also applies before the first request.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        # A garbage collection would touch, and therefore copy, every page of a child.
        gc.freeze()
        kernel.die_with_parent(scorer)
        # This is done as late as here, because most evaluations end before they need it.
        request = socket.recv_fds(control, REQUEST.size, 2)
        with enter_guest_namespace(confinement) as entered:
            prepare_process()
            gc.freeze()
            confinement = replace(entered, is_prepared=True)
            while request[0]:
                what, pid = REQUEST.unpack(request[0])
                control.send(REPLY.pack(*_answer_request(control, run_guest, confinement, what, pid, request[1])))
                request = socket.recv_fds(control, REQUEST.size, 2)
    finally:
        os._exit(0)


def _answer_request(
    control: socket.socket, run_guest: RunGuest, confinement: Confinement, what: bytes, pid: int, descriptors: list[int]
) -> tuple[bool, int, int, float]:
    """Answer a request to the spare. Return success, process id, exit status and CPU seconds."""
    if what == FORK:
        with confinement.fork_namespace() as parent:
            pid = os.fork()
            if pid == 0:
                control.close()
                run_guest(socket.socket(fileno=descriptors[0]), descriptors[1], parent, confinement)
        for descriptor in descriptors:
            os.close(descriptor)
    elif what == KILL:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    elif what == CPU:
        return True, pid, 0, _process_cpu_s(pid)
    else:
        ended, status, usage = os.wait4(pid, 0 if what == WAIT else os.WNOHANG)
        return bool(ended), pid, status, usage.ru_utime + usage.ru_stime
    return True, pid, 0, 0.0


def _process_cpu_s(pid: int) -> float:
    """Read the CPU time of another process; 0 if it is unknown."""
    try:
        if not kernel.LINUX:
            return process_usage.cpu_s(pid)
        # This is the value that ``clock_getcpuclockid`` of glibc returns.
        return time.clock_gettime(~pid << 3 | 2)
    except OSError:
        return 0.0


class GuestProcess:
    """Connection to a guest process. The guest may use ``memory_mb`` MiB of private memory.

    It starts with ``born_with`` bytes of resident memory.
    """

    def __init__(self, parent: DirectForker | Spare, memory_mb: int, born_with: int) -> None:
        self.log = CappedOutput(LOG_BYTES)
        # CPU seconds of its first call, as far as known. None before it.
        self.first_s: float | None = None
        # CPU seconds at the end of its second call, as far as known. None before it.
        self.second_s: float | None = None
        # Size of the first call, as named in failures. None once its time is split into start and call.
        self.first_size: str | None = None
        # Part of these seconds that does not count. None before the first call.
        self.free_s: float | None = None
        # CPU seconds at the last reading, and its time.
        self.counted_s = 0.0
        self.counted_at = time.perf_counter()
        # Size of the calls since then, as named in failures.
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
        """CPU seconds, user and system, that it has used so far, or in total if it has ended."""
        if self._ended is None:
            return self._parent.cpu_seconds(self.pid)
        return self._ended[1]

    def ask(
        self,
        request: bytes,
        limit_s: float | None,
        look: Callable[[], None],
        *,
        is_call: bool = True,
        functions: SentFunctions | None = None,
    ) -> Any:
        """Send a request and wait for its answer.

        Args:
            request: Frame to send.
            limit_s: Wall seconds for the answer. None means no limit.
            look: Function that is called during the computation. An exception in it ends the call.
            is_call: True if the request calls the candidate; False if it only creates states.
            functions: Functions that were sent with the request and that the candidate may call before it answers. None
                means that its answer has no values of further types (`exact_values`).

        Raises:
            CandidateError: The guest dies, breaks the connection or reports a failure.
        """
        self._deadline, self._look = None if limit_s is None else time.monotonic() + limit_s, look
        try:
            self._wire.sendall(request)
        except (BrokenPipeError, ConnectionResetError):
            raise self._explain_death() from None
        answer = self._read_answer(functions)
        while functions is not None and isinstance(answer, dict) and "callback" in answer:
            begun = time.monotonic()
            message = serve_callback(answer["callback"], functions)
            if self._deadline is not None:
                # The candidate waits for the scorer meanwhile.
                self._deadline += time.monotonic() - begun
            with suppress(BrokenPipeError, ConnectionResetError):
                self._wire.sendall(message)
            answer = self._read_answer(functions)
        if isinstance(answer, dict) and answer.get("status") in STATUSES:
            raise CandidateError(str(answer.get("message")), answer["status"], str(answer.get("traceback")))
        if not isinstance(answer, dict) or "value" not in answer:
            raise CandidateError("broke the wire to its scorer", Status.REJECTED)
        if is_call and self.first_s is None:
            self.first_s = self._bound_claim(answer.get("first"))
        if is_call and self.second_s is None and answer.get("second") is not None:
            self.second_s = self._bound_claim(answer.get("second"))
        return answer["value"]

    def close(self) -> None:
        """End the guest in any state."""
        if self._ended is None:
            self._parent.kill_guest(self.pid)
            self._reap_process(wait=True)
        if self._reader >= 0:
            self._drain_log()
            self._wire.close()
            os.close(self._reader)
            self._reader = -1

    def _read_answer(self, functions: SentFunctions | None) -> Any:
        try:
            buffer = self._fill_buffer(bytearray(), wire_format.HEAD.size)
            whole = wire_format.frame_length(buffer)
            buffer = self._fill_buffer(buffer, whole)
            if len(buffer) > whole:
                raise CandidateError("broke the wire to its scorer", Status.REJECTED)
            return wire_format.decode_frame(buffer, None if functions is None else ExactArrays())
        except wire_format.FrameError as problem:
            raise CandidateError(f"returned {problem}", Status.INVALID) from None
        except MemoryError:
            raise CandidateError("returned more than fits into memory", Status.MEMORY) from None

    def _bound_claim(self, claimed: Any) -> float:
        """Return the CPU seconds that the guest reports, at most its CPU time."""
        spent = self.cpu_s
        if isinstance(claimed, float) and claimed == claimed:
            return min(max(float(claimed), 0.0), spent)
        return spent

    def _fill_buffer(self, buffer: bytearray, length: int) -> bytearray:
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
                    count = wire_format.receive_into(self._wire, buffer, length)
                except ConnectionResetError:
                    # The guest ended before it had read the whole request.
                    count = 0
                if not count:
                    raise self._explain_death()
            elif not ready:
                if self._reap_process(wait=False):
                    raise self._explain_death()
                self._check_memory()
                self._look()
                patience = min(2 * patience, MAX_LOOK_S_LENGTH)
        return buffer

    def _check_memory(self) -> None:
        """Check resident memory too, because a guest can free inherited memory and allocate as much again."""
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
        """Ask the kernel why the guest ended."""
        if not self._reap_process(wait=False):
            # The connection closes a moment before the process can be reaped.
            time.sleep(LOOK_S)
            if not self._reap_process(wait=False):
                return CandidateError("closed the wire to its scorer", Status.CRASHED)
        code = os.waitstatus_to_exitcode(self._ended[0] if self._ended else 0)
        if code == -signal.SIGXCPU or (code == -signal.SIGKILL and self._used_all_cpu()):
            return CandidateError("ran out of CPU time", Status.TIMEOUT)
        # A candidate can also end with this code. It has no score in either case.
        if code == EXIT_UNCONFINED:
            self._drain_log()
            return SandboxError(f"a guest cannot be confined: {self.log.text()}")
        if code == EXIT_OF_MEMORY:
            return CandidateError(OUT_OF_MEMORY, Status.MEMORY)
        reason = f"with exit code {code}" if code >= 0 else f"by {signal.Signals(-code).name}"
        return CandidateError(f"ended its own process {reason}", Status.CRASHED)

    def _used_all_cpu(self) -> bool:
        """Return True if it used up the hard CPU limit, which ends a process without SIGXCPU."""
        bound = resource.getrlimit(resource.RLIMIT_CPU)[1]
        return bound != resource.RLIM_INFINITY and self.cpu_s > NEARLY * bound
