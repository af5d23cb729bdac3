"""What processes use, asked of ``ps``, for systems that have no ``/proc``: coarse and slow, and better than nothing."""

import re
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass

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


def table() -> Mapping[int, ProcessRow]:
    """All processes by number; empty where nobody tells."""
    try:
        told = subprocess.run(
            [PROGRAM, "-A", "-o", FIELDS], capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    rows = [row for line in told.stdout.splitlines() if (row := _row(line))]
    return {row.pid: row for row in rows}


def resident_kb(pid: int) -> int:
    """What of a process lies in main memory, KiB.

    Raises:
        OSError: if nothing can be known of it.
    """
    return _one(pid).resident_kb


def cpu_s(pid: int) -> float:
    """CPU seconds of a process, user and system, a tenth of a second ago at most.

    Raises:
        OSError: if nothing can be known of it.
    """
    return _one(pid).cpu_s


_looked: tuple[float, Mapping[int, ProcessRow]] = (float("-inf"), {})


def _one(pid: int) -> ProcessRow:
    global _looked
    if time.monotonic() - _looked[0] > FRESH_S or pid not in _looked[1]:
        _looked = (time.monotonic(), table())
    if pid not in _looked[1]:
        raise OSError(f"{PROGRAM} knows no process {pid}")
    return _looked[1][pid]


def _row(line: str) -> ProcessRow | None:
    found = ROW.fullmatch(line.strip())
    if not found:
        return None
    pid, parent, user, resident = map(int, found.groups()[:4])
    return ProcessRow(pid, parent, user, resident, _seconds(found[5]), found[6][0] in "RUD")


def _seconds(text: str) -> float:
    """Read ``[days-]hours:minutes:seconds``, as Linux writes it, or ``minutes:seconds.hundredths``, as macOS does."""
    days, _, clock = text.rpartition("-")
    total = 86400.0 * int(days or 0)
    for place, part in enumerate(reversed(clock.split(":"))):
        total += float(part) * 60**place
    return total
