"""Limits of a command: environment, resource limits, resource use and captured output."""

import mmap
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from oragent.sandbox.isolation import process_usage
from oragent.sandbox.isolation.environment import allowed_environment
from oragent.sandbox.isolation.kernel import lower_limits
from oragent.sandbox.isolation.mechanisms import LINUX
from oragent.sandbox.isolation.process_usage import ControlGroup
from oragent.sandbox.messages import SHARE, Limits

PACKAGE = Path(__file__).parents[1]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


TICKS = os.sysconf("SC_CLK_TCK")
# Indices of the fields of ``/proc/PID/stat`` after the name; system time follows user time.
USER, USER_OF_CHILDREN, BEGUN = 11, 13, 19
GLANCES, GLANCE_S = 5, 0.01


def server_environment() -> dict[str, str]:
    """Build the environment of an evaluation server: allow-listed variables, one thread per library."""
    return allowed_environment() | {
        **_import_path(),
        # The order of a set of strings must not change a score.
        "PYTHONHASHSEED": "0",
        "MPLBACKEND": "agg",
        **dict.fromkeys(THREADS, "1"),
        # Frameworks of macOS abort after a fork otherwise.
        **({"OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES"} if sys.platform == "darwin" else {}),
        **_kernel_cache_variable(),
    }


def _import_path() -> dict[str, str]:
    """Return the variable that makes this package importable if it runs from a checkout."""
    if PACKAGE.parent.name in ("site-packages", "dist-packages"):
        return {}
    inherited = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": os.pathsep.join([*([inherited] if inherited else []), str(PACKAGE.parent)])}


def kernel_cache_path() -> Path:
    """Return the folder of compiled kernels: next to their source, or the user's cache if that is not writable."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"])
    is_writable = os.access(PACKAGE / "solvers", os.W_OK)
    if is_writable:
        return PACKAGE / "solvers" / "__pycache__"
    return Path.home() / ".cache" / "oragent"


def _kernel_cache_variable() -> dict[str, str]:
    cache = kernel_cache_path()
    if cache.is_relative_to(PACKAGE):
        return {}
    return {"NUMBA_CACHE_DIR": str(cache)}


def set_limits(limits: Limits, other_tasks: int, initial_bytes: int) -> None:
    """Set the kernel's limits on this process and its children.

    Reserved but untouched memory and mapped files do not count. A program that is started anew does not have the
    initial memory ``held``, so it gets that much more.
    """
    memory_mb = SHARE * limits.memory_mb if limits.counts_used_memory else limits.memory_mb
    lower_limits(
        {
            resource.RLIMIT_DATA if LINUX else resource.RLIMIT_AS: initial_bytes + (memory_mb << 20),
            **({} if other_tasks < 0 else {resource.RLIMIT_NPROC: other_tasks + limits.processes}),
            resource.RLIMIT_CPU: int(limits.cpu_s) + 1,
            resource.RLIMIT_FSIZE: limits.file_mb << 20,
            resource.RLIMIT_CORE: 0,
        }
    )


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_tasks() -> int:
    """Return the number of processes and threads of the user; without Linux, of processes, or -1 if unknown."""
    user, count = os.getuid(), 0
    if not LINUX:
        return sum(row.user == user for row in process_usage.process_table().values()) or -1
    if not os.path.isdir("/proc/self"):
        return 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == user:
                    count += len(os.listdir(f"/proc/{entry.name}/task"))
            except OSError:
                # The process has ended meanwhile.
                continue
    return count


class StreamBuffer:
    """Buffer for the head and the tail of a byte stream, half of the limit for each.

    Data never becomes a Python object, whose memory could be reused unwiped.
    """

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._memory = mmap.mmap(-1, 2 * self._half, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._view = memoryview(self._memory)
        self._taken = 0

    def read_from(self, descriptor: int) -> bool:
        """Read from a non-blocking pipe into the buffer; return False at its end."""
        at, end = self._taken, self._half
        if at >= end:
            at, end = self._half + (self._taken - self._half) % self._half, 2 * self._half
        with self._view[at:end] as room:
            count = os.readv(descriptor, [room])
        self._taken += count
        return count > 0

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Number of bytes kept of the head, dropped, and kept of the tail."""
        tail = max(self._taken - self._half, 0)
        return min(self._taken, self._half), max(tail - self._half, 0), min(tail, self._half)

    def parts(self) -> list[memoryview]:
        """Return the kept bytes in order; release them before you close this buffer."""
        head, dropped, tail = self.lengths
        begin = (self._taken - self._half) % self._half if dropped else 0
        second = self._view[self._half + begin : self._half + tail]
        return [self._view[:head], second, self._view[self._half : self._half + begin]]

    def close(self) -> None:
        """Release the memory."""
        self._view.release()
        self._memory.close()


def join_stream(head: bytes, dropped: int, tail: bytes) -> str:
    """Decode the kept bytes, with a line that says how many were dropped."""
    gap = f"\n... {dropped} bytes dropped ...\n".encode() if dropped else b""
    return (head + gap + tail).decode(errors="replace")


@dataclass(frozen=True)
class _Process:
    """Process with its own CPU seconds, those of the children that it waited for, and whether it runs."""

    number: int
    begun: int
    self_s: float
    waited_s: float
    runs: bool


class Meter:
    """Meter of a command's resource use: by its control group, or else by walking its processes.

    A walk sees living processes and children that were waited for. It misses processes that start and end between two
    walks if their parent does not wait for them; a control group counts those, too.
    """

    def __init__(self, group: ControlGroup, processes: int) -> None:
        self._group, self._processes = group, processes
        self._cpu_s_at_start, self._ends_before = group.cpu_s(), group.oom_kills()
        self._seen: dict[tuple[int, int], float] = {}
        self._used = 0.0

    @property
    def counts(self) -> bool:
        """True if CPU seconds are available while the command runs."""
        return self.is_exact or self._processes >= 0 or not LINUX

    @property
    def is_exact(self) -> bool:
        """True if a control group counts, which is fast and includes ended processes."""
        return self._cpu_s_at_start is not None

    def cpu_s(self) -> float:
        """Return the CPU seconds so far, which never decrease."""
        if self._cpu_s_at_start is not None:
            return (self._group.cpu_s() or 0.0) - self._cpu_s_at_start
        processes = list(self._walk_processes())
        self._seen |= {(process.number, process.begun): process.self_s for process in processes}
        living_s = sum(process.self_s + process.waited_s for process in processes)
        self._used = max(self._used, sum(self._seen.values()), living_s)
        return self._used

    def wants_to_run(self) -> bool:
        """Return True if a process computes or waits for a processor."""
        for _ in range(GLANCES):
            if any(process.runs for process in self._walk_processes()):
                return True
            time.sleep(GLANCE_S)
        return False

    def was_out_of_memory(self) -> bool:
        """Return True if the kernel killed a process for lack of memory in its control group."""
        return self._group.oom_kills() > self._ends_before

    @property
    def watches_memory(self) -> bool:
        """True if memory has to be polled, because no control group limits it, and can be."""
        return not self._group.bounds and self.can_watch_memory

    @property
    def can_watch_memory(self) -> bool:
        """True if the memory of the processes can be read."""
        return self._processes >= 0 or not LINUX

    def memory_mb(self) -> float:
        """Return the memory that its processes hold in addition to inherited memory, in MiB, without pages of files."""
        if not LINUX:
            rows = process_usage.process_table()
            own_kb = rows[os.getpid()].resident_kb if os.getpid() in rows else 0
            return sum(max(0, rows[process].resident_kb - own_kb) for process in _list_descendants(rows)) / 1024
        inherited = self._held_kb("self")
        return sum(max(0, self._held_kb(str(process.number)) - inherited) for process in self._walk_processes()) / 1024

    def _held_kb(self, process: str) -> int:
        try:
            lines = self._read_proc(f"{process}/status").splitlines()
            return sum(int(line.split()[1]) for line in lines if line.startswith((b"RssAnon:", b"RssShmem:")))
        except (OSError, ValueError):
            # The process has ended meanwhile.
            return 0

    def _walk_processes(self) -> Iterator[_Process]:
        if not LINUX:
            rows = process_usage.process_table()
            below = (rows[process] for process in _list_descendants(rows))
            yield from (_Process(row.pid, 0, row.cpu_s, 0.0, row.runs) for row in below)
        if self._processes < 0:
            return
        ahead = self._list_children(os.getpid())
        while ahead:
            number = ahead.pop()
            with suppress(OSError, ValueError, IndexError):
                line = self._read_proc(f"{number}/stat").rpartition(b")")[2].split()
                ahead += self._list_children(number)
                own_ticks, waited = (int(line[at]) + int(line[at + 1]) for at in (USER, USER_OF_CHILDREN))
                yield _Process(number, int(line[BEGUN]), own_ticks / TICKS, waited / TICKS, line[0] in b"RD")

    def _list_children(self, process: int) -> list[int]:
        """List the children of all threads of a process, adopted ones included."""
        children: list[int] = []
        with suppress(OSError, ValueError):
            tasks = os.open(f"{process}/task", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self._processes)
            try:
                for task in os.listdir(tasks):
                    children += map(int, self._read_proc(f"{process}/task/{task}/children").split())
            finally:
                os.close(tasks)
        return children

    def _read_proc(self, name: str) -> bytes:
        descriptor = os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._processes)
        try:
            return os.read(descriptor, 1 << 16)
        finally:
            os.close(descriptor)


def _list_descendants(rows: Mapping[int, process_usage.ProcessRow]) -> Iterator[int]:
    ahead = [os.getpid()]
    while ahead:
        above = ahead.pop()
        below = [row.pid for row in rows.values() if row.parent == above]
        yield from below
        ahead += below
