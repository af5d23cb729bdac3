"""Resource use of processes, and control groups, which limit all processes of an evaluation together.

On systems without ``/proc``, resource use is read from ``ps``, which is coarse and slow.
"""

import errno
import os
import re
import resource
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from oragent.sandbox.isolation.mechanisms import LINUX

PROGRAM = "/bin/ps"
FIELDS = "pid=,ppid=,uid=,rss=,time=,state="
ROW = re.compile(r"(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d:.-]+)\s+(\S+)")
PATIENCE_S = 5.0
# Maximum age of the process table, in seconds. One listing takes some milliseconds, more than a call of a heuristic.
FRESH_S = 0.1


# Time to kill processes that multiply; later ones are left behind.
STRAYS_S = 5.0
PRIVATE, RESIDENT = (b"VmData:", b"VmStk:"), (b"RssAnon:", b"RssShmem:")
ROOT = Path("/sys/fs/cgroup")
# File that limits a resource, by version of the interface.
MEMORY = {1: "memory.limit_in_bytes", 2: "memory.max"}
TASKS = {1: "pids.max", 2: "pids.max"}
# Controllers of version 1, each in its own hierarchy.
CONTROLLERS = ("memory", "pids", "cpuacct", "cpu,cpuacct")
NOT_OURS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOENT, errno.ENOSPC)


@dataclass(frozen=True)
class ProcessRow:
    """Row of the process table."""

    pid: int
    parent: int
    user: int
    # Resident memory in KiB, pages of files included.
    resident_kb: int
    # CPU seconds, user and system.
    cpu_s: float
    # True if it runs or is ready to run.
    runs: bool


def process_table() -> Mapping[int, ProcessRow]:
    """Return all processes by number; empty if ``ps`` fails."""
    try:
        command = [PROGRAM, "-A", "-o", FIELDS]
        listing = subprocess.run(command, env={}, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = [row for row_text in listing.stdout.splitlines() if (row := _parse_row(row_text))]
    return {row.pid: row for row in rows}


def resident_kb(pid: int) -> int:
    """Return the resident memory of a process, in KiB."""
    return _find_row(pid).resident_kb


def cpu_s(pid: int) -> float:
    """Return the user and system CPU seconds of a process, at most a tenth of a second old."""
    return _find_row(pid).cpu_s


_latest: tuple[float, Mapping[int, ProcessRow]] = (float("-inf"), {})


def _find_row(pid: int) -> ProcessRow:
    global _latest
    if time.monotonic() - _latest[0] > FRESH_S or pid not in _latest[1]:
        _latest = (time.monotonic(), process_table())
    if pid not in _latest[1]:
        raise OSError(f"{PROGRAM} lists no process {pid}")
    return _latest[1][pid]


def _parse_row(text: str) -> ProcessRow | None:
    match = ROW.fullmatch(text.strip())
    if not match:
        return None
    pid, parent, user, resident = map(int, match.groups()[:4])
    return ProcessRow(pid, parent, user, resident, _parse_seconds(match[5]), match[6][0] in "RUD")


def _parse_seconds(text: str) -> float:
    """Parse ``[days-]hours:minutes:seconds`` (Linux) or ``minutes:seconds.hundredths`` (macOS) into seconds."""
    days, _, clock = text.rpartition("-")
    total = 86400.0 * int(days or 0)
    for power, part in enumerate(reversed(clock.split(":"))):
        total += float(part) * 60**power
    return total


def kill_strays() -> None:
    """Kill all children of this process, also those that it has adopted from processes that ended."""
    give_up = time.monotonic() + STRAYS_S
    while time.monotonic() < give_up:
        try:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for child in _list_children():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        time.sleep(0.001)


def _list_children() -> list[int]:
    own_pid, children = os.getpid(), []
    if not LINUX:
        return [row.pid for row in process_table().values() if row.parent == own_pid]
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, ValueError, IndexError):
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
                if int(after_name[1]) == own_pid:
                    children.append(int(entry.name))
    return children


@dataclass(frozen=True)
class ProcessMemory:
    """Memory of one process."""

    # Private writable bytes, also those not yet touched, as counted by ``RLIMIT_DATA``.
    private: int
    # Resident bytes among them, without pages of files.
    resident: int


def read_memory(process: str) -> ProcessMemory:
    """Read the memory of a process, by number or ``self``; without ``/proc`` the peak of this process."""
    try:
        if not LINUX:
            return ProcessMemory(0, resident_kb(os.getpid() if process == "self" else int(process)) << 10)
        status = os.open(f"/proc/{process}/status", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        if process != "self":
            raise
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 if LINUX else 0
        return ProcessMemory(peak, peak)
    try:
        text = os.read(status, 1 << 14)
    finally:
        os.close(status)
    return ProcessMemory(_sum_fields(text, PRIVATE), _sum_fields(text, RESIDENT))


def _sum_fields(text: bytes, names: tuple[bytes, ...]) -> int:
    total = 0
    for name in names:
        at = text.find(name)
        if at >= 0:
            total += int(text[at + len(name) :].split(None, 1)[0]) << 10
    return total


@dataclass
class ControlGroup:
    """A control group: one folder in each hierarchy that permits it."""

    folders: list[Path] = field(default_factory=list)
    # Descriptors of the member lists; a process that writes "0" to them joins.
    member_lists: list[int] = field(default_factory=list)
    # Descriptor of the CPU time of all members, living or ended; -1 if it is not counted.
    clock: int = -1
    # Descriptor of the number of out-of-memory kills; -1 if they are not counted.
    ends: int = -1
    # True if the group limits memory or processes.
    bounds: bool = False

    @classmethod
    def make(cls, name: str, memory_mb: int, tasks: int) -> "ControlGroup":
        """Create a group; it has no folders if none can be created.

        Raises:
            OSError: A group of this name exists. Its limits and members are unknown.
        """
        group = cls()
        try:
            for version, parent in _parent_groups():
                group._join_hierarchy(version, parent / name, ((MEMORY, memory_mb << 20), (TASKS, tasks)))
        except BaseException:
            group.remove()
            raise
        return group

    def _join_hierarchy(self, version: int, folder: Path, bounds: tuple[tuple[dict[int, str], int], ...]) -> None:
        try:
            folder.mkdir()
        except OSError as problem:
            if problem.errno in NOT_OURS:
                return
            raise
        bounded = [_write_limit(folder / names[version], value) for names, value in bounds]
        files = ("cpuacct.usage", "memory.oom_control") if version == 1 else ("cpu.stat", "memory.events")
        clock = -1 if self.clock >= 0 else _open_for_reading(folder / files[0])
        ends = -1 if self.ends >= 0 else _open_for_reading(folder / files[1])
        # This group limits and counts nothing, and joining it takes time.
        if not any(bounded) and clock < 0:
            folder.rmdir()
            return
        self.folders.append(folder)
        self.member_lists.append(os.open(folder / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC))
        self.clock, self.ends, self.bounds = max(self.clock, clock), max(self.ends, ends), self.bounds or any(bounded)

    def join(self) -> None:
        """Add the calling process to the group."""
        for member_list in self.member_lists:
            os.write(member_list, b"0")

    def cpu_s(self) -> float | None:
        """Return the CPU seconds of all members since the group was created; None if they are not counted."""
        if self.clock < 0:
            return None
        fields = os.pread(self.clock, 4096, 0).split()
        if len(fields) == 1:
            return int(fields[0]) / 1e9
        return int(fields[fields.index(b"usage_usec") + 1]) / 1e6

    def oom_kills(self) -> int:
        """Return the number of members that the kernel killed for lack of memory since the group was created."""
        events = b"" if self.ends < 0 else os.pread(self.ends, 4096, 0)
        return sum(int(event.split()[1]) for event in events.splitlines() if event.startswith(b"oom_kill "))

    def remove(self) -> None:
        """Remove the group, which must have no members any more."""
        for descriptor in (*self.member_lists, self.clock, self.ends):
            if descriptor >= 0:
                os.close(descriptor)
        self.member_lists, self.clock, self.ends = [], -1, -1
        for folder in self.folders:
            with suppress(OSError):
                folder.rmdir()


def remove_groups(prefix: str) -> bool:
    """Remove the empty groups whose names begin with a prefix; return True if none remains."""
    remains = False
    for _, parent in _parent_groups():
        for folder in parent.glob(f"{prefix}*"):
            with suppress(OSError):
                folder.rmdir()
            remains |= folder.is_dir()
    return not remains


def _write_limit(path: Path, value: int) -> bool:
    try:
        path.write_text(str(value))
    except OSError:
        return False
    return True


def _open_for_reading(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1


def _parent_groups() -> Iterator[tuple[int, Path]]:
    """Yield the group of this process in each hierarchy, with the version of the interface."""
    with suppress(OSError):
        for entry in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, path = entry.split(":", 2)
            if controllers in CONTROLLERS:
                yield 1, ROOT / controllers / path.lstrip("/")
            elif not controllers:
                mounted = ROOT / "unified" if (ROOT / "unified").is_dir() else ROOT
                yield 2, mounted / path.lstrip("/")
