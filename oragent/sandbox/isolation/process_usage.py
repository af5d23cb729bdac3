"""Resource use of processes: from ``ps`` on systems without ``/proc`` (coarse and slow), and memory from the kernel."""

import os
import re
import resource
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

from oragent.sandbox.isolation.means import LINUX

PROGRAM = "/bin/ps"
FIELDS = "pid=,ppid=,uid=,rss=,time=,state="
ROW = re.compile(r"(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+([\d:.-]+)\s+(\S+)")
PATIENCE_S = 5.0
FRESH_S = 0.1  # a look costs some milliseconds: what was asked for every call of a heuristic would cost more than it


@dataclass(frozen=True)
class ProcessRow:
    """One process.

    Attributes:
        pid: Its number.
        parent: Number of its parent.
        user: Number of its user.
        resident_kb: What of it lies in main memory, KiB; files' pages count.
        cpu_s: CPU seconds, user and system.
        runs: Whether it computes, or would.
    """

    pid: int
    parent: int
    user: int
    resident_kb: int
    cpu_s: float
    runs: bool


def process_table() -> Mapping[int, ProcessRow]:
    """All processes by number; empty where nobody tells."""
    try:
        listing = subprocess.run(
            [PROGRAM, "-A", "-o", FIELDS], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = [row for row_text in listing.stdout.splitlines() if (row := _parse_row(row_text))]
    return {row.pid: row for row in rows}


def resident_kb(pid: int) -> int:
    """Return the resident memory of a process, KiB.

    Raises:
        OSError: if nothing can be known of it.
    """
    return _find_row(pid).resident_kb


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, user and system, a tenth of a second ago at most.

    Raises:
        OSError: if nothing can be known of it.
    """
    return _find_row(pid).cpu_s


_latest: tuple[float, Mapping[int, ProcessRow]] = (float("-inf"), {})


def _find_row(pid: int) -> ProcessRow:
    global _latest
    if time.monotonic() - _latest[0] > FRESH_S or pid not in _latest[1]:
        _latest = (time.monotonic(), process_table())
    if pid not in _latest[1]:
        raise OSError(f"{PROGRAM} knows no process {pid}")
    return _latest[1][pid]


def _parse_row(text: str) -> ProcessRow | None:
    match = ROW.fullmatch(text.strip())
    if not match:
        return None
    pid, parent, user, resident = map(int, match.groups()[:4])
    return ProcessRow(pid, parent, user, resident, _parse_seconds(match[5]), match[6][0] in "RUD")


def _parse_seconds(text: str) -> float:
    """Read ``[days-]hours:minutes:seconds``, as Linux writes it, or ``minutes:seconds.hundredths``, as macOS does."""
    days, _, clock = text.rpartition("-")
    total = 86400.0 * int(days or 0)
    for power, part in enumerate(reversed(clock.split(":"))):
        total += float(part) * 60**power
    return total


PRIVATE, RESIDENT = (b"VmData:", b"VmStk:"), (b"RssAnon:", b"RssShmem:")


@dataclass(frozen=True)
class ProcessMemory:
    """Memory of one process.

    Attributes:
        private: Bytes that are private and can be written, touched or not: what a limit on data counts.
        resident: Bytes of it that lie in main memory; files' pages are free.
    """

    private: int
    resident: int


def read_memory(process: str) -> ProcessMemory:
    """Read the memory of a process; without ``/proc`` the peak of our own.

    Args:
        process: Its number, or ``self``.

    Raises:
        OSError: if nothing can be known of it.
    """
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
